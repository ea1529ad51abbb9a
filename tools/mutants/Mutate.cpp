#include "Mutate.h"
#include "glia/Program/Parts.h"
#include "glia/Support/Diagnostic.h"

#include <array>

namespace glia::mutants {

namespace {

using Item = InstrParts;
using Parts = ProgramParts;

std::string at(const Item &i, const Parts &parts) {
  size_t first = 0;
  while (parts.items[first].core != i.core || parts.items[first].engine != i.engine)
    ++first;
  return format("core %d %s instruction %zu (%s)", i.core, std::string(name(i.engine)).c_str(),
                static_cast<size_t>(&i - &parts.items[first]), std::string(i.def->name).c_str());
}

// Items for which `accept` holds; a random one of them, or null.
template <class F> Item *choose(Parts &parts, Random &random, F &&accept) {
  std::vector<Item *> fitting;
  for (Item &i : parts.items)
    if (accept(i))
      fitting.push_back(&i);
  return fitting.empty() ? nullptr : random.pick(fitting);
}

int tensorSlot(const Item &i, Random &random) {
  std::vector<int> slots;
  for (size_t k = 0; k < i.values.size(); ++k)
    if (i.values[k].kind == Value::Tensor)
      slots.push_back(static_cast<int>(k));
  return slots.empty() ? -1 : random.pick(slots);
}

bool hasTensor(const Item &i) {
  for (const Value &v : i.values)
    if (v.kind == Value::Tensor)
      return true;
  return false;
}

using Change = std::string (*)(Parts &, Random &); // what was done, empty if there was no place for it

std::string dropWait(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return !x.waits.empty(); });
  if (!i)
    return {};
  i->waits.erase(i->waits.begin() + r.below(static_cast<int64_t>(i->waits.size())));
  return at(*i, p);
}

std::string weakenWait(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return !x.waits.empty(); });
  if (!i)
    return {};
  SyncOp &w = i->waits[r.below(static_cast<int64_t>(i->waits.size()))];
  w.value = std::max<int32_t>(0, w.value - static_cast<int32_t>(r.chance(50) ? 1 : 16));
  return at(*i, p);
}

std::string moveByElement(Parts &p, Random &r) {
  Item *i = choose(p, r, hasTensor);
  if (!i)
    return {};
  const int k = tensorSlot(*i, r);
  int64_t &offset = i->values[k].access.byteOffset;
  offset += sizeOf(i->patterns[k].dtype) * (r.chance(50) ? 1 : -1) * r.between(1, 3);
  if (offset < 0)
    offset = sizeOf(i->patterns[k].dtype);
  return at(*i, p);
}

std::string moveByPartition(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) {
    for (size_t k = 0; k < x.values.size(); ++k)
      if (x.values[k].kind == Value::Tensor && x.patterns[k].partitions)
        return true;
    return false;
  });
  if (!i)
    return {};
  int k = tensorSlot(*i, r);
  while (!i->patterns[k].partitions)
    k = tensorSlot(*i, r);
  i->values[k].access.partition += static_cast<int32_t>(r.chance(50) ? 32 : 1) * (r.chance(50) ? 1 : -1);
  return at(*i, p);
}

std::string swapNeighbours(Parts &p, Random &r) {
  std::vector<size_t> places;
  for (size_t i = 0; i + 1 < p.items.size(); ++i)
    if (p.items[i].core == p.items[i + 1].core && p.items[i].engine == p.items[i + 1].engine &&
        p.items[i].def->unit != Unit::Control && p.items[i + 1].def->unit != Unit::Control)
      places.push_back(i);
  if (places.empty())
    return {};
  const size_t i = r.pick(places);
  std::swap(p.items[i], p.items[i + 1]);
  return at(p.items[i], p);
}

std::string shrinkObject(Parts &p, Random &r) {
  const size_t n = p.shell.tensors.size() + p.shell.allocations.size();
  if (!n)
    return {};
  const size_t which = r.below(static_cast<int64_t>(n));
  const bool tensor = which < p.shell.tensors.size();
  if (tensor && p.shell.tensors[which].kind == TensorKind::Constant)
    return {};
  std::vector<int64_t> &shape =
      tensor ? p.shell.tensors[which].shape : p.shell.allocations[which - p.shell.tensors.size()].shape;
  int64_t &d = shape[r.below(static_cast<int64_t>(shape.size()))];
  if (d < 2)
    return {};
  d = r.chance(50) ? d - 1 : d / 2;
  return tensor ? p.shell.tensors[which].name : p.shell.allocations[which - p.shell.tensors.size()].name;
}

std::string changeType(Parts &p, Random &r) {
  Item *i = choose(p, r, hasTensor);
  if (!i)
    return {};
  const int k = tensorSlot(*i, r);
  static constexpr std::array<DType, 8> kTypes = {DType::F32, DType::BF16, DType::F16,    DType::I32,
                                                  DType::U32, DType::U8,   DType::F8E4M3, DType::I16};
  i->patterns[k].dtype = kTypes[r.below(kTypes.size())];
  return at(*i, p);
}

std::string renameBarrier(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return x.def->unit == Unit::Barrier; });
  if (!i)
    return {};
  p.shell.strings.push_back("another barrier");
  i->values[i->def->slot("name")].integer = static_cast<int32_t>(p.shell.strings.size() - 1);
  return at(*i, p);
}

std::string retarget(Parts &p, Random &r) {
  const std::vector<std::string> names = builtinTargets();
  p.shell.target = loadTarget(r.pick(names));
  return p.shell.target->name;
}

