// Walks each core once. A loop is first only looked at, iteration by iteration, until what PSUM holds comes back to what it was;
// if its matmuls do the same in every iteration the body is rewritten once, otherwise iterations are peeled off first.
#include "glia/Transforms/ResolveAccumulation.h"
#include "InstrFacts.h"
#include "PeelLoop.h"
#include "PsumContents.h"
#include "PsumWindow.h"
#include "SplitMatmul.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Target.h"
#include "glia/Verify/RuleBook.h"

#include <map>
#include <optional>

using namespace mlir;

namespace glia {

using nisa::Adding;
using nisa::Adds;
using nisa::Held;
using nisa::Instr;
using nisa::PsumState;
using nisa::Touched;

namespace {

constexpr int kMaxIterations = 5; // looked at before a loop counts as one that does not settle

using States = nisa::PsumStates;
using Trail = std::vector<uint64_t>; // what the matmuls of a stretch did, in order

class Resolver {
public:
  explicit Resolver(nisa::KernelOp kernel) : kernel(kernel), target(loadTarget(std::string_view(kernel.getTarget()))) {
    anyWriter = target->has("psum_accumulate_any_writer");
    exactTranspose = target->has("exact_transpose");
  }

  std::vector<Diagnostic> run() {
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
      contents.enter(core);
      States s;
      block(core.getBody().front(), s, nullptr);
    }
    contents.eraseUnread(kernel);
    return std::move(found);
  }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  bool anyWriter = false, exactTranspose = false;
  std::vector<Diagnostic> found;
  nisa::PsumContents contents;

  void fail(Operation *op, std::string message) {
    const nisa::Origin o = nisa::originOf(op->getLoc());
    Diagnostic d;
    d.code = "PSUM-ACCUMULATE";
    d.message = std::move(message);
    d.place = {o.file, o.line, 0};
    d.context = "kernel " + kernel.getSymName().str() + (o.operation.empty() ? "" : ", operation " + o.operation);
    if (const Rule *r = findRule(d.code))
      d.advice = r->advice;
    found.push_back(std::move(d));
  }

  // ---- straight lines -------------------------------------------------------------------------------------------------------

  // trail: only look, and note what is done. null: rewrite.
  void block(Block &b, States &s, Trail *trail) {
    for (Operation &op : llvm::make_early_inc_range(b))
      visit(&op, s, trail);
  }

  void visit(Operation *op, States &s, Trail *trail) {
    if (auto alloc = dyn_cast<nisa::AllocOp>(op)) {
      if (nisa::PsumContents::isPsum(alloc.getTensor()))
        contents.allocate(s, alloc.getTensor());
    } else if (isa<nisa::LoopOp, nisa::WhileOp>(op)) {
      if (trail)
        lookAtLoop(op, s, *trail);
      else
        rewriteLoop(op, s);
    } else if (Instr i(op); i) {
      instruction(i, s, trail);
    }
  }

  bool transposes(Instr i) const { return exactTranspose && i.integer("transpose") != 0; }

  void instruction(Instr i, States &s, Trail *trail) {
    const int slots = static_cast<int>(i.def().slots.size());
    const bool matmul = i.is("nc_matmul");
    for (int k = 0; k < slots; ++k)
      if (nisa::PsumContents::isPsum(i.tensor(k)) && i.reads(k) && !(matmul && k == 0))
        contents.reads(i, k, s);
    if (matmul && nisa::PsumContents::isPsum(i.tensor(0)))
      return multiply(i, s, trail);
    for (int k = 0; k < slots; ++k)
      if (nisa::PsumContents::isPsum(i.tensor(k)) && i.writes(k))
        contents.writes(i, k, contents.held(s, i.tensor(k)));
  }

  // ---- matmuls --------------------------------------------------------------------------------------------------------------

