#include "glia/Transforms/BeginOutputs.h"
#include "glia/Dialect/Instruction.h"

#include <map>

using namespace mlir;

namespace glia {

void beginOutputs(nisa::KernelOp kernel) {
  std::map<StringRef, nisa::TensorOp> inputs;
  OpBuilder b(kernel.getContext());
  b.setInsertionPointToStart(&kernel.core(0).getBody().front());
  bool copied = false;
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>()) {
    if (t.getKind() == "input")
      inputs[t.getLabel()] = t;
    if (!t.getAlias())
      continue;
    nisa::createInstruction(b, t.getLoc(), *findInstruction("dma_copy"),
                            {nisa::SlotValue::of(nisa::wholeTensor(t.getTensor())),
                             nisa::SlotValue::of(nisa::wholeTensor(inputs.at(*t.getAlias()).getTensor()))});
    t.removeAliasAttr();
    copied = true;
  }
  if (!copied || kernel.cores() < 2)
    return;
  for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
    if (core.getNumber() != 0)
      b.setInsertionPointToStart(&core.getBody().front());
    nisa::createInstruction(b, kernel.getLoc(), *findInstruction("core_barrier"),
                            {nisa::SlotValue::of(std::string("outputs begin as inputs"))});
  }
}

} // namespace glia
