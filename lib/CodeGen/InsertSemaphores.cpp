// Makes the order of the sequential kernel hold between engines and queues: waits and updates of semaphores where an order is needed
// and not known already, in the idioms of docs/ordering.md.
//   engine to engine   one semaphore per pair (and loop): the producer adds 1, the consumer waits and consumes. A loop before which
//                      its engines meet takes over those of loops that are over
//   transfer           one semaphore per transfer in flight and engine that waits; reused when the issuing engine knows that the
//                      wait before has passed; if they run out, several transfers join on one
//   loop               engines that take part enter knowing what they need, run in step, and meet at the end of each iteration
// What an engine knows is a vector clock over engines, queues and pipes, as in the verifier, which checks all of this again.
#include "AccessTracker.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace glia {

using namespace codegen;

namespace {

constexpr int kMaxLanes = kNumEngines + 16 + 16; // engines, queues, pipes
using Clock = std::array<uint32_t, kMaxLanes>;

void join(Clock &a, const Clock &b) {
  for (int i = 0; i < kMaxLanes; ++i)
    a[i] = std::max(a[i], b[i]);
}

struct Event { // one instruction of an engine
  mlir::Operation *op = nullptr;
  int engine = 0;
  int lane = 0;     // where it completes: its engine, or a queue or pipe
  uint32_t seq = 0; // on that lane
  uint32_t at = 0;  // on its engine
  int scope = 0;
  Clock knows; // when it issues; of an engine's instruction: with itself
  bool transfer() const { return lane >= kNumEngines; }
};

struct Wait {
  uint32_t consumer, producer; // events
};

class CoreSync {
public:
  CoreSync(nisa::CoreOp core, const Target &t) : core(core), target(t), nop(*findInstruction("nop")) {}

  void run() {
    AccessTracker memory;
    block(core.getBody().front(), memory);
    assignTransfers();
    assignEngines();
    if (names.size() > static_cast<size_t>(target.semaphores))
      throw Error("KERNEL-SEMAPHORES",
                  format("core %u needs %zu semaphores, and %s has %d", core.getNumber(), names.size(), target.name.c_str(),
                         target.semaphores),
                  "Let fewer transfers be in flight at once, or use fewer loops with counts that are not constant.");
    write();
  }

private:
  nisa::CoreOp core;
  const Target &target;
  const InstrDef &nop;
  std::vector<Event> events;
  Touches operands;
  std::vector<Wait> waits;
  Clock know[kNumEngines] = {};
  uint32_t seq[kMaxLanes] = {};
  struct Scope {                 // the kernel, or a loop
    uint32_t first = 0, end = 0; // its events are [first, end)
    bool meets = false;          // its engines meet before it
  };
  std::vector<Scope> scopes = {{}};
  int scope = 0;
  llvm::DenseMap<int32_t, uint32_t> ids; // by the author's edges
  std::map<int32_t, uint32_t> chains;
  int onSbuf[2] = {-1, -1}, onPsum[2] = {-1, -1};
  struct SyncList {
    std::vector<std::array<int32_t, 3>> waits;   // semaphore, value, consume
    std::vector<std::array<int32_t, 2>> updates; // semaphore, value
  };
  std::vector<SyncList> syncs; // by event
  std::vector<std::string> names;

  bool knows(int engine, const Event &u) const { return know[engine][u.lane] >= u.seq; }

  void waitFor(uint32_t consumer, int engine, uint32_t producer) {
    const Event &u = events[producer];
    if (knows(engine, u))
      return;
    waits.push_back({consumer, producer});
    join(know[engine], u.knows);
    know[engine][u.lane] = std::max(know[engine][u.lane], u.seq);
  }

  // Waits for all of them, latest first: it often knows about the others.
  void waitForAll(uint32_t consumer, int engine, std::vector<uint32_t> &producers) {
    std::sort(producers.begin(), producers.end(), std::greater<>());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    for (uint32_t p : producers)
      waitFor(consumer, engine, p);
  }

  // The event gets its place; its waits must have been made.
  uint32_t begin() const { return static_cast<uint32_t>(events.size()); }
  void append(mlir::Operation *op, int engine, int lane) {
    Event v;
    v.op = op;
    v.engine = engine;
    v.lane = lane;
    v.at = ++seq[engine];
    v.scope = scope;
    v.seq = lane == engine ? v.at : ++seq[lane];
    know[engine][engine] = v.at; // that a transfer is issued, not that it is complete
    v.knows = know[engine];
    events.push_back(v);
  }

