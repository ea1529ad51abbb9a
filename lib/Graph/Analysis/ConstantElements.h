// The elements of a constant as plain numbers, and back. One element if all are equal.
#pragma once
#include "GraphBuilder.h"

#include <optional>
#include <vector>

namespace glia::emit {

// An integer, sign-extended or (unsigned types and i1) zero-extended, or a float.
struct Number {
  int64_t i = 0;
  double f = 0;
};

struct Elements {
  mlir::RankedTensorType type;
  std::vector<Number> values; // one (a splat), or one per element
  bool splat() const { return values.size() == 1; }
  const Number &at(int64_t i) const { return values[splat() ? 0 : static_cast<size_t>(i)]; }
};

bool isFloatType(mlir::Type element);
bool isUnsignedType(mlir::Type element);      // i1 too
bool isNumberType(mlir::Type element);        // a float or an integer, not complex
Number wrapped(mlir::Type element, Number n); // to the integer type's width, or rounded to the float type
std::optional<Elements>
elementsOf(mlir::Operation *op);      // of a constant or an iota; nullopt for others, complex ones, too large
bool isConstant(mlir::Operation *op); // a constant or an iota, of any size and type
mlir::DenseElementsAttr attributeOf(const Elements &e);

} // namespace glia::emit
