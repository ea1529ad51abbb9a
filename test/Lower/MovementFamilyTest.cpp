// Operations that move elements, bit for bit against the reference interpreter on every target: random bytes (NaNs of all kinds among
// them), ragged sizes, every element size, chains that become one kernel.
#include "Check/CheckGraph.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Sim/Simulator.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace glia;

namespace {

struct Compiled {
  graph::Graph graph;
  CompiledGraph made;
};

Compiled compile(const std::string &text, const std::string &target) {
  Compiled c{graph::parseGraph(text, "test.mlir"), {}};
  GraphOptions options;
  options.target = target;
  c.made = compileGraph(*c.graph.module, options);
  VerifyOptions proved;
  proved.requireProved = true; // of every address that a register moves
  const VerifyResult v = verify(c.made.program, proved);
  EXPECT_TRUE(v.ok()) << render(v.diagnostics[0]);
  return c;
}

// Random bytes; scalars are the given start indices.
std::vector<HostTensor> argumentsOf(mlir::func::FuncOp main, int32_t index) {
  std::vector<HostTensor> out;
  uint32_t seed = 12345;
  for (mlir::BlockArgument a : main.getArguments()) {
    const auto type = llvm::cast<mlir::RankedTensorType>(a.getType());
    std::string name;
    llvm::raw_string_ostream(name) << type.getElementType();
    HostTensor t;
    t.element = parseElement(name).value();
    t.shape.assign(type.getShape().begin(), type.getShape().end());
    t.bytes.resize(static_cast<size_t>(type.getNumElements()) * info(t.element).bytes);
    for (std::byte &b : t.bytes) {
      seed = seed * 1664525 + 1013904223;
      b = static_cast<std::byte>(seed >> 24) & (t.element == Element::Pred ? std::byte{1} : std::byte{255});
    }
    if (t.shape.empty())
      std::memcpy(t.bytes.data(), &index, t.bytes.size());
    out.push_back(std::move(t));
  }
  return out;
}

void expectSame(const std::string &text, size_t groups = 1, int32_t index = 3) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    try {
      const Compiled c = compile(text, target);
      EXPECT_EQ(c.made.groups, groups) << target << text;
      const std::vector<HostTensor> in = argumentsOf(graph::Graph(graph::parseGraph(text, "test.mlir")).main(), index);
      TensorData data;
      for (size_t i = 0; i < in.size(); ++i)
        if (!in[i].bytes.empty()) // what has no elements is no input
          data["arg" + std::to_string(i)] = in[i].bytes;
      const RunResult r = run(c.made.program, data);
      ASSERT_TRUE(r.ok()) << target << text;
      const std::vector<HostTensor> want = interpret(*c.graph.module, "main", in);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(r.outputs.at("result" + std::to_string(i)) == want[i].bytes) << target << text;
    } catch (const Error &e) {
      ADD_FAILURE() << target << e.what() << text;
    }
}

// One operation of one argument: `op` with its attributes.
std::string one(const std::string &op, const std::string &from, const std::string &to) {
  return "func.func @main(%a: tensor<" + from + ">) -> tensor<" + to + "> {\n  %r = stablehlo." + op + " : (tensor<" + from +
         ">) -> tensor<" + to + ">\n  return %r : tensor<" + to + ">\n}";
}

TEST(Movement, Transposes) {
  expectSame(one("transpose %a, dims = [1, 0]", "1x127xf32", "127x1xf32"), 1);
  expectSame(one("transpose %a, dims = [1, 0]", "129x513xf32", "513x129xf32"));
  expectSame(one("transpose %a, dims = [1, 0]", "513x128xi8", "128x513xi8"));
  expectSame(one("transpose %a, dims = [1, 0]", "257x300xbf16", "300x257xbf16"));
  expectSame(one("transpose %a, dims = [1, 0]", "100x77xi1", "77x100xi1"));
  expectSame(one("transpose %a, dims = [0, 3, 1, 2]", "5x33x65x7xbf16", "5x7x33x65xbf16"));
  expectSame(one("transpose %a, dims = [3, 2, 1, 0]", "9x33x12x7xf32", "7x12x33x9xf32"));
  expectSame(one("transpose %a, dims = [4, 1, 3, 0, 2]", "13x4x5x6x17xi16", "17x4x6x13x5xi16"));
  expectSame(one("transpose %a, dims = [6, 3, 1, 5, 4, 0, 2]", "2x3x4x5x6x7x3xf32", "3x5x3x7x6x2x4xf32"));
}