  uint32_t makeNop(mlir::OpBuilder &b, mlir::Location loc, int engine, std::vector<uint32_t> producers) {
    const nisa::Instr i = nisa::createInstruction(b, loc, nop, {}, static_cast<Engine>(engine));
    const uint32_t n = begin();
    waitForAll(n, engine, producers);
    append(i.operation(), engine, engine);
    return n;
  }

  int laneOf(nisa::Instr i, int engine) const {
    if (i.def().unit == Unit::Dma)
      return kNumEngines + i.integer("queue");
    if (i.def().unit == Unit::Exchange)
      return kNumEngines + 16 + (i.integer("pipe") & 15);
    return engine;
  }

  static int engineOf(nisa::Instr i) { return static_cast<int>(i.engine().value_or(Engine::Sync)); }

  // What the author's edges and the memory ask for.
  void dependencies(nisa::Instr i, const std::vector<Touch> &touches, const AccessTracker &memory,
                    std::vector<uint32_t> &out) {
    for (const Touch &t : touches)
      memory.conflicts(t, [&](uint32_t u) { out.push_back(u); });
    if (auto after = i->getAttrOfType<mlir::DenseI32ArrayAttr>("after"))
      for (int32_t id : after.asArrayRef())
        if (const auto it = ids.find(id); it != ids.end())
          out.push_back(it->second);
    if (const auto chain = i.attribute("chain"))
      if (const auto it = chains.find(*chain); it != chains.end())
        out.push_back(it->second);
    forSerial(i, touches, [&](int *last, int side) {
      if (last[1 - side] >= 0)
        out.push_back(static_cast<uint32_t>(last[1 - side]));
    });
  }

  template <class F> void forSerial(nisa::Instr i, const std::vector<Touch> &touches, F f) {
    if (i.def().unit != Unit::Compute)
      return;
    const int e = engineOf(i);
    auto apply = [&](Space space, Engine a, Engine b, int *last) {
      const int side = e == static_cast<int>(a) ? 0 : e == static_cast<int>(b) ? 1 : -1;
      if (side >= 0 && std::any_of(touches.begin(), touches.end(), [&](const Touch &t) { return t.space == space; }))
        f(last, side);
    };
    if (!target.has("vector_gpsimd_concurrent"))
      apply(Space::Sbuf, Engine::Vector, Engine::GpSimd, onSbuf);
    if (!target.has("vector_scalar_psum_concurrent"))
      apply(Space::Psum, Engine::Vector, Engine::Scalar, onPsum);
  }

  void remember(nisa::Instr i, uint32_t n) {
    if (const auto id = i.attribute("id"))
      ids[*id] = n;
    if (const auto chain = i.attribute("chain"))
      chains[*chain] = n;
  }

  void block(mlir::Block &b, AccessTracker &memory) {
    std::vector<Touch> touches;
    std::vector<uint32_t> needed;
    for (mlir::Operation &op : llvm::make_early_inc_range(b)) {
      if (nisa::Instr i{&op}) {
        touches.clear();
        needed.clear();
        operands.add(i, touches);
        dependencies(i, touches, memory, needed);
        const int e = engineOf(i);
        const uint32_t n = begin();
        waitForAll(n, e, needed);
        append(&op, e, laneOf(i, e));
        for (const Touch &t : touches)
          memory.record(t, n);
        forSerial(i, touches, [&](int *last, int side) { last[side] = static_cast<int>(n); });
        remember(i, n);
      } else if (llvm::isa<nisa::LoopOp, nisa::WhileOp>(op)) {
        loop(&op, memory);
      }
    }
  }

  static bool runs(mlir::Operation *op) { // at least once
    auto counted = llvm::dyn_cast<nisa::LoopOp>(op);
    return counted && counted.getCount() && static_cast<int32_t>(*counted.getCount()) > 0;
  }

