// A program with one of everything that text and container must keep.
#pragma once
#include <string_view>

namespace glia::test {

inline constexpr std::string_view kEverything = R"(
target trn2
cores 2
input   x : f32[128, 512]
input   ix : i32[128] range 0 127 unique
output  y : f32[128, 512]
output  z : f32[16, 4] from `given away`
const   c : i32[4] = [1, 2, -3, 4]
const   k : bf16[3] = [1.5, -inf, nan]
const   d : f32[1] = hex"0011aabb"
scratch s : f32[2, 64] private
sbuf t : f32[128, 512] @ 0  live 2..5
sbuf t : f32[128, 512] @ 0  core 1
sbuf `odd "name"\n` : f32[128, 512] @ 0:4096 live 7..
psum acc : f32[128, 512] @ 0:2048
semaphore loaded
semaphore scaled = 3
semaphore a core 1
queue q0
queue q0 core 1
.loc "kernel" "operation" "file.py" 41
sync   dma_copy dst=t src=x queue=q0                    then loaded += 16
vector tensor_scalar dst=t data=t op0=multiply operand0=2.0   when loaded >= 16   then scaled += 1 and loaded = 3
vector tensor_scalar dst=t[0:64, 0:256:2] data=`odd "name"\n`:u32{32+64 | 128 | 2x128} + r3*2048 + r4*32p op0=multiply operand0=nan(0xffc00001)
vector tensor_tensor dst=t[3, 5:9] a=t[:1, 0:4] b=t[0:1, 8::126] op=add
vector loop iv=r1 count=4 group="g"
.loc
vector loop iv=r2 count=r3
vector branch cond=lt a=r1 target=out
out:
vector end_loop
vector end_loop
vector branch cond=lt a=r1 b=-1 target=fin
vector fin:
core1 gpsimd memset dst=t[0:32, 0:64] value=-0.1  when a >= 1 consume
core1 sync dma_copy dst=y{ | 512 | 512x4, 1x8} + r7*-4 src=t{-1+4 | -4 | 1x8} queue=q0
.contract "sbuf.bytes" "12\n"
.symbol foo = t core 1 undefined
.relocation foo t
)";

} // namespace glia::test
