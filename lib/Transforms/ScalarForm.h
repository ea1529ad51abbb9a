// What Vector does and an activation of the Scalar engine does as well, to the bit.
#pragma once
#include "InstrFacts.h"

#include <map>

namespace glia {

// tensor_scalar                 activation(copy) with its scale and bias. They are one rounding, so of two operations one has to be exact:
//                               a product with a power of two, beside a sum with a number that is neither huge nor tiny
// tensor_reduce, a sum of rows  activation(copy) with its accumulator, which adds in the same order (a sum of nothing but -0 is +0)
// reciprocal                    activation(reciprocal), where a table may be loaded for it
class ScalarForm {
public:
  ScalarForm(const Target &target, int cores, bool tables) : target(target), cores(cores), tables(tables) {}
  void begin(nisa::CoreOp core); // numbers and results that nobody wants have tensors at the beginning of a core

  // Stands before `i`, which is still there; nothing if there is no such form.
  nisa::Instr of(nisa::Instr i);
  // When those that are not used are gone: the fills of numbers that are.
  std::vector<nisa::Instr> finish();

private:
  const Target &target;
  const int cores;
  const bool tables; // of functions may be loaded
  mlir::Block *start = nullptr;
  std::map<uint32_t, mlir::Value> numbers; // by bits
  std::map<int64_t, mlir::Value> unwanted; // by elements per partition
  std::vector<nisa::Instr> fills;

  nisa::Instr scaled(nisa::Instr i);
  nisa::Instr summed(nisa::Instr i);
  nisa::Instr inverted(nisa::Instr i);
  nisa::Instr make(nisa::Instr i, llvm::ArrayRef<nisa::SlotValue> values);
  mlir::Value tensor(llvm::StringRef name, DType t, int64_t elements);
  nisa::SlotValue numberAt(float number, nisa::AccessAttr like);
};

} // namespace glia
