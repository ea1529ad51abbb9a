// Graphs that meet a fault that is planted in the emitters become a few operations, and still fail.
#include "glia/Reduce/ReduceGraph.h"
#include "Check/CheckGraph.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Dialect/Kernel.h"

using namespace glia;
using namespace glia::reduce;

namespace {

// Wherever an emitter adds two tensors, it subtracts them.
void plant(nisa::Kernel &kernel) {
  kernel.op().walk([](mlir::Operation *op) {
    nisa::Instr i(op);
    if (!i || !i.is("tensor_tensor"))
      return;
    const auto &names = i.def().slots[static_cast<size_t>(i.def().slot("op"))].names->names;
    const auto number = [&](std::string_view name) {
      return static_cast<int32_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    if (i.integer("op") == number("add"))
      i.setInteger("op", number("subtract"));
  });
}

Outcome judge(const std::string &text) {
  GraphOptions options;
  options.onKernel = plant;
  return judgeChecked(text, options, 1);
}

std::string smallest(const std::string &text, const Keep &keep = {.code = kMismatch}) {
  Trials trials;
  trials.judge = judge;
  trials.keep = keep;
  trials.patience.seconds = 20;
  EXPECT_TRUE(trials.fails(text));
  Search search(text, [&](const std::string &t) { return trials.fails(t); }, sizeOfGraph, {.seconds = 60});
  const Size before = search.size();
  reduceGraph(search, Bodies::Kept);
  EXPECT_LE(search.size(), before);
  EXPECT_EQ(sizeOfGraph(search.smallest()), search.size());
  EXPECT_TRUE(keep.in(judgeApart(judge, search.smallest(), {.seconds = 20})));
  return search.smallest();
}

size_t operations(const std::string &text) { return sizeOfGraph(text).parts; }

// A chain of `n` operations of several kinds, with the addition of two tensors once, in the middle.
std::string chain(int n) {
  std::string out =
      "func.func @main(%x: tensor<24x40xf32>, %y: tensor<24x40xf32>, %unused: tensor<7xf32>) -> (tensor<24x40xf32>, "
      "tensor<24x40xf32>) {\n  %v0 = stablehlo.negate %x : tensor<24x40xf32>\n";
  const char *const kinds[] = {"tanh", "abs", "negate", "exponential"};
  for (int i = 1; i < n; ++i)
    out += i == n / 2 ? format("  %%v%d = stablehlo.add %%v%d, %%y : tensor<24x40xf32>\n", i, i - 1)
                      : format("  %%v%d = stablehlo.%s %%v%d : tensor<24x40xf32>\n", i, kinds[i % 3], i - 1);
  return out + format("  return %%v%d, %%v0 : tensor<24x40xf32>, tensor<24x40xf32>\n}\n", n - 1);
}

TEST(ReduceGraph, FindsTheOneOperation) {
  const std::string small = smallest(chain(60));
  EXPECT_EQ(operations(small), 1u) << small;
  EXPECT_NE(small.find("stablehlo.add %arg0, %arg"), std::string::npos) << small;
  EXPECT_NE(small.find("tensor<1x1xf32>"), std::string::npos) << small;
}

TEST(ReduceGraph, TakesFunctionsLoopsAndBranchesApart) {
  const std::string text = R"(
func.func @main(%x: tensor<8x6xf32>, %p: tensor<i1>) -> (tensor<8x6xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<8x6xf32>, tensor<8x6xf32>
   cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %u = func.call @f(%a, %x) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %w = stablehlo.tanh %b : tensor<8x6xf32>
    stablehlo.return %j, %u, %w : tensor<i32>, tensor<8x6xf32>, tensor<8x6xf32>
  }
  %s = "stablehlo.if"(%p) ({
    %t = stablehlo.abs %r#1 : tensor<8x6xf32>
    stablehlo.return %t : tensor<8x6xf32>
  }, {
    stablehlo.return %r#2 : tensor<8x6xf32>
  }) : (tensor<i1>) -> tensor<8x6xf32>
  return %s, %r#0 : tensor<8x6xf32>, tensor<i32>
}
func.func private @f(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.negate %x : tensor<8x6xf32>
  %1 = stablehlo.add %0, %y : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
})";
  const std::string small = smallest(text);
  EXPECT_LE(operations(small), 2u) << small;
  EXPECT_EQ(small.find("while"), std::string::npos) << small;
  EXPECT_EQ(small.find("func.call"), std::string::npos) << small;
}

