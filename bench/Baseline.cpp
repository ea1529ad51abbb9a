// Loops around what we are compared with, so that neither side pays for Python.
#include <cstdint>
#include <cstring>

extern "C" {

// cblas_sgemm of an OpenBLAS with 64-bit integers (NumPy's own) or 32-bit ones (Debian's).
using Sgemm64 = void (*)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                         float, float *, int64_t);

void baseline_sgemm64(void *function, const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k,
                      int64_t times) {
  for (int64_t i = 0; i < times; ++i)
    reinterpret_cast<Sgemm64>(function)(101, 111, 111, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
}

void baseline_memcpy(void *dst, const void *src, int64_t bytes, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
    asm volatile("" : : "r"(dst) : "memory"); // each copy has to happen
  }
}

} // extern "C"
