// Compiled equals executed, byte for byte: kernels of every shape through the whole compiler, verified, run fast and strict.
#include "CodeGen/KernelTrace.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Support/Random.h"
#include "glia/Verify/Verify.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace glia;

// Runs the kernel both ways on inputs made from their names and shapes. i32 inputs all hold `number`.
static void compare(const std::string &text, int32_t number = 3) {
  nisa::Kernel k = nisa::parseKernel(text, "test.nisa");
  const Program p = compileKernel(k, {.tryOrders = true});
  TensorData in;
  for (const Tensor &t : p.tensors)
    if (t.kind == TensorKind::Input)
      in[t.name] = t.dtype == DType::I32
                       ? bytesOf(std::vector<int32_t>(t.elements(), number))
                       : bytesOf(ramp(static_cast<size_t>(t.elements()), 13 + static_cast<int>(t.name[0]) % 5));
  const RunResult expected = executeKernel(k, in);
  ASSERT_TRUE(expected.ok()) << render(*expected.fault);
  const VerifyResult v = verify(p);
  ASSERT_TRUE(v.ok()) << render(v.diagnostics[0]) << "\n" << text;
  for (uint64_t seed : {0, 1, 2}) {
    RunOptions o;
    o.strict = seed > 0;
    o.seed = seed;
    const RunResult got = run(p, in, o);
    ASSERT_TRUE(got.ok()) << render(got.fault ? *got.fault : *got.trap);
    EXPECT_EQ(got.outputs, expected.outputs) << "seed " << seed << "\n" << text;
  }
}

TEST(Compiled, Elementwise) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    compare(std::string("nisa.kernel @k target \"") + target + R"(" {
  %x = tensor input : f32[128, 64]
  %y = tensor output : f32[128, 64]
  core 0 {
    %a = alloc sbuf : f32[128, 64]
    %b = alloc sbuf : bf16[128, 64]
    dma_copy dst=%a src=%x
    activation dst=%b data=%a fn=exp scale=0.25
    tensor_scalar dst=%a data=%a op0=multiply operand0=3.0 op1=add operand1=1.0
    tensor_tensor dst=%a a=%a b=%b op=add
    dma_copy dst=%y src=%a
  }
})");
}

static std::string matmul(const std::string &body, const char *target = "trn2") {
  return std::string("nisa.kernel @k target \"") + target + R"(" {
  %w = tensor input : f32[64, 64]
  %x = tensor input : f32[64, 64]
  %n = tensor input : i32[1]
  %y = tensor output : f32[64, 64]
  core 0 {
    %a = alloc sbuf : f32[64, 64]
    %b = alloc sbuf : f32[64, 64]
    %c = alloc sbuf : f32[64, 64]
    %acc = alloc psum : f32[64, 64]
    dma_copy dst=%a src=%w
    dma_copy dst=%b src=%x
)" + body +
         R"(
    tensor_copy dst=%c src=%acc
    dma_copy dst=%y src=%c
  }
})";
}

TEST(Compiled, AccumulationPerElement) {
  compare(matmul(R"(
    nc_matmul dst=%acc[:, 0:40] stationary=%a moving=%b[:, 0:40] accumulate=auto
    nc_matmul dst=%acc[0:32, 20:64] stationary=%a[:, 0:32] moving=%b[:, 20:64] accumulate=auto
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto)"));
}

TEST(Compiled, ZeroFilledAccumulator) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    compare(matmul(R"(
    memset dst=%acc
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=1
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=1)",
                   target));
}

TEST(Compiled, PeeledLoop) {
  compare(matmul(R"(
    loop %i < 4 {
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
    })"));
}

TEST(Compiled, LoopWithAnUnknownCount) {
  for (int32_t n : {1, 2, 7})
    compare(matmul(R"(
    %r = register
    reg_load dst=%r src=%n
    memset dst=%acc
    loop %i < %r {
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=1
    })"),
            n);
}

TEST(Compiled, LoopOfTransfers) {
  compare(R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[4, 32, 64]
  %y = tensor output : f32[4, 32, 64]
  core 0 {
    loop %i < 4 {
      %a = alloc sbuf : f32[32, 64]
      %b = alloc sbuf : f32[32, 64]
      dma_copy dst=%a src=%x[0] + %i*8192
      tensor_scalar dst=%b data=%a op0=multiply operand0=3.0
      dma_copy dst=%y[0] + %i*8192 src=%b
    }
  }
})");
}

