// Orders the instructions of each block so that engines and DMA overlap: list scheduling on the machine's own costs, longest path
// first. The result is again a sequential kernel with the same meaning: conflicting instructions keep their order.
#include "Schedule.h"
#include "AccessTracker.h"
#include "KernelCost.h"
#include "TensorRamp.h"
#include "glia/ISA/Collective.h"
#include "glia/ISA/Accumulator.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Support/Checkpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

namespace glia {

using namespace codegen;

namespace {

// What the later of two instructions waits for.
enum class Wait : uint8_t {
  Issue, // that the earlier one is issued
  Order, // that it is complete; on one engine that is the same
  Data,  // its result
};

struct Edge {
  uint32_t to;
  Wait wait;
};

// Memories that two engines must not touch at the same time: a bit for each of the two, of SBUF (Vector, GpSimd) and of PSUM (Vector,
// Scalar).
enum : uint8_t { kSbufVector = 1, kSbufGpSimd = 2, kPsumVector = 4, kPsumScalar = 8 };
constexpr int kPorts = 4;

struct Node {
  mlir::Operation *op = nullptr;
  nisa::Instr instr;   // false: a loop
  uint8_t engines = 0; // bits; an instruction has one
  Duration time;
  int table = -1;    // activation set it needs
  uint8_t ports = 0; // bits, see above
  std::vector<Edge> next;
  uint32_t waiting = 0;
  double ready = 0, priority = 0;
  double passed = 0; // when what it waits for of other engines is there: from then on its setup runs
};

// Queues of one core: each belongs to the engine that issues to it.
struct Queues {
  std::vector<double> free;
  std::vector<double>
      longer; // than this: a transfer that waits for the last one, which was short and on few DMA engines, or tiny
  std::vector<int> owner;
};

class BlockScheduler {
public:
  BlockScheduler(mlir::Block &block, const Target &target, Queues &queues, bool asWritten, LiveLimit *room = nullptr)
      : block(block), target(target), queues(queues), asWritten(asWritten), room(room),
        sync(target.number("cost.semaphore_latency")), spacing(target.number("dma.queue_spacing")) {}

  Duration run() {
    collect();
    connect();
    return order();
  }

private:
  mlir::Block &block;
  const Target &target;
  Queues &queues;
  const bool asWritten; // each engine keeps its author's order
  LiveLimit *room;      // memory has not been given out, and there is no more than this
  const double sync, spacing;
  std::vector<Node> nodes;
  Touches operands;
  std::vector<mlir::Value> begunOn[kNumEngines]; // registers, in the order in which they are first written
  static constexpr int kLongLived = 16;          // registers that hold numbers from far before

  void edge(uint32_t from, uint32_t to, Wait wait) {
    if (from == to)
      return;
    std::vector<Edge> &next = nodes[from].next;
    if (!next.empty() && next.back().to == to) { // one edge, the longest wait
      next.back().wait = std::max(next.back().wait, wait);
      return;
    }
    next.push_back({to, wait});
    ++nodes[to].waiting;
  }

  void collect() {
    for (mlir::Operation &op : block) {
      Node n;
      n.op = &op;
      if (nisa::Instr i{&op}) {
        n.instr = i;
        const Engine e = i.engine().value_or(Engine::Sync);
        n.engines = static_cast<uint8_t>(1u << static_cast<int>(e));
        n.time = durationOf(i, target, e);
        if (i.is("activation")) {
          const int slot = i.def().slot("fn");
          n.table = target.activationSet(i.def().slots[slot].names->names[i.integer(slot)]);
        }
      } else if (op.getNumRegions()) {
        const auto count = llvm::isa<nisa::LoopOp>(op) ? llvm::cast<nisa::LoopOp>(op).getCount() : std::nullopt;
        const double inner = count ? std::max<double>(*count, 1) : 8; // a guess where the count is not known
        n.time = BlockScheduler(op.getRegion(0).front(), target, queues, asWritten).run();
        n.time.busy = n.time.latency = n.time.latency * inner;
        op.walk([&](mlir::Operation *o) {
          if (nisa::Instr i{o})
            n.engines |= static_cast<uint8_t>(1u << static_cast<int>(i.engine().value_or(Engine::Sync)));
        });
        if (!n.engines)
          n.engines = 1u << static_cast<int>(Engine::Sync);
      } else {
        continue; // allocations and registers: moved to the front
      }
      if (room)
        room->add(static_cast<uint32_t>(nodes.size()), &op);
      nodes.push_back(std::move(n));
    }
  }

