// Reductions of rows that do not fit on chip, together with what is before and behind them.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// Mean and variance of long rows, as batch normalisation has them: two sweeps, and the rows stay on chip between them.
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
  EXPECT_EQ(groupsOf(text), 1u);
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
  for (const char *rows : {"64", "37"}) {
    std::string text =
        R"(func.func @main(%x: tensor<ROWSx2x8000xf32>, %c: tensor<ROWSxf32>, %k: tensor<8000xf32>) -> (tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSx2x16000xf32>, tensor<ROWSxf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %e = stablehlo.exponential %c : tensor<ROWSxf32>
  %b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSx2x8000xf32>
  %d = stablehlo.broadcast_in_dim %k, dims = [2] : (tensor<8000xf32>) -> tensor<ROWSx2x8000xf32>
  %y = stablehlo.multiply %x, %b : tensor<ROWSx2x8000xf32>
  %z = stablehlo.add %y, %d : tensor<ROWSx2x8000xf32>
  %j = stablehlo.concatenate %y, %z, dim = 2 : (tensor<ROWSx2x8000xf32>, tensor<ROWSx2x8000xf32>) -> tensor<ROWSx2x16000xf32>
  %s = stablehlo.reduce(%z init: %two) applies stablehlo.add across dimensions = [1, 2] : (tensor<ROWSx2x8000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<ROWSx2x8000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %q = stablehlo.reduce(%x init: %zero) applies stablehlo.minimum across dimensions = [1, 2] : (tensor<ROWSx2x8000xf32>, tensor<f32>) -> tensor<ROWSxf32>
  %t = stablehlo.add %s, %e : tensor<ROWSxf32>
  %u = stablehlo.multiply %t, %c : tensor<ROWSxf32>
  %v = stablehlo.add %q, %u : tensor<ROWSxf32>
  return %v, %m, %e, %j, %t : tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSxf32>, tensor<ROWSx2x16000xf32>, tensor<ROWSxf32>
})";
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;)
      text.replace(at, 4, rows);
    expectRight(text);
  }
}

// A normalisation and its gradient: results of one sweep are spread over the next, and what is read in both stays on chip. Rows on two partitions each; on one each, more than one block of them, 16 bits.
TEST(LongRows, SeveralSweeps) {
  const auto textOf = [](const std::string &rows, const std::string &columns, const std::string &type) {
    std::string text =
        R"(func.func @main(%x: tensor<FULL>, %g: tensor<ROW>, %b: tensor<ROW>, %y: tensor<FULL>) -> (tensor<FULL>, tensor<FULL>, tensor<ROW>, tensor<ROW>, tensor<ROW>) {
  %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
  %n = stablehlo.constant dense<COLUMNS.0> : tensor<ROW>
  %small = stablehlo.constant dense<0.125> : tensor<ROW>
  %zeros = stablehlo.constant dense<0.0> : tensor<FULL>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<FULL>, tensor<TYPE>) -> tensor<ROW>
  %m = stablehlo.divide %s, %n : tensor<ROW>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %c = stablehlo.subtract %x, %mb : tensor<FULL>
  %q = stablehlo.multiply %c, %c : tensor<FULL>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<FULL>, tensor<TYPE>) -> tensor<ROW>
  %w = stablehlo.divide %v, %n : tensor<ROW>
  %e = stablehlo.add %w, %small : tensor<ROW>
  %r = stablehlo.rsqrt %e : tensor<ROW>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %u = stablehlo.multiply %c, %rb : tensor<FULL>
  %gb = stablehlo.broadcast_in_dim %g, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %ug = stablehlo.multiply %u, %gb : tensor<FULL>
  %bb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %o = stablehlo.add %ug, %bb : tensor<FULL>
  %p = stablehlo.maximum %o, %zeros : tensor<FULL>
  %mask = stablehlo.compare GT, %o, %zeros : (tensor<FULL>, tensor<FULL>) -> tensor<MASK>
  %d = stablehlo.select %mask, %y, %zeros : tensor<MASK>, tensor<FULL>
  %ds = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<FULL>, tensor<TYPE>) -> tensor<ROW>
  %du = stablehlo.multiply %d, %u : tensor<FULL>
  %dg = stablehlo.reduce(%du init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<FULL>, tensor<TYPE>) -> tensor<ROW>
  %a = stablehlo.divide %dg, %n : tensor<ROW>
  %ab = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %au = stablehlo.multiply %u, %ab : tensor<FULL>
  %t = stablehlo.subtract %d, %au : tensor<FULL>
  %ts = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<FULL>, tensor<TYPE>) -> tensor<ROW>
  %tm = stablehlo.divide %ts, %n : tensor<ROW>
  %tb = stablehlo.broadcast_in_dim %tm, dims = [0] : (tensor<ROW>) -> tensor<FULL>
  %dx = stablehlo.subtract %t, %tb : tensor<FULL>
  return %p, %dx, %dg, %ds, %r : tensor<FULL>, tensor<FULL>, tensor<ROW>, tensor<ROW>, tensor<ROW>
})";
    const std::pair<std::string, std::string> names[] = {{"FULL", rows + "x" + columns + "x" + type},
                                                         {"MASK", rows + "x" + columns + "xi1"},
                                                         {"ROW", rows + "x" + type},
                                                         {"COLUMNS", columns},
                                                         {"TYPE", type}};
    for (const auto &[name, value] : names)
      for (size_t at; (at = text.find(name)) != std::string::npos;)
        text.replace(at, name.size(), value);
    return text;
  };
  for (const auto &[rows, columns, type] : {std::array{"64", "12000", "f32"}, std::array{"130", "6000", "bf16"}})
    expectRight(textOf(rows, columns, type));
}

} // namespace
