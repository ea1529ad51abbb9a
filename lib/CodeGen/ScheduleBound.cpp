// Walks the kernel in program order as often as its loops run, with the values of loop counters, and keeps for every tensor when
// its parts can be there at the earliest. A read waits for the writes that it certainly meets; memory that is used again, order on
// an engine and registers that hold data count for nothing, so that no schedule can be faster. Then every engine, the DMA engines
// together, the memory and a port that two engines share have jobs that one after the other must be done, none before its operands
// and each with what waits for it behind it.
#include "glia/CodeGen/ScheduleBound.h"
#include "KernelCost.h"
#include "ResourceBound.h"
#include "glia/CodeGen/Passes.h"
#include "glia/ISA/Cost.h"
#include "glia/Transforms/BeginOutputs.h"
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
constexpr size_t kMostPlaced = 500'000;    // steps beyond that have neither a head nor a tail

// What jobs are done by: an engine, then these.
enum : int { kDma = kNumEngines, kHbm, kSbufPort, kPsumPort, kNumResources };

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
  double share = 1; // of its engine
  bool streamsOut = false, streamsIn = false;
};

struct Written {
  Region region;
  double start = 0, done = 0; // of its writer
  int engine = -1;            // -1: a transfer
  double lead = 0;            // its first element; 0: only with the last
  uint32_t step = 0;          // of its writer
};

// One instruction, once.
struct Step {
  double start = 0, tail = 0; // the earliest start; from there to the end of everything
};

struct Wait {
  uint32_t from, to;
  double apart; // between the starts
};

struct Piece { // of a resource's work
  uint32_t step;
  int resource;
  double after; // of the start of its step
  double work;
  double alone; // how long it takes at least if nothing else is done, from `after` on
};

class CoreBound {
public:
  CoreBound(const Target &t) : target(t), semaphore(t.number("cost.semaphore_latency")) {}

  ScheduleBound run(nisa::CoreOp core) {
    block(core.getBody().front(), 1);
    placeWork();
    const double hbm = hbmBytes / target.number("hbm.bytes_per_ns");
    out.transfers = std::max(engineTime / std::max(target.dmaEngines, 1), hbm);
    // The Tensor engine starts slowly.
    double &tensor = out.busy[static_cast<int>(Engine::Tensor)];
    const double rate = std::clamp(target.number("cost.tensor_ramp_rate"), 0.01, 1.0);
    const double ramp = std::min(target.number("cost.tensor_ramp_time"), tensor / rate) * (1 - rate);
    tensor += ramp;
    around(static_cast<int>(Engine::Tensor), tensorHead + tensor + tensorTail);
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
  std::vector<Step> placed;
  std::vector<Wait> waits;               // in the order of `to`
  std::vector<Piece> pieces;             // likewise, of `step`
  double tensorHead = 0, tensorTail = 0; // before its first instruction starts, and after its last leaves it
  bool whole = true;                     // every step has a place

  void around(int resource, double ns) {
    if (ns > out.around)
      out.around = ns, out.limit = resource;
  }

  // Heads are known; tails come from the end.
  void placeWork() {
    if (!whole)
      return; // what follows a step that has no place is not known
    for (size_t w = waits.size(); w-- > 0;) {
      const Wait &x = waits[w];
      placed[x.from].tail = std::max(placed[x.from].tail, x.apart + placed[x.to].tail);
    }
    std::array<std::vector<codegen::Job>, kNumResources> jobs;
    for (const Piece &p : pieces) {
      const Step &s = placed[p.step];
      jobs[p.resource].push_back({s.start + p.after, p.work, std::max(0.0, s.tail - p.after - p.alone)});
    }
    const std::vector<codegen::Job> &tensor = jobs[static_cast<int>(Engine::Tensor)];
    for (size_t i = 0; i < tensor.size(); ++i) {
      tensorHead = i ? std::min(tensorHead, tensor[i].head) : tensor[i].head;
      tensorTail = i ? std::min(tensorTail, tensor[i].tail) : tensor[i].tail;
    }
    for (int r = 0; r < kNumResources; ++r)
      around(r, codegen::leastEnd(std::move(jobs[r])));
  }

  void needs(int resource, double after, double work, double alone) {
    if (whole && work > 0)
      pieces.push_back({static_cast<uint32_t>(placed.size()), resource, after, work, alone});
  }

  // A memory that two engines of the target use in turns.
  void needsPorts(Instr i, Engine e, double busy) {
    if (i.def().unit != Unit::Compute)
      return;
    auto uses = [&](Space space) {
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (const mlir::Value t = i.tensor(static_cast<int>(k));
            t && llvm::cast<nisa::TensorType>(t.getType()).getSpace() == space)
          return true;
      return false;
    };
    if (!target.has("vector_gpsimd_concurrent") && (e == Engine::Vector || e == Engine::GpSimd) && uses(Space::Sbuf))
      needs(kSbufPort, 0, busy, busy);
    if (!target.has("vector_scalar_psum_concurrent") && (e == Engine::Vector || e == Engine::Scalar) && uses(Space::Psum))
      needs(kPsumPort, 0, busy, busy);
  }

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
    t.share = c.share();
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
    double rate = target.number(store ? "dma.store_bytes_per_ns" : "dma.bytes_per_ns");
    double run = bytes;
    if (i.is("dma_copy")) { // the shorter of its runs is a descriptor; types that differ take longer
      run = std::min(codegen::runBytes(i.access(0)), codegen::runBytes(i.access(1)));
      if (i.access(0).getDtype() != i.access(1).getDtype())
        rate *= target.number("dma.compute_rate");
    } else if (i.is("dma_transpose")) { // only its source counts, dealt by partitions of the destination
      run = std::min(codegen::runBytes(i.access(1)), bytes / std::max(i.access(0).getPartitions(), 1));
      const bool fromHbm = llvm::cast<nisa::TensorType>(i.tensor(1).getType()).getSpace() == Space::Hbm;
      rate *= target.number(fromHbm ? "dma.transpose_rate_hbm" : "dma.transpose_rate_sbuf");
    }
    const double perEngine = target.number("dma.rows_per_engine");
    const double most = std::max(target.dmaEngines, 1);
    const double engines =
        std::floor(rows ? std::clamp(static_cast<double>(rows + perEngine - 1) / perEngine, 1.0, most) : most);
    const double work = std::max(bytes / rate, run > 0 ? bytes / run * target.number("dma.descriptor_floor") : 0);
    engineTime += weight * work;
    hbmBytes += weight * hbm;
    const double before = target.number("dma.fixed_latency") - target.number("dma.completion_latency");
    needs(kDma, before, work / most, work / engines);
    needs(kHbm, before, hbm / target.number("hbm.bytes_per_ns"), work / engines);
    return target.number("dma.fixed_latency") + work / engines;
  }

