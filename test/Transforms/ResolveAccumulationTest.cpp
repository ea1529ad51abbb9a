// Deciding beforehand gives the bytes that deciding element by element at run time gives.
#include "glia/Transforms/ResolveAccumulation.h"
#include "CodeGen/KernelTrace.h"
#include "glia/CodeGen/Execute.h"
#include "glia/Support/Random.h"

#include <gtest/gtest.h>

using namespace glia;

static RunResult executed(nisa::Kernel &k, int32_t n) {
  return executeKernel(
      k, {{"w", bytesOf(ramp(64 * 64))}, {"x", bytesOf(ramp(64 * 64, 11, 4))}, {"n", bytesOf(std::vector<int32_t>{n})}});
}

// The kernel as written and the kernel after the pass, for several counts of its run-time loops.
static void sameBefore(const std::string &body, const char *target = "trn2") {
  const std::string text = std::string("nisa.kernel @k target \"") + target + R"(" {
  %w = tensor input : f32[64, 64]
  %x = tensor input : f32[64, 64]
  %n = tensor input : i32[1]
  %y = tensor output : f32[64, 64]
  core 0 {
    %a = alloc sbuf : f32[64, 64]
    %b = alloc sbuf : f32[64, 64]
    %c = alloc sbuf : f32[64, 64]
    %acc = alloc psum : f32[64, 64]
    %r = register
    reg_load dst=%r src=%n
    dma_copy dst=%a src=%w
    dma_copy dst=%b src=%x
)" + body + R"(
    tensor_copy dst=%c src=%acc
    dma_copy dst=%y src=%c
  }
})";
  nisa::Kernel before = nisa::parseKernel(text, "test.nisa"), after = nisa::parseKernel(text, "test.nisa");
  resolveAccumulation(after.op());
  EXPECT_EQ(after.text().find("auto"), std::string::npos) << after.text();
  for (int32_t n : {1, 2, 5}) {
    const RunResult x = executed(before, n), y = executed(after, n);
    ASSERT_TRUE(x.ok()) << render(*x.fault);
    ASSERT_TRUE(y.ok()) << render(*y.fault) << after.text();
    EXPECT_EQ(x.outputs, y.outputs) << "n = " << n << "\n" << after.text();
  }
}

TEST(ResolveAccumulation, Overlaps) {
  sameBefore(R"(
    nc_matmul dst=%acc[:, 0:40] stationary=%a moving=%b[:, 0:40] accumulate=auto
    nc_matmul dst=%acc[0:32, 20:64] stationary=%a[:, 0:32] moving=%b[:, 20:64] accumulate=auto
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto)");
}

TEST(ResolveAccumulation, StridedColumns) {
  sameBefore(R"(
    nc_matmul dst=%acc[:, ::2] stationary=%a moving=%b[:, 0:32] accumulate=auto
    nc_matmul dst=%acc{0+64 | 0 | 8x8, 1x8} stationary=%a moving=%b{0+64 | 0 | 1x8, 8x8} accumulate=auto
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto)");
}

TEST(ResolveAccumulation, RunTimeCounts) {
  sameBefore(R"(
    loop %i < %r {
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
      loop %k < %r {
        nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
      }
    })");
}

TEST(ResolveAccumulation, GroupsInALoop) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    sameBefore(R"(
    loop %i < %r {
      memset dst=%acc
      loop %k < 3 {
        nc_matmul dst=%acc stationary=%a moving=%b accumulate=1
      }
      tensor_copy dst=%b src=%acc on vector
    })",
               target);
}

TEST(ResolveAccumulation, While) {
  sameBefore(R"(
    while %r {
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
      reg_alu dst=%r op=subtract a=%r b=1
    })");
}

TEST(ResolveAccumulation, TheIteratorIsUsedInOtherWays) {
  sameBefore(R"(
    %s = register
    loop %i < 4 {
      reg_alu dst=%s op=multiply a=%i b=16
      nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto
      loop %k < %i {
        nc_matmul dst=%acc[:, 0:16] stationary=%a moving=%b[:, 0:16] + %s*4 accumulate=auto
      }
    })");
}

TEST(ResolveAccumulation, WindowsOfALoop) {
  sameBefore(R"(
    loop %i < 4 {
      loop %k < 3 {
        nc_matmul dst=%acc[:, 0:16] + %i*64 stationary=%a moving=%b[:, 0:16] + %k*64 accumulate=auto
      }
    }
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto)");
}

// What lies outside of the windows may hold something else.
TEST(ResolveAccumulation, WindowsInAPart) {
  sameBefore(R"(
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=0
    memset dst=%acc[0:32, 0:48]
    loop %i < 3 {
      nc_matmul dst=%acc[0:32, 0:16] + %i*64 stationary=%a[:, 0:32] moving=%b[:, 0:16] accumulate=auto
      nc_matmul dst=%acc[0:32, 0:16] + %i*64 stationary=%a[:, 0:32] moving=%b[:, 8:24] accumulate=auto
    }
    nc_matmul dst=%acc stationary=%a moving=%b accumulate=auto)");
}

TEST(ResolveAccumulation, DoubleUseOfOneMemset) {
  sameBefore(R"(
    memset dst=%acc
    tensor_copy dst=%c[:, 0:8] src=%acc[:, 0:8] on vector
    nc_matmul dst=%acc[:, 0:32] stationary=%a moving=%b[:, 0:32] accumulate=1)");
}

// The inner loop is peeled, and what its memset wrote is read only after the outer one.
TEST(ResolveAccumulation, MemsetInAPeeledLoopIsReadLater) {
  sameBefore(R"(
    loop %i < 2 {
      %q = alloc psum : f32[64, 64]
      loop %k < 3 {
        memset dst=%acc
        nc_matmul dst=%q stationary=%a moving=%b accumulate=auto
      }
    })");
  sameBefore(R"(
    loop %i < 2 {
      loop %k < 2 {
        memset dst=%acc[:, 32:64]
        nc_matmul dst=%acc[:, 0:32] stationary=%a moving=%b[:, 0:32] accumulate=auto
      }
    })");
}

// Random rectangles at quadrants, in straight lines and loops: what is refused is refused, the rest is the same.
TEST(ResolveAccumulation, Random) {
  int decided = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    auto pick = [&](int n) { return static_cast<int>(random.below(static_cast<uint64_t>(n))); };
    std::string body = "nc_matmul dst=%acc stationary=%a moving=%b accumulate=0\nmemset dst=%acc\n";
    auto instruction = [&] {
      const int p0 = 32 * pick(2), p1 = p0 == 32 ? 64 : 32 + 32 * pick(2), c0 = pick(60), c1 = c0 + 1 + pick(64 - c0);
      const std::string dst = format("%%acc[%d:%d, %d:%d]", p0, p1, c0, c1);
      if (pick(4) == 0)
        return "memset dst=" + dst + "\n";
      return format("nc_matmul dst=%s stationary=%%a[:, %d:%d] moving=%%b[:, %d:%d] accumulate=%s\n", dst.c_str(), p0, p1,
                    c0, c1, pick(3) ? "auto" : "1");
    };
    for (int k = 0; k < 6; ++k) {
      if (pick(3) == 0)
        body += format("loop %%i%d < %s {\n", k, pick(2) ? "3" : "%r") + instruction() + instruction() + "}\n";
      else
        body += instruction();
    }
    try {
      sameBefore(body);
      ++decided;
    } catch (const Error &e) {
      EXPECT_EQ(e.diagnostics()[0].code, "PSUM-ACCUMULATE") << e.what();
    }
  }
  EXPECT_GT(decided, 20);
}
