#include "LiveLimit.h"

#include <algorithm>

namespace glia::codegen {

int64_t bytesOf(nisa::AllocOp tile) {
  const nisa::TensorType type = tile.getTensor().getType();
  int64_t bytes = sizeOf(type.getDtype());
  for (int64_t n : type.getShape().drop_front())
    bytes *= n;
  return bytes;
}

// Some of SBUF is lost between tiles of different sizes; PSUM is given out in banks.
LiveLimit::LiveLimit(const Target &target) : target(target), limit{target.sbufBytes * 3 / 4, target.psumBytes} {}

void LiveLimit::add(uint32_t n, mlir::Operation *op) {
  uses.resize(std::max<size_t>(uses.size(), n + 1));
  for (mlir::Value v : op->getOperands()) {
    auto alloc = v.getDefiningOp<nisa::AllocOp>();
    if (!alloc || alloc.getPinned())
      continue;
    const auto [it, fresh] = numbers.try_emplace(v, static_cast<uint32_t>(tiles.size()));
    if (fresh) {
      int64_t bytes = bytesOf(alloc);
      const bool psum = alloc.getTensor().getType().getSpace() == Space::Psum;
      if (const int64_t bank = target.psumBankBytes; psum && bytes > bank)
        bytes = (bytes + bank - 1) / bank * bank;
      tiles.push_back({psum, bytes});
    }
    if (std::vector<uint32_t> &mine = uses[n]; std::find(mine.begin(), mine.end(), it->second) == mine.end()) {
      mine.push_back(it->second);
      ++tiles[it->second].users;
    }
  }
}

void LiveLimit::restart() {
  live = {};
  over = false;
  for (Tile &t : tiles)
    t.left = t.users, t.begun = false;
}

bool LiveLimit::fits(uint32_t n) const {
  std::array<int64_t, 2> now = live;
  for (uint32_t t : uses[n])
    if (!tiles[t].begun)
      now[tiles[t].space] += tiles[t].bytes;
  return (now[0] <= limit[0] || now[0] == live[0]) && (now[1] <= limit[1] || now[1] == live[1]);
}

bool LiveLimit::take(uint32_t n) {
  over |= !fits(n);
  bool ended = false;
  for (uint32_t i : uses[n]) {
    Tile &t = tiles[i];
    if (!t.begun)
      live[t.space] += t.bytes;
    t.begun = true;
    if (--t.left == 0)
      live[t.space] -= t.bytes, ended = true;
  }
  return ended;
}

} // namespace glia::codegen