  void loop(mlir::Operation *op, AccessTracker &memory) {
    // Who takes part, and what each of them touches (also through the transfers it issues).
    std::map<int, std::vector<Touch>> touched;
    std::map<int, std::vector<uint32_t>> needed;
    std::set<int> lanes;
    op->walk([&](mlir::Operation *o) {
      nisa::Instr i{o};
      if (!i)
        return;
      const int e = engineOf(i);
      std::vector<Touch> touches;
      operands.add(i, touches);
      dependencies(i, touches, memory, needed[e]);
      lanes.insert(laneOf(i, e));
      for (Touch &t : touches) {
        t.dense = t.dense && !t.write; // it may not run
        touched[e].push_back(t);
      }
    });
    if (needed.empty())
      return;
    const bool certain = runs(op);
    std::vector<int> parts;
    for (const auto &[e, unused] : needed)
      parts.push_back(e);
    mlir::Builder attrs(op->getContext());
    op->setAttr("engines", attrs.getDenseI32ArrayAttr(llvm::SmallVector<int32_t>(parts.begin(), parts.end())));
    op->setAttr("group", attrs.getStringAttr(format("loop%zu", scopes.size())));

    mlir::OpBuilder before(op);
    bool unsure = false; // this loop, or one inside, may not run
    op->walk([&](mlir::Operation *o) { unsure |= llvm::isa<nisa::LoopOp, nisa::WhileOp>(o) && !runs(o); });
    if (unsure) {
      // What its engines know of each other must not depend on whether it does: they meet before it. For one inside, what happened
      // outside is settled here, and not in every iteration.
      // Each waits for its last transfer on every queue that the loop uses. One in another loop is done: it was waited for there.
      for (uint32_t n = begin(); n-- > 0;)
        if (events[n].transfer() && lanes.erase(events[n].lane) && events[n].scope == scope)
          needed[events[n].engine].push_back(n);
    }
    std::vector<uint32_t> entered;
    for (int e : parts)
      entered.push_back(makeNop(before, op->getLoc(), e, needed[e]));
    if (unsure)
      for (int e : parts)
        makeNop(before, op->getLoc(), e, entered);

    const int outer = scope;
    scope = static_cast<int>(scopes.size());
    scopes.push_back({begin(), begin(), unsure});
    Clock atEntry[kNumEngines];
    std::copy(std::begin(know), std::end(know), atEntry);
    const uint32_t firstEvent = begin();
    AccessTracker inner;
    int serial[4] = {onSbuf[0], onSbuf[1], onPsum[0], onPsum[1]};
    onSbuf[0] = onSbuf[1] = onPsum[0] = onPsum[1] = -1;
    mlir::Block &body = op->getRegion(0).front();
    block(body, inner);
    // All meet at the end of an iteration, each with its transfers done.
    mlir::OpBuilder end = mlir::OpBuilder::atBlockEnd(&body);
    const int hub = parts[0];
    auto own = [&](int e) {
      std::vector<uint32_t> out;
      for (uint32_t n = firstEvent; n < begin(); ++n)
        if (events[n].engine == e && events[n].transfer() && events[n].scope == scope) // those of loops inside are done
          out.push_back(n);
      return out;
    };
    std::vector<uint32_t> arrived = own(hub);
    for (int e : parts)
      if (e != hub)
        arrived.push_back(makeNop(end, op->getLoc(), e, own(e)));
    const uint32_t met = makeNop(end, op->getLoc(), hub, arrived);
    for (int e : parts)
      if (e != hub)
        makeNop(end, op->getLoc(), e, {met});
    scopes[scope].end = begin();
    scope = outer;

    // Afterwards: one instruction per engine stands for all the loop did there.
    mlir::OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    std::map<int, uint32_t> left;
    for (int e : parts) {
      if (!certain) {
        const uint32_t own = know[e][e];
        know[e] = atEntry[e];
        know[e][e] = own;
      }
      const uint32_t n = left[e] = makeNop(after, op->getLoc(), e, {});
      for (const Touch &t : touched[e])
        memory.record(t, n);
      if (e == static_cast<int>(Engine::Vector))
        serial[0] = serial[2] = static_cast<int>(n);
      if (e == static_cast<int>(Engine::GpSimd))
        serial[1] = static_cast<int>(n);
      if (e == static_cast<int>(Engine::Scalar))
        serial[3] = static_cast<int>(n);
    }
    onSbuf[0] = serial[0], onSbuf[1] = serial[1], onPsum[0] = serial[2], onPsum[1] = serial[3];
    // So it does for the author's edges: nobody outside waits for what happens inside.
    auto outside = [&](uint32_t &n) {
      if (n >= firstEvent && events[n].scope != scope)
        n = left.at(events[n].engine);
    };
    for (auto &[id, n] : ids)
      outside(n);
    for (auto &[chain, n] : chains)
      outside(n);
  }

  // ---- semaphores ---------------------------------------------------------------------------------------------------------------