std::string dropTableLoad(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return x.def->name == "act_table_load"; });
  if (!i)
    return {};
  const std::string what = at(*i, p);
  becomeNop(*i);
  return what;
}

std::string changeCount(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return !x.waits.empty() || !x.updates.empty(); });
  if (!i)
    return {};
  std::vector<SyncOp *> ops;
  ops.reserve(i->waits.size() + i->updates.size());
  for (SyncOp &o : i->waits)
    ops.push_back(&o);
  for (SyncOp &o : i->updates)
    ops.push_back(&o);
  SyncOp &o = *r.pick(ops);
  o.value = std::max<int32_t>(0, o.value + (r.chance(50) ? 1 : -1) * (r.chance(50) ? 1 : 16));
  return at(*i, p);
}

std::string reorderDma(Parts &p, Random &r) {
  std::vector<size_t> dma;
  for (size_t i = 0; i < p.items.size(); ++i)
    if (p.items[i].def->unit == Unit::Dma)
      dma.push_back(i);
  for (int tries = 0; dma.size() > 1 && tries < 20; ++tries) {
    const size_t a = r.pick(dma), b = r.pick(dma);
    if (a == b || p.items[a].core != p.items[b].core || p.items[a].engine != p.items[b].engine)
      continue;
    std::swap(p.items[a], p.items[b]);
    return at(p.items[a], p);
  }
  return {};
}

std::string changeInitial(Parts &p, Random &r) {
  if (p.shell.semaphores.empty())
    return {};
  Semaphore &s = p.shell.semaphores[r.below(static_cast<int64_t>(p.shell.semaphores.size()))];
  s.initial = std::max<int32_t>(0, s.initial + static_cast<int32_t>(r.between(-2, 2)));
  return s.name;
}

std::string moveAllocation(Parts &p, Random &r) {
  if (p.shell.allocations.empty())
    return {};
  Allocation &a = p.shell.allocations[r.below(static_cast<int64_t>(p.shell.allocations.size()))];
  a.byteOffset = std::max<int64_t>(0, a.byteOffset + (r.chance(50) ? 1 : -1) * 4 * r.between(1, 64));
  return a.name;
}

std::string changeQueue(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return x.def->unit == Unit::Dma; });
  if (!i || p.shell.queues.size() < 2)
    return {};
  i->values[i->def->slot("queue")].integer = static_cast<int32_t>(r.below(static_cast<int64_t>(p.shell.queues.size())));
  return at(*i, p);
}

std::string changeTrips(Parts &p, Random &r) {
  Item *i =
      choose(p, r, [](const Item &x) { return x.def->name == "loop" && x.values[x.def->slot("count")].kind == Value::Int; });
  if (!i)
    return {};
  int32_t &n = i->values[i->def->slot("count")].integer;
  n = std::max<int32_t>(0, n + static_cast<int32_t>(r.between(-2, 2)));
  return at(*i, p);
}

std::string changeScale(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) {
    for (const Pattern &q : x.patterns)
      if (q.numDynamic)
        return true;
    return false;
  });
  if (!i)
    return {};
  for (Pattern &q : i->patterns)
    if (q.numDynamic)
      q.dynamic[0].scale += (r.chance(50) ? 1 : -1) * (q.dynamic[0].partition ? 1 : sizeOf(q.dtype)) * r.between(1, 4);
  return at(*i, p);
}

std::string dropInstruction(Parts &p, Random &r) {
  Item *i = choose(p, r, [](const Item &x) { return x.def->unit == Unit::Compute || x.def->unit == Unit::Register; });
  if (!i)
    return {};
  const std::string what = at(*i, p);
  becomeNop(*i);
  return what;
}

std::string addDelayWait(Parts &p, Random &r) { // a wait that changes nothing: verifies, usually
  Item *i = choose(p, r, [](const Item &x) { return x.waits.empty(); });
  if (!i || p.shell.semaphores.empty())
    return {};
  std::vector<uint16_t> own;
  for (size_t s = 0; s < p.shell.semaphores.size(); ++s)
    if (p.shell.semaphores[s].core == i->core)
      own.push_back(static_cast<uint16_t>(s));
  if (own.empty())
    return {};
  i->waits.push_back({r.pick(own), SyncKind::WaitGe, 0, static_cast<int32_t>(r.below(2))});
  return at(*i, p);
}

struct Kind {
  const char *name;
  Change change;
};
constexpr Kind kKinds[] = {
    {"drop-wait", dropWait},
    {"weaken-wait", weakenWait},
    {"move-element", moveByElement},
    {"move-partition", moveByPartition},
    {"swap-neighbours", swapNeighbours},
    {"shrink-object", shrinkObject},
    {"change-type", changeType},
    {"rename-barrier", renameBarrier},
    {"retarget", retarget},
    {"drop-table-load", dropTableLoad},
    {"change-count", changeCount},
    {"reorder-dma", reorderDma},
    {"change-initial", changeInitial},
    {"move-allocation", moveAllocation},
    {"change-queue", changeQueue},
    {"change-trips", changeTrips},
    {"change-scale", changeScale},
    {"drop-instruction", dropInstruction},
    {"add-wait", addDelayWait},
};

} // namespace

std::optional<Mutant> mutate(const Program &p, Random &random) {
  const Kind &kind = kKinds[random.below(std::size(kKinds))];
  Parts parts = takeApart(p);
  const std::string what = kind.change(parts, random);
  if (what.empty())
    return std::nullopt;
  try {
    return Mutant{putTogether(parts), std::string(kind.name) + ": " + what, kind.name};
  } catch (const Error &) {
    return std::nullopt; // the change cannot be written down: not a program
  }
}

} // namespace glia::mutants
