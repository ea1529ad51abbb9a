#include "glia/Reduce/ReduceKernel.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Reduce/CompareKernel.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::reduce;

namespace {

constexpr const char *kKernel = R"(nisa.kernel @k target "trn2" {
  %x = tensor input : f32[128, 512]
  %w = tensor input : f32[128, 512]
  %y = tensor output : f32[128, 512]
  core 0 {
    %t = alloc sbuf : f32[128, 512]
    %u = alloc sbuf : f32[128, 512]
    %v = alloc sbuf : f32[128, 512]
    dma_copy dst=%t src=%x
    dma_copy dst=%u src=%w
    loop %i < 4 {
      tensor_scalar dst=%t data=%t op0=multiply operand0=2.0
      tensor_tensor dst=%u a=%u b=%t op=add
    }
    tensor_scalar dst=%u[3:20] data=%u[3:20] op0=add operand0=1.0
    tensor_tensor dst=%v a=%t b=%u op=subtract
    dma_copy dst=%y src=%v
  }
}
)";

TEST(ReduceKernel, KeepsTheInstructionThatBreaksARule) {
  const Keep keep{.code = "PARTITION-START"};
  const auto fails = [&](const std::string &t) {
    return keep.in(judgeApart([](const std::string &k) { return judgeCompiledKernel(k, ""); }, t, {.seconds = 20}));
  };
  ASSERT_TRUE(fails(kKernel));
  Search search(kKernel, fails, sizeOfKernel, {.seconds = 60});
  reduceKernel(search);
  EXPECT_EQ(search.size().parts, 1u) << search.smallest();
  EXPECT_NE(search.smallest().find("%u[3:20]"), std::string::npos) << search.smallest();
  EXPECT_EQ(search.smallest().find("%x"), std::string::npos) << search.smallest();
  EXPECT_TRUE(fails(search.smallest()));
}

// A loop goes, and what is in it stays, once.
TEST(ReduceKernel, TakesLoopsApart) {
  const auto has = [](const std::string &t) { return t.find("op=add") != std::string::npos; };
  Search search(kKernel, has, sizeOfKernel, {.seconds = 60});
  reduceKernel(search);
  EXPECT_EQ(search.size().parts, 1u) << search.smallest();
}

TEST(ReduceKernel, ARightKernelEqualsItsSequentialMeaning) {
  std::string right = kKernel;
  right.replace(right.find("%u[3:20] data=%u[3:20]"), 22, "%u[0:20] data=%u[0:20]");
  const Outcome outcome = judgeComparedKernel(right, "", 1);
  EXPECT_TRUE(outcome.empty()) << outcome[0].text;
}

} // namespace