  void multiply(Instr i, States &s, Trail *trail) {
    PsumState &state = contents.held(s, i.tensor(0));
    const std::optional<Touched> t = contents.touched(i, 0);
    const int32_t wanted = i.integer("accumulate");
    if (transposes(i)) {
      if (!trail && wanted == nisa::kAccumulateAuto)
        i.setInteger("accumulate", 0);
      return contents.writes(i, 0, state);
    }
    nisa::AccessAttr dst = i.access(0);
    const mlir::Value tensor = i.tensor(0);
    Adds adds;
    if (wanted) {
      adds = t ? nisa::planAdds(state, dst.pattern(), dst.getPartition(), dst.getByteOffset(),
                                wanted == nisa::kAccumulateAuto, anyWriter)
               : planAnywhere(state, tensor, wanted == nisa::kAccumulateAuto);
      if (adds.allowed && (!adds.uniform || adds.adding == Adding::Accumulates))
        state.visit(t ? *t : nisa::PsumContents::whole(tensor), [&](const nisa::Box &b) {
          if (nisa::addingTo(b.held, wanted == nisa::kAccumulateAuto, anyWriter) == Adding::Accumulates)
            contents.read(b);
        });
    }
    if (trail)
      note(*trail, adds);
    // What is written does not depend on how.
    contents.change(state, tensor, t, [](nisa::Box &b) { b.held = Held::Sum, b.memset = -1; });
    if (!trail && wanted)
      rewrite(i, adds, dst.getPartition());
  }

  // All elements of the tensor, since the matmul may be on any.
  Adds planAnywhere(const PsumState &s, mlir::Value tensor, bool automatic) {
    Adds adds;
    bool first = true;
    s.visit(nisa::PsumContents::whole(tensor), [&](const nisa::Box &b) {
      const Adding a = nisa::addingTo(b.held, automatic, anyWriter);
      adds.uniform &= first || a == adds.adding;
      if (first)
        adds.adding = a;
      first = false;
    });
    if (!adds.uniform)
      adds.adding = automatic ? Adding::Undecided : Adding::Accumulates;
    adds.uniform = true;
    adds.allowed = adds.adding == Adding::Overwrites || adds.adding == Adding::Accumulates;
    return adds;
  }

  static void note(Trail &trail, const Adds &adds) {
    uint64_t h = static_cast<uint64_t>(adds.adding) * 4 + adds.uniform * 2 + adds.allowed;
    for (const Adds::Band &b : adds.bands) {
      h = (h ^ static_cast<uint64_t>(b.first) ^ static_cast<uint64_t>(b.count) << 16) * 0x9E3779B97F4A7C15u;
      for (uint8_t e : b.elements)
        h = (h ^ e) * 0x100000001B3u;
    }
    trail.push_back(h);
  }

  void rewrite(Instr i, const Adds &adds, int32_t dstPartition) {
    const std::string name = "`" + nisa::labelOf(i.tensor(0)).str() + "`";
    if (!adds.allowed) {
      if (adds.adding == Adding::OntoNothing)
        fail(i.operation(), "it accumulates onto elements of " + name + " that were never written");
      else if (adds.adding == Adding::OntoOther)
        fail(i.operation(), "it accumulates onto elements of " + name +
                                " that another engine wrote last, which is undefined on " + target->name);
      else
        fail(i.operation(), "whether it overwrites or accumulates onto " + name +
                                " depends on how often a loop ran or on a register; say accumulate=True or False");
      return;
    }
    if (adds.uniform) {
      i.setInteger("accumulate", adds.adding == Adding::Accumulates);
      return;
    }
    if (const std::string why = nisa::splitMatmul(i, adds, dstPartition); !why.empty())
      fail(i.operation(),
           "some elements of " + name + " are written for the first time and some are accumulated onto: " + why);
  }

  // ---- loops ----------------------------------------------------------------------------------------------------------------

  struct Outlook {
    std::vector<Trail> trails; // of the first iterations; the last one repeats for ever
    States end;                // after the loop, if it ran
    bool settles = true;
  };

