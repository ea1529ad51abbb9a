// What a rule predicate sees: one instruction with its operands placed in memory, and the target.
// The general rules (bounds of the allocation, partition starts, types the target has, engine reach, overlap of
// operands ...) are applied to every operand by the verifier; `InstrDef::check` adds what is particular.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Target/Target.h"

#include <initializer_list>
#include <string>

namespace glia {

// A tensor operand as the rules see it. Registers are unknown here: static parts of addresses only.
struct OperandInfo {
  bool present = false;
  bool immediate = false; // Scalar slot holding a number
  float number = 0;
  Space space = Space::Sbuf;
  const Pattern *pattern = nullptr;
  int32_t partition = 0;  // absolute first partition
  int64_t byteOffset = 0; // absolute in the partition, or in the HBM tensor
  ObjectRef object;
  std::string_view objectName;
  int64_t objectBytes = 0; // per partition on chip, in all for HBM
  int32_t objectPartitions = 0;
  bool onChip() const { return space != Space::Hbm; }
  int partitions() const { return pattern->partitions; }
  int64_t elements() const { return pattern->elementsPerPartition(); } // per partition; HBM: all
  DType dtype() const { return pattern->dtype; }
};

class Check {
public:
  virtual ~Check() = default;
  const InstrDef &def;
  const Target &target;
  const Engine engine;
  const int cores; // of the program
  Check(const InstrDef &d, const Target &t, Engine e, int cores) : def(d), target(t), engine(e), cores(cores) {}

  virtual const OperandInfo &operand(int slot) const = 0;
  virtual int32_t integer(int slot) const = 0; // Enum Flag Small Int; RegOrInt immediates
  virtual bool isRegister(int slot) const = 0; // RegOrInt holding a register
  virtual float number(int slot) const = 0;    // Float
  virtual std::span<const uint32_t> list(int slot) const = 0;
  virtual std::string_view text(int slot) const = 0; // Text
  virtual int core() const = 0;

  // Reports that `rule` is broken. `what` is the sentence's particular part: "`acc` starts at partition 48, ...".
  virtual void fail(std::string_view rule, int slot, std::string what, std::string value, std::string limit) = 0;

  // ---- predicates that several instructions share (lib/ISA/Check.cpp) --------------------------------
  bool has(int slot) const { return operand(slot).present; }
  // rule SAME-SHAPE: equal partitions and equal elements per partition.
  void sameShape(std::initializer_list<int> slots);
  // rule PER-PARTITION-SCALAR: one element per partition, as many partitions as `like`, fp32 unless anyType.
  void perPartition(int slot, int like, bool anyType = false);
  // rule ONE-PSUM-INPUT: at most one of the two in PSUM.
  void onePsumInput(int a, int b);
  // rule OPERAND-MEMORY: the operand lives in one of these memories.
  void in(int slot, std::initializer_list<Space> spaces);
  // rule OPERAND-DTYPE: the operand has one of these types.
  void types(int slot, std::initializer_list<DType> types);
  void sameType(int a, int b); // rule OPERAND-DTYPE
  // rule OPERAND-LIMIT: lo <= value <= hi, named `what` in the message.
  void within(int slot, std::string_view what, int64_t value, int64_t lo, int64_t hi);
};

} // namespace glia