// Dimensions go together through operations that move and contract them, and constants follow.
TEST(ReduceGraph, ShrinksDimensionsTogether) {
  const std::string text = R"(
func.func @main(%x: tensor<16x24xf32>, %y: tensor<24x32xf32>) -> tensor<32x16xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<32x16xf32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x32xf32>) -> tensor<16x32xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %2 = stablehlo.slice %1 [0:32, 0:16] : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %3 = stablehlo.multiply %2, %c : tensor<32x16xf32>
  return %3 : tensor<32x16xf32>
})";
  const auto all = [](const std::string &t) {
    graph::Graph g = graph::parseGraph(t, "test.mlir");
    size_t n = 0;
    g.main().walk([&](mlir::Operation *op) { n += op->getName().getDialectNamespace() == "stablehlo"; });
    return n == 5;
  };
  Search search(text, all, sizeOfGraph, {.seconds = 60});
  reduceGraph(search, Bodies::Any);
  EXPECT_NE(search.smallest().find("stablehlo.slice %1 [0:1, 0:1] : (tensor<1x1xf32>)"), std::string::npos)
      << search.smallest();
  EXPECT_EQ(search.smallest().find("16"), std::string::npos) << search.smallest();
}

TEST(ReduceGraph, KeepsDonationWhereItWas) {
  const std::string text = R"(
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.add %y, %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
})";
  const auto donated = [](const std::string &t) {
    return t.find("tf.aliasing_output") != std::string::npos && t.find("add") != std::string::npos &&
           judgeCompiled(t, {}).empty();
  };
  Search search(text, donated, sizeOfGraph, {.seconds = 60});
  reduceGraph(search, Bodies::Any);
  EXPECT_EQ(operations(search.smallest()), 1u) << search.smallest();
  EXPECT_NE(search.smallest().find("tf.aliasing_output = 0"), std::string::npos) << search.smallest();
}

// A question that counts arguments or likes nothing leaves the graph legal and no larger.
TEST(ReduceGraph, StopsWhereNothingIsSmaller) {
  const std::string text = chain(6);
  Search none(text, [](const std::string &) { return false; }, sizeOfGraph, {.seconds = 60});
  reduceGraph(none, Bodies::Any);
  EXPECT_EQ(none.smallest(), text);
  const auto three = [](const std::string &t) { return graph::parseGraph(t, "test.mlir").main().getNumArguments() == 3; };
  Search search(text, three, sizeOfGraph, {.seconds = 60});
  reduceGraph(search, Bodies::Any);
  EXPECT_TRUE(three(search.smallest()));
  EXPECT_LT(operations(search.smallest()), 6u);
}

// An order that is none gives what an implementation likes: where results are compared, bodies stay whole or go.
TEST(ReduceGraph, KeepsBodiesWhole) {
  const std::string text = R"(
func.func @main(%x: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.negate %a : tensor<f32>
    %d = stablehlo.negate %b : tensor<f32>
    %p = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<9xf32>) -> tensor<9xf32>
  %1 = stablehlo.abs %0 : tensor<9xf32>
  return %1 : tensor<9xf32>
})";
  const auto sorts = [](const std::string &t) { return t.find("sort") != std::string::npos; };
  Search whole(text, sorts, sizeOfGraph, {.seconds = 60});
  reduceGraph(whole, Bodies::Kept);
  EXPECT_EQ(operations(whole.smallest()), 4u) << whole.smallest();
  Search any(text, sorts, sizeOfGraph, {.seconds = 60});
  reduceGraph(any, Bodies::Any);
  EXPECT_LT(operations(any.smallest()), 4u) << any.smallest();
}

// The position of the largest element: its body of nine operations gives way to one operation, or is taken out of the reduction.
std::string argmax() {
  return R"(
func.func @main(%x: tensor<6x7xf32>) -> tensor<6xi32> {
  %i = stablehlo.iota dim = 1 : tensor<6x7xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<6x7xf32>, tensor<6x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<6xi32>
})";
}

TEST(ReduceGraph, ReducesByOneOperation) {
  const auto ofFloats = [](const std::string &t) {
    const size_t gives = t.find("->", t.find("stablehlo.reduce("));
    return gives != std::string::npos && t.substr(gives, t.find('\n', gives) - gives).find("xf32>") != std::string::npos;
  };
  Search search(argmax(), ofFloats, sizeOfGraph, {.seconds = 60});
  reduceGraph(search, Bodies::Kept);
  EXPECT_LE(operations(search.smallest()), 2u) << search.smallest();
  EXPECT_TRUE(ofFloats(search.smallest())) << search.smallest();
}

TEST(ReduceGraph, TakesBodiesOutOfReductions) {
  const auto selects = [](const std::string &t) { return t.find("stablehlo.select") != std::string::npos; };
  Search search(argmax(), selects, sizeOfGraph, {.seconds = 60});
  reduceGraph(search, Bodies::Kept);
  EXPECT_EQ(operations(search.smallest()), 1u) << search.smallest();
}

} // namespace
