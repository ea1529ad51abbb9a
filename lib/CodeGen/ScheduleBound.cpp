// Walks the kernel in program order as often as its loops run, with the values of loop counters, and keeps for every tensor when
// its parts can be there at the earliest. A read waits for the writes that it certainly meets; memory that is used again, order on
// an engine and registers that hold data count for nothing, so that no schedule can be faster.
#include "glia/CodeGen/ScheduleBound.h"
#include "glia/ISA/Cost.h"
#include "glia/Transforms/ChooseEngines.h"
#include "glia/Transforms/ResolveAccumulation.h"
#include "Transforms/InstrFacts.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <cmath>

namespace glia {

using nisa::Instr;

namespace {

constexpr uint64_t kMostSteps = 4'000'000; // loops beyond that count once

struct Region {
  int32_t first = 0, last = 1; // partitions
  int64_t lo = 0, hi = 0;      // bytes
  bool dense = true;
};

bool rowsMeet(const Region &a, const Region &b) { return a.first < b.last && b.first < a.last; }

// Certainly: where one has gaps, its first or last element must lie in the other, which has none.
bool certainlyMeet(const Region &a, const Region &b) {
  if (!rowsMeet(a, b) || a.hi <= b.lo || b.hi <= a.lo)
    return false;
  if (a.dense && b.dense)
    return true;
  if (!a.dense && !b.dense)
    return a.lo == b.lo;
  const Region &gaps = a.dense ? b : a, &full = a.dense ? a : b;
  return (gaps.lo >= full.lo && gaps.lo < full.hi) || (gaps.hi > full.lo && gaps.hi <= full.hi);
}

bool covers(const Region &a, const Region &b) {
  return a.dense && a.first <= b.first && a.last >= b.last && a.lo <= b.lo && a.hi >= b.hi;
}

struct Times {
  double busy = 0, latency = 0, lead = 0, setup = 0;
  bool streamsOut = false, streamsIn = false;
};

struct Written {
  Region region;
  double start = 0, done = 0; // of its writer
  int engine = -1;            // -1: a transfer
  double lead = 0;            // its first element; 0: only with the last
};

class CoreBound {
public:
  CoreBound(const Target &t) : target(t), semaphore(t.number("cost.semaphore_latency")) {}

  ScheduleBound run(nisa::CoreOp core) {
    block(core.getBody().front(), 1);
    const double hbm = hbmBytes / target.number("hbm.bytes_per_ns");
    out.transfers = std::max(engineTime / std::max(target.dmaEngines, 1), hbm);
    // The Tensor engine starts slowly.
    double &tensor = out.busy[static_cast<int>(Engine::Tensor)];
    const double rate = std::clamp(target.number("cost.tensor_ramp_rate"), 0.01, 1.0);
    tensor += std::min(target.number("cost.tensor_ramp_time"), tensor / rate) * (1 - rate);
    return out;
  }

private:
  const Target &target;
  const double semaphore;
  ScheduleBound out;
  double engineTime = 0, hbmBytes = 0;
  uint64_t steps = 0;
  llvm::DenseMap<mlir::Value, std::vector<Written>> written;
  llvm::DenseMap<mlir::Value, int64_t> registers; // values of loop counters

  void block(mlir::Block &b, double weight) {
    for (mlir::Operation &op : b) {
      if (const Instr i{&op}) {
        one(i, weight);
      } else if (auto loop = llvm::dyn_cast<nisa::LoopOp>(op)) {
        const int64_t count = loop.getCount() ? *loop.getCount() : 0;
        const uint64_t size = std::distance(loop.getBody().front().begin(), loop.getBody().front().end());
        mlir::Value iv = loop.iterator();
        if (steps + static_cast<uint64_t>(count) * size > kMostSteps) {
          block(loop.getBody().front(), weight * static_cast<double>(count));
          continue;
        }
        for (int64_t n = 0; n < count; ++n) {
          registers[iv] = n;
          block(loop.getBody().front(), weight);
        }
        registers.erase(iv);
      } // a loop whose count is data may not run at all
    }
  }

  // The bytes that an operand touches; false if that depends on data.
  bool regionOf(nisa::AccessAttr a, Instr i, int slot, Region &r) const {
    const int index = i.def().slot(std::string(i.def().slots[slot].name) + "_index");
    if (index >= 0 && i.access(index))
      return false;
    const int64_t size = sizeOf(a.getDtype());
    r.first = a.getPartition();
    r.last = r.first + std::max(a.getPartitions(), 1);
    r.lo = a.getByteOffset();
    for (size_t k = 0; k + 2 < a.getTerms().size(); k += 3) { // register, scale, whether it counts partitions
      const auto it = registers.find(i->getOperand(static_cast<unsigned>(a.getTerms()[k])));
      if (it == registers.end())
        return false;
      const int64_t shift = it->second * a.getTerms()[k + 1];
      if (a.getTerms()[k + 2])
        r.first += static_cast<int32_t>(shift), r.last += static_cast<int32_t>(shift);
      else
        r.lo += shift;
    }
    r.hi = r.lo + size;
    int64_t run = size;
    for (size_t k = a.getDims().size(); k >= 2; k -= 2) {
      const int64_t stride = a.getDims()[k - 2] * size, count = a.getDims()[k - 1];
      (stride < 0 ? r.lo : r.hi) += stride * (count - 1);
      if (count == 1 || stride == 0)
        continue;
      r.dense = r.dense && stride == run;
      run *= count;
    }
    return true;
  }