// The second loop's queue was last used in the first, which may not have run.
TEST(Compiled, LoopsOfTransfersOneAfterTheOther) {
  for (int32_t n : {0, 1, 4})
    compare(R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[2, 64, 64]
  %n = tensor input : i32[1]
  %s = tensor scratch : f32[64, 64]
  %y = tensor output : f32[64, 64]
  core 0 {
    %r = register
    reg_load dst=%r src=%n
    %a = alloc sbuf : f32[64, 64]
    %b = alloc sbuf : f32[64, 64]
    dma_copy dst=%a src=%x[0]
    dma_copy dst=%b src=%x[1]
    dma_copy dst=%s src=%b
    loop %i < %r {
      dma_copy dst=%s src=%a
    }
    loop %j < %r {
      dma_copy dst=%b src=%s
      dma_copy dst=%s src=%a
    }
    dma_copy dst=%y src=%b
  }
})",
            n);
}

TEST(Compiled, Aliases) {
  compare(R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[32, 8]
  %y = tensor output : f32[64, 16]
  core 0 {
    %a = alloc sbuf : f32[64, 16] at 0:256
    %b = alloc sbuf : f32[32, 8] at 32:288
    memset dst=%a value=9.0
    dma_copy dst=%b src=%x
    tensor_scalar dst=%a[32:64] data=%a[32:64] op0=add operand0=1.0
    dma_copy dst=%y src=%a
  }
})");
}

TEST(Compiled, TwoCores) {
  compare(R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[2, 16, 8]
  %s = tensor scratch : f32[2, 16, 8]
  %y = tensor output : f32[2, 16, 8]
  core 0 {
    %a = alloc sbuf : f32[16, 8]
    %b = alloc sbuf : f32[16, 8]
    dma_copy dst=%a src=%x[0]
    sendrecv dst=%b src=%a
    tensor_tensor dst=%b a=%b b=%a op=subtract
    dma_copy dst=%s[0] src=%b
    core_barrier name="written"
    dma_copy dst=%a src=%s[1]
    dma_copy dst=%y[0] src=%a
  }
  core 1 {
    %a = alloc sbuf : f32[16, 8]
    %b = alloc sbuf : f32[16, 8]
    dma_copy dst=%a src=%x[1]
    sendrecv dst=%b src=%a
    tensor_tensor dst=%b a=%b b=%a op=subtract
    dma_copy dst=%s[1] src=%b
    core_barrier name="written"
    dma_copy dst=%a src=%s[0]
    dma_copy dst=%y[1] src=%a
  }
})");
}

// ---- random kernels ---------------------------------------------------------------------------------------------------------

namespace {

// Instructions on four tiles of 64 x 64 that are all written first; loops move windows of 16 columns.
struct Generator {
  Random random;
  std::string text;
  int names = 0;
  explicit Generator(uint64_t seed) : random(seed) {}
  int pick(int n) { return static_cast<int>(random.below(n)); }
  std::string tile() { return std::string("%") + "abcd"[pick(4)]; }

  void matmuls() {
    const std::string p = format("%%p%d", names++);
    text += p + " = alloc psum : f32[64, 64]\n";
    for (int k = 1 + pick(3); k > 0; --k)
      text += "nc_matmul dst=" + p + " stationary=" + tile() + " moving=" + tile() + " accumulate=auto\n";
    text += pick(2) ? "tensor_copy dst=" + tile() + " src=" + p + "\n"
                    : "activation dst=" + tile() + " data=" + p + " fn=tanh\n";
  }

  void instruction(const std::string &iterator) {
    // The same window everywhere, so that a result lies on a source exactly or not at all.
    const std::string window =
        iterator.empty() ? format("[:, %d:%d]", 16 * pick(2), 32 + 16 * pick(3)) : "[:, 0:16] + " + iterator + "*64";
    const std::string dst = tile() + window, x = tile() + window, y = tile() + window;
    switch (pick(iterator.empty() ? 6 : 4)) {
    case 0: text += "tensor_tensor dst=" + dst + " a=" + x + " b=" + y + " op=" + (pick(2) ? "add" : "max") + "\n"; break;
    case 1: text += "tensor_scalar dst=" + dst + " data=" + x + " op0=multiply operand0=0.5 op1=add operand1=-1.0\n"; break;
    case 2: text += "activation dst=" + dst + " data=" + x + " fn=tanh\n"; break;
    case 3: text += "tensor_copy dst=" + dst + " src=" + x + "\n"; break;
    case 4: matmuls(); break;
    default: text += "dma_copy dst=%s src=" + tile() + "\ndma_copy dst=" + tile() + " src=%s\n";
    }
  }

