// Kernel rows, mean error, and the page docs/timing.md.
#include "Collectives.h"
#include "Kernels.h"
#include "Micro.h"

#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>

namespace glia::validation {

static Row matmulRow(const char *what, double published, const Program &p) {
  TimingOptions o;
  o.stalls = false;
  return {"Kernels", what, "trn2", "kernel optimization guide", published, simulateTime(p, o).total / 1e6, "ms", "", ""};
}

std::vector<Row> measure() {
  std::vector<Row> rows = microRows();
  rows.push_back(matmulRow("fp32 matmul 4096x8192x8192, tiled", 39.89, matmulTiled()));
  rows.push_back(matmulRow("fp32 matmul, loads hoisted", 28.20, matmulHoisted()));
  rows.push_back(matmulRow("fp32 matmul, free dimensions blocked", 28.41, matmulBlockedFree()));
  rows.push_back(matmulRow("fp32 matmul, fully blocked", 28.30, matmulBlocked()));
  TimingOptions o;
  o.timeline = true;
  const TimingResult mamba = simulateTime(mambaV1(), o);
  double first = mamba.total, last = 0;
  for (const TimelineEvent &e : mamba.timeline)
    if (e.engine == Engine::Vector && e.lane < kNumEngines && e.index > 1) // after the two that need no data
      first = std::min(first, e.start), last = std::max(last, e.end);
  rows.push_back({"Kernels", "mamba_v1, L512 C256 S16, span of Vector", "trn1", "fused Mamba tutorial", 150.93,
                  (last - first) / 1000, "us", "", ""});
  rows.push_back({"Kernels", "mamba_v1, whole run", "trn1", "fused Mamba tutorial", 172.93,
                  (mamba.total + mamba.launch) / 1000, "us", "",
                  "16.5 us of it are launch.start and launch.stop, read off the same profile"});
  return rows;
}

double meanError(const std::vector<Row> &rows) {
  double sum = 0;
  int n = 0;
  for (const Row &r : rows)
    if (r.usedFor.empty())
      sum += std::fabs(r.error()), ++n;
  return n ? sum / n : 0;
}

static const char *kModel = R"(# How glia predicts time

This page is made by `build/bin/glia-timing-report > docs/timing.md`; a test compares it with what that command prints.

## The model

`glia profile` replays a program without data: every engine, DMA queue and semaphore is followed from event to event. All parameters are
in the target files (`glia targets trn2`), each with its origin (documented, derived from a published figure, assumed) and its source. They are
physical and shared: none belongs to a single row of the tables below.

- **Engines** issue in order. An instruction keeps its engine for its cycles (formula in its definition, clock and issue floor in the
  target); its result is there after the engine's fixed latency more. The next instruction starts when the engine is free, unless it needs a result
  that is still on its way: then it waits for the first element if both walk the same elements in order, else for the last, plus the
  semaphore latency. The check compares rectangles of the last four instructions.
- **Tensor**: the weights of the next product load while the current one streams; only what the engine has to wait for shows. In a row of products that wait for
  nothing that is the weights' own cycles, so each takes max(64, moving) as the API reference says; behind a wait it is the latency of the load as well. Products on
  tiles of the array that have no part in common run at the same time: they issue in order, an issue floor apart, each when its tile is free, and complete in
  order; those that write to one place of PSUM follow each other. fp32 takes 4 passes. On
  trn2 and trn3 the engine runs at half rate for the first 3 us, and again after a stretch in which it was busy less than half of the time.
- **Semaphores**: an update is visible `cost.semaphore_latency` after completion. A transfer's 16 increments are taken as one.
- **DMA**: a trigger occupies its engine for `cost.sync_latency`; data start `dma.fixed_latency - dma.completion_latency` later and the semaphore counts
  `dma.completion_latency` after the last byte. Rows are dealt to engines, 8 partitions each; a run of adjacent bytes is a descriptor and takes
  its bytes at the engine's rate, at least `dma.descriptor_floor`. Transfers of one queue follow each other, at least `dma.queue_spacing` apart if
  their descriptors come from memory; with hardware DGE the block takes `dma.hwdge_interval` per transfer instead; with software DGE the issuing
  engine is occupied. Transfers that move at the same time slow down alike when they ask for more than 16 engines, or the pair of cores for
  more than the HBM gives.
- **Ports**: where the target does not allow Vector and GpSimd on SBUF, or Vector and Scalar on PSUM (elsewhere: on one PSUM bank), at the same time, they take turns.
- **Fetch**: straight-line code arrives at `fetch.bytes_per_ns`; the last `fetch.window` instructions are held, so a loop that fits is fetched once.
- **Two cores**: a barrier and a sendrecv take a fixed, assumed latency after the later of the two; a sendrecv does not share bandwidth.
- **Collectives** take what their topology says ([devices.md](devices.md)), beside the DMA queues and without taking turns with them. Those that go on at the same time, on queues of
  their own, slow down alike when together they ask for more than all of the engines of a rank, of its HBM, of EFA or of an axis of links: latencies overlap, bytes do not (assumed: that
  collectives at the same time reach together what one reaches alone). The groups of one collective share the links of the chips that they have in common.
- Not modelled: throttling beyond the ramp, DMA traffic of instruction fetch, priorities, HBM banks and refresh, sharing of the SBUF bus by Vector and
  GpSimd in fast modes.

**What rests on what.** Each moment of the replay carries the chain of causes that ends in it: the path that determined the total is a sequence of
durations, each of which is split among documented, derived and assumed parameters in proportion to how much it changes when the parameters of that
origin change by 1/128. The three shares of a profile are the sums along that path, divided by the total; `assumed parameters` are those that appear on it.

)";

