// The rules, in this order (docs/engines.md):
//   1. An engine that the author gave stays.
//   2. An engine must be able to issue the instruction on this target, reach its operands and keep its rules.
//   3. Where engines give different bits, the table and the two functions below it say which is preferred.
//   4. Where they give the same bits, another engine than the usual one if it has had less work so far, by the cost formulas,
//      in program order. Not in a kernel that is as written.
#include "glia/Transforms/ChooseEngines.h"
#include "InstrFacts.h"
#include "Remarks.h"
#include "glia/ISA/AluRules.h"
#include "glia/ISA/Transfer.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/WhoHas.h"

#include <array>
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

constexpr double kUnknownTrips = 8; // what a loop of unknown count weighs

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
  Chooser(nisa::KernelOp kernel)
      : kernel(kernel), target(loadTarget(std::string_view(kernel.getTarget()))), cores(static_cast<int>(kernel.cores())) {}

  std::vector<Diagnostic> run() {
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
      load.fill(0);
      pipes.clear();
      core.walk([&](Operation *op) { // a pipe belongs to one engine
        if (Instr i(op); i && i.def().unit == Unit::Exchange)
          if (const std::optional<Engine> e = exchangeEngine(i))
            pipes.try_emplace(i.integer("pipe"), *e);
      });
      visit(core.getBody().front(), 1);
    }
    std::string text;
    for (int e = 0; e < kNumEngines; ++e)
      if (moved[e])
        text += (text.empty() ? "moved " + counted(moved[e], "instruction") : ", " + std::to_string(moved[e])) + " to " +
                std::string(name(static_cast<Engine>(e)));
    if (!text.empty())
      addRemark(kernel, text);
    return std::move(found);
  }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  const int cores;
  std::array<double, kNumEngines> load{};  // ns of work so far, of the core
  std::array<size_t, kNumEngines> moved{}; // instructions that another engine than the usual one gets
  std::map<int32_t, Engine> pipes;
  std::vector<Diagnostic> found;

  void visit(Block &block, double weight) {
    for (Operation &op : block) {
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
    if (i.def().unit == Unit::Dma)
      chooseTransfer(i);
    else if (!i.engine())
      i.setEngine(engineFor(i, weight));
    else if (i.def().unit == Unit::Compute && representable(i) && canIssue(i, *i.engine()))
      load[static_cast<int>(*i.engine())] += weight * busy(i, *i.engine());
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

  Engine engineFor(Instr i, double weight) {
    if (i.def().unit == Unit::Exchange)
      return pipes.try_emplace(i.integer("pipe"), Engine::Sync).first->second;
    bool sameBits;
    const SmallVector<Engine, 4> preferred = order(i, sameBits);
    SmallVector<Engine, 4> can;
    for (Engine e : preferred)
      if (legal(i, e))
        can.push_back(e);
    if (can.empty()) { // it breaks a rule, or no engine has it
      for (Engine e : preferred)
        if (canIssue(i, e))
          return e;
      for (Engine e : kOrder)
        if (i.def().runsOn(e))
          return e;
      return preferred.front();
    }
    if (i.def().unit != Unit::Compute)
      return can.front();
    Engine best = can.front();
    if (sameBits && can.size() > 1 && !kernel.asWritten())
      best = leastBusy(i, can, weight);
    moved[static_cast<int>(best)] += best != can.front();
    load[static_cast<int>(best)] += weight * busy(i, best);
    return best;
  }

  // Rule 4. Another engine than the usual one helps if it would be done before the usual one gets to it; not if the two cannot
  // work at the same time.
  Engine leastBusy(Instr i, ArrayRef<Engine> can, double weight) const {
    Engine best = can.front();
    double least = load[static_cast<int>(best)];
    for (Engine e : can.drop_front()) {
      if ((e == Engine::GpSimd && !target->has("vector_gpsimd_concurrent")) ||
          (e == Engine::Scalar && inPsum(i) && !target->has("vector_scalar_psum_concurrent")))
        continue;
      const double done = load[static_cast<int>(e)] + weight * busy(i, e);
      if (done < least)
        best = e, least = done;
    }
    return best;
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
  void chooseTransfer(Instr i) {
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
    for (const Way &w : ways) {
      nisa::TrialCheck check(i, *target, w.engine, cores);
      check.assume(slot, static_cast<int32_t>(w.dge));
      if (!check.passes())
        continue;
      i.setEngine(w.engine);
      if (w.dge != given)
        i.setInteger("dge", static_cast<int32_t>(w.dge));
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

void chooseEngines(nisa::KernelOp kernel) {
  std::vector<Diagnostic> found = Chooser(kernel).run();
  if (!found.empty())
    throw Error(std::move(found));
}

} // namespace glia
