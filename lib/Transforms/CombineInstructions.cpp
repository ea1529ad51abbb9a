// The forms, each of which needs a result in fp32 that one instruction writes (and, where it disappears, one reads):
//   a narrower float made fp32              whoever reads it reads the narrower one: engines widen what they read
//   fp32 made a narrower float              whoever makes it writes the narrower one: engines round what they write
//   x * x                                   activation(square), on an engine that has less to do; not where results are to be there soon
//   tensor_scalar, then activation          the activation's own scale or bias: one rounding, as before
//   activation, then a sum along the row    the activation's accumulator, which sums in the same order
//   pieces of a row, then their largest     each piece finds its own (ReduceInPassing.cpp)
//   tensor_scalar, then tensor_tensor       scalar_tensor_tensor, where GpSimd would not take the second off Vector's hands
//   tensor_scalar, then tensor_scalar       one with two operations; also of narrower floats if the second rounds nothing
//   tensor_scalar, then several of those    each does it itself; not where results are to be there soon
// Where roundings may be left out, a result in bf16 does as well: it is passed on in fp32. That comes before results of fp32 are made narrower, which
// the graph asks for by name (convert): those roundings stay.
#include "glia/Transforms/CombineInstructions.h"
#include "CombineFacts.h"
#include "InstrFacts.h"
#include "ReduceInPassing.h"
#include "RepeatScalars.h"
#include "Remarks.h"
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"
#include "glia/Numerics/Activation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace glia {

using nisa::Instr;
using nisa::SlotValue;

namespace {

class Combiner {
public:
  Combiner(nisa::KernelOp kernel, Aim aim)
      : kernel(kernel), aim(aim), target(loadTarget(kernel.getTarget().str())), cores(static_cast<int>(kernel.cores())) {}

  void run(Roundings roundings) {
    each("tensor_copy", [&](Instr i) { readNarrow(i); });
    if (aim != Aim::Soon)
      each("tensor_tensor", [&](Instr i) { square(i); });
    if (aim != Aim::Soon)
      repeatScalars(kernel);
    if (roundings == Roundings::MayBeLeftOut) {
      passed = {DType::F32, DType::BF16};
      pairs();
      passed = {DType::F32};
    }
    each("tensor_copy", [&](Instr i) { writeNarrow(i); });
    pairs();
    combined += reduceInPassing(kernel, *target);
    if (!target->has("vector_gpsimd_concurrent"))
      each("tensor_tensor", [&](Instr i) { withScalar(i); });
    each("tensor_scalar", [&](Instr i) { twoScalars(i); });
    eraseUnused();
    if (combined)
      addRemark(kernel, "combined " + counted(combined, "pair") + " of instructions");
    if (leftOut)
      addRemark(kernel, "left out " + counted(leftOut, "rounding") + " to bf16");
  }

private:
  nisa::KernelOp kernel;
  const Aim aim;
  const std::shared_ptr<const Target> target;
  const int cores;
  size_t combined = 0, leftOut = 0;
  llvm::SmallVector<DType, 2> passed = {
      DType::F32}; // types of results that one instruction may pass on to the next unrounded

  void pairs() {
    each("activation", [&](Instr i) { takeScalar(i); });
    each("tensor_reduce", [&](Instr i) { sumInPassing(i); });
  }

  // Tiles between instructions that are one now: their places would be kept free.
  void eraseUnused() {
    llvm::SmallVector<nisa::AllocOp> unused;
    kernel.walk([&](nisa::AllocOp tile) {
      if (tile.getTensor().use_empty() && !tile.getPinned())
        unused.push_back(tile);
    });
    for (nisa::AllocOp tile : unused)
      tile->erase();
  }

  llvm::DenseMap<mlir::Value, Instr> writers; // of tensors that were asked for: thousands may read one

  void erase(Instr i) {
    forgetWriters(i);
    i.operation()->erase();
  }
  // What another instruction does now; the value between the two was of type `between`.
  void combine(Instr i, DType between = DType::F32) {
    erase(i);
    ++combined;
    leftOut += between != DType::F32 && llvm::is_contained(passed, between);
  }

  template <typename F> void each(std::string_view name, F visit) {
    std::vector<Instr> all;
    kernel.walk([&](mlir::Operation *op) {
      if (const Instr i(op); i && i.is(name) && !i.engine())
        all.push_back(i);
    });
    for (const Instr &i : all)
      visit(i);
  }

