// Reductions of rows that do not fit on chip, together with what is before and behind them.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// Mean and variance of long rows, as batch normalisation has them: one kernel for the mean, one for the variance and what is made of it.
TEST(LongRows, SumsInPieces) {
  const std::string text = R"(func.func @main(%x: tensor<40x30000xf32>) -> (tensor<40x30000xf32>, tensor<40xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<30000.0> : tensor<40xf32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x30000xf32>, tensor<f32>) -> tensor<40xf32>
  %m = stablehlo.divide %s, %n : tensor<40xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<40xf32>) -> tensor<40x30000xf32>
  %d = stablehlo.subtract %x, %b : tensor<40x30000xf32>
  %q = stablehlo.multiply %d, %d : tensor<40x30000xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x30000xf32>, tensor<f32>) -> tensor<40xf32>
  %w = stablehlo.divide %v, %n : tensor<40xf32>
  %r = stablehlo.rsqrt %w : tensor<40xf32>
  return %d, %r : tensor<40x30000xf32>, tensor<40xf32>
})";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 2u);
}

// More rows than partitions, another type, a start, a maximum beside a sum, a value per row that is needed before and after.
TEST(LongRows, ManyRows) {
  const std::string text =
      R"(func.func @main(%x: tensor<130x25000xbf16>, %c: tensor<130xbf16>) -> (tensor<130xbf16>, tensor<130xbf16>, tensor<130xbf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %e = stablehlo.exponential %c : tensor<130xbf16>
  %b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<130xbf16>) -> tensor<130x25000xbf16>
  %y = stablehlo.multiply %x, %b : tensor<130x25000xbf16>
  %s = stablehlo.reduce(%y init: %one) applies stablehlo.add across dimensions = [1] : (tensor<130x25000xbf16>, tensor<bf16>) -> tensor<130xbf16>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<130x25000xbf16>, tensor<bf16>) -> tensor<130xbf16>
  %t = stablehlo.add %s, %e : tensor<130xbf16>
  return %t, %m, %e : tensor<130xbf16>, tensor<130xbf16>, tensor<130xbf16>
})";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 1u);
}

// Rows that leave partitions empty lie on several each: values per row are needed on all of them, and once behind; what is joined,
// and what is the same everywhere.
TEST(LongRows, OnSeveralPartitions) {
  for (const char *rows : {"64", "37", "32"}) {
    std::string text =
        R"(func.func @main(%x: tensor<ROWSx2x20000xf32>, %c: tensor<ROWSxf32>, %k: tensor<20000xf32>) -> (tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSx2x40000xf32>, tensor<ROWSxf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %e = stablehlo.exponential %c : tensor<ROWSxf32>
  %b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSx2x20000xf32>
  %d = stablehlo.broadcast_in_dim %k, dims = [2] : (tensor<20000xf32>) -> tensor<ROWSx2x20000xf32>
  %y = stablehlo.multiply %x, %b : tensor<ROWSx2x20000xf32>
  %z = stablehlo.add %y, %d : tensor<ROWSx2x20000xf32>
  %j = stablehlo.concatenate %y, %z, dim = 2 : (tensor<ROWSx2x20000xf32>, tensor<ROWSx2x20000xf32>) -> tensor<ROWSx2x40000xf32>
  %s = stablehlo.reduce(%z init: %two) applies stablehlo.add across dimensions = [1, 2] : (tensor<ROWSx2x20000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<ROWSx2x20000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %q = stablehlo.reduce(%x init: %zero) applies stablehlo.minimum across dimensions = [1, 2] : (tensor<ROWSx2x20000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %t = stablehlo.add %s, %e : tensor<ROWSxf32>
  %u = stablehlo.multiply %t, %c : tensor<ROWSxf32>
  %v = stablehlo.add %q, %u : tensor<ROWSxf32>
  return %v, %m, %e, %j, %t : tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSx2x40000xf32>, tensor<ROWSxf32>
})";
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;)
      text.replace(at, 4, rows);
    expectRight(text);
  }
}

} // namespace