std::string report(const std::vector<Row> &rows) {
  std::string s = kModel;
  s += "## Published measurements\n\n";
  double worst = 0;
  int checks = 0;
  for (const Row &r : rows)
    if (r.usedFor.empty())
      ++checks, worst = std::max(worst, std::fabs(r.error()));
  s += format("%zu rows; %zu of them set a parameter and are marked with it, %d check the model. Mean error of the checks: "
              "**%.1f %%**, largest "
              "%.1f %%.\n",
              rows.size(), rows.size() - checks, checks, 100 * meanError(rows), 100 * worst);
  std::string group;
  for (const Row &r : rows) {
    if (r.group != group) {
      group = r.group;
      s += "\n### " + group +
           "\n\n| what | target | published | predicted | error | sets | source |\n|---|---|---|---|---|---|---|\n";
    }
    const int digits = r.unit == "ns" ? 0 : r.unit == "%" ? 1 : 2;
    s += format("| %s | %s | %.*f %s | %.*f %s | %+.1f %% | %s | %s%s%s |\n", r.what.c_str(), r.target.c_str(), digits,
                r.published, r.unit.c_str(), digits, r.predicted, r.unit.c_str(), 100 * r.error(), r.usedFor.c_str(),
                r.source.c_str(), r.note.empty() ? "" : "; ", r.note.c_str());
  }
  s += "\n### Rows above 15 %\n\n";
  bool any = false;
  for (const Row &r : rows)
    if (r.usedFor.empty() && std::fabs(r.error()) > 0.15) {
      s += "- " + r.what + ": " + (r.note.empty() ? "unexplained" : r.note) + "\n";
      any = true;
    }
  if (!any)
    s += "None.\n";
  s += R"(
### Published figures that are not in the table

- Mean durations of 879 MATMUL, 879 LDWEIGHTS and 84 TENSOR_TENSOR in the profile-output page: neither shapes nor target are given.
- Utilisation of 15 % for 4-byte transfers and 68 % for 32 KiB transfers on trn1: how many queues were active is not given.
- Trigger to first activity of a DMA queue (770 ns from Sync, 750 ns from GpSimd): the model has the first byte only; 750 ns sets `dma.swdge_busy`.

### The kernels

The programs are in `tools/timing-report`. They move and compute what the tutorials say; which engine issues, and how many buffers there are, is not
published and was chosen once. Loads and stores use hardware DGE from one engine each, so the tiled kernel is bound by 129 descriptor sets per result tile.
In the third kernel the two rows of a block are the inner loop, and in the fourth the lhs block comes one column of tiles at a time: as written in the
guide, both need more SBUF than there is.
)";
  return s + collectiveSection();
}

} // namespace glia::validation