  std::string make() {
    text = R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[4, 64, 64]
  %n = tensor input : i32[1]
  %s = tensor scratch : f32[64, 64]
  %y = tensor output : f32[4, 64, 64]
  core 0 {
    %r = register
    reg_load dst=%r src=%n
)";
    for (int t = 0; t < 4; ++t)
      text += format("%%%c = alloc sbuf : f32[64, 64]\ndma_copy dst=%%%c src=%%x[%d]\n", "abcd"[t], "abcd"[t], t);
    for (int k = 0; k < 12; ++k) {
      if (pick(4)) {
        instruction({});
        continue;
      }
      const bool moves = pick(2);
      const std::string i = format("%%i%d", names++);
      text += "loop " + i + (moves ? " < 4 {\n" : pick(2) ? " < %r {\n" : " < 3 {\n");
      for (int j = 0; j < 3; ++j)
        instruction(moves ? i : "");
      text += "}\n";
    }
    for (int t = 0; t < 4; ++t)
      text += format("dma_copy dst=%%y[%d] src=%%%c\n", t, "abcd"[t]);
    return text + "}\n}\n";
  }
};

} // namespace

TEST(Compiled, Random) {
  for (uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    compare(Generator(seed).make(), static_cast<int32_t>(seed % 4));
  }
}

// ---- what random kernels have found -------------------------------------------------------------------------------------------

TEST(Compiled, AnAliasSeesWhatAnotherLeft) { // one is used up before the other begins, which never writes
  compare(R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[64, 8]
  %y = tensor output : f32[32, 8]
  core 0 {
    %a = alloc sbuf : f32[64, 16] at 0:256
    %b = alloc sbuf : f32[32, 8] at 32:288
    %c = alloc sbuf : f32[32, 8]
    memset dst=%a value=2.0
    dma_copy dst=%a[:, 8:16] src=%x
    tensor_scalar dst=%c data=%b op0=multiply operand0=3.0
    dma_copy dst=%y src=%c
  }
})");
}

// Eight tensors that fill SBUF, all of them needed before %a is: it is spilled.
static std::string crowd(const std::string &before, const std::string &after) {
  std::string text = R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[2, 12]
  %n = tensor input : i32[1]
  %y = tensor output : f32[2, 12]
  %z = tensor output : f32[8, 2, 4]
  core 0 {
    %r = register
    reg_load dst=%r src=%n
    reg_alu dst=%r op=min a=%r b=4
    %a = alloc sbuf : f32[2, 6100]
)" + before;
  for (int i = 0; i < 8; ++i)
    text += format("    %%b%d = alloc sbuf : f32[2, 6100]\n    memset dst=%%b%d value=%d.0\n"
                   "    tensor_scalar dst=%%b%d data=%%b%d op0=add operand0=1.0\n",
                   i, i, i, i, i);
  for (int i = 0; i < 8; ++i)
    text += format("    dma_copy dst=%%z[%d] src=%%b%d[:, 100:104]\n", i, i);
  return text + after + "    dma_copy dst=%y src=%a[0:2, 0:12]\n  }\n}";
}

static void compareSpilled(const std::string &text, int32_t number = 3) {
  nisa::Kernel k = nisa::parseKernel(text, "test.nisa");
  const Program p = compileKernel(k);
  EXPECT_TRUE(std::any_of(p.contract.begin(), p.contract.end(), [](const ContractItem &c) {
    return c.key == "spill" && c.value.starts_with("`a`");
  })) << text;
  compare(text, number);
}

TEST(Compiled, OnlyWhatWasWrittenIsSpilled) { // the rest is undefined, and would make all of it undefined
  compareSpilled(crowd("    dma_copy dst=%a[:, 0:9] src=%x[:, 0:9]\n    dma_copy dst=%a[:, 9:12] src=%x[:, 0:3]\n"
                       "    tensor_scalar dst=%a[:, 0:9] data=%a[:, 0:9] op0=add operand0=1.0\n"
                       "    memset dst=%a{0+2 | 400 | 2x5} value=7.0\n",
                       "    tensor_tensor dst=%a[:, 0:5] a=%a[:, 0:5] b=%a{0+2 | 400 | 2x5} op=add\n"));
}

