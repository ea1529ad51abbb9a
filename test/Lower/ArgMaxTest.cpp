// The largest element of few long rows and its place, which are found of parts of the rows first.
#include "Check/CheckGraph.h"

#include <cmath>
#include <cstring>

using namespace glia;

namespace {

constexpr int64_t kRows = 6, kLength = 5001;

std::string argMax(const std::string &body) {
  return R"(func.func @main(%x: tensor<6x5001xf32>) -> (tensor<6xf32>, tensor<6xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<6x5001xi32>
  %s = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %s), (%i init: %z) across dimensions = [1] : (tensor<6x5001xf32>, tensor<6x5001xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
)" + body +
         R"(
  }
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi32>
})";
}

// Ties in one part and in several, NaN, rows that are all lowest or all highest.
std::vector<HostTensor> hard() {
  std::vector<float> x(kRows * kLength);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 2654435761u >> 7) % 5);
  const auto row = [&](int64_t r) { return &x[static_cast<size_t>(r * kLength)]; };
  row(1)[700] = row(1)[4000] = NAN;
  std::fill_n(row(2), kLength, -INFINITY);
  std::fill_n(row(3), kLength, INFINITY);
  row(4)[kLength - 1] = 9;
  row(5)[kLength - 1] = NAN;
  HostTensor t{Element::F32, {kRows, kLength}, {}};
  t.bytes.resize(x.size() * 4);
  std::memcpy(t.bytes.data(), x.data(), t.bytes.size());
  return {t};
}

void expectPlaces(const std::string &text) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    EXPECT_EQ(differences(text, target, hard()), "") << target;
}

TEST(ArgMax, NanWins) {
  expectPlaces(argMax(R"(    %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %8, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>)"));
}

TEST(ArgMax, ByComparison) {
  expectPlaces(argMax(R"(    %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.minimum %c, %d : tensor<i32>
    %6 = stablehlo.select %2, %c, %d : tensor<i1>, tensor<i32>
    %7 = stablehlo.select %4, %5, %6 : tensor<i1>, tensor<i32>
    stablehlo.return %3, %7 : tensor<f32>, tensor<i32>)"));
}

} // namespace
