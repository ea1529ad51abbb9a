// parseGraph: what is refused, with which code, where; constants; round trips of the public test data.
#include "glia/Graph/Parse.h"
#include "glia/Support/Diagnostic.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace glia;
using graph::parseGraph;

namespace {

std::vector<Diagnostic> errors(const std::string &text) {
  try {
    parseGraph(text, "g.mlir");
  } catch (const Error &e) {
    return e.diagnostics();
  }
  return {};
}

std::string function(const std::string &arguments, const std::string &body) {
  return "func.func @main(" + arguments + ") {\n" + body + "\n  return\n}\n";
}

// The only error of a text: its code, and words of its message.
void expectError(const std::string &text, const std::string &code, const std::string &words) {
  const auto list = errors(text);
  ASSERT_EQ(list.size(), 1u) << text;
  EXPECT_EQ(list[0].code, code) << list[0].message;
  EXPECT_NE(list[0].message.find(words), std::string::npos) << list[0].message;
}

TEST(ParseGraph, PlaceAndCaret) {
  const auto list =
      errors(function("%a: tensor<2x3xf32>, %b: tensor<3x2xf32>", "  %0 = stablehlo.add %a, %c : tensor<2x3xf32>"));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].place.file, "g.mlir");
  EXPECT_EQ(list[0].place.line, 2u);
  EXPECT_EQ(list[0].place.column, 26u);
  ASSERT_GE(list[0].notes.size(), 2u);
  EXPECT_EQ(list[0].notes[0], "  %0 = stablehlo.add %a, %c : tensor<2x3xf32>");
  EXPECT_EQ(list[0].notes[1], std::string(25, ' ') + "^");
}

TEST(ParseGraph, RefusedByName) {
  const std::string dynamic = "  %0 = stablehlo.abs %a : tensor<?xf32>\n  %1 = stablehlo.abs %0 : tensor<?xf32>";
  const auto list = errors(function("%a: tensor<?xf32>", dynamic));
  ASSERT_EQ(list.size(), 3u); // the argument and both results
  for (const Diagnostic &d : list)
    EXPECT_EQ(d.code, "GRAPH-DYNAMIC");
  EXPECT_EQ(list[2].place.line, 3u);
  expectError(function("%a: tensor<*xf32>", ""), "GRAPH-DYNAMIC", "dynamic shape");
  expectError(function("%a: tensor<?xf32, #stablehlo.bounds<4>>", ""), "GRAPH-DYNAMIC", "bounds<4>");
  expectError(function("%a: tensor<2x!quant.uniform<i8:f32, 2.0:15>>", ""), "GRAPH-QUANTISED", "quantised");
  expectError(function("", "  %0 = stablehlo.constant() {value = dense<1> : tensor<1xi8>} : () -> tensor<1xi8>"),
              "GRAPH-QUANTISED", "quantised");
  expectError(function("%a: tensor<2xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>", ""),
              "GRAPH-SPARSE", "sparse");
  expectError(function("%a: tensor<4294967296x4294967296xf32>", ""), "GRAPH-SIZE", "2^40 bytes");
  expectError(function("", "  mhlo.frobnicate"), "GRAPH-OPERATION", "unknown operation 'mhlo.frobnicate'");
  expectError(function("", "  stablehlo.frobnicate"), "GRAPH-OPERATION", "unknown operation 'stablehlo.frobnicate'");
  expectError(function("", "  \"stablehlo.frobnicate\"() : () -> ()"), "GRAPH-OPERATION", "unknown operation");
  expectError(function("", "  \"other.op\"() : () -> ()"), "GRAPH-OPERATION", "unknown operation 'other.op'");
}

TEST(ParseGraph, ManyDynamicShapesEndInACount) {
  std::string body;
  for (int i = 0; i < 50; ++i)
    body += "  %" + std::to_string(i) + " = stablehlo.abs %a : tensor<?xf32>\n";
  const auto list = errors(function("%a: tensor<?xf32>", body));
  ASSERT_EQ(list.size(), 21u);
  EXPECT_EQ(list[20].message, "and 31 more");
}

