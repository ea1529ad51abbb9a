// Timing: properties that hold for any parameters, and the error bound on published measurements.
#include "Kernels.h"
#include "Loops.h"
#include "Validation.h"

#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace glia;
using validation::Loops;

namespace {

template <class F> TimingResult timed(const char *target, const F &build, TimingOptions o = {}, int cores = 1) {
  Builder b(loadTarget(target), cores);
  build(b);
  return simulateTime(b.finish(), o);
}

template <class F> std::string errorCode(const F &f) {
  try {
    f();
  } catch (const Error &e) {
    return e.diagnostics().front().code;
  }
  return "";
}

ObjectRef tile(Builder &b, const char *name, int elements, int64_t at) {
  return b.sbuf(name, DType::F32, {128, elements}, 0, at);
}

void add(Builder &b, ObjectRef dst, ObjectRef x, ObjectRef y) {
  b.emit(Engine::Vector, "tensor_tensor").set("dst", dst).set("a", x).set("b", y).set("op", "add");
}

} // namespace

TEST(Timing, MoreWorkTakesLonger) {
  double last = 0;
  for (int n : {64, 512, 2048, 8192}) {
    const double t = timed("trn2", [&](Builder &b) {
                       ObjectRef x = tile(b, "x", n, 0), y = tile(b, "y", n, n * 4);
                       add(b, y, x, x);
                     }).total;
    EXPECT_GT(t, last);
    last = t;
  }
}

TEST(Timing, DependentChainIsSlowerThanIndependentInstructions) {
  auto chain = [](bool dependent) {
    return timed("trn1",
                 [&](Builder &b) {
                   ObjectRef t[9];
                   for (int i = 0; i < 9; ++i)
                     t[i] = tile(b, ("t" + std::to_string(i)).c_str(), 1, i * 4);
                   for (int i = 0; i < 8; ++i)
                     add(b, t[i + 1], dependent ? t[i] : t[0], dependent ? t[i] : t[0]);
                 })
        .total;
  };
  EXPECT_GT(chain(true), 1.5 * chain(false));
}

TEST(Timing, LongElementwiseChainStreams) {
  // With many elements the first result is there long before the next instruction starts: the chain costs nothing extra.
  auto chain = [](bool dependent) {
    return timed("trn1",
                 [&](Builder &b) {
                   ObjectRef x = tile(b, "x", 4096, 0), y = tile(b, "y", 4096, 16384), z = tile(b, "z", 4096, 32768);
                   for (int i = 0; i < 8; ++i)
                     dependent ? add(b, y, y, y) : add(b, z, x, x);
                 })
        .total;
  };
  EXPECT_NEAR(chain(true), chain(false), 1);
}

TEST(Timing, EnginesOverlap) {
  auto time = [](bool vector, bool scalar) {
    return timed(
               "trn2",
               [&](Builder &b) {
                 ObjectRef x = tile(b, "x", 4096, 0), y = tile(b, "y", 4096, 16384), z = tile(b, "z", 4096, 32768);
                 for (int i = 0; i < 4; ++i) {
                   if (vector)
                     add(b, y, x, x);
                   if (scalar)
                     b.emit(Engine::Scalar, "activation").set("dst", z).set("data", x).set("fn", "copy").set("scale", 1.0f);
                 }
               })
        .total;
  };
  EXPECT_NEAR(time(true, true), std::max(time(true, false), time(false, true)), 1);
}

