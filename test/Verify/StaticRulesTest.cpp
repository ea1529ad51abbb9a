// Static rules where the smallest programs of the rule book do not reach: what overlaps and what only looks like it,
// lifetimes, numbers at the edge of their types, and the limit on reports.
#include "glia/Program/Assembler.h"
#include "glia/Program/Builder.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

static std::vector<std::string> codes(const Program &p, const VerifyOptions &o = {}) {
  std::vector<std::string> out;
  for (const Diagnostic &d : verify(p, o).diagnostics)
    out.push_back(d.code);
  return out;
}

static std::vector<std::string> codes(std::string_view text, const char *target = "trn2") {
  return codes(assemble(text, "test.gasm", loadTarget(target)));
}

using Codes = std::vector<std::string>;

// ---- operands of one instruction that meet -----------------------------------------------------------------------------

static Codes copyWithin(const std::string &dst, const std::string &src) {
  return codes("sbuf t : f32[128, 8, 64] @ 0\nvector memset dst=t value=1.0\nvector tensor_copy dst=" + dst + " src=" + src);
}

TEST(OperandOverlap, SameViewWorksInPlace) { EXPECT_EQ(copyWithin("t", "t"), Codes{}); }
TEST(OperandOverlap, ColumnHalvesAreDisjoint) { EXPECT_EQ(copyWithin("t[:, :, 0:32]", "t[:, :, 32:64]"), Codes{}); }
TEST(OperandOverlap, InterleavedElementsAreDisjoint) {
  EXPECT_EQ(copyWithin("t[:, :, 0:64:2]", "t[:, :, 1:64:2]"), Codes{});
}
TEST(OperandOverlap, InterleavedRowsAreDisjoint) { EXPECT_EQ(copyWithin("t[:, 0:8:2, :]", "t[:, 1:8:2, :]"), Codes{}); }
TEST(OperandOverlap, QuadrantsAreDisjoint) { EXPECT_EQ(copyWithin("t[0:32, :, :]", "t[32:64, :, :]"), Codes{}); }
TEST(OperandOverlap, ShiftedRowsMeet) { EXPECT_EQ(copyWithin("t[:, 1:8, :]", "t[:, 0:7, :]"), Codes{"OPERAND-OVERLAP"}); }
TEST(OperandOverlap, ShiftedColumnsMeet) {
  EXPECT_EQ(copyWithin("t[:, :, 1:33]", "t[:, :, 0:32]"), Codes{"OPERAND-OVERLAP"});
}
TEST(OperandOverlap, NarrowerTypeMeets) {
  EXPECT_EQ(copyWithin("t:bf16{0+128 | 0 | 1x64}", "t{0+128 | 0 | 1x64}"), Codes{"OPERAND-OVERLAP"});
}
TEST(OperandOverlap, TransposesAreNeverInPlace) {
  EXPECT_EQ(codes("sbuf t : f32[32, 32] @ 0\nvector memset dst=t value=1.0\nvector nc_transpose dst=t data=t"),
            Codes{"OPERAND-OVERLAP"});
}
TEST(OperandOverlap, OtherAllocationOfTheSameBytes) {
  EXPECT_EQ(codes("sbuf a : f32[128, 8] @ 0 live 0..1\nsbuf b : f32[128, 8] @ 16 live 1..2\n"
                  "vector memset dst=a value=1.0\nvector tensor_copy dst=b src=a"),
            Codes{"OPERAND-OVERLAP"});
}

// ---- allocations ---------------------------------------------------------------------------------------------------------

TEST(Allocations, BandsOfPartitionsAreSeparate) {
  EXPECT_EQ(codes("sbuf a : f32[32, 8] @ 0:0\nsbuf b : f32[32, 8] @ 32:0\nsbuf c : f32[64, 8] @ 64:0"), Codes{});
  EXPECT_EQ(codes("sbuf a : f32[33, 8] @ 0:0\nsbuf b : f32[32, 8] @ 32:0"), Codes{"ALLOC-OVERLAP"});
}
TEST(Allocations, LaterStartInsideALongOne) {
  EXPECT_EQ(codes("sbuf a : f32[128, 100] @ 0\nsbuf b : f32[128, 1] @ 396"), Codes{"ALLOC-OVERLAP"});
  EXPECT_EQ(codes("sbuf a : f32[128, 100] @ 0\nsbuf b : f32[128, 1] @ 400"), Codes{});
}
TEST(Allocations, TicksFreeTheMemory) {
  EXPECT_EQ(
      codes("sbuf a : f32[128, 8] @ 0 live 0..3\nsbuf b : f32[128, 8] @ 0 live 3..4\nsbuf c : f32[128, 8] @ 0 live 4..9"),
      Codes{});
  EXPECT_EQ(codes("sbuf a : f32[128, 8] @ 0 live 0..3\nsbuf b : f32[128, 8] @ 0 live 2..4"), Codes{"ALLOC-OVERLAP"});
}
TEST(Allocations, CoresAndMemoriesAreSeparate) {
  EXPECT_EQ(codes("cores 2\nsbuf a : f32[128, 8] @ 0\nsbuf b : f32[128, 8] @ 0 core 1\npsum c : f32[128, 8] @ 0"), Codes{});
}
TEST(Allocations, NumbersAtTheEdge) {
  Builder b(loadTarget("trn2"));
  b.sbuf("low", DType::F32, {128, 4}, INT32_MIN, 0);
  b.sbuf("high", DType::F32, {128, 4}, INT32_MAX, 0);
  b.sbuf("far", DType::F32, {128, 4}, 0, INT64_MAX - 3);
  b.sbuf("near", DType::F32, {128, 4}, 0, INT64_MIN);
  for (const std::string &c : codes(b.finish()))
    EXPECT_TRUE(c == "ALLOC-BOUNDS" || c == "ALLOC-ALIGN") << c;
}