TEST(ParseGraph, Recursion) {
  expectError("func.func @f() {\n  call @f() : () -> ()\n  return\n}\n", "GRAPH-RECURSION", "@f calls @f");
  expectError("func.func @f() {\n  call @g() : () -> ()\n  return\n}\nfunc.func @g() {\n  stablehlo.custom_call @x() "
              "{called_computations = [@f]} : () -> ()\n  return\n}\n",
              "GRAPH-RECURSION", "@f calls @g calls @f");
  expectError("func.func @f(%a: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.composite \"c\" %a {decomposition = @f} : "
              "(tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n",
              "GRAPH-RECURSION", "@f calls @f");
  // A long chain of calls is no recursion, and needs no stack.
  std::string chain;
  for (int i = 0; i < 20000; ++i)
    chain += "func.func private @f" + std::to_string(i) + "() {\n  call @f" + std::to_string(i + 1) +
             "() : () -> ()\n  return\n}\n";
  EXPECT_TRUE(errors(chain + "func.func @f20000() {\n  return\n}\n").empty());
}

TEST(ParseGraph, BadInput) {
  expectError(std::string(100000, '['), "GRAPH-SYNTAX", "nested");
  expectError("module attributes {a = " + std::string(100000, '[') + "} {}", "GRAPH-SYNTAX", "nested");
  expectError("ML\xefR rest", "GRAPH-SYNTAX", "bytecode");
  expectError("func.func private @f()\n", "GRAPH-SYNTAX", "no body");
  expectError("module {\n  module {\n  }\n}\n", "GRAPH-SYNTAX", "consists of functions");
  expectError("func.func @f() {\n  stablehlo.return\n}\n", "GRAPH-SYNTAX", "func.return");
  expectError(function("", "  %0 = stablehlo.constant dense_resource<gone> : tensor<4xf32>"), "GRAPH-SYNTAX", "gone");
  expectError(function("%a: tensor<f32>",
                       "  %0 = stablehlo.composite \"c\" %a {decomposition = @no} : (tensor<f32>) -> tensor<f32>"),
              "GRAPH-SYNTAX", "no function @no");
  EXPECT_THROW(parseGraph("", "g.mlir").main(), Error);
}

TEST(ParseGraph, Main) {
  EXPECT_EQ(parseGraph("func.func private @g() {\n  return\n}\nfunc.func @f() {\n  return\n}\n", "g").main().getName(), "f");
  auto two = parseGraph("func.func @g() {\n  return\n}\nfunc.func @f() {\n  return\n}\n", "g");
  EXPECT_THROW(two.main(), Error);
}

// ---- constants --------------------------------------------------------------------------------------------------------------

std::vector<uint8_t> bytesOf(const std::string &value, const std::string &tail = "") {
  graph::Graph g = parseGraph(function("", "  %0 = stablehlo.constant " + value) + tail, "g.mlir");
  std::vector<uint8_t> out;
  g.module->walk([&](graph::ConstantOp op) { out = graph::constantBytes(op.getValue()); });
  EXPECT_EQ(parseGraph(g.text(), "again").text(), g.text());
  return out;
}

