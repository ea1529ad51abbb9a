// Engines meet at the end of every iteration of a run-time loop, with their transfers done. So that this costs little, the body is written
// several times over in one iteration: the schedule lets the copies overlap, and only addresses in HBM are left to registers.
#include "KernelCost.h"
#include "Transforms/LoopBody.h"
#include "Transforms/Remarks.h"
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
constexpr int32_t kMostOfData = 32; // copies if the count is data: what is left over runs one by one
constexpr long kMostLoops = 8;      // of such counts: each becomes three, and each is proved
constexpr int kMostRegisters = 16;  // of all copies

class Unroller {
public:
  Unroller(nisa::CoreOp core, const Target &t) : core(core), target(t), window(t.integer("fetch.window")) {}

  // Returns how many there were.
  size_t run() {
    size_t made = 0;
    std::vector<nisa::LoopOp> loops;
    core.walk([&](nisa::LoopOp loop) { loops.push_back(loop); });
    const bool few = llvm::count_if(loops, [](nisa::LoopOp l) { return !l.getCount(); }) <= kMostLoops;
    for (nisa::LoopOp loop : loops)
      if ((loop.getCount() || few) && innermost(loop) && mayCopy(loop))
        if (const int32_t copies = copiesOf(loop); copies > 1) {
          loop.getCount() ? unroll(loop, copies) : unrollData(loop, copies);
          ++made;
        }
    return made;
  }

private:
  nisa::CoreOp core;
  const Target &target;
  const int64_t window;

  static bool innermost(nisa::LoopOp loop) {
    return llvm::none_of(loop.getBody().front(), [](mlir::Operation &op) { return op.getNumRegions() > 0; });
  }

