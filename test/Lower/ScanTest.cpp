// Recurrences against the reference: every pair of operations and type, sizes around the blocks that they are cut into, with and without
// a start, the scanned dimension anywhere, numbers in the place of tensors.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

struct Shape {
  std::string all, start;
  int dim = 0;
};

std::string config(int dim, const std::string &scale, const std::string &combine, bool reverse = false) {
  return " {backend_config = {dimension = " + std::to_string(dim) + " : i64, reverse = " + (reverse ? "true" : "false") +
         ", scale = \"" + scale + "\", combine = \"" + combine + "\"}, api_version = 4 : i32} : ";
}

std::string recurrence(const Shape &s, bool start, const std::string &type = "f32", const std::string &scale = "multiply",
                       const std::string &combine = "add", bool reverse = false) {
  const std::string t = "tensor<" + s.all + "x" + type + ">", u = "tensor<" + s.start + type + ">";
  return "func.func @main(%a: " + t + ", %b: " + t + (start ? ", %s: " + u : "") + ") -> " + t +
         " {\n  %0 = stablehlo.custom_call @glia.recurrence(%a, %b" + (start ? ", %s" : "") + ")" +
         config(s.dim, scale, combine, reverse) + "(" + t + ", " + t + (start ? ", " + u : "") + ") -> " + t +
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

TEST(Scan, FromTheEnd) {
  for (const Shape &s : {Shape{"5x3", "3x", 0}, Shape{"129x130", "130x", 0}, Shape{"2x700x17", "2x17x", 1}})
    for (const bool start : {false, true})
      expectRight(recurrence(s, start, "f32", "multiply", "add", true));
}

// So many columns that they are not turned where the Tensor engine cannot.
TEST(Scan, ManyColumns) {
  for (const bool reverse : {false, true})
    for (const bool start : {false, true}) {
      const std::string text =
          recurrence({"35x8321", "8321x", 0}, start, reverse ? "bf16" : "f32", "multiply", "add", reverse);
      EXPECT_EQ(differences(text, "trn1", randomInputs(graph::parseGraph(text, "test.mlir").main(), 1)), "");
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
  for (const std::string columns : {"9", "8195"})
    for (const auto &[a, b] : {std::pair("%n", "%x"), std::pair("%x", "%m"), std::pair("%n", "%m")}) {
      const std::string t = "tensor<20x" + columns + "xf32>", u = "tensor<" + columns + "xf32>";
      expectRight("func.func @main(%x: " + t + ", %s: " + u + ") -> " + t +
                  " {\n  %n = stablehlo.constant dense<0.75> : " + t + "\n  %m = stablehlo.constant dense<1.5> : " + t +
                  "\n  %z = stablehlo.constant dense<2.0> : " + u + "\n  %0 = stablehlo.custom_call @glia.recurrence(" + a +
                  ", " + b + ", %z)" + config(0, "multiply", "add") + "(" + t + ", " + t + ", " + u + ") -> " + t +
                  "\n  %1 = stablehlo.add %0, %x : " + t + "\n  return %1 : " + t + "\n}\n");
    }
}

// Running folds of every kind: few rows and many, both directions, the folded dimension anywhere.
TEST(Scan, RunningFolds) {
  struct Fold {
    const char *shape;
    int dim;
    const char *type = "f32", *op = "add", *start = "0.0";
  };
  for (const Fold &f :
       {Fold{"1x13", 1}, Fold{"4111", 0}, Fold{"3x2500", 1}, Fold{"130x513", 1}, Fold{"500x5", 0}, Fold{"260x130", 0},
        Fold{"2x300x3", 1}, Fold{"70x40", 0, "bf16"}, Fold{"600", 0, "bf16"}, Fold{"3x200", 1, "bf16", "maximum", "0xFF80"},
        Fold{"600", 0, "i32", "add", "0"}, Fold{"300x5", 0, "i8", "add", "0"},
        Fold{"3x200", 1, "f32", "maximum", "0xFF800000"}, Fold{"3x200", 1, "f32", "maximum", "0.25"},
        Fold{"3x200", 1, "i16", "minimum", "32767"}, Fold{"200x3", 0, "f32", "multiply", "1.0"}})
    for (const bool reverse : {false, true}) {
      const std::string shape = f.shape, t = "tensor<" + shape + "x" + f.type + ">",
                        scalar = std::string("tensor<") + f.type + ">";
      std::vector<int64_t> size;
      for (size_t at = 0; at < shape.size(); at = std::min(shape.find('x', at), shape.size() - 1) + 1)
        size.push_back(std::stoll(shape.substr(at)));
      std::string windows, padding;
      for (size_t d = 0; d < size.size(); ++d) {
        const bool here = static_cast<int>(d) == f.dim;
        const std::string more = here ? std::to_string(size[d] - 1) : "0";
        windows += (d ? ", " : "") + std::to_string(here ? size[d] : 1);
        padding += (d ? ", [" : "[") + (reverse ? "0, " + more : more + ", 0") + "]";
      }
      expectRight("func.func @main(%x: " + t + ") -> " + t + " {\n  %i = stablehlo.constant dense<" + f.start + "> : " +
                  scalar + "\n  %0 = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: " + windows +
                  ">, padding = dense<[" + padding + "]> : tensor<" + std::to_string(size.size()) +
                  "x2xi64>}> ({\n  ^bb0(%a: " + scalar + ", %b: " + scalar + "):\n    %m = stablehlo." + f.op +
                  " %a, %b : " + scalar + "\n    stablehlo.return %m : " + scalar + "\n  }) : (" + t + ", " + scalar +
                  ") -> " + t + "\n  return %0 : " + t + "\n}\n");
    }
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