TEST(Constants, Bytes) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(bytesOf("dense<[1, -2]> : tensor<2xi16>"), (Bytes{1, 0, 0xFE, 0xFF}));
  EXPECT_EQ(bytesOf("dense<1.0> : tensor<2xbf16>"), (Bytes{0x80, 0x3F, 0x80, 0x3F}));
  EXPECT_EQ(bytesOf("dense<[true, false, true]> : tensor<3xi1>"), (Bytes{1, 0, 1}));
  EXPECT_EQ(bytesOf("dense<true> : tensor<3xi1>"), (Bytes{1, 1, 1}));
  EXPECT_EQ(bytesOf("dense<(1.0, -2.0)> : tensor<complex<f32>>"), (Bytes{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}));
  EXPECT_EQ(bytesOf("dense<\"0x0102030405060708\"> : tensor<2xi32>"), (Bytes{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(bytesOf("dense<> : tensor<0x3xf32>"), Bytes{});
  EXPECT_EQ(bytesOf("dense_resource<r> : tensor<2xi16>",
                    "{-#\n  dialect_resources: {\n    builtin: {\n      r: \"0x0200000001000200\"\n"
                    "    }\n  }\n#-}\n"),
            (Bytes{1, 0, 2, 0}));
}

// One byte per boolean as newer printers write them, and one bit as MLIR 22 does.
TEST(Constants, Booleans) {
  std::string bytes, bits(4, '0');
  std::vector<uint8_t> expected;
  unsigned packed = 0;
  for (int i = 0; i < 13; ++i) {
    const bool b = i * i % 3 == 1;
    expected.push_back(b);
    bytes += b ? "01" : "00";
    packed |= b << i;
  }
  snprintf(bits.data(), 5, "%02X%02X", packed & 0xFF, packed >> 8);
  EXPECT_EQ(bytesOf("dense<\"0x" + bytes + "\"> : tensor<13xi1>"), expected);
  EXPECT_EQ(bytesOf("dense<\"0x" + bits + "\"> : tensor<13xi1>"), expected);
  // What follows keeps its place.
  const std::string line = "  %0 = stablehlo.constant dense<\"0x" + bytes + "\"> : tensor<13xi1> oops";
  const auto list = errors(function("", line));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].place.column, line.find("oops") + 1);
}

TEST(Constants, WrongSizes) {
  EXPECT_FALSE(errors(function("", "  %0 = stablehlo.constant dense<\"0x010203\"> : tensor<2xi16>")).empty());
  EXPECT_FALSE(errors(function("", "  %0 = stablehlo.constant dense<\"0x02010001\"> : tensor<4xi1>")).empty());
  EXPECT_FALSE(errors(function("", "  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi16>")).empty());
  expectError(function("", "  %0 = stablehlo.constant dense_resource<r> : tensor<3xi16>") +
                  "{-#\n  dialect_resources: {\n    builtin: {\n      r: \"0x0200000001000200\"\n    }\n  }\n#-}\n",
              "GRAPH-SYNTAX", "4 bytes");
}

// ---- the public test data: GLIA_STABLEHLO is a checkout of openxla/stablehlo ------------------------------------------------

TEST(Testdata, RoundTrip) {
  const char *checkout = std::getenv("GLIA_STABLEHLO");
  if (!checkout)
    GTEST_SKIP() << "GLIA_STABLEHLO is not set";
  std::map<std::string, int> counts;
  std::string refusals;
  int same = 0;
  for (const auto &entry : std::filesystem::directory_iterator(std::string(checkout) + "/stablehlo/testdata")) {
    if (entry.path().extension() != ".mlir")
      continue;
    std::stringstream file;
    file << std::ifstream(entry.path()).rdbuf();
    try {
      const std::string text = parseGraph(file.str(), entry.path().string()).text();
      EXPECT_EQ(parseGraph(text, "again").text(), text) << entry.path();
      ++counts["accepted"];
      same += file.str().find(text) != std::string::npos; // below the comments at its head
    } catch (const Error &e) {
      ++counts[e.diagnostics()[0].code];
      refusals += entry.path().filename().string() + ": " + e.diagnostics()[0].message + "\n";
    }
  }
  for (const auto &[name, n] : counts)
    printf("%-16s %d\n", name.c_str(), n);
  printf("%-16s %d\n", "printed as read", same);
  EXPECT_GT(counts["accepted"], 2000);
  EXPECT_EQ(counts["GRAPH-SYNTAX"], 0) << refusals;
  EXPECT_EQ(counts["GRAPH-OPERATION"], 0) << refusals;
}

} // namespace