TEST(Movement, Slices) {
  expectSame(one("slice %a [3:17, 4:25]", "20x30xf32", "14x21xf32"));
  expectSame(one("slice %a [3:170:2, 4:250:3]", "200x300xf32", "84x82xf32"));
  expectSame(one("slice %a [0:300, 1:1000:7]", "300x1001xbf16", "300x143xbf16"));
  expectSame(one("slice %a [5:40000:3]", "40000xi8", "13332xi8"));
  expectSame(one("slice %a [0:5000, 7:8]", "5000x64xf32", "5000x1xf32"));
}

TEST(Movement, Reversals) {
  expectSame("func.func @main(%a: tensor<300x127xi8>) -> tensor<300x127xi8> {\n"
             "  %r = stablehlo.reverse %a, dims = [0, 1] : tensor<300x127xi8>\n  return %r : tensor<300x127xi8>\n}");
  expectSame("func.func @main(%a: tensor<513x129xf32>) -> tensor<513x129xf32> {\n"
             "  %r = stablehlo.reverse %a, dims = [1] : tensor<513x129xf32>\n  return %r : tensor<513x129xf32>\n}");
  expectSame("func.func @main(%a: tensor<30x70x50xbf16>) -> tensor<30x70x50xbf16> {\n"
             "  %r = stablehlo.reverse %a, dims = [0, 2] : tensor<30x70x50xbf16>\n  return %r : tensor<30x70x50xbf16>\n}");
  expectSame("func.func @main(%a: tensor<70x500xf32>) -> tensor<70x500xf32> {\n"
             "  %r = stablehlo.reverse %a, dims = [0] : tensor<70x500xf32>\n  return %r : tensor<70x500xf32>\n}");
}

std::string pad(const std::string &from, const std::string &to, const std::string &element, const std::string &attributes,
                const std::string &number) {
  const std::string scalar = "tensor<" + element + ">", a = "tensor<" + from + "x" + element + ">",
                    r = "tensor<" + to + "x" + element + ">";
  const bool known = !number.empty();
  return "func.func @main(%a: " + a + (known ? "" : ", %v: " + scalar) + ") -> " + r + " {\n" +
         (known ? "  %v = stablehlo.constant dense<" + number + "> : " + scalar + "\n" : "") +
         "  %r = stablehlo.pad %a, %v, " + attributes + " : (" + a + ", " + scalar + ") -> " + r + "\n  return %r : " + r +
         "\n}";
}

// Edges, cut edges, gaps; a number that is known (with the bits of a NaN), and one that is computed.
TEST(Movement, Pads) {
  const std::string edges = "low = [1, 2], high = [3, 4], interior = [0, 0]";
  expectSame(pad("30x40", "34x46", "f32", edges, "1.5"));
  expectSame(pad("30x40", "34x46", "f32", edges, "0xFFC12345"));
  expectSame(pad("30x40", "34x46", "i32", edges, "2147483647"));
  expectSame(pad("30x40", "34x46", "i32", edges, ""));
  expectSame(pad("30x40", "32x38", "i8", "low = [-1, 2], high = [3, -4], interior = [0, 0]", "-3"));
  expectSame(pad("300x31", "1185x84", "f32", "low = [-5, -3], high = [-7, -4], interior = [3, 2]", "0.5"));
  expectSame(
      pad("2x9x11x13", "4x28x43x25", "bf16", "low = [1, 2, 0, 1], high = [0, 1, 2, -1], interior = [1, 2, 3, 1]", "2.0"));
  expectSame(pad("5000", "15008", "f32", "low = [3], high = [7], interior = [2]", ""));
  expectSame(pad("50", "980060", "i8", "low = [3], high = [7], interior = [20000]", "7"));
  expectSame(pad("0x5", "3x5", "f32", "low = [1, 0], high = [2, 0], interior = [4, 0]", ""));
}

