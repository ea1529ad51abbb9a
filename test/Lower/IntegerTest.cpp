// Integer operations against the reference interpreter, bit for bit, on every target: all pairs of edge values and of random ones.
#include "Check/CompareRuns.h"

using namespace glia;

namespace {

struct Type {
  const char *name;
  Element element;
  int bits;
  bool isSigned;
};
constexpr Type kTypes[] = {{"i8", Element::I8, 8, true},      {"i16", Element::I16, 16, true},
                           {"i32", Element::I32, 32, true},   {"ui8", Element::U8, 8, false},
                           {"ui16", Element::U16, 16, false}, {"ui32", Element::U32, 32, false}};

std::vector<int64_t> edges(const Type &t) {
  const int64_t top = int64_t{1} << (t.bits - 1);
  std::vector<int64_t> out{0, 1, 2, 3, 7, 8, 31, 32, -1, -2, -7, top, top - 1, top + 1, top / 2, 2 * top - 2};
  if (t.bits == 32)
    out.insert(out.end(),
               {(1 << 24) - 1, 1 << 24, (1 << 24) + 1, (1 << 25) + 1, 65535, 65536, 65537, 0x7FFFFF80, 0x55555555});
  uint64_t seed = 88172645463325252u;
  for (int i = 0; i < 12; ++i) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    out.push_back(static_cast<int64_t>(seed >> (i % 3 * 11)));
  }
  return out;
}

HostTensor tensor(const Type &t, const std::vector<int64_t> &values) {
  HostTensor out{t.element, {static_cast<int64_t>(values.size())}, {}};
  out.bytes.resize(values.size() * static_cast<size_t>(t.bits / 8));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&out.bytes[i * static_cast<size_t>(t.bits / 8)], &values[i], static_cast<size_t>(t.bits / 8));
  return out;
}

// Every pair of `edges`.
std::vector<HostTensor> pairs(const Type &t) {
  const std::vector<int64_t> e = edges(t);
  std::vector<int64_t> a, b;
  for (int64_t x : e)
    for (int64_t y : e) {
      a.push_back(x);
      b.push_back(y);
    }
  return {tensor(t, a), tensor(t, b)};
}

