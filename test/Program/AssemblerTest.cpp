#include "glia/Program/Assembler.h"
#include "ProgramText.h"
#include "glia/Program/Builder.h"
#include "glia/Program/Container.h"
#include "glia/Support/Diagnostic.h"

#include <gtest/gtest.h>

using namespace glia;

static std::vector<Diagnostic> errorsOf(std::string_view text) {
  try {
    assemble(text, "t.gasm");
  } catch (const Error &e) {
    return e.diagnostics();
  }
  return {};
}

TEST(Assembler, RoundTripKeepsTextAndBytes) {
  const Program p = assemble(test::kEverything, "everything.gasm");
  const std::string text = disassemble(p);
  const Program q = assemble(text, "elsewhere.gasm");
  EXPECT_EQ(disassemble(q), text);
  EXPECT_EQ(toBytes(q), toBytes(p));
}

TEST(Assembler, RoundTripOfAProgramFromTheBuilder) {
  Builder b(loadTarget("trn1"));
  const ObjectRef x = b.input("x", DType::BF16, {2, 3, 4, 5, 6, 7}), t = b.sbuf("", DType::BF16, {128, 4, 8}, 0, 0);
  const int full = b.semaphore("when", 2), q = b.queue("inf");
  b.internString("never used");
  b.emit(Engine::Vector, "tensor_copy")
      .set("dst", b.view(t, {{0, 32}, {1, 3}, {0, 8, 3}}))
      .set("src", b.view(t, {{32, 64}, {1, 3}, {0, 8, 3}}));
  b.origin("kernel \"a\"", "", "f.py", 7);
  b.emit(Engine::Sync, "dma_copy")
      .set("dst", b.dynamic(b.view(t, {{0, 2}}), 3, -64))
      .set("src", b.view(x, {{0, 1}, {1, 2}, {0, 4, 3}}))
      .queue(q)
      .when(full, 1, true)
      .then(full, 16);
  b.origin("", "", "", 0);
  b.emit(Engine::Vector, "tensor_copy").set("dst", t).set("src", t);
  const Program p = b.finish();
  const std::string text = disassemble(p);
  const Program again = assemble(text, "t.gasm");
  EXPECT_EQ(disassemble(again), text);
  EXPECT_EQ(toBytes(again), toBytes(p));
  EXPECT_EQ(text.find("never used"), std::string::npos);
}

// After the scale of a register comes `p`, or an operand whose name begins with it.
TEST(Assembler, RoundTripOfARegisterBeforeAnOperandThatBeginsWithP) {
  const std::string head = "target trn2\ncores 2\nsbuf a : f32[2, 64] @ 0 core 0\nsbuf b : f32[2, 64] @ 1024 core 0\n";
  for (const char *scale : {"4", "4p", "-4"}) {
    const std::string line =
        std::string("sync sendrecv dst=b{0+1 | 0 | 1x2} src=a{0+1 | 0 | 1x2} + r1*") + scale + " pipe=1";
    const Program p = assemble(head + line + "\n", "t.gasm");
    const std::string text = disassemble(p);
    EXPECT_NE(text.find(line), std::string::npos) << text;
    EXPECT_EQ(toBytes(assemble(text, "elsewhere.gasm")), toBytes(p));
  }
}

TEST(Assembler, OriginIsTheLineOfTheTextUnlessItSaysOtherwise) {
  const Program p = assemble("target trn2\nsbuf t : f32[1, 1] @ 0\n\nvector memset dst=t value=1\n.loc \"k\" \"o\" \"f.py\" "
                             "9\nvector memset dst=t value=1\n.loc 12\nvector memset dst=t value=1\n",
                             "a.gasm");
  const Stream &s = p.stream(0, Engine::Vector);
  auto origin = [&](int i) { return p.origins[s.instrs[i].origin]; };
  EXPECT_EQ(p.strings[origin(0).file], "a.gasm");
  EXPECT_EQ(origin(0).line, 4u);
  EXPECT_EQ(p.strings[origin(1).kernel], "k");
  EXPECT_EQ(p.strings[origin(2).file], "f.py");
  EXPECT_EQ(origin(2).line, 12u);
}

