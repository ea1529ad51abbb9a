// Gathers against the reference: rows, batches, columns, known indices, indices outside.
#include "IndexGraphs.h"

using namespace glia;

namespace {

constexpr const char *kRows = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1";

TEST(Gather, RowsByIndex) {
  for (const char *type : {"f32", "bf16", "i8", "i1"})
    expectRightEverywhere(gatherText(
        {.data = "12x40", .indices = "130x1", .other = "130x40", .numbers = kRows, .sizes = "1,40", .type = type}));
  expectRightEverywhere(
      gatherText({.data = "9x5000", .indices = "17x1", .other = "17x5000", .numbers = kRows, .sizes = "1,5000"}));
  expectRightEverywhere(
      gatherText({.data = "9x6",
                  .indices = "3",
                  .other = "3x6",
                  .numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
                  .sizes = "1,6",
                  .index = "ui32"}));
}

// More rows than are written out one by one: loops.
TEST(Gather, ManyRows) {
  expectRightEverywhere(
      gatherText({.data = "12x16",
                  .indices = "2x150x1",
                  .other = "2x150x16",
                  .numbers = "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2",
                  .sizes = "1,16"}));
}

TEST(Gather, WindowsAndSeveralIndices) {
  // Windows of several rows, start clamped so that they stay inside.
  expectRightEverywhere(gatherText({.data = "10x7x5",
                                    .indices = "20x2",
                                    .other = "20x3x2x5",
                                    .numbers = "offset_dims = [1, 2, 3], start_index_map = [1, 0], index_vector_dim = 1",
                                    .sizes = "3,2,5"}));
  // One element per index pair, the pair in front.
  expectRightEverywhere(
      gatherText({.data = "10x12",
                  .indices = "2x33",
                  .other = "33",
                  .numbers = "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 0",
                  .sizes = "1,1"}));
  // The batch behind the window.
  expectRightEverywhere(
      gatherText({.data = "6x9",
                  .indices = "21x1",
                  .other = "9x21",
                  .numbers = "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
                  .sizes = "1,9"}));
  // A single index: a slice.
  expectRightEverywhere(gatherText({.data = "6x9",
                                    .indices = "2",
                                    .other = "3x4",
                                    .numbers = "offset_dims = [0, 1], start_index_map = [0, 1]",
                                    .sizes = "3,4"}));
}

TEST(Gather, Batched) {
  expectRightEverywhere(
      gatherText({.data = "3x10x6",
                  .indices = "3x7x1",
                  .other = "3x7x6",
                  .numbers = "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
                             "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
                  .sizes = "1,1,6"}));
}

TEST(Gather, AlongTheLastDimension) {
  for (const char *type : {"f32", "bf16", "ui8"})
    expectRightEverywhere(
        gatherText({.data = "130x11",
                    .indices = "20x1",
                    .other = "130x20",
                    .numbers = "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1",
                    .sizes = "130,1",
                    .type = type}));
  // Indices of each row's own: take_along_axis.
  expectRightEverywhere(
      gatherText({.data = "130x11",
                  .indices = "130x3x1",
                  .other = "130x3",
                  .numbers = "collapsed_slice_dims = [1], operand_batching_dims = [0], "
                             "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
                  .sizes = "1,1"}));
}

TEST(Gather, KnownIndices) {
  for (const char *index : {"i32", "i64"})
    expectRightEverywhere(gatherText({.data = "9x40",
                                      .indices = "6x1",
                                      .other = "6x40",
                                      .numbers = kRows,
                                      .sizes = "1,40",
                                      .index = index,
                                      .known = "[[0], [2], [4], [-3], [100], [7]]"}));
  expectRightEverywhere(
      gatherText({.data = "130x11",
                  .indices = "4x1",
                  .other = "130x4",
                  .numbers = "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1",
                  .sizes = "130,1",
                  .known = "[[3], [2], [1], [9]]"}));
}

// One number everywhere, and more places than pieces.
TEST(Gather, KnownIndicesOfManyPlaces) {
  expectRight(R"(
func.func @main(%x: tensor<17x8x3x32xbf16>) -> tensor<8x32x5x3x3xbf16> {
  %c = stablehlo.constant dense<28> : tensor<8x32x5x3x1xi32>
  %0 = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [4], collapsed_slice_dims = [0], operand_batching_dims = [1, 3], start_indices_batching_dims = [0, 1], start_index_map = [0], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1, 3, 1>}> : (tensor<17x8x3x32xbf16>, tensor<8x32x5x3x1xi32>) -> tensor<8x32x5x3x3xbf16>
  return %0 : tensor<8x32x5x3x3xbf16>
})");
}

// Index vectors of length 0: every place is the first one, and the indices have no elements.
TEST(Gather, VectorsOfLengthZero) {
  for (const char *known : {"[]", ""})
    expectRightEverywhere(gatherText(
        {.data = "9x6", .indices = "0", .other = "4x6", .numbers = "offset_dims = [0, 1]", .sizes = "4,6", .known = known}));
  expectRightEverywhere(gatherText({.data = "9x6",
                                    .indices = "3x0",
                                    .other = "3x4x6",
                                    .numbers = "offset_dims = [1, 2], index_vector_dim = 1",
                                    .sizes = "4,6"}));
}

// Every partition has all of a small operand: rows of it, single elements by two indices, parts of rows that lie apart in the result.
TEST(Gather, FromASmallTable) {
  for (const char *type : {"f32", "bf16", "i8"})
    expectRightEverywhere(gatherText(
        {.data = "169x4", .indices = "2401x1", .other = "2401x4", .numbers = kRows, .sizes = "1,4", .type = type}));
  expectRightEverywhere(
      gatherText({.data = "13x15",
                  .indices = "700x2",
                  .other = "700",
                  .numbers = "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1",
                  .sizes = "1,1"}));
  expectRightEverywhere(
      gatherText({.data = "20x6x3",
                  .indices = "400x1",
                  .other = "4x400x2",
                  .numbers = "offset_dims = [0, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
                  .sizes = "1,4,2"}));
}

TEST(Gather, Nothing) {
  expectRightEverywhere(gatherText({.data = "9x4", .indices = "0x1", .other = "0x4", .numbers = kRows, .sizes = "1,4"}));
}

TEST(Gather, RefusesByName) {
  const std::string text =
      gatherText({.data = "512x16384",
                  .indices = "70000x2",
                  .other = "70000",
                  .numbers = "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1",
                  .sizes = "1,1"});
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  try {
    compileGraph(*g.module);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("single elements"), std::string::npos);
  }
}

} // namespace
