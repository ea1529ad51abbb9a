// Emitters that forget something are found: each instruction of a kernel is left out in turn (a tap, a border, a mask, a load), and each
// accumulation becomes an overwrite; the check or the verifier has to object every time. An instruction that nobody misses is either not
// needed or not tested.
#include "CheckGraph.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Support/Random.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

using namespace glia;

namespace {

struct Case {
  const char *name;
  const char *text;
  bool special = false; // NaN and infinities have guards of their own
};

const Case kCases[] = {
    {"Dot", R"(
func.func @main(%x: tensor<40x140xf32>, %w: tensor<140x50xf32>) -> tensor<40x50xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x140xf32>, tensor<140x50xf32>) -> tensor<40x50xf32>
  return %y : tensor<40x50xf32>
})"},
    {"BatchedDot", R"(
func.func @main(%x: tensor<3x33x20xbf16>, %w: tensor<3x20x17xbf16>) -> tensor<3x33x17xbf16> {
  %y = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x33x20xbf16>, tensor<3x20x17xbf16>) -> tensor<3x33x17xbf16>
  return %y : tensor<3x33x17xbf16>
})"},
    {"KeysOfADot", R"(
func.func @main(%x: tensor<40x140xf32>, %w: tensor<140x50xf32>) -> tensor<40x50xui32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x140xf32>, tensor<140x50xf32>) -> tensor<40x50xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<40x50xf32>) -> tensor<40x50xui32>
  %top = stablehlo.constant dense<2147483648> : tensor<40x50xui32>
  %below = stablehlo.compare GE, %bits, %top : (tensor<40x50xui32>, tensor<40x50xui32>) -> tensor<40x50xi1>
  %not = stablehlo.not %bits : tensor<40x50xui32>
  %or = stablehlo.or %bits, %top : tensor<40x50xui32>
  %key = stablehlo.select %below, %not, %or : tensor<40x50xi1>, tensor<40x50xui32>
  return %key : tensor<40x50xui32>
})"},
    {"Convolution", R"(
func.func @main(%x: tensor<1x5x9x9xf32>, %w: tensor<7x5x3x3xf32>) -> tensor<1x7x9x9xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x9x9xf32>, tensor<7x5x3x3xf32>) -> tensor<1x7x9x9xf32>
  return %y : tensor<1x7x9x9xf32>
})"},
    {"WideConvolution", R"(
func.func @main(%x: tensor<2x130x6x5xf32>, %w: tensor<6x130x3x2xf32>) -> tensor<2x6x3x5xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x130x6x5xf32>, tensor<6x130x3x2xf32>) -> tensor<2x6x3x5xf32>
  return %y : tensor<2x6x3x5xf32>
})"},
    {"InputGradient", R"(
func.func @main(%x: tensor<1x7x5x5xf32>, %w: tensor<7x4x3x3xf32>) -> tensor<1x4x11x11xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x5x5xf32>, tensor<7x4x3x3xf32>) -> tensor<1x4x11x11xf32>
  return %y : tensor<1x4x11x11xf32>
})"},
    {"SumOverRows", R"(
func.func @main(%x: tensor<300x40xf32>) -> tensor<40xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<300x40xf32>, tensor<f32>) -> tensor<40xf32>
  return %y : tensor<40xf32>
})"},
    {"MaximumOfRows", R"(
func.func @main(%x: tensor<7x130x9xbf16>) -> tensor<7x130xbf16> {
  %least = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %y = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<7x130x9xbf16>, tensor<bf16>) -> tensor<7x130xbf16>
  return %y : tensor<7x130xbf16>
})"},
    {"Mask", R"(
func.func @main(%x: tensor<130x33xf32>, %y: tensor<130x33xf32>) -> tensor<130x33xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<130x33xf32>
  %p = stablehlo.compare GT, %x, %y : (tensor<130x33xf32>, tensor<130x33xf32>) -> tensor<130x33xi1>
  %z = stablehlo.select %p, %x, %zero : tensor<130x33xi1>, tensor<130x33xf32>
  return %z : tensor<130x33xf32>
})"},
    {"Softmax", R"(
func.func @main(%x: tensor<130x33xf32>) -> tensor<130x33xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<130x33xf32>, tensor<f32>) -> tensor<130xf32>
  %n = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<130xf32>) -> tensor<130x33xf32>
  %d = stablehlo.subtract %x, %n : tensor<130x33xf32>
  %e = stablehlo.exponential %d : tensor<130x33xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<130x33xf32>, tensor<f32>) -> tensor<130xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<130xf32>) -> tensor<130x33xf32>
  %r = stablehlo.divide %e, %t : tensor<130x33xf32>
  return %r : tensor<130x33xf32>
})"},
    {"Padding", R"(
func.func @main(%x: tensor<9x33xf32>) -> tensor<13x70xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %y = stablehlo.pad %x, %two, low = [1, 3], high = [3, 2], interior = [0, 1] : (tensor<9x33xf32>, tensor<f32>) -> tensor<13x70xf32>
  return %y : tensor<13x70xf32>
})"},
    {"Concatenation", R"(
func.func @main(%x: tensor<9x33xi32>, %y: tensor<2x33xi32>) -> tensor<11x33xi32> {
  %z = stablehlo.concatenate %x, %y, dim = 0 : (tensor<9x33xi32>, tensor<2x33xi32>) -> tensor<11x33xi32>
  return %z : tensor<11x33xi32>
})"},
    {"PaddedWindow", R"(
func.func @main(%x: tensor<2x9x9x5xf32>) -> tensor<2x5x5x5xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x9x9x5xf32>, tensor<f32>) -> tensor<2x5x5x5xf32>
  return %y : tensor<2x5x5x5xf32>
})",
     true},
    {"SumOfWindows", R"(
func.func @main(%x: tensor<7x33xf32>) -> tensor<7x33xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[1, 1], [2, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 5>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<7x33xf32>, tensor<f32>) -> tensor<7x33xf32>
  return %y : tensor<7x33xf32>
})"},
    {"GradientOfMaximum", R"(
func.func @main(%x: tensor<9x33xf32>, %s: tensor<5x17xf32>) -> tensor<9x33xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.select_and_scatter"(%x, %s, %zero) <{padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x33xf32>, tensor<5x17xf32>, tensor<f32>) -> tensor<9x33xf32>
  return %y : tensor<9x33xf32>
})",
     true},
    {"Gather", R"(
func.func @main(%x: tensor<20x33xf32>, %i: tensor<7x1xi32>) -> tensor<7x33xf32> {
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 33>}> : (tensor<20x33xf32>, tensor<7x1xi32>) -> tensor<7x33xf32>
  return %y : tensor<7x33xf32>
})"},
    {"ScatterAdd", R"(
func.func @main(%x: tensor<20x33xf32>, %i: tensor<7x1xi32>, %u: tensor<7x33xf32>) -> tensor<20x33xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<20x33xf32>, tensor<7x1xi32>, tensor<7x33xf32>) -> tensor<20x33xf32>
  return %y : tensor<20x33xf32>
})",
     true},
    {"ScatterAddByPairs", R"(
func.func @main(%x: tensor<4x5x33xf32>, %i: tensor<30x2xi32>, %u: tensor<30x33xf32>) -> tensor<4x5x33xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4x5x33xf32>, tensor<30x2xi32>, tensor<30x33xf32>) -> tensor<4x5x33xf32>
  return %y : tensor<4x5x33xf32>
})",
     true},
    {"Division", R"(
func.func @main(%x: tensor<100x40xi32>, %y: tensor<100x40xi32>) -> tensor<100x40xi32> {
  %z = stablehlo.divide %x, %y : tensor<100x40xi32>
  return %z : tensor<100x40xi32>
})"},
};