  // The one instruction that writes to a tensor, as its first operand; none if there are several.
  Instr onlyWriter(mlir::Value tensor) {
    const auto [known, fresh] = writers.try_emplace(tensor);
    if (!fresh)
      return known->second;
    Instr writer;
    for (mlir::Operation *user : tensor.getUsers()) {
      const Instr i(user);
      if (!i)
        return {};
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.tensor(static_cast<int>(k)) == tensor && i.writes(static_cast<int>(k))) {
          if (k != 0 || (writer && writer.operation() != user))
            return {};
          writer = i;
        }
    }
    return known->second = writer;
  }
  void forgetWriters(Instr i) {
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      if (const mlir::Value tensor = i.tensor(static_cast<int>(k)); tensor && i.writes(static_cast<int>(k)))
        writers.erase(tensor);
  }

  // The one instruction that writes what `reader` reads in `slot`: the same elements, in the same block, before it. Nothing else writes
  // to that tensor.
  Instr writerOf(Instr reader, int slot, bool narrowToo = false) {
    const nisa::AccessAttr read = reader.access(slot);
    const mlir::Value tensor = reader.tensor(slot);
    if (!isPlain(read) || (narrowToo ? !isFloat(read.getDtype()) : !llvm::is_contained(passed, read.getDtype())) ||
        !tensor || !llvm::isa_and_nonnull<nisa::AllocOp>(tensor.getDefiningOp()))
      return {};
    const Instr writer = onlyWriter(tensor);
    if (!writer || !sameElements(writer.access(0), read) || writer->getBlock() != reader->getBlock() ||
        !writer->isBeforeInBlock(reader.operation()) || writer.engine())
      return {};
    return writer;
  }

  static bool onlyReader(mlir::Value tensor, Instr writer, Instr reader) {
    return llvm::all_of(tensor.getUsers(),
                        [&](mlir::Operation *u) { return u == writer.operation() || u == reader.operation(); });
  }

  Instr replace(Instr old, std::string_view name, llvm::ArrayRef<SlotValue> values, Engine legalOn) {
    mlir::OpBuilder b(old.operation());
    const Instr made = nisa::createInstruction(b, old->getLoc(), *findInstruction(name), values);
    if (!nisa::TrialCheck(made, *target, legalOn, cores).passes()) {
      made.operation()->erase();
      return {};
    }
    forgetWriters(made);
    erase(old);
    return made;
  }

  // A tensor operand of a computation with floats.
  static bool widens(Instr i, int slot) {
    if (i.is("tensor_tensor"))
      return (slot == 1 || slot == 2) && !isBitOp(aluOf(i, "op"));
    if (slot != 1)
      return false;
    if (i.is("tensor_scalar"))
      return !isBitOp(aluOf(i, "op0")) && !isBitOp(aluOf(i, "op1"));
    return i.is("activation") || (i.is("tensor_reduce") && !isBitOp(aluOf(i, "op")));
  }

  void readNarrow(Instr copy) {
    const mlir::Value tensor = copy.tensor(0);
    if (!isFloatAccess(copy.access(1)) || sizeOf(copy.access(1).getDtype()) >= sizeOf(DType::F32))
      return;
    const llvm::SmallVector<mlir::Operation *> users(tensor.getUsers());
    for (mlir::Operation *user : users) {
      if (user == copy.operation())
        continue;
      Instr reader(user);
      for (int slot : {1, 2}) {
        if (!reader || reader.engine() || !widens(reader, slot) || reader.tensor(slot) != tensor ||
            writerOf(reader, slot).operation() != copy.operation() || !staysUntil(copy, 1, reader))
          continue;
        llvm::SmallVector<SlotValue> values;
        for (int k = 0; k < static_cast<int>(reader.def().slots.size()); ++k)
          values.push_back(k == slot ? copy.value(1) : reader.value(k));
        if (const Instr made =
                replace(reader, reader.def().name, values, reader.is("activation") ? Engine::Scalar : Engine::Vector))
          reader = made;
      }
    }
    if (llvm::all_of(tensor.getUsers(), [&](mlir::Operation *u) { return u == copy.operation(); }))
      erase(copy);
  }