  int makeSemaphore(std::string name) {
    names.push_back(std::move(name));
    return static_cast<int>(names.size() - 1);
  }

  void assignTransfers() {
    struct Use { // a semaphore in the hands of one waiting engine
      int semaphore;
      uint32_t wait = 0;               // event of the last wait
      std::optional<uint32_t> before;  // of the one before: who adds must know that it has passed
      std::vector<uint32_t> producers; // transfers of that wait
    };
    std::map<std::pair<int, int>, std::vector<Use>> pools; // (scope, engine)
    std::vector<Wait> transfers;                           // the waits for one, by transfer
    for (const Wait &w : waits)
      if (events[w.producer].transfer())
        transfers.push_back(w);
    std::sort(transfers.begin(), transfers.end(), [](const Wait &a, const Wait &b) {
      return std::pair(a.producer, a.consumer) < std::pair(b.producer, b.consumer);
    });
    // Half of the core's semaphores, less one per pair of engines: a linker may run two kernels side by side.
    const int limit = std::max(8, target.semaphores / 2 - 4 - 20 * std::min(static_cast<int>(scopes.size()), 3));
    int made = 0;
    // Kernels share semaphores only if the same engine waits. Whatever kernels meet in a program, the largest needs of the engines together,
    // the pairs of engines and the linker's own must fit in a core.
    const int most = std::max(4, (target.semaphores - 50) / kNumEngines);
    std::array<int, kNumEngines> perEngine{};
    // The first to wait must not take all of them: the others could then not wait at all.
    for (const auto &[v, u] : transfers)
      pools[{events[u].scope, events[v].engine}];
    const int share = std::clamp(limit / (2 * std::max(1, static_cast<int>(pools.size()))), 1, 8);
    int kept = share * static_cast<int>(pools.size()); // of pools that have less than their share
    // A loop before which its engines meet takes over those of loops that are over.
    struct Made {
      int semaphore;
      uint32_t end; // of the scope that has it
    };
    std::array<std::vector<Made>, kNumEngines> known;
    auto spare = [&](int in, int engine) {
      return llvm::find_if(known[engine], [&](const Made &m) { return scopes[in].meets && m.end <= scopes[in].first; });
    };
    auto mayMake = [&](const std::vector<Use> &pool, int in, int engine) {
      if (spare(in, engine) != known[engine].end())
        return true;
      const int own = std::max(0, share - static_cast<int>(pool.size()));
      return perEngine[engine] < most && made < limit && (own > 0 || made + kept < limit);
    };
    auto makeUse = [&](std::vector<Use> &pool, int in, int engine) {
      auto use = spare(in, engine);
      if (use == known[engine].end()) {
        use = known[engine].insert(use, {makeSemaphore(format("t%d", made++)), 0});
        ++perEngine[engine];
      }
      use->end = in == 0 ? UINT32_MAX : scopes[in].end;
      pool.push_back({use->semaphore, 0, {}, {}});
      return &pool.back();
    };
    std::vector<Wait> extra;
    struct Final {
      uint32_t wait;
      int semaphore;
      int32_t value;
    };
    std::map<std::pair<int, uint32_t>, Final> finals; // (semaphore, wait)
    syncs.resize(events.size());
    for (const auto &[v, u] : transfers) {
      const int engine = events[v].engine;
      const int in = events[u].scope;
      std::vector<Use> &pool = pools[{in, engine}];
      Use *use = nullptr;
      for (Use &x : pool)
        if (x.wait < u && events[u].knows[engine] >= events[x.wait].at) {
          use = &x;
          break;
        }
      if (!use && mayMake(pool, in, engine)) {
        kept -= static_cast<int>(pool.size()) < share;
        use = makeUse(pool, in, engine);
      }
      if (!use) // join a transfer whose wait is still to come
        for (Use &x : pool)
          if (x.wait > u && x.producers.size() < 4000 && !(x.before && events[*x.before].transfer()) &&
              (!use || x.wait > use->wait))
            use = &x;
      if (use && use->wait > u && !use->producers.empty()) {
        if (use->before && events[u].knows[engine] < events[*use->before].at)
          extra.push_back({u, *use->before});
        const Final old = finals[{use->semaphore, use->wait}];
        finals.erase({use->semaphore, use->wait});
        use->wait = std::min(use->wait, v);
        use->producers.push_back(u);
        finals[{use->semaphore, use->wait}] = {use->wait, use->semaphore, old.value + 16};
        syncs[u].updates.push_back({use->semaphore, 16});
        continue;
      }
      if (!use) { // every one is used up and the issuing engine does not know it: tell it
        for (Use &x : pool)
          if (x.wait < u && !events[x.wait].transfer() && (!use || x.wait < use->wait))
            use = &x;
        if (use) {
          extra.push_back({u, use->wait});
        } else { // then more than half of them
          use = makeUse(pool, in, engine);
        }
      }
      if (!use->producers.empty())
        use->before = use->wait;
      use->wait = v;
      use->producers = {u};
      finals[{use->semaphore, v}] = {v, use->semaphore, 16};
      syncs[u].updates.push_back({use->semaphore, 16});
    }
    for (const auto &[key, f] : finals)
      syncs[f.wait].waits.push_back({f.semaphore, f.value, 1});
    waits.insert(waits.end(), extra.begin(), extra.end());
  }

