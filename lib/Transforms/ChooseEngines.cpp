// The rules, in this order (docs/engines.md):
//   1. An engine that the author gave stays.
//   2. An engine must be able to issue the instruction on this target, reach its operands and keep its rules.
//   3. Where engines give different bits, the table and the two functions below it say which is preferred.
//   4. Where they give the same bits, another engine than the usual one if it has had less work so far, by the cost formulas,
//      in program order. Not in a kernel that is as written.
//   5. If the form of instructions is free as well, all instructions are looked at together instead (EngineShares.h), and what Vector does
//      may be an activation of the same bits on Scalar (ScalarForm.h). Short ones stay where they are, so that a chain of them waits
//      for one engine only.
//   6. Where chains of instructions are what takes time, the engine that would be done with the result first (SoonestEngine.h).
#include "glia/Transforms/ChooseEngines.h"
#include "EngineShares.h"
#include "InstrFacts.h"
#include "Remarks.h"
#include "ScalarForm.h"
#include "SoonestEngine.h"
#include "glia/ISA/AluRules.h"
#include "glia/ISA/Transfer.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/WhoHas.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;

namespace glia {

using nisa::Instr;

namespace {

struct Preference {
  std::string_view instruction;
  std::initializer_list<Engine> order;
  bool sameBits; // on every engine: work may be balanced
};

// Instructions that are not listed take the first engine of `kOrder` that may issue them.
constexpr Engine kTV[] = {Engine::Tensor, Engine::Vector};
const Preference kPreferences[] = {
    {"tensor_copy", {Engine::Vector, Engine::Scalar, Engine::GpSimd}, true},
    {"tensor_scalar", {Engine::Vector, Engine::Scalar, Engine::GpSimd}, true},
    {"memset", {Engine::Vector, Engine::GpSimd}, true},
    {"tensor_tensor", {Engine::Vector, Engine::GpSimd}, true},
    {"core_barrier", {Engine::GpSimd}, false},
    {"device_print", {Engine::Vector}, false}, // one engine: what is printed comes in program order
};
// Transfers and register instructions may be issued by any engine; Sync has nothing else to do.
constexpr Engine kOrder[] = {Engine::Sync, Engine::Vector, Engine::Scalar, Engine::GpSimd, Engine::Tensor};

constexpr llvm::StringLiteral kBalanced = "balanced"; // the engine was chosen by rule 4
constexpr double kUnknownTrips = 8;                   // what a loop of unknown count weighs

bool allWide(Instr i) {
  for (size_t k = 0; k < i.def().slots.size(); ++k)
    if (nisa::AccessAttr a = i.access(static_cast<int>(k)); a && !isWide(a.getDtype()))
      return false;
  return true;
}

bool inPsum(Instr i) {
  for (size_t k = 0; k < i.def().slots.size(); ++k)
    if (Value t = i.tensor(static_cast<int>(k)); t && cast<nisa::TensorType>(t.getType()).getSpace() == Space::Psum)
      return true;
  return false;
}

class Chooser {
public:
  Chooser(nisa::KernelOp kernel, Forms given, Aim aim)
      : kernel(kernel), target(loadTarget(std::string_view(kernel.getTarget()))), cores(static_cast<int>(kernel.cores())),
        given(aim == Aim::Soon || given == Forms::Given ? Forms::Given : Forms::Free),
        scalarForm(*target, cores, given == Forms::Free) {
    if (aim == Aim::Soon)
      soonest.emplace(*target);
  }

  std::vector<Diagnostic> run() {
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
      load.fill(0);
      if (soonest)
        soonest.emplace(*target);
      made = moved = 0;
      pipes.clear();
      core.walk([&](Operation *op) { // a pipe belongs to one engine
        if (Instr i(op); i && i.def().unit == Unit::Exchange)
          if (const std::optional<Engine> e = exchangeEngine(i))
            pipes.try_emplace(i.integer("pipe"), *e);
      });
      scalarForm.begin(core);
      forms = multiplies(core) && target->has("scalar_tensor_scalar") ? Forms::Given : given;
      visit(core.getBody().front(), 1);
      if (forms == Forms::Free)
        closeShares();
    }
    std::string text;
    for (int e = 0; e < kNumEngines; ++e)
      if (others[e])
        text += (text.empty() ? "moved " + counted(others[e], "instruction") : ", " + std::to_string(others[e])) + " to " +
                std::string(name(static_cast<Engine>(e)));
    if (!text.empty())
      addRemark(kernel, text);
    return std::move(found);
  }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  const int cores;
  const Forms given;
  Forms forms = Forms::Given; // of this core
  ScalarForm scalarForm;
  std::optional<SoonestEngine> soonest;
  std::array<double, kNumEngines> load{}; // ns of work so far, of the core
  double made = 0, moved = 0; // ns that descriptors by the hardware take so far, and the data of transfers with descriptors
  std::array<size_t, kNumEngines> others{}; // instructions that another engine than the usual one gets
  std::map<int32_t, Engine> pipes;
  std::vector<Diagnostic> found;