class Integers : public testing::TestWithParam<const char *> {
protected:
  // Each operation of `ops` is a result: "%r = stablehlo.OP %a, %b".
  void check(const Type &t, const std::vector<std::string> &lines, const std::vector<std::string> &results) {
    const std::vector<HostTensor> arguments = pairs(t);
    const std::string n = std::to_string(arguments[0].shape[0]), type = "tensor<" + n + "x" + t.name + ">";
    const auto filled = [&](std::string s) {
      for (size_t at; (at = s.find("$B")) != std::string::npos;)
        s.replace(at, 2, "tensor<" + n + "xi1>");
      for (size_t at; (at = s.find("$T")) != std::string::npos;)
        s.replace(at, 2, type);
      for (size_t at; (at = s.find("$N")) != std::string::npos;)
        s.replace(at, 2, n);
      return s;
    };
    std::string text = "func.func @main(%a: " + type + ", %b: " + type + ") -> (", values, types;
    for (size_t i = 0; i < lines.size(); ++i) {
      values += (i ? ", %r" : "%r") + std::to_string(i);
      types += (i ? ", " : "") + filled(results[i]);
    }
    text += types + ") {\n";
    for (size_t i = 0; i < lines.size(); ++i)
      text += "  %r" + std::to_string(i) + " = " + filled(lines[i]) + "\n";
    text += "  return " + values + " : " + types + "\n}";
    compareRuns(text, arguments, GetParam());
  }
  void check(const Type &t, const std::vector<std::string> &ops) {
    std::vector<std::string> lines, results;
    for (const std::string &op : ops) {
      lines.push_back("stablehlo." + op + " : $T");
      results.push_back("$T");
    }
    check(t, lines, results);
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, Integers, testing::Values("trn1", "trn2", "trn3"));

TEST_P(Integers, Arithmetic) {
  for (const Type &t : kTypes) {
    std::vector<std::string> ops{"add %a, %b", "subtract %a, %b", "multiply %a, %b", "maximum %a, %b", "minimum %a, %b"};
    ops.insert(ops.end(), {"negate %a", "sign %a", "clamp %a, %b, %a"});
    if (t.isSigned)
      ops.push_back("abs %a");
    else
      ops.erase(ops.begin() + 6);
    check(t, ops);
  }
}

TEST_P(Integers, DivisionAndRemainder) {
  for (const Type &t : kTypes)
    check(t, {"divide %a, %b", "remainder %a, %b"});
}

TEST_P(Integers, Bits) {
  for (const Type &t : kTypes)
    check(t, {"and %a, %b", "or %a, %b", "xor %a, %b", "not %a", "shift_left %a, %b", "shift_right_logical %a, %b",
              "shift_right_arithmetic %a, %b", "popcnt %a", "count_leading_zeros %a"});
}

TEST_P(Integers, Powers) {
  for (const Type &t : kTypes)
    check(t, {"power %a, %b"});
}

TEST_P(Integers, Comparisons) {
  for (const Type &t : kTypes) {
    std::vector<std::string> lines;
    for (const char *direction : {"EQ", "NE", "GE", "GT", "LE", "LT"})
      lines.push_back(std::string("stablehlo.compare ") + direction + ", %a, %b : ($T, $T) -> $B");
    lines.push_back("stablehlo.select %r3, %a, %b : $B, $T");
    std::vector<std::string> results(6, "$B");
    results.push_back("$T");
    check(t, lines, results);
  }
}

TEST_P(Integers, Conversions) {
  for (const Type &t : kTypes) {
    std::vector<std::string> lines, results;
    for (const char *to : {"i8", "i16", "i32", "ui8", "ui16", "ui32", "i1", "f32"}) {
      results.push_back("tensor<$Nx" + std::string(to) + ">");
      lines.push_back("stablehlo.convert %a : ($T) -> " + results.back());
    }
    check(t, lines, results);
  }
}

// Numbers in the graph are immediates or constants of the kernel.
TEST_P(Integers, WithConstants) {
  for (const Type &t : kTypes) {
    const std::vector<HostTensor> pair = pairs(t);
    const std::string type = "tensor<" + std::to_string(pair[0].shape[0]) + "x" + t.name + ">";
    const std::string big = std::to_string(t.isSigned ? -(int64_t{1} << (t.bits - 1)) : (int64_t{1} << t.bits) - 1);
    std::string text = "func.func @main(%a: " + type + ") -> (";
    const std::vector<std::string> ops = {"add %a, %big",
                                          "multiply %a, %seven",
                                          "subtract %big, %a",
                                          "xor %a, %big",
                                          "divide %a, %seven",
                                          "remainder %a, %seven",
                                          "divide %big, %a",
                                          "and %a, %big",
                                          "shift_left %a, %two",
                                          "shift_right_arithmetic %a, %two",
                                          "power %a, %seven",
                                          "maximum %a, %big",
                                          "shift_right_logical %big, %a"};
    std::string values, types, body;
    for (size_t i = 0; i < ops.size(); ++i) {
      body += "  %r" + std::to_string(i) + " = stablehlo." + ops[i] + " : " + type + "\n";
      values += (i ? ", %r" : "%r") + std::to_string(i);
      types += (i ? ", " : "") + type;
    }
    for (auto [name, value] : {std::pair<std::string, std::string>{"big", big}, {"seven", "7"}, {"two", "2"}})
      body = "  %" + name + " = stablehlo.constant dense<" + value + "> : " + type + "\n" + body;
    text += types + ") {\n" + body + "  return " + values + " : " + types + "\n}";
    compareRuns(text, {pair[0]}, GetParam());
  }
}

TEST_P(Integers, FromFloats) {
  std::vector<float> x{0,      -0.0f,      0.5f,          -0.5f,          0.99f, 1.5f,     -1.5f,         127.9f,
                       128.5f, -128.9f,    -129,          255.9f,         256,   32767.9f, 65535.5f,      65536,
                       -32769, 2147483520, 2147483648.0f, -2147483648.0f, -3e9f, 4e9f,     4294967040.0f, 5e9f,
                       1e30f,  -1e30f,     INFINITY,      -INFINITY,      NAN,   8388609};
  HostTensor in{Element::F32, {static_cast<int64_t>(x.size())}, {}};
  in.bytes.resize(x.size() * 4);
  std::memcpy(in.bytes.data(), x.data(), in.bytes.size());
  const std::string n = std::to_string(x.size());
  std::string values, types, body;
  int i = 0;
  for (const char *to : {"i8", "i16", "i32", "ui8", "ui16", "ui32", "i1"}) {
    const std::string type = "tensor<" + n + "x" + to + ">";
    body += "  %r" + std::to_string(i) + " = stablehlo.convert %a : (tensor<" + n + "xf32>) -> " + type + "\n";
    values += (i ? ", %r" : "%r") + std::to_string(i);
    types += (i ? ", " : "") + type;
    ++i;
  }
  compareRuns("func.func @main(%a: tensor<" + n + "xf32>) -> (" + types + ") {\n" + body + "  return " + values + " : " +
                  types + "\n}",
              {in}, GetParam());
}

// Ties, NaN, infinities and rows that are all lowest; along the last axis and the first.
TEST_P(Integers, ArgMax) {
  std::vector<float> x(6 * 9);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 7) % 5);
  x[9 + 4] = x[9 + 7] = NAN;
  std::fill_n(&x[18], 9, -INFINITY);
  std::fill_n(&x[27], 9, INFINITY);
  x[36] = -0.0f;
  HostTensor in{Element::F32, {6, 9}, {}};
  in.bytes.resize(x.size() * 4);
  std::memcpy(in.bytes.data(), x.data(), in.bytes.size());
  for (const auto &[how, start] : {std::pair<std::string, std::string>{"GT", "0xFF800000"}, {"LT", "0x7F800000"}})
    for (const auto &[dim, to] : {std::pair<std::string, std::string>{"1", "6"}, {"0", "9"}})
      compareRuns(R"(func.func @main(%x: tensor<6x9xf32>) -> (tensor<)" + to + R"(xf32>, tensor<)" + to +
                      R"(xi32>) {
  %i = stablehlo.iota dim = )" +
                      dim + R"( : tensor<6x9xi32>
  %s = stablehlo.constant dense<)" +
                      start + R"(> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %s), (%i init: %z) across dimensions = [)" +
                      dim + R"(] : (tensor<6x9xf32>, tensor<6x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<)" + to +
                      R"(xf32>, tensor<)" + to + R"(xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    %2 = stablehlo.compare )" +
                      how +
                      R"(, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %8, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<)" +
                      to + R"(xf32>, tensor<)" + to + R"(xi32>
})",
                  {in}, GetParam());
}

