// Strict mode through the builder: same bytes as fast mode under every seed, and each kind of fault.
#include "SimPrograms.h"
#include "glia/Program/Assembler.h"
#include "glia/Support/Diagnostic.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::simtest;

namespace {

RunResult strict(const Program &p, const TensorData &in, uint64_t seed = 0, std::string hold = {}) {
  RunOptions o;
  o.strict = true;
  o.seed = seed;
  o.hold = std::move(hold);
  return run(p, in, o);
}

std::string code(const RunResult &r) { return r.fault ? r.fault->code : r.trap ? r.trap->code : "ok"; }
std::string text(const RunResult &r) { return r.fault ? render(*r.fault) : r.trap ? render(*r.trap) : "ok"; }

} // namespace

TEST(Strict, SameBytesAsFastUnderEverySeed) {
  const Program p = addProgram("trn2");
  const TensorData in{{"x", bytes(ramp(2048, 1))}, {"y", bytes(ramp(2048, 100))}};
  const RunResult fast = run(p, in);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RunResult r = strict(p, in, seed);
    ASSERT_TRUE(r.ok()) << text(r);
    ASSERT_EQ(r.outputs, fast.outputs) << seed;
  }
}

// The caller's bytes stay; what the program does not write is the input.
TEST(Strict, OutputThatBeginsAsAnInput) {
  const Program p =
      assemble("target trn2\noutput y : f32[16, 4] from x\nsbuf t : f32[16, 4] @ 0\nsemaphore s\nsemaphore done\n"
               "queue q\nsync dma_copy dst=t src=y queue=q then s += 16\n"
               "vector tensor_scalar dst=t data=t op0=multiply operand0=2.0 when s >= 16 then done += 1\n"
               "sync dma_copy dst=y[0:8] src=t[0:8] queue=q when done >= 1\n",
               "t.gasm");
  const TensorData in{{"x", bytes(ramp(64, 1))}}, kept = in;
  std::vector<float> want = ramp(64, 1);
  for (size_t i = 0; i < 32; ++i)
    want[i] *= 2;
  EXPECT_EQ(run(p, in).outputs.at("y"), bytes(want));
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const RunResult r = strict(p, in, seed);
    ASSERT_TRUE(r.ok()) << text(r);
    EXPECT_EQ(r.outputs.at("y"), bytes(want));
  }
  EXPECT_EQ(in, kept);
  EXPECT_THROW(run(p, {}), Error);
  EXPECT_THROW(run(p, {{"y", in.at("x")}}), Error);
}

TEST(Strict, MissingWaitIsARace) {
  const Program p = addProgram("trn2", 0);
  const TensorData in{{"x", bytes(ramp(2048, 1))}, {"y", bytes(ramp(2048, 100))}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RunResult r = strict(p, in, seed);
    ASSERT_EQ(code(r), "RACE") << text(r);
    EXPECT_NE(r.fault->message.find("`ty`"), std::string::npos) << text(r);
    EXPECT_NE(text(r).find("sync instruction 1: dma_copy"), std::string::npos) << text(r);
    EXPECT_EQ(r.fault->place.file, "add.py");
    EXPECT_EQ(r.fault->place.line, 7u);
  }
}

TEST(Strict, PartOfATransferProvesNothing) {
  const TensorData in{{"x", bytes(ramp(2048, 1))}, {"y", bytes(ramp(2048, 100))}};
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(code(strict(addProgram("trn2", 15), in, seed)), "RACE");
}

// S >= 16 with two transfers outstanding on S proves neither (S5).
TEST(Strict, SharedSemaphoreIsAmbiguous) {
  Builder b(loadTarget("trn2"));
  const ObjectRef x = b.input("x", DType::F32, {128, 16}), z = b.output("z", DType::F32, {128, 16});
  const ObjectRef t = b.sbuf("t", DType::F32, {128, 16}, 0, 0), u = b.sbuf("u", DType::F32, {128, 16}, 0, 64);
  const int s = b.semaphore("s"), done = b.semaphore("done"), q = b.queue("q"), q2 = b.queue("q2"), q3 = b.queue("q3");
  b.emit(Engine::Sync, "dma_copy").set("dst", t).set("src", x).queue(q).then(s, 16);
  b.emit(Engine::Sync, "dma_copy").set("dst", u).set("src", x).queue(q2).then(s, 16);
  b.emit(Engine::GpSimd, "dma_copy").set("dst", z).set("src", t).queue(q3).when(s, 16).then(done, 16);
  const Program p = b.finish();
  int races = 0;
  for (uint64_t seed = 0; seed < 50; ++seed)
    races += code(strict(p, {{"x", bytes(ramp(2048, 1))}}, seed)) == "RACE";
  EXPECT_GE(races, 40);
}

