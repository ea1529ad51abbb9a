// tanh and logistic of every 16-bit float, on every target: by tables of their own, and, in a graph that brings kernels along, by that of
// exp, so that the kernels' tables find room.
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Numerics/Convert.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/Verify.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace glia;

namespace {

// `main` of these arguments, results and lines; a kernel that copies a number comes along if `kernel`.
std::string module(bool kernel, const std::string &arguments, const std::string &types, const std::string &lines,
                   const std::string &results) {
  const std::string one = "tensor<1x1xf32>";
  return "func.func public @main(" + arguments + (kernel ? ", %k: " + one : "") + ") -> (" + types +
         (kernel ? ", " + one : "") + ") {\n" + lines +
         (kernel
              ? R"(%c = stablehlo.custom_call @glia.nki(%k) {backend_config = "nisa.kernel @copy target \22trn1\22 {\0A  %x = tensor input : f32[1, 1]\0A  %y = tensor output : f32[1, 1]\0A  core 0 {\0A    dma_copy dst=%y src=%x\0A  }\0A}"} : (tensor<1x1xf32>) -> tensor<1x1xf32>
)"
              : "") +
         "return " + results + (kernel ? ", %c" : "") + " : " + types + (kernel ? ", " + one : "") + "\n}";
}

class Activations : public testing::TestWithParam<std::tuple<const char *, const char *, bool>> {};
INSTANTIATE_TEST_SUITE_P(Targets, Activations,
                         testing::Combine(testing::Values("trn1", "trn2", "trn3"), testing::Values("bf16", "f16"),
                                          testing::Bool()));

TEST_P(Activations, TanhAndLogisticOfEveryFloat) {
  const auto [target, type, kernel] = GetParam();
  const std::string t = "tensor<65536x" + std::string(type) + ">";
  const std::string text = module(kernel, "%x: " + t, t + ", " + t + ", " + t,
                                  "%0 = stablehlo.tanh %x : " + t + "\n%1 = stablehlo.logistic %x : " + t +
                                      "\n%2 = stablehlo.exponential %x : " + t + "\n",
                                  "%0, %1, %2");
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  const CompiledGraph c = compileGraph(*g.module, {target, {}});
  ASSERT_TRUE(verify(c.program).ok());
  std::vector<std::byte> x(2 * 65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    x[2 * i] = static_cast<std::byte>(i);
    x[2 * i + 1] = static_cast<std::byte>(i >> 8);
  }
  TensorData inputs{{"arg0", x}};
  if (kernel)
    inputs["arg1"] = std::vector<std::byte>(4);
  const RunResult r = run(c.program, inputs);
  ASSERT_TRUE(r.ok());
  const DType d = std::string(type) == "bf16" ? DType::BF16 : DType::F16;
  const double relative = d == DType::BF16 ? 0x1p-8 : 0x1p-11, smallest = d == DType::BF16 ? 0x1p-133 : 0x1p-24;
  const auto near = [&](const std::vector<std::byte> &got, size_t i, double want) {
    const double y = toF32(d, &got[2 * i]);
    if (std::isnan(want))
      return std::isnan(y);
    return std::fabs(y - want) <= 1.04 * relative * std::fabs(want) + 1.5 * smallest; // half a unit, and a little
  };
  for (size_t i = 0; i < 65536; ++i) {
    const double v = toF32(d, &x[2 * i]);
    ASSERT_TRUE(near(r.outputs.at("result0"), i, std::tanh(v))) << "tanh " << v;
    if (v > -88 || v < -100 || std::isnan(v)) // between, the result is no longer a normal number
      ASSERT_TRUE(near(r.outputs.at("result1"), i, 1 / (1 + std::exp(-v)))) << "logistic " << v;
  }
}

TEST(Activations, LeaveTablesToKernels) {
  const std::string t = "tensor<100x50xbf16>";
  const std::string lines = R"(
    %0 = stablehlo.tanh %x : tensor<100x50xbf16>
    %1 = stablehlo.logistic %0 : tensor<100x50xbf16>
    %2 = stablehlo.exponential %1 : tensor<100x50xbf16>
    %3 = stablehlo.log %2 : tensor<100x50xbf16>
    %4 = stablehlo.rsqrt %3 : tensor<100x50xbf16>
)";
  for (const char *target : {"trn1", "trn2", "trn3"})
    for (const bool kernel : {false, true}) {
      graph::Graph g = graph::parseGraph(module(kernel, "%x: " + t, t, lines, "%4"), "test.mlir");
      const CompiledGraph c = compileGraph(*g.module, {target, {}});
      size_t loads = 0;
      const InstrDef *load = findInstruction("act_table_load");
      for (const auto &core : c.program.streams)
        for (const Stream &stream : core)
          for (const Instr &i : stream.instrs)
            loads += c.program.opcodes[i.opcode] == load;
      EXPECT_EQ(loads, kernel ? 1u : 3u) << target;
    }
}

} // namespace