  Times timesOf(Instr i, Engine e) const {
    Times t;
    if (!i.def().cost)
      return t;
    const Cost c = i.def().cost(nisa::InstrCost(i, target, e));
    const Flow flow = i.def().flow;
    t.busy = c.busy;
    t.latency = std::max(c.latency, c.busy);
    t.lead = c.lead;
    t.setup = c.setup;
    t.streamsOut = c.lead > 0 && (flow == Flow::Elementwise || flow == Flow::Copy || flow == Flow::Scan);
    t.streamsIn = c.lead > 0 && (t.streamsOut || flow == Flow::Reduce);
    return t;
  }

  // From the trigger to the semaphore, alone; counts its work.
  double transfer(Instr i, double weight) {
    double bytes = 0, hbm = 0;
    int64_t rows = 0;
    bool store = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const nisa::AccessAttr a = i.access(static_cast<int>(k));
      if (!a || i.def().slots[k].name.ends_with("index"))
        continue;
      const double size = static_cast<double>(a.elements()) * sizeOf(a.getDtype());
      const bool inHbm = llvm::cast<nisa::TensorType>(i.tensor(static_cast<int>(k)).getType()).getSpace() == Space::Hbm;
      bytes = std::max(bytes, size);
      hbm += inHbm ? size : 0;
      rows = std::max<int64_t>(rows, a.getPartitions());
      store |= inHbm && i.writes(static_cast<int>(k));
    }
    const double rate = target.number(store ? "dma.store_bytes_per_ns" : "dma.bytes_per_ns");
    const double perEngine = target.number("dma.rows_per_engine");
    const double most = std::max(target.dmaEngines, 1);
    const double engines = rows ? std::clamp(static_cast<double>(rows + perEngine - 1) / perEngine, 1.0, most) : most;
    engineTime += weight * bytes / rate;
    hbmBytes += weight * hbm;
    return target.number("dma.fixed_latency") + bytes / rate / std::floor(engines);
  }

  void one(Instr i, double weight) {
    ++steps;
    const Engine e = i.engine().value_or(Engine::Sync);
    const int engine = static_cast<int>(e);
    const Times t = timesOf(i, e);
    out.busy[engine] += weight * t.busy;
    const bool moves = i.def().unit == Unit::Dma;
    double start = 0;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      Region r;
      if (!i.reads(slot) || !regionOf(i.access(slot), i, slot, r))
        continue;
      for (const Written &w : written[i.tensor(slot)])
        if (certainlyMeet(w.region, r))
          start = std::max(start, readyFor(w, t, moves ? -2 : engine));
    }
    const double done = start + (moves ? transfer(i, weight) : t.latency);
    out.path = std::max(out.path, done);
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      Region r;
      if (!i.writes(slot) || !regionOf(i.access(slot), i, slot, r))
        continue;
      std::vector<Written> &list = written[i.tensor(slot)];
      std::erase_if(list, [&](const Written &w) { return covers(r, w.region); });
      if (list.size() < 4096) // a result that is forgotten makes the bound no larger
        list.push_back({r, start, done, moves ? -1 : engine, t.streamsOut ? t.lead : 0});
    }
  }

  // When an instruction can start that reads what `w` wrote.
  double readyFor(const Written &w, const Times &t, int engine) const {
    if (w.engine < 0)
      return w.done + t.setup;
    if (w.engine != engine)
      return w.done + semaphore + t.setup;
    if (engine == static_cast<int>(Engine::Tensor)) // accumulates without waiting
      return w.start;
    return (w.lead > 0 && t.streamsIn ? w.start + w.lead : w.done) + semaphore;
  }
};

} // namespace

double ScheduleBound::total() const { return std::max({*std::max_element(busy.begin(), busy.end()), transfers, path}); }

std::string ScheduleBound::reason() const {
  const double most = total();
  if (most == path)
    return "path";
  if (most == transfers)
    return "dma";
  const auto at = std::find(busy.begin(), busy.end(), most) - busy.begin();
  return std::string(name(static_cast<Engine>(at)));
}

ScheduleBound scheduleBound(nisa::Kernel &k) {
  nisa::Kernel work = k.clone();
  chooseEngines(work.op());
  resolveAccumulation(work.op());
  const std::shared_ptr<const Target> target = loadTarget(work.op().getTarget().str());
  ScheduleBound most;
  for (auto core : work.op().getBody().getOps<nisa::CoreOp>())
    if (const ScheduleBound b = CoreBound(*target).run(core); b.total() > most.total())
      most = b;
  return most;
}

} // namespace glia
