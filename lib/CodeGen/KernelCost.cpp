#include "KernelCost.h"
#include "Transforms/InstrFacts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace glia::codegen {

double runBytes(nisa::AccessAttr a) {
  int64_t run = 1;
  for (size_t k = a.getDims().size(); k >= 2; k -= 2) {
    if (a.getDims()[k - 1] == 1)
      continue;
    if (a.getDims()[k - 2] != run)
      break;
    run *= a.getDims()[k - 1];
  }
  return static_cast<double>(run * sizeOf(a.getDtype()));
}

static void addTransfer(nisa::Instr i, const Target &target, Duration &d) {
  const nisa::AccessAttr dst = i.access(0), src = i.access(1);
  const double bytes = static_cast<double>(dst.elements() * sizeOf(dst.getDtype()));
  const bool store = llvm::cast<nisa::TensorType>(i.tensor(0).getType()).getSpace() == Space::Hbm;
  const int rows = std::max(dst.getPartitions(), src ? src.getPartitions() : 0);
  const double most = std::max(target.dmaEngines, 1);
  const double engines = rows ? std::clamp(std::ceil(rows / target.number("dma.rows_per_engine")), 1.0, most)
                              : std::clamp(bytes / 512, 1.0, most);
  double rate = target.number(store ? "dma.store_bytes_per_ns" : "dma.bytes_per_ns");
  double run = src ? std::min(runBytes(dst), runBytes(src)) : runBytes(dst);
  // On chip only its source counts, dealt by partitions of the destination; from HBM it is about as fast as a copy.
  if (i.is("dma_transpose") && llvm::cast<nisa::TensorType>(i.tensor(1).getType()).getSpace() == Space::Sbuf) {
    rate *= target.number("dma.transpose_rate_sbuf");
    run = std::min(runBytes(src), bytes / std::max(dst.getPartitions(), 1));
  }
  d.transfer = std::max(1.0, bytes / run / engines) * std::max(target.number("dma.descriptor_floor"), run / rate);
  d.share = engines / most;
  d.latency = target.number("dma.fixed_latency") + d.transfer;
}

Duration durationOf(nisa::Instr i, const Target &target, Engine e) {
  const nisa::InstrCost query(i, target, e);
  const Cost c = i.def().cost(query);
  const Flow flow = i.def().flow;
  Duration d;
  d.busy = c.busy;
  d.latency = std::max(c.latency, c.busy);
  if (flow == Flow::Elementwise || flow == Flow::Copy || flow == Flow::Scan)
    d.lead = c.lead;
  d.setup = c.setup;
  d.reload = c.reload;
  d.tile = c.tile;
  d.issue = c.issue;
  d.part = c.share();
  if (i.def().unit == Unit::Dma || i.def().unit == Unit::Exchange)
    addTransfer(i, target, d);
  return d;
}

namespace {

class Work {
public:
  explicit Work(const Target &t) : target(t) {}

  void block(mlir::Block &b, double times) {
    for (mlir::Operation &op : b) {
      if (auto loop = llvm::dyn_cast<nisa::LoopOp>(op)) {
        block(loop.getBody().front(), times * (loop.getCount() ? static_cast<double>(*loop.getCount()) : 1));
      } else if (const nisa::Instr i{&op}; i && i.engine() && i.def().cost) {
        const Duration d = durationOf(i, target, *i.engine());
        busy[static_cast<size_t>(*i.engine())] += times * d.busy * d.part;
        transfers += times * d.transfer * d.share;
      }
    }
  }

  double most() const { return std::max(*std::max_element(busy.begin(), busy.end()), transfers); }

private:
  const Target &target;
  std::array<double, kNumEngines> busy{};
  double transfers = 0;
};

} // namespace

double workOf(mlir::Block &block, const Target &target) {
  Work work(target);
  work.block(block, 1);
  return work.most();
}

} // namespace glia::codegen
