// Arguments that are given away: the result is in their place, the numbers are the same, and where that cannot be it is not done.
#include "glia/Region/CompileGraph.h"
#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

namespace {

// `GIVEN0` ... become attributes, or nothing.
std::string withDonations(std::string text, bool given) {
  for (int i = 0; i < 4; ++i)
    for (size_t at = 0; (at = text.find("GIVEN" + std::to_string(i))) != std::string::npos;)
      text.replace(at, 6, given ? "{tf.aliasing_output = " + std::to_string(i) + " : i32}" : "");
  return text;
}

int64_t bytesOf(const Program &p) {
  int64_t n = 0;
  for (const Tensor &t : p.tensors)
    n += t.bytes();
  return n;
}

struct Donated {
  int64_t saved = 0;             // bytes of HBM
  std::vector<std::string> from; // arguments whose place was taken
};

// Both programs give the same bytes; the one with donations is proved, runs in strict mode, and is the same after a round trip.
Donated compare(const std::string &text, const std::string &target, int cores = 1) {
  GraphOptions options;
  options.target = target;
  options.cores = cores;
  graph::Graph plain = graph::parseGraph(withDonations(text, false), "t.mlir"),
               given = graph::parseGraph(withDonations(text, true), "t.mlir");
  const CompiledGraph a = compileGraph(*plain.module, options), b = compileGraph(*given.module, options);
  EXPECT_TRUE(verify(b.program).ok()) << render(verify(b.program).diagnostics.at(0));
  const std::vector<HostTensor> inputs = randomInputs(plain.main(), 3);
  TensorData data;
  for (size_t i = 0; i < inputs.size(); ++i)
    data["arg" + std::to_string(i)] = inputs[i].bytes;
  const TensorData kept = data;
  const RunResult want = run(a.program, data);
  EXPECT_EQ(run(b.program, data).outputs, want.outputs) << target;
  RunOptions strict;
  strict.strict = true;
  const RunResult careful = run(b.program, data, strict);
  EXPECT_TRUE(careful.ok());
  EXPECT_EQ(careful.outputs, want.outputs);
  EXPECT_EQ(data, kept);
  const Program again = loadBytes(toBytes(b.program));
  EXPECT_EQ(disassemble(assemble(disassemble(again), "t.gasm")), disassemble(b.program));
  Donated out{bytesOf(a.program) - bytesOf(b.program), {}};
  for (const Tensor &t : b.program.tensors)
    if (!t.from.empty())
      out.from.push_back(t.from + " " + t.name);
  std::sort(out.from.begin(), out.from.end(),
            [](const std::string &x, const std::string &y) { return x.substr(x.find(' ')) < y.substr(y.find(' ')); });
  return out;
}

class Donation : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Donation, testing::Values("trn1", "trn2", "trn3"));

// A step of training: each weight is read forwards, its gradient backwards, and then it is moved.
const char *const kStep = R"(
func.func @main(%w: tensor<96x160xf32> GIVEN1, %v: tensor<160x64xf32> GIVEN2, %x: tensor<32x96xf32>) -> (tensor<f32>, tensor<96x160xf32>, tensor<160x64xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x96xf32>, tensor<96x160xf32>) -> tensor<32x160xf32>
  %t = stablehlo.tanh %h : tensor<32x160xf32>
  %y = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<32x160xf32>, tensor<160x64xf32>) -> tensor<32x64xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.multiply %y, %y : tensor<32x64xf32>
  %loss = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
  %dv = stablehlo.dot_general %t, %y, contracting_dims = [0] x [0] : (tensor<32x160xf32>, tensor<32x64xf32>) -> tensor<160x64xf32>
  %rate = stablehlo.constant dense<0.01> : tensor<160x64xf32>
  %mv = stablehlo.multiply %dv, %rate : tensor<160x64xf32>
  %nv = stablehlo.subtract %v, %mv : tensor<160x64xf32>
  %dt = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<160x64xf32>) -> tensor<32x160xf32>
  %dh = stablehlo.multiply %dt, %t : tensor<32x160xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<32x96xf32>, tensor<32x160xf32>) -> tensor<96x160xf32>
  %rate2 = stablehlo.constant dense<0.01> : tensor<96x160xf32>
  %mw = stablehlo.multiply %dw, %rate2 : tensor<96x160xf32>
  %nw = stablehlo.subtract %w, %mw : tensor<96x160xf32>
  return %loss, %nw, %nv : tensor<f32>, tensor<96x160xf32>, tensor<160x64xf32>
})";