TEST(Movement, Concatenations) {
  expectSame("func.func @main(%a: tensor<3x40xf32>, %b: tensor<5x40xf32>, %c: tensor<0x40xf32>) -> tensor<11x40xf32> {\n"
             "  %r = stablehlo.concatenate %a, %b, %c, %a, dim = 0 : (tensor<3x40xf32>, tensor<5x40xf32>, tensor<0x40xf32>, "
             "tensor<3x40xf32>) -> tensor<11x40xf32>\n  return %r : tensor<11x40xf32>\n}");
  expectSame(
      "func.func @main(%a: tensor<3000x1xi16>, %b: tensor<3000x3xi16>, %c: tensor<3000x129xi16>) -> tensor<3000x133xi16> {\n"
      "  %r = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<3000x1xi16>, tensor<3000x3xi16>, tensor<3000x129xi16>) -> "
      "tensor<3000x133xi16>\n  return %r : tensor<3000x133xi16>\n}");
  expectSame("func.func @main(%a: tensor<70x3000xi8>, %b: tensor<70x901xi8>) -> tensor<70x3901xi8> {\n"
             "  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<70x3000xi8>, tensor<70x901xi8>) -> tensor<70x3901xi8>\n"
             "  return %r : tensor<70x3901xi8>\n}");
}

TEST(Movement, BroadcastsInAnotherOrder) {
  expectSame(one("broadcast_in_dim %a, dims = [2, 0]", "40x30xf32", "30x5x40xf32"));
  expectSame(one("broadcast_in_dim %a, dims = [1, 0]", "300x200xi8", "200x300x3xi8"));
  expectSame(one("broadcast_in_dim %a, dims = [2, 1, 0]", "40x1x30xbf16", "30x6x40xbf16"));
  expectSame(one("broadcast %a, sizes = [3, 4]", "50xf32", "3x4x50xf32"));
}

TEST(Movement, Bitcasts) {
  expectSame(one("bitcast_convert %a", "40x30xi32", "40x30xui32"));
  expectSame(one("bitcast_convert %a", "40x30xi32", "40x30x4xi8"));
  expectSame(one("bitcast_convert %a", "40x30x2xbf16", "40x30xi32"));
  expectSame(one("bitcast_convert %a", "40x129xi16", "40x129xf16"));
}

std::string dynamic(const std::string &index) {
  const std::string i = "tensor<" + index + ">";
  return "func.func @main(%a: tensor<10x11x12x130xf32>, %u: tensor<3x4x5x100xf32>, %i: " + i + ", %j: " + i +
         ") -> (tensor<3x4x5x100xf32>, tensor<10x11x12x130xf32>) {\n"
         "  %z = stablehlo.constant dense<100> : " +
         i +
         "\n"
         "  %x = stablehlo.dynamic_slice %a, %i, %j, %z, %i, sizes = [3, 4, 5, 100] : (tensor<10x11x12x130xf32>, " +
         i + ", " + i + ", " + i + ", " + i +
         ") -> tensor<3x4x5x100xf32>\n"
         "  %y = stablehlo.dynamic_update_slice %a, %u, %j, %z, %i, %j : (tensor<10x11x12x130xf32>, "
         "tensor<3x4x5x100xf32>, " +
         i + ", " + i + ", " + i + ", " + i +
         ") -> tensor<10x11x12x130xf32>\n"
         "  return %x, %y : tensor<3x4x5x100xf32>, tensor<10x11x12x130xf32>\n}";
}

// Start indices are clamped, whatever their type; every access is proved.
TEST(Movement, StartsAtRunTimeIndices) {
  for (int32_t index : {0, 2, 29, 127, -1, INT32_MIN, INT32_MAX})
    expectSame(dynamic("i32"), 2, index);
  for (int32_t index : {2, -1, INT32_MIN})
    expectSame(dynamic("ui32"), 2, index);
  expectSame(dynamic("i8"), 2, -3);
  expectSame(dynamic("ui8"), 2, 200);
}

