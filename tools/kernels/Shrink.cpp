#include "Shrink.h"
#include "glia/Dialect/Instruction.h"

#include <algorithm>

namespace glia::kernels {

namespace {

std::vector<mlir::Operation *> parts(nisa::Kernel &k) { // instructions and loops, in order
  std::vector<mlir::Operation *> out;
  k.op().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (nisa::Instr(op) || llvm::isa<nisa::LoopOp, nisa::WhileOp>(op))
      out.push_back(op);
  });
  return out;
}

// Without instructions `from` to `to`.
nisa::Kernel without(nisa::Kernel &k, size_t from, size_t to) {
  nisa::Kernel copy = k.clone();
  const std::vector<mlir::Operation *> all = parts(copy);
  for (size_t i = std::min(to, all.size()); i-- > from;)
    all[i]->erase(); // what is inside a loop was erased before it
  return copy;
}

// A loop takes its body along.
size_t endOf(nisa::Kernel &k, size_t from, size_t length) {
  const std::vector<mlir::Operation *> all = parts(k);
  size_t to = std::min(from + length, all.size());
  while (to < all.size() && std::any_of(
                                all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(to),
                                [&](mlir::Operation *op) { return op->isProperAncestor(all[to]); }))
    ++to;
  return to;
}

void dropUnused(nisa::Kernel &k) {
  std::vector<mlir::Operation *> gone;
  k.op().walk([&](mlir::Operation *op) {
    const bool output = llvm::isa<nisa::TensorOp>(op) && llvm::cast<nisa::TensorOp>(op).getKind() != "scratch" &&
                        llvm::cast<nisa::TensorOp>(op).getKind() != "constant" &&
                        llvm::cast<nisa::TensorOp>(op).getKind() != "output";
    if (llvm::isa<nisa::AllocOp, nisa::RegisterOp, nisa::TensorOp>(op) && op->use_empty() && !output)
      gone.push_back(op);
  });
  for (mlir::Operation *op : gone)
    op->erase();
}

} // namespace

nisa::Kernel shrink(nisa::Kernel &k, const TensorData &inputs, const Verdict &verdict, int attempts) {
  nisa::Kernel best = k.clone();
  const bool whole = selfContained(best, inputs);
  for (size_t length = std::max<size_t>(parts(best).size() / 2, 1); attempts > 0; length = std::max<size_t>(length / 2, 1)) {
    bool changed = false;
    for (size_t from = 0; from < parts(best).size() && attempts > 0;) {
      nisa::Kernel next = without(best, from, endOf(best, from, length));
      dropUnused(next);
      --attempts;
      if ((!whole || selfContained(next, inputs)) && compare(next, inputs).same(verdict)) {
        best = std::move(next);
        changed = true;
      } else {
        from += length;
      }
    }
    if (length == 1 && !changed)
      break;
  }
  return best;
}

} // namespace glia::kernels
