// Orders the instructions of each block so that engines and DMA overlap: list scheduling on the machine's own costs, longest path
// first. The result is again a sequential kernel with the same meaning: conflicting instructions keep their order.
#include "AccessTracker.h"
#include "KernelCost.h"
#include "glia/CodeGen/Passes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>

namespace glia {

using namespace codegen;

namespace {

struct Node {
  mlir::Operation *op = nullptr;
  nisa::Instr instr;   // false: a loop
  uint8_t engines = 0; // bits; an instruction has one
  Duration time;
  int table = -1;                              // activation set it needs
  std::vector<std::pair<uint32_t, bool>> next; // successors; true: only issued after, not completed
  uint32_t waiting = 0;
  double ready = 0, priority = 0;
};

// Queues of one core: each belongs to the engine that issues to it.
struct Queues {
  std::vector<double> free;
  std::vector<int> owner;
};

class BlockScheduler {
public:
  BlockScheduler(mlir::Block &block, const Target &target, Queues &queues) : block(block), target(target), queues(queues) {}

  Duration run() {
    collect();
    connect();
    return order();
  }

private:
  mlir::Block &block;
  const Target &target;
  Queues &queues;
  std::vector<Node> nodes;
  std::vector<uint32_t> last; // visited marks, to keep edges unique

  void edge(uint32_t from, uint32_t to, bool weak) {
    if (from == to || (last[from] == to + 1 && !weak))
      return;
    if (!weak)
      last[from] = to + 1;
    nodes[from].next.push_back({to, weak});
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
        n.time = BlockScheduler(op.getRegion(0).front(), target, queues).run();
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
      nodes.push_back(std::move(n));
    }
    last.assign(nodes.size(), 0);
  }

