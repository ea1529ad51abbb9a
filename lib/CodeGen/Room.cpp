#include "Room.h"
#include "LiveLimit.h"

#include <algorithm>

namespace glia {

// What is left is for tiles on their way in and out: where a kernel has no second buffer, it waits more than a load takes.
static constexpr double kUsable = 0.75;

Room::Room(nisa::CoreOp core, const Target &target)
    : budget(static_cast<int64_t>(kUsable * static_cast<double>(target.sbufBytes))) {
  number(core.getBody().front());
  while (size < places)
    size *= 2;
  most.assign(2 * static_cast<size_t>(size), 0);
  more.assign(2 * static_cast<size_t>(size), 0);
  for (const codegen::Lifetime &l : codegen::lifetimesOf(core)) {
    if (l.space != Space::Sbuf)
      continue;
    tiles[l.op.getTensor()] = {l.from, l.to};
    add(1, 0, size, {l.from, l.to}, l.bytes);
  }
}

// As lifetimes count: an operation has a place where it begins and one where it ends.
void Room::number(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    const uint32_t begin = places++;
    for (mlir::Region &r : op.getRegions())
      for (mlir::Block &inner : r)
        number(inner);
    if (op.getNumRegions())
      loops[&op] = {begin, places};
    ++places;
  }
}

int64_t Room::mostIn(uint32_t node, uint32_t from, uint32_t to, Span s) const {
  if (s.to <= from || to <= s.from)
    return 0;
  if (s.from <= from && to <= s.to)
    return most[node];
  const uint32_t middle = from + (to - from) / 2;
  return more[node] + std::max(mostIn(2 * node, from, middle, s), mostIn(2 * node + 1, middle, to, s));
}

void Room::add(uint32_t node, uint32_t from, uint32_t to, Span s, int64_t bytes) {
  if (s.to <= from || to <= s.from)
    return;
  if (s.from <= from && to <= s.to) {
    most[node] += bytes;
    more[node] += bytes;
    return;
  }
  const uint32_t middle = from + (to - from) / 2;
  add(2 * node, from, middle, s, bytes);
  add(2 * node + 1, middle, to, s, bytes);
  most[node] = more[node] + std::max(most[2 * node], most[2 * node + 1]);
}

bool Room::take(nisa::AllocOp tile, llvm::ArrayRef<Span> spans) {
  const int64_t bytes = codegen::bytesOf(tile);
  for (const Span &s : spans)
    if (s.from < s.to && mostIn(1, 0, size, s) + bytes > budget)
      return false;
  for (const Span &s : spans)
    if (s.from < s.to)
      add(1, 0, size, s, bytes);
  return true;
}

} // namespace glia