namespace {

// From one product to the next, in a long row of them, beyond the engine's slow start.
template <class F> double interval(const char *target, const F &emit) {
  const auto many = [&](int count) {
    return timed(target,
                 [&](Builder &b) {
                   for (int i = 0; i < count; ++i)
                     emit(b, i);
                 })
        .total;
  };
  return (many(800) - many(400)) / 400;
}

struct Product {
  ObjectRef dst, stationary, moving;
  int row = 0, rows = 0;
  void emit(Builder &b, bool accumulate = false) const {
    b.emit(Engine::Tensor, "nc_matmul")
        .set("dst", dst)
        .set("stationary", stationary)
        .set("moving", moving)
        .set("accumulate", accumulate)
        .set("tile_row", row)
        .set("tile_rows", rows)
        .set("tile_cols", rows ? 128 : 0);
  }
};

// 64 rows times 128 columns, on one half of the array.
Product onHalf(Builder &b, int half, int bank) {
  const std::string n = std::to_string(half) + std::to_string(bank);
  return {b.psum("p" + n, DType::F32, {128, 512}, 0, bank * 2048), b.sbuf("s" + n, DType::BF16, {64, 128}, half * 64, 0),
          b.sbuf("m" + n, DType::BF16, {64, 512}, half * 64, 4096), half * 64, 64};
}

} // namespace

// What the API reference says of many products of one shape in a row: max(min(64, stationary), moving) cycles each.
TEST(Timing, ProductsInARowTakeWhatTheyStream) {
  for (const char *target : {"trn1", "trn2"})
    for (int n : {32, 64, 128, 512}) {
      Product p;
      const double each = interval(target, [&](Builder &b, int i) {
        if (i == 0)
          p = {b.psum("p", DType::F32, {128, n}, 0, 0), b.sbuf("s", DType::BF16, {128, 128}, 0, 0),
               b.sbuf("m", DType::BF16, {128, n}, 0, 4096)};
        p.emit(b);
      });
      EXPECT_NEAR(each, std::max(64, n) / loadTarget(target)->number("clock.tensor"), 0.01) << target << ", " << n;
    }
}

TEST(Timing, ProductsOnTilesApartOverlap) {
  for (const char *target : {"trn1", "trn2"}) {
    const double one = 512 / loadTarget(target)->number("clock.tensor");
    // Halves of the i-th product, banks of its result; whether it accumulates.
    const auto of = [&](std::array<int, 2> halves, std::array<int, 2> banks, bool accumulate = false) {
      std::array<Product, 2> p;
      return interval(target, [&](Builder &b, int i) {
        if (i == 0)
          for (size_t k : {0, 1})
            p[k] = onHalf(b, halves[k], banks[k]);
        p[static_cast<size_t>(i % 2)].emit(b, accumulate);
      });
    };
    EXPECT_NEAR(of({0, 1}, {0, 1}), one / 2, 0.01) << target;
    EXPECT_NEAR(of({0, 0}, {0, 1}), one, 0.01) << target;       // one tile
    EXPECT_NEAR(of({0, 1}, {0, 0}, true), one, 0.01) << target; // sums at one place
    std::array<Product, 2> p;
    const double whole = interval(target, [&](Builder &b, int i) {
      if (i == 0) {
        p[0] = onHalf(b, 0, 0);
        p[1] = onHalf(b, 1, 1);
        p[1].row = p[1].rows = 0;
        p[1].stationary = b.sbuf("s", DType::BF16, {128, 128}, 0, 8192);
        p[1].moving = b.sbuf("m", DType::BF16, {128, 512}, 0, 12288);
      }
      p[static_cast<size_t>(i % 2)].emit(b);
    });
    EXPECT_NEAR(whole, one, 0.01) << target; // all of the array in turn
  }
}

// A product that is over before one that began earlier on another tile completes behind it.
TEST(Timing, TilesCompleteInOrder) {
  const auto when = [](bool longer) {
    return timed("trn2",
                 [&](Builder &b) {
                   const Product first = onHalf(b, 0, 0);
                   Product second = onHalf(b, 1, 1);
                   second.dst = b.psum("q", DType::F32, {128, 64}, 0, 4096);
                   second.moving = b.sbuf("n", DType::BF16, {64, 64}, 64, 8192);
                   const int done = b.semaphore("done");
                   if (longer)
                     first.emit(b);
                   b.emit(Engine::Tensor, "nc_matmul")
                       .set("dst", second.dst)
                       .set("stationary", second.stationary)
                       .set("moving", second.moving)
                       .set("tile_row", 64)
                       .set("tile_rows", 64)
                       .set("tile_cols", 128)
                       .then(done, 1);
                   b.emit(Engine::Vector, "memset")
                       .set("dst", b.sbuf("x", DType::F32, {128, 64}, 0, 16384))
                       .set("value", 0.0f)
                       .when(done, 1);
                 })
        .total;
  };
  // 512 columns at half rate, against 64.
  EXPECT_NEAR(when(true) - when(false), (512 - 64) / 0.5 / loadTarget("trn2")->number("clock.tensor"), 30);
}