// The instructions of a kernel, in order.
std::vector<nisa::Instr> instructionsOf(nisa::Kernel &k) {
  std::vector<nisa::Instr> out;
  k.op().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (nisa::Instr i(op); i)
      out.push_back(i);
  });
  return out;
}

// Integers of any size and sign; few of them are indices, in and out of the range of 20 rows, or pairs of indices of 4 and 5. Floats of the third seed are often
// equal, those of the fourth are not positive: less than the zeros of a padding.
std::vector<HostTensor> inputsOf(graph::Graph &g, uint64_t seed, bool special) {
  std::vector<HostTensor> inputs = randomInputs(g.main(), seed);
  Random random(seed);
  static const std::vector<int32_t> borders = {0, 1, -1, INT32_MAX, INT32_MIN};
  static const std::vector<float> strange = {NAN, INFINITY, -INFINITY};
  for (HostTensor &t : inputs) {
    const size_t n = t.bytes.size() / 4;
    for (size_t i = 0; i < n && t.element == Element::I32; ++i) {
      const auto wide = static_cast<int32_t>(static_cast<uint32_t>(random.next())) >> random.below(32);
      const int32_t value = random.chance(10) ? random.pick(borders)
                            : n < 10          ? static_cast<int32_t>(random.between(-2, 22))
                            : n < 100         ? static_cast<int32_t>(random.between(-1, 5))
                                              : wide;
      std::memcpy(&t.bytes[i * 4], &value, 4);
    }
    for (size_t i = 0; i < n && t.element == Element::F32; ++i) {
      float x = 0;
      std::memcpy(&x, &t.bytes[i * 4], 4);
      x = special && random.chance(4) ? random.pick(strange) : seed == 3 ? std::round(x) : seed == 4 ? -std::fabs(x) : x;
      std::memcpy(&t.bytes[i * 4], &x, 4);
    }
  }
  return inputs;
}

