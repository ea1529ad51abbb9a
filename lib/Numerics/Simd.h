// Which instruction sets the row kernels are compiled for; the best one of the host is picked at run time. Include before
// any Highway header. Left out: x86 sets without fused multiply-add (the portable set serves such hosts: slow, same bits),
// AVX-512 variants that give these kernels nothing, and SVE, whose vectors cannot be kept in arrays.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// The portable set is one element at a time: Highway's emulation of vectors takes longer to compile than all others.
#define HWY_BROKEN_EMU128 1