TEST(Timing, SharedPortsSerialise) {
  // Vector and GpSimd on SBUF: one after the other on trn1, together on trn2.
  auto time = [](const char *target, bool both) {
    return timed(target,
                 [&](Builder &b) {
                   ObjectRef x = tile(b, "x", 2048, 0), y = tile(b, "y", 2048, 8192), z = tile(b, "z", 2048, 16384);
                   for (int i = 0; i < 4; ++i) {
                     add(b, y, x, x);
                     if (both)
                       b.emit(Engine::GpSimd, "memset").set("dst", z).set("value", 1.0f);
                   }
                 })
        .total;
  };
  EXPECT_GT(time("trn1", true), 1.2 * time("trn1", false));
  EXPECT_LT(time("trn2", true), 1.1 * time("trn2", false));
}

TEST(Timing, LoopsFetchLessThanUnrolledCode) {
  constexpr int kTrips = 4000;
  const double looped = timed("trn2", [](Builder &b) {
                          Loops l(b, 0, {Engine::Sync});
                          l.open(1, kTrips, "");
                          b.emit(Engine::Sync, "nop");
                          b.emit(Engine::Sync, "nop");
                          l.close();
                        }).total;
  const double unrolled =
      timed("trn2", [](Builder &b) {
        for (int i = 0; i < 3 * kTrips; ++i) // as many instructions as the loop executes, its end included
          b.emit(Engine::Sync, "nop");
      }).total;
  EXPECT_NEAR(looped, unrolled, 0.01 * unrolled); // fetch keeps up with 9 ns
  auto slow = std::make_shared<Target>(*loadTarget("trn2"));
  slow->values["fetch.bytes_per_ns"].number = 1;
  auto on = [&](bool loop) {
    Builder b(slow);
    Loops l(b, 0, {Engine::Sync});
    if (loop)
      l.open(1, kTrips, "");
    for (int i = 0; i < (loop ? 1 : kTrips); ++i)
      b.emit(Engine::Sync, "nop");
    if (loop)
      l.close();
    return simulateTime(b.finish()).total;
  };
  EXPECT_GT(on(false), 3 * on(true)); // 64 ns an instruction against 18 ns a trip
}

TEST(Timing, QueuesShareBandwidth) {
  auto time = [](int queues) {
    return timed("trn2",
                 [&](Builder &b) {
                   for (int q = 0; q < queues; ++q) {
                     const std::string n = std::to_string(q);
                     ObjectRef x = b.input("x" + n, DType::F32, {128, 2048});
                     b.emit(Engine::Sync, "dma_copy")
                         .set("dst", tile(b, ("s" + n).c_str(), 2048, q * 8192))
                         .set("src", x)
                         .queue(b.queue("q" + n));
                   }
                 })
        .total;
  };
  const double one = time(1), eight = time(8), payload = 128 * 8192 / 368.0;
  EXPECT_NEAR(eight - one, 7 * payload, 0.1 * 7 * payload);
}

TEST(Timing, FewPartitionsUseFewDmaEngines) {
  auto time = [](int rows, int columns) {
    return timed("trn2",
                 [&](Builder &b) {
                   ObjectRef x = b.input("x", DType::F32, {rows, columns}),
                             s = b.sbuf("s", DType::F32, {rows, columns}, 0, 0);
                   b.emit(Engine::Sync, "dma_copy").set("dst", s).set("src", x).queue(b.queue("q"));
                 })
        .total;
  };
  EXPECT_GT(time(8, 16384), 5 * time(128, 1024)); // the same bytes, one engine against 16
}