  // The result of a computation, rounded once.
  void writeNarrow(Instr copy) {
    const nisa::AccessAttr out = copy.access(0);
    const Instr from = writerOf(copy, 1);
    const mlir::Value tensor = copy.tensor(0);
    if (!from || !isFloatAccess(out) || sizeOf(out.getDtype()) >= sizeOf(DType::F32) ||
        !onlyReader(copy.tensor(1), from, copy) ||
        !(from.is("tensor_scalar") || from.is("tensor_tensor") || from.is("activation") || from.is("reciprocal")))
      return;
    const auto isEarlier = [&](mlir::Operation *user) {
      mlir::Operation *at = copy->getBlock()->findAncestorOpInBlock(*user);
      return !at || at->isBeforeInBlock(copy.operation());
    };
    if (llvm::any_of(tensor.getUsers(), isEarlier))
      return;
    llvm::SmallVector<SlotValue> values;
    for (int k = 0; k < static_cast<int>(from.def().slots.size()); ++k)
      values.push_back(k == 0 ? copy.value(0) : from.value(k));
    mlir::Operation *home = tensor.getDefiningOp();
    const Engine engine = from.is("activation") ? Engine::Scalar : Engine::Vector;
    if (home->getBlock() != from->getBlock() || bits(from))
      return;
    if (from->isBeforeInBlock(home))
      home->moveBefore(from.operation());
    if (replace(from, from.def().name, values, engine))
      combine(copy);
  }
  // Bits, not numbers: what is written is not rounded.
  static bool bits(Instr i) {
    if (i.is("tensor_tensor"))
      return isBitOp(aluOf(i, "op"));
    return i.is("tensor_scalar") && (isBitOp(aluOf(i, "op0")) || isBitOp(aluOf(i, "op1")));
  }

  // (x op0 a) op1 b
  void twoScalars(Instr second) {
    const Instr first = writerOf(second, 1, true);
    if (!first || !isOneScalar(first) || !isOneScalar(second) || !onlyReader(second.tensor(1), first, second) ||
        second.tensor(0) == first.tensor(1) || !staysUntil(first, 1, second) ||
        !staysUntil(first, first.def().slot("operand0"), second) || !isFloatAccess(second.access(0)) ||
        !(llvm::is_contained(passed, second.access(1).getDtype()) || roundsOnce(first, second)))
      return;
    if (replace(second, "tensor_scalar",
                {second.value(0), first.value(1), slotOf(first, "op0"), slotOf(first, "operand0"), slotOf(first, "reverse0"),
                 slotOf(second, "op0"), slotOf(second, "operand0"), slotOf(second, "reverse0")},
                Engine::Vector))
      combine(first);
  }

  // A sum that is rounded and then multiplied by a power of two is the product of both, rounded: neither is near the ends of a range.
  static bool roundsOnce(Instr first, Instr second) {
    const SlotValue sum = slotOf(first, "operand0"), factor = slotOf(second, "operand0");
    int exponent = 0;
    return aluOf(first, "op0") == AluOp::Add && aluOf(second, "op0") == AluOp::Multiply && sum.kind == SlotValue::Float &&
           factor.kind == SlotValue::Float && std::fabs(std::frexp(factor.number, &exponent)) == 0.5f && exponent <= 1 &&
           exponent >= -2 && std::fabs(sum.number) >= 0.125f && std::fabs(sum.number) <= 8 &&
           first.access(1).getDtype() == second.access(1).getDtype() &&
           second.access(0).getDtype() == second.access(1).getDtype() &&
           (second.access(0).getDtype() == DType::BF16 || second.access(0).getDtype() == DType::F16);
  }

  void square(Instr i) {
    if (aluOf(i, "op") != AluOp::Multiply || i.tensor(1) != i.tensor(2) || !sameElements(i.access(1), i.access(2)) ||
        !isFloatAccess(i.access(1)) || !isFloatAccess(i.access(0)))
      return;
    replace(i, "activation",
            {i.value(0), i.value(1), SlotValue::of(static_cast<int32_t>(ActFn::Square)), SlotValue::of(1.0f)},
            Engine::Scalar);
  }

