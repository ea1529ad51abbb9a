// Sorts against the reference, bit for bit: places of NaN and zeros, stability, other operands along, any dimension.
#include "Check/CheckGraph.h"
#include "Check/CompareRuns.h"

using namespace glia;

namespace {

class Sort : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Sort, testing::Values("trn1", "trn2", "trn3"));

// As JAX writes the comparison of floats: zeros are equal, NaN is last.
std::string canonical(const std::string &t) {
  const auto side = [&](const std::string &x, const std::string &p) {
    return "  %" + p + "0 = stablehlo.compare EQ, " + x + ", %zero, FLOAT : (" + t + ", " + t + ") -> tensor<i1>\n  %" + p +
           "1 = stablehlo.select %" + p + "0, %zero, " + x + " : tensor<i1>, " + t + "\n  %" + p +
           "2 = stablehlo.compare NE, " + x + ", " + x + ", FLOAT : (" + t + ", " + t + ") -> tensor<i1>\n  %" + p +
           "3 = stablehlo.select %" + p + "2, %nan, %" + p + "1 : tensor<i1>, " + t + "\n";
  };
  const std::string nan = t == "tensor<f32>" ? "0x7FC00000" : t == "tensor<bf16>" ? "0x7FC0" : "0x7E00";
  return "  %zero = stablehlo.constant dense<0.0> : " + t + "\n  %nan = stablehlo.constant dense<" + nan + "> : " + t +
         "\n" + side("%a", "p") + side("%b", "q") + "  %m = stablehlo.compare LT, %p3, %q3, TOTALORDER : (" + t + ", " + t +
         ") -> tensor<i1>\n";
}
std::string compared(const std::string &how, const std::string &t, const char *type) {
  return "  %m = stablehlo.compare " + how + ", %a, %b, " + type + " : (" + t + ", " + t + ") -> tensor<i1>\n";
}

// Sorts x by `body`, and an operand y along with it.
std::string sorted(const std::string &shape, const std::string &element, int dim, const std::string &body) {
  const std::string t = "tensor<" + shape + "x" + element + ">", y = "tensor<" + shape + "xi32>",
                    s = "tensor<" + element + ">";
  return "func.func @main(%x: " + t + ", %y: " + y + ") -> (" + t + ", " + y +
         ") {\n%r:2 = \"stablehlo.sort\"(%x, %y) <{dimension = " + std::to_string(dim) +
         " : i64, is_stable = true}> ({\n^bb0(%a: " + s + ", %b: " + s + ", %c: tensor<i32>, %d: tensor<i32>):\n" + body +
         "  stablehlo.return %m : tensor<i1>\n}) : (" + t + ", " + y + ") -> (" + t + ", " + y +
         ")\nreturn %r#0, %r#1 : " + t + ", " + y + "\n}";
}

HostTensor places(std::vector<int64_t> shape, int64_t n) {
  HostTensor h{Element::I32, std::move(shape), std::vector<std::byte>(static_cast<size_t>(n) * 4)};
  for (int32_t i = 0; i < n; ++i)
    std::memcpy(&h.bytes[static_cast<size_t>(i) * 4], &i, 4);
  return h;
}

TEST_P(Sort, FloatsWithNanAndZeros) {
  std::vector<float> x(6 * 37);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 29 % 23) - 11);
  for (size_t i = 5; i < x.size(); i += 13)
    x[i] = i % 2 ? NAN : -NAN;
  for (size_t i = 3; i < x.size(); i += 7)
    x[i] = i % 2 ? -0.0f : 0.0f;
  x[17] = INFINITY, x[18] = -INFINITY;
  const HostTensor in = floats(x, {6, 37}), at = places({6, 37}, 6 * 37);
  for (int dim : {0, 1}) {
    compareRuns(sorted("6x37", "f32", dim, canonical("tensor<f32>")), {in, at}, GetParam());
    compareRuns(sorted("6x37", "f32", dim, compared("LT", "tensor<f32>", "TOTALORDER")), {in, at}, GetParam());
    compareRuns(sorted("6x37", "f32", dim, compared("GT", "tensor<f32>", "TOTALORDER")), {in, at}, GetParam());
  }
}

