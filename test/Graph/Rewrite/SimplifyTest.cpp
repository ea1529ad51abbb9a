// What happens to a graph before it is grouped: constants folded, identities removed, 64-bit values narrowed or refused. Numbers against
// the reference interpreter, which gets the graph as it was.
#include "Check/CompareRuns.h"

#include <cmath>

using namespace glia;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kOdd{0.0f, -0.0f, 1.5f, -2.25f, kInfinity, -kInfinity, kNan, 1e-40f, 3e38f};

HostTensor odd() { return floats(kOdd); }

std::string refusal(const std::string &text) {
  try {
    graph::Graph g = graph::parseGraph(text, "test.mlir");
    compileGraph(*g.module);
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

TEST(FoldConstants, EveryOperationAsTheReference) {
  struct Case {
    const char *type, *a, *b;
    std::vector<std::string> ops;
  };
  const std::vector<std::string> integer{"add",
                                         "subtract",
                                         "multiply",
                                         "divide",
                                         "remainder",
                                         "maximum",
                                         "minimum",
                                         "and",
                                         "or",
                                         "xor",
                                         "shift_left",
                                         "shift_right_logical",
                                         "shift_right_arithmetic"},
      real{"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum"};
  const std::vector<Case> cases{
      {"tensor<6xi8>", "[0, -128, 127, -1, 5, -7]", "[3, -1, 2, 0, 9, 2]", integer},
      {"tensor<6xui8>", "[0, 128, 255, 1, 5, 7]", "[3, 255, 2, 0, 9, 2]", integer},
      {"tensor<6xi32>", "[0, -2147483648, 2147483647, -1, 5, -7]", "[3, -1, 2, 0, 33, 2]", integer},
      {"tensor<6xui32>", "[0, 2147483648, 4294967295, 1, 5, 7]", "[3, 4294967295, 2, 0, 33, 2]", integer},
      {"tensor<6xf32>", "[0.0, -0.0, 1.5, -2.7, 3.0e38, 0x7FC00000]", "[-0.0, 0.0, 0.3, 1.1, 3.0e38, 1.0]", real},
      {"tensor<6xbf16>", "[0.0, -0.0, 1.5, -2.7, 3.0e38, 0x7FC0]", "[-0.0, 0.0, 0.3, 1.1, 3.0e38, 1.0]", real},
      {"tensor<6xf16>", "[0.0, -0.0, 1.5, -2.7, 6.0e4, 0x7E00]", "[-0.0, 0.0, 0.3, 1.1, 6.0e4, 1.0]", real}};
  for (const Case &c : cases) {
    std::string text = "func.func @main(%x: tensor<6xf32>) -> (", values, types, body;
    const std::string t = c.type, bools = "tensor<6xi1>";
    int n = 0;
    const auto add = [&](const std::string &line, const std::string &type) {
      body += "  %r" + std::to_string(n) + " = stablehlo." + line + "\n";
      values += (n ? ", %r" : "%r") + std::to_string(n);
      types += (n++ ? ", " : "") + type;
    };
    for (const std::string &op : c.ops)
      add(op + " %a, %b : " + t, t);
    for (const char *direction : {"EQ", "NE", "GE", "GT", "LE", "LT"})
      add(std::string("compare ") + direction + ", %a, %b : (" + t + ", " + t + ") -> " + bools, bools);
    add("select %r" + std::to_string(n - 1) + ", %a, %b : " + bools + ", " + t, t);
    add("negate %b : " + t, t);
    for (const char *to : {"i8", "ui16", "i32", "ui32", "i1", "f32", "bf16"})
      add(std::string("convert %a : (") + t + ") -> tensor<6x" + to + ">", std::string("tensor<6x") + to + ">");
    add("reverse %a, dims = [0] : " + t, t);
    add("slice %a [1:6:2] : (" + t + ") -> tensor<3x" + t.substr(9), "tensor<3x" + t.substr(9));
    add("concatenate %a, %b, dim = 0 : (" + t + ", " + t + ") -> tensor<12x" + t.substr(9), "tensor<12x" + t.substr(9));
    add("reshape %a : (" + t + ") -> tensor<2x3x" + t.substr(9), "tensor<2x3x" + t.substr(9));
    add("transpose %r" + std::to_string(n - 1) + ", dims = [1, 0] : (tensor<2x3x" + t.substr(9) + ") -> tensor<3x2x" +
            t.substr(9),
        "tensor<3x2x" + t.substr(9));
    add("broadcast_in_dim %a, dims = [1] : (" + t + ") -> tensor<2x6x" + t.substr(9), "tensor<2x6x" + t.substr(9));
    text += types + ") {\n  %a = stablehlo.constant dense<" + c.a + "> : " + t + "\n  %b = stablehlo.constant dense<" + c.b +
            "> : " + t + "\n" + body + "  return " + values + " : " + types + "\n}";
    EXPECT_EQ(compareRuns(text, {floats({1, 2, 3, 4, 5, 6})}, "trn2"), 0u); // nothing is left to compute
  }
}

// A constant and an argument: only the constant part is known.
TEST(FoldConstants, NothingOfAnArgument) {
  EXPECT_EQ(compareRuns(R"(func.func @main(%x: tensor<9xf32>) -> tensor<9xf32> {
  %a = stablehlo.constant dense<3.0> : tensor<f32>
  %b = stablehlo.constant dense<4.0> : tensor<f32>
  %c = stablehlo.multiply %a, %b : tensor<f32>
  %d = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<9xf32>
  %e = stablehlo.multiply %x, %d : tensor<9xf32>
  return %e : tensor<9xf32>
})",
                        {odd()}, "trn2"),
            1u);
}