// A chain is one kernel that reads what it needs of the first tensor: two transfers for a rotation.
TEST(Movement, ChainsAreOneKernel) {
  const std::string rotation = R"(func.func @main(%a: tensor<4x64x256xbf16>) -> tensor<4x64x256xbf16> {
    %0 = stablehlo.slice %a [0:4, 0:64, 0:128] : (tensor<4x64x256xbf16>) -> tensor<4x64x128xbf16>
    %1 = stablehlo.slice %a [0:4, 0:64, 128:256] : (tensor<4x64x256xbf16>) -> tensor<4x64x128xbf16>
    %r = stablehlo.concatenate %1, %0, dim = 2 : (tensor<4x64x128xbf16>, tensor<4x64x128xbf16>) -> tensor<4x64x256xbf16>
    return %r : tensor<4x64x256xbf16>
  })";
  expectSame(rotation);
  EXPECT_EQ(simulateTime(compile(rotation, "trn2").made.program).instructions, 2u);
  expectSame(R"(func.func @main(%a: tensor<40x30x20xf32>, %v: tensor<f32>) -> tensor<20x9x77xf32> {
    %0 = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<40x30x20xf32>) -> tensor<20x30x40xf32>
    %1 = stablehlo.slice %0 [0:20, 2:29:3, 1:39] : (tensor<20x30x40xf32>) -> tensor<20x9x38xf32>
    %2 = stablehlo.reverse %1, dims = [1, 2] : tensor<20x9x38xf32>
    %3 = stablehlo.reshape %2 : (tensor<20x9x38xf32>) -> tensor<20x9x38x1xf32>
    %4 = stablehlo.reshape %3 : (tensor<20x9x38x1xf32>) -> tensor<20x9x38xf32>
    %r = stablehlo.pad %4, %v, low = [0, 0, 2], high = [0, 0, 0], interior = [0, 0, 1] : (tensor<20x9x38xf32>, tensor<f32>) -> tensor<20x9x77xf32>
    return %r : tensor<20x9x77xf32>
  })");
  expectSame(R"(func.func @main(%a: tensor<40x30xf32>) -> tensor<85x27xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %o = stablehlo.constant dense<1.0> : tensor<5x27xf32>
    %0 = stablehlo.pad %a, %z, low = [0, -2], high = [1, 3], interior = [1, 0] : (tensor<40x30xf32>, tensor<f32>) -> tensor<80x31xf32>
    %1 = stablehlo.slice %0 [0:80, 2:29] : (tensor<80x31xf32>) -> tensor<80x27xf32>
    %r = stablehlo.concatenate %1, %o, dim = 0 : (tensor<80x27xf32>, tensor<5x27xf32>) -> tensor<85x27xf32>
    return %r : tensor<85x27xf32>
  })");
}

// What a loop that was unrolled stacks up: each row once, the zeros under them never.
TEST(Movement, UpdatesAtKnownPlacesAreOneKernel) {
  std::string text = "func.func @main(%a: tensor<8x600xf32>) -> tensor<8x600xf32> {\n"
                     "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
                     "  %v0 = stablehlo.constant dense<0.0> : tensor<8x600xf32>\n";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i), to = std::to_string(i + 1), last = std::to_string(7 - i);
    text += "  %i" + n + " = stablehlo.constant dense<" + std::to_string(i == 7 ? 99 : i) + "> : tensor<i32>\n" + //
            "  %s" + n + " = stablehlo.slice %a [" + last + ":" + std::to_string(8 - i) +
            ", 0:600] : (tensor<8x600xf32>) -> tensor<1x600xf32>\n  %v" + to + " = stablehlo.dynamic_update_slice %v" + n +
            ", %s" + n + ", %i" + n +
            ", %z : (tensor<8x600xf32>, tensor<1x600xf32>, tensor<i32>, tensor<i32>) -> tensor<8x600xf32>\n";
  }
  text += "  return %v8 : tensor<8x600xf32>\n}";
  expectSame(text);
  EXPECT_EQ(simulateTime(compile(text, "trn2").made.program).instructions, 8u);
}

