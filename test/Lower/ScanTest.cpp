// Recurrences against the reference: every pair of operations and type, sizes around the blocks that they are cut into, with and without
// a start, the scanned dimension anywhere, numbers in the place of tensors.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

struct Shape {
  std::string all, start;
  int dim = 0;
};

std::string config(int dim, const std::string &scale, const std::string &combine) {
  return " {backend_config = {dimension = " + std::to_string(dim) + " : i64, scale = \"" + scale + "\", combine = \"" +
         combine + "\"}, api_version = 4 : i32} : ";
}

std::string recurrence(const Shape &s, bool start, const std::string &type = "f32", const std::string &scale = "multiply",
                       const std::string &combine = "add") {
  const std::string t = "tensor<" + s.all + "x" + type + ">", u = "tensor<" + s.start + type + ">";
  return "func.func @main(%a: " + t + ", %b: " + t + (start ? ", %s: " + u : "") + ") -> " + t +
         " {\n  %0 = stablehlo.custom_call @glia.recurrence(%a, %b" + (start ? ", %s" : "") + ")" +
         config(s.dim, scale, combine) + "(" + t + ", " + t + (start ? ", " + u : "") + ") -> " + t +
         "\n  return %0 : " + t + "\n}\n";
}

TEST(Scan, Shapes) {
  for (const Shape &s :
       {Shape{"1", "", 0}, Shape{"2", "", 0}, Shape{"700", "", 0}, Shape{"3x1", "3x", 1}, Shape{"130x513", "130x", 1},
        Shape{"3x2500", "3x", 1}, Shape{"5x3", "3x", 0}, Shape{"129x130", "130x", 0}, Shape{"640x17", "17x", 0},
        Shape{"2x130x600", "2x600x", 1}, Shape{"2x3x40x5x2", "2x3x5x2x", 2}}) {
    expectRight(recurrence(s, false));
    expectRight(recurrence(s, true));
  }
}

TEST(Scan, TypesAndOperations) {
  for (const char *type : {"bf16", "f16"})
    for (const Shape &s : {Shape{"7x600", "7x", 1}, Shape{"300x9", "9x", 0}})
      expectRight(recurrence(s, true, type));
  for (const char *combine : {"maximum", "minimum"})
    expectRight(recurrence({"7x600", "7x", 1}, true, "f32", "add", combine));
}

TEST(Scan, NumbersInThePlaceOfTensors) {
  const std::string t = "tensor<300x9xf32>", u = "tensor<9xf32>";
  for (const auto &[a, b] : {std::pair("%n", "%x"), std::pair("%x", "%m"), std::pair("%n", "%m")})
    expectRight("func.func @main(%x: " + t + ", %s: " + u + ") -> " + t +
                " {\n  %n = stablehlo.constant dense<0.75> : " + t + "\n  %m = stablehlo.constant dense<1.5> : " + t +
                "\n  %z = stablehlo.constant dense<2.0> : " + u + "\n  %0 = stablehlo.custom_call @glia.recurrence(" + a +
                ", " + b + ", %z)" + config(0, "multiply", "add") + "(" + t + ", " + t + ", " + u + ") -> " + t +
                "\n  %1 = stablehlo.add %0, %x : " + t + "\n  return %1 : " + t + "\n}\n");
}

// The first element is the first term, whatever its factor is.
TEST(Scan, AnInfiniteFirstFactorWithoutAStart) {
  const std::string text = recurrence({"2x20", "2x", 1}, false);
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 1);
  const float infinity = std::numeric_limits<float>::infinity();
  memcpy(inputs[0].bytes.data(), &infinity, sizeof infinity);
  EXPECT_EQ(differences(text, "trn2", inputs), "");
}

} // namespace