  static bool mayNotRun(Operation *op) {
    auto loop = dyn_cast<nisa::LoopOp>(op);
    return !loop || loop.getCountRegister();
  }
  static int64_t tripsOf(Operation *op) { // INT64_MAX: not known
    return mayNotRun(op) ? INT64_MAX : static_cast<int32_t>(*cast<nisa::LoopOp>(op).getCount());
  }

  bool same(const States &a, const States &b, const States &outside) {
    for (const auto &[k, unused] : outside)
      if (!(a.at(k) == b.at(k)))
        return false;
    return true;
  }

  Outlook lookAhead(Operation *op, const States &s, const nisa::PsumWindow &window) {
    Outlook out;
    States before = s;
    const int64_t trips = tripsOf(op);
    for (int64_t k = 0; k < trips; ++k) {
      if (k == kMaxIterations) {
        out.settles = false;
        break;
      }
      States after = before;
      Trail trail;
      block(op->getRegion(0).front(), after, &trail);
      out.trails.push_back(std::move(trail));
      for (const auto &[number, unused] : s)
        out.end[number] = after[number];
      window.moveOn(after);
      const bool settled = same(before, after, s);
      before = std::move(after);
      if (settled)
        break;
    }
    return out;
  }

  void joinInto(States &s, const States &other) {
    for (auto &[k, state] : s)
      contents.join(state, other.at(k));
  }

  // After the loop, from the state before it.
  void leave(Operation *op, States &s, States before, States end, nisa::PsumWindow &window) {
    window.close(before, end);
    if (mayNotRun(op))
      joinInto(before, end);
    else
      before = std::move(end);
    for (auto &[number, state] : before)
      s[number] = std::move(state);
  }

  void lookAtLoop(Operation *op, States &s, Trail &trail) {
    if (tripsOf(op) <= 0)
      return;
    States before = contents.usedIn(op, s);
    nisa::PsumWindow window(contents, op, tripsOf(op), before);
    Outlook out = lookAhead(op, before, window);
    for (const Trail &t : out.trails) {
      trail.push_back(t.size());
      trail.insert(trail.end(), t.begin(), t.end());
    }
    leave(op, s, std::move(before), std::move(out.end), window);
  }

  void rewriteLoop(Operation *op, States &s) {
    if (tripsOf(op) <= 0) { // never runs: nothing in it means anything
      op->erase();
      return;
    }
    States before = contents.usedIn(op, s);
    {
      nisa::PsumWindow window(contents, op, tripsOf(op), before);
      Outlook out = lookAhead(op, before, window);
      if (!out.settles) {
        fail(op,
             "what PSUM holds differs from iteration to iteration of this loop; allocate the accumulator inside the loop");
        return;
      }
      if (std::all_of(out.trails.begin(), out.trails.end(), [&](const Trail &t) { return t == out.trails[0]; })) {
        States inside = before;
        block(op->getRegion(0).front(), inside, nullptr);
        leave(op, s, std::move(before), std::move(out.end), window);
        return;
      }
    }
    const nisa::Peeled peeled = nisa::peelFirst(op);
    SmallVector<Operation *> iteration; // rewriting may replace ops
    for (Operation *x = peeled.first; x; x = x == peeled.last ? nullptr : x->getNextNode())
      iteration.push_back(x);
    for (Operation *x : iteration)
      visit(x, before, nullptr);
    rewriteLoop(peeled.rest, before);
    for (auto &[number, state] : before) {
      const auto it = s.find(number);
      if (it == s.end())
        continue; // allocated inside, and gone
      if (peeled.guard)
        contents.join(it->second, state);
      else
        it->second = std::move(state);
    }
  }
};

bool needsResolving(nisa::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        Instr i(op);
        return i && i.is("nc_matmul") && i.integer("accumulate") ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

void resolveAccumulation(nisa::KernelOp kernel) {
  if (!needsResolving(kernel))
    return;
  std::vector<Diagnostic> found = Resolver(kernel).run();
  if (!found.empty())
    throw Error(std::move(found));
}

} // namespace glia
