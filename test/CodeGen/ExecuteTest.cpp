// The sequential executor against plain C++ on small kernels: arithmetic, accumulation, aliases, loops, two cores, ends.
#include "glia/CodeGen/Execute.h"
#include "CodeGen/KernelTrace.h"

#include <gtest/gtest.h>

using namespace glia;

static std::vector<float> run1(nisa::Kernel k, const TensorData &in, const char *out = "y") {
  const RunResult r = executeKernel(k, in);
  EXPECT_TRUE(r.ok()) << (r.fault ? render(*r.fault) : r.trap ? render(*r.trap) : "");
  return r.ok() ? valuesOf<float>(r.outputs.at(out)) : std::vector<float>();
}

TEST(Execute, AddsTwoTensors) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {64, 32}), y = k.output("y", DType::F32, {64, 32});
  const int a = k.sbuf("a", DType::F32, {64, 32}), b = k.sbuf("b", DType::F32, {64, 32});
  k.load(a, x);
  k.scale(k.all(b), k.all(a), 3);
  k.binary("add", k.all(b), k.all(b), k.all(a));
  k.store(y, b);
  const std::vector<float> in = ramp(64 * 32);
  const std::vector<float> got = run1(k.finish(), {{"x", bytesOf(in)}});
  ASSERT_EQ(got.size(), in.size());
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(got[i], 4 * in[i]) << i;
}

TEST(Execute, IntegersAreExact) {
  KernelTrace k;
  const int x = k.input("x", DType::I32, {4, 4}), y = k.output("y", DType::I32, {4, 4});
  const int a = k.sbuf("a", DType::I32, {4, 4});
  k.load(a, x);
  k.binary("multiply", k.all(a), k.all(a), k.all(a));
  k.store(y, a);
  nisa::Kernel kernel = k.finish();
  const std::vector<int32_t> in(16, 30001); // the square has 30 bits, more than fp32 holds
  const RunResult r = executeKernel(kernel, {{"x", bytesOf(in)}});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(valuesOf<int32_t>(r.outputs.at("y"))[5], 30001 * 30001);
}

// y = w^T x for w[K, M], x[K, N] in plain loops.
static std::vector<float> product(const std::vector<float> &w, const std::vector<float> &x, int K, int M, int N) {
  std::vector<float> y(M * N);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k)
        y[m * N + n] += w[k * M + m] * x[k * N + n];
  return y;
}

struct MatmulKernel : KernelTrace {
  static constexpr int K = 32, M = 32, N = 16;
  int w, x, y, sw, sx, sy;
  std::vector<float> W = ramp(K * M), X = ramp(K * N, 11, 4), P = product(W, X, K, M, N);
  TensorData data{{"w", bytesOf(W)}, {"x", bytesOf(X)}};
  explicit MatmulKernel(const char *target = "trn2") : KernelTrace(target) {
    w = input("w", DType::F32, {K, M}), x = input("x", DType::F32, {K, N}), y = output("y", DType::F32, {M, N});
    sw = sbuf("sw", DType::F32, {K, M}), sx = sbuf("sx", DType::F32, {K, N}), sy = sbuf("sy", DType::F32, {M, N});
    load(sw, w);
    load(sx, x);
  }
  std::vector<float> result(int acc) {
    emit("tensor_copy", {all(sy), all(acc)});
    store(y, sy);
    return run1(finish(), data);
  }
};

TEST(Execute, FirstMatmulOverwritesLaterOnesAccumulate) {
  MatmulKernel k;
  const int acc = k.psum("acc", DType::F32, {32, 16});
  for (int i = 0; i < 3; ++i)
    k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx));
  const std::vector<float> got = k.result(acc);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], 3 * k.P[i]);
}

TEST(Execute, FirstWritesArePerElement) {
  MatmulKernel k;
  const int acc = k.psum("acc", DType::F32, {32, 16});
  k.matmul(k.box(acc, 0, 32, 0, 10), k.all(k.sw), k.box(k.sx, 0, 32, 0, 10));
  k.matmul(k.box(acc, 0, 32, 6, 16), k.all(k.sw), k.box(k.sx, 0, 32, 6, 16)); // columns 6 to 9 for the second time
  const std::vector<float> got = k.result(acc);
  for (int m = 0; m < 32; ++m)
    for (int n = 0; n < 16; ++n)
      EXPECT_EQ(got[m * 16 + n], (n >= 6 && n < 10 ? 2 : 1) * k.P[m * 16 + n]) << m << " " << n;
}

