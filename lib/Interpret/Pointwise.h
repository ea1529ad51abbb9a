// Element-wise operations as functions of rows. Tensors use them, and so do the bodies of reductions, one element at a time.
#pragma once
#include "Interpret/Call.h"

namespace glia::interp {

// An operation bound to its types and attributes.
struct Pointwise {
  using Row = void (*)(const Pointwise &op, const Word *const *in, Word *out, int64_t count);
  Row row = nullptr;
  Element from = Element::F32, to = Element::F32; // of the first operand and of the result
  bool inDouble = false;
  int64_t a = 0, b = 0; // what an operation needs of its attributes

  void operator()(const Word *const *in, Word *out, int64_t count) const {
    row(*this, in, out, count);
    settle(to, inDouble, out, count);
  }
};

// Nothing if the operation is not element-wise. Fails if it is, but not for these types.
std::optional<Pointwise> pointwise(const OpView &op);
// By the name of the function alone: `erf` in "chlo.erf" and in the custom call "mhlo.erf".
std::optional<Pointwise> namedFunction(std::string_view name, Element element, bool inDouble);

// What an operation does to elements, by kind; empty where it is not defined.
struct ElementFunctions {
  std::string_view name; // without the dialect
  Pointwise::Row onFloat = nullptr, onSigned = nullptr, onUnsigned = nullptr, onPred = nullptr;
};
std::span<const ElementFunctions> arithmeticFunctions();
std::span<const ElementFunctions> mathFunctions();
std::span<const ElementFunctions> specialFunctions();
Pointwise::Row compareRow(const OpView &op); // by direction, type and element
Pointwise::Row convertRow(Element from, Element to);

// Runs it over whole operands; an operand of one element stands for any shape.
Tensor evaluate(const Pointwise &op, std::span<const Datum> operands, const TensorType &type);

double maximum(double a, double b); // NaN wins; +0 is above -0
double minimum(double a, double b);

// ---- makers of rows ---------------------------------------------------------------------------------------------------------
template <auto F> void float1(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = asWord(F(asDouble(in[0][i])));
}
template <auto F> void float2(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = asWord(F(asDouble(in[0][i]), asDouble(in[1][i])));
}
// Integers: F(bits of the type, operands as words).
template <auto F> void int1(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const int bits = info(op.from).bits;
  for (int64_t i = 0; i < n; ++i)
    out[i] = F(bits, in[0][i]);
}
template <auto F> void int2(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const int bits = info(op.from).bits;
  for (int64_t i = 0; i < n; ++i)
    out[i] = F(bits, in[0][i], in[1][i]);
}

} // namespace glia::interp
