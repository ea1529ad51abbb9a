// The parts of a Call that need no MLIR.
#include "Interpret/Call.h"

namespace glia::interp {

Shape OpView::intsOr(std::string_view attribute, size_t count, int64_t value) const {
  if (std::optional<Shape> v = ints(attribute)) {
    if (v->size() == 1 && count > 1) // a splat
      return Shape(count, v->front());
    return *v;
  }
  return Shape(count, value);
}

int64_t OpView::integerOr(std::string_view attribute, int64_t value) const {
  const std::optional<Shape> v = ints(attribute);
  return v && v->size() == 1 ? v->front() : value;
}

Tensor Call::fresh(size_t i) const {
  const TensorType t = resultType(i);
  return Tensor(t.element, t.shape);
}

} // namespace glia::interp
