// Fast mode through the builder: results, control flow, semaphores, deadlock, bounds, inputs.
#include "SimPrograms.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::simtest;

TEST(Fast, AddsTwoTensors) {
  const Program p = addProgram("trn2");
  const auto x = ramp(128 * 16, 1.0f), y = ramp(128 * 16, 100.0f);
  const RunResult r = run(p, {{"x", bytes(x)}, {"y", bytes(y)}});
  ASSERT_TRUE(r.ok()) << render(*r.fault);
  const auto z = floats(r.outputs.at("z"));
  for (size_t i = 0; i < z.size(); ++i)
    ASSERT_EQ(z[i], x[i] + y[i]) << i;
  EXPECT_EQ(r.instructions, 4u);
}

TEST(Fast, LoopsCountAndAddress) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {8});
  loopStart(b, Engine::Sync, 1, 8);
  b.emit(Engine::Sync, "reg_alu").reg("dst", 2).set("op", "multiply").reg("a", 1).set("b", 3);
  b.emit(Engine::Sync, "reg_store").set("dst", b.dynamic(b.view(out, {{0, 1}}), 1, 4)).reg("src", 2);
  loopEnd(b, Engine::Sync, 0);
  const RunResult r = run(b.finish(), {});
  ASSERT_TRUE(r.ok()) << render(*r.fault);
  const auto z = ints(r.outputs.at("out"));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(z[i], 3 * i);
}

TEST(Fast, ZeroTripsSkipTheBody) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {1});
  b.emit(Engine::Sync, "reg_move").reg("dst", 2).set("src", 7);
  loopStart(b, Engine::Sync, 1, 0);
  b.emit(Engine::Sync, "reg_move").reg("dst", 2).set("src", 9);
  loopEnd(b, Engine::Sync, 1);
  b.emit(Engine::Sync, "reg_store").set("dst", out).reg("src", 2);
  const RunResult r = run(b.finish(), {});
  ASSERT_TRUE(r.ok()) << render(*r.fault);
  EXPECT_EQ(ints(r.outputs.at("out"))[0], 7);
}

TEST(Fast, DeadlockNamesInstructionAndSemaphore) {
  Builder b(loadTarget("trn2"));
  const int s = b.semaphore("never");
  b.emit(Engine::Vector, "nop").when(s, 3);
  const RunResult r = run(b.finish(), {});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "SYNC-DEADLOCK");
  EXPECT_NE(r.fault->message.find("core 0 vector instruction 0: nop"), std::string::npos) << r.fault->message;
  EXPECT_NE(r.fault->message.find("`never` >= 3, which is 0"), std::string::npos) << r.fault->message;
}

TEST(Fast, RegisterAddressOutOfBoundsFaults) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {4});
  b.emit(Engine::Sync, "reg_move").reg("dst", 1).set("src", 4);
  b.emit(Engine::Sync, "reg_store").set("dst", b.dynamic(b.view(out, {{0, 1}}), 1, 4)).reg("src", 1);
  const RunResult r = run(b.finish(), {});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "OPERAND-BOUNDS");
}

TEST(Fast, RegisterAddressOfDmaTraps) {
  Builder b(loadTarget("trn2"));
  const ObjectRef x = b.input("x", DType::I32, {4}), out = b.output("out", DType::I32, {1});
  const int q = b.queue("q"), done = b.semaphore("done");
  b.emit(Engine::Sync, "reg_move").reg("dst", 1).set("src", 4);
  b.emit(Engine::Sync, "dma_copy")
      .set("dst", out)
      .set("src", b.dynamic(b.view(x, {{0, 1}}), 1, 4))
      .set("dge", "hwdge")
      .queue(q)
      .then(done, 16);
  const RunResult r = run(b.finish(), {{"x", std::vector<std::byte>(16)}});
  EXPECT_FALSE(r.fault) << render(*r.fault);
  ASSERT_TRUE(r.trap);
  EXPECT_EQ(r.trap->code, "DGE-OOB");
}

