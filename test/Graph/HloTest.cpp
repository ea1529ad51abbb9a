// HLO modules that no writer writes are refused with a code and a byte; layouts and packed elements are those of the format.
#include "glia/Graph/Read.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace glia;

namespace {

std::string leb(uint64_t v) {
  std::string out;
  for (; v > 127; v >>= 7)
    out += static_cast<char>(v | 128);
  return out + static_cast<char>(v);
}
std::string number(uint32_t field, uint64_t v) { return leb(uint64_t(field) << 3) + leb(v); }
std::string message(uint32_t field, const std::string &s) { return leb(uint64_t(field) << 3 | 2) + leb(s.size()) + s; }

std::string shape(int element, const std::vector<uint64_t> &dims, const std::vector<uint64_t> &layout = {}) {
  std::string out = number(2, static_cast<uint64_t>(element)), order;
  for (const uint64_t d : dims)
    out += number(3, d);
  for (const uint64_t d : layout)
    order += number(1, d);
  return layout.empty() ? out : out + message(5, order);
}
const std::string kMatrix = shape(11, {2, 3});

std::string instruction(const std::string &opcode, int id, const std::string &result, const std::vector<int> &operands = {},
                        const std::string &more = "") {
  std::string out = message(1, opcode + "." + std::to_string(id)) + message(2, opcode) + message(3, result) +
                    number(35, static_cast<uint64_t>(id)) + more;
  for (const int o : operands)
    out += number(36, static_cast<uint64_t>(o));
  return message(2, out);
}
std::string parameter(int id, const std::string &result, int n = 0) {
  return instruction("parameter", id, result, {}, number(9, static_cast<uint64_t>(n)));
}
std::string computation(int id, const std::string &instructions, int root) {
  return message(3, message(1, "c" + std::to_string(id)) + instructions + number(5, static_cast<uint64_t>(id)) +
                        number(6, static_cast<uint64_t>(root)));
}
std::string module(const std::string &computations, int entry = 1) {
  return message(1, "m") + computations + number(6, static_cast<uint64_t>(entry));
}
std::string module(const std::string &instructions, int entry, int root) {
  return module(computation(entry, instructions, root), entry);
}

std::string read(const std::string &bytes) { return graph::readHlo(bytes, "a.pb").text(); }

void expectError(const std::string &bytes, const std::string &code, const std::string &words) {
  try {
    graph::readHlo(bytes, "a.pb");
    FAIL() << "accepted: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, code) << e.what();
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

TEST(Hlo, Least) {
  const std::string bytes = module(parameter(1, kMatrix) + instruction("negate", 2, kMatrix, {1}), 1, 2);
  EXPECT_NE(read(bytes).find("stablehlo.negate %arg0 : tensor<2x3xf32>"), std::string::npos);
  EXPECT_EQ(read(message(1, bytes)), read(bytes)) << "an HloProto around it";
  EXPECT_EQ(graph::readGraph(bytes, "a.pb").text(), read(bytes));
}

TEST(Hlo, Malformed) {
  const std::string good = module(parameter(1, kMatrix) + instruction("negate", 2, kMatrix, {1}), 1, 2);
  for (size_t size = 1; size + 2 < good.size(); ++size) // the last field has two bytes
    EXPECT_THROW(read(good.substr(0, size)), Error) << size;
  expectError("", "HLO-FORMAT", "no computations");
  expectError(module("", 1), "HLO-FORMAT", "no computations");
  expectError(module(computation(2, parameter(1, kMatrix), 1)), "HLO-FORMAT", "no entry computation");
  expectError(module(computation(1, "", 1) + computation(1, "", 1)), "HLO-FORMAT", "two computations have the number 1");
  expectError(module(parameter(1, kMatrix), 1, 7), "HLO-FORMAT", "has no root");
  expectError(module(parameter(1, kMatrix, 3), 1, 1), "HLO-FORMAT", "no such number");
  expectError(module(parameter(1, kMatrix) + parameter(2, kMatrix), 1, 1), "HLO-FORMAT", "there twice");
  expectError(module(parameter(1, kMatrix) + instruction("negate", 2, kMatrix, {5}), 1, 2), "HLO-FORMAT", "not before it");
  expectError(module(parameter(1, kMatrix) + instruction("negate", 1, kMatrix, {1}), 1, 1), "HLO-FORMAT",
              "number of another");
  expectError(module(parameter(1, kMatrix) + instruction("copy", 2, shape(11, {6}), {1}), 1, 2), "HLO-FORMAT",
              "another shape");
  expectError(module(parameter(1, shape(11, {~uint64_t(0)})), 1, 1), "HLO-FORMAT", "a dimension is -1");
  expectError(module(parameter(1, shape(11, {2, 3}, {0})), 1, 1), "HLO-FORMAT", "a layout has another number");
  expectError(module(parameter(1, shape(14, {})), 1, 1), "HLO-UNSUPPORTED", "primitive type 14");
  expectError(module(parameter(1, kMatrix + number(6, 1)), 1, 1), "GRAPH-DYNAMIC", "dynamic");
  expectError(module(parameter(1, kMatrix) + instruction("infeed", 2, kMatrix, {1}), 1, 2), "HLO-UNSUPPORTED", "`infeed`");
  expectError(module(parameter(1, kMatrix) + instruction("add", 2, kMatrix, {1}), 1, 2), "GRAPH-SYNTAX", "");
  std::string tuple = kMatrix;
  for (int i = 0; i < 100; ++i)
    tuple = number(2, 13) + message(4, tuple);
  expectError(module(parameter(1, tuple), 1, 1), "HLO-FORMAT", "nested more than 64 deep");
}

std::string constant(const std::string &result, const std::string &elements) {
  return module(instruction("constant", 1, result, {}, message(8, message(1, result) + elements)), 1, 1);
}

TEST(Hlo, Literals) {
  const std::string six = leb(1) + leb(2) + leb(3) + leb(4) + leb(5) + leb(~uint64_t(0));
  EXPECT_NE(read(constant(shape(4, {2, 3}), message(4, six))).find("dense<[[1, 2, 3], [4, 5, -1]]>"), std::string::npos);
  // The first dimension is the fastest.
  EXPECT_NE(read(constant(shape(4, {2, 3}, {0, 1}), message(4, six))).find("dense<[[1, 3, 5], [2, 4, -1]]>"),
            std::string::npos);
  EXPECT_NE(read(constant(shape(5, {3}), message(5, leb(7) + leb(7) + leb(7)))).find("dense<7> : tensor<3xi64>"),
            std::string::npos);
  EXPECT_NE(read(constant(shape(1, {3}), message(2, leb(1) + leb(0) + leb(1)))).find("dense<[true, false, true]>"),
            std::string::npos);
  EXPECT_NE(read(constant(shape(11, {0, 4}), "")).find("tensor<0x4xf32>"), std::string::npos);
  expectError(constant(shape(4, {2, 3}), message(4, leb(1))), "HLO-FORMAT", "a literal has 4 bytes");
  expectError(constant(shape(4, {1}), message(4, six)), "HLO-FORMAT", "more elements than its shape");
  expectError(constant(shape(4, {2, 3}, {0, 0}), message(4, six)), "HLO-FORMAT", "no permutation");
  expectError(constant(shape(4, {1u << 31, 1u << 31}), message(4, six)), "HLO-FORMAT", "more than 2^40 elements");
  expectError(module(instruction("constant", 1, kMatrix), 1, 1), "HLO-FORMAT", "has no literal");
}

// Computations that call each other without end, or so often that the graph would not fit into memory.
TEST(Hlo, Calls) {
  const std::string pred = shape(1, {}), scalar = shape(11, {});
  const auto loop = [&](int id, int called, int operand) {
    return instruction("while", id, scalar, {operand}, number(38, called) + number(38, called));
  };
  expectError(module(computation(1, parameter(1, scalar) + loop(2, 1, 1), 2)), "HLO-UNSUPPORTED", "more than 200 deep");
  expectError(module(computation(1, parameter(1, scalar) + instruction("call", 2, scalar, {1}, number(38, 1)), 2)),
              "GRAPH-RECURSION", "");
  std::string all = computation(100, parameter(1, scalar) + instruction("negate", 2, scalar, {1}), 2);
  for (int c = 99; c >= 1; --c)
    all += computation(c, parameter(1, scalar) + loop(2, c + 1, 1) + loop(3, c + 1, 2), 3);
  expectError(module(all), "HLO-UNSUPPORTED", "too often");
  expectError(module(computation(1, parameter(1, scalar) + loop(2, 9, 1), 2)), "HLO-FORMAT", "which does not exist");
}

TEST(Hlo, Donation) {
  const std::string pair = number(2, 13) + message(4, kMatrix) + message(4, kMatrix);
  const std::string body = parameter(1, kMatrix) + parameter(2, kMatrix, 1) + instruction("tuple", 3, pair, {2, 1});
  const std::string alias = message(8, message(1, number(1, 1) + number(2, 0)));
  EXPECT_NE(read(module(body, 1, 3) + alias).find("%arg0: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}"),
            std::string::npos);
  expectError(module(body, 1, 3) + message(8, message(1, number(1, 1) + number(2, 5))), "HLO-FORMAT", "no parameter 5");
}

TEST(Hlo, ChangedBytes) {
  size_t refused = 0;
  for (const auto &entry : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/fuzz/corpus/hlo")) {
    const FileBytes file = readFile(entry.path().string());
    const std::string good(file.text());
    EXPECT_NO_THROW(graph::readGraph(good, entry.path().string())) << entry.path();
    for (size_t i = 0; i < good.size(); i += 23) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (i % 2 ? 1 : 0x12));
      try {
        graph::readHlo(bad, "a.pb");
      } catch (const Error &e) {
        EXPECT_FALSE(e.diagnostics().empty());
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100u);
}

} // namespace
