// Engines meet at the end of every iteration of a run-time loop, with their transfers done. So that this costs little, the body is written
// several times over in one iteration: the schedule lets the copies overlap, and only addresses in HBM are left to registers.
#include "KernelCost.h"
#include "Transforms/LoopBody.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Transforms/ChooseEngines.h"
#include "glia/Verify/Footprint.h"

#include <algorithm>
#include <bit>

namespace glia {

using namespace codegen;

namespace {

constexpr double kLost = 0.04; // of the time of an iteration, may go to the beginning and the end
constexpr int32_t kMostCopies = 64;
constexpr int32_t kMostOfData = 16; // copies if the count is data: what is left over runs one by one
constexpr int kMostRegisters = 16;  // of all copies

class Unroller {
public:
  Unroller(nisa::CoreOp core, const Target &t) : core(core), target(t), window(t.integer("fetch.window")) {}

  // Returns whether there was one.
  bool run() {
    bool any = false;
    std::vector<nisa::LoopOp> loops;
    core.walk([&](nisa::LoopOp loop) { loops.push_back(loop); });
    for (nisa::LoopOp loop : loops)
      if (innermost(loop) && mayCopy(loop))
        if (const int32_t copies = copiesOf(loop); copies > 1) {
          loop.getCount() ? unroll(loop, copies) : unrollData(loop, copies);
          any = true;
        }
    return any;
  }

private:
  nisa::CoreOp core;
  const Target &target;
  const int64_t window;

  static bool innermost(nisa::LoopOp loop) {
    return llvm::none_of(loop.getBody().front(), [](mlir::Operation &op) { return op.getNumRegions() > 0; });
  }

  // In its last iteration an operand is outside of its tensor: that is to be reported of the loop as it was written.
  static bool leaves(nisa::Instr i, nisa::LoopOp loop) {
    const int64_t last = loop.getCount() ? static_cast<int32_t>(*loop.getCount()) - 1 : 0;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const nisa::SlotValue v = i.value(static_cast<int>(k));
      for (const nisa::TensorOperand::Term &t : v.tensor.terms)
        if (t.reg == loop.iterator()) {
          const auto type = llvm::cast<nisa::TensorType>(v.tensor.tensor.getType());
          const bool onChip = type.getSpace() != Space::Hbm;
          int64_t bytes = sizeOf(type.getDtype());
          for (int64_t n : type.getShape().drop_front(onChip))
            bytes *= n;
          const ByteRun reach = extent(i.access(static_cast<int>(k)).pattern());
          const int64_t more = last * t.scale, start = v.tensor.byteOffset + (t.partition ? 0 : more),
                        partition = v.tensor.partition + (t.partition ? more : 0);
          if (start + reach.lo < 0 || start + reach.hi > bytes ||
              (onChip && (partition < 0 || partition + v.tensor.partitions > type.getShape()[0])))
            return true;
        }
    }
    return false;
  }

  static bool mayCopy(nisa::LoopOp loop) {
    llvm::DenseSet<int32_t> named;
    for (mlir::Operation &op : loop.getBody().front()) {
      const nisa::Instr i{&op};
      if (!i)
        continue;
      if (i.def().unit == Unit::Barrier || i.def().unit == Unit::Exchange)
        return false;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.def().slots[k].kind == SlotKind::RegOut && i.reg(static_cast<int>(k)) == loop.iterator())
          return false;
      if (const auto id = i.attribute("id"))
        named.insert(*id);
      if (leaves(i, loop))
        return false;
    }
    // What comes after an instruction of the loop comes after that of each iteration: no copy could stand for all.
    bool referred = false;
    if (!named.empty())
      loop->getParentOfType<nisa::CoreOp>().walk([&](mlir::Operation *op) {
        if (auto after = op->getAttrOfType<mlir::DenseI32ArrayAttr>("after"); after && !loop->isAncestor(op))
          referred |= llvm::any_of(after.asArrayRef(), [&](int32_t id) { return named.contains(id); });
      });
    return !referred;
  }

  // From the first instruction of an iteration to the end of its last one, if nothing but data holds them back.
  double pathOf(mlir::Block &body) const {
    const double sync = target.number("cost.semaphore_latency");
    llvm::DenseMap<mlir::Value, double> there; // tensors: when what was written last is
    double end = 0;
    for (mlir::Operation &op : body) {
      const nisa::Instr i{&op};
      if (!i || !i.engine() || !i.def().cost)
        continue;
      double start = 0;
      for (mlir::Value v : op.getOperands())
        start = std::max(start, there.lookup(v));
      const double finish = start + durationOf(i, target, *i.engine()).latency + sync;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (const int slot = static_cast<int>(k); i.access(slot) && i.writes(slot))
          there[i.tensor(slot)] = finish;
      end = std::max(end, finish);
    }
    return end + 3 * sync; // all tell one, and that one all
  }