// A table of 4 rows, 8 indices: the indexed operand is larger than its tensor, each row is guarded on its own.
TEST(Fast, GatherRepeatsRowsAndTraps) {
  for (int32_t bad : {3, 4}) {
    Builder b(loadTarget("trn2"));
    const ObjectRef x = b.input("x", DType::F32, {4, 2}), i = b.input("i", DType::I32, {8, 1}),
                    out = b.output("out", DType::F32, {8, 2});
    const ObjectRef ti = b.sbuf("ti", DType::I32, {8, 1}, 0, 0), t = b.sbuf("t", DType::F32, {8, 2}, 0, 64);
    const int q = b.queue("q"), g = b.queue("g"), si = b.semaphore("si"), sg = b.semaphore("sg"), so = b.semaphore("so");
    b.emit(Engine::Sync, "dma_copy").set("dst", ti).set("src", i).queue(q).then(si, 16);
    gatherPairs(b, t, x, ti, 8, g).when(si, 16).then(sg, 16);
    b.emit(Engine::Sync, "dma_copy").set("dst", out).set("src", t).queue(q).when(sg, 16).then(so, 16);
    const std::vector<int32_t> index{3, 0, 1, 2, 2, 2, bad, 0};
    const RunResult r = run(b.finish(), {{"x", bytes(ramp(8, 0))}, {"i", bytes(index)}});
    ASSERT_FALSE(r.fault) << render(*r.fault);
    ASSERT_EQ(r.trap.has_value(), bad == 4);
    if (r.trap)
      continue;
    const auto z = floats(r.outputs.at("out"));
    for (int k = 0; k < 16; ++k)
      EXPECT_EQ(z[k], 2 * index[k / 2] + k % 2);
  }
}

TEST(Fast, StepsAreLimited) {
  Builder b(loadTarget("trn2"));
  loopStart(b, Engine::Sync, 1, 1 << 30);
  b.emit(Engine::Sync, "nop");
  loopEnd(b, Engine::Sync, 0);
  RunOptions o;
  o.maxSteps = 1000;
  const RunResult r = run(b.finish(), {}, o);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->code, "SIM-STEPS");
  EXPECT_EQ(r.instructions, 1000u);
}

TEST(Fast, InputsAreChecked) {
  const Program p = addProgram("trn2");
  const std::vector<std::byte> good(128 * 16 * 4);
  auto code = [&](const TensorData &in) -> std::string {
    try {
      run(p, in);
    } catch (const Error &e) {
      return e.diagnostics()[0].code + ": " + e.diagnostics()[0].message;
    }
    return "ran";
  };
  EXPECT_EQ(code({{"x", good}}), "RUN-INPUT: input `y` is missing");
  EXPECT_EQ(code({{"x", good}, {"y", good}, {"w", good}}), "RUN-INPUT: the program has no input `w`");
  EXPECT_EQ(code({{"x", good}, {"y", {}}}), "RUN-INPUT: input `y` has 0 bytes and needs 8192");
  EXPECT_EQ(code({{"x", good}, {"y", good}}), "ran");
}

TEST(Fast, DeclaredRangesAndUniqueValuesAreChecked) {
  Builder b(loadTarget("trn2"));
  Tensor t;
  t.name = "i";
  t.dtype = DType::I32;
  t.shape = {4};
  t.kind = TensorKind::Input;
  t.hasRange = true;
  t.rangeLo = 0;
  t.rangeHi = 9;
  t.uniqueRows = true;
  b.tensor(t);
  const Program p = b.finish();
  EXPECT_TRUE(run(p, {{"i", bytes(std::vector<int32_t>{3, 0, 9, 1})}}).ok());
  EXPECT_THROW(run(p, {{"i", bytes(std::vector<int32_t>{3, 0, 10, 1})}}), Error);
  EXPECT_THROW(run(p, {{"i", bytes(std::vector<int32_t>{3, 0, -1, 1})}}), Error);
  EXPECT_THROW(run(p, {{"i", bytes(std::vector<int32_t>{3, 0, 3, 1})}}), Error);
}