TEST(Execute, ZeroFillAndAccumulate) {
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    MatmulKernel k(target);
    const int acc = k.psum("acc", DType::F32, {32, 16});
    for (int group = 0; group < 2; ++group) {
      k.emit("memset", {k.all(acc)});
      k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx), 1);
      k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx), 1);
    }
    const std::vector<float> got = k.result(acc);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], 2 * k.P[i]) << target;
  }
}

TEST(Execute, AccumulatingOntoNothingIsRefused) {
  MatmulKernel k;
  const int acc = k.psum("acc", DType::F32, {32, 16});
  k.line = 41;
  k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx), 1);
  nisa::Kernel kernel = k.finish();
  const RunResult r = executeKernel(kernel, k.data);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "PSUM-ACCUMULATE");
  EXPECT_EQ(r.fault->place.line, 41u);
}

TEST(Execute, OnlySomeTargetsAddToWhatVectorWrote) {
  for (const char *target : {"trn2", "trn3"}) {
    MatmulKernel k(target);
    const int acc = k.psum("acc", DType::F32, {32, 16});
    k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx));
    k.scale(k.all(acc), k.all(acc), 2, 1);
    k.matmul(k.all(acc), k.all(k.sw), k.all(k.sx));
    k.emit("tensor_copy", {k.all(k.sy), k.all(acc)});
    k.store(k.y, k.sy);
    nisa::Kernel kernel = k.finish();
    const RunResult r = executeKernel(kernel, k.data);
    if (std::string_view(target) == "trn2") {
      ASSERT_TRUE(r.fault);
      EXPECT_EQ(r.fault->code, "PSUM-ACCUMULATE");
    } else {
      ASSERT_TRUE(r.ok());
      EXPECT_EQ(valuesOf<float>(r.outputs.at("y"))[7], 3 * k.P[7]);
    }
  }
}

TEST(Execute, GivenAddressesAlias) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {32, 8}), y = k.output("y", DType::F32, {32, 8});
  const int a = k.sbuf("a", DType::F32, {64, 16}, 0, 256), b = k.sbuf("b", DType::F32, {32, 8}, 32, 288);
  k.emit("memset", {k.all(a), SlotValue::of(9.0f)});
  k.emit("dma_copy", {k.box(a, 32, 64, 8, 16), k.all(x)});
  k.store(y, b); // b is that corner of a
  const std::vector<float> in = ramp(32 * 8);
  EXPECT_EQ(run1(k.finish(), {{"x", bytesOf(in)}}), in);
}

// The loop count comes from memory: rows are doubled `n` times.
static nisa::Kernel doubling() {
  KernelTrace k;
  const int n = k.input("n", DType::I32, {1}), y = k.output("y", DType::F32, {8, 4});
  const int a = k.sbuf("a", DType::F32, {8, 4}), b = k.sbuf("b", DType::F32, {8, 4});
  const int count = k.t.makeRegister();
  k.emit("reg_load", {k.reg(count), k.all(n)});
  k.emit("memset", {k.all(a), SlotValue::of(1.0f)});
  k.t.loop(0, count, 0);
  k.scale(k.all(a), k.all(a), 2);
  k.t.endLoop();
  k.emit("tensor_copy", {k.all(b), k.all(a)});
  k.store(y, b);
  return k.finish();
}

TEST(Execute, LoopsCountAtRunTime) {
  for (int32_t n : {-2, 0, 1, 5})
    EXPECT_EQ(run1(doubling(), {{"n", bytesOf(std::vector<int32_t>{n})}})[3], n <= 0 ? 1.0f : static_cast<float>(1 << n));
}

TEST(Execute, StepsAreLimited) {
  nisa::Kernel k = doubling();
  const RunResult r = executeKernel(k, {{"n", bytesOf(std::vector<int32_t>{1 << 30})}}, {.maxSteps = 1000});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "SIM-STEPS");
}

TEST(Execute, IteratorsMoveAddresses) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {4, 8, 16}), y = k.output("y", DType::F32, {4, 8, 16});
  const int i = k.t.loop(4, -1, 0);
  const int a = k.sbuf("a", DType::F32, {8, 16});
  k.emit("dma_copy", {k.all(a), k.plus(k.flat(x, 0, 128), i, 512)});
  k.scale(k.all(a), k.all(a), 5);
  k.emit("dma_copy", {k.plus(k.flat(y, 0, 128), i, 512), k.all(a)});
  k.t.endLoop();
  const std::vector<float> in = ramp(4 * 8 * 16), got = run1(k.finish(), {{"x", bytesOf(in)}});
  ASSERT_EQ(got.size(), in.size());
  for (size_t e = 0; e < in.size(); ++e)
    EXPECT_EQ(got[e], 5 * in[e]);
}