  // fn(x * s), fn(x + b), fn(b - x)
  void takeScalar(Instr act) {
    const SlotValue scale = slotOf(act, "scale");
    const Instr from = writerOf(act, 1);
    const DType between = from ? act.access(1).getDtype() : DType::F32;
    if (!from || !isOneScalar(from) || !onlyReader(act.tensor(1), from, act) || scale.kind != SlotValue::Float ||
        scale.number != 1 || slotOf(act, "bias").kind != SlotValue::Absent || !staysUntil(from, 1, act) ||
        !staysUntil(from, from.def().slot("operand0"), act))
      return;
    SlotValue operand = slotOf(from, "operand0"), newScale = SlotValue::of(1.0f), bias;
    mlir::Operation *negation = nullptr;
    const bool reverse = from.integer("reverse0");
    switch (aluOf(from, "op0")) {
    case AluOp::Multiply: newScale = operand; break;
    case AluOp::Add: bias = operand; break;
    case AluOp::Subtract:
      if (reverse)
        newScale = SlotValue::of(-1.0f), bias = operand;
      else if (operand.kind == SlotValue::Float)
        bias = SlotValue::of(-operand.number);
      else
        negation = negate(from, bias);
      break;
    default: return;
    }
    if (bias.kind == SlotValue::Float && bias.number == 0) // the sign of a zero would change
      return;
    const Instr made = replace(act, "activation",
                               {act.value(0), from.value(1), slotOf(act, "fn"), newScale, bias, slotOf(act, "reduce_cmd"),
                                slotOf(act, "reduce_res")},
                               Engine::Scalar);
    if (made) {
      combine(from, between);
    } else if (negation) {
      mlir::Operation *tensor = bias.tensor.tensor.getDefiningOp();
      erase(Instr(negation));
      tensor->erase();
    }
  }

  // One number per row with the other sign, in a tensor of its own.
  static mlir::Operation *negate(Instr from, SlotValue &to) {
    mlir::OpBuilder b(from.operation());
    const int slot = from.def().slot("operand0");
    to = SlotValue::of(nisa::allocateNumbers(b, from->getLoc(), "negated", from.access(slot), 1));
    return nisa::createInstruction(
               b, from->getLoc(), *findInstruction("tensor_scalar"),
               {to, from.value(slot), SlotValue::of(static_cast<int32_t>(AluOp::Multiply)), SlotValue::of(-1.0f)})
        .operation();
  }

  // The sum of all that an activation writes to a row.
  void sumInPassing(Instr sum) {
    const Instr act = writerOf(sum, 1);
    const nisa::AccessAttr dst = sum.access(0);
    if (!act || !act.is("activation") || aluOf(sum, "op") != AluOp::Add || sum.integer("negate") || !isFloatAccess(dst) ||
        dst.elements() != dst.getPartitions() || static_cast<ReduceCmd>(act.integer("reduce_cmd")) != ReduceCmd::Idle ||
        act.access(act.def().slot("reduce_res")))
      return;
    // The result is there earlier: nobody may have had anything in its place.
    for (mlir::Operation *user : sum.tensor(0).getUsers()) {
      mlir::Operation *at = sum->getBlock()->findAncestorOpInBlock(*user);
      if (!at || at->isBeforeInBlock(sum.operation()))
        return;
    }
    mlir::Operation *home = sum.tensor(0).getDefiningOp();
    if (home->getBlock() == act->getBlock() && act->isBeforeInBlock(home))
      home->moveBefore(act.operation());
    const Instr made = replace(act, "activation",
                               {act.value(0), act.value(1), slotOf(act, "fn"), slotOf(act, "scale"), slotOf(act, "bias"),
                                SlotValue::of(static_cast<int32_t>(ReduceCmd::ResetReduce)), sum.value(0)},
                               Engine::Scalar);
    if (made)
      combine(sum, sum.access(1).getDtype());
  }

  void withScalar(Instr i) {
    const AluOp op = aluOf(i, "op");
    if (isBitOp(op) || !isFloatAccess(i.access(1)) || !isFloatAccess(i.access(2)) || !isFloatAccess(i.access(0)) ||
        i.tensor(1) == i.tensor(2))
      return;
    for (int slot : {1, 2}) {
      const Instr from = writerOf(i, slot);
      if (!from || !isOneScalar(from) || !onlyReader(i.tensor(slot), from, i) || i.tensor(0) == from.tensor(1) ||
          !staysUntil(from, 1, i) || !staysUntil(from, from.def().slot("operand0"), i))
        continue;
      const int32_t second = slot == 2;
      if (replace(i, "scalar_tensor_tensor",
                  {i.value(0), from.value(1), slotOf(from, "op0"), slotOf(from, "operand0"), slotOf(i, "op"),
                   i.value(3 - slot), slotOf(from, "reverse0"), SlotValue::of(second)},
                  Engine::Vector)) {
        combine(from);
        return;
      }
    }
  }
};

} // namespace

void combineInstructions(nisa::KernelOp kernel, Aim aim, Roundings roundings) {
  if (!kernel.asWritten())
    Combiner(kernel, aim).run(roundings);
}

} // namespace glia