// A comparison alone, as torch_xla writes it: after a NaN it begins again.
TEST_P(Integers, ArgMaxByComparison) {
  std::vector<float> x(7 * 9);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 7) % 5);
  x[9 + 4] = NAN, x[18] = NAN, x[27 + 8] = NAN;
  x[36 + 1] = x[36 + 6] = NAN;
  std::fill_n(&x[45], 9, -INFINITY);
  x[45 + 3] = NAN;
  std::fill_n(&x[54], 9, INFINITY);
  for (const auto &[how, start] : {std::pair<std::string, std::string>{"GE", "0xFF800000"}, {"LE", "0x7F800000"}})
    compareRuns(R"(func.func @main(%x: tensor<7x9xf32>) -> (tensor<7xf32>, tensor<7xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<7x9xi32>
  %s = stablehlo.constant dense<)" +
                    start +
                    R"(> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %s), (%i init: %z) across dimensions = [1] : (tensor<7x9xf32>, tensor<7x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<7xf32>, tensor<7xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    %2 = stablehlo.compare )" +
                    how + R"(, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.minimum %c, %d : tensor<i32>
    %6 = stablehlo.select %2, %c, %d : tensor<i1>, tensor<i32>
    %7 = stablehlo.select %4, %5, %6 : tensor<i1>, tensor<i32>
    stablehlo.return %3, %7 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<7xf32>, tensor<7xi32>
})",
                {floats(x, {7, 9})}, GetParam());
}

