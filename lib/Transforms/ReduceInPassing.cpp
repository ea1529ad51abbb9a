#include "ReduceInPassing.h"
#include "InstrFacts.h"
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>

namespace glia {

using nisa::Instr;
using nisa::SlotValue;

namespace {

constexpr size_t kMostPieces = 8; // each of them takes a little longer
constexpr double kWorth = 0.75;   // of the time that the pieces take

AluOp aluOf(Instr i, std::string_view name) { return static_cast<AluOp>(i.integer(name)); }

// Elements side by side, at a place that is known.
bool isRun(nisa::AccessAttr a) {
  return a && a.getTerms().empty() && isFloat(a.getDtype()) && a.getDims().size() == 2 && a.getDims()[0] == 1;
}
int64_t endOf(nisa::AccessAttr a) { return a.getByteOffset() + a.elements() / a.getPartitions() * sizeOf(a.getDtype()); }

class Reducer {
public:
  Reducer(nisa::KernelOp kernel, const Target &target)
      : kernel(kernel), target(target), cores(static_cast<int>(kernel.cores())) {}

  size_t run() {
    std::vector<Instr> reductions;
    kernel.walk([&](mlir::Operation *op) {
      if (const Instr i(op); i && i.is("tensor_reduce") && !i.engine())
        reductions.push_back(i);
    });
    size_t done = 0;
    for (const Instr &i : reductions)
      done += one(i);
    return done;
  }

private:
  nisa::KernelOp kernel;
  const Target &target;
  const int cores;

  bool one(Instr reduce) {
    const AluOp op = aluOf(reduce, "op");
    const nisa::AccessAttr dst = reduce.access(0), data = reduce.access(1);
    // What is rounded does not change places: the largest of rounded numbers is the largest one, rounded.
    if ((op != AluOp::Max && op != AluOp::Min) || reduce.integer("negate") || !isRun(data) || !isRun(dst) ||
        dst.getDtype() != data.getDtype() || dst.elements() != dst.getPartitions())
      return false;
    std::vector<Instr> pieces = piecesOf(reduce);
    if (pieces.size() < 2 || pieces.size() > kMostPieces)
      return false;
    mlir::OpBuilder b(pieces.front().operation());
    const auto count = static_cast<int64_t>(pieces.size());
    const nisa::TensorOperand all = nisa::allocateNumbers(b, reduce->getLoc(), "found", data, count);
    std::vector<Instr> made;
    double busy = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      nisa::TensorOperand place = all;
      place.byteOffset = static_cast<int64_t>(i * sizeOf(DType::F32));
      place.dims = {1, 1};
      made.push_back(reducing(pieces[i], op, place));
      if (!nisa::TrialCheck(made.back(), target, Engine::Vector, cores).passes())
        return undo(made, all);
      busy += onVector(made.back());
    }
    // Vector writes all of the pieces now, about half of which another engine would have taken off its hands.
    if (onVector(reduce) < kWorth * busy)
      return undo(made, all);
    for (const Instr &piece : pieces)
      piece.operation()->erase();
    b.setInsertionPoint(reduce.operation());
    nisa::createInstruction(b, reduce->getLoc(), reduce.def(), {reduce.value(0), SlotValue::of(all), reduce.value(2)});
    reduce.operation()->erase();
    return true;
  }

  double onVector(Instr i) const { return i.def().cost(nisa::InstrCost(i, target, Engine::Vector)).busy; }

  static bool undo(const std::vector<Instr> &made, const nisa::TensorOperand &found) {
    for (const Instr &m : made)
      m.operation()->erase();
    found.tensor.getDefiningOp()->erase();
    return false;
  }

  // The instructions that write what is reduced, each of which writes another run of it, in the order of these; none if there are others.
  static std::vector<Instr> piecesOf(Instr reduce) {
    const mlir::Value tensor = reduce.tensor(1);
    const nisa::AccessAttr data = reduce.access(1);
    std::vector<Instr> pieces;
    if (!llvm::isa_and_nonnull<nisa::AllocOp>(tensor.getDefiningOp()))
      return {};
    for (mlir::Operation *user : tensor.getUsers()) {
      const Instr i(user);
      if (!i)
        return {};
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.tensor(static_cast<int>(k)) == tensor && i.writes(static_cast<int>(k))) {
          if (k != 0 || !canReduce(i) || i->getBlock() != reduce->getBlock() || !i->isBeforeInBlock(reduce.operation()) ||
              pieces.size() == kMostPieces)
            return {};
          pieces.push_back(i);
        }
    }
    llvm::sort(pieces, [](Instr a, Instr b) { return a.access(0).getByteOffset() < b.access(0).getByteOffset(); });
    int64_t end = data.getByteOffset();
    for (const Instr &i : pieces) {
      const nisa::AccessAttr a = i.access(0);
      if (a.getByteOffset() != end || a.getDtype() != data.getDtype() || a.getPartition() != data.getPartition() ||
          a.getPartitions() != data.getPartitions())
        return {};
      end = endOf(a);
    }
    const auto earlier = [](Instr a, Instr b) { return a->isBeforeInBlock(b.operation()); };
    if (end != endOf(data) || !llvm::is_sorted(pieces, earlier))
      return {};
    return pieces;
  }

  static bool canReduce(Instr i) {
    if (i.engine() || !isRun(i.access(0)) || !i.access(1) || !isFloat(i.access(1).getDtype()))
      return false;
    if (i.is("tensor_copy"))
      return true;
    return i.is("tensor_scalar") && aluOf(i, "op1") == AluOp::Bypass && !i.integer("reverse0") &&
           !isBitOp(aluOf(i, "op0")) && i.value(i.def().slot("operand1")).kind == SlotValue::Absent;
  }

  static Instr reducing(Instr piece, AluOp op, const nisa::TensorOperand &place) {
    mlir::OpBuilder b(piece.operation());
    const bool copy = piece.is("tensor_copy");
    const SlotValue op0 = copy ? SlotValue::of(static_cast<int32_t>(AluOp::Bypass)) : piece.value(piece.def().slot("op0"));
    const SlotValue operand = copy ? SlotValue() : piece.value(piece.def().slot("operand0"));
    return nisa::createInstruction(b, piece->getLoc(), *findInstruction("tensor_scalar_reduce"),
                                   {piece.value(0), piece.value(1), op0, operand, SlotValue::of(static_cast<int32_t>(op)),
                                    SlotValue::of(static_cast<int32_t>(ReduceCmd::ResetReduce)), SlotValue(),
                                    SlotValue::of(place)});
  }
};

} // namespace

size_t reduceInPassing(nisa::KernelOp kernel, const Target &target) { return Reducer(kernel, target).run(); }

} // namespace glia
