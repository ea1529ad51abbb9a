// The least time of graphs, against what can be computed by hand from the target's parameters.
#include "glia/Bound/Least.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Read.h"

#include <gtest/gtest.h>

namespace glia {
namespace {

Least boundOf(const std::string &body, const std::string &target, int cores = 1) {
  graph::Graph g = graph::readGraph("module {\n" + body + "\n}", "test.mlir");
  GraphOptions options;
  options.target = target;
  options.cores = cores;
  return boundGraph(*g.module, options);
}

std::string dot(const std::string &m, const std::string &k, const std::string &n, const std::string &type) {
  return "func.func @main(%a: tensor<" + m + "x" + k + "x" + type + ">, %b: tensor<" + k + "x" + n + "x" + type +
         ">) -> tensor<" + m + "x" + n + "x" + type +
         "> {\n  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<" + m + "x" + k + "x" + type +
         ">, tensor<" + k + "x" + n + "x" + type + ">) -> tensor<" + m + "x" + n + "x" + type + ">\n  return %c : tensor<" +
         m + "x" + n + "x" + type + ">\n}";
}

std::string pointwise(const std::string &lines) {
  const std::string t = "tensor<8192x4096xf32>";
  return "func.func @main(%x: " + t + ", %y: " + t + ") -> " + t + " {\n" + lines + "\n  return %r : " + t + "\n}";
}

TEST(GraphBound, ProductsAreWholeTiles) {
  // 64 tiles of rows, 32 of the contraction, 8192 columns, 4 passes at 2.8 GHz
  const Least b = boundOf(dot("8192", "4096", "8192", "f32"), "trn1");
  EXPECT_NEAR(b.tensor, 64.0 * 32 * 8192 * 4 / 2.8, 1);
  EXPECT_EQ(b.reason(), "tensor");
  EXPECT_NEAR(boundOf(dot("8192", "4096", "8192", "bf16"), "trn1").tensor, b.tensor / 4, 1);
  // 8192 rows stay in 64 tiles while 100 columns pass: less than 8192 rows that pass a whole tile of 100 columns.
  EXPECT_NEAR(boundOf(dot("8192", "4096", "100", "bf16"), "trn1").tensor, 64.0 * 32 * 100 / 2.8, 1);
}

TEST(GraphBound, TwoCoresShareEnginesButNotMemory) {
  const Least one = boundOf(dot("4096", "4096", "4096", "bf16"), "trn2"),
              two = boundOf(dot("4096", "4096", "4096", "bf16"), "trn2", 2);
  EXPECT_LT(two.tensor, 0.51 * one.tensor + 3000);
  EXPECT_DOUBLE_EQ(two.hbm, one.hbm);
}

TEST(GraphBound, WorkIsSpreadOverEngines) {
  const double n = 8192.0 * 4096 / 128;
  const std::string t = " : tensor<8192x4096xf32>\n";
  // A function has one engine.
  const Least tanh = boundOf(pointwise("  %r = stablehlo.tanh %x" + t), "trn2");
  EXPECT_NEAR(tanh.elements, n / 1.2, n * 1e-5);
  EXPECT_EQ(tanh.engines, "scalar");
  // A sum has two: Vector in n / 0.96, GpSimd in 2 n / 1.2.
  const Least sum = boundOf(pointwise("  %r = stablehlo.add %x, %y" + t), "trn2");
  EXPECT_NEAR(sum.elements, n / (0.96 + 0.6), n * 1e-5);
  EXPECT_EQ(sum.engines, "vector and gpsimd");
  // Where they take turns, Vector alone is faster.
  EXPECT_NEAR(boundOf(pointwise("  %r = stablehlo.add %x, %y" + t), "trn1").elements, n / 1.12, n * 1e-5);
}

TEST(GraphBound, WhatIsDoneInPassingIsFree) {
  const std::string t = " : tensor<8192x4096xf32>\n", two = "  %c = stablehlo.constant dense<2.0>" + t;
  const Least alone = boundOf(pointwise("  %r = stablehlo.tanh %x" + t), "trn1"),
              scaled =
                  boundOf(pointwise(two + "  %s = stablehlo.multiply %x, %c" + t + "  %r = stablehlo.tanh %s" + t), "trn1");
  EXPECT_DOUBLE_EQ(alone.elements, scaled.elements);
  EXPECT_DOUBLE_EQ(alone.path, scaled.path);
  EXPECT_GT(boundOf(pointwise(two + "  %r = stablehlo.multiply %x, %c" + t), "trn1").elements, 0);
}

TEST(GraphBound, AnArgumentIsReadAsFarAsItIsNeeded) {
  const std::string body = R"(func.func @main(%x: tensor<8192x4096xf32>) -> tensor<128x4096xf32> {
  %s = stablehlo.slice %x [0:128, 0:4096] : (tensor<8192x4096xf32>) -> tensor<128x4096xf32>
  %r = stablehlo.tanh %s : tensor<128x4096xf32>
  return %r : tensor<128x4096xf32>
})";
  EXPECT_NEAR(boundOf(body, "trn1").hbm, 2.0 * 128 * 4096 * 4 / 410, 1);
}

TEST(GraphBound, TheProgramSaysIt) {
  graph::Graph g = graph::readGraph("module {\n" + dot("256", "256", "256", "f32") + "\n}", "test.mlir");
  GraphOptions options;
  options.target = "trn1";
  const CompiledGraph c = compileGraph(*g.module, options);
  EXPECT_DOUBLE_EQ(c.least.total(), boundGraph(*g.module, options).total());
  bool said = false;
  for (const ContractItem &i : c.program.contract)
    said |= i.key == "least.by" && i.value == c.least.reason();
  EXPECT_TRUE(said);
}

TEST(ElementWork, IsBestSpread) {
  // Two kinds of work on two engines: 10 that only Scalar does, 30 that both do at the same speed: 20 each.
  const auto t = loadTarget("trn2");
  ElementWork w(*t);
  constexpr double kNo = ElementWork::kCannot;
  w.add(128 * 10 * 1.2, {kNo, 1, kNo});
  w.add(128 * 30, {0.96, 1.2, kNo});
  std::string engines;
  EXPECT_NEAR(w.spread(engines), 20, 1e-3);
  EXPECT_EQ(engines, "vector and scalar");
  w.busy(Engine::Vector, 40);
  EXPECT_NEAR(w.spread(engines), 40, 1e-3);
}

} // namespace
} // namespace glia