  // The order that must be kept.
  void connect() {
    AccessTracker memory;
    std::map<std::pair<void *, int>, std::pair<int, std::vector<uint32_t>>> registers; // (register, engine): writer, readers
    llvm::DenseMap<int32_t, uint32_t> ids;
    std::map<int32_t, uint32_t> chains;
    int rendezvous = -1;
    int accumulating[kNumEngines];
    std::vector<uint32_t> idle[kNumEngines];
    std::fill(std::begin(accumulating), std::end(accumulating), -1);
    // Engines that must not touch a memory at the same time: the last one on each side.
    int onSbuf[2] = {-1, -1}, onPsum[2] = {-1, -1};
    std::vector<Touch> touches;
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      touches.clear();
      nodes[n].op->walk([&](mlir::Operation *o) {
        if (nisa::Instr i{o}) {
          const size_t before = touches.size();
          addTouches(i, touches);
          if (o != nodes[n].op) // in a loop, which may not run
            for (size_t k = before; k < touches.size(); ++k)
              touches[k].dense = touches[k].dense && !touches[k].write;
          const int e = static_cast<int>(i.engine().value_or(Engine::Sync));
          serialise(i, e, n, touches, before, onSbuf, onPsum);
          if (i.def().unit == Unit::Barrier || i.def().unit == Unit::Exchange) {
            if (rendezvous >= 0)
              edge(static_cast<uint32_t>(rendezvous), n, true);
            rendezvous = static_cast<int>(n);
          }
          connectRegisters(i, e, n, registers);
          if (i.def().accumulator) {
            const bool idles = i.integer("reduce_cmd") == 0;
            if (accumulating[e] >= 0)
              edge(static_cast<uint32_t>(accumulating[e]), n, true);
            if (idles) {
              idle[e].push_back(n);
            } else {
              for (uint32_t m : idle[e])
                edge(m, n, true);
              idle[e].clear();
              accumulating[e] = static_cast<int>(n);
            }
          }
          if (auto after = o->getAttrOfType<mlir::DenseI32ArrayAttr>("after"))
            for (int32_t id : after.asArrayRef())
              if (const auto it = ids.find(id); it != ids.end())
                edge(it->second, n, false);
          if (const auto id = i.attribute("id"))
            ids[*id] = n;
          if (const auto chain = i.attribute("chain")) {
            if (const auto it = chains.find(*chain); it != chains.end())
              edge(it->second, n, false);
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
        memory.conflicts(t, [&](uint32_t m) { edge(m, n, false); });
      for (const Touch &t : touches)
        memory.record(t, n);
    }
  }

  void serialise(nisa::Instr i, int e, uint32_t n, const std::vector<Touch> &touches, size_t from, int *onSbuf,
                 int *onPsum) {
    if (i.def().unit != Unit::Compute)
      return;
    auto apply = [&](Space space, Engine a, Engine b, int *lastOn) {
      const int side = e == static_cast<int>(a) ? 0 : e == static_cast<int>(b) ? 1 : -1;
      if (side < 0 ||
          std::none_of(
              touches.begin() + static_cast<long>(from), touches.end(), [&](const Touch &t) { return t.space == space; }))
        return;
      // Program order on both engines, so that the last one of the other side stands for all before it.
      for (int k : {0, 1})
        if (lastOn[k] >= 0)
          edge(static_cast<uint32_t>(lastOn[k]), n, k == side);
      lastOn[side] = static_cast<int>(n);
    };
    if (!target.has("vector_gpsimd_concurrent"))
      apply(Space::Sbuf, Engine::Vector, Engine::GpSimd, onSbuf);
    if (!target.has("vector_scalar_psum_concurrent"))
      apply(Space::Psum, Engine::Vector, Engine::Scalar, onPsum);
  }

  using RegisterMap = std::map<std::pair<void *, int>, std::pair<int, std::vector<uint32_t>>>;
  void readRegister(mlir::Value r, int e, uint32_t n, RegisterMap &registers) {
    auto &[writer, readers] =
        registers.try_emplace({r.getAsOpaquePointer(), e}, std::pair(-1, std::vector<uint32_t>())).first->second;
    if (writer >= 0)
      edge(static_cast<uint32_t>(writer), n, true);
    readers.push_back(n);
  }
  void writeRegister(mlir::Value r, int e, uint32_t n, RegisterMap &registers) {
    auto &[writer, readers] =
        registers.try_emplace({r.getAsOpaquePointer(), e}, std::pair(-1, std::vector<uint32_t>())).first->second;
    if (writer >= 0)
      edge(static_cast<uint32_t>(writer), n, true);
    for (uint32_t m : readers)
      edge(m, n, true);
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

  int queueFor(Engine e, double at) {
    int best = -1;
    for (size_t q = 0; q < queues.free.size(); ++q)
      if (queues.owner[q] == static_cast<int>(e) && (best < 0 || queues.free[q] < queues.free[best]))
        best = static_cast<int>(q);
    // Another queue while there are some: half of them for the engine that asks first, so that others find one too.
    const int mine = static_cast<int>(std::count(queues.owner.begin(), queues.owner.end(), static_cast<int>(e)));
    const int limit = e == Engine::Sync ? target.dmaQueues / 2 : std::max(1, target.dmaQueues / 8);
    if ((best < 0 || queues.free[best] > at) && mine < limit && static_cast<int>(queues.free.size()) < target.dmaQueues) {
      queues.free.push_back(0);
      queues.owner.push_back(static_cast<int>(e));
      best = static_cast<int>(queues.free.size() - 1);
    }
    return best;
  }

  Duration order() {
    for (size_t n = nodes.size(); n-- > 0;) {
      double longest = 0;
      for (const auto &[m, weak] : nodes[n].next)
        longest = std::max(longest, nodes[m].priority - (weak ? nodes[n].time.latency - nodes[n].time.busy : 0));
      nodes[n].priority = longest + nodes[n].time.latency;
    }
    const double sync = target.number("cost.semaphore_latency");
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
    double free[kNumEngines] = {}, end = 0, dma = 0;
    int resident = -1;
    const double spacing = target.number("dma.queue_spacing");
    auto engineOf = [&](uint32_t n) { return std::countr_zero(nodes[n].engines); };
    for (uint32_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].waiting == 0)
        pending[engineOf(n)].push(n);
    std::vector<uint32_t> sequence;
    sequence.reserve(nodes.size());
    while (sequence.size() < nodes.size()) {
      int chosen = -1;
      double at = 0;
      for (int e = 0; e < kNumEngines; ++e) {
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
      if (available[chosen].empty()) {
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
        n = heap[pick];
        if (pick == 0) {
          std::pop_heap(heap.begin(), heap.end(), lessUrgent);
          heap.pop_back();
        } else {
          heap.erase(heap.begin() + static_cast<long>(pick));
          std::make_heap(heap.begin(), heap.end(), lessUrgent);
        }
      }
      Node &node = nodes[n];
      double start = std::max(at, node.ready);
      for (int e = 0; e < kNumEngines; ++e)
        if (node.engines >> e & 1)
          start = std::max(start, free[e]);
      if (node.table >= 0 && node.table != resident) {
        start += tableLoad;
        resident = node.table;
      }
      double finish = start + node.time.latency;
      if (node.instr && node.instr.def().unit == Unit::Dma) {
        const int q = queueFor(static_cast<Engine>(chosen), start);
        const double begin = std::max({start, queues.free[q], dma});
        dma = begin + node.time.transfer;
        queues.free[q] = begin + std::max(spacing, node.time.transfer);
        finish = begin + node.time.latency;
        node.instr.setSlot(node.instr.def().slot("queue"), mlir::Builder(node.op->getContext()).getI32IntegerAttr(q));
      }
      for (int e = 0; e < kNumEngines; ++e)
        if (node.engines >> e & 1)
          free[e] = std::max(free[e], start + node.time.busy);
      end = std::max(end, finish);
      for (const auto &[m, weak] : node.next) {
        nodes[m].ready = std::max(nodes[m].ready, weak ? start : finish + sync);
        if (--nodes[m].waiting == 0)
          pending[engineOf(m)].push(m);
      }
      sequence.push_back(n);
    }
    for (uint32_t n : sequence)
      nodes[n].op->moveBefore(&block, block.end());
    return {end, end, 0};
  }
};

} // namespace

void scheduleKernel(nisa::KernelOp k, const Target &target) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    Queues queues;
    BlockScheduler(core.getBody().front(), target, queues).run();
    core->setAttr("queues", mlir::Builder(k.getContext()).getI32IntegerAttr(static_cast<int32_t>(queues.free.size())));
  }
}

} // namespace glia
