// Graphs with gathers and scatters, and indices that point anywhere.
#pragma once
#include "Check/CheckGraph.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace glia {

struct IndexGraph {
  std::string data, indices, other; // shapes; other: the result of a gather, the updates of a scatter
  std::string numbers;              // dimension numbers
  std::string sizes;                // of a gather's slices
  std::string type = "f32", index = "i32";
  std::string body = ""; // of a scatter: an operation, or none: replace
  std::string known;     // indices that are a constant
  std::string start;     // of the data: a number everywhere
};

inline std::string tensorType(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + (shape.empty() ? "" : "x") + type + ">";
}

inline std::string gatherText(const IndexGraph &g) {
  const std::string x = tensorType(g.data, g.type), i = tensorType(g.indices, g.index), y = tensorType(g.other, g.type);
  std::string s = "func.func @main(%x: " + x + (g.known.empty() ? ", %i: " + i : "") + ") -> " + y + " {\n";
  if (!g.known.empty())
    s += "  %i = stablehlo.constant dense<" + g.known + "> : " + i + "\n";
  return s + "  %0 = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<" + g.numbers +
         ">, slice_sizes = array<i64: " + g.sizes + ">}> : (" + x + ", " + i + ") -> " + y + "\n  return %0 : " + y +
         "\n}\n";
}

inline std::string scatterText(const IndexGraph &g) {
  const std::string x = tensorType(g.data, g.type), i = tensorType(g.indices, g.index), u = tensorType(g.other, g.type),
                    e = tensorType("", g.type);
  std::string s = "func.func @main(%u: " + u + (g.start.empty() ? ", %x: " + x : "") +
                  (g.known.empty() ? ", %i: " + i : "") + ") -> " + x + " {\n";
  if (!g.known.empty())
    s += "  %i = stablehlo.constant dense<" + g.known + "> : " + i + "\n";
  if (!g.start.empty())
    s += "  %x = stablehlo.constant dense<" + g.start + "> : " + x + "\n";
  s += "  %0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<" + g.numbers +
       ">}> ({\n  ^bb0(%a: " + e + ", %b: " + e + "):\n";
  if (!g.body.empty())
    s += "    %m = stablehlo." + g.body + " %a, %b : " + e + "\n";
  return s + "    stablehlo.return " + (g.body.empty() ? "%b" : "%m") + " : " + e + "\n  }) : (" + x + ", " + i + ", " + u +
         ") -> " + x + "\n  return %0 : " + x + "\n}\n";
}

// Integers become -2 to 13, or far outside; floats have NaN and infinities among them, if asked for.
inline std::vector<HostTensor> inputsFor(const std::string &text, bool special, size_t onlyFar = 11) {
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 5);
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSome[] = {kNaN, kInf, -kInf, -0.0};
  for (HostTensor &t : inputs) {
    std::vector<Word> words(t.bytes.size() / info(t.element).bytes);
    decode(t.element, t.bytes.data(), words.data(), words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t pick = (i * 2654435761u + 12345) >> 9;
      if (isFloat(t.element)) {
        if (special && pick % 9 == 0)
          words[i] = std::bit_cast<Word>(kSome[pick / 9 % std::size(kSome)]);
      } else if (info(t.element).kind == ElementInfo::Signed) {
        words[i] = pick % onlyFar == 0 ? static_cast<Word>(int64_t{-100}) : words[i] - 2;
      } else if (t.element == Element::U32 && pick % onlyFar == 0) {
        words[i] = 0xFFFFFFF0u;
      }
    }
    encode(t.element, words.data(), t.bytes.data(), words.size());
  }
  return inputs;
}

inline void expectRightEverywhere(const std::string &text) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    for (bool special : {false, true})
      try {
        EXPECT_EQ(differences(text, target, inputsFor(text, special)), "") << target << "\n" << text;
      } catch (const Error &e) {
        FAIL() << e.what() << text;
      }
}

} // namespace glia
