// The walk over whole programs: cases that single rules' programs do not reach, most of them found by glia-mutants.
#include "glia/Program/Assembler.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

namespace {

struct Case {
  const char *name, *target;
  const char *refusedBy; // the rule of the first report; empty: the program verifies
  const char *text;
};

const Case kCases[] = {
    {"outputThatBeginsAsAnInputIsDefined", "trn2", "", R"(
output y : f32[16, 4] from x
sbuf t : f32[16, 4] @ 0
semaphore s
semaphore done
queue q
sync dma_copy dst=t src=y queue=q then s += 16
vector tensor_scalar dst=t data=t op0=multiply operand0=2.0 when s >= 16 then done += 1
sync dma_copy dst=y[0:8] src=t[0:8] queue=q when done >= 1
)"},
    {"outputThatBeginsAsAnInputIsNotWrittenBeforeItIsRead", "trn2", "RACE", R"(
output y : f32[16, 4] from x
sbuf t : f32[16, 4] @ 0
sbuf u : f32[16, 4] @ 16
semaphore s
queue q
queue r
vector memset dst=u value=1.0 then s += 1
sync dma_copy dst=t src=y queue=q
sync dma_copy dst=y src=u queue=r when s >= 1
)"},
    {"interleavedViewsShareNoByte", "trn2", "", R"(
sbuf t : f32[16, 9] @ 0
vector memset dst=t value=1.0
vector reciprocal dst=t{0+16 | 8 | 3x2, 1x1} data=t{0+16 | 4 | 2x2, 1x1}
)"},
    {"accumulatesOntoUndefinedProduct", "trn3", "", R"(
sbuf a : bf16[16, 4] @ 0
sbuf b : bf16[16, 4] @ 8
psum acc : bf16[4, 4] @ 0
semaphore s
vector memset dst=b value=1.0 then s += 1
tensor nc_matmul dst=acc stationary=a moving=b when s >= 1
tensor nc_matmul dst=acc stationary=b moving=b accumulate=1
)"},
    {"tableStaysAcrossLoopThatLoadsNone", "trn2", "", R"(
input n : i32[1] range 0 4
sbuf t : f32[32, 4] @ 0
sbuf u : f32[32, 4] @ 16
semaphore s
vector memset dst=t value=1.0 then s += 1
scalar act_table_load set="erf" when s >= 1
scalar reg_load dst=r1 src=n
scalar loop iv=r0 count=r1
scalar activation dst=u data=t fn=relu
scalar end_loop
scalar activation dst=u data=t fn=erf
)"},
    {"exchangeIssuedBeforeLoopBelongsOutside", "trn2", "", R"(
cores 2
input n : i32[1] range 0 4
sbuf a : f32[32, 4] @ 0
sbuf b : f32[32, 4] @ 16
sbuf c : f32[32, 4] @ 0 core 1
sbuf d : f32[32, 4] @ 16 core 1
semaphore full
semaphore ready
semaphore done
semaphore go core 1
core0 vector memset dst=a value=1.0 then ready += 1
core0 gpsimd sendrecv dst=b src=a pipe=0 when ready >= 1 then done += 16
core0 gpsimd reg_load dst=r1 src=n
core0 vector reg_load dst=r1 src=n
core0 gpsimd loop iv=r0 count=r1 group="g"
core0 gpsimd nop then full += 1
core0 gpsimd end_loop
core0 vector loop iv=r0 count=r1 group="g"
core0 vector nop when full >= 1 consume
core0 vector end_loop
core0 vector tensor_copy dst=a src=b when done >= 16
core1 vector memset dst=c value=1.0 then go += 1
core1 sync sendrecv dst=d src=c pipe=0 when go >= 1
)"},
    {"rangeOfAnotherTypeIsNotBelieved", "trn2", "SCATTER-UNIQUE", R"(
input n : i32[32, 1] range 0 31 unique
input x : f32[32, 4]
scratch h : f32[32, 4]
sbuf i : i32[32, 1] @ 0
sbuf t : f32[32, 4] @ 16
queue q
queue g
semaphore s
sync dma_copy dst=i src=n:f8e4m3{ | 0 | 1x32} queue=q then s += 16
sync dma_copy dst=t src=x queue=q then s += 16
gpsimd dma_copy dst=h src=t dst_index=i index_stride=4 dge=swdge queue=g when s >= 32
)"},
    // A sum of a view that shows each index twice holds each of them twice.
    {"indicesThatAViewShowsTwiceAreNotDistinct", "trn2", "SCATTER-UNIQUE", R"(
input n : i32[16, 1] range 0 31 unique
input x : f32[32, 4]
scratch h : f32[32, 4]
sbuf a : i32[16, 1] @ 0
sbuf b : i32[16, 2] @ 64
sbuf i : i32[32, 1] @ 128
sbuf t : f32[32, 4] @ 256
queue q
queue g
semaphore s
semaphore v
semaphore w
sync dma_copy dst=a src=n queue=q then s += 16
sync dma_copy dst=t src=x queue=q then s += 16
vector tensor_scalar dst=b data=a{0+16 | 0 | 0x2} op0=add operand0=0.0 when s >= 32 then v += 1
sync dma_copy dst=i src=b queue=q when v >= 1 then w += 16
gpsimd dma_copy dst=h src=t dst_index=i index_stride=4 dge=swdge queue=g when w >= 16
)"},
    {"waitForZeroProvesNothing", "trn2", "RACE", R"(
output y : f32[32, 4]
sbuf a : f32[32, 4] @ 0
sbuf b : f32[32, 4] @ 16
queue q
semaphore s
vector memset dst=a value=1.0 then s += 2
vector memset dst=b value=1.0 then s += 1
sync nop when s >= 2 consume
sync dma_copy dst=y src=b queue=q when s >= 0 consume
)"},
    // If the loop does not run, the memset is the last write, and the store does not wait for it.
    {"writeBeforeLoopThatMayNotRunStaysOnRecord", "trn2", "RACE", R"(
input n : i32[1] range 0 6
output y : f32[32, 8]
sbuf sum : f32[32, 8] @ 0
queue o
semaphore full
semaphore free = 2
semaphore done
scalar reg_load dst=r1 src=n
vector reg_load dst=r1 src=n
vector memset dst=sum value=0.0
vector loop iv=r0 count=r1 group="g"
vector nop when free >= 1 consume then full += 1
vector end_loop
scalar loop iv=r0 count=r1 group="g"
scalar activation dst=sum data=sum fn=relu when full >= 1 consume then free += 1
scalar end_loop
scalar nop then done += 1
sync dma_copy dst=y src=sum queue=o when done >= 1
)"},
    // ... and the addition that the wait before the loop needs is never made.
    {"waitCountsOnLoopThatMayNotRun", "trn2", "SYNC-DEADLOCK", R"(
input n : i32[1] range 0 6
semaphore full
vector reg_load dst=r1 src=n
scalar reg_load dst=r1 src=n
vector loop iv=r0 count=r1 group="g"
vector nop then full += 1
vector end_loop
scalar loop iv=r0 count=r1 group="g" when full >= 1
scalar nop when full >= 1 consume
scalar end_loop
)"},
    // A loop-carried register moves although no instruction names the loop register.
    {"carriedRegisterIsNoFixedAddress", "trn2", "LOOP-ORDER", R"(
input n : i32[1] range 0 1000
input x : f32[128, 1]
scratch y : f32[200, 64]
sbuf t : f32[128, 1] @ 0
queue q
queue w
semaphore loaded
sync dma_copy dst=t src=x queue=q then loaded += 16
scalar reg_load dst=r1 src=n when loaded >= 16
scalar reg_move dst=r2 src=0
scalar loop iv=r0 count=r1 group="g"
scalar dma_copy dst=y{ | 0 | 64x128} + r2*4 src=t queue=w dge=hwdge
scalar reg_alu dst=r2 op=add a=r2 b=1
scalar end_loop
)"},
    // Rows that are skipped keep what was there: nothing, here.
    {"skippedRowsStayUndefined", "trn2", "UNDEFINED-OUTPUT", R"(
input i : i32[32, 1]
input x : f32[64, 8]
output y : f32[32, 8]
sbuf n : i32[32, 1] @ 0
sbuf t : f32[32, 8] @ 32
queue q
queue g
semaphore loaded
semaphore gathered
sync dma_copy dst=n src=i queue=q then loaded += 16
gpsimd dma_copy dst=t src=x{ | 0 | 8x32, 1x8} src_index=n index_stride=8 oob=skip dge=swdge queue=g when loaded >= 16 then gathered += 16
sync dma_copy dst=y src=t queue=q when gathered >= 16
)"},
};

class Flow : public testing::TestWithParam<Case> {};

TEST_P(Flow, verdict) {
  const Case &c = GetParam();
  const VerifyResult r = verify(assemble(c.text, c.name, loadTarget(c.target)));
  if (*c.refusedBy == '\0') {
    ASSERT_TRUE(r.ok()) << render(r.diagnostics[0]);
  } else {
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.diagnostics[0].code, c.refusedBy) << render(r.diagnostics[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Flow, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
