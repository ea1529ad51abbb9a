// Compiled equals executed, byte for byte: kernels of every shape through the whole compiler, verified, run fast and strict.
#include "CodeGen/KernelTrace.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

// Runs the kernel both ways on inputs made from their names and shapes. i32 inputs all hold `number`.
static void compare(const std::string &text, int32_t number = 3) {
  nisa::Kernel k = nisa::parseKernel(text, "test.nisa");
  const Program p = compileKernel(k);
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
