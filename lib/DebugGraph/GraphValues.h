// What the prompt can name of a graph under way: values and parts of them, as numbers.
#pragma once
#include "Debug/Looks.h"
#include "GraphReplay.h"
#include "GraphText.h"

namespace glia::debug {

class GraphValues {
public:
  GraphValues(const GraphInput &input, GraphReplay &replay, GraphText &text) : input(input), replay(replay), text(text) {}

  // `%5`, `%5#1`, `%arg0`, or what a front end called an argument: as seen from the operation it stands at. Throws Error DEBUG-VALUE.
  mlir::Value named(std::string_view name);
  // What it holds; one that nobody uses any more is computed again. Throws Error DEBUG-VALUE if it was not made yet.
  interp::Tensor value(mlir::Value v);
  // "%5[0:4, 0]: tensor<4xf32> min 1 max 2 mean 1.5", and its elements; or what `number` takes.
  std::string print(std::string_view text);
  // `3.5`, `%5[0, 0]`, `min(%5)`, `max(%5)`, `mean(%5)`, `iteration`, `step`. Throws Error DEBUG-VALUE.
  double number(std::string_view text);
  bool holds(std::string_view condition);
  // Throws Error DEBUG-VALUE if a condition is malformed, or names what cannot be named beside an operation (null: anywhere).
  void check(std::string_view condition, mlir::Operation *op);
  // Arguments and results that can be named here and are still used, each in a line.
  std::string list();
  // The first element of a value that a watch is about, "nan at [0, 3]"; empty: none.
  static std::string found(const Look &look, const interp::Datum &d);

private:
  const GraphInput &input;
  GraphReplay &replay;
  GraphText &text;
  struct Part {
    interp::Tensor whole;
    std::vector<int64_t> shape, elements; // of the part; numbers of its elements
    std::string title;
  };
  Part part(std::string_view text);
  interp::Tensor again(mlir::Value v);
  static bool isNumber(std::string_view text);
};

// "tensor<4xf32> min 1 max 2 mean 1.5"
std::string summary(const interp::Tensor &t);

} // namespace glia::debug