TEST(SimplifyIdentities, LeaveEveryBit) {
  const std::string t = "tensor<9xf32>";
  const auto one = [&](const std::string &body, size_t groups) {
    EXPECT_EQ(compareRuns("func.func @main(%x: " + t + ") -> " + t + " {\n" + body + "  return %r : " + t + "\n}", {odd()},
                          "trn2"),
              groups)
        << body;
  };
  const auto number = [&](const std::string &n) { return "  %n = stablehlo.constant dense<" + n + "> : " + t + "\n"; };
  one(number("1.0") + "  %r = stablehlo.multiply %x, %n : " + t + "\n", 0);
  one(number("1.0") + "  %r = stablehlo.divide %x, %n : " + t + "\n", 0);
  one(number("-0.0") + "  %r = stablehlo.add %x, %n : " + t + "\n", 0);
  one(number("0.0") + "  %r = stablehlo.subtract %x, %n : " + t + "\n", 0);
  one(number("0.0") + "  %r = stablehlo.add %x, %n : " + t + "\n", 1);       // changes -0
  one(number("-0.0") + "  %r = stablehlo.subtract %x, %n : " + t + "\n", 1); // likewise
  one(number("0.0") + "  %r = stablehlo.multiply %x, %n : " + t + "\n", 1);  // NaN stays
  one("  %a = stablehlo.negate %x : " + t + "\n  %r = stablehlo.negate %a : " + t + "\n", 0);
  one("  %a = stablehlo.convert %x : (" + t + ") -> tensor<9xbf16>\n  %r = stablehlo.convert %a : (tensor<9xbf16>) -> " + t +
          "\n",
      1); // rounds
  one("  %a = stablehlo.reshape %x : (" + t +
          ") -> tensor<3x3xf32>\n  %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x3xf32>) -> "
          "tensor<3x3xf32>\n  %c = stablehlo.transpose %b, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>\n  %r = "
          "stablehlo.reshape "
          "%c : (tensor<3x3xf32>) -> " +
          t + "\n",
      0);
  one("  %p = stablehlo.constant dense<true> : tensor<9xi1>\n  %a = stablehlo.exponential %x : " + t +
          "\n  %r = stablehlo.select %p, %x, %a : tensor<9xi1>, " + t + "\n",
      0);
  one("  %r = stablehlo.slice %x [0:9] : (" + t + ") -> " + t + "\n", 0);
}

TEST(NarrowTypes, ProvedRanges) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    compareRuns(
        R"(func.func @main(%x: tensor<5x9xi32>) -> (tensor<5x9xi32>, tensor<5x9xi1>, tensor<5x9xui32>, tensor<5xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<5x9xi64>
  %j = stablehlo.iota dim = 1 : tensor<5x9xi64>
  %n = stablehlo.constant dense<9> : tensor<5x9xi64>
  %a = stablehlo.multiply %i, %n : tensor<5x9xi64>
  %b = stablehlo.add %a, %j : tensor<5x9xi64>
  %w = stablehlo.convert %x : (tensor<5x9xi32>) -> tensor<5x9xi64>
  %m = stablehlo.remainder %w, %n : tensor<5x9xi64>
  %c = stablehlo.subtract %b, %m : tensor<5x9xi64>
  %r = stablehlo.convert %c : (tensor<5x9xi64>) -> tensor<5x9xi32>
  %p = stablehlo.compare LT, %w, %b, SIGNED : (tensor<5x9xi64>, tensor<5x9xi64>) -> tensor<5x9xi1>
  %u = stablehlo.convert %b : (tensor<5x9xi64>) -> tensor<5x9xui64>
  %s = stablehlo.constant dense<32> : tensor<5x9xui64>
  %v = stablehlo.shift_right_logical %u, %s : tensor<5x9xui64>
  %q = stablehlo.convert %v : (tensor<5x9xui64>) -> tensor<5x9xui32>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %t = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [1] : (tensor<5x9xi64>, tensor<i64>) -> tensor<5xi64>
  %o = stablehlo.convert %t : (tensor<5xi64>) -> tensor<5xi32>
  return %r, %p, %q, %o : tensor<5x9xi32>, tensor<5x9xi1>, tensor<5x9xui32>, tensor<5xi32>
})",
        {integers(Element::I32, {5, 9}, 45)}, target);
}