  // The order that must be kept.
  void connect() {
    AccessTracker memory;
    std::map<std::pair<void *, int>, std::pair<int, std::vector<uint32_t>>> registers; // (register, engine): writer, readers
    llvm::DenseMap<int32_t, uint32_t> ids;
    std::map<int32_t, uint32_t> chains;
    int rendezvous = -1;
    const uint8_t alone = aloneEngines();
    int accumulating[kNumEngines];
    std::vector<uint32_t> idle[kNumEngines];
    std::fill(std::begin(accumulating), std::end(accumulating), -1);
    std::vector<Touch> touches;
    if (asWritten)
      connectEngines();
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      checkpoint();
      touches.clear();
      nodes[n].op->walk([&](mlir::Operation *o) {
        if (nisa::Instr i{o}) {
          const size_t before = touches.size();
          operands.add(i, touches);
          if (o != nodes[n].op) // in a loop, which may not run
            for (size_t k = before; k < touches.size(); ++k)
              touches[k].dense = touches[k].dense && !touches[k].write;
          const int e = static_cast<int>(i.engine().value_or(Engine::Sync));
          nodes[n].ports |= portsOf(i, e, llvm::ArrayRef<Touch>(touches).drop_front(before));
          if (i.def().unit == Unit::Barrier || i.def().unit == Unit::Exchange || isCollective(i.def())) {
            if (rendezvous >= 0)
              edge(static_cast<uint32_t>(rendezvous), n, Wait::Issue);
            rendezvous = static_cast<int>(n);
          }
          connectRegisters(i, e, n, registers);
          if (i.def().accumulator && !(alone >> e & 1) && !(e == static_cast<int>(Engine::Scalar) && isIdle(i))) {
            const bool idles = i.integer("reduce_cmd") == 0;
            if (accumulating[e] >= 0)
              edge(static_cast<uint32_t>(accumulating[e]), n, Wait::Issue);
            if (idles) {
              idle[e].push_back(n);
            } else {
              for (uint32_t m : idle[e])
                edge(m, n, Wait::Issue);
              idle[e].clear();
              accumulating[e] = static_cast<int>(n);
            }
          }
          if (auto after = o->getAttrOfType<mlir::DenseI32ArrayAttr>("after"))
            for (int32_t id : after.asArrayRef())
              if (const auto it = ids.find(id); it != ids.end())
                edge(it->second, n, Wait::Order);
          if (const auto id = i.attribute("id"))
            ids[*id] = n;
          if (const auto chain = i.attribute("chain")) {
            if (const auto it = chains.find(*chain); it != chains.end())
              edge(it->second, n, Wait::Order);
            chains[*chain] = n;
          }
        } else if (auto loop = llvm::dyn_cast<nisa::LoopOp>(o)) {
          if (loop.getCountRegister())
            for (int e = 0; e < kNumEngines; ++e)
              if (nodes[n].engines >> e & 1)
                readRegister(loop.getCountRegister(), e, n, registers);
        } else if (auto loop = llvm::dyn_cast<nisa::WhileOp>(o)) {
          for (int e = 0; e < kNumEngines; ++e)
            if (nodes[n].engines >> e & 1)
              readRegister(loop.getCondition(), e, n, registers);
        }
      });
      for (const Touch &t : touches)
        memory.conflicts(t, [&](uint32_t m) { edge(m, n, t.write ? Wait::Order : Wait::Data); });
      for (const Touch &t : touches)
        memory.record(t, n);
    }
  }

  void connectEngines() {
    int last[kNumEngines];
    std::fill(std::begin(last), std::end(last), -1);
    for (uint32_t n = 0; n < nodes.size(); ++n)
      for (int e = 0; e < kNumEngines; ++e)
        if (nodes[n].engines >> e & 1) {
          if (last[e] >= 0)
            edge(static_cast<uint32_t>(last[e]), n, Wait::Issue);
          last[e] = static_cast<int>(n);
        }
  }

  // One that is idle leaves the registers of the Scalar engine alone, and those of the Vector engine undefined.
  static bool isIdle(nisa::Instr i) {
    return static_cast<ReduceCmd>(i.integer("reduce_cmd")) == ReduceCmd::Idle && !i.access(i.def().slot("reduce_res"));
  }