TEST_P(Sort, Integers) {
  for (const auto &[name, element, type] : {std::tuple<std::string, Element, const char *>{"i32", Element::I32, "SIGNED"},
                                            {"ui32", Element::U32, "UNSIGNED"},
                                            {"i16", Element::I16, "SIGNED"},
                                            {"ui8", Element::U8, "UNSIGNED"},
                                            {"i1", Element::Pred, "UNSIGNED"}})
    compareRuns(sorted("3x50", name, 1, compared(name == "i16" ? "GT" : "LT", "tensor<" + name + ">", type)),
                {integers(element, {3, 50}, 150), places({3, 50}, 150)}, GetParam());
}

TEST_P(Sort, NarrowFloatsInOneDimension) {
  for (const char *t : {"bf16", "f16"})
    EXPECT_EQ(
        differences(sorted("130", t, 0, canonical(std::string("tensor<") + t + ">")), GetParam(),
                    randomInputs(
                        graph::parseGraph(sorted("130", t, 0, canonical(std::string("tensor<") + t + ">")), "t").main(), 2)),
        "");
}

// Two keys, the second downwards and only its lower digits: nothing that is known by its form.
TEST_P(Sort, AnyComparison) {
  const std::string body = R"(
  %lt = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
  %eq = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
  %mask = stablehlo.constant dense<3> : tensor<i32>
  %e = stablehlo.and %c, %mask : tensor<i32>
  %f = stablehlo.and %d, %mask : tensor<i32>
  %gt = stablehlo.compare GT, %e, %f, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %both = stablehlo.and %eq, %gt : tensor<i1>
  %m = stablehlo.or %lt, %both : tensor<i1>
)";
  HostTensor keys = integers(Element::I8, {2, 300, 3}, 1800);
  for (std::byte &k : keys.bytes)
    k &= std::byte{7};
  compareRuns(sorted("2x300x3", "i8", 1, body), {keys, places({2, 300, 3}, 1800)}, GetParam());
}

// NaN aside, a comparison of floats that is no total order.
TEST_P(Sort, ByPlainComparison) {
  std::vector<float> x(700);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 29 % 23) - 11) * (i % 2 ? 1.0f : 0.5f);
  compareRuns(sorted("700", "f32", 0, compared("GT", "tensor<f32>", "FLOAT")), {floats(x, {700}), places({700}, 700)},
              GetParam());
}

TEST_P(Sort, NanInTheOrderOfItsDigits) {
  std::vector<float> x(200);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] =
        i % 3
            ? static_cast<float>(i)
            : std::bit_cast<float>(static_cast<uint32_t>(i % 2 ? 0xffc00000u : 0x7fc00000u) + 17 * static_cast<uint32_t>(i));
  for (const char *how : {"LT", "GT"})
    compareRuns(sorted("200", "f32", 0, compared(how, "tensor<f32>", "TOTALORDER")), {floats(x, {200}), places({200}, 200)},
                GetParam());
}

TEST_P(Sort, ByAScalarFromOutside) {
  const std::string text = R"(
func.func @main(%x: tensor<300xi32>, %y: tensor<i32>) -> tensor<300xi32> {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.xor %a, %y : tensor<i32>
    %d = stablehlo.xor %b, %y : tensor<i32>
    %m = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  }) : (tensor<300xi32>) -> tensor<300xi32>
  return %r : tensor<300xi32>
})";
  compareRuns(text, {integers(Element::I32, {300}, 300), integers(Element::I32, {}, 1)}, GetParam());
}

TEST_P(Sort, TopKOfTheSmallest) {
  const std::string text = R"(
func.func @main(%x: tensor<3x40xf32>) -> (tensor<3x7xf32>, tensor<3x7xi32>) {
  %r:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 7 : i64, largest = false}} : (tensor<3x40xf32>) -> (tensor<3x7xf32>, tensor<3x7xi32>)
  return %r#0, %r#1 : tensor<3x7xf32>, tensor<3x7xi32>
})";
  std::vector<float> x(120);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 17 == 3 ? -0.0f : i % 19 == 4 ? 0.0f : static_cast<float>(i * 29 % 23) - 2;
  compareRuns(text, {floats(x, {3, 40})}, GetParam());
}

TEST(Sorts, RefusesByName) {
  const std::string text = R"(
func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = "stablehlo.if"(%p) ({
      %q = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    }, {
      stablehlo.return %p : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  }) : (tensor<300xf32>) -> tensor<300xf32>
  return %r : tensor<300xf32>
})";
  const std::string said = differences(text, "trn2", {});
  EXPECT_NE(said.find("cannot be lowered: a sort"), std::string::npos) << said;
}

} // namespace