TEST(Compiled, SpilledAfterWritesThatARegisterAddresses) { // they may define nothing, and must take nothing
  const std::string move = R"(    loop %i < %r {
      memset dst=%a[0:2, 0:3] + %i*12 value=9.0
    }
)";
  for (int32_t n : {0, 2, 7}) {
    compareSpilled(crowd("    dma_copy dst=%a[0:2, 0:12] src=%x\n" + move, ""), n);
    compareSpilled(
        crowd("    dma_copy dst=%a[0:1, 0:12] src=%x[0:1]\n    dma_copy dst=%a[1:2, 0:12] src=%x[1:2]\n" + move, move), n);
  }
  compareSpilled(
      crowd("    loop %i < 4 {\n      memset dst=%a[0:2, 0:3] + %i*12 value=9.0\n    }\n", "")); // defines all it passes
}

TEST(Compiled, SpilledAfterWritesInALoopThatMayNotRun) {
  for (int32_t n : {0, 3})
    compareSpilled(
        crowd("    dma_copy dst=%a[0:2, 0:12] src=%x\n    loop %i < %r {\n      memset dst=%a[:, 6:100] value=9.0\n    }\n",
              ""),
        n);
}

TEST(Compiled, SpilledAfterManyWrites) { // more than transfers would be worth
  std::string writes;
  for (int i = 0; i < 12; ++i)
    writes += format("    dma_copy dst=%%a[0:2, %d] src=%%x[:, %d]\n", i, 11 - i);
  compareSpilled(crowd(writes, ""));
}

TEST(Compiled, SpilledWithMoreHolesThanTransfers) { // every other column, and a tile in a loop whose steps leave gaps
  std::string writes;
  for (int i = 0; i < 24; ++i)
    writes += format("    dma_copy dst=%%a[0:2, %d] src=%%x[:, %d]\n", 20 + 2 * i, i % 12);
  compareSpilled(crowd("    dma_copy dst=%a[0:2, 0:12] src=%x\n" + writes,
                       "    tensor_tensor dst=%a[0:2, 0:12] a=%a[0:2, 0:12] b=%a{0+2 | 80 | 2x12} op=add\n"));
  compareSpilled(crowd(
      "    dma_copy dst=%a[0:2, 0:12] src=%x\n    loop %i < 3 {\n      memset dst=%a[0:2, 20:22] + %i*16 value=4.0\n    }\n",
      "    tensor_tensor dst=%a[0:2, 0:2] a=%a[0:2, 24:26] b=%a[0:2, 28:30] op=add\n"));
  compareSpilled(crowd("    dma_copy dst=%a[0:2, 0:12] src=%x\n" + writes,
                       "    loop %i < %r {\n"
                       "      tensor_scalar dst=%a[0:2, 0:12] data=%a[0:2, 0:12] op0=add operand0=1.0\n    }\n"));
}

// Tensors of which two or three fit. The input takes turns with what is computed from it.
static std::string turns(const std::string &body, int elements) {
  return format(R"(nisa.kernel @k target "trn2" {
  %%x = tensor input : f32[2, %d]
  %%n = tensor input : i32[1]
  %%y = tensor output : f32[4, 2, 8]
  core 0 {
    %%r = register
    reg_load dst=%%r src=%%n
    reg_alu dst=%%r op=min a=%%r b=4
    %%a = alloc sbuf : f32[2, %d]
    %%b = alloc sbuf : f32[2, %d]
    %%c = alloc sbuf : f32[2, %d]
%s
    dma_copy dst=%%y[0] src=%%a[:, 3:11]
    dma_copy dst=%%y[1] src=%%b[:, 3:11]
    dma_copy dst=%%y[2] src=%%c[:, 3:11]
    dma_copy dst=%%y[3] src=%%c[:, %d:%d]
  }
})",
                elements, elements, elements, elements, body.c_str(), elements - 8, elements);
}