TEST(Assembler, AllErrorsWithPlaceAndAdvice) {
  const auto ds =
      errorsOf("target trn2\nsbuf data : f32[128, 4] @ 0\nvectr nop\nvector tensr_tensor\nvector tensor_tensor dst=dta\n"
               "vector tensor_tensor dst=data a=data op=ad\nvector tensor_tensor dst=data a=data bb=data\n"
               "vector nc_matmul_mx\nvector tensor_tensor dst=data a=data op=add\nvector tensor_tensor dst=data[0:129]\n"
               "vector nop when s >= 1\nvector branch cond=lt a=r1 target=nowhere\nvector loop iv=r99 count=1\nvector loop "
               "iv=r1 count=1\n");
  std::vector<std::string> got;
  for (const Diagnostic &d : ds)
    got.push_back(d.code + " " + std::to_string(d.place.line) + ":" + std::to_string(d.place.column));
  const std::vector<std::string> want = {"ASM-SYNTAX 3:1",   "ISA-UNKNOWN 4:8", "ASM-NAME 5:26",     "ASM-OPERAND 6:41",
                                         "ASM-OPERAND 7:38", "ISA-REFUSED 8:8", "ASM-OPERAND 9:44",  "ASM-OPERAND 10:26",
                                         "ASM-NAME 11:17",   "ASM-NAME 12:35",  "ASM-OPERAND 13:16", "ASM-SYNTAX 14:8"};
  EXPECT_EQ(got, want);
  ASSERT_EQ(ds.size(), want.size());
  EXPECT_EQ(ds[0].advice, "Did you mean `vector`?");
  EXPECT_EQ(ds[2].advice, "Did you mean `data`?");
  for (const Diagnostic &d : ds)
    EXPECT_EQ(d.place.file, "t.gasm");
}

TEST(Assembler, AtMostFiftyErrors) {
  std::string text = "target trn2\n";
  for (int i = 0; i < 200; ++i)
    text += "vector nonsense\n";
  EXPECT_EQ(errorsOf(text).size(), 50u);
}

TEST(Assembler, NoTarget) {
  const auto ds = errorsOf("vector nop\n");
  ASSERT_EQ(ds.size(), 1u);
  EXPECT_EQ(ds[0].code, "ASM-TARGET");
}

TEST(Assembler, HostileText) {
  const std::string big(100000, '[');
  const std::string cases[] = {
      "input x : f32[9223372036854775807, 9223372036854775807]",
      "input x : f32[99999999999999999999]",
      "sbuf t : f32[128, 1073741824] @ 0",
      "const c : f32[70368744177664] = [1]",
      "input x : f32" + big,
      "vector " + big,
      std::string("input x\0y : f32[1]", 18),
      "input \xff\xfe : f32[1]",
      "`unclosed",
      ".loc \"a\" \"b",
      "cores 65",
      "cores 0",
      "semaphore s = -1",
      "semaphore s = 4294967296",
      "vector memset dst=t{0+129 | 0 | 1x1} value=1",
      "vector memset dst=t{0+1 | 0 | 1x4294967295, 1x4294967295} value=1",
      "vector memset dst=t[0:1, -9223372036854775808] value=1",
      "vector memset dst=t[9223372036854775807] value=1",
      "vector memset dst=t[0:1:9223372036854775807, 0:2:9223372036854775807] value=nan(0)",
      "vector memset dst=t value=0x",
      "vector memset dst=t value=1e999999999999",
      "core99999 vector nop",
      "vector iota dst=t pattern=[" + std::string(20000, '1') + "]",
      "vector x: y",
      ":",
      "vector",
      "vector loop",
      "vector memset dst=t value=1 when",
      "vector memset dst=t value=1 then s",
      "hex\"",
      "const c : u8[2] = hex\"0\"",
      "const c : u8[1] = [256]",
  };
  for (const std::string &line : cases)
    EXPECT_FALSE(errorsOf("target trn2\nsbuf t : f32[128, 512] @ 0\n" + line + "\n").empty()) << line.substr(0, 80);
}

TEST(Assembler, FloatsKeepTheirBits) {
  std::string text = "target trn2\nsbuf t : f32[1, 1] @ 0\n";
  const char *values[] = {"0x1p-149",        "-0.0", "3.4028235e38",  "1e-45", "0.1", "16777217",
                          "nan(0x7f800001)", "-inf", "0x1.fffffep127"};
  for (const char *v : values)
    text += std::string("vector memset dst=t value=") + v + "\n";
  const Program p = assemble(text, "t.gasm");
  const std::string once = disassemble(p);
  EXPECT_EQ(toBytes(assemble(once, "x")), toBytes(p));
  EXPECT_NE(once.find("value=-0.0"), std::string::npos);
  EXPECT_NE(once.find("value=nan(0x7f800001)"), std::string::npos);
}

// `p` after a scale stands for partitions; the next operand may begin with the same letter.
TEST(Assembler, AnOperandAfterAMovingAddress) {
  const Program p = assemble("target trn2\nsbuf t : f32[64, 4] @ 0\ngpsimd iota dst=t[0:32, 0:1] + r1*4 pattern=[1, 1]\n"
                             "gpsimd iota dst=t[0:32, 0:1] + r1*32p pattern=[1, 1]\n",
                             "t.gasm");
  EXPECT_EQ(toBytes(assemble(disassemble(p), "x")), toBytes(p));
  EXPECT_EQ(p.patterns.size(), 2u);
}