TEST(Strict, HoldReplaysTheOtherOrder) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {2});
  b.emit(Engine::Sync, "reg_store").set("dst", b.view(out, {{0, 1}})).reg("src", 0);
  b.emit(Engine::Vector, "reg_store").set("dst", b.view(out, {{0, 1}})).reg("src", 0);
  const Program p = b.finish();
  EXPECT_EQ(strict(p, {}, 0, "core0.sync#0").fault->context, "core 0 sync instruction 0: reg_store");
  EXPECT_EQ(strict(p, {}, 0, "core0.vector#0").fault->context, "core 0 vector instruction 0: reg_store");
  EXPECT_THROW(strict(p, {}, 0, "core0.vector#1"), Error);
  EXPECT_THROW(strict(p, {}, 0, "nonsense"), Error);
}

TEST(Strict, OutputMustBeWritten) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {2});
  b.emit(Engine::Sync, "reg_move").reg("dst", 0).set("src", 1);
  b.emit(Engine::Sync, "reg_store").set("dst", b.view(out, {{0, 1}})).reg("src", 0);
  const RunResult r = strict(b.finish(), {});
  ASSERT_EQ(code(r), "OUTPUT-UNWRITTEN") << text(r);
  EXPECT_NE(r.fault->message.find("element 1 of output `out`"), std::string::npos);
}

// Undefined bytes may be computed on; only where they reach an output is a fault, element by element.
TEST(Strict, UndefinedBytesFollowTheData) {
  for (bool reachOutput : {false, true}) {
    Builder b(loadTarget("trn2"));
    const ObjectRef z = b.output("z", DType::F32, {32, 4});
    const ObjectRef t = b.sbuf("t", DType::F32, {32, 8}, 0, 0);
    const int s = b.semaphore("s"), done = b.semaphore("done"), q = b.queue("q");
    b.emit(Engine::Vector, "memset").set("dst", b.view(t, {{0, 32}, {0, 4}})).set("value", 3.0f);
    b.emit(Engine::Vector, "tensor_scalar")
        .set("dst", t)
        .set("data", t)
        .set("op0", "multiply")
        .set("operand0", 2.0f)
        .then(s, 1);
    b.emit(Engine::Sync, "dma_copy")
        .set("dst", z)
        .set("src", b.view(t, {{0, 32}, {reachOutput ? 1 : 0, reachOutput ? 5 : 4}}))
        .queue(q)
        .when(s, 1)
        .then(done, 16);
    const RunResult r = strict(b.finish(), {});
    EXPECT_EQ(code(r), reachOutput ? "UNDEFINED-OUTPUT" : "ok") << text(r);
    if (reachOutput) {
      EXPECT_NE(text(r).find("element 3 of output `z`"), std::string::npos) << text(r);
    }
  }
}

TEST(Strict, RegisterThatNobodyWroteIsUndefined) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {1});
  b.emit(Engine::Sync, "reg_store").set("dst", out).reg("src", 9);
  EXPECT_EQ(code(strict(b.finish(), {})), "UNDEFINED-OUTPUT");
}

TEST(Strict, UndefinedRegisterAsAddress) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::I32, {2}), s = b.scratch("s", DType::I32, {1});
  b.emit(Engine::Sync, "reg_load").reg("dst", 1).set("src", s);
  b.emit(Engine::Sync, "reg_store").set("dst", b.dynamic(b.view(out, {{0, 1}}), 1, 4)).reg("src", 0);
  EXPECT_EQ(code(strict(b.finish(), {})), "UNDEFINED-ADDRESS");
}

// M3: bytes belong to the allocation that wrote them last.
TEST(Strict, OtherAllocationReadsUndefined) {
  for (bool through : {false, true}) {
    Builder b(loadTarget("trn2"));
    const ObjectRef z = b.output("z", DType::F32, {32, 4});
    const ObjectRef t = b.sbuf("t", DType::F32, {32, 4}, 0, 0), u = b.sbuf("u", DType::F32, {32, 4}, 0, 0);
    const int s = b.semaphore("s"), done = b.semaphore("done"), q = b.queue("q");
    b.emit(Engine::Vector, "memset").set("dst", t).set("value", 1.0f);
    b.emit(Engine::Vector, "memset").set("dst", u).set("value", 2.0f).then(s, 1);
    b.emit(Engine::Sync, "dma_copy").set("dst", z).set("src", through ? t : u).queue(q).when(s, 1).then(done, 16);
    const RunResult r = strict(b.finish(), {});
    EXPECT_EQ(code(r), through ? "UNDEFINED-OUTPUT" : "ok") << text(r);
  }
}

TEST(Strict, OverlappingOperands) {
  Builder b(loadTarget("trn2"));
  const ObjectRef t = b.sbuf("t", DType::F32, {32, 8}, 0, 0);
  b.emit(Engine::Vector, "tensor_copy").set("dst", b.view(t, {{0, 32}, {1, 5}})).set("src", b.view(t, {{0, 32}, {0, 4}}));
  EXPECT_EQ(code(strict(b.finish(), {})), "OPERAND-OVERLAP");
}

