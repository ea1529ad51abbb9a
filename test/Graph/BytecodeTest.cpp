// Portable artifacts that no writer writes: each is refused with a code and a byte, whatever it says.
#include "glia/Graph/Read.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace glia;

namespace {

std::string varint(uint64_t v) {
  for (unsigned n = 1; n < 9; ++n)
    if (v < uint64_t(1) << 7 * n) {
      const uint64_t coded = (v << 1 | 1) << (n - 1);
      return std::string(reinterpret_cast<const char *>(&coded), n);
    }
  return '\0' + std::string(reinterpret_cast<const char *>(&v), 8);
}
std::string signedVarint(int64_t v) { return varint(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63)); }

std::string section(int kind, const std::string &data) { return char(kind) + varint(data.size()) + data; }

// A module of one function without arguments. The tests change parts of it.
struct Artifact {
  std::vector<std::string> strings = {"builtin", "vhlo", "module", "func_v1", "return_v1", "add_v1", "f", "while_v1", ""};
  std::vector<std::string> attributes = {
      varint(15),             // 0: an unknown location
      varint(14) + varint(6), // 1: "f"
      varint(17) + varint(0), // 2: the type of the function
      varint(1) + varint(0),  // 3: an empty array
      varint(14) + varint(8), // 4: ""
  };
  std::vector<std::string> types = {
      varint(8) + varint(0) + varint(0),                                      // 0: () -> ()
      varint(4),                                                              // 1: f32
      varint(20) + varint(2) + signedVarint(2) + signedVarint(3) + varint(1), // 2: tensor<2x3xf32>
  };
  // arg_attrs, function_type, res_attrs, sym_name, sym_visibility
  std::string properties = varint(3) + varint(2) + varint(3) + varint(1) + varint(4);
  std::string body = operation(2, 0);       // return
  uint64_t operations = 1, values = 0;      // of the body
  uint64_t version = 6, attributeCount = 0; // 0: as many as there are
  std::string extra;                        // behind the last section

  static std::string operation(uint64_t name, int mask, const std::string &rest = "") {
    return varint(name) + char(mask) + varint(0) + rest;
  }
  std::string bytes() const {
    std::string sizes, all;
    for (size_t i = strings.size(); i-- > 0;)
      sizes += varint(strings[i].size() + 1);
    for (const std::string &s : strings)
      all += s + '\0';
    // 0 module, 1 func_v1, 2 return_v1, 3 add_v1, 4 while_v1
    const std::string dialects = varint(2) + varint(0 << 1) + varint(1 << 1) + varint(5) + varint(0) + varint(1) +
                                 varint(2 << 1 | 1) + varint(1) + varint(4) + varint(3 << 1 | 1) + varint(4 << 1 | 1) +
                                 varint(5 << 1 | 1) + varint(7 << 1 | 1);
    std::string offsets = varint(attributeCount ? attributeCount : attributes.size()) + varint(types.size()), data;
    // The first attribute is of MLIR itself, all others are of VHLO.
    offsets += varint(0) + varint(1) + varint(attributes[0].size() << 1 | 1);
    offsets += varint(1) + varint(attributes.size() - 1);
    for (size_t i = 1; i < attributes.size(); ++i)
      offsets += varint(attributes[i].size() << 1 | 1);
    offsets += varint(1) + varint(types.size());
    for (const std::string &t : types)
      offsets += varint(t.size() << 1 | 1);
    for (const auto *list : {&attributes, &types})
      for (const std::string &e : *list)
        data += e;
    const std::string function =
        operation(1, 64 | 16, varint(0) + varint(1 << 1) + varint(1) + varint(values) + varint(operations << 1) + body);
    const std::string region = varint(1) + varint(0) + varint(1 << 1) + function;
    const std::string ir = varint(1 << 1) + operation(0, 16, varint(1 << 1 | 1) + section(4, region));
    return "ML\xefR" + varint(version) + "test" + '\0' + section(0, varint(strings.size()) + sizes + all) +
           section(1, dialects) + section(8, varint(1) + varint(properties.size()) + properties) + section(2, data) +
           section(3, offsets) + section(4, ir) + extra;
  }
};

void expectError(const std::string &bytes, const std::string &code, const std::string &words) {
  try {
    graph::readBytecode(bytes, "a.mlirbc");
    FAIL() << "accepted: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, code) << e.what();
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    EXPECT_EQ(e.diagnostics()[0].place.file, "a.mlirbc");
  }
}