TEST(Execute, WhileRunsUntilZero) {
  KernelTrace k;
  const int n = k.input("n", DType::I32, {1}), y = k.output("y", DType::F32, {1, 1});
  const int a = k.sbuf("a", DType::F32, {1, 1}), r = k.t.makeRegister();
  k.emit("reg_load", {k.reg(r), k.all(n)});
  k.emit("memset", {k.all(a), SlotValue::of(1.0f)});
  k.t.whileLoop(r, 0);
  k.scale(k.all(a), k.all(a), 3);
  k.emit("reg_alu", {k.reg(r), SlotValue::of(choice("reg_alu", "op", "subtract")), k.reg(r), SlotValue::of(int32_t{1})});
  k.t.endWhile();
  k.store(y, a);
  EXPECT_EQ(run1(k.finish(), {{"n", bytesOf(std::vector<int32_t>{4})}})[0], 81.0f);
}

TEST(Execute, IndexOutOfRangeTraps) {
  for (int32_t index : {3, 4}) {
    KernelTrace k;
    const int x = k.input("x", DType::F32, {4, 16}), n = k.input("n", DType::I32, {1}),
              y = k.output("y", DType::F32, {1, 16});
    const int a = k.sbuf("a", DType::F32, {1, 16}), r = k.t.makeRegister();
    k.emit("reg_load", {k.reg(r), k.all(n)});
    k.line = 12;
    k.emit("dma_copy", {k.all(a), k.plus(k.flat(x, 0, 16), r, 64)});
    k.store(y, a);
    nisa::Kernel kernel = k.finish();
    const std::vector<float> in = ramp(64);
    const RunResult result = executeKernel(kernel, {{"x", bytesOf(in)}, {"n", bytesOf(std::vector<int32_t>{index})}});
    if (index == 3) {
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(valuesOf<float>(result.outputs.at("y")), std::vector<float>(in.begin() + 48, in.end()));
    } else {
      ASSERT_TRUE(result.trap);
      EXPECT_EQ(result.trap->code, "DGE-OOB");
      EXPECT_EQ(result.trap->place.line, 12u);
    }
  }
}

TEST(Execute, GathersRows) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {8, 16}), n = k.input("n", DType::I32, {4, 1}),
            y = k.output("y", DType::F32, {4, 16});
  const int a = k.sbuf("a", DType::F32, {4, 16}), idx = k.sbuf("idx", DType::I32, {4, 1});
  k.load(idx, n);
  SlotValue rows = k.flat(x, 0, 64);
  rows.tensor.dims = {16, 4, 1, 16};
  k.emit("dma_copy", {k.all(a), rows, k.none(), k.all(idx)});
  k.store(y, a);
  const std::vector<float> in = ramp(128);
  const std::vector<int32_t> at{6, 0, 3, 6};
  const std::vector<float> got = run1(k.finish(), {{"x", bytesOf(in)}, {"n", bytesOf(at)}});
  ASSERT_EQ(got.size(), 64u);
  for (int p = 0; p < 4; ++p)
    for (int c = 0; c < 16; ++c)
      EXPECT_EQ(got[p * 16 + c], in[at[p] * 16 + c]);
}

TEST(Execute, AccumulatorRegistersOutliveAnInstruction) {
  KernelTrace k;
  const int x = k.input("x", DType::F32, {8, 16}), y = k.output("y", DType::F32, {8, 1});
  const int a = k.sbuf("a", DType::F32, {8, 16}), b = k.sbuf("b", DType::F32, {8, 16}), s = k.sbuf("s", DType::F32, {8, 1});
  k.load(a, x);
  auto activation = [&](const char *cmd, bool out) {
    std::vector<SlotValue> v{k.all(b),
                             k.all(a),
                             SlotValue::of(choice("activation", "fn", "copy")),
                             SlotValue::of(1.0f),
                             k.none(),
                             SlotValue::of(choice("activation", "reduce_cmd", cmd))};
    if (out)
      v.push_back(k.all(s));
    k.emit("activation", v);
  };
  activation("reset_reduce", false);
  activation("reduce", true);
  k.store(y, s);
  const std::vector<float> in = ramp(128), got = run1(k.finish(), {{"x", bytesOf(in)}});
  ASSERT_EQ(got.size(), 8u);
  for (int p = 0; p < 8; ++p) {
    float sum = 0;
    for (int c = 0; c < 16; ++c)
      sum += in[p * 16 + c];
    EXPECT_EQ(got[p], 2 * sum);
  }
}

// ---- two cores --------------------------------------------------------------------------------------------------------------

