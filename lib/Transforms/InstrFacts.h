// What the machine's own predicates and cost formulas see of a kernel instruction, before it has a place in a program:
// allocations without an address lie at partition 0, byte 0.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"

#include <vector>

namespace glia::nisa {

// Whether the machine has a pattern like this: at most 4 dimensions on chip and 5 in HBM, at most two registers.
bool isRepresentable(AccessAttr a);

// The name and the address of what an operand names.
llvm::StringRef labelOf(mlir::Value tensor);
struct Address {
  int32_t partition = 0;
  int64_t byte = 0;
};
Address addressOf(mlir::Value tensor);

// `count` numbers of fp32 for each partition of `like`, in a tensor of their own.
TensorOperand allocateNumbers(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, AccessAttr like, int64_t count);

// The instruction writes all of the tensor, on chip, and reads nothing of it: what lay there before is never seen.
bool writesAll(Instr i, mlir::Value tensor);
// Likewise, but it reads the elements that it writes, each in its place: what it makes of them may go to another tensor.
bool rewritesAll(Instr i, mlir::Value tensor);

// Runs InstrDef::check and the reach of the engine on an instruction as if it were issued by `engine`.
class TrialCheck final : public Check {
public:
  TrialCheck(Instr i, const Target &t, Engine e, int cores);
  bool passes(); // no rule is broken
  // Looks at another value of an Enum or Flag slot than the instruction has.
  void assume(int slot, int32_t value) { assumedSlot = slot, assumed = value; }

  const OperandInfo &operand(int slot) const override { return infos[slot]; }
  int32_t integer(int slot) const override;
  bool isRegister(int slot) const override { return static_cast<bool>(i.reg(slot)); }
  float number(int slot) const override;
  std::span<const uint32_t> list(int slot) const override;
  std::string_view text(int slot) const override;
  int core() const override { return 0; }
  void fail(std::string_view, int, std::string, std::string, std::string) override { broken = true; }

private:
  Instr i;
  std::vector<OperandInfo> infos;
  std::vector<Pattern> patterns;
  bool broken = false;
  int assumedSlot = -1;
  int32_t assumed = 0;
};

class InstrCost final : public CostQuery {
public:
  InstrCost(Instr i, const Target &t, Engine e) : CostQuery(i.def(), t, e), i(i), patterns(i.def().slots.size()) {}
  bool has(int slot) const override { return static_cast<bool>(i.access(slot)); }
  const Pattern &pattern(int slot) const override { return patterns[slot] = i.access(slot).pattern(); }
  Space space(int slot) const override { return llvm::cast<TensorType>(i.tensor(slot).getType()).getSpace(); }
  int32_t integer(int slot) const override { return i.integer(slot); }
  float number(int slot) const override;

private:
  Instr i;
  mutable std::vector<Pattern> patterns;
};

} // namespace glia::nisa
