// Texts of graphs with one convolution.
#pragma once
#include "Check/CheckGraph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace glia::convolutions {

struct Axis {
  int64_t input, kernel, stride = 1, low = 0, high = 0, inputDilation = 1, kernelDilation = 1;
  bool reverse = false;
  int64_t output() const {
    const auto spread = [](int64_t n, int64_t d) { return n == 0 ? 0 : (n - 1) * d + 1; };
    const int64_t room = spread(input, inputDilation) + low + high - spread(kernel, kernelDilation);
    return room < 0 ? 0 : room / stride + 1;
  }
};

struct Case {
  std::string input = "bf01", kernel = "oi01", result = "bf01"; // dimensions in memory
  int64_t batch = 1, channels = 1, outputs = 1;
  std::vector<Axis> axes;
  int64_t groups = 1, batchGroups = 1;
  std::string type = "f32", resultType = "f32";
};

inline std::string listed(const std::string &dims) {
  std::string out;
  for (char d : dims)
    out += (out.empty() ? "[" : ", ") + std::string(1, d);
  return out + "]";
}
inline std::string typed(const std::string &dims, const std::vector<std::pair<char, int64_t>> &sizes,
                         const std::string &type) {
  std::string out = "tensor<";
  for (char d : dims)
    for (const auto &[name, size] : sizes)
      if (name == d)
        out += std::to_string(size) + "x";
  return out + type + ">";
}

inline std::string textOf(const Case &c) {
  std::vector<std::pair<char, int64_t>> in{{'b', c.batch}, {'f', c.channels}},
      kernel{{'o', c.outputs}, {'i', c.channels / c.groups}}, out{{'b', c.batch / c.batchGroups}, {'f', c.outputs}};
  std::string stride, pad, lhs, rhs, reverse;
  for (size_t d = 0; d < c.axes.size(); ++d) {
    const Axis &a = c.axes[d];
    const char name = static_cast<char>('0' + d);
    in.push_back({name, a.input});
    kernel.push_back({name, a.kernel});
    out.push_back({name, a.output()});
    const std::string comma = d ? ", " : "";
    stride += comma + std::to_string(a.stride);
    pad += comma + "[" + std::to_string(a.low) + ", " + std::to_string(a.high) + "]";
    lhs += comma + std::to_string(a.inputDilation);
    rhs += comma + std::to_string(a.kernelDilation);
    reverse += comma + (a.reverse ? "true" : "false");
  }
  const std::string x = typed(c.input, in, c.type), w = typed(c.kernel, kernel, c.type),
                    y = typed(c.result, out, c.resultType);
  return "func.func @main(%x: " + x + ", %w: " + w + ") -> " + y +
         " {\n  %0 = stablehlo.convolution(%x, %w) dim_numbers = " + listed(c.input) + "x" + listed(c.kernel) + "->" +
         listed(c.result) + ", window = {stride = [" + stride + "], pad = [" + pad + "], lhs_dilate = [" + lhs +
         "], rhs_dilate = [" + rhs + "], reverse = [" + reverse +
         "]} {batch_group_count = " + std::to_string(c.batchGroups) +
         " : i64, feature_group_count = " + std::to_string(c.groups) + " : i64} : (" + x + ", " + w + ") -> " + y +
         "\n  return %0 : " + y + "\n}";
}

// Cases of random attributes, the same on every machine.
class Draw {
public:
  explicit Draw(uint32_t seed) : random(seed) {}
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  }
  // Dimensions in any order; with one spatial axis if it is flat.
  void orders(Case &c, bool flat) {
    const auto shuffled = [&](std::string s) {
      if (flat)
        s.pop_back();
      if ((*this)(0, 1))
        std::shuffle(s.begin(), s.end(), random);
      return s;
    };
    c.input = shuffled("bf01"), c.kernel = shuffled("oi01"), c.result = shuffled("bf01");
  }

private:
  std::mt19937 random;
};

// Negative padding may leave nothing.
inline bool leavesNothing(const Case &c) {
  return std::any_of(c.axes.begin(), c.axes.end(), [](const Axis &a) {
    return a.output() < 1 || (a.input - 1) * a.inputDilation + 1 + a.low + a.high < 1;
  });
}

inline void expectRightOn(const char *target, const Case &c, uint64_t seed) {
  const std::string text = textOf(c);
  EXPECT_EQ(differences(text, target, randomInputs(graph::parseGraph(text, "test.mlir").main(), seed)), "") << target << "\n"
                                                                                                            << text;
}

// With infinities and NaN in the input, on every target. `corner`: in its first element too, beside the padding.
inline void expectRightNotFinite(const Case &c, bool corner) {
  const std::string text = textOf(c);
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 3);
    const float bad[] = {INFINITY, NAN, -INFINITY};
    const size_t n = inputs[0].bytes.size() / 4;
    for (size_t i = 0; i < 3; ++i)
      std::memcpy(&inputs[0].bytes[(n * (i + 1) / 5 + 7 * i) * 4], &bad[i], 4);
    if (corner)
      std::memcpy(&inputs[0].bytes[0], &bad[0], 4);
    EXPECT_EQ(differences(text, target, inputs), "") << target << "\n" << text;
  }
}

} // namespace glia::convolutions