// A loop that stacks rows up: each is written into the tensor of the result, which is not copied 20 times.
TEST(Movement, UpdatesChangeTheTensorWhereItLies) {
  const std::string loop = R"(func.func @main(%x: tensor<20x3000xf32>) -> tensor<20x3000xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<20x3000xf32>
    %h0 = stablehlo.constant dense<1.0> : tensor<1x3000xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %z) : tensor<i32>, tensor<1x3000xf32>, tensor<20x3000xf32>
    cond {
      %n = stablehlo.constant dense<20> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %row = stablehlo.dynamic_slice %x, %i, %c, sizes = [1, 3000] : (tensor<20x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3000xf32>
      %k = stablehlo.constant dense<0.5> : tensor<1x3000xf32>
      %g = stablehlo.multiply %h, %k : tensor<1x3000xf32>
      %h2 = stablehlo.add %g, %row : tensor<1x3000xf32>
      %y2 = stablehlo.dynamic_update_slice %ys, %h2, %i, %c : (tensor<20x3000xf32>, tensor<1x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<20x3000xf32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %h2, %y2 : tensor<i32>, tensor<1x3000xf32>, tensor<20x3000xf32>
    }
    return %r#2 : tensor<20x3000xf32>
  })";
  expectRight(loop);
  for (const char *target : {"trn1", "trn2", "trn3"}) // once all of it, then each row, and what goes into a row
    EXPECT_LE(simulateTime(compile(loop, target).made.program).hbmBytesWritten, 4u * 20 * 3000 * 4);
  // A tensor that others read afterwards, or that is an argument, keeps its elements.
  expectSame(R"(func.func @main(%x: tensor<40x300xf32>, %u: tensor<1x300xf32>, %i: tensor<i32>, %j: tensor<i32>)
      -> (tensor<40x300xf32>, tensor<40x300xf32>, tensor<40x300xf32>) {
    %a = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<40x300xf32>, tensor<1x300xf32>, tensor<i32>, tensor<i32>) -> tensor<40x300xf32>
    %two = stablehlo.constant dense<20> : tensor<i32>
    %b = stablehlo.dynamic_update_slice %a, %u, %two, %i : (tensor<40x300xf32>, tensor<1x300xf32>, tensor<i32>, tensor<i32>) -> tensor<40x300xf32>
    %d = stablehlo.reverse %a, dims = [1] : tensor<40x300xf32>
    %e = stablehlo.dynamic_update_slice %d, %u, %two, %i : (tensor<40x300xf32>, tensor<1x300xf32>, tensor<i32>, tensor<i32>) -> tensor<40x300xf32>
    %f = stablehlo.slice %e [3:4, 0:300] : (tensor<40x300xf32>) -> tensor<1x300xf32>
    %h = stablehlo.dynamic_update_slice %e, %f, %i, %j : (tensor<40x300xf32>, tensor<1x300xf32>, tensor<i32>, tensor<i32>) -> tensor<40x300xf32>
    return %b, %h, %x : tensor<40x300xf32>, tensor<40x300xf32>, tensor<40x300xf32>
  })",
             5);
}

// What others read too is written once.
TEST(Movement, SlicesThatStartWhereATensorSays) {
  expectRight(R"(
func.func @main(%x: tensor<4x6xf32>, %y: tensor<2xi32>) -> tensor<2x3xf32> {
  %s = stablehlo.slice %y [0:1] : (tensor<2xi32>) -> tensor<1xi32>
  %a = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
  %t = stablehlo.slice %y [1:2] : (tensor<2xi32>) -> tensor<1xi32>
  %b = stablehlo.reshape %t : (tensor<1xi32>) -> tensor<i32>
  %r = stablehlo.dynamic_slice %x, %a, %b, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
})");
}

TEST(Movement, SharedValuesStayApart) {
  expectSame(R"(func.func @main(%a: tensor<40x30xf32>) -> (tensor<30x40xf32>, tensor<20x40xf32>) {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<40x30xf32>) -> tensor<30x40xf32>
    %1 = stablehlo.slice %0 [0:20, 0:40] : (tensor<30x40xf32>) -> tensor<20x40xf32>
    return %0, %1 : tensor<30x40xf32>, tensor<20x40xf32>
  })",
             2);
}

// No tensor of some size goes element by element: 16 engines at 7 ns per element would take 115 us for these.
TEST(Movement, LargeOnesMoveInRuns) {
  const std::vector<std::string> texts = {
      one("transpose %a, dims = [1, 0]", "512x512xf32", "512x512xf32"),
      one("slice %a [0:512, 0:1024:2]", "512x1024xf32", "512x512xf32"),
      pad("512x512", "512x1023", "f32", "low = [0, 0], high = [0, 0], interior = [0, 1]", "0.0"),
      "func.func @main(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {\n"
      "  %r = stablehlo.reverse %a, dims = [1] : tensor<512x512xf32>\n  return %r : tensor<512x512xf32>\n}"};
  for (const char *target : {"trn1", "trn2", "trn3"})
    for (const std::string &text : texts)
      EXPECT_LT(simulateTime(compile(text, target).made.program).total, 40000) << target << text;
}

TEST(Movement, NamesWhatItRefuses) {
  const std::string text = one("transpose %a, dims = [1, 0]", "4x5xf8E4M3FNUZ", "5x4xf8E4M3FNUZ");
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  try {
    compileGraph(*g.module);
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("the device does not hold its element type"), std::string::npos) << e.what();
  }
}

} // namespace