TEST(Compiled, SpilledInLoops) { // what a loop uses does not fit at once: each iteration brings it
  const std::string load = "    dma_copy dst=%a src=%x\n    dma_copy dst=%b src=%x\n    dma_copy dst=%c src=%x\n";
  const std::string body = R"(
      tensor_tensor dst=%a a=%a b=%b op=add
      tensor_scalar dst=%c[:, 0:16] data=%a[:, 0:16] op0=multiply operand0=0.5
)";
  for (int32_t n : {0, 1, 3})
    compareSpilled(turns(load + "    loop %i < %r {" + body + "    }", 20000), n);
  compareSpilled(turns(load + "    loop %i < 3 {\n    loop %k < 2 {" + body + "    }\n" + body + "    }", 20000));
  compareSpilled(turns(
      load + "    loop %i < 2 {\n      loop %k < 2 {\n        tensor_scalar dst=%a data=%a op0=add operand0=1.0\n      }\n"
             "      tensor_scalar dst=%b data=%b op0=add operand0=1.0\n"
             "      tensor_scalar dst=%c data=%c op0=add operand0=2.0\n    }",
      50000));
  // Written in the loop only, and not all of it at once.
  compareSpilled(
      turns("    dma_copy dst=%a src=%x\n    dma_copy dst=%b src=%x\n    memset dst=%c[:, 19992:20000] value=1.0\n    "
            "loop %i < 3 {\n"
            "      tensor_copy dst=%c[:, 0:8] + %i*16 src=%a[:, 0:8]\n"
            "      tensor_tensor dst=%a a=%a b=%b op=add\n    }",
            20000));
}

TEST(Compiled, SpillsMoveNoMoreThanTheyMust) { // what HBM has already leaves first; only the sum is stored
  nisa::Kernel k = nisa::parseKernel(turns(R"(    dma_copy dst=%a src=%x
    tensor_scalar dst=%b data=%a op0=add operand0=1.0
    memset dst=%c value=2.0
    tensor_tensor dst=%c a=%c b=%b op=add
    tensor_tensor dst=%c a=%c b=%a op=add)",
                                           20000),
                                     "test.nisa");
  const Program p = compileKernel(k);
  std::vector<std::string> stored;
  for (const Tensor &t : p.tensors)
    if (t.kind == TensorKind::Scratch)
      stored.push_back(t.name);
  EXPECT_EQ(stored, std::vector<std::string>{"b.spill1"});
}

TEST(Compiled, PeeledLoopWhoseCountHasAnUpperBoundOnly) { // the addresses of the rest have bounds too
  for (int32_t n : {1, 2, 7})
    compare(matmul(R"(
    %r = register
    reg_load dst=%r src=%n
    reg_alu dst=%r op=min a=%r b=4
    memset dst=%acc
    loop %i < %r {
      memset dst=%b[:, 0:16] + %i*64 value=0.5 on gpsimd
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=1
    })"),
            n);
}

// Peeling puts the loop into one that runs once or not at all: the address need not be followed through a second loop.
TEST(Compiled, PeeledWhileWithACarriedAddress) {
  compare(matmul(R"(
    %r = register
    %s = register
    reg_load dst=%r src=%n
    reg_move dst=%s src=1
    memset dst=%acc
    while %r {
      %t = alloc sbuf : f32[64, 64]
      dma_copy dst=%t src=%x
      reg_alu dst=%s op=multiply a=%s b=5
      reg_alu dst=%s op=and a=%s b=3
      tensor_copy dst=%b[:, 0:16] src=%t[:, 0:16] + %s*64 on vector
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=1
      reg_alu dst=%r op=subtract a=%r b=1
    })"));
}

TEST(Compiled, AnOutputThatBeginsAsAnInput) { // a part is read, another written, from one core or from two
  const std::string head = R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[8, 8]
  %y = tensor output : f32[8, 8] alias "x"
  core 0 {
    %a = alloc sbuf : f32[2, 8]
    dma_copy dst=%a src=%y[2:4]
    tensor_scalar dst=%a data=%a op0=add operand0=1.0
    dma_copy dst=%y[0:2] src=%a
  })";
  compare(head + "\n}");
  compare(head + R"(
  core 1 {
    %b = alloc sbuf : f32[2, 8]
    dma_copy dst=%b src=%y[6:8]
    dma_copy dst=%y[4:6] src=%b
  }
})");
}

TEST(Compiled, PeeledLoopsInsidePeeledLoops) { // loops of one trip or none guard each of them
  for (int32_t n : {1, 3})
    compare(matmul(R"(
    %r = register
    reg_load dst=%r src=%n
    memset dst=%acc
    loop %i < %r {
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
      %q = alloc psum : f32[64, 64]
      memset dst=%q
      loop %k < %r {
        nc_matmul dst=%q stationary=%a moving=%b accumulate=auto
        loop %l < %r {
          tensor_scalar dst=%c[:, 0:8] data=%b[:, 0:8] op0=multiply operand0=2.0
        }
      }
      tensor_copy dst=%b src=%q
    })"),
            n);
}

