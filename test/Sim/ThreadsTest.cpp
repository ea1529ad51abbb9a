// Fast mode with several threads: the bytes, the faults and what is printed are those of one thread, also where the program
// itself keeps no order.
#include "SimPrograms.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace glia;
using namespace glia::simtest;

namespace {

RunResult runWith(const Program &p, const TensorData &inputs, int threads) {
  RunOptions o;
  o.threads = threads;
  return run(p, inputs, o);
}

// Many short instructions of three engines on a few overlapping tiles, with no semaphore at all.
Program racyProgram() {
  Builder b(loadTarget("trn2"));
  const ObjectRef x = b.input("x", DType::F32, {128, 64}), y = b.output("y", DType::F32, {128, 64}),
                  z = b.output("z", DType::F32, {128, 64});
  std::vector<ObjectRef> tiles;
  for (int i = 0; i < 6; ++i) // each half over its neighbour
    tiles.push_back(b.sbuf("t" + std::to_string(i), DType::F32, {128, 64}, 0, 128 * i));
  const int q = b.queue("q"), done = b.semaphore("done");
  for (ObjectRef t : tiles)
    b.emit(Engine::Vector, "memset").set("dst", t).set("value", 1.5f);
  b.emit(Engine::Sync, "dma_copy").set("dst", tiles[0]).set("src", x).queue(q).then(done, 16);
  uint32_t state = 1;
  const auto anyTile = [&] { return tiles[(state = state * 1664525 + 1013904223) / 65536 % 6]; };
  for (int i = 0; i < 400; ++i)
    b.emit(i % 3 == 0 ? Engine::GpSimd : Engine::Vector, "tensor_tensor")
        .set("dst", anyTile())
        .set("a", anyTile())
        .set("b", anyTile())
        .set("op", i % 3 == 0 ? "add"
                   : i % 2    ? "subtract"
                              : "max");
  b.emit(Engine::Sync, "dma_copy").set("dst", y).set("src", tiles[0]).queue(q).then(done, 16);
  b.emit(Engine::Sync, "dma_copy").set("dst", z).set("src", tiles[5]).queue(q).then(done, 16);
  return b.finish();
}

} // namespace

TEST(Threads, OneOrderAlsoWhereTheProgramHasNone) {
  const Program p = racyProgram();
  const TensorData inputs{{"x", bytes(ramp(128 * 64, -900.0f))}};
  const RunResult one = runWith(p, inputs, 1);
  ASSERT_TRUE(one.ok()) << render(*one.fault);
  for (int threads : {2, 3, 8})
    for (int times = 0; times < 5; ++times) {
      const RunResult r = runWith(p, inputs, threads);
      EXPECT_EQ(r.outputs, one.outputs) << threads;
      EXPECT_EQ(r.instructions, one.instructions) << threads;
    }
}

// The second row of indices leaves the table. Behind it comes a fault, and a print that must not be seen.
TEST(Threads, TheFirstFailureInOrderIsReported) {
  Builder b(loadTarget("trn2"));
  const ObjectRef x = b.input("x", DType::F32, {4, 2}), i = b.input("i", DType::I32, {8, 1}),
                  out = b.output("out", DType::F32, {128, 512});
  const ObjectRef ti = b.sbuf("ti", DType::I32, {8, 1}, 0, 0), t = b.sbuf("t", DType::F32, {8, 2}, 0, 64),
                  big = b.sbuf("big", DType::F32, {128, 512}, 0, 1024);
  const int q = b.queue("q"), g = b.queue("g"), done = b.semaphore("done");
  for (int k = 0; k < 4; ++k)
    b.emit(Engine::GpSimd, "memset").set("dst", big).set("value", 1.0f);
  b.emit(Engine::GpSimd, "device_print").set("prefix", "before").set("src", b.view(big, {{0, 1}, {0, 1}}));
  b.emit(Engine::GpSimd, "dma_copy").set("dst", ti).set("src", i).queue(g).then(done, 16);
  gatherPairs(b, t, x, ti, 8, g).then(done, 16);
  for (int k = 0; k < 4; ++k)
    b.emit(Engine::GpSimd, "memset").set("dst", big).set("value", 2.0f);
  b.emit(Engine::GpSimd, "device_print").set("prefix", "after").set("src", b.view(big, {{0, 1}, {0, 1}}));
  b.emit(Engine::GpSimd, "reg_move").reg("dst", 1).set("src", 1 << 20);
  b.emit(Engine::GpSimd, "reg_store").set("dst", b.dynamic(b.view(ti, {{0, 1}, {0, 1}}), 1, 4)).reg("src", 1);
  b.emit(Engine::Sync, "dma_copy").set("dst", out).set("src", big).queue(q).then(done, 16);
  const Program p = b.finish();
  const TensorData inputs{{"x", bytes(ramp(8, 0))}, {"i", bytes(std::vector<int32_t>{3, 0, 1, 2, 2, 2, 4, 0})}};
  const RunResult one = runWith(p, inputs, 1);
  ASSERT_TRUE(one.trap) << (one.fault ? render(*one.fault) : "");
  EXPECT_EQ(one.trap->code, "DGE-OOB");
  EXPECT_EQ(one.printed.find("after"), std::string::npos);
  for (int times = 0; times < 10; ++times) {
    const RunResult r = runWith(p, inputs, 3);
    ASSERT_TRUE(r.trap) << (r.fault ? render(*r.fault) : "");
    EXPECT_EQ(render(*r.trap), render(*one.trap));
    EXPECT_EQ(r.printed, one.printed);
    EXPECT_EQ(r.instructions, one.instructions);
  }
}

TEST(Threads, ABadNumberInTheEnvironmentIsRefused) {
  for (const char *bad : {"0", "-2", "two", "2x"}) {
    setenv("GLIA_THREADS", bad, 1);
    try {
      run(addProgram("trn2"), {{"x", bytes(ramp(128 * 16, 0))}, {"y", bytes(ramp(128 * 16, 0))}});
      ADD_FAILURE() << bad;
    } catch (const Error &e) {
      EXPECT_EQ(e.diagnostics()[0].code, "RUN-THREADS") << bad;
    }
  }
  unsetenv("GLIA_THREADS");
}
