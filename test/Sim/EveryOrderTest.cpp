// Every order of small programs: totals that can be counted by hand, outcomes, faults, limits.
#include "SimPrograms.h"
#include "glia/Program/Assembler.h"
#include "glia/Sim/EveryOrder.h"

#include <gtest/gtest.h>

namespace glia {

using namespace simtest;

static Program program(const std::string &text) { return assemble("target trn2\n" + text, "order.gasm"); }

static OrderResult orders(const std::string &text, const TensorData &inputs = {}, bool reduce = true) {
  OrderOptions o;
  o.reduce = reduce;
  return runEveryOrder(program(text), inputs, o);
}

static std::string fault(const OrderResult &r) {
  for (const OrderOutcome &o : r.outcomes)
    if (o.fault)
      return o.fault->code;
  return "";
}

TEST(EveryOrder, CountsStatesOfTwoEngines) {
  const std::string text = "vector nop\nvector nop\nscalar nop\nscalar nop\n";
  const OrderResult all = orders(text, {}, false), few = orders(text);
  EXPECT_EQ(all.states, 9u); // 0, 1 or 2 instructions of each
  EXPECT_EQ(all.steps, 12u);
  EXPECT_EQ(few.states, 5u); // they have nothing to do with each other: one order is enough
  EXPECT_EQ(few.steps, 4u);
  EXPECT_TRUE(all.ok() && few.ok());
}

TEST(EveryOrder, CountsStatesOfATransfer) {
  const std::string text = "input x : f32[4]\noutput y : f32[4]\nqueue q\nsync dma_copy dst=y src=x queue=q\n";
  const TensorData in{{"x", bytes(ramp(4, 1))}};
  const OrderResult all = orders(text, in, false), few = orders(text, in);
  EXPECT_EQ(all.states, 1u + 4 * 4); // each part: issued, read, written, complete
  EXPECT_EQ(all.steps, 1u + 2 * 4 * 3);
  EXPECT_EQ(few.states, 8u);
  EXPECT_EQ(few.steps, 7u);
  EXPECT_EQ(floats(few.outcomes.at(0).outputs.at("y")), ramp(4, 1));
}

TEST(EveryOrder, PartsOfAQueueCompleteInOrder) {
  // Each part: 16 pairs of phases, without the three in which the second transfer is complete and the first is not.
  const std::string text = "input x : f32[4]\noutput y : f32[4]\noutput z : f32[4]\nqueue q\n"
                           "sync dma_copy dst=y src=x queue=q\nsync dma_copy dst=z src=x queue=q\n";
  const OrderResult all = orders(text, {{"x", bytes(ramp(4, 1))}}, false);
  EXPECT_EQ(all.states, 1u + 16 + 13 * 13);
  EXPECT_TRUE(all.ok());
}

TEST(EveryOrder, ARaceThatNoOutputSeesIsOneOfTheWholeMemory) {
  const Program p = program("sbuf t : f32[1, 1] @ 0\nvector memset dst=t value=1.0\ngpsimd memset dst=t value=2.0\n"),
                equal = program("sbuf t : f32[1, 1] @ 0\nvector memset dst=t value=1.0\ngpsimd memset dst=t value=1.0\n");
  OrderOptions o;
  EXPECT_TRUE(runEveryOrder(p, {}, o).ok());
  o.wholeMemory = true;
  EXPECT_EQ(runEveryOrder(p, {}, o).different, 2u);
  EXPECT_TRUE(runEveryOrder(equal, {}, o).ok());
}

TEST(EveryOrder, FindsBothResultsOfARace) {
  const OrderResult r = orders("output y : f32[1, 1]\nsbuf t : f32[1, 1] @ 0\nsemaphore a\nsemaphore b\nqueue q\n"
                               "vector memset dst=t value=1.0 then a += 1\ngpsimd memset dst=t value=2.0 then b += 1\n"
                               "sync dma_copy dst=y src=t queue=q when a >= 1 and b >= 1\n");
  ASSERT_EQ(r.different, 2u);
  EXPECT_EQ(r.faults, 0u);
  for (const OrderOutcome &o : r.outcomes) {
    const float y = floats(o.outputs.at("y"))[0];
    size_t first = 0, second = 0; // the later memset wins
    for (size_t i = 0; i < o.order.size(); ++i) {
      first = o.order[i].find("vector instruction 0") != std::string::npos ? i : first;
      second = o.order[i].find("gpsimd instruction 0") != std::string::npos ? i : second;
    }
    EXPECT_EQ(y, first < second ? 2.0f : 1.0f);
  }
}

TEST(EveryOrder, OneOutcomeWhereItIsOrdered) {
  const Program p = addProgram("trn2");
  const TensorData in{{"x", bytes(ramp(2048, 1))}, {"y", bytes(ramp(2048, 5))}};
  const OrderResult r = runEveryOrder(p, in);
  ASSERT_TRUE(r.ok());
  RunOptions strict;
  strict.strict = true;
  EXPECT_EQ(r.outcomes[0].outputs, run(p, in, strict).outputs);
}

TEST(EveryOrder, AWaitForSomePartsPassesWithoutTheOthers) {
  auto text = [](int value) {
    return format("input x : f32[4, 1]\noutput y : f32[4, 1]\nsbuf t : f32[4, 1] @ 0\nsemaphore s\nqueue q\nqueue g\n"
                  "sync dma_copy dst=t src=x queue=q then s += 16\ngpsimd dma_copy dst=y src=t queue=g when s >= %d\n",
                  value);
  };
  const TensorData in{{"x", bytes(ramp(4, 1))}};
  EXPECT_TRUE(orders(text(16), in).ok());
  for (int value : {15, 9, 8, 1})
    EXPECT_EQ(fault(orders(text(value), in)), "UNDEFINED-OUTPUT") << value;
}

TEST(EveryOrder, ReadsAndWritesOfOneTransferMeet) {
  // Rows 1 to 3 move to 0 to 2: a part reads what the other one writes.
  auto text = [](int offset) {
    return format("input x : f32[8, 1]\noutput y : f32[8, 1]\nscratch s : f32[8, 1]\nsbuf i : i32[4, 1] @ 0\nsemaphore a\n"
                  "semaphore w\nqueue q\nqueue g\nsync dma_copy dst=s src=x queue=q then a += 16\n"
                  "gpsimd iota dst=i pattern=[1, 1] offset=%d channel_multiplier=1\ngpsimd nop when a >= 16\n"
                  "gpsimd dma_copy dst=s[0:4, 0:1] src=s{ | 0 | 1x4, 1x1} src_index=i queue=g dge=swdge then w += 16\n"
                  "sync dma_copy dst=y src=s queue=q when w >= 16\n",
                  offset);
  };
  const TensorData in{{"x", bytes(ramp(8, 1))}};
  EXPECT_FALSE(orders(text(1), in).ok());
  EXPECT_FALSE(orders(text(2), in).ok());
  EXPECT_TRUE(orders(text(4), in).ok()); // other rows
  EXPECT_TRUE(orders(text(0), in).ok()); // each row onto itself
}

TEST(EveryOrder, FindsTheOrderThatStandsStill) {
  const OrderResult r = orders("semaphore s = 1\nsemaphore t\nvector nop when s >= 1 consume then t += 1\n"
                               "scalar nop when s >= 1 consume\ngpsimd nop when t >= 1\n");
  EXPECT_EQ(r.faults, r.different); // one of the two always waits for ever
  EXPECT_EQ(r.different, 2u);
  EXPECT_EQ(fault(r), "SYNC-DEADLOCK");
}

TEST(EveryOrder, FindsTheSemaphoreThatOverflowsOnlyIfOneIsFarAhead) {
  const OrderResult r =
      orders("semaphore s\nscalar loop iv=r1 count=20 group=\"g\"\nscalar nop then s += 4000\nscalar end_loop\n"
             "vector loop iv=r1 count=20 group=\"g\"\nvector nop when s >= 4000 consume\nvector end_loop\n");
  EXPECT_EQ(fault(r), "SYNC-RANGE");
  EXPECT_EQ(r.different, 2u); // it can also end well
}

TEST(EveryOrder, ALoopThatNeverEnds) {
  const OrderResult r = orders("sync reg_move dst=r1 src=1\nsync while cond=r1\nsync end_loop\n");
  EXPECT_EQ(fault(r), "ORDER-ENDLESS");
}

TEST(EveryOrder, TooManyStatesIsAnError) {
  OrderOptions o;
  o.maxStates = 4;
  o.reduce = false;
  try {
    runEveryOrder(program("vector nop\nvector nop\nscalar nop\nscalar nop\n"), {}, o);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RUN-ORDERS");
    EXPECT_NE(e.diagnostics()[0].advice.find("--max-states"), std::string::npos);
  }
}

TEST(EveryOrder, ATrapIsAnOutcome) {
  const OrderResult r = orders("input n : i32[1]\ninput x : f32[4]\noutput y : f32[1]\nqueue q\nsync reg_load dst=r0 src=n\n"
                               "sync dma_copy dst=y src=x{ | 0 | 1x1} + r0*4 queue=q dge=hwdge\n",
                               {{"n", bytes(std::vector<int32_t>{9})}, {"x", bytes(ramp(4, 1))}});
  ASSERT_EQ(r.different, 1u);
  EXPECT_EQ(r.faults, 0u);
  EXPECT_EQ(r.outcomes[0].trap->code, "DGE-OOB");
}

TEST(EveryOrder, BothCoresMeet) {
  const std::string text = "cores 2\noutput y : f32[2, 1]\nsbuf a : f32[1, 1] @ 0 core 0\nsbuf b : f32[1, 1] @ 64 core 0\n"
                           "sbuf a : f32[1, 1] @ 0 core 1\nsbuf b : f32[1, 1] @ 64 core 1\nsemaphore i core 0\n"
                           "semaphore i core 1\nsemaphore g core 0\nsemaphore g core 1\nqueue q core 0\nqueue q core 1\n"
                           "core0 vector memset dst=a value=1.0 then i += 1\n"
                           "core0 sync sendrecv dst=b src=a pipe=0 when i >= 1 then g += 16\nEARLY"
                           "core0 sync dma_copy dst=y[0:1] src=b queue=q when g >= 16\n"
                           "core1 vector memset dst=a value=2.0 then i += 1\n"
                           "core1 sync sendrecv dst=b src=a pipe=0 when i >= 1 then g += 16\n"
                           "core1 sync dma_copy dst=y[1:2] src=b queue=q when g >= 16\n";
  auto with = [&](const std::string &early) {
    std::string t = text;
    return orders(t.replace(t.find("EARLY"), 5, early));
  };
  const OrderResult right = with("");
  ASSERT_TRUE(right.ok());
  EXPECT_EQ(floats(right.outcomes[0].outputs.at("y")), (std::vector<float>{2, 1}));
  // What is sent may be read until the exchange is complete; the other core may not even have issued its side.
  const OrderResult wrong = with("core0 vector nop when i >= 1\ncore0 vector memset dst=a value=9.0\n");
  EXPECT_EQ(wrong.different, 2u);
}

} // namespace glia
