#include "glia/ISA/AluRules.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>

namespace glia {

namespace {

constexpr unsigned bit(Engine e) { return 1u << static_cast<int>(e); }
constexpr unsigned V = bit(Engine::Vector), S = bit(Engine::Scalar), G = bit(Engine::GpSimd);

// From the operator table of the NKI API reference (SDK 2.26, with engines; today's reference for the newer operations).
struct Facts {
  unsigned place;
  unsigned engines;
  std::string_view feature; // needed besides; empty = none
};

constexpr Facts kFacts[kNumAluOps] = {
    /* Add */ {kBinary | kReduction, V | G | S, {}},
    /* Subtract */ {kBinary | kReduction, V, {}},
    /* Multiply */ {kBinary | kReduction, V | G | S, {}},
    /* Max */ {kBinary | kReduction, V, {}},
    /* Min */ {kBinary | kReduction, V, {}},
    /* Equal */ {kBinary, V, {}},
    /* NotEqual */ {kBinary, V, {}},
    /* GreaterEqual */ {kBinary, V, {}},
    /* Greater */ {kBinary, V, {}},
    /* LessEqual */ {kBinary, V, {}},
    /* Less */ {kBinary, V, {}},
    /* LogicalAnd */ {kBinary | kReduction, V, {}},
    /* LogicalOr */ {kBinary | kReduction, V, {}},
    /* LogicalXor */ {kBinary | kReduction, V, {}},
    /* Power */ {kBinary, G, {}},
    /* AbsMax */ {kBinary, V, "abs_max"},
    /* AbsMin */ {kBinary, V, "abs_max"},
    /* Bypass */ {kBypass, V | G | S, {}},
    /* Abs */ {kUnary, V, {}},
    /* Square */ {kUnary, V, "tensor_scalar_square_relu"},
    /* Relu */ {kUnary, V, "tensor_scalar_square_relu"},
    /* Rsqrt */ {kUnary, G, {}},
    /* Reciprocal */ {kUnary, V, {}},
    /* BitAnd */ {kBits | kReduction, V, {}},
    /* BitOr */ {kBits | kReduction, V, {}},
    /* BitXor */ {kBits | kReduction, V, {}},
    /* BitNot */ {kBits | kUnary, V, {}},
    /* ShiftLeft */ {kBits, V, {}},
    /* ShiftRight */ {kBits, V, {}},
    /* Average */ {0, 0, {}},
};

std::string str(std::string_view s) { return std::string(s); }

std::string named(const Check &c, int slot) {
  return format("`%s` (%s)", str(c.operand(slot).objectName).c_str(), str(c.def.slots[slot].name).c_str());
}

} // namespace

bool checkAluOp(Check &c, int slot, unsigned places, bool exactIntegers) {
  const AluOp op = static_cast<AluOp>(c.integer(slot));
  const Facts &f = kFacts[static_cast<int>(op)];
  const std::string opName = str(aluOpNames().names[static_cast<size_t>(op)]), slotName = str(c.def.slots[slot].name);
  const unsigned kinds = f.place & ~kReduction;
  if ((kinds & places) != kinds || !kinds || ((places & kReduction) && !(f.place & kReduction))) {
    c.fail("ALU-OP", slot, format("%s of %s cannot be %s", slotName.c_str(), str(c.def.name).c_str(), opName.c_str()),
           opName, places & kReduction ? "an operation that is legal as a reduction" : "an operation of this instruction");
    return false;
  }
  const bool exact = exactIntegers && c.engine == Engine::GpSimd && exactInteger(op);
  if (!(f.engines & bit(c.engine)) && !exact) {
    std::string has;
    for (Engine e : {Engine::Vector, Engine::Scalar, Engine::GpSimd})
      if (f.engines & bit(e))
        has += (has.empty() ? "" : ", ") + str(name(e));
    c.fail("ALU-OP", slot, format("the %s engine has no %s", str(name(c.engine)).c_str(), opName.c_str()),
           str(name(c.engine)), has);
    return false;
  }
  if (!f.feature.empty() && !c.target.has(f.feature)) {
    c.fail("ALU-OP", slot,
           format("%s has no %s (feature %s)", c.target.name.c_str(), opName.c_str(), str(f.feature).c_str()), opName,
           "feature " + str(f.feature));
    return false;
  }
  return true;
}

void checkAluScalar(Check &c, int opSlot, int operandSlot, int like, bool anyType) {
  const AluOp op = static_cast<AluOp>(c.integer(opSlot));
  const OperandInfo &o = c.operand(operandSlot);
  const std::string opName = str(aluOpNames().names[static_cast<size_t>(op)]), slotName = str(c.def.slots[operandSlot].name);
  if (isUnary(op)) {
    if (o.present && !(o.immediate && o.number == 0))
      c.fail("ALU-OPERAND", operandSlot, format("%s takes no %s", opName.c_str(), slotName.c_str()), "given", "none");
    return;
  }
  if (!o.present) {
    c.fail("ALU-OPERAND", operandSlot, format("%s needs %s", opName.c_str(), slotName.c_str()), "none",
           "a number or a tensor");
    return;
  }
  if (!isBitOp(op)) {
    c.perPartition(operandSlot, like, anyType);
    return;
  }
  if (!o.immediate) {
    c.perPartition(operandSlot, like, true);
    return;
  }
  // A float holds 24 bits exactly: wider masks have to come from memory.
  if (!(std::trunc(o.number) == o.number && o.number >= -0x1p31f && o.number < 0x1p32f))
    c.fail("ALU-OPERAND", operandSlot, format("%s is %g, which is no 32-bit integer", slotName.c_str(), o.number),
           format("%g", o.number), "an integer from -2^31 to 2^32-1");
}

void checkBitTypes(Check &c, std::initializer_list<int> slots) {
  int size = 0;
  for (int s : slots) {
    const OperandInfo &o = c.operand(s);
    if (!o.present || o.immediate)
      continue;
    if (!isInteger(o.dtype()) || sizeOf(o.dtype()) > 4)
      c.fail("BIT-OP-TYPE", s,
             format("%s is %s, and bit operations take integers of up to 32 bits", named(c, s).c_str(),
                    str(name(o.dtype())).c_str()),
             str(name(o.dtype())), "i8, u8, i16, u16, i32, u32");
    else if (size && sizeOf(o.dtype()) != size)
      c.fail("BIT-OP-TYPE", s,
             format("%s has elements of %d bytes and the first operand has %d: bit operations do not cast",
                    named(c, s).c_str(), sizeOf(o.dtype()), size),
             format("%d bytes", sizeOf(o.dtype())), format("%d bytes", size));
    else
      size = sizeOf(o.dtype());
  }
}

void checkComputeTypes(Check &c, std::initializer_list<int> slots) {
  for (int s : slots) {
    const OperandInfo &o = c.operand(s);
    if (o.present && !o.immediate && sizeOf(o.dtype()) == 8)
      c.fail("OPERAND-DTYPE", s,
             format("%s is %s, which %s does not compute with", named(c, s).c_str(), str(name(o.dtype())).c_str(),
                    str(c.def.name).c_str()),
             str(name(o.dtype())), "a type of up to 32 bits");
  }
}

} // namespace glia