  void visit(Block &block, double weight) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      checkpoint();
      if (auto loop = dyn_cast<nisa::LoopOp>(op))
        visit(loop.getBody().front(),
              weight * (loop.getCount() ? std::max<double>(static_cast<int32_t>(*loop.getCount()), 1) : kUnknownTrips));
      else if (auto loop = dyn_cast<nisa::WhileOp>(op))
        visit(loop.getBody().front(), weight * kUnknownTrips);
      else if (Instr i(&op); i)
        choose(i, weight);
    }
  }

  bool canIssue(Instr i, Engine e) const {
    if (!i.def().runsOn(e))
      return false;
    for (const EngineNeed &n : i.def().engineNeeds)
      if (n.engine == e && !target->has(n.feature))
        return false;
    return true;
  }

  bool legal(Instr i, Engine e) const { return canIssue(i, e) && nisa::TrialCheck(i, *target, e, cores).passes(); }

  void choose(Instr i, double weight) {
    if (i.def().unit == Unit::Dma && i.def().slot("dge") >= 0)
      chooseTransfer(i, weight);
    else if (!i.engine())
      chooseEngine(i, weight);
    else if (i.def().unit == Unit::Compute && representable(i) && canIssue(i, *i.engine()))
      load[static_cast<int>(*i.engine())] += weight * busy(i, *i.engine());
    if (soonest && i.engine())
      soonest->issued(i, *i.engine());
    tellMissing(i);
  }

  static bool representable(Instr i) {
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      if (nisa::AccessAttr a = i.access(static_cast<int>(k)); a && !nisa::isRepresentable(a))
        return false;
    return true;
  }

  double busy(Instr i, Engine e) const {
    if (!i.def().cost)
      return 0;
    return i.def().cost(nisa::InstrCost(i, *target, e)).busy;
  }

  // Rule 3: 32-bit integers are exact on GpSimd only; a transpose into PSUM goes through the Tensor engine.
  static SmallVector<Engine, 4> order(Instr i, bool &sameBits) {
    sameBits = false;
    if (i.is("tensor_tensor") && allWide(i) && exactInteger(static_cast<AluOp>(i.integer("op"))))
      return {Engine::GpSimd, Engine::Vector};
    if (i.is("nc_transpose")) {
      const bool psum = cast<nisa::TensorType>(i.tensor(0).getType()).getSpace() == Space::Psum;
      return {kTV[!psum], kTV[psum]};
    }
    for (const Preference &p : kPreferences)
      if (i.is(p.instruction)) {
        sameBits = p.sameBits;
        return p.order;
      }
    return SmallVector<Engine, 4>(std::begin(kOrder), std::end(kOrder));
  }

  // Where products are the work, what is done to their sums goes on in the order in which they come; if Scalar can take part in it.
  static bool multiplies(nisa::CoreOp core) {
    return core
        .walk([](Operation *op) {
          const Instr i(op);
          return i && i.is("nc_matmul") ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  // Rule 5, at the end of a core.
  struct Open {
    Instr instr, onScalar;
    double weight;
  };
  std::vector<Open> open;
  double shortOnGpSimd = 0;
  EngineShares shares;

  bool isShort(Instr i) const {
    constexpr int64_t kShort = 64; // elements: about as long as an instruction takes to be issued
    for (int k : {0, 1})
      if (const nisa::AccessAttr a = i.access(k); a && a.elementsPerPartition() > kShort)
        return false;
    return true;
  }

  // Whether the instruction is left for the end.
  bool leaveOpen(Instr i, ArrayRef<Engine> can, double weight) {
    if (forms != Forms::Free || isShort(i))
      return false;
    EngineShares::Costs costs;
    costs.fill(std::numeric_limits<double>::infinity());
    for (Engine e : can)
      if (e == can.front() || (can.size() > 1 && !inTurns(i, e)))
        costs[static_cast<size_t>(e)] = weight * busy(i, e);
    Instr other;
    if (can.front() == Engine::Vector && !std::isfinite(costs[static_cast<size_t>(Engine::Scalar)]) &&
        !inTurns(i, Engine::Scalar))
      other = scalarForm.of(i);
    if (other) // a function's table may have to come each time
      costs[static_cast<size_t>(Engine::Scalar)] =
          weight * (busy(other, Engine::Scalar) + (i.is("reciprocal") ? target->number("cost.activation_table_load") : 0));
    if (llvm::count_if(costs, [](double c) { return std::isfinite(c); }) < 2)
      return false;
    open.push_back({i, other, weight});
    shares.add(can.front(), costs);
    return true;
  }

  // A short instruction that GpSimd alone can run waits for half of a long one, and so does what comes behind it.
  double lostBehind() const {
    double sum = 0, count = 0;
    for (const Open &o : open)
      if (legal(o.instr, Engine::GpSimd))
        sum += busy(o.instr, Engine::GpSimd), ++count;
    return count ? shortOnGpSimd * sum / count / 2 : 0;
  }

  void closeShares() {
    load[static_cast<int>(Engine::GpSimd)] += lostBehind();
    for (size_t e = 0; e < load.size(); ++e)
      shares.fixed(static_cast<Engine>(e), load[e]);
    for (const auto &[o, e] : llvm::zip(open, shares.solve())) {
      Instr used = o.instr;
      if (o.onScalar) {
        Instr unused = o.onScalar;
        if (e == Engine::Scalar)
          std::swap(used, unused);
        unused.operation()->erase();
      }
      used.setEngine(e);
    }
    open.clear();
    shortOnGpSimd = 0;
    shares = {};
    for (Instr fill : scalarForm.finish())
      choose(fill, 1);
  }

  void chooseEngine(Instr i, double weight) {
    if (i.def().unit == Unit::Exchange)
      return i.setEngine(pipes.try_emplace(i.integer("pipe"), Engine::Sync).first->second);
    bool sameBits;
    const SmallVector<Engine, 4> preferred = order(i, sameBits);
    SmallVector<Engine, 4> can;
    for (Engine e : preferred)
      if (legal(i, e))
        can.push_back(e);
    if (can.empty())
      return i.setEngine(anyEngine(i, preferred));
    if (i.def().unit != Unit::Compute)
      return i.setEngine(can.front());
    if (!sameBits || kernel.asWritten())
      can.resize(1);
    if (leaveOpen(i, can, weight))
      return;
    const Engine best = forms == Forms::Free ? can.front() : soonest ? firstDone(i, can) : leastBusy(i, can, weight);
    i.setEngine(best);
    others[static_cast<int>(best)] += best != can.front();
    if (forms != Forms::Free && can.size() > 1)
      i->setAttr(kBalanced, UnitAttr::get(i->getContext()));
    load[static_cast<int>(best)] += weight * busy(i, best);
    if (best == Engine::GpSimd && isShort(i))
      shortOnGpSimd += weight;
  }

  // It breaks a rule, or no engine has it.
  Engine anyEngine(Instr i, ArrayRef<Engine> preferred) const {
    for (Engine e : preferred)
      if (canIssue(i, e))
        return e;
    for (Engine e : kOrder)
      if (i.def().runsOn(e))
        return e;
    return preferred.front();
  }

  // The engine and Vector cannot work at the same time.
  bool inTurns(Instr i, Engine e) const {
    return (e == Engine::GpSimd && !target->has("vector_gpsimd_concurrent")) ||
           (e == Engine::Scalar && inPsum(i) && !target->has("vector_scalar_psum_concurrent"));
  }

  // Rule 4. Another engine than the usual one helps if it would be done before the usual one gets to it; not if the two cannot
  // work at the same time.
  Engine leastBusy(Instr i, ArrayRef<Engine> can, double weight) const {
    Engine best = can.front();
    double least = load[static_cast<int>(best)];
    for (Engine e : can.drop_front()) {
      if (inTurns(i, e))
        continue;
      const double done = load[static_cast<int>(e)] + weight * busy(i, e);
      if (done < least)
        best = e, least = done;
    }
    return best;
  }

  // Rule 6.
  Engine firstDone(Instr i, ArrayRef<Engine> can) const {
    SmallVector<Engine, 4> free;
    for (Engine e : can)
      if (e == can.front() || !inTurns(i, e))
        free.push_back(e);
    return soonest->choose(i, free);
  }

  // Who starts an exchange: GpSimd where its own DMA does it, else what the author says.
  static std::optional<Engine> exchangeEngine(Instr i) {
    if (i.engine())
      return i.engine();
    const int slot = i.def().slot("engine");
    if (slot >= 0 && i.def().slots[slot].names->names[i.integer(slot)] == "gpsimd_dma")
      return Engine::GpSimd;
    return std::nullopt;
  }

  // A transfer: the author's engine and descriptor mode if they are legal; a mode left at `none` may be raised to the first that is.
  // Where the hardware would make descriptors more slowly than data move, GpSimd makes some.
  void chooseTransfer(Instr i, double weight) {
    struct Way {
      Engine engine;
      Dge dge;
    };
    const int slot = i.def().slot("dge");
    const Dge given = static_cast<Dge>(i.integer(slot));
    SmallVector<Way, 8> ways;
    for (Dge dge : {given, Dge::Hwdge, Dge::Swdge})
      if (dge == given || given == Dge::None)
        for (Engine e : {Engine::Sync, Engine::GpSimd})
          ways.push_back({i.engine().value_or(e), dge});
    const double moving = weight * static_cast<double>(i.access(0).elements() * sizeOf(i.access(0).getDtype())) /
                          (target->dmaEngines * target->number("dma.bytes_per_ns"));
    const Way *best = nullptr;
    double least = 0;
    for (const Way &w : ways) {
      nisa::TrialCheck check(i, *target, w.engine, cores);
      check.assume(slot, static_cast<int32_t>(w.dge));
      if (!check.passes())
        continue;
      const bool software = w.dge == Dge::Swdge;
      const double cost =
                       w.dge == Dge::None ? 0 : weight * target->number(software ? "dma.swdge_busy" : "dma.hwdge_interval"),
                   done = (software ? load[static_cast<int>(w.engine)] : made) + cost;
      if (!best || (least > moved + moving && done < least))
        best = &w, least = done;
      if (w.dge == given)
        break;
    }
    if (best) {
      i.setEngine(best->engine);
      if (best->dge != given) {
        i.setInteger("dge", static_cast<int32_t>(best->dge));
        i->setAttr(kBalanced, UnitAttr::get(i->getContext()));
      }
      if (best->dge != Dge::None)
        moved += moving;
      if (best->dge == Dge::Swdge)
        load[static_cast<int>(best->engine)] = least;
      else if (best->dge == Dge::Hwdge)
        made = least;
      return;
    }
    // No way is legal. Indexed transfers are started by GpSimd, so that only the real problem is reported.
    bool indexed = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      indexed |= i.def().slots[k].name.ends_with("_index") && i.access(static_cast<int>(k));
    if (indexed && given == Dge::None)
      i.setInteger("dge", static_cast<int32_t>(Dge::Swdge));
    if (!i.engine())
      i.setEngine(indexed || given == Dge::Swdge ? Engine::GpSimd : Engine::Sync);
  }

  void tellMissing(Instr i) {
    std::string_view missing = i.def().feature;
    if (missing.empty() || target->has(missing)) {
      missing = {};
      bool any = false;
      for (int e = 0; e < kNumEngines; ++e)
        any |= canIssue(i, static_cast<Engine>(e));
      if (any)
        return;
      if (!i.def().engineNeeds.empty())
        missing = i.def().engineNeeds.front().feature;
    }
    const nisa::Origin o = nisa::originOf(i->getLoc());
    Diagnostic d;
    d.code = "TARGET-FEATURE";
    d.message = format("%s does not have `%s` (feature %s)%s", target->name.c_str(), std::string(i.def().name).c_str(),
                       std::string(missing).c_str(), whoHas(missing).c_str());
    d.place = {o.file, o.line, 0};
    d.context = "kernel " + kernel.getSymName().str() + (o.operation.empty() ? "" : ", operation " + o.operation);
    d.advice = "Choose a target that has it (`glia targets --diff trn1 trn3`), or another instruction.";
    found.push_back(std::move(d));
  }
};

} // namespace

void balanceAgain(Block &block) {
  block.walk([](Operation *op) {
    if (!op->hasAttr(kBalanced))
      return;
    op->removeAttr("engine");
    if (Instr i(op); i.def().unit == Unit::Dma)
      i.setInteger("dge", static_cast<int32_t>(Dge::None));
  });
}

void chooseEngines(nisa::KernelOp kernel, Forms forms, Aim aim) {
  std::vector<Diagnostic> found = Chooser(kernel, forms, aim).run();
  if (!found.empty())
    throw Error(std::move(found));
}

} // namespace glia
