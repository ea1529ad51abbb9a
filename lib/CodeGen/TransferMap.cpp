#include "TransferMap.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace glia::codegen {

using nisa::Instr;

namespace {

struct Dim {
  int64_t stride, count;
};
using Dims = std::vector<Dim>;

Dims dimsOf(nisa::AccessAttr a) {
  Dims out;
  for (size_t i = 0; i < a.getDims().size(); i += 2)
    out.push_back({a.getDims()[i], a.getDims()[i + 1]});
  return out;
}

// Takes `count` elements off the end of a list of dimensions, as dimensions of their own.
std::optional<Dims> takeInner(Dims &dims, int64_t count) {
  Dims out;
  while (count > 1) {
    if (dims.empty())
      return std::nullopt;
    Dim &d = dims.back();
    if (d.count > count) {
      if (d.count % count)
        return std::nullopt;
      out.insert(out.begin(), {d.stride, count});
      d = {d.stride * count, d.count / count};
      return out;
    }
    if (count % d.count)
      return std::nullopt;
    count /= d.count;
    out.insert(out.begin(), d);
    dims.pop_back();
  }
  return out;
}

struct ChipDim {
  int64_t stride, count;
  bool partition;
};

void append(std::vector<ChipDim> &out, const Dims &dims, bool partition = false) {
  for (const Dim &d : dims)
    out.push_back({d.stride, d.count, partition});
}

// The dimensions of the tile, in the order in which elements are moved.
std::optional<std::vector<ChipDim>> chipDims(Instr transfer, nisa::AccessAttr chip) {
  std::vector<ChipDim> out;
  Dims free = dimsOf(chip);
  const ChipDim rows{1, chip.getPartitions(), true};
  if (transfer.is("dma_copy")) {
    out.push_back(rows);
    append(out, free);
    return out;
  }
  // dst[c, m, r] = src[r, m, c]
  const int64_t middle = transfer.integer("middle"), all = chip.elementsPerPartition();
  if (middle < 1 || all % middle)
    return std::nullopt;
  const std::optional<Dims> last = takeInner(free, all / middle);
  if (!last)
    return std::nullopt;
  append(out, *last);
  append(out, free);
  out.push_back(rows);
  return out;
}

// Steps that move both.
std::optional<std::vector<TransferStep>> together(Dims home, std::vector<ChipDim> chip) {
  std::vector<TransferStep> out;
  while (!home.empty() && !chip.empty()) {
    Dim &h = home.back();
    ChipDim &c = chip.back();
    const int64_t n = std::min(h.count, c.count);
    if (std::max(h.count, c.count) % n)
      return std::nullopt;
    if (n > 1)
      out.push_back({n, h.stride, c.stride, c.partition});
    h = {h.stride * n, h.count / n};
    c = {c.stride * n, c.count / n, c.partition};
    if (h.count == 1)
      home.pop_back();
    if (c.count == 1)
      chip.pop_back();
  }
  const auto isOne = [](const auto &d) { return d.count == 1; };
  if (!llvm::all_of(home, isOne) || !llvm::all_of(chip, isOne))
    return std::nullopt;
  std::sort(out.begin(), out.end(), [](const TransferStep &a, const TransferStep &b) {
    return std::tie(a.home, a.chip, a.count) > std::tie(b.home, b.chip, b.count);
  });
  return out;
}

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

// Each step begins where the steps within it are over: an address belongs to one element.
bool isNested(const std::vector<TransferStep> &steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].home < 1 || (i && steps[i - 1].home < steps[i].home * steps[i].count))
      return false;
  return true;
}

class Meeting {
public:
  Meeting(const TransferMap &store, const TransferMap &load) : store(store), load(load) {}

  std::variant<std::optional<SharedBox>, Unknown> run() {
    if (store.dtype != load.dtype || !isNested(store.steps))
      return Unknown{};
    for (const TransferStep &s : load.steps)
      if (!place(s))
        return Unknown{};
    return box();
  }

private:
  const TransferMap &store, &load;
  struct Placed { // a step of the load, within one of the store
    TransferStep step;
    int of; // -1: it moves nothing in HBM
    int64_t each = 0;
  };
  std::vector<Placed> placed;

  // Cuts a step of the load where steps of the store begin.
  bool place(TransferStep s) {
    while (s.count > 1) {
      if (s.home == 0) {
        placed.push_back({s, -1});
        return true;
      }
      int of = static_cast<int>(store.steps.size()) - 1;
      while (of >= 0 && store.steps[static_cast<size_t>(of)].home <= s.home)
        --of;
      ++of; // the widest that is not wider
      if (of == static_cast<int>(store.steps.size()) || s.home % store.steps[static_cast<size_t>(of)].home)
        return false;
      const int64_t home = store.steps[static_cast<size_t>(of)].home, each = s.home / home;
      int64_t n = s.count;
      if (of > 0) {
        const int64_t wider = store.steps[static_cast<size_t>(of) - 1].home;
        if ((s.count - 1) * s.home + 1 > wider) {
          if (wider % s.home || s.count % (wider / s.home))
            return false;
          n = wider / s.home;
        }
      }
      placed.push_back({{n, s.home, s.chip, s.partition}, of, each});
      s = {s.count / n, s.home * n, s.chip * n, s.partition};
    }
    return true;
  }