  // Engines of this core on which every reduction begins anew and is read at once: they may come in any order. Bits.
  uint8_t aloneEngines() const {
    mlir::Operation *core = block.getParentOp();
    while (!llvm::isa<nisa::CoreOp>(core))
      core = core->getParentOp();
    uint8_t out = 0xff;
    core->walk([&](mlir::Operation *o) {
      const nisa::Instr i(o);
      if (!i || !i.def().accumulator || !i.engine() || isIdle(i))
        return;
      const ReduceCmd cmd = static_cast<ReduceCmd>(i.integer("reduce_cmd"));
      if ((cmd != ReduceCmd::ResetReduce && cmd != ReduceCmd::LoadReduce) || !i.access(i.def().slot("reduce_res")))
        out &= static_cast<uint8_t>(~(1u << static_cast<int>(*i.engine())));
    });
    return out;
  }

  uint8_t portsOf(nisa::Instr i, int e, llvm::ArrayRef<Touch> touches) const {
    if (i.def().unit != Unit::Compute)
      return 0;
    auto uses = [&](Space s) { return llvm::any_of(touches, [&](const Touch &t) { return t.space == s; }); };
    const bool vector = e == static_cast<int>(Engine::Vector);
    uint8_t out = 0;
    if (!target.has("vector_gpsimd_concurrent") && (vector || e == static_cast<int>(Engine::GpSimd)) && uses(Space::Sbuf))
      out |= vector ? kSbufVector : kSbufGpSimd;
    if (!target.has("vector_scalar_psum_concurrent") && (vector || e == static_cast<int>(Engine::Scalar)) &&
        uses(Space::Psum))
      out |= vector ? kPsumVector : kPsumScalar;
    return out;
  }

  using RegisterMap = std::map<std::pair<void *, int>, std::pair<int, std::vector<uint32_t>>>;
  // What begins to hold a number waits for those that read the registers begun long before it: else an engine could load all of its
  // addresses first, and have no register left.
  void limitRegisters(mlir::Value r, int e, uint32_t n, RegisterMap &registers) {
    std::vector<mlir::Value> &begun = begunOn[e];
    begun.push_back(r);
    const auto most = static_cast<size_t>(std::max(target.registers - kLongLived, 1));
    if (begun.size() <= most)
      return;
    for (uint32_t m : registers[{begun[begun.size() - 1 - most].getAsOpaquePointer(), e}].second)
      if (m != n)
        edge(m, n, Wait::Issue);
  }
  void readRegister(mlir::Value r, int e, uint32_t n, RegisterMap &registers) {
    auto &[writer, readers] =
        registers.try_emplace({r.getAsOpaquePointer(), e}, std::pair(-1, std::vector<uint32_t>())).first->second;
    if (writer >= 0)
      edge(static_cast<uint32_t>(writer), n, Wait::Issue);
    readers.push_back(n);
  }
  void writeRegister(mlir::Value r, int e, uint32_t n, RegisterMap &registers) {
    auto &[writer, readers] =
        registers.try_emplace({r.getAsOpaquePointer(), e}, std::pair(-1, std::vector<uint32_t>())).first->second;
    if (writer >= 0)
      edge(static_cast<uint32_t>(writer), n, Wait::Issue);
    else
      limitRegisters(r, e, n, registers);
    for (uint32_t m : readers)
      edge(m, n, Wait::Issue);
    readers.clear();
    writer = static_cast<int>(n);
  }
  void connectRegisters(nisa::Instr i, int e, uint32_t n, RegisterMap &registers) {
    for (mlir::Value v : i->getOperands()) {
      if (!llvm::isa<nisa::RegType>(v.getType()))
        continue;
      bool written = false;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.def().slots[k].kind == SlotKind::RegOut && i.reg(static_cast<int>(k)) == v)
          written = true;
      readRegister(v, e, n, registers);
      if (written)
        writeRegister(v, e, n, registers);
    }
  }