  int32_t copiesOf(nisa::LoopOp loop) const {
    mlir::Block &body = loop.getBody().front();
    int64_t onEngine[kNumEngines] = {}, registers = 0;
    for (mlir::Operation &op : body)
      if (const nisa::Instr i{&op})
        ++onEngine[static_cast<int>(i.engine().value_or(Engine::Sync))];
      else
        registers += llvm::isa<nisa::RegisterOp>(op);
    const int64_t longest = std::max<int64_t>(1, *std::max_element(std::begin(onEngine), std::end(onEngine)));
    const double work = std::max(workOf(body, target), 1.0), lost = std::max(0.0, pathOf(body) - work);
    int64_t most = std::min<int64_t>(
        {loop.getCount() ? static_cast<int32_t>(*loop.getCount()) : kMostOfData, kMostCopies, window / longest});
    if (registers)
      most = std::min<int64_t>(most, kMostRegisters / registers);
    most = std::min<int64_t>(most, static_cast<int64_t>(lost / (kLost * work)) + 1);
    if (most < 2)
      return 1;
    if (!loop.getCount())
      return static_cast<int32_t>(std::bit_floor(static_cast<uint64_t>(most)));
    const auto count = static_cast<int32_t>(*loop.getCount());
    // Rather a few copies less than iterations that are left over.
    for (auto n = static_cast<int32_t>(most); 2 * n > most; --n)
      if (count % n == 0)
        return n;
    return static_cast<int32_t>(most);
  }

  // Puts a copy of the body before `place`, for iteration `to` * scale + shift (`to` null: `shift`).
  static void copyBody(nisa::LoopOp loop, mlir::Block *block, mlir::Block::iterator place, mlir::Value to, int32_t scale,
                       int32_t shift) {
    mlir::OpBuilder b(loop);
    auto copy = llvm::cast<nisa::LoopOp>(b.clone(*loop));
    nisa::renumber(copy);
    mlir::Block &body = copy.getBody().front();
    nisa::replaceIterator(body, copy.iterator(), to, scale, shift);
    balanceAgain(body);
    block->getOperations().splice(place, body.getOperations());
    copy->erase();
  }

  // A loop of the copies, before the old one.
  static void makeLoop(nisa::LoopOp loop, mlir::Value count, mlir::IntegerAttr number, int32_t copies) {
    mlir::OpBuilder b(loop);
    auto made = nisa::LoopOp::create(b, loop.getLoc(), count, number);
    mlir::Block &body = made.getBody().emplaceBlock();
    const mlir::Value iterator = body.addArgument(loop.iterator().getType(), loop.getLoc());
    for (int32_t c = 0; c < copies; ++c)
      copyBody(loop, &body, body.end(), iterator, copies, c);
  }

  static void unroll(nisa::LoopOp loop, int32_t copies) {
    const auto count = static_cast<int32_t>(*loop.getCount());
    const int32_t times = count / copies;
    if (times > 1)
      makeLoop(loop, {}, mlir::Builder(loop).getI32IntegerAttr(times), copies);
    for (int32_t n = times > 1 ? times * copies : 0; n < count; ++n)
      copyBody(loop, loop->getBlock(), loop->getIterator(), {}, 1, n);
    loop->erase();
  }

  // What is left over stays a loop, which begins where the other one ends.
  static void unrollData(nisa::LoopOp loop, int32_t copies) {
    mlir::OpBuilder b(loop);
    const mlir::Location loc = loop.getLoc();
    auto compute = [&](std::string_view op, mlir::Value a, nisa::SlotValue with) {
      const mlir::Value dst = nisa::makeRegister(b, loc);
      nisa::computeRegister(b, loc, dst, op, a, with);
      return dst;
    };
    const mlir::Value count = compute("max", loop.getCountRegister(), nisa::SlotValue::of(int32_t{0}));
    // In this form it is plain that what is left over begins at 0 or more and ends with the count.
    const auto bits = nisa::SlotValue::of(static_cast<int32_t>(std::countr_zero(static_cast<uint32_t>(copies))));
    const mlir::Value times = compute("shift_right", count, bits);
    const mlir::Value done = compute("shift_left", times, bits);
    const mlir::Value rest = compute("subtract", count, nisa::SlotValue::of(done));
    makeLoop(loop, times, {}, copies);
    loop.getCountRegisterMutable().assign(rest);
    mlir::Block &body = loop.getBody().front();
    b.setInsertionPointToStart(&body);
    const mlir::Value iteration = nisa::makeRegister(b, loc);
    nisa::replaceIterator(body, loop.iterator(), iteration, 1, 0);
    b.setInsertionPointAfterValue(iteration);
    nisa::computeRegister(b, loc, iteration, "add", loop.iterator(), nisa::SlotValue::of(done));
  }
};

} // namespace

void unrollLoops(nisa::KernelOp k, const Target &target) {
  bool any = false;
  for (auto core : k.getBody().getOps<nisa::CoreOp>())
    any |= Unroller(core, target).run();
  if (any) // copies need not all be on one engine
    chooseEngines(k);
}

} // namespace glia