  // How many iterations an instruction can make before one of its operands leaves its tensor. 0 also: its address in a copy has more
  // registers than an address takes.
  static int64_t roomOf(nisa::Instr i, nisa::LoopOp loop) {
    int64_t room = INT32_MAX;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const nisa::SlotValue v = i.value(static_cast<int>(k));
      for (const nisa::TensorOperand::Term &t : v.tensor.terms) {
        if (t.reg != loop.iterator())
          continue;
        if (!loop.getCount() && v.tensor.terms.size() >= static_cast<size_t>(kMaxDynamicTerms))
          return 0;
        const auto type = llvm::cast<nisa::TensorType>(v.tensor.tensor.getType());
        int64_t from = v.tensor.partition, to = from + v.tensor.partitions, end = type.getShape()[0];
        if (!t.partition) {
          const ByteRun reach = extent(i.access(static_cast<int>(k)).pattern());
          from = v.tensor.byteOffset + reach.lo, to = v.tensor.byteOffset + reach.hi;
          end = sizeOf(type.getDtype());
          for (int64_t n : type.getShape().drop_front(type.getSpace() != Space::Hbm))
            end *= n;
        }
        const int64_t left = t.scale < 0 ? from : end - to;
        room = std::min(room, from < 0 || left < 0 ? 0 : t.scale == 0 ? room : left / std::abs(t.scale) + 1);
      }
    }
    return room;
  }

  // It moves data within one tensor, from one place to another: whether those may overlap is plainest in the loop as it was written.
  static bool movesWithin(nisa::Instr i, nisa::LoopOp loop) {
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      for (size_t m = 0; m < i.def().slots.size(); ++m) {
        const int to = static_cast<int>(k), from = static_cast<int>(m);
        if (to != from && i.access(to) && i.access(from) && i.tensor(to) == i.tensor(from) && i.writes(to) &&
            i.access(to) != i.access(from) && llvm::is_contained(i->getOperands(), loop.iterator()))
          return true;
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
      if (movesWithin(i, loop))
        return false;
      // What leaves its tensor is to be reported of the loop as it was written.
      if (roomOf(i, loop) < (loop.getCount() ? static_cast<int64_t>(*loop.getCount()) : 1))
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
    int64_t onEngine[kNumEngines] = {}, registers = 0, room = kMostOfData;
    for (mlir::Operation &op : body)
      if (const nisa::Instr i{&op}) {
        ++onEngine[static_cast<int>(i.engine().value_or(Engine::Sync))];
        room = std::min(room, roomOf(i, loop));
      } else {
        registers += llvm::isa<nisa::RegisterOp>(op);
      }
    const int64_t longest = std::max<int64_t>(1, *std::max_element(std::begin(onEngine), std::end(onEngine)));
    const double work = std::max(workOf(body, target), 1.0), lost = std::max(0.0, pathOf(body) - work);
    int64_t most =
        std::min<int64_t>({loop.getCount() ? static_cast<int32_t>(*loop.getCount()) : room, kMostCopies, window / longest});
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

  // Puts a copy of the body before `place`, for that iteration.
  static void copyBody(nisa::LoopOp loop, mlir::Block *block, mlir::Block::iterator place,
                       const nisa::Iteration &iteration) {
    mlir::OpBuilder b(loop);
    auto copy = llvm::cast<nisa::LoopOp>(b.clone(*loop));
    nisa::renumber(copy);
    mlir::Block &body = copy.getBody().front();
    nisa::replaceIterator(body, copy.iterator(), iteration);
    balanceAgain(body);
    block->getOperations().splice(place, body.getOperations());
    copy->erase();
  }

  // A loop of the copies, before the old one, from iteration `start` on (null: 0).
  static void makeLoop(nisa::LoopOp loop, mlir::Value count, mlir::IntegerAttr number, int32_t copies, mlir::Value start) {
    mlir::OpBuilder b(loop);
    auto made = nisa::LoopOp::create(b, loop.getLoc(), count, number);
    mlir::Block &body = made.getBody().emplaceBlock();
    const mlir::Value iterator = body.addArgument(loop.iterator().getType(), loop.getLoc());
    for (int32_t c = 0; c < copies; ++c)
      copyBody(loop, &body, body.end(), {.counter = iterator, .scale = copies, .start = start, .shift = c});
  }

  static void unroll(nisa::LoopOp loop, int32_t copies) {
    const auto count = static_cast<int32_t>(*loop.getCount());
    const int32_t times = count / copies;
    if (times > 1)
      makeLoop(loop, {}, mlir::Builder(loop).getI32IntegerAttr(times), copies, {});
    for (int32_t n = times > 1 ? times * copies : 0; n < count; ++n)
      copyBody(loop, loop->getBlock(), loop->getIterator(), {.shift = n});
    loop->erase();
  }

  // The same, of a count that is data: a loop of copies, one of fewer for what that leaves over, and so on. Each begins where the one before
  // ends, at a multiple of its copies; in this form it is plain that none goes below 0 or beyond the count.
  static void unrollData(nisa::LoopOp loop, int32_t copies) {
    mlir::OpBuilder b(loop);
    const mlir::Location loc = loop.getLoc();
    auto compute = [&](std::string_view op, mlir::Value a, nisa::SlotValue with) {
      const mlir::Value dst = nisa::makeRegister(b, loc);
      nisa::computeRegister(b, loc, dst, op, a, with);
      return dst;
    };
    auto shifted = [&](std::string_view op, mlir::Value a, int32_t by) {
      return by == 1
                 ? a
                 : compute(op, a, nisa::SlotValue::of(static_cast<int32_t>(std::countr_zero(static_cast<uint32_t>(by)))));
    };
    const mlir::Value count = compute("max", loop.getCountRegister(), nisa::SlotValue::of(int32_t{0}));
    mlir::Value before; // trips that a loop from 0 on of as many copies as the last one has would make
    for (int32_t last = 0;; last = copies, copies = copies >= 32 ? copies / 8 : std::max(copies / 4, 1)) {
      const mlir::Value times = shifted("shift_right", count, copies);
      mlir::Value start, trips = times;
      if (before) {
        start = shifted("shift_left", before, last);
        trips = compute("subtract", times, nisa::SlotValue::of(shifted("shift_left", before, last / copies)));
      }
      makeLoop(loop, trips, {}, copies, start);
      if (copies == 1)
        break;
      before = times;
    }
    loop->erase();
  }
};

} // namespace

void unrollLoops(nisa::KernelOp k, const Target &target) {
  if (k.asWritten())
    return;
  size_t made = 0;
  for (auto core : k.getBody().getOps<nisa::CoreOp>())
    made += Unroller(core, target).run();
  if (!made)
    return;
  chooseEngines(k); // copies need not all be on one engine
  addRemark(k, "made one iteration of several in " + counted(made, "loop"));
}

} // namespace glia