  void one(Instr i, double weight) {
    ++steps;
    const Engine e = i.engine().value_or(Engine::Sync);
    const int engine = static_cast<int>(e);
    const Times t = timesOf(i, e);
    out.busy[engine] += weight * t.busy * t.share;
    const bool moves = i.def().unit == Unit::Dma;
    whole = whole && weight == 1 && placed.size() < kMostPlaced;
    double start = 0;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      Region r;
      if (!i.reads(slot) || !regionOf(i.access(slot), i, slot, r))
        continue;
      for (const Written &w : written[i.tensor(slot)])
        if (certainlyMeet(w.region, r)) {
          const double ready = readyFor(w, t, moves ? -2 : engine);
          start = std::max(start, ready);
          if (whole)
            waits.push_back({w.step, static_cast<uint32_t>(placed.size()), ready - w.start});
        }
    }
    const double done = start + (moves ? transfer(i, weight) : t.latency);
    needs(engine, 0, t.busy * t.share, t.busy);
    needsPorts(i, e, t.busy);
    const uint32_t step = static_cast<uint32_t>(placed.size());
    if (whole)
      placed.push_back({start, done - start});
    out.path = std::max(out.path, done);
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      Region r;
      if (!i.writes(slot) || !regionOf(i.access(slot), i, slot, r))
        continue;
      std::vector<Written> &list = written[i.tensor(slot)];
      std::erase_if(list, [&](const Written &w) { return covers(r, w.region); });
      if (list.size() < 4096) // a result that is forgotten makes the bound no larger
        list.push_back({r, start, done, moves ? -1 : engine, t.streamsOut ? t.lead : 0, step});
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

double ScheduleBound::total() const {
  return std::max({*std::max_element(busy.begin(), busy.end()), transfers, path, around});
}

std::string ScheduleBound::reason() const {
  const double most = total();
  if (most == path)
    return "path";
  if (most == transfers)
    return "dma";
  const auto at = std::find(busy.begin(), busy.end(), most) - busy.begin();
  const int by = most == around ? limit : static_cast<int>(at);
  switch (by) {
  case kDma: return "dma";
  case kHbm: return "hbm";
  case kSbufPort: return "SBUF port";
  case kPsumPort: return "PSUM port";
  default: return std::string(name(static_cast<Engine>(by)));
  }
}

ScheduleBound scheduleBound(nisa::Kernel &k) {
  nisa::Kernel work = k.clone();
  beginOutputs(work.op());
  chooseEngines(work.op());
  resolveAccumulation(work.op());
  const std::shared_ptr<const Target> target = loadTarget(work.op().getTarget().str());
  keepTiles(work.op(), *target); // loads that go away are no work
  ScheduleBound most;
  for (auto core : work.op().getBody().getOps<nisa::CoreOp>())
    if (const ScheduleBound b = CoreBound(*target).run(core); b.total() > most.total())
      most = b;
  return most;
}

} // namespace glia