  // `length`: of a transfer on all DMA engines; a long one waits behind one that leaves engines free. In another queue it would not wait,
  // but everything behind it would share the engines with what is still to come in this one.
  int queueFor(Engine e, double at, double length) {
    // Transfers that move at the same time delay each other: one behind the other in a queue, the first is there sooner. So the
    // queue that was used last of those that will be free; else the one that is free first.
    int best = -1;
    const auto freeAt = [&](size_t q) { return queues.free[q] - (length > queues.longer[q] ? spacing : 0); };
    auto better = [&](size_t q) {
      const double a = freeAt(q), b = freeAt(static_cast<size_t>(best));
      return (a <= at) != (b <= at) ? a <= at : a <= at ? a > b : a < b;
    };
    for (size_t q = 0; q < queues.free.size(); ++q)
      if (queues.owner[q] == static_cast<int>(e) && (best < 0 || better(q)))
        best = static_cast<int>(q);
    // Another queue while there are some: half of them for the engine that asks first, so that others find one too.
    const int mine = static_cast<int>(std::count(queues.owner.begin(), queues.owner.end(), static_cast<int>(e)));
    const int limit = e == Engine::Sync ? target.dmaQueues / 2 : std::max(1, target.dmaQueues / 8);
    if ((best < 0 || freeAt(static_cast<size_t>(best)) > at) && mine < limit &&
        static_cast<int>(queues.free.size()) < target.dmaQueues) {
      queues.free.push_back(0);
      queues.longer.push_back(std::numeric_limits<double>::infinity());
      queues.owner.push_back(static_cast<int>(e));
      best = static_cast<int>(queues.free.size() - 1);
    }
    return best;
  }

  // From the start of an instruction to the earliest one of another that waits for it.
  double distance(const Node &from, const Node &to, Wait wait) const {
    const bool moves = from.instr && from.instr.def().unit == Unit::Dma; // it completes beside its engine
    const bool same = from.instr && to.instr && from.engines == to.engines;
    if (wait == Wait::Issue)
      return same ? from.time.busy : 0;
    if (moves)
      return from.time.latency;
    if (same && to.instr.def().unit == Unit::Compute) {
      if (wait == Wait::Order || from.engines == 1u << static_cast<int>(Engine::Tensor)) // results accumulate in order
        return from.time.busy;
      if (from.time.lead > 0 && to.time.lead > 0)
        return from.time.lead + sync;
    }
    return from.time.latency + sync;
  }

  // ---- the order ----------------------------------------------------------------------------------------------------------------

  // How urgent each node is: a time from its start to the end of the block.
  // By the longest path: right if the block waits for results.
  void preferPath() {
    for (size_t n = nodes.size(); n-- > 0;) {
      double longest = nodes[n].time.latency;
      for (const auto &[m, wait] : nodes[n].next)
        longest = std::max(longest, nodes[m].priority + distance(nodes[n], nodes[m], wait));
      nodes[n].priority = longest;
    }
  }

  // By a schedule that runs backwards in the written order: right if an engine or the DMA is what all wait for.
  void preferWork() {
    double free[kNumEngines] = {}, dma = 0;
    for (size_t n = nodes.size(); n-- > 0;) {
      Node &x = nodes[n];
      double at = x.time.latency;
      for (const auto &[m, wait] : x.next)
        at = std::max(at, nodes[m].priority + distance(x, nodes[m], wait));
      for (int e = 0; e < kNumEngines; ++e)
        if (x.engines >> e & 1)
          at = std::max(at, free[e] + x.time.busy);
      if (x.time.share > 0) {
        at = std::max(at, dma + x.time.transfer * x.time.share);
        dma = at;
      }
      for (int e = 0; e < kNumEngines; ++e)
        if (x.engines >> e & 1)
          free[e] = at;
      x.priority = at;
    }
  }

  // By the written order.
  void preferWritten() {
    for (size_t n = 0; n < nodes.size(); ++n)
      nodes[n].priority = -static_cast<double>(n);
  }