class Mutation : public testing::TestWithParam<std::tuple<Case, const char *>> {
protected:
  // What is said of the graph when `change` has seen each kernel; empty: nothing, for any of some inputs.
  std::string verdict(const std::function<void(nisa::Kernel &)> &change) {
    std::string said = verdict(change, 1, false);
    for (uint64_t seed = 2; seed < 5 && said.empty(); ++seed)
      said = verdict(change, seed, std::get<0>(GetParam()).special && seed % 2 == 0);
    return said;
  }
  std::string verdict(const std::function<void(nisa::Kernel &)> &change, uint64_t seed, bool special) {
    const auto &[c, target] = GetParam();
    try {
      graph::Graph g = graph::parseGraph(c.text, "test.mlir");
      GraphOptions options;
      options.target = target;
      options.onKernel = change;
      const GraphCheck check = checkGraph(*g.module, inputsOf(g, seed, special), options);
      return check.ok() ? "" : check.wrong[0].code;
    } catch (const Error &e) { // the compiler's own rules
      return e.diagnostics()[0].code;
    }
  }

  void SetUp() override { // a kernel that no longer compiles is written down
    was = std::filesystem::current_path();
    std::filesystem::current_path(testing::TempDir());
  }
  void TearDown() override { std::filesystem::current_path(was); }

private:
  std::filesystem::path was;
};

TEST_P(Mutation, IsFound) {
  struct Place {
    std::string kernel; // by its text: the same group is compiled twice
    size_t instruction;
    std::string what;
    bool overwrites;
  };
  std::vector<Place> places;
  std::string first;
  ASSERT_EQ(verdict([&](nisa::Kernel &k) {
              if (!first.empty())
                return; // one kernel is enough: the cases have one
              first = k.text();
              const std::vector<nisa::Instr> all = instructionsOf(k);
              for (size_t i = 0; i < all.size(); ++i) {
                places.push_back({first, i, all[i].mnemonic().str(), false});
                if (all[i].is("nc_matmul") && all[i].integer("accumulate") == 1)
                  places.push_back({first, i, "accumulation", true});
              }
            }),
            "");
  ASSERT_FALSE(places.empty());
  constexpr size_t kMost = 48; // of a kernel, spread over it
  std::string missed;
  size_t tried = 0;
  for (size_t i = 0; i < places.size(); i += std::max<size_t>(1, places.size() / kMost)) {
    const Place &p = places[i];
    ++tried;
    const std::string said = verdict([&](nisa::Kernel &k) {
      if (k.text() != p.kernel)
        return;
      nisa::Instr victim = instructionsOf(k)[p.instruction];
      if (p.overwrites)
        victim.setInteger("accumulate", 0);
      else
        victim->erase();
    });
    if (said.empty())
      missed += "\n  " + std::to_string(p.instruction) + " " + p.what;
  }
  EXPECT_EQ(missed, "") << tried << " of " << places.size() << " changes tried";
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Case, const char *>> &info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Graphs, Mutation, testing::Combine(testing::ValuesIn(kCases), testing::Values("trn1", "trn2")),
                         nameOf);

} // namespace