// One operand per row, one per column, and what is computed per row.
TEST_P(Integers, RowsAndColumns) {
  compareRuns(
      R"(func.func @main(%x: tensor<150x33xi32>, %y: tensor<150xi32>, %z: tensor<33xi32>, %a: tensor<150x33xi8>, %b: tensor<150xi8>) -> (tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi8>, tensor<150x33xi8>, tensor<150xi32>, tensor<150x33xi32>) {
  %yb = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<150xi32>) -> tensor<150x33xi32>
  %zb = stablehlo.broadcast_in_dim %z, dims = [1] : (tensor<33xi32>) -> tensor<150x33xi32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<150xi8>) -> tensor<150x33xi8>
  %0 = stablehlo.divide %x, %yb : tensor<150x33xi32>
  %1 = stablehlo.remainder %zb, %yb : tensor<150x33xi32>
  %2 = stablehlo.shift_left %x, %yb : tensor<150x33xi32>
  %3 = stablehlo.shift_right_arithmetic %yb, %x : tensor<150x33xi32>
  %4 = stablehlo.power %yb, %zb : tensor<150x33xi32>
  %5 = stablehlo.multiply %a, %bb : tensor<150x33xi8>
  %6 = stablehlo.remainder %bb, %a : tensor<150x33xi8>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %7 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<150x33xi32>, tensor<i32>) -> tensor<150xi32>
  %m = stablehlo.divide %7, %y : tensor<150xi32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<150xi32>) -> tensor<150x33xi32>
  %8 = stablehlo.remainder %x, %mb : tensor<150x33xi32>
  return %0, %1, %2, %3, %4, %5, %6, %m, %8 : tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi32>, tensor<150x33xi8>, tensor<150x33xi8>, tensor<150xi32>, tensor<150x33xi32>
})",
      {integers(Element::I32, {150, 33}, 150 * 33), integers(Element::I32, {150}, 150), integers(Element::I32, {33}, 33),
       integers(Element::I8, {150, 33}, 150 * 33), integers(Element::I8, {150}, 150)},
      GetParam());
}

// The random numbers of JAX: twenty rounds of additions, rotations and exclusive ors, against the published answers.
TEST_P(Integers, Threefry) {
  const std::string t = "tensor<3xui32>";
  std::string body;
  int n = 0;
  const auto make = [&](const std::string &line) {
    body += "  %v" + std::to_string(n) + " = stablehlo." + line + "\n";
    return "%v" + std::to_string(n++);
  };
  const auto number = [&](uint32_t v) { return make("constant dense<" + std::to_string(v) + "> : " + t); };
  const auto two = [&](const std::string &op, const std::string &a, const std::string &b) {
    return make(op + " " + a + ", " + b + " : " + t);
  };
  const std::string keys[] = {"%k", "%l", two("xor", two("xor", "%k", "%l"), number(0x1BD11BDA))};
  std::string x = two("add", "%c", keys[0]), y = two("add", "%d", keys[1]);
  constexpr uint32_t kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  for (uint32_t i = 0; i < 5; ++i) {
    for (uint32_t turn : kTurns[i % 2]) {
      x = two("add", x, y);
      y = two("xor", x, two("or", two("shift_left", y, number(turn)), two("shift_right_logical", y, number(32 - turn))));
    }
    x = two("add", x, keys[(i + 1) % 3]);
    y = two("add", two("add", y, keys[(i + 2) % 3]), number(i + 1));
  }
  const std::string text = "func.func @main(%k: " + t + ", %l: " + t + ", %c: " + t + ", %d: " + t + ") -> (" + t + ", " +
                           t + ") {\n" + body + "  return " + x + ", " + y + " : " + t + ", " + t + "\n}";
  const auto bytes = [](const std::vector<uint32_t> &v) {
    std::vector<std::byte> out(v.size() * 4);
    std::memcpy(out.data(), v.data(), out.size());
    return out;
  };
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  GraphOptions options;
  options.target = GetParam();
  const CompiledGraph c = compileGraph(*g.module, options);
  EXPECT_LE(c.groups, 2u);
  const RunResult r = run(c.program, {{"arg0", bytes({0, 0xFFFFFFFF, 0x13198A2E})},
                                      {"arg1", bytes({0, 0xFFFFFFFF, 0x03707344})},
                                      {"arg2", bytes({0, 0xFFFFFFFF, 0x243F6A88})},
                                      {"arg3", bytes({0, 0xFFFFFFFF, 0x85A308D3})}});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.outputs.at("result0"), bytes({0x6B200159, 0x1CB996FC, 0xC4923A9C}));
  EXPECT_EQ(r.outputs.at("result1"), bytes({0x99BA4EFE, 0xBB002BE7, 0x483DF7A0}));
}

} // namespace