  void assignEngines() {
    struct Pair {
      std::vector<uint32_t> signals;                    // producer events
      std::vector<std::pair<uint32_t, uint32_t>> waits; // (consumer, producer)
    };
    std::map<std::array<int, 3>, Pair> pairs; // scope, producer engine, consumer engine
    for (const Wait &w : waits) {
      const Event &u = events[w.producer], &v = events[w.consumer];
      if (u.transfer())
        continue;
      Pair &p = pairs[{u.scope, u.engine, v.engine}];
      p.signals.push_back(w.producer);
      p.waits.push_back({w.consumer, w.producer});
    }
    struct Use {
      int semaphore;
      uint32_t end; // of the scope that has it
    };
    std::map<std::pair<int, int>, std::vector<Use>> made; // by producer and consumer
    for (auto &[key, p] : pairs) {
      const Scope &in = scopes[key[0]];
      std::vector<Use> &known = made[{key[1], key[2]}];
      auto use = std::find_if(known.begin(), known.end(), [&](const Use &u) { return in.meets && u.end <= in.first; });
      if (use == known.end())
        use = known.insert(
            use, {makeSemaphore(format("s%d.%s.%s", key[0], std::string(glia::name(static_cast<Engine>(key[1]))).c_str(),
                                       std::string(glia::name(static_cast<Engine>(key[2]))).c_str())),
                  0});
      use->end = key[0] == 0 ? UINT32_MAX : in.end;
      const int s = use->semaphore;
      std::sort(p.signals.begin(), p.signals.end());
      p.signals.erase(std::unique(p.signals.begin(), p.signals.end()), p.signals.end());
      std::sort(p.waits.begin(), p.waits.end());
      for (uint32_t u : p.signals)
        syncs[u].updates.push_back({s, 1});
      int32_t consumed = 0;
      for (const auto &[v, u] : p.waits) {
        const auto sent = static_cast<int32_t>(std::upper_bound(p.signals.begin(), p.signals.end(), u) - p.signals.begin());
        if (sent <= consumed)
          continue;
        syncs[v].waits.push_back({s, sent - consumed, 1});
        consumed = sent;
      }
    }
  }

  void write() {
    mlir::Builder b(core.getContext());
    for (size_t n = 0; n < events.size(); ++n) {
      const SyncList &s = syncs[n];
      if (s.waits.empty() && s.updates.empty())
        continue;
      llvm::SmallVector<int32_t> waits, updates;
      for (const auto &w : s.waits)
        waits.append(w.begin(), w.end());
      for (const auto &u : s.updates)
        updates.append(u.begin(), u.end());
      mlir::NamedAttrList attributes(events[n].op->getAttrs()); // one new dictionary, not two
      if (!waits.empty())
        attributes.set("waits", b.getDenseI32ArrayAttr(waits));
      if (!updates.empty())
        attributes.set("updates", b.getDenseI32ArrayAttr(updates));
      events[n].op->setAttrs(attributes);
    }
    // Instructions that only synchronise and turned out not to: away.
    for (const Event &e : events)
      if (nisa::Instr(e.op).is("nop") && !e.op->hasAttr("waits") && !e.op->hasAttr("updates"))
        e.op->erase();
    llvm::SmallVector<mlir::Attribute> list;
    for (const std::string &n : names)
      list.push_back(b.getStringAttr(n));
    core->setAttr("semaphores", b.getArrayAttr(list));
  }
};

} // namespace

void insertSemaphores(nisa::KernelOp k, const Target &target) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>())
    CoreSync(core, target).run();
}

} // namespace glia
