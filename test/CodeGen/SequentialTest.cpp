// Many runs of one kernel by its sequential meaning, with captures: tiles share memory, threads share the work, and nobody sees it.
#include "CodeGen/KernelTrace.h"
#include "glia/CodeGen/Execute.h"

#include <gtest/gtest.h>

using namespace glia;

namespace {

constexpr int kRows = 128, kColumns = 64, kTiles = 100;

// Tiles one after the other, each of the tile before it; the right half of every one is never written. y is the left half of the last.
struct Chain : KernelTrace {
  std::vector<int> tiles;
  Observations wanted; // each tile, after the instruction that writes it
  Chain() {
    const int x = input("x", DType::F32, {kRows, kColumns / 2}), y = output("y", DType::F32, {kRows, kColumns / 2});
    for (int n = 0; n < kTiles; ++n) {
      tiles.push_back(sbuf(format("t%d", n).c_str(), DType::F32, {kRows, kColumns}));
      const SlotValue left = box(tiles.back(), 0, kRows, 0, kColumns / 2);
      const int written =
          n ? scale(left, box(tiles[n - 1], 0, kRows, 0, kColumns / 2), n % 2 ? 2 : 0.5f) : emit("dma_copy", {left, all(x)});
      wanted.captures.push_back({static_cast<uint32_t>(written), static_cast<uint32_t>(tiles.back()), false});
    }
    emit("dma_copy", {all(y), box(tiles.back(), 0, kRows, 0, kColumns / 2)});
  }
};

void expectChain(const RunResult &r, const Observations &seen, const std::vector<float> &in) {
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(seen.captured.size(), size_t{kTiles});
  for (int n = 0; n < kTiles; ++n) {
    const Captured &c = seen.captured[n];
    EXPECT_EQ(c.capture, static_cast<uint32_t>(n));
    const auto got = valuesOf<uint32_t>({c.bytes.begin(), c.bytes.end()});
    for (int p = 0; p < kRows; ++p)
      for (int e = 0; e < kColumns; ++e) {
        const float value = in[p * (kColumns / 2) + e % (kColumns / 2)] * (n % 2 ? 2 : 1);
        const uint32_t expected = e < kColumns / 2 ? std::bit_cast<uint32_t>(value) : 0xFFFFFFFF;
        ASSERT_EQ(got[p * kColumns + e], expected) << "tile " << n << ", " << p << ", " << e;
      }
  }
}

} // namespace

TEST(Sequential, RunsAgainOnOtherInputs) {
  Chain k;
  nisa::Kernel kernel = k.finish();
  for (int threads : {1, 2, 3}) {
    Sequential runs(kernel, k.wanted);
    for (int round = 0; round < 3; ++round) {
      const std::vector<float> in = ramp(kRows * kColumns / 2, 7 + round, 3);
      const TensorData data{{"x", bytesOf(in)}};
      Observations seen = k.wanted;
      const RunResult r = runs.run(viewsOf(data), {.threads = threads, .observe = &seen});
      expectChain(r, seen, in);
      EXPECT_EQ(valuesOf<float>(r.outputs.at("y")).front(), in.front() * (kTiles % 2 ? 1 : 2));
    }
  }
}

// What is looked at after its last use has not been given to another tile yet.
TEST(Sequential, KeepsWhatIsLookedAtLater) {
  Chain k;
  k.wanted.captures.clear();
  const int last = kTiles; // the transfer to y
  for (int n = 0; n < kTiles; n += 13)
    k.wanted.captures.push_back({static_cast<uint32_t>(last), static_cast<uint32_t>(k.tiles[n]), true});
  nisa::Kernel kernel = k.finish();
  const std::vector<float> in = ramp(kRows * kColumns / 2);
  const TensorData data{{"x", bytesOf(in)}};
  Observations seen = k.wanted;
  ASSERT_TRUE(Sequential(kernel, k.wanted).run(viewsOf(data), {.observe = &seen}).ok());
  ASSERT_EQ(seen.captured.size(), size_t{(kTiles + 12) / 13});
  for (const Captured &c : seen.captured) {
    const auto got = valuesOf<float>({c.bytes.begin(), c.bytes.end()});
    const int n = 13 * static_cast<int>(c.capture);
    EXPECT_EQ(got[3], in[3] * (n % 2 ? 2 : 1)) << n;
  }
}

TEST(Sequential, RunsOnAfterATrap) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {4, 16}), n = k.input("n", DType::I32, {1}), y = k.output("y", DType::F32, {1, 16});
  const int a = k.sbuf("a", DType::F32, {1, 16}), r = k.t.makeRegister();
  k.emit("reg_load", {k.reg(r), k.all(n)});
  k.emit("dma_copy", {k.all(a), k.plus(k.flat(x, 0, 16), r, 64)});
  k.store(y, a);
  nisa::Kernel kernel = k.finish();
  const std::vector<float> in = ramp(64);
  Sequential runs(kernel);
  for (int32_t index : {3, 4, 2, -1, 0}) {
    const TensorData data{{"x", bytesOf(in)}, {"n", bytesOf(std::vector<int32_t>{index})}};
    const RunResult result = runs.run(viewsOf(data), {.threads = 2});
    if (index < 0 || index > 3) {
      ASSERT_TRUE(result.trap);
      EXPECT_EQ(result.trap->code, "DGE-OOB");
    } else {
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(valuesOf<float>(result.outputs.at("y")),
                std::vector<float>(in.begin() + index * 16, in.begin() + index * 16 + 16));
    }
  }
}

// A tile of a loop of the device is another one in each round; what was there before is not.
TEST(Sequential, ThreadsTakeLoopsAndMatmulsInOrder) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {16, 32, 32}), y = k.output("y", DType::F32, {32, 32});
  const int total = k.psum("total", DType::F32, {32, 32}), out = k.sbuf("out", DType::F32, {32, 32});
  const int i = k.t.loop(16, -1, 0);
  const int a = k.sbuf("a", DType::F32, {32, 32}), b = k.sbuf("b", DType::F32, {32, 32});
  k.emit("dma_copy", {k.all(a), k.plus(k.flat(x, 0, 1024), i, 4096)});
  k.scale(k.all(b), k.all(a), 2);
  k.matmul(k.all(total), k.all(a), k.all(b));
  k.t.endLoop();
  k.emit("tensor_copy", {k.all(out), k.all(total)});
  k.store(y, out);
  nisa::Kernel kernel = k.finish();
  const std::vector<float> in = ramp(16 * 1024);
  const TensorData data{{"x", bytesOf(in)}};
  std::vector<double> expected(1024);
  for (int n = 0; n < 16; ++n)
    for (int m = 0; m < 32; ++m)
      for (int c = 0; c < 32; ++c)
        for (int p = 0; p < 32; ++p)
          expected[m * 32 + c] += 2.0 * in[n * 1024 + p * 32 + m] * in[n * 1024 + p * 32 + c];
  Sequential runs(kernel);
  const std::vector<std::byte> alone = runs.run(viewsOf(data)).outputs.at("y");
  for (int threads : {2, 4})
    for (int round = 0; round < 5; ++round)
      EXPECT_EQ(runs.run(viewsOf(data), {.threads = threads}).outputs.at("y"), alone);
  const std::vector<float> got = valuesOf<float>(alone);
  for (int e = 0; e < 1024; ++e)
    EXPECT_NEAR(got[e], expected[e], 1e-5 * std::abs(expected[e]) + 1e-3);
}