TEST_P(Donation, WeightsOfATrainingStep) {
  const Donated d = compare(kStep, GetParam());
  EXPECT_EQ(d.from, (std::vector<std::string>{"arg0 result1", "arg1 result2"}));
  EXPECT_GE(d.saved, (96 * 160 + 160 * 64) * 4);
}

TEST(Donations, OnTwoCores) {
  const Donated d = compare(kStep, "trn2", 2);
  EXPECT_GE(d.saved, 96 * 160 * 4);
}

// Rows are written into a cache whose place data says.
TEST_P(Donation, RowsOfACache) {
  const Donated d = compare(R"(
func.func @main(%c: tensor<64x96xf32> GIVEN0, %r: tensor<1x96xf32>, %i: tensor<i32>) -> (tensor<64x96xf32>, tensor<f32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %o = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%c init: %o) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x96xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.dynamic_update_slice %c, %r, %i, %z : (tensor<64x96xf32>, tensor<1x96xf32>, tensor<i32>, tensor<i32>) -> tensor<64x96xf32>
  return %n, %s : tensor<64x96xf32>, tensor<f32>
})",
                            GetParam());
  EXPECT_EQ(d.from, std::vector<std::string>{"arg0 result0"});
}

// Several at once, from one kernel: moments and weights.
TEST_P(Donation, SeveralOfOneKernel) {
  const Donated d = compare(R"(
func.func @main(%p: tensor<130x200xf32> GIVEN1, %m: tensor<130x200xf32> GIVEN0, %g: tensor<130x200xf32>) -> (tensor<130x200xf32>, tensor<130x200xf32>) {
  %b = stablehlo.constant dense<0.9> : tensor<130x200xf32>
  %0 = stablehlo.multiply %m, %b : tensor<130x200xf32>
  %1 = stablehlo.add %0, %g : tensor<130x200xf32>
  %2 = stablehlo.subtract %p, %1 : tensor<130x200xf32>
  return %1, %2 : tensor<130x200xf32>, tensor<130x200xf32>
})",
                            GetParam());
  EXPECT_EQ(d.from, (std::vector<std::string>{"arg1 result0", "arg0 result1"}));
  EXPECT_EQ(d.saved, 2 * 130 * 200 * 4);
}

// The kernel that writes the result reads the argument elsewhere than where it writes.
TEST_P(Donation, NotWhereElementsChangePlaces) {
  for (const char *op : {"stablehlo.reverse %x, dims = [0] : tensor<40x40xf32>",
                         "stablehlo.transpose %x, dims = [1, 0] : (tensor<40x40xf32>) -> tensor<40x40xf32>"}) {
    const Donated d =
        compare("func.func @main(%x: tensor<40x40xf32> GIVEN0) -> tensor<40x40xf32> {\n  %0 = " + std::string(op) +
                    "\n  return %0 : tensor<40x40xf32>\n}",
                GetParam());
    EXPECT_EQ(d.saved, 0) << op;
  }
}

// One of two results is stored before the argument is read for the other.
TEST_P(Donation, NotWhereAnotherResultNeedsTheArgument) {
  const Donated d = compare(R"(
func.func @main(%x: tensor<99xf32>, %y: tensor<99xf32> GIVEN0, %z: tensor<99xf32>) -> (tensor<99xf32>, tensor<99xf32>) {
  %0 = stablehlo.multiply %x, %z : tensor<99xf32>
  %1 = stablehlo.compare GT, %0, %z : (tensor<99xf32>, tensor<99xf32>) -> tensor<99xi1>
  %2 = stablehlo.select %1, %y, %0 : tensor<99xi1>, tensor<99xf32>
  return %0, %2 : tensor<99xf32>, tensor<99xf32>
})",
                            GetParam());
  EXPECT_EQ(d.saved, 0);
}

