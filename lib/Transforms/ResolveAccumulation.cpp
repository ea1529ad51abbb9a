// Walks each core once. A loop is first only looked at, iteration by iteration, until what PSUM holds comes back to what it was;
// if its matmuls do the same in every iteration the body is rewritten once, otherwise iterations are peeled off first.
#include "glia/Transforms/ResolveAccumulation.h"
#include "InstrFacts.h"
#include "PeelLoop.h"
#include "PsumState.h"
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

// Held contents by allocation; ordered by the allocation's number, so that nothing depends on addresses of the host.
using States = std::map<int, PsumState>;
using Trail = std::vector<uint64_t>; // what the matmuls of a stretch did, in order

class Resolver {
public:
  explicit Resolver(nisa::KernelOp kernel) : kernel(kernel), target(loadTarget(std::string_view(kernel.getTarget()))) {
    anyWriter = target->has("psum_accumulate_any_writer");
    exactTranspose = target->has("exact_transpose");
  }

  std::vector<Diagnostic> run() {
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
      findShared(core);
      States s;
      block(core.getBody().front(), s, nullptr);
    }
    for (auto [op, id] : memsets) // in any order: each is erased on its own
      if (!needed[id])
        op->erase();
    return std::move(found);
  }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  bool anyWriter = false, exactTranspose = false;
  std::vector<Diagnostic> found;
  llvm::DenseMap<mlir::Value, int> numbers;         // of PSUM allocations
  llvm::DenseSet<mlir::Value> shared;               // another allocation lies on the same bytes
  llvm::DenseMap<Operation *, int> memsets;         // zero fills of PSUM that may go away
  std::vector<bool> needed;                         // by memset: somebody reads it
  llvm::DenseMap<mlir::Value, mlir::Value> windows; // allocation -> iterator of the loop that moves its window

  int numberOf(mlir::Value tensor) { return numbers.try_emplace(tensor, static_cast<int>(numbers.size())).first->second; }

  static bool isPsum(mlir::Value v) { return v && cast<nisa::TensorType>(v.getType()).getSpace() == Space::Psum; }

  static PsumState stateOf(mlir::Value tensor) {
    const auto t = cast<nisa::TensorType>(tensor.getType());
    int64_t bytes = sizeOf(t.getDtype());
    for (int64_t d : t.getShape().drop_front())
      bytes *= d;
    return {static_cast<int32_t>(t.getShape()[0]), bytes};
  }
  static Touched whole(mlir::Value tensor) {
    const auto t = cast<nisa::TensorType>(tensor.getType());
    int64_t bytes = sizeOf(t.getDtype());
    for (int64_t d : t.getShape().drop_front())
      bytes *= d;
    return {0, static_cast<int32_t>(t.getShape()[0]), {{0, bytes}}};
  }

  void findShared(nisa::CoreOp core) {
    struct Placed {
      mlir::Value tensor;
      nisa::Address at;
      Touched size;
    };
    std::vector<Placed> all;
    core.walk([&](nisa::AllocOp a) {
      if (isPsum(a.getTensor()) && a.getAt())
        all.push_back({a.getTensor(), nisa::addressOf(a.getTensor()), whole(a.getTensor())});
    });
    for (const Placed &a : all)
      for (const Placed &b : all)
        if (a.tensor != b.tensor && a.at.partition < b.at.partition + b.size.partitions &&
            b.at.partition < a.at.partition + a.size.partitions && a.at.byte < b.at.byte + b.size.runs[0].hi &&
            b.at.byte < a.at.byte + a.size.runs[0].hi)
          shared.insert(a.tensor);
  }

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
      if (isPsum(alloc.getTensor()))
        s[numberOf(alloc.getTensor())] = stateOf(alloc.getTensor());
    } else if (isa<nisa::LoopOp, nisa::WhileOp>(op)) {
      if (trail)
        lookAtLoop(op, s, *trail);
      else
        rewriteLoop(op, s);
    } else if (Instr i(op); i) {
      instruction(i, s, trail);
    }
  }

  PsumState &held(States &s, mlir::Value tensor) {
    auto [it, fresh] = s.try_emplace(numberOf(tensor));
    if (fresh)
      it->second = stateOf(tensor);
    return it->second;
  }

  void read(const nisa::Box &b) {
    if (b.held == Held::Zero && b.memset >= 0)
      needed[b.memset] = true;
  }

  // The bytes an operand touches; nothing if a register moves it to where we cannot say.
  std::optional<Touched> touched(Instr i, int slot) const {
    nisa::AccessAttr a = i.access(slot);
    const auto terms = a.getTerms();
    if (!terms.empty()) {
      const auto window = windows.find(i.tensor(slot));
      if (window == windows.end() || terms.size() != 3 || i->getOperand(static_cast<unsigned>(terms[0])) != window->second)
        return std::nullopt;
    }
    return nisa::touchedBy(a.pattern(), a.getPartition(), a.getByteOffset());
  }

  bool transposes(Instr i) const { return exactTranspose && i.integer("transpose") != 0; }

  void instruction(Instr i, States &s, Trail *trail) {
    const int slots = static_cast<int>(i.def().slots.size());
    const bool matmul = i.is("nc_matmul");
    for (int k = 0; k < slots; ++k)
      if (isPsum(i.tensor(k)) && i.reads(k) && !(matmul && k == 0)) {
        const std::optional<Touched> t = touched(i, k);
        held(s, i.tensor(k)).visit(t ? *t : whole(i.tensor(k)), [&](const nisa::Box &b) { read(b); });
      }
    if (matmul && isPsum(i.tensor(0)))
      return multiply(i, s, trail);
    for (int k = 0; k < slots; ++k)
      if (isPsum(i.tensor(k)) && i.writes(k))
        write(i, k, held(s, i.tensor(k)));
  }

  // Where it is not known which elements are written, each is as before or changed.
  template <class To> void change(PsumState &s, mlir::Value tensor, const std::optional<Touched> &t, To &&to) {
    s.change(t ? *t : whole(tensor), [&](nisa::Box &b) {
      const nisa::Box before = b;
      to(b);
      if (!t && (b.held != before.held || b.memset != before.memset)) {
        read(before), read(b); // either may still be there when somebody looks
        b.held = Held::Unknown;
        b.memset = -1;
      }
    });
  }

  void write(Instr i, int slot, PsumState &s) {
    const std::optional<Touched> t = touched(i, slot);
    if (i.is("memset") && i.integer("bits") == 0 && i.value(i.def().slot("value")).number == 0) {
      const int id = memsetNumber(i);
      return change(s, i.tensor(slot), t, [&](nisa::Box &b) { b.held = Held::Zero, b.memset = id; });
    }
    const auto writer = i.engine() == Engine::Tensor || i.def().engines == 1u << static_cast<int>(Engine::Tensor)
                            ? nisa::Writer::TensorEngine
                            : nisa::Writer::Other;
    change(s, i.tensor(slot), t, [&](nisa::Box &b) {
      b.held = nisa::afterWrite(b.held, writer);
      b.memset = -1;
    });
  }

  int memsetNumber(Instr i) {
    const auto [it, fresh] = memsets.try_emplace(i.operation(), static_cast<int>(needed.size()));
    if (fresh) // one that other instructions are ordered after, or whose bytes are seen through another tensor, stays
      needed.push_back(i->hasAttr("id") || shared.contains(i.tensor(0)));
    return it->second;
  }

  // ---- matmuls --------------------------------------------------------------------------------------------------------------

  void multiply(Instr i, States &s, Trail *trail) {
    PsumState &state = held(s, i.tensor(0));
    const std::optional<Touched> t = touched(i, 0);
    const int32_t wanted = i.integer("accumulate");
    if (transposes(i)) {
      if (!trail && wanted == nisa::kAccumulateAuto)
        i.setInteger("accumulate", 0);
      return write(i, 0, state);
    }
    nisa::AccessAttr dst = i.access(0);
    const mlir::Value tensor = i.tensor(0);
    Adds adds;
    if (wanted) {
      adds = t ? nisa::planAdds(state, dst.pattern(), dst.getPartition(), dst.getByteOffset(),
                                wanted == nisa::kAccumulateAuto, anyWriter)
               : planAnywhere(state, tensor, wanted == nisa::kAccumulateAuto);
      if (adds.allowed && (!adds.uniform || adds.adding == Adding::Accumulates))
        state.visit(t ? *t : whole(tensor), [&](const nisa::Box &b) {
          if (nisa::addingTo(b.held, wanted == nisa::kAccumulateAuto, anyWriter) == Adding::Accumulates)
            read(b);
        });
    }
    if (trail)
      note(*trail, adds);
    // What is written does not depend on how.
    change(state, tensor, t, [](nisa::Box &b) { b.held = Held::Sum, b.memset = -1; });
    if (!trail && wanted)
      rewrite(i, adds, dst.getPartition());
  }

  // All elements of the tensor, since the matmul may be on any.
  Adds planAnywhere(const PsumState &s, mlir::Value tensor, bool automatic) {
    Adds adds;
    bool first = true;
    s.visit(whole(tensor), [&](const nisa::Box &b) {
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

  // ---- windows: what each iteration of a loop sees of a tensor that its iterator moves over --------------------------------------

  // While it is open, operands of a windowed tensor are taken relative to the window; the window is in the same state at the start
  // of every iteration, because the iterations' windows are apart and the tensor held one thing everywhere before the loop.
  class Window {
  public:
    Window(Resolver &r, Operation *op, States &s) : r(r), trips(tripsOf(op)) {
      auto loop = dyn_cast<nisa::LoopOp>(op);
      if (!loop)
        return;
      std::map<int, View> views; // by number of the allocation
      loop.walk([&](Operation *x) {
        if (Instr i(x); i)
          for (int k = 0; k < static_cast<int>(i.def().slots.size()); ++k)
            if (isPsum(i.tensor(k)) && s.contains(r.numberOf(i.tensor(k))))
              views[r.numberOf(i.tensor(k))].add(i, k, loop.iterator());
      });
      for (auto &[number, view] : views)
        if (view.moves && view.apart() && !r.windows.contains(view.tensor))
          open(number, view, s);
    }
    // At the start of the next iteration its own window is as it was before the loop.
    void moveOn(States &s) const {
      for (const Opened &o : opened)
        s[o.number] = o.before;
    }
    // `end` held one window after an iteration; now it holds the tensor after the loop.
    void close(const States &before, States &end) {
      for (const Opened &o : opened) {
        r.windows.erase(o.view.tensor);
        PsumState after = before.at(o.number);
        const Touched window{0, whole(o.view.tensor).partitions, {{o.view.lo, o.view.hi}}};
        if (trips > kMaxWindows) { // some windows were visited, the rest is as before
          after.change(whole(o.view.tensor), [&](nisa::Box &was) {
            end[o.number].visit(window, [&](const nisa::Box &is) {
              if (is.held == was.held && is.memset == was.memset)
                return;
              r.read(was), r.read(is);
              was.held = Held::Unknown;
              was.memset = -1;
            });
          });
        } else {
          for (int64_t k = 0; k < trips; ++k)
            end[o.number].visit(window, [&](const nisa::Box &b) {
              const Touched t{b.p0, b.p1 - b.p0, {{b.b0 + k * o.view.scale, b.b1 + k * o.view.scale}}};
              after.set(t, b.held, b.memset);
            });
        }
        end[o.number] = std::move(after);
      }
      opened.clear();
    }
    ~Window() {
      for (const Opened &o : opened)
        r.windows.erase(o.view.tensor);
    }

  private:
    static constexpr int64_t kMaxWindows = 256;
    struct View { // how a loop uses one tensor
      mlir::Value tensor, iterator;
      bool moves = true; // every operand adds the iterator, with one scale
      int64_t scale = 0, lo = INT64_MAX, hi = INT64_MIN;
      void add(Instr i, int slot, mlir::Value it) {
        nisa::AccessAttr a = i.access(slot);
        tensor = i.tensor(slot);
        iterator = it;
        const auto terms = a.getTerms();
        if (terms.size() != 3 || terms[2] || i->getOperand(static_cast<unsigned>(terms[0])) != it ||
            (lo != INT64_MAX && terms[1] != scale)) {
          moves = false;
          return;
        }
        scale = terms[1];
        const ByteRun run = extent(a.pattern());
        lo = std::min(lo, a.getByteOffset() + run.lo);
        hi = std::max(hi, a.getByteOffset() + run.hi);
      }
      bool apart() const { return hi - lo <= std::abs(scale); }
    };
    struct Opened {
      int number;
      View view;
      PsumState before;
    };
    Resolver &r;
    const int64_t trips;
    std::vector<Opened> opened;

    void open(int number, const View &view, States &s) {
      const Touched all = whole(view.tensor);
      std::optional<nisa::Box> one;
      bool uniform = true;
      s[number].visit(all, [&](const nisa::Box &b) {
        uniform &= !one || (one->held == b.held && one->memset == b.memset);
        one = one ? one : b;
      });
      if (!uniform)
        return;
      opened.push_back({number, view, s[number]});
      r.windows[view.tensor] = view.iterator;
    }
  };
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

  // The states of what a loop touches: the others do not change in it.
  States usedIn(Operation *op, const States &s) {
    States out;
    op->walk([&](Operation *x) {
      for (mlir::Value v : x->getOperands())
        if (isa<nisa::TensorType>(v.getType()) && isPsum(v))
          if (const auto it = s.find(numberOf(v)); it != s.end())
            out.insert(*it);
    });
    return out;
  }

  Outlook lookAhead(Operation *op, const States &s, const Window &window) {
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
      state.join(other.at(k), [&](const nisa::Box &b) { read(b); });
  }

  // After the loop, from the state before it.
  void leave(Operation *op, States &s, States before, States end, Window &window) {
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
    States before = usedIn(op, s);
    Window window(*this, op, before);
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
    States before = usedIn(op, s);
    {
      Window window(*this, op, before);
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
    op->walk([&](Operation *x) { memsets.erase(x); }); // peeling makes new ones
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
        it->second.join(state, [&](const nisa::Box &b) { read(b); });
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