TEST(Bytecode, Least) {
  EXPECT_EQ(graph::readBytecode(Artifact().bytes(), "a").text(), "module {\n  func.func @f() {\n    return\n  }\n}\n");
}

TEST(Bytecode, Container) {
  Artifact a;
  a.version = 7;
  expectError(a.bytes(), "BYTECODE-VERSION", "version 7");
  const std::string good = Artifact().bytes();
  for (size_t size = 4; size < good.size(); ++size)
    expectError(good.substr(0, size), "BYTECODE-FORMAT", "(byte ");
  expectError("ML", "BYTECODE-FORMAT", "does not begin");
  a = {};
  a.extra = section(0, varint(0));
  expectError(a.bytes(), "BYTECODE-FORMAT", "strings is there twice");
  a.extra = section(77, "");
  expectError(a.bytes(), "BYTECODE-FORMAT", "no kind of section 77");
  a.extra = std::string(1, char(128 | 5)) + varint(0) + varint(3);
  expectError(a.bytes(), "BYTECODE-FORMAT", "no power of two");
}

// Numbers that would need more memory than the file has bytes.
TEST(Bytecode, Counts) {
  constexpr uint64_t kHuge = uint64_t(1) << 60;
  Artifact a;
  a.attributeCount = kHuge;
  expectError(a.bytes(), "BYTECODE-FORMAT", "");
  a = {};
  a.attributes.push_back(varint(1) + varint(kHuge)); // an array
  a.properties = varint(5) + varint(2) + varint(3) + varint(1) + varint(4);
  expectError(a.bytes(), "BYTECODE-FORMAT", "elements are announced");
  a = {};
  a.values = kHuge;
  expectError(a.bytes(), "BYTECODE-FORMAT", "more values than there are bytes");
  a = {};
  a.operations = kHuge >> 1;
  expectError(a.bytes(), "BYTECODE-FORMAT", "more operations than there are bytes");
  a = {};
  a.body = Artifact::operation(2, 16, varint(kHuge));
  expectError(a.bytes(), "BYTECODE-FORMAT", "more regions than there are bytes");
  a = {};
  a.types.push_back(varint(20) + varint(3) + signedVarint(1 << 30) + signedVarint(1 << 30) + signedVarint(1 << 30) +
                    varint(1));
  a.attributes.push_back(varint(15) + varint(3) + varint(4) + "abcd"); // a constant: all elements are equal
  a.properties = varint(5) + varint(2) + varint(3) + varint(1) + varint(4);
  expectError(a.bytes(), "BYTECODE-FORMAT", "more than 2^40 elements");
}

// The attribute with which the arguments of the function would be described.
void expectAttribute(const std::vector<std::string> &attributes, const std::string &code, const std::string &words) {
  Artifact a;
  a.properties = varint(a.attributes.size()) + varint(2) + varint(3) + varint(1) + varint(4);
  a.attributes.insert(a.attributes.end(), attributes.begin(), attributes.end());
  expectError(a.bytes(), code, words);
}

TEST(Bytecode, Attributes) {
  expectAttribute({varint(1) + varint(1) + varint(5)}, "BYTECODE-FORMAT", "part of itself");
  expectAttribute({varint(1) + varint(1) + varint(6), varint(1) + varint(1) + varint(5)}, "BYTECODE-FORMAT",
                  "part of itself");
  expectAttribute({varint(1) + varint(1) + varint(99)}, "BYTECODE-FORMAT", "there is no attribute 99");
  expectAttribute({varint(99)}, "BYTECODE-VERSION", "attribute 99 of the dialect `vhlo`");
  expectAttribute({varint(2) + varint(2)}, "BYTECODE-FORMAT", "0 or 1");
  expectAttribute({varint(3) + varint(9)}, "BYTECODE-VERSION", "value of an enum 9");
  expectAttribute({varint(2) + varint(1) + "x"}, "BYTECODE-FORMAT", "bytes are left behind an attribute");
  expectAttribute({varint(14) + varint(50)}, "BYTECODE-FORMAT", "there is no string 50");
  expectAttribute({varint(8) + varint(2) + varint(0)}, "BYTECODE-FORMAT", "type of a float");
  expectAttribute({varint(9) + varint(1) + varint(0)}, "BYTECODE-FORMAT", "type of an integer");
  expectAttribute({varint(15) + varint(2) + varint(5) + "12345"}, "BYTECODE-FORMAT", "more or fewer bytes");
  expectAttribute({varint(6) + varint(1) + varint(3) + varint(3)}, "BYTECODE-FORMAT", "name of an attribute");
  expectAttribute({varint(6) + varint(2) + varint(1) + varint(3) + varint(1) + varint(3)}, "BYTECODE-FORMAT", "twice");
  // Each array is in the next one: too deep; each twice in the next one: too many.
  std::vector<std::string> deep, wide;
  for (uint64_t i = 0; i < 1100; ++i)
    deep.push_back(varint(1) + varint(1) + varint(i == 1099 ? 3 : 6 + i));
  for (uint64_t i = 0; i < 40; ++i)
    wide.push_back(varint(1) + varint(2) + varint(i == 39 ? 3 : 6 + i) + varint(i == 39 ? 3 : 6 + i));
  expectAttribute(deep, "BYTECODE-FORMAT", "nested more than 1000 deep");
  expectAttribute(wide, "BYTECODE-FORMAT", "more than 4194304 parts");
}

