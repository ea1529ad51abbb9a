#include "Braid.h"
#include "CodeGen/KernelCost.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Dialect/Instruction.h"

#include "llvm/ADT/STLExtras.h"

namespace glia::emit {

namespace {

// The instructions of a group, and the tiles that they are the first to use.
struct Strand {
  std::vector<mlir::Operation *> ops;
  std::vector<double> before; // work in front of each
  double work = 0;
  bool multiplies = false;
};

bool reads(const Group &g, const Group &other) {
  return llvm::any_of(g.inputs, [&](mlir::Value v) { return llvm::is_contained(other.outputs, rootOf(v)); });
}

bool isMatmul(mlir::Operation *op) {
  const nisa::Instr i(op);
  return i && i.is("nc_matmul");
}

// Nothing if the kernel has more than instructions one after the other.
std::vector<Strand> strandsOf(mlir::Block &block, const std::vector<uint64_t> &ends) {
  std::vector<Strand> out(ends.size());
  uint64_t n = 0;
  size_t group = 0;
  std::vector<mlir::Operation *> tiles;
  for (mlir::Operation &op : block) {
    if (llvm::isa<nisa::AllocOp>(op)) {
      tiles.push_back(&op);
      continue;
    }
    if (!nisa::Instr(&op))
      return {};
    while (group < ends.size() && n >= ends[group])
      ++group;
    if (group == ends.size())
      return {};
    Strand &s = out[group];
    s.ops.insert(s.ops.end(), tiles.begin(), tiles.end());
    tiles.clear();
    s.ops.push_back(&op);
    s.multiplies |= isMatmul(&op);
    ++n;
  }
  return out;
}

// A strand that multiplies is as far as its products are, another one as far as its transfers and elements.
void weigh(Strand &s, const Target &target) {
  for (mlir::Operation *op : s.ops) {
    s.before.push_back(s.work);
    const nisa::Instr i(op);
    if (!i || !i.def().cost || (s.multiplies && !isMatmul(op)))
      continue;
    const codegen::Duration d =
        codegen::durationOf(i, target, i.engine().value_or(s.multiplies ? Engine::Tensor : Engine::Vector));
    s.work += d.transfer > 0 ? d.transfer * d.share : d.busy;
  }
}

Strand joined(std::span<Strand> strands) {
  Strand out;
  for (Strand &s : strands) {
    for (double b : s.before)
      out.before.push_back(out.work + b);
    out.ops.insert(out.ops.end(), s.ops.begin(), s.ops.end());
    out.work += s.work;
  }
  return out;
}

} // namespace

void braid(nisa::Kernel &kernel, const Region &r, const std::vector<uint64_t> &ends, const Target &target) {
  auto cores = kernel.op().getBody().getOps<nisa::CoreOp>();
  if (std::distance(cores.begin(), cores.end()) != 1)
    return;
  mlir::Block &block = (*cores.begin()).getBody().front();
  std::vector<Strand> strands = strandsOf(block, ends);
  for (size_t i = 0; i < strands.size();) {
    size_t middle = i;
    while (middle < strands.size() && strands[middle].multiplies)
      ++middle;
    size_t end = middle;
    while (end < strands.size() && !strands[end].multiplies)
      ++end;
    size_t from = middle; // the last of those that multiply whose results the others do not read
    while (from > i && llvm::none_of(r.groups.subspan(middle, end - middle),
                                     [&](const Group &g) { return reads(g, r.groups[from - 1]); }))
      --from;
    i = end;
    if (from == middle || middle == end)
      continue;
    for (size_t g = from; g < end; ++g)
      weigh(strands[g], target);
    const Strand a = joined(std::span(strands).subspan(from, middle - from)),
                 b = joined(std::span(strands).subspan(middle, end - middle));
    mlir::Operation *behind = b.ops.back()->getNextNode();
    size_t x = 0, y = 0;
    while (x < a.ops.size() || y < b.ops.size()) {
      const bool first = y == b.ops.size() || (x < a.ops.size() && a.before[x] * b.work <= b.before[y] * a.work);
      mlir::Operation *op = first ? a.ops[x++] : b.ops[y++];
      op->moveBefore(&block, behind ? behind->getIterator() : block.end());
    }
  }
}

} // namespace glia::emit
