#include "Lifetimes.h"

#include <algorithm>

namespace glia::codegen {

namespace {

// One walk in program order. An operation has two places: it begins at one, what stands in it has the places between, and it ends at
// the other.
class Walk {
public:
  explicit Walk(const Looks &looks) : looks(looks) {}
  std::vector<Lifetime> out;

  void block(mlir::Block &b) {
    for (mlir::Operation &op : b) {
      const uint32_t begin = next++;
      if (auto alloc = llvm::dyn_cast<nisa::AllocOp>(op))
        made(alloc, begin);
      else if (nisa::Instr i{&op})
        uses(i, begin);
      if (op.getNumRegions()) {
        loops.push_back({begin, &op, {}, {}});
        for (mlir::Region &r : op.getRegions())
          for (mlir::Block &inner : r)
            block(inner);
        leave(next);
      }
      ++next;
    }
  }

private:
  struct Loop {
    uint32_t begin;
    mlir::Operation *op;
    std::vector<uint32_t> used; // in it, and made outside
    std::vector<uint32_t> kept; // made in it, and holds what an iteration before has left
  };
  const Looks &looks;
  std::vector<Loop> loops; // around the present place
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  std::vector<uint32_t> depth; // of loops around each allocation
  std::vector<bool> used;
  uint32_t next = 0;

  void made(nisa::AllocOp op, uint32_t at) {
    Lifetime l;
    l.op = op;
    l.pinned = op.getPinned();
    l.number = static_cast<uint32_t>(out.size());
    l.from = l.to = at;
    const nisa::TensorType type = op.getTensor().getType();
    l.space = type.getSpace();
    l.partitions = static_cast<int32_t>(type.getShape()[0]);
    l.bytes = sizeOf(type.getDtype());
    for (size_t i = 1; i < type.getShape().size(); ++i)
      l.bytes *= type.getShape()[i];
    numbers[op.getTensor()] = l.number;
    depth.push_back(static_cast<uint32_t>(loops.size()));
    used.push_back(false);
    out.push_back(l);
  }

  void uses(nisa::Instr i, uint32_t begin) {
    for (mlir::Value v : i->getOperands())
      use(v, i, begin);
    if (const auto it = looks.find(i.operation()); it != looks.end())
      for (mlir::Value v : it->second)
        use(v, i, begin);
  }

  void use(mlir::Value v, nisa::Instr i, uint32_t begin) {
    const auto it = numbers.find(v);
    if (it == numbers.end())
      return;
    const uint32_t n = it->second;
    Lifetime &l = out[n];
    // The use, as seen from where the tensor was made: the instruction, or the loop that it is in.
    const bool inside = depth[n] < loops.size();
    if (inside)
      loops[depth[n]].used.push_back(n);
    if (!used[n]) {
      l.from = inside ? loops[depth[n]].begin : begin;
      l.first = inside ? loops[depth[n]].op : i.operation();
      if (!inside && depth[n] > 0 && reads(i, v))
        loops.back().kept.push_back(n);
    }
    if (!inside)
      l.to = begin + 1;
    used[n] = true;
  }

  static bool reads(nisa::Instr i, mlir::Value v) {
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      if (i.tensor(static_cast<int>(k)) == v && i.reads(static_cast<int>(k)))
        return true;
    return false;
  }

  void leave(uint32_t end) {
    const Loop loop = std::move(loops.back());
    loops.pop_back();
    for (uint32_t n : loop.used)
      out[n].to = end;
    for (uint32_t n : loop.kept)
      out[n].from = loop.begin, out[n].first = loop.op, out[n].to = end, out[n].kept = true;
  }
};

} // namespace

std::vector<Lifetime> lifetimesOf(nisa::CoreOp core, const Looks &looks) {
  Walk walk(looks);
  walk.block(core.getBody().front());
  std::sort(walk.out.begin(), walk.out.end(),
            [](const Lifetime &a, const Lifetime &b) { return a.from != b.from ? a.from < b.from : a.number < b.number; });
  return std::move(walk.out);
}

} // namespace glia::codegen