// Updates of one semaphore become known in another order than they take effect in: the long instruction's first.
TEST(Timing, AWaitEndsWithTheEarliestUpdate) {
  auto start = [](bool vector, bool scalar, bool transfer) {
    TimingOptions o;
    o.timeline = true;
    const TimingResult r = timed(
        "trn2",
        [&](Builder &b) {
          ObjectRef x = b.input("x", DType::F32, {128, 16}), s = tile(b, "s", 16, 0), t = tile(b, "t", 16, 64);
          ObjectRef y = tile(b, "y", 8192, 1024), z = tile(b, "z", 4096, 65536);
          const int any = b.semaphore("any");
          Emit v = b.emit(Engine::Vector, "tensor_tensor");
          v.set("dst", y).set("a", y).set("b", y).set("op", "add");
          Emit c = b.emit(Engine::Scalar, "activation");
          c.set("dst", z).set("data", z).set("fn", "copy").set("scale", 1.0f);
          Emit d = b.emit(Engine::Sync, "dma_copy");
          d.set("dst", s).set("src", x).queue(b.queue("q"));
          if (vector)
            v.then(any, 16);
          if (scalar)
            c.then(any, 16);
          if (transfer)
            d.then(any, 16);
          b.emit(Engine::GpSimd, "memset").set("dst", t).set("value", 0.0f).when(any, 16);
        },
        o);
    for (const TimelineEvent &e : r.timeline)
      if (e.engine == Engine::GpSimd && e.lane < kNumEngines)
        return e.start;
    return -1.0;
  };
  const double vector = start(true, false, false), scalar = start(false, true, false), transfer = start(false, false, true);
  EXPECT_GT(vector, scalar + 100);
  EXPECT_GT(scalar, transfer + 100);
  EXPECT_GT(transfer, 0);
  EXPECT_EQ(start(true, true, false), scalar);
  EXPECT_EQ(start(true, false, true), transfer);
  EXPECT_EQ(start(false, true, true), transfer);
  EXPECT_EQ(start(true, true, true), transfer);
}

TEST(Timing, StallsNameTheirCause) {
  const TimingResult r = timed("trn2", [](Builder &b) {
    ObjectRef x = b.input("x", DType::F32, {128, 512}), s = tile(b, "s", 512, 0);
    const int q = b.queue("fill"), loaded = b.semaphore("loaded");
    b.emit(Engine::Sync, "dma_copy").set("dst", s).set("src", x).queue(q).then(loaded, 16);
    b.emit(Engine::Vector, "tensor_tensor").set("dst", s).set("a", s).set("b", s).set("op", "add").when(loaded, 16);
  });
  ASSERT_FALSE(r.longestStalls.empty());
  EXPECT_EQ(r.longestStalls[0].engine, Engine::Vector);
  EXPECT_EQ(r.longestStalls[0].reason, "semaphore loaded, last added to by core 0 queue fill");
  EXPECT_EQ(r.hbmBytesRead, 128u * 2048);
  EXPECT_NEAR(r.documented + r.derived + r.assumed, 1, 1e-12);
  EXPECT_GT(r.documented, 0.3);
}

TEST(Timing, OriginsFollowTheCriticalPath) {
  // Only an assumed parameter matters here: the barrier's latency.
  const TimingResult r = timed(
      "trn2",
      [](Builder &b) {
        for (int i = 0; i < 50; ++i)
          for (int c = 0; c < 2; ++c)
            b.emit(c, Engine::GpSimd, "core_barrier").set("name", "all");
      },
      {}, 2);
  EXPECT_GT(r.assumed, 0.95);
  EXPECT_EQ(r.assumedParameters, std::vector<std::string>{"cost.barrier_latency"});
}