TEST(Compiled, AfterAnInstructionOfALoop) { // which may not run, or several times
  for (const char *count : {"0", "3", "%r"})
    for (int32_t n : {0, 2})
      compare(std::string(R"(nisa.kernel @k target "trn2" {
  %n = tensor input : i32[1]
  %x = tensor input : f32[32, 8]
  %y = tensor output : f32[32, 8]
  core 0 {
    %a = alloc sbuf : f32[32, 8]
    %b = alloc sbuf : f32[32, 8]
    %r = register
    reg_load dst=%r src=%n
    memset dst=%a value=1.0
    loop %i < )") +
                  count + R"( {
      dma_copy dst=%b src=%x on sync chain 1 id 5
      tensor_tensor dst=%a a=%a b=%b op=add on vector id 6
    }
    tensor_scalar dst=%a data=%a op0=multiply operand0=2.0 on scalar chain 1 after 5, 6
    dma_copy dst=%y src=%a on gpsimd after 5
  }
})",
              n);
}

TEST(Compiled, TransfersInALoopThatMayNotRunInsideOneThatDoes) {
  for (int32_t n : {0, 2})
    compare(R"(nisa.kernel @k target "trn3" {
  %n = tensor input : i32[1]
  %x = tensor input : f32[32, 8]
  %y = tensor output : f32[32, 8]
  %z = tensor output : f32[32, 8]
  core 0 {
    %a = alloc sbuf : f32[32, 8]
    %b = alloc sbuf : f32[32, 8]
    dma_copy dst=%z src=%x on scalar
    memset dst=%a value=1.0
    memset dst=%b value=4.0
    loop %i < 2 {
      %r = register
      reg_load dst=%r src=%n
      loop %j < %r {
        %t = alloc sbuf : f32[32, 8]
        dma_copy dst=%t[0:16] src=%x[0:16] on scalar
        dma_copy dst=%t[16:32] src=%x[16:32] on sync
        tensor_tensor dst=%b a=%b b=%t op=add on vector
      }
      tensor_tensor dst=%a a=%a b=%b op=add on gpsimd
    }
    dma_copy dst=%y src=%a on scalar
  }
})",
            n);
}

TEST(Compiled, ManyTransfersAndTheAuthorsEdges) { // several share a semaphore that was used before
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    auto engine = [&] {
      static const char *const names[] = {"sync", "sync", "sync", "vector", "gpsimd", "tensor", "scalar"};
      return names[random.below(7)];
    };
    std::string text = R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[128, 4]
  %y = tensor output : f32[128, 4]
  core 0 {
    %a = alloc sbuf : f32[128, 4]
)";
    for (int i = 0; i < 128; ++i) {
      text += format("    dma_copy dst=%%a[%d] src=%%x[%d] on %s id %d", i, 127 - i, engine(), i);
      text += i && random.below(5) == 0 ? format(" after %d\n", static_cast<int>(random.below(i))) : "\n";
    }
    for (int i = 0; i < 128; i += 2)
      text += format("    dma_copy dst=%%y[%d:%d] src=%%a[%d:%d] on %s\n", i, i + 2, i, i + 2, engine());
    compare(text + "  }\n}");
  }
}

TEST(Compiled, ManyLoopsWithTransfersOfEveryEngine) { // semaphores are few
  std::string text = R"(nisa.kernel @k target "trn2" {
  %n = tensor input : i32[1]
  %x = tensor input : f32[32, 8]
  %y = tensor output : f32[32, 8]
  core 0 {
    %a = alloc sbuf : f32[32, 8]
    memset dst=%a value=1.0
)";
  for (int l = 0; l < 24; ++l) {
    text += format("    %%r%d = register\n    reg_load dst=%%r%d src=%%n\n    loop %%i%d < %%r%d {\n", l, l, l, l);
    for (const char *e : {"tensor", "vector", "scalar", "gpsimd", "sync"})
      text += format("      %%%s%d = alloc sbuf : f32[32, 8]\n      dma_copy dst=%%%s%d src=%%x on %s\n"
                     "      tensor_tensor dst=%%a a=%%a b=%%%s%d op=max\n",
                     e, l, e, l, e, e, l);
    text += "    }\n";
  }
  compare(text + "    dma_copy dst=%y src=%a\n  }\n}");
}