  // The order is the written one, and nothing else asks how urgent a node is.
  bool isWritten() const {
    for (size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].table >= 0 || (n && nodes[n].priority > nodes[n - 1].priority))
        return false;
    return true;
  }

  struct Result {
    double end = 0;
    std::vector<uint32_t> sequence;
    std::vector<int> queue; // by node, transfers
    Queues queues;
  };

  // The best of the three.
  Duration order() {
    Result best;
    bool any = false, written = false; // the same order need not be tried twice
    for (auto prefer : {&BlockScheduler::preferPath, &BlockScheduler::preferWork, &BlockScheduler::preferWritten}) {
      if (any && nodes.size() > kMostTried)
        break;
      (this->*prefer)();
      const bool asWritten = isWritten();
      if (written && asWritten)
        continue;
      written |= asWritten;
      Result r = simulate();
      if (!any || r.end < best.end)
        best = std::move(r);
      any = true;
    }
    mlir::Builder b(block.getParentOp()->getContext());
    for (uint32_t n : best.sequence) {
      nodes[n].op->moveBefore(&block, block.end());
      if (best.queue[n] >= 0)
        nodes[n].instr.setSlot(nodes[n].instr.def().slot("queue"), b.getI32IntegerAttr(best.queue[n]));
    }
    queues = std::move(best.queues);
    return {.busy = best.end, .latency = best.end};
  }

  // Engines take the most urgent instruction that is ready, in the order of time.
  Result simulate() {
    std::vector<uint32_t> waiting(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n)
      waiting[n] = nodes[n].waiting, nodes[n].ready = nodes[n].passed = 0;
    const Queues before = queues;
    Result out;
    out.queue.assign(nodes.size(), -1);
    const double tableLoad = target.number("cost.activation_table_load");
    struct Later {
      const std::vector<Node> *nodes;
      bool operator()(uint32_t a, uint32_t b) const {
        const Node &x = (*nodes)[a], &y = (*nodes)[b];
        return x.ready != y.ready ? x.ready > y.ready : a > b;
      }
    };
    std::vector<std::priority_queue<uint32_t, std::vector<uint32_t>, Later>> pending(
        kNumEngines, std::priority_queue<uint32_t, std::vector<uint32_t>, Later>(Later{&nodes}));
    auto lessUrgent = [this](uint32_t a, uint32_t b) {
      return nodes[a].priority != nodes[b].priority ? nodes[a].priority < nodes[b].priority : a > b;
    };
    std::vector<std::vector<uint32_t>> available(kNumEngines); // heaps by urgency
    double free[kNumEngines] = {}, issued[kNumEngines] = {}, port[kPorts] = {}, end = 0, dma = 0;
    std::array<double, 16> parts{}; // of the Tensor engine's array: when its tiles are free
    int resident = -1;
    Ramp ramp(target);
    auto engineOf = [&](uint32_t n) { return std::countr_zero(nodes[n].engines); };
    for (uint32_t n = 0; n < nodes.size(); ++n)
      if (waiting[n] == 0)
        pending[engineOf(n)].push(n);
    std::vector<uint32_t> &sequence = out.sequence;
    sequence.reserve(nodes.size());
    std::vector<uint32_t> parked; // until there is room
    if (room)
      room->restart();
    while (sequence.size() < nodes.size()) {
      checkpoint();
      int chosen = -1;
      double at = 0;
      for (int e = 0; e < kNumEngines; ++e) {
        while (room && !pending[e].empty() && !room->fits(pending[e].top())) {
          parked.push_back(pending[e].top());
          pending[e].pop();
        }
        while (!pending[e].empty() && nodes[pending[e].top()].ready <= free[e]) {
          available[e].push_back(pending[e].top());
          std::push_heap(available[e].begin(), available[e].end(), lessUrgent);
          pending[e].pop();
        }
        if (available[e].empty() && pending[e].empty())
          continue;
        const double start = available[e].empty() ? nodes[pending[e].top()].ready : free[e];
        if (chosen < 0 || start < at)
          chosen = e, at = start;
      }
      uint32_t n;
      if (chosen < 0) { // nothing fits: the result is of no use
        n = parked.back();
        parked.pop_back();
        chosen = engineOf(n);
        at = std::max(free[chosen], nodes[n].ready);
      } else if (available[chosen].empty()) {
        n = pending[chosen].top();
        pending[chosen].pop();
      } else {
        std::vector<uint32_t> &heap = available[chosen];
        size_t pick = 0;
        // A switch of tables costs as much as many instructions: stay with the resident one if that delays nothing by more.
        const uint32_t top = heap.front();
        if (nodes[top].table >= 0 && nodes[top].table != resident)
          for (size_t k = 1; k < heap.size() && k < 64; ++k)
            if ((nodes[heap[k]].table == resident || nodes[heap[k]].table < 0) &&
                nodes[heap[k]].priority > nodes[top].priority - tableLoad && (pick == 0 || lessUrgent(heap[pick], heap[k])))
              pick = k;
        // Where tiles of the array are at work and the most urgent one would wait for them, one on other parts comes first.
        const auto freeAt = [&](uint32_t m) {
          double last = 0;
          for (size_t k = 0; k < parts.size(); ++k)
            if (!nodes[m].time.tile || nodes[m].time.tile >> k & 1)
              last = std::max(last, parts[k]);
          return last;
        };
        if (chosen == static_cast<int>(Engine::Tensor) && freeAt(top) > at)
          for (size_t k = 1; k < heap.size() && k < 64; ++k)
            if (freeAt(heap[k]) <= at && (pick == 0 || lessUrgent(heap[pick], heap[k])))
              pick = k;
        n = heap[pick];
        if (pick == 0) {
          std::pop_heap(heap.begin(), heap.end(), lessUrgent);
          heap.pop_back();
        } else {
          heap.erase(heap.begin() + static_cast<long>(pick));
          std::make_heap(heap.begin(), heap.end(), lessUrgent);
        }
        if (room && !room->fits(n)) {
          parked.push_back(n);
          continue;
        }
      }
      if (room && room->take(n)) { // those that wait are looked at again
        for (uint32_t m : parked)
          pending[engineOf(m)].push(m);
        parked.clear();
      }
      Node &node = nodes[n];
      double start = std::max(at, node.passed + node.time.setup);
      for (int e = 0; e < kNumEngines; ++e)
        if (node.engines >> e & 1)
          start = std::max({start, free[e], issued[e] + node.time.reload});
      if (node.engines >> static_cast<int>(Engine::Tensor) & 1)
        for (size_t k = 0; k < parts.size(); ++k)
          if (!node.time.tile || node.time.tile >> k & 1)
            start = std::max(start, parts[k]);
      for (int k = 0; k < kPorts; ++k) // the other engine of the memory must be done
        if (node.ports >> k & 1)
          start = std::max(start, port[k ^ 1]);
      if (node.table >= 0 && node.table != resident) {
        start = resident < 0 ? std::max(start, tableLoad)
                             : start + tableLoad; // the first one is loaded while nothing else is done
        resident = node.table;
      }
      const double slower =
          node.instr && chosen == static_cast<int>(Engine::Tensor) ? ramp.slower(start, node.time.busy) : 0;
      double finish = start + node.time.latency + slower;
      if (node.instr && node.instr.def().unit == Unit::Dma) {
        const int q =
            queueFor(static_cast<Engine>(chosen), std::max(start, dma), node.time.share >= 1 ? node.time.transfer : 0);
        const double begin = std::max({start, queues.free[q], dma});
        dma = begin + node.time.transfer * node.time.share;
        queues.free[q] = begin + std::max(spacing, node.time.transfer);
        const bool narrow = node.time.share < 0.5 && node.time.transfer < spacing && node.time.transfer > spacing / 4;
        queues.longer[q] = narrow                             ? spacing
                           : node.time.transfer < spacing / 8 ? 2 * spacing
                                                              : std::numeric_limits<double>::infinity();
        finish = begin + node.time.latency;
        out.queue[n] = q;
      }
      const double over = start + node.time.busy + slower;
      for (int e = 0; e < kNumEngines; ++e)
        if (node.engines >> e & 1)
          free[e] = std::max(free[e], node.time.tile ? start + node.time.issue : over), issued[e] = start;
      for (size_t k = 0; k < parts.size(); ++k)
        if (node.time.tile >> k & 1)
          parts[k] = over;
      for (int k = 0; k < kPorts; ++k)
        if (node.ports >> k & 1)
          port[k] = std::max(port[k], start + node.time.busy);
      end = std::max(end, finish);
      for (const auto &[m, wait] : node.next) {
        const double from = finish - node.time.latency + distance(node, nodes[m], wait);
        nodes[m].ready = std::max(nodes[m].ready, from);
        // Before memory is given out, setup counts behind every wait: long hand-written kernels come out faster so.
        if (room || node.engines != nodes[m].engines)
          nodes[m].passed = std::max(nodes[m].passed, from);
        if (--waiting[m] == 0)
          pending[engineOf(m)].push(m);
      }
      sequence.push_back(n);
    }
    out.end = room && room->exceeded() ? std::numeric_limits<double>::infinity() : end;
    out.queues = std::move(queues);
    queues = before;
    return out;
  }
};

} // namespace

bool codegen::orderBlock(mlir::Block &block, const Target &target, LiveLimit &room) {
  Queues queues;
  return std::isfinite(BlockScheduler(block, target, queues, false, &room).run().latency);
}

void scheduleKernel(nisa::KernelOp k, const Target &target) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    Queues queues;
    BlockScheduler(core.getBody().front(), target, queues, k.asWritten()).run();
    core->setAttr("queues", mlir::Builder(k.getContext()).getI32IntegerAttr(static_cast<int32_t>(queues.free.size())));
  }
}

} // namespace glia