TEST(Bytecode, Types) {
  const auto expect = [](const std::string &type, const std::string &code, const std::string &words) {
    Artifact a;
    a.types[0] = type;
    expectError(a.bytes(), code, words);
  };
  expect(varint(99), "BYTECODE-VERSION", "type 99 of the dialect `vhlo`");
  expect(varint(24), "GRAPH-QUANTISED", "quantised");
  expect(varint(1) + varint(2), "BYTECODE-FORMAT", "complex");
  expect(varint(20) + varint(1) + signedVarint(-5) + varint(1), "BYTECODE-FORMAT", "a dimension is -5");
  expect(varint(20) + varint(1) + signedVarint(5) + varint(2), "BYTECODE-FORMAT", "no such elements");
  expect(varint(4), "GRAPH-SYNTAX", ""); // a function has no type f32
}

TEST(Bytecode, Operations) {
  const auto expect = [](const std::string &body, uint64_t operations, uint64_t values, const std::string &words,
                         const std::string &code = "BYTECODE-FORMAT") {
    Artifact a;
    a.body = body;
    a.operations = operations;
    a.values = values;
    expectError(a.bytes(), code, words);
  };
  const auto op = [](uint64_t name, int mask, const std::string &rest = "") {
    return Artifact::operation(name, mask, rest);
  };
  const std::string result = varint(1) + varint(2), operands = varint(2) + varint(0) + varint(0);
  expect(op(3, 2 | 4, result + operands), 1, 1, "the value 0 is used and not defined before");
  expect(op(3, 2, result), 1, 0, "more values than it announces");
  expect(op(9, 0), 1, 0, "no name of an operation 9");
  expect(op(2, 8), 1, 0, "branches");
  expect(op(2, 64, varint(5)), 1, 0, "no properties 5");
  expect(op(1, 64, varint(0)), 1, 0, "functions are expected in a module");
  expect(op(0, 0), 1, 0, "unknown operation 'builtin.module'", "GRAPH-OPERATION");
  expect(op(4, 16, varint(1 << 1) + varint(2)), 1, 0, "several blocks");
  expect(op(2, 0) + op(2, 0), 2, 0, "", "GRAPH-SYNTAX"); // a return in the middle
  expect("", 0, 0, "", "GRAPH-SYNTAX");
  std::string nested;
  for (int i = 0; i < 300; ++i)
    nested += op(4, 16, varint(1 << 1) + varint(1) + varint(0) + varint(1 << 1));
  expect(nested, 1, 0, "nested more than 200 deep");
  Artifact a;
  a.strings[5] = "add_v9";
  a.body = op(3, 0);
  expectError(a.bytes(), "BYTECODE-VERSION", "`add_v9` of VHLO is unknown");
}

// What JAX wrote, with each byte changed in turn: read or refused, and nothing else.
TEST(Bytecode, ChangedBytes) {
  size_t refused = 0, read = 0;
  for (const auto &entry : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/fuzz/corpus/bytecode")) {
    const FileBytes file = readFile(entry.path().string());
    const std::string good(file.text());
    EXPECT_NO_THROW(graph::readGraph(good, entry.path().string())) << entry.path();
    for (size_t i = 4; i < good.size(); i += 23) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (i % 2 ? 1 : 0x12));
      try {
        graph::readBytecode(bad, "a.mlirbc");
        ++read;
      } catch (const Error &e) {
        EXPECT_FALSE(e.diagnostics().empty());
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(read, 20u); // in texts and places
}

} // namespace
