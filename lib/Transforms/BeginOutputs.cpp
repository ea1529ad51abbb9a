#include "glia/Transforms/BeginOutputs.h"
#include "glia/Dialect/Instruction.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace mlir;

namespace glia {

namespace {

// Which bytes of a tensor in HBM are written.
class Coverage {
public:
  explicit Coverage(nisa::TensorType type) : bytes(sizeOf(type.getDtype())) {
    for (int64_t n : type.getShape())
      bytes *= n;
    if (bytes <= kMost)
      written.resize(static_cast<size_t>(bytes));
  }
  void add(nisa::AccessAttr a) {
    if (bytes <= kMost)
      add(a, a.getByteOffset(), 0);
  }
  bool all() const {
    return bytes <= kMost && llvm::all_of(written, [](bool b) { return b; });
  }

private:
  static constexpr int64_t kMost = int64_t{1} << 26;
  int64_t bytes;
  std::vector<bool> written;

  void add(nisa::AccessAttr a, int64_t at, size_t dim) {
    const int64_t size = sizeOf(a.getDtype());
    const bool run = dim + 2 == a.getDims().size() && a.getDims()[dim] == 1;
    if (run || dim == a.getDims().size()) {
      const int64_t from = std::max<int64_t>(at, 0), to = std::min(at + (run ? a.getDims()[dim + 1] : 1) * size, bytes);
      if (from < to)
        std::fill(written.begin() + from, written.begin() + to, true);
      return;
    }
    for (int64_t i = 0; i < a.getDims()[dim + 1]; ++i)
      add(a, at + i * a.getDims()[dim] * size, dim + 2);
  }
};

} // namespace

// Nobody sees what the output begins as: it is never read, and every byte is written in any case.
static bool isWrittenAnew(nisa::TensorOp output) {
  Coverage covered(output.getTensor().getType());
  for (Operation *user : output.getTensor().getUsers()) {
    const nisa::Instr i(user);
    if (!i)
      return false;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (i.tensor(slot) != output.getTensor())
        continue;
      if (i.reads(slot))
        return false;
      const int index = i.def().slot(std::string(i.def().slots[k].name) + "_index"), oob = i.def().slot("oob");
      const bool always = isa<nisa::CoreOp>(user->getParentOp()) && i.access(slot).getTerms().empty() &&
                          !(index >= 0 && i.access(index)) && !(oob >= 0 && i.integer(oob) != 0);
      if (always && i.writes(slot))
        covered.add(i.access(slot));
    }
  }
  return covered.all();
}

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
    if (isWrittenAnew(t)) {
      t.removeAliasAttr();
      continue;
    }
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
