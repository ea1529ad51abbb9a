// top_k against the reference: values and places, equal ones by index, NaN and signed zeros in total order.
#include "Check/CheckGraph.h"

#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

using namespace glia;

namespace {

std::string topK(const std::string &rows, int64_t n, int64_t k, const std::string &type) {
  const std::string x = "tensor<" + rows + std::to_string(n) + "x" + type + ">",
                    v = "tensor<" + rows + std::to_string(k) + "x" + type + ">",
                    i = "tensor<" + rows + std::to_string(k) + "xi32>";
  return "func.func @main(%x: " + x + ") -> (" + v + ", " + i + ") {\n  %0:2 = chlo.top_k(%x, k = " + std::to_string(k) +
         ") : " + x + " -> (" + v + ", " + i + ")\n  return %0#0, %0#1 : " + v + ", " + i + "\n}\n";
}

// Many equal numbers; NaN of both signs, infinities, both zeros, numbers that differ in the last bit.
std::vector<HostTensor> hard(const std::string &text) {
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 2);
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  const double some[] = {
      kNaN, -kNaN, kInf, -kInf, 0.0, -0.0, 1.0, 1.0 + 0x1p-23, -1.0 - 0x1p-23, -1.0, 3.4028234663852886e38};
  for (HostTensor &t : inputs) {
    std::vector<Word> words(t.bytes.size() / info(t.element).bytes);
    decode(t.element, t.bytes.data(), words.data(), words.size());
    for (size_t i = 0; i < words.size(); ++i)
      if (const uint64_t pick = (i * 2654435761u + 99) >> 7; isFloat(t.element) && pick % 2)
        words[i] = std::bit_cast<Word>(roundTo(info(t.element), some[pick / 2 % std::size(some)]));
      else if (!isFloat(t.element) && pick % 3 == 0)
        words[i] = info(t.element).kind == ElementInfo::Signed ? ~Word{0} - pick % 100 * 1000001 : Word{0} - 1 - pick % 5;
    encode(t.element, words.data(), t.bytes.data(), words.size());
  }
  return inputs;
}

void expectRightHard(const std::string &text) {
  expectRight(text);
  for (const char *target : {"trn1", "trn2", "trn3"})
    EXPECT_EQ(differences(text, target, hard(text)), "") << target << text;
}

TEST(TopK, EveryType) {
  for (const char *type : {"f32", "bf16", "f16", "i8", "ui8", "i16", "ui16", "i32", "ui32"}) {
    expectRightHard(topK("3x43x", 40, 5, type));
    expectRightHard(topK("", 5, 5, type));
    expectRightHard(topK("3x", 9, 9, type)); // all, and not a multiple of eight
  }
}

TEST(TopK, LongRows) {
  expectRightHard(topK("2x", 5000, 3, "f32"));
  expectRightHard(topK("2x", 5000, 20, "bf16"));
  expectRightHard(topK("2x", 9000, 3, "bf16"));
}

// Many numbers that differ in their last bits only, and many that are equal: the upper part of a key does not decide.
TEST(TopK, EqualUpperParts) {
  for (const auto &[rows, n, k] : {std::tuple{"2x", 700, 100}, {"", 20000, 60}}) {
    const std::string text = topK(rows, n, k, "f32");
    std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 2);
    const size_t count = inputs[0].bytes.size() / 4;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bits = 0x3F800000 + (i * 2654435761u >> 9) % 600;
      std::memcpy(inputs[0].bytes.data() + 4 * i, &bits, 4);
    }
    for (const char *target : {"trn1", "trn2", "trn3"})
      EXPECT_EQ(differences(text, target, inputs), "") << target << text;
  }
}

// Few long rows are taken apart, so that every partition has a part: far fewer instructions' worth of time than one by one.
TEST(TopK, FewLongRows) {
  const std::string text = topK("1x", 40001, 50, "f32");
  EXPECT_EQ(differences(text, "trn2", hard(text)), "");
  GraphCheck report;
  EXPECT_EQ(differences(text, "trn1", hard(text), &report), "");
  EXPECT_GT(report.groups, 2u);
}

} // namespace