// A counter that data may stop early.
TEST(NarrowTypes, CountersOfLoops) {
  HostTensor three = floats({3});
  three.shape.clear();
  compareRuns(R"(func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<f32>
   cond {
    %n = stablehlo.constant dense<20> : tensor<i64>
    %most = stablehlo.constant dense<100.0> : tensor<f32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %q = stablehlo.compare LT, %y, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.and %p, %q : tensor<i1>
    stablehlo.return %s : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.add %y, %y : tensor<f32>
    stablehlo.return %j, %z : tensor<i64>, tensor<f32>
  }
  %c = stablehlo.convert %r#0 : (tensor<i64>) -> tensor<i32>
  return %r#1, %c : tensor<f32>, tensor<i32>
})",
              {three}, "trn2");
}

TEST(NarrowTypes, CopiesOfNarrowFloats) {
  compareRuns(R"(func.func @main(%x: tensor<9xf32>) -> tensor<9xf32> {
  %w = stablehlo.convert %x : (tensor<9xf32>) -> tensor<9xf64>
  %n = stablehlo.constant dense<0.5> : tensor<9xf64>
  %p = stablehlo.compare GT, %w, %n : (tensor<9xf64>, tensor<9xf64>) -> tensor<9xi1>
  %m = stablehlo.negate %w : tensor<9xf64>
  %s = stablehlo.select %p, %w, %m : tensor<9xi1>, tensor<9xf64>
  %r = stablehlo.convert %s : (tensor<9xf64>) -> tensor<9xf32>
  return %r : tensor<9xf32>
})",
              {odd()}, "trn2");
}

TEST(NarrowTypes, SaysEverythingItCannotProve) {
  const std::string why =
      refusal(R"(func.func @main(%x: tensor<9xf32>, %k: tensor<9xf64>) -> (tensor<9xf32>, tensor<9xf64>) {
  %w = stablehlo.convert %x : (tensor<9xf32>) -> tensor<9xf64>
  %s = stablehlo.add %w, %w : tensor<9xf64>
  %r = stablehlo.convert %s : (tensor<9xf64>) -> tensor<9xf32>
  %b = stablehlo.constant dense<3.14159265358979> : tensor<9xf64>
  return %r, %w : tensor<9xf32>, tensor<9xf64>
})");
  for (const char *part : {"argument 1 has type tensor<9xf64>", "result 1 has type tensor<9xf64>",
                           "`stablehlo.add` gives tensor<9xf64>", "test.mlir:3", "GRAPH-TYPE"})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
  EXPECT_EQ(why.find("3.14"), std::string::npos); // nobody uses it
}

// What is not written in words is refused where it is computed, all of it at once.
TEST(SplitWords, SaysEverythingThatItCannotDo) {
  const std::string why = refusal(R"(func.func @main(%k: tensor<9xi64>) -> (tensor<9xi64>, tensor<9xi64>) {
  %q = stablehlo.power %k, %k : tensor<9xi64>
  %s = stablehlo.add %q, %q : tensor<9xi64>
  %f = stablehlo.convert %k : (tensor<9xi64>) -> tensor<9xf64>
  %p = stablehlo.convert %f : (tensor<9xf64>) -> tensor<9xi64>
  return %s, %p : tensor<9xi64>, tensor<9xi64>
})");
  for (const char *part : {"`stablehlo.power` on 64-bit integers", "`stablehlo.convert` on 64-bit integers", "test.mlir:2",
                           "test.mlir:4", "GRAPH-TYPE"})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
  EXPECT_EQ(why.find("stablehlo.add"), std::string::npos) << why;
}

// Complex numbers of f64, and what has no form in real and imaginary parts, with their lines.
TEST(SplitComplex, NamesWhatItRefuses) {
  const std::string wide = refusal(R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.5> : tensor<4xf32>
  %z = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4xcomplex<f64>>
  %r = stablehlo.real %z : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %w = stablehlo.convert %r : (tensor<4xf64>) -> tensor<4xf32>
  %y = stablehlo.add %w, %x : tensor<4xf32>
  return %y : tensor<4xf32>
})");
  for (const char *part : {"error[GRAPH-TYPE]: complex numbers of f64", "test.mlir:3", "help: "})
    EXPECT_NE(wide.find(part), std::string::npos) << part << "\n" << wide;
  const std::string none = refusal(R"(func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %y = "stablehlo.cbrt"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %y : tensor<4xcomplex<f32>>
})");
  for (const char *part : {"error[GRAPH-TYPE]: `stablehlo.cbrt` on complex numbers", "test.mlir:2", "help: "})
    EXPECT_NE(none.find(part), std::string::npos) << part << "\n" << none;
}

// An operation without results is nobody's producer, also where a loop was.
TEST(UnrollLoops, CallsWithoutResultsAreRefused) {
  const std::string why = refusal(R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.custom_call @notify(%z) {has_side_effect = true} : (tensor<4xf32>) -> ()
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
})");
  for (const char *part :
       {"error[GRAPH-UNSUPPORTED]: stablehlo.custom_call @notify cannot be lowered", "test.mlir:11", "help: "})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
}

} // namespace