  int64_t extent(int of) const { // of what the load moves within a step
    int64_t out = 0;
    for (const Placed &p : placed)
      if (p.of > of)
        out += (p.step.count - 1) * p.step.home;
    return out;
  }

  std::variant<std::optional<SharedBox>, Unknown> box() {
    const std::optional<SharedBox> none;
    SharedBox out;
    out.toPartition = load.partition;
    out.to = load.chip;
    out.fromPartition = store.partition;
    out.from = store.chip;
    int64_t rest = load.home - store.home, inner = 0;
    for (const TransferStep &s : store.steps)
      inner += (s.count - 1) * s.home;
    for (size_t i = 0; i < store.steps.size(); ++i) {
      const TransferStep &s = store.steps[i];
      inner -= (s.count - 1) * s.home;
      const int of = static_cast<int>(i);
      const int64_t least = ceilDiv(rest - inner, s.home), most = floorDiv(rest + extent(of), s.home);
      if (least > most)
        return none;
      int64_t digit = least;
      if (least != most) { // only one of them may lie inside
        int64_t reach = 0;
        for (const Placed &p : placed)
          if (p.of == of)
            reach += (p.step.count - 1) * p.each;
        int64_t found = 0;
        for (int64_t d = least; d <= most && found < 2; ++d)
          if (d + reach >= 0 && d < s.count)
            digit = d, ++found;
        if (found == 0)
          return none;
        if (found > 1)
          return Unknown{};
      }
      rest -= digit * s.home;
      if (!within(out, s, of, digit))
        return unknown ? std::variant<std::optional<SharedBox>, Unknown>(Unknown{}) : none;
    }
    if (rest != 0)
      return none;
    for (const Placed &p : placed)
      if (p.of < 0)
        out.steps.push_back({p.step.count, 0, p.step.chip, false, p.step.partition});
    return std::optional(out);
  }

  bool unknown = false;

  // The part of the load's steps that lies in one of the store's.
  bool within(SharedBox &out, const TransferStep &s, int of, int64_t digit) {
    int64_t reach = 0;
    size_t count = 0;
    for (const Placed &p : placed)
      if (p.of == of)
        reach += (p.step.count - 1) * p.each, ++count;
    if (digit + reach < 0 || digit >= s.count)
      return false;
    const bool cut = digit < 0 || digit + reach >= s.count;
    if (cut && count > 1) {
      unknown = true;
      return false;
    }
    int64_t &base = s.partition ? out.fromPartition : out.from;
    base += digit * s.chip;
    for (const Placed &p : placed) {
      if (p.of != of)
        continue;
      const int64_t lo = digit < 0 ? ceilDiv(-digit, p.each) : 0;
      const int64_t hi = std::min(p.step.count, floorDiv(s.count - 1 - digit, p.each) + 1);
      if (lo >= hi)
        return false;
      base += lo * p.each * s.chip;
      (p.step.partition ? out.toPartition : out.to) += lo * p.step.chip;
      if (hi - lo > 1)
        out.steps.push_back({hi - lo, p.each * s.chip, p.step.chip, s.partition, p.step.partition});
    }
    return true;
  }
};

} // namespace

template <typename Steps> static int64_t countOf(const Steps &steps) {
  int64_t n = 1;
  for (const auto &s : steps)
    n *= s.count;
  return n;
}

int64_t TransferMap::elements() const { return countOf(steps); }
int64_t SharedBox::elements() const { return countOf(steps); }

std::optional<TransferMap> mapOf(Instr transfer, int chipSlot) {
  if (!(transfer.is("dma_copy") || transfer.is("dma_transpose")) || transfer->getNumOperands() != 2)
    return std::nullopt;
  const nisa::AccessAttr chip = transfer.access(chipSlot), home = transfer.access(1 - chipSlot);
  if (!chip || !home || chip.getDtype() != home.getDtype() || !chip.getPartitions() || home.getPartitions())
    return std::nullopt;
  const int64_t size = sizeOf(chip.getDtype());
  if (chip.getByteOffset() % size || home.getByteOffset() % size)
    return std::nullopt;
  const std::optional<std::vector<ChipDim>> dims = chipDims(transfer, chip);
  const std::optional<std::vector<TransferStep>> steps = dims ? together(dimsOf(home), *dims) : std::nullopt;
  if (!steps)
    return std::nullopt;
  return TransferMap{transfer.tensor(chipSlot),   chip.getDtype(), home.getByteOffset() / size, chip.getPartition(),
                     chip.getByteOffset() / size, *steps};
}

std::variant<std::optional<SharedBox>, Unknown> sharedBy(const TransferMap &store, const TransferMap &load) {
  return Meeting(store, load).run();
}

} // namespace glia::codegen
