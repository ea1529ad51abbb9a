// Scatters against the reference: indices known and not, twice the same, outside; every combination.
#include "IndexGraphs.h"

using namespace glia;

namespace {

constexpr const char *kRows =
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1";
constexpr const char *kBodies[] = {"", "add", "multiply", "maximum", "minimum"};

TEST(Scatter, KnownIndices) {
  for (const char *type : {"f32", "bf16", "i8", "ui16", "i32"})
    for (const char *body : kBodies)
      expectRightEverywhere(scatterText({.data = "9x6",
                                         .indices = "5x1",
                                         .other = "5x6",
                                         .numbers = kRows,
                                         .type = type,
                                         .index = "i64",
                                         .body = body,
                                         .known = "[[2], [4], [2], [-1], [9]]"}));
}

TEST(Scatter, KnownPlaces) {
  expectRightEverywhere(scatterText(
      {.data = "4x2x3x5",
       .indices = "2",
       .other = "4x3",
       .numbers = "update_window_dims = [0, 1], inserted_window_dims = [1, 3], scatter_dims_to_operand_dims = [1, 3]",
       .body = "add",
       .known = "[0, 4]"}));
  expectRightEverywhere(scatterText({.data = "5x6x7",
                                     .indices = "2x2x2",
                                     .other = "5x2x2",
                                     .numbers = "update_window_dims = [0], inserted_window_dims = [1, 2], "
                                                "scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2",
                                     .known = "[[[0, 1], [2, 3]], [[4, 0], [1, 2]]]"}));
  expectRightEverywhere(scatterText({.data = "300x20",
                                     .indices = "1",
                                     .other = "200x20",
                                     .numbers = "update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]",
                                     .body = "add",
                                     .known = "[50]"}));
}

TEST(Scatter, RowsInOrder) {
  for (const char *body : kBodies)
    expectRightEverywhere(scatterText({.data = "9x6", .indices = "14x1", .other = "14x6", .numbers = kRows, .body = body}));
  for (const char *type : {"bf16", "i8", "i32"})
    expectRightEverywhere(
        scatterText({.data = "9x6", .indices = "14x1", .other = "14x6", .numbers = kRows, .type = type, .body = "add"}));
}

TEST(Scatter, OntoANumber) {
  for (const char *body : {"", "add"})
    expectRightEverywhere(
        scatterText({.data = "9x6", .indices = "14x1", .other = "14x6", .numbers = kRows, .body = body, .start = "0.5"}));
}

TEST(Scatter, WindowsAndSeveralIndices) {
  expectRightEverywhere(
      scatterText({.data = "10x7x5",
                   .indices = "6x2",
                   .other = "6x3x2x5",
                   .numbers = "update_window_dims = [1, 2, 3], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1",
                   .body = "add"}));
  expectRightEverywhere(scatterText(
      {.data = "10x12",
       .indices = "8x2",
       .other = "8",
       .numbers = "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"}));
  // Columns.
  expectRightEverywhere(scatterText({.data = "130x9",
                                     .indices = "5x1",
                                     .other = "130x5",
                                     .numbers = "update_window_dims = [0], inserted_window_dims = [1], "
                                                "scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
                                     .body = "add"}));
}

TEST(Scatter, Batched) {
  expectRightEverywhere(scatterText(
      {.data = "3x10x6",
       .indices = "3x4x1",
       .other = "3x4x6",
       .numbers = "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
                  "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2",
       .body = "maximum"}));
}

TEST(Scatter, ManyUpdates) {
  for (const char *body : {"", "minimum", "add"})
    expectRightEverywhere(
        scatterText({.data = "12x8", .indices = "300x1", .other = "300x8", .numbers = kRows, .body = body}));
}

TEST(Scatter, Nothing) {
  expectRightEverywhere(scatterText({.data = "9x6", .indices = "0x1", .other = "0x6", .numbers = kRows, .body = "add"}));
}

// Index vectors of length 0: every place is the first one, and the indices have no elements.
TEST(Scatter, VectorsOfLengthZero) {
  for (const char *known : {"[]", ""})
    for (const char *body : kBodies)
      expectRightEverywhere(scatterText({.data = "9x6",
                                         .indices = "0",
                                         .other = "9x6",
                                         .numbers = "update_window_dims = [0, 1]",
                                         .body = body,
                                         .known = known}));
  for (const char *body : {"", "add"}) // three updates of a part, each in the same place
    expectRightEverywhere(scatterText({.data = "9x6",
                                       .indices = "3x0",
                                       .other = "3x4x6",
                                       .numbers = "update_window_dims = [1, 2], index_vector_dim = 1",
                                       .body = body}));
}

// One number everywhere, and more places than pieces.
TEST(Scatter, KnownIndicesOfManyPlaces) {
  for (const char *op : {"add", "maximum"})
    expectRight(R"(
func.func @main(%x: tensor<7x2xf32>, %u: tensor<122x11x1xf32>) -> tensor<7x2xf32> {
  %c = stablehlo.constant dense<1> : tensor<122x11x2xi32>
  %0 = "stablehlo.scatter"(%x, %c, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.)" +
                std::string(op) + R"( %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<7x2xf32>, tensor<122x11x2xi32>, tensor<122x11x1xf32>) -> tensor<7x2xf32>
  return %0 : tensor<7x2xf32>
})");
}

// Many transfers by index that other engines wait for: semaphores are shared.
TEST(Scatter, ReplacesInManyRows) {
  expectRight(R"(
func.func @main(%x: tensor<16000xf32>, %i: tensor<7x107x1xi32>, %u: tensor<7x107xf32>) -> tensor<16000xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<16000xf32>, tensor<7x107x1xi32>, tensor<7x107xf32>) -> tensor<16000xf32>
  return %0 : tensor<16000xf32>
})");
}

} // namespace