// ---- operands at the edge ------------------------------------------------------------------------------------------------

TEST(Operands, HostileStridesAndOffsets) {
  Builder b(loadTarget("trn2"));
  const ObjectRef t = b.sbuf("t", DType::F32, {128, 4}, 0, 0), s = b.scratch("s", DType::F32, {4});
  Pattern p;
  p.rank = 4;
  p.partitions = 128;
  for (int i = 0; i < 4; ++i)
    p.dims[i] = {INT32_MAX, 1024};
  b.emit(Engine::Vector, "memset").set("dst", b.view(t, p, INT32_MAX, INT32_MAX)).set("value", 1.0f);
  for (int i = 0; i < 4; ++i)
    p.dims[i] = {INT32_MIN, 1024};
  b.emit(Engine::Vector, "memset").set("dst", b.view(t, p, INT32_MIN, INT32_MIN)).set("value", 1.0f);
  p.partitions = 0;
  const int q = b.queue("q");
  b.emit(Engine::Sync, "dma_copy").set("dst", b.view(s, p, INT64_MAX)).set("src", b.view(s, p, INT64_MAX - 7)).queue(q);
  const Codes found = codes(b.finish());
  EXPECT_NE(std::find(found.begin(), found.end(), "OPERAND-BOUNDS"), found.end());
}

TEST(Operands, NegativeStrideOfADmaStaysInside) {
  const char *text = "input x : f32[8]\nsbuf t : f32[1, 8] @ 0\nqueue q\nsync dma_copy dst=t src=x{ | %d | -1x8} queue=q";
  EXPECT_EQ(codes(format(text, 28)), Codes{});
  EXPECT_EQ(codes(format(text, 24)), Codes{"OPERAND-BOUNDS"});
}

TEST(Operands, PlainMovesTakeAnyType) {
  const char *text = "input x : %s[128, 4]\nsbuf t : %s[128, 4] @ 0\nqueue q\nsync dma_copy dst=t src=x queue=q";
  EXPECT_EQ(codes(format(text, "i64", "i64"), "trn1"), Codes{});
  EXPECT_EQ(codes(format(text, "f8e4m3fn", "f32")), Codes{"DTYPE-TARGET"});
  EXPECT_EQ(codes(format(text, "f8e4m3fn", "f32"), "trn3"), Codes{});
}

TEST(Operands, TypesThatAreRefusedByName) {
  for (const char *text : {"sbuf t : float32r[128, 4] @ 0",
                           "sbuf t : f32[128, 4] @ 0\nvector memset dst=t:f8e5m2_x4{0+128 | 0 | 1x4} value=0.0"}) {
    try {
      assemble(text, "test.gasm", loadTarget("trn3"));
      ADD_FAILURE() << text;
    } catch (const Error &e) {
      ASSERT_EQ(e.diagnostics().size(), 1u);
      EXPECT_EQ(e.diagnostics()[0].code, "ISA-REFUSED");
    }
  }
}

TEST(Loops, LabelsNameEachOther) {
  Builder b(loadTarget("trn2"));
  b.emit(Engine::Vector, "loop").reg("iv", 0).set("count", 4).set("end", 0);
  b.emit(Engine::Vector, "end_loop").set("begin", 0);
  EXPECT_EQ(codes(b.finish()), Codes{"CONTROL-FORM"});
}

TEST(Loops, CountsFromRegistersAreNotWalkedForever) {
  EXPECT_EQ(codes("input n : i32[1] range 2147483647 2147483647\nvector reg_load dst=r1 src=n\n"
                  "vector loop iv=r0 count=r1\nvector nop\nvector end_loop"),
            Codes{});
}

// ---- reports -------------------------------------------------------------------------------------------------------------

TEST(Reports, PlaceContextAndAdvice) {
  const Program p = assemble(
      "sbuf t : f32[128, 4] @ 0\n.loc \"softmax\" \"exp\" \"model.py\" 41\nvector memset dst=t[16:48, :] value=1.0\n",
      "test.gasm", loadTarget("trn2"));
  const VerifyResult r = verify(p);
  ASSERT_EQ(r.diagnostics.size(), 1u);
  const Diagnostic &d = r.diagnostics[0];
  EXPECT_EQ(d.code, "PARTITION-START");
  EXPECT_EQ(d.place.file, "model.py");
  EXPECT_EQ(d.place.line, 41u);
  EXPECT_EQ(d.context, "kernel softmax, operation exp, core 0 vector instruction 0: memset");
  EXPECT_EQ(d.value, "16");
  EXPECT_EQ(d.limit, "a multiple of 32");
  EXPECT_FALSE(d.advice.empty());
}

TEST(Reports, LimitAndSelection) {
  std::string text = "sbuf t : f32[128, 4] @ 0\n";
  for (int i = 0; i < 50; ++i)
    text += "vector memset dst=t[16:48, :] value=1.0\nvector memset dst=t{0+128 | 0 | 0x2, 1x2} value=1.0\n";
  const Program p = assemble(text, "test.gasm", loadTarget("trn2"));
  VerifyOptions few;
  few.maxDiagnostics = 7;
  EXPECT_EQ(codes(p, few).size(), 7u);
  VerifyOptions one;
  one.only = {"WRITE-ONCE"};
  EXPECT_EQ(codes(p, one), Codes(50, "WRITE-ONCE"));
}