TEST(Strict, ScatterToTheSameRowTwice) {
  for (int32_t second : {1, 2}) {
    Builder b(loadTarget("trn2"));
    const ObjectRef i = b.input("i", DType::I32, {4, 1}), z = b.output("z", DType::F32, {4, 2});
    const ObjectRef ti = b.sbuf("ti", DType::I32, {4, 1}, 0, 0), t = b.sbuf("t", DType::F32, {4, 2}, 0, 64);
    const int q = b.queue("q"), g = b.queue("g"), si = b.semaphore("si"), st = b.semaphore("st"), so = b.semaphore("so");
    b.emit(Engine::Sync, "dma_copy").set("dst", ti).set("src", i).queue(q).then(si, 16);
    b.emit(Engine::Vector, "memset").set("dst", t).set("value", 1.0f).then(st, 1);
    b.emit(Engine::GpSimd, "dma_copy")
        .set("dst", z)
        .set("src", t)
        .set("dst_index", ti)
        .set("index_stride", 2)
        .set("dge", "swdge")
        .queue(g)
        .when(si, 16)
        .when(st, 1)
        .then(so, 16);
    const Program p = b.finish();
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const RunResult r = strict(p, {{"i", bytes(std::vector<int32_t>{0, 1, second, 3})}}, seed);
      EXPECT_EQ(code(r), second == 1 ? "SCATTER-UNIQUE" : "ok") << text(r);
    }
  }
}

TEST(Strict, WritesToInputsAreRefused) {
  Builder b(loadTarget("trn2"));
  const ObjectRef x = b.input("x", DType::I32, {1});
  b.emit(Engine::Sync, "reg_store").set("dst", x).reg("src", 0);
  EXPECT_EQ(code(strict(b.finish(), {{"x", std::vector<std::byte>(4)}})), "READ-ONLY");
}

TEST(Strict, SemaphoreRange) {
  Builder b(loadTarget("trn2"));
  const int s = b.semaphore("s", static_cast<int32_t>(b.program().target->semaphoreMax));
  b.emit(Engine::Sync, "nop").then(s, 1);
  EXPECT_EQ(code(strict(b.finish(), {})), "SYNC-RANGE");
}

// Ordered accesses through a chain of engines, with a rotating pair of buffers in a loop.
TEST(Strict, RotatingBuffersInALoop) {
  Builder b(loadTarget("trn2"));
  const ObjectRef out = b.output("out", DType::F32, {1, 1});
  const ObjectRef t = b.sbuf("t", DType::F32, {1, 2}, 0, 0), sum = b.sbuf("sum", DType::F32, {1, 1}, 0, 64);
  const int full = b.semaphore("full"), free = b.semaphore("free", 2), end = b.semaphore("end"),
            stored = b.semaphore("stored");
  const int q = b.queue("q");
  for (Engine e : {Engine::GpSimd, Engine::Vector}) {
    if (e == Engine::Vector)
      b.emit(e, "memset").set("dst", sum).set("value", 0.0f);
    const uint32_t begin = b.nextIndex(0, e);
    loopStart(b, e, 1, 10);
    b.emit(e, "reg_alu").reg("dst", 2).set("op", "and").reg("a", 1).set("b", 1);
    const Access one = b.dynamic(b.view(t, {{0, 1}, {0, 1}}), 2, 4);
    if (e == Engine::GpSimd)
      b.emit(e, "memset").set("dst", one).set("value", 1.0f).when(free, 1, true).then(full, 1);
    else
      b.emit(e, "tensor_tensor")
          .set("dst", sum)
          .set("a", sum)
          .set("b", one)
          .set("op", "add")
          .when(full, 1, true)
          .then(free, 1);
    loopEnd(b, e, begin);
  }
  b.emit(Engine::Vector, "nop").then(end, 1);
  b.emit(Engine::Sync, "dma_copy").set("dst", out).set("src", sum).queue(q).when(end, 1).then(stored, 16);
  const Program p = b.finish();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RunResult r = strict(p, {}, seed);
    ASSERT_TRUE(r.ok()) << text(r);
    EXPECT_EQ(floats(r.outputs.at("out"))[0], 10.0f);
  }
}

TEST(Strict, TouchesAreReported) {
  const Program p = addProgram("trn2");
  int64_t reads = 0, writes = 0;
  RunOptions o;
  o.strict = true;
  o.onTouch = [&](const Decoded &d, int slot, int partition, int64_t byte, int64_t n, bool write) {
    EXPECT_GE(partition, 0);
    EXPECT_LT(partition, 128);
    EXPECT_GE(byte, 0);
    EXPECT_LT(slot, static_cast<int>(d.def->slots.size()));
    (write ? writes : reads) += n;
  };
  ASSERT_TRUE(run(p, {{"x", bytes(ramp(2048, 1))}, {"y", bytes(ramp(2048, 100))}}, o).ok());
  EXPECT_EQ(writes, 4 * 8192);
  EXPECT_EQ(reads, 5 * 8192);
}
