// The matmul equals a loop of fused multiply-adds over ascending k, bit for bit, on every instruction set and tile shape.
#include "glia/Numerics/Gemm.h"
#include "Numerics/EachTarget.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace glia;

TEST(Gemm, bitsOfAnAscendingFmaLoop) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto values = [&](int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float &x : v)
      x = normal(random);
    return v;
  };
  for (int64_t K : {1, 7, 128})
    for (int64_t M : {1, 5, 6, 12, 13, 128})
      for (int64_t N : {1, 15, 16, 31, 33, 130})
        for (bool accumulate : {false, true}) {
          const int64_t strideA = M + 3, strideB = N + 5, strideC = N + 1;
          auto a = values(K * strideA), b = values(K * strideB), c = values(M * strideC), want = c;
          for (int64_t m = 0; m < M; ++m)
            for (int64_t n = 0; n < N; ++n) {
              float sum = 0;
              for (int64_t k = 0; k < K; ++k)
                sum = std::fma(a[static_cast<size_t>(k * strideA + m)], b[static_cast<size_t>(k * strideB + n)], sum);
              float &w = want[static_cast<size_t>(m * strideC + n)];
              w = accumulate ? w + sum : sum;
            }
          test::onEachTarget([&] {
            auto got = c; // the gaps between rows must stay as they are
            gemm({a.data(), strideA}, {b.data(), strideB}, got.data(), strideC, K, M, N, accumulate);
            ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << K << " " << M << " " << N;
          });
        }
}

TEST(Gemm, bf16IsWidened) {
  std::mt19937 random(2);
  for (int64_t M : {1, 13, 128})
    for (int64_t N : {1, 33, 64}) {
      const int64_t K = 9, strideA = M + 3, strideB = N + 5;
      std::vector<uint16_t> a(static_cast<size_t>(K * strideA)), b(static_cast<size_t>(K * strideB));
      auto wide = [&](std::vector<uint16_t> &v) {
        std::vector<float> out;
        for (uint16_t &x : v) {
          x = static_cast<uint16_t>(random()); // NaN and infinity too
          out.push_back(std::bit_cast<float>(static_cast<uint32_t>(x) << 16));
        }
        return out;
      };
      const std::vector<float> wideA = wide(a), wideB = wide(b);
      test::onEachTarget([&] {
        std::vector<float> want(static_cast<size_t>(M * N)), got(want.size()), mixed(want.size());
        gemm({wideA.data(), strideA}, {wideB.data(), strideB}, want.data(), N, K, M, N, false);
        gemm({a.data(), strideA, true}, {b.data(), strideB, true}, got.data(), N, K, M, N, false);
        gemm({wideA.data(), strideA}, {b.data(), strideB, true}, mixed.data(), N, K, M, N, false);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0) << M << " " << N;
        ASSERT_EQ(std::memcmp(mixed.data(), want.data(), want.size() * 4), 0) << M << " " << N;
      });
    }
}

TEST(Gemm, oneNaN) {
  const float infinity = std::numeric_limits<float>::infinity(), a[2] = {infinity, 1}, b[2] = {0, 1};
  test::onEachTarget([&] {
    float out;
    gemm({a, 1}, {b, 1}, &out, 1, 2, 1, 1, false);
    EXPECT_EQ(std::bit_cast<uint32_t>(out), 0x7FC00000u);
  });
}

// Rows of an image without its border, every second value of a row, a value again and again: what strided operands give.
TEST(Gemm, columnsThatLieApart) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  struct Runs {
    int32_t rows, rowStride, columns, stride;
  };
  for (const Runs &r : {Runs{4, 40, 32, 1}, Runs{5, 37, 33, 1}, Runs{3, 80, 21, 2}, Runs{9, 0, 7, 1}}) {
    const int64_t K = 11, M = 13, N = int64_t{r.rows} * r.columns, stride = 500;
    std::vector<float> a(static_cast<size_t>(K * stride)), packed, all(static_cast<size_t>(M * N));
    for (float &x : a)
      x = normal(random);
    std::vector<int32_t> columns;
    for (int32_t y = 0; y < r.rows; ++y)
      for (int32_t x = 0; x < r.columns; ++x)
        columns.push_back(y * r.rowStride + x * r.stride);
    for (int64_t k = 0; k < K; ++k)
      for (int32_t at : columns)
        packed.push_back(a[static_cast<size_t>(k * stride + at)]);
    auto want = all, got = all;
    gemm({a.data(), stride}, {packed.data(), N}, want.data(), N, K, M, N, false);
    test::onEachTarget([&] {
      gemm({a.data(), stride}, {a.data(), stride, false, columns.data()}, got.data(), N, K, M, N, false);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << r.rows << " " << r.columns;
    });
    // The same columns as the stationary factor.
    std::vector<float> wantT(all.size()), gotT(all.size());
    gemm({packed.data(), N}, {a.data(), stride}, wantT.data(), M, K, N, M, false);
    test::onEachTarget([&] {
      gemm({a.data(), stride, false, columns.data()}, {a.data(), stride}, gotT.data(), M, K, N, M, false);
      ASSERT_EQ(std::memcmp(gotT.data(), wantT.data(), gotT.size() * sizeof(float)), 0) << r.rows << " " << r.columns;
    });
  }
}