TEST(Timing, DeadlockIsAnError) {
  EXPECT_EQ(
      errorCode([] { timed("trn2", [](Builder &b) { b.emit(Engine::Vector, "nop").when(b.semaphore("never"), 1); }); }),
      "SYNC-DEADLOCK");
  EXPECT_EQ(errorCode([] {
              timed("trn2", [](Builder &b) { b.emit(0, Engine::GpSimd, "core_barrier").set("name", "all"); }, {}, 2);
            }),
            "BARRIER-PAIR");
  EXPECT_EQ(errorCode([] {
              timed(
                  "trn2",
                  [](Builder &b) {
                    b.emit(0, Engine::GpSimd, "sendrecv").set("dst", tile(b, "d", 1, 0)).set("src", tile(b, "s", 1, 4));
                  },
                  {}, 2);
            }),
            "SENDRECV-PAIR");
}

TEST(Timing, TripCountsFromData) {
  Builder b(loadTarget("trn2"));
  ObjectRef n = b.input("n", DType::I32, {1, 1}), s = b.sbuf("s", DType::I32, {1, 1}, 0, 0);
  const int loaded = b.semaphore("loaded");
  b.emit(Engine::GpSimd, "dma_copy").set("dst", s).set("src", n).queue(b.queue("q")).then(loaded, 16);
  b.emit(Engine::Vector, "reg_load").reg("dst", 5).set("src", s).when(loaded, 16);
  const uint32_t begin = b.nextIndex(0, Engine::Vector);
  b.emit(Engine::Vector, "loop").reg("iv", 1).reg("count", 5).set("end", int32_t{0});
  b.emit(Engine::Vector, "nop");
  b.emit(Engine::Vector, "end_loop").set("begin", static_cast<int32_t>(begin));
  b.patchLabel(0, Engine::Vector, begin, begin + 2);
  const Program p = b.finish();
  EXPECT_EQ(errorCode([&] { simulateTime(p); }), "TIME-DATA");
  auto with = [&](int32_t trips) {
    TensorData in;
    in["n"].resize(4);
    std::memcpy(in["n"].data(), &trips, 4);
    TimingOptions o;
    o.inputs = &in;
    return simulateTime(p, o).instructions;
  };
  EXPECT_EQ(with(0), 3u);
  EXPECT_EQ(with(7), 3u + 14);
}

TEST(Timing, EndlessLoopsStop) {
  EXPECT_EQ(errorCode([] {
              TimingOptions o;
              o.maxSteps = 1000;
              timed(
                  "trn2",
                  [](Builder &b) {
                    Loops l(b, 0, {Engine::Sync});
                    l.open(1, 2000000000, "");
                    l.close();
                  },
                  o);
            }),
            "SIM-STEPS");
}

TEST(Timing, SameResultWithAndWithoutTimeline) {
  TimingOptions o;
  o.timeline = true;
  const Program p = validation::mambaV1();
  const TimingResult a = simulateTime(p), b = simulateTime(p, o);
  EXPECT_EQ(a.total, b.total);
  EXPECT_TRUE(a.timeline.empty());
  std::vector<double> last(b.lanes.size()); // bars of a lane do not overlap and lie within the run
  for (const TimelineEvent &e : b.timeline) {
    EXPECT_GE(e.start, last[e.lane] - 1e-6);
    EXPECT_LE(e.end, b.total);
    last[e.lane] = e.end;
  }
}

TEST(Timing, PublishedMeasurements) {
  const std::vector<validation::Row> rows = validation::measure();
  EXPECT_GE(rows.size(), 44u);
  EXPECT_LE(validation::meanError(rows), 0.08);
  for (const validation::Row &r : rows)
    EXPECT_TRUE(std::fabs(r.error()) <= 0.15 || !r.note.empty()) << r.what << ": " << r.predicted << " for " << r.published;
  std::ifstream file(std::string(GLIA_SOURCE_DIR) + "/docs/timing.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == validation::report(rows))
      << "docs/timing.md is old: build/bin/glia-timing-report > docs/timing.md";
}
