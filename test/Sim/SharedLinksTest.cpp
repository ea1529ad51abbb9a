// The time of collectives that go on at the same time, and of transfers beside them.
#include "glia/Program/Assembler.h"
#include "glia/Sim/RankTopology.h"
#include "glia/Sim/Timing.h"
#include "glia/Target/CollectiveCost.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace glia;

namespace {

// `count` exchanges of all 64 ranks on `queues` queues, and `loads` transfers of the DMA engines beside them.
Program exchanges(int count, int queues, int64_t elements, int loads = 0) {
  std::string text = "target trn2\n", code, all;
  for (int r = 0; r < 64; ++r)
    all += (r ? ", " : "") + std::to_string(r);
  for (int q = 0; q < queues; ++q)
    text += "queue q" + std::to_string(q) + "\n";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), size = std::to_string(elements);
    text += "input x" + n + " : f32[" + size + "]\noutput y" + n + " : f32[" + size + "]\n";
    code += "gpsimd collective dst=y" + n + " src=x" + n + " queue=q" + std::to_string(i % queues) +
            " kind=all_reduce op=add ranks=64 width=64 groups=[" + all + "]\n";
  }
  for (int i = 0; i < loads; ++i) {
    const std::string n = std::to_string(i);
    text += "queue l" + n + "\ninput w" + n + " : f32[128, 8192]\nsbuf t" + n + " : f32[128, 1024] @ " +
            std::to_string(4096 * i) + "\n";
    code += "sync dma_copy dst=t" + n + " src=w" + n + "[:, 0:1024] queue=l" + n + "\n";
  }
  return assemble(text + code, "exchanges.gasm");
}

double timeOf(const Program &p) { return simulateTime(p, {}).total; }

double lastCollective(const Program &p) {
  TimingOptions o;
  o.timeline = true;
  double end = 0;
  for (const TimelineEvent &e : simulateTime(p, o).timeline)
    if (e.lane >= p.cores * kNumEngines && e.engine == Engine::GpSimd)
      end = std::max(end, e.end);
  return end;
}

} // namespace

TEST(SharedLinks, ExchangesAtTheSameTimeShareBandwidthAndNotLatency) {
  for (const int64_t elements : {int64_t{64}, int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24}) {
    const double one = timeOf(exchanges(1, 1, elements));
    double last = one;
    for (int n = 2; n <= 4; ++n) {
      const double together = timeOf(exchanges(n, n, elements)), inTurn = timeOf(exchanges(n, 1, elements));
      EXPECT_GE(together, last * 0.9999) << n << " of " << elements;
      EXPECT_LT(together, inTurn) << n << " of " << elements; // some of it is latency
      last = together;
    }
  }
  // What is bound by bytes takes as long as its bytes, however it is dealt out: a collective of four times the size, without three latencies.
  const int64_t large = int64_t{1} << 24;
  EXPECT_NEAR(timeOf(exchanges(4, 4, large)) / timeOf(exchanges(1, 1, 4 * large)), 1, 0.05);
  // What is all latency goes on as if it were alone.
  EXPECT_NEAR(timeOf(exchanges(2, 2, 4)) / timeOf(exchanges(1, 1, 4)), 1, 0.02);
}

// By the fluid rule written out: two alike that ask for more than there is of one thing end together, that much later.
TEST(SharedLinks, TwoAlikeSlowDownByWhatTheyAskForTogether) {
  const int64_t elements = int64_t{1} << 20;
  const Program one = exchanges(1, 1, elements);
  std::vector<int> all(64);
  std::iota(all.begin(), all.end(), 0);
  const auto topology = topologyOf(one);
  const CollectiveTime alone = collectiveTime(*topology, CollectiveKind::AllReduce, 4 * elements, all);
  double most = 0;
  for (const double ask : asksOf(*topology, alone))
    most = std::max(most, ask);
  ASSERT_GT(most, 0.5);
  EXPECT_NEAR(timeOf(exchanges(2, 2, elements)) - timeOf(one), (2 * most - 1) * alone.total,
              100); // ns: the second begins a little later
}

TEST(SharedLinks, TransfersOfTheQueuesTakeNothingFromExchanges) {
  EXPECT_EQ(lastCollective(exchanges(1, 1, 64, 12)), lastCollective(exchanges(1, 1, 64)));
  const double loads = timeOf(exchanges(0, 1, 64, 12));
  EXPECT_GE(timeOf(exchanges(1, 1, 64, 12)), loads);
}