TEST(Execute, CoresExchangeAndMeet) {
  KernelTrace k("trn2", 2);
  const int x = k.input("x", DType::F32, {2, 16, 8}), y = k.output("y", DType::F32, {2, 16, 8});
  const int shared = k.t.tensor("scratch", "shared", DType::F32, {2, 16, 8}, true, {});
  for (int c = 0; c < 2; ++c) {
    k.t.core(c);
    const int a = k.sbuf("a", DType::F32, {16, 8}), b = k.sbuf("b", DType::F32, {16, 8});
    k.emit("dma_copy", {k.all(a), k.flat(x, c * 128, c * 128 + 128)});
    k.emit("sendrecv", {k.all(b), k.all(a), SlotValue::of(int32_t{3})});
    k.binary("subtract", k.all(b), k.all(b), k.all(a)); // other - mine
    k.emit("dma_copy", {k.flat(shared, c * 128, c * 128 + 128), k.all(b)});
    k.emit("core_barrier", {SlotValue::of(std::string("written"))});
    k.emit("dma_copy", {k.all(a), k.flat(shared, (1 - c) * 128, (1 - c) * 128 + 128)});
    k.emit("dma_copy", {k.flat(y, c * 128, c * 128 + 128), k.all(a)});
  }
  const std::vector<float> in = ramp(256), got = run1(k.finish(), {{"x", bytesOf(in)}});
  ASSERT_EQ(got.size(), 256u);
  for (int c = 0; c < 2; ++c)
    for (int e = 0; e < 128; ++e)
      EXPECT_EQ(got[c * 128 + e], in[c * 128 + e] - in[(1 - c) * 128 + e]);
}

TEST(Execute, DivergentCoresAreNamed) {
  KernelTrace k("trn2", 2);
  const int y = k.output("y", DType::F32, {1, 1});
  for (int c = 0; c < 2; ++c) {
    k.t.core(c);
    k.line = 10 + c;
    k.emit("core_barrier", {SlotValue::of(std::string(c ? "right" : "left"))});
    if (c == 0) {
      const int a = k.sbuf("a", DType::F32, {1, 1});
      k.emit("memset", {k.all(a)});
      k.store(y, a);
    }
  }
  nisa::Kernel kernel = k.finish();
  const RunResult r = executeKernel(kernel, {});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "BARRIER-PAIR");
  EXPECT_NE(r.fault->message.find("left"), std::string::npos);
  ASSERT_EQ(r.fault->notes.size(), 1u);
  EXPECT_NE(r.fault->notes[0].find("right"), std::string::npos);
  EXPECT_NE(r.fault->notes[0].find("kernel.py:11"), std::string::npos);
}

// Faults have the names that the simulators of programs give them.
TEST(Execute, AnExchangeWithoutPartnerIsNamed) {
  KernelTrace k("trn2", 2);
  k.output("y", DType::F32, {1, 1});
  k.t.core(0);
  const int a = k.sbuf("a", DType::F32, {1, 1}), b = k.sbuf("b", DType::F32, {1, 1});
  k.emit("memset", {k.all(a)});
  k.emit("sendrecv", {k.all(b), k.all(a)});
  nisa::Kernel kernel = k.finish();
  const RunResult r = executeKernel(kernel, {});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "SENDRECV-PAIR");
}

TEST(Execute, AnOperandOutsideItsTileIsNamed) {
  for (int32_t at : {12, 13}) {
    KernelTrace k;
    const int n = k.input("n", DType::I32, {1}), y = k.output("y", DType::F32, {8, 16});
    const int a = k.sbuf("a", DType::F32, {8, 16}), r = k.t.makeRegister();
    k.emit("reg_load", {k.reg(r), k.all(n)});
    k.emit("memset", {k.all(a), SlotValue::of(1.0f)});
    k.line = 21;
    k.emit("memset", {k.plus(k.box(a, 0, 8, 0, 4), r, 4), SlotValue::of(2.0f)});
    k.store(y, a);
    nisa::Kernel kernel = k.finish();
    const RunResult result = executeKernel(kernel, {{"n", bytesOf(std::vector<int32_t>{at})}});
    EXPECT_EQ(result.ok(), at == 12);
    if (at == 12)
      continue;
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->code, "OPERAND-BOUNDS");
    EXPECT_EQ(result.fault->place.line, 21u);
  }
}

// ---- bad input --------------------------------------------------------------------------------------------------------------

TEST(Execute, WrongInputsAreRefused) {
  nisa::Kernel k = doubling();
  EXPECT_THROW(executeKernel(k, {}), Error);
  EXPECT_THROW(executeKernel(k, {{"n", std::vector<std::byte>(3)}}), Error);
}
