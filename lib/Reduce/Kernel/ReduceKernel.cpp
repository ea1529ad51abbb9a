#include "glia/Reduce/ReduceKernel.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Dialect/Kernel.h"

#include <algorithm>

namespace glia::reduce {

namespace {

std::vector<mlir::Operation *> partsOf(nisa::Kernel &k) { // instructions and loops, in order
  std::vector<mlir::Operation *> out;
  k.op().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (nisa::Instr(op) || llvm::isa<nisa::LoopOp, nisa::WhileOp>(op))
      out.push_back(op);
  });
  return out;
}

// A loop takes its body along.
size_t endOf(const std::vector<mlir::Operation *> &all, size_t from, size_t to) {
  while (to < all.size() && std::any_of(
                                all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(to),
                                [&](mlir::Operation *op) { return op->isProperAncestor(all[to]); }))
    ++to;
  return to;
}

void dropUnused(nisa::Kernel &k) {
  std::vector<mlir::Operation *> gone;
  k.op().walk([&](mlir::Operation *op) {
    if (llvm::isa<nisa::AllocOp, nisa::RegisterOp, nisa::TensorOp>(op) && op->use_empty())
      gone.push_back(op);
  });
  for (mlir::Operation *op : gone)
    op->erase();
}

class KernelReducer {
public:
  explicit KernelReducer(Search &search) : search(search) {}

  void run() {
    for (bool changed = true; changed && !search.spent();) {
      changed = leaveOut(
          search, [&] { return partsOf(*current()).size(); },
          [&](size_t from, size_t to) { return attempt([&](nisa::Kernel &k) { return drop(k, from, to); }); });
      for (const int32_t count : {0, 1, 2})
        for (size_t i = partsOf(*current()).size(); i-- > 0 && !search.spent();)
          changed |= i < partsOf(*current()).size() && attempt([&](nisa::Kernel &k) { return repeat(k, i, count); });
    }
  }

private:
  Search &search;
  nisa::Kernel kernel;
  std::string read; // the text of `kernel`

  nisa::Kernel *current() {
    if (read != search.current()) {
      read = search.current();
      kernel.module = {}; // before its context
      kernel = nisa::parseKernel(read, "kernel.nisa");
    }
    return &kernel;
  }

  bool attempt(const std::function<bool(nisa::Kernel &)> &change) {
    try {
      nisa::Kernel next = nisa::parseKernel(search.current(), "kernel.nisa");
      if (!change(next))
        return false;
      dropUnused(next);
      const std::string text = next.text();
      nisa::parseKernel(text, "kernel.nisa");
      return search.offer(text);
    } catch (const Error &) { // what is left is no kernel
      return false;
    }
  }

  static bool drop(nisa::Kernel &k, size_t from, size_t to) {
    const std::vector<mlir::Operation *> all = partsOf(k);
    to = endOf(all, from, std::min(to, all.size()));
    for (size_t i = to; i-- > from;)
      all[i]->erase(); // what is inside a loop was erased before it
    return to > from;
  }

  // Of a loop: fewer iterations; 0: its body once, without the loop.
  static bool repeat(nisa::Kernel &k, size_t at, int32_t count) {
    auto loop = llvm::dyn_cast<nisa::LoopOp>(partsOf(k)[at]);
    if (!loop || (loop.getCount() && static_cast<int32_t>(*loop.getCount()) <= count))
      return false;
    if (count > 0) {
      loop.getCountRegisterMutable().clear();
      loop.setCount(count);
      return true;
    }
    if (!loop.iterator().use_empty())
      return false;
    mlir::Block &body = loop.getBody().front();
    loop->getBlock()->getOperations().splice(loop->getIterator(), body.getOperations());
    loop->erase();
    return true;
  }
};

} // namespace

void reduceKernel(Search &search) { KernelReducer(search).run(); }

Size sizeOfKernel(const std::string &text) {
  nisa::Kernel k = nisa::parseKernel(text, "kernel.nisa");
  Size out{partsOf(k).size(), 0, text.size()};
  k.op().walk([&](mlir::Operation *op) { out.elements += llvm::isa<nisa::AllocOp, nisa::RegisterOp, nisa::TensorOp>(op); });
  return out;
}

} // namespace glia::reduce