// All of the argument is on chip before the first row is stored.
TEST_P(Donation, WhereItIsReadBeforeItIsWritten) {
  const Donated d = compare(R"(
func.func @main(%x: tensor<40x40xf32> GIVEN0) -> tensor<40x40xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  return %0 : tensor<40x40xf32>
})",
                            GetParam());
  EXPECT_EQ(d.saved, 40 * 40 * 4);
}

// The result is needed before the argument is read for the last time; an argument that is a result itself.
TEST(Donations, NotWhereTheArgumentIsStillNeeded) {
  EXPECT_EQ(compare(R"(
func.func @main(%x: tensor<40x40xf32> GIVEN0) -> (tensor<40x40xf32>, tensor<40x40xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  return %0, %1 : tensor<40x40xf32>, tensor<40x40xf32>
})",
                    "trn2")
                .saved,
            0);
  EXPECT_EQ(compare(R"(
func.func @main(%x: tensor<40xf32> GIVEN0) -> (tensor<40xf32>, tensor<40xf32>) {
  %0 = stablehlo.negate %x : tensor<40xf32>
  return %0, %x : tensor<40xf32>, tensor<40xf32>
})",
                    "trn2")
                .saved,
            0);
}

// The group that makes the result reads the argument once more after it has stored the result: in a kernel of several groups too, what was
// stored is not what the argument held.
TEST_P(Donation, WhatWasStoredIsNotTheArgument) {
  compare(R"(
func.func @main(%w: tensor<65x64xf32> GIVEN0, %x: tensor<64x64xf32>) -> (tensor<65x64xf32>, tensor<65x64xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = stablehlo.multiply %t, %x : tensor<64x64xf32>
  %h = stablehlo.dot_general %w, %m, contracting_dims = [1] x [0] : (tensor<65x64xf32>, tensor<64x64xf32>) -> tensor<65x64xf32>
  %y = stablehlo.tanh %h : tensor<65x64xf32>
  %z = stablehlo.subtract %w, %y : tensor<65x64xf32>
  return %y, %z : tensor<65x64xf32>, tensor<65x64xf32>
})",
          GetParam());
}

TEST(Donations, TheCompilerChoosesAResult) {
  graph::Graph g = graph::parseGraph(R"(
func.func @main(%x: tensor<40xf32> {jax.buffer_donor = true}) -> (tensor<f32>, tensor<40xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.negate %x : tensor<40xf32>
  return %s, %0 : tensor<f32>, tensor<40xf32>
})",
                                     "t.mlir");
  const CompiledGraph c = compileGraph(*g.module, {});
  EXPECT_EQ(c.program.tensors.at(static_cast<size_t>(c.program.findTensor("result1"))).from, "arg0");
}

TEST(Donations, RefusesWhatCannotBe) {
  for (const auto &[attributes, what] :
       {std::pair<std::string, std::string>{"{tf.aliasing_output = 7 : i32}", "which there is not"},
        {"{tf.aliasing_output = 1 : i32}", "another type"}}) {
    graph::Graph g = graph::parseGraph("func.func @main(%x: tensor<40xf32> " + attributes +
                                           ") -> (tensor<40xf32>, tensor<4xf32>) {\n  %c = stablehlo.constant dense<0.0> : "
                                           "tensor<4xf32>\n  return %x, %c : tensor<40xf32>, tensor<4xf32>\n}",
                                       "t.mlir");
    try {
      compileGraph(*g.module, {});
      ADD_FAILURE();
    } catch (const Error &e) {
      EXPECT_EQ(e.diagnostics()[0].code, "GRAPH-DONATION");
      EXPECT_NE(e.diagnostics()[0].message.find(what), std::string::npos) << e.what();
    }
  }
}

} // namespace
