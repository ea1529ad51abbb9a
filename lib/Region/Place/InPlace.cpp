#include "InPlace.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Verify/Footprint.h"

#include "llvm/ADT/BitVector.h"

namespace glia::emit {

namespace {

class Order {
public:
  Order(mlir::Value tensor, size_t cores)
      : tensor(tensor), type(llvm::cast<nisa::TensorType>(tensor.getType())), read(cores), written(cores) {
    int64_t n = 1;
    for (int64_t d : type.getShape())
      n *= d;
    for (auto *all : {&read, &written})
      for (llvm::BitVector &v : *all)
        v.resize(static_cast<unsigned>(n));
  }

  bool inCore(nisa::CoreOp core, size_t number) {
    const auto touches = [&](mlir::Operation *op) { return llvm::is_contained(op->getOperands(), tensor); };
    for (mlir::Operation &op : core.getBody().front()) {
      if (op.getNumRegions() > 0) { // a loop
        if (op.walk([&](mlir::Operation *inner) {
                return touches(inner) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
              }).wasInterrupted())
          return false;
      } else if (touches(&op) && !instruction(nisa::Instr(&op), number)) {
        return false;
      }
    }
    return true;
  }

  bool coresApart() const {
    for (size_t a = 0; a < read.size(); ++a)
      for (size_t b = 0; b < read.size(); ++b)
        if (a != b && read[a].anyCommon(written[b]))
          return false;
    return true;
  }

private:
  mlir::Value tensor;
  nisa::TensorType type;
  std::vector<llvm::BitVector> read, written; // elements, by core

  // The elements that a slot touches; false if that is not known.
  template <class F> bool forEachRun(const nisa::Instr &i, int slot, F &&f) const {
    const nisa::AccessAttr a = i.access(slot);
    const int size = sizeOf(type.getDtype());
    std::vector<ByteRun> runs;
    if (sizeOf(a.getDtype()) != size || !a.getTerms().empty() || a.getByteOffset() % size != 0 ||
        !footprint(a.pattern(), a.getByteOffset(), runs))
      return false;
    for (const ByteRun &r : runs)
      f(static_cast<unsigned>(r.lo / size), static_cast<unsigned>(r.hi / size));
    return true;
  }

  // Writes come after all reads of the same instruction: a transfer inside the tensor is refused, its parts have no order.
  bool instruction(const nisa::Instr &i, size_t core) {
    if (!i || !(i.is("dma_copy") || i.is("dma_transpose")))
      return false;
    const auto slots = static_cast<int>(i.def().slots.size());
    bool reads = false, writes = false, fresh = true;
    for (int s = 0; s < slots; ++s) {
      if (i.access(s) && (i.def().slots[s].name == "dst_index" || i.def().slots[s].name == "src_index"))
        return false; // data says where
      if (!i.access(s) || i.tensor(s) != tensor)
        continue;
      reads |= i.reads(s);
      writes |= i.writes(s);
      const bool known = forEachRun(i, s, [&](unsigned lo, unsigned hi) {
        fresh &= !i.reads(s) || written[core].find_first_in(lo, hi) < 0;
        (i.reads(s) ? read : written)[core].set(lo, hi);
      });
      if (!known)
        return false;
    }
    return fresh && !(reads && writes);
  }
};

nisa::TensorOp tensorNamed(nisa::KernelOp kernel, llvm::StringRef name) {
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
    if (t.getLabel() == name)
      return t;
  return {};
}

} // namespace

void putInPlace(nisa::Kernel &kernel, llvm::StringRef input, llvm::StringRef output) {
  if (nisa::TensorOp old = tensorNamed(kernel.op(), input)) {
    old.getTensor().replaceAllUsesWith(tensorNamed(kernel.op(), output).getTensor());
    old.erase();
  }
}

bool readsBeforeWriting(nisa::Kernel &kernel, llvm::StringRef tensor) {
  nisa::KernelOp op = kernel.op();
  Order order(tensorNamed(op, tensor).getTensor(), op.cores());
  for (unsigned c = 0; c < op.cores(); ++c)
    if (!order.inCore(op.core(c), c))
      return false;
  return order.coresApart();
}

} // namespace glia::emit
