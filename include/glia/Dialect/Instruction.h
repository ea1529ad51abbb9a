// Instructions of a kernel: an op whose attribute `slots` holds one entry per slot of the machine's definition.
//
//   slot kind              entry of `slots`
//   tensor                 #nisa.at (AccessAttr), or unit if absent
//   Scalar, OptScalar      f32, AccessAttr, or unit if absent
//   Float                  f32
//   Int Enum Flag Small    i32            nc_matmul's `accumulate` may also be kAccumulateAuto
//   RegIn RegOut           RegisterSlotAttr
//   RegOrInt               RegisterSlotAttr or i32
//   Ints                   array<i32>
//   Text                   string
//   Queue, Label           i32 once assigned, else unit
//
// Operands of the op are the tensors and registers, named by their numbers in these entries. Further attributes:
//   engine (i32)           which engine; absent: not chosen yet
//   id (i32), after (array<i32>)   extra ordering edges: this instruction comes after those with these ids (same core)
//   chain (i32)            instructions of one chain keep their order (no_reorder)
//   name (string)          the author's name for it
//   waits, updates (array<i32>)    semaphore, value, consume ... / semaphore, value ...; made by InsertSemaphores
#pragma once
#include "glia/Dialect/Nisa.h"

#include <optional>

namespace glia::nisa {

inline constexpr int32_t kAccumulateAuto = 2;

// A tensor operand under construction.
struct TensorOperand {
  mlir::Value tensor;
  DType dtype = DType::F32;
  int32_t partition = 0, partitions = 0; // in HBM both 0
  int64_t byteOffset = 0;
  llvm::SmallVector<int64_t, 8> dims; // stride, count ... in elements
  struct Term {
    mlir::Value reg;
    int64_t scale = 0; // bytes, or partitions
    bool partition = false;
  };
  llvm::SmallVector<Term, 1> terms;
};

// What goes into a slot.
struct SlotValue {
  enum Kind : uint8_t { Absent, Tensor, Float, Int, Register, Ints, Text } kind = Absent;
  TensorOperand tensor;
  float number = 0;
  int32_t integer = 0;
  mlir::Value reg;
  llvm::SmallVector<int32_t, 4> list;
  std::string text;

  static SlotValue of(TensorOperand t) {
    SlotValue v;
    v.kind = Tensor;
    v.tensor = std::move(t);
    return v;
  }
  static SlotValue of(float f) {
    SlotValue v;
    v.kind = Float;
    v.number = f;
    return v;
  }
  static SlotValue of(int32_t i) {
    SlotValue v;
    v.kind = Int;
    v.integer = i;
    return v;
  }
  static SlotValue of(mlir::Value reg) {
    SlotValue v;
    v.kind = Register;
    v.reg = reg;
    return v;
  }
  static SlotValue of(std::string s) {
    SlotValue v;
    v.kind = Text;
    v.text = std::move(s);
    return v;
  }
};

// A view of an op that is an instruction; false if it is none. Cheap: copy it freely.
class Instr {
public:
  Instr() = default;
  explicit Instr(mlir::Operation *op) : op(op), d(op ? NisaDialect::definition(op) : nullptr) {
    if (!d)
      this->op = nullptr;
  }
  explicit operator bool() const { return op; }
  mlir::Operation *operation() const { return op; }
  mlir::Operation *operator->() const { return op; }
  const InstrDef &def() const { return *d; }
  llvm::StringRef mnemonic() const { return {d->name.data(), d->name.size()}; }
  bool is(std::string_view name) const { return d->name == name; }

  mlir::ArrayAttr slots() const;
  mlir::Attribute slot(int i) const { return slots()[i]; }
  mlir::Attribute slot(std::string_view name) const { return slots()[d->slot(name)]; }
  AccessAttr access(int i) const { return llvm::dyn_cast<AccessAttr>(slot(i)); } // null if no tensor is there
  mlir::Value tensor(int i) const;                                               // null likewise
  int32_t integer(int i) const; // Int Enum Flag Small; the default if absent
  int32_t integer(std::string_view name) const { return integer(d->slot(name)); }
  mlir::Value reg(int i) const; // null if the slot holds no register
  SlotValue value(int i) const; // everything
  // Slot i is read / written (InOut both; slot 0 of an accumulating matmul both).
  bool reads(int i) const;
  bool writes(int i) const;

  std::optional<Engine> engine() const;
  void setEngine(Engine e);
  void setSlot(int i, mlir::Attribute a); // no change of operands
  void setInteger(std::string_view name, int32_t v);
  std::optional<int32_t> attribute(llvm::StringRef name) const; // "id", "chain"

private:
  mlir::Operation *op = nullptr;
  const InstrDef *d = nullptr;
};

// Creates an instruction at the builder's place. `values` are in slot order; missing ones at the end are absent or default.
Instr createInstruction(mlir::OpBuilder &b, mlir::Location loc, const InstrDef &def, llvm::ArrayRef<SlotValue> values,
                        std::optional<Engine> engine = std::nullopt);
// The same with its whole tensor as operand.
TensorOperand wholeTensor(mlir::Value tensor);

// Where an op came from: file, line and the text of the operation (a NameLoc around a FileLineColLoc).
struct Origin {
  std::string file, operation;
  uint32_t line = 0;
};
Origin originOf(mlir::Location loc);
mlir::Location makeLocation(mlir::MLIRContext *context, llvm::StringRef file, uint32_t line, llvm::StringRef operation);

} // namespace glia::nisa
