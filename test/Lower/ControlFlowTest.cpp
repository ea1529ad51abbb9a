// Loops and branches: unrolled where the number of iterations is known, run-time loops where data decides.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

TEST(ControlFlow, UnrollsACountedLoop) {
  const std::string text = R"(
func.func @main(%x: tensor<40x30xf32>, %w: tensor<30x30xf32>) -> (tensor<40x30xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<40x30xf32>
   cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<40x30xf32>, tensor<30x30xf32>) -> tensor<40x30xf32>
    %t = stablehlo.tanh %d : tensor<40x30xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<40x30xf32>
  }
  return %r#1, %r#0 : tensor<40x30xf32>, tensor<i32>
})";
  expectRight(text);
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  const CompiledGraph c = compileGraph(*g.module);
  EXPECT_GE(c.groups, 5u);
  EXPECT_LE(c.kernels, 3u); // equal iterations are one kernel
}

// The number of iterations depends on the data, and two carried values change places.
TEST(ControlFlow, RunsALoopThatDataEnds) {
  expectRight(R"(
func.func @main(%x: tensor<7x9xf32>, %y: tensor<7x9xf32>, %n: tensor<i32>) -> (tensor<7x9xf32>, tensor<7x9xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<7x9xf32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<7x9xf32>, tensor<7x9xf32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.multiply %a, %half : tensor<7x9xf32>
    %t = stablehlo.add %s, %y : tensor<7x9xf32>
    stablehlo.return %j, %b, %t : tensor<i32>, tensor<7x9xf32>, tensor<7x9xf32>
  }
  return %r#1, %r#2, %r#0 : tensor<7x9xf32>, tensor<7x9xf32>, tensor<i32>
})",
              3);
}

TEST(ControlFlow, TakesTheBranchThatDataChooses) {
  const std::string text = R"(
func.func @main(%p: tensor<i1>, %k: tensor<i32>, %x: tensor<7x9xf32>) -> (tensor<7x9xf32>, tensor<7x9xf32>) {
  %r = "stablehlo.if"(%p) ({
    %a = stablehlo.add %x, %x : tensor<7x9xf32>
    stablehlo.return %a : tensor<7x9xf32>
  }, {
    stablehlo.return %x : tensor<7x9xf32>
  }) : (tensor<i1>) -> tensor<7x9xf32>
  %s = "stablehlo.case"(%k) ({
    %a = stablehlo.negate %x : tensor<7x9xf32>
    stablehlo.return %a : tensor<7x9xf32>
  }, {
    %a = stablehlo.multiply %x, %x : tensor<7x9xf32>
    stablehlo.return %a : tensor<7x9xf32>
  }, {
    %a = stablehlo.constant dense<3.0> : tensor<7x9xf32>
    stablehlo.return %a : tensor<7x9xf32>
  }) : (tensor<i32>) -> tensor<7x9xf32>
  return %r, %s : tensor<7x9xf32>, tensor<7x9xf32>
})";
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  for (int p : {0, 1})
    for (int32_t k : {-1, 0, 1, 2, 7}) {
      std::vector<HostTensor> inputs = randomInputs(g.main(), 5);
      inputs[0].bytes[0] = static_cast<std::byte>(p);
      std::memcpy(inputs[1].bytes.data(), &k, 4);
      for (const char *target : {"trn1", "trn2"})
        EXPECT_EQ(differences(text, target, inputs), "") << target << " " << p << " " << k;
    }
}

// The first of two equal branches adds to a constant, the second to a tensor: they are two kernels, whatever the index.
TEST(ControlFlow, BranchesKnowTheConstantsOfTheirOwn) {
  expectRight(R"(
func.func @main(%p: tensor<i1>, %x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<5xf32>
  %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
  %a = "stablehlo.case"(%i) ({
    %s = stablehlo.subtract %zero, %x : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }, {
    %s = stablehlo.add %zero, %x : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<5xf32>
  %b = "stablehlo.case"(%i) ({
    %s = stablehlo.subtract %a, %x : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }, {
    %s = stablehlo.add %a, %x : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<5xf32>
  return %a, %b : tensor<5xf32>, tensor<5xf32>
})");
}

TEST(ControlFlow, EmptyTensors) {
  expectRight(R"(
func.func @main(%x: tensor<3x4xf32>, %e: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<3x3xf32>, tensor<0x4xf32>) {
  %zero = stablehlo.constant dense<2.0> : tensor<f32>
  %r = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  %n = stablehlo.negate %e : tensor<0x4xf32>
  return %r, %d, %n : tensor<4xf32>, tensor<3x3xf32>, tensor<0x4xf32>
})");
}

// Each place has registers of its own, which the next iteration writes again.
TEST(ControlFlow, ScatterInALoop) {
  expectRight(R"(
func.func @main(%x: tensor<51x3xbf16>, %i: tensor<5xi32>, %u: tensor<1x5x3xbf16>, %n: tensor<i32>) -> tensor<51x3xbf16> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%k = %c, %y = %x) : tensor<i32>, tensor<51x3xbf16>
   cond {
    %1 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = "stablehlo.scatter"(%y, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      stablehlo.return %b : tensor<bf16>
    }) : (tensor<51x3xbf16>, tensor<5xi32>, tensor<1x5x3xbf16>) -> tensor<51x3xbf16>
    %2 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<51x3xbf16>
  }
  return %0#1 : tensor<51x3xbf16>
})");
}

// Each place is a register; all of them are known before the first slice is, and there are 64.
TEST(ControlFlow, ManyPlacesInOneBranch) {
  constexpr int kSlices = 90;
  const std::string all = "tensor<" + std::to_string(kSlices) + "xi32>";
  std::string places, branch, last = "%a";
  for (int k = 0; k < kSlices; ++k) {
    const std::string n = std::to_string(k);
    places += "  %s" + n + " = stablehlo.slice %i [" + n + ":" + std::to_string(k + 1) + "] : (" + all +
              ") -> tensor<1xi32>\n  %n" + n + " = stablehlo.reshape %s" + n + " : (tensor<1xi32>) -> tensor<i32>\n";
    branch += "    %d" + n + " = stablehlo.dynamic_slice " + last + ", %n" + n +
              ", sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>\n    %b" + n +
              " = stablehlo.broadcast_in_dim %d" + n + ", dims = [0] : (tensor<1xf32>) -> tensor<16xf32>\n    %v" + n +
              " = stablehlo.subtract " + last + ", %b" + n + " : tensor<16xf32>\n";
    last = "%v" + n;
  }
  expectRight(
      "func.func @main(%p: tensor<i1>, %a: tensor<16xf32>, %i: " + all + ") -> tensor<16xf32> {\n" + places +
      "  %r = \"stablehlo.if\"(%p) ({\n" + branch + "    stablehlo.return " + last +
      " : tensor<16xf32>\n  }, {\n    stablehlo.return %a : tensor<16xf32>\n  }) : (tensor<i1>) -> tensor<16xf32>\n" +
      "  return %r : tensor<16xf32>\n}");
}

} // namespace
