// Tensors of words.
#include "Interpret/Tensor.h"

namespace glia::interp {

int64_t countOf(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t s : shape)
    n *= s;
  return n;
}

Shape rowMajor(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t n = 1;
  for (size_t d = shape.size(); d-- > 0; n *= shape[d])
    strides[d] = n;
  return strides;
}

Tensor::Tensor(Element element, Shape shape)
    : element(element), shape(std::move(shape)), buffer(std::make_shared<std::vector<Word>>(countOf(this->shape))) {}

Tensor Tensor::scalar(Element element, Word value) {
  Tensor t(element, {});
  *t.own() = value;
  return t;
}

Word *Tensor::own() {
  if (buffer.use_count() > 1)
    buffer = std::make_shared<std::vector<Word>>(*buffer);
  return buffer->data();
}

Tensor Tensor::as(Element e, Shape s) const {
  Tensor t = *this;
  t.element = e;
  t.shape = std::move(s);
  return t;
}

void copyStrided(std::span<const int64_t> shape, Word *to, int64_t toBase, const Shape &toStrides, const Word *from,
                 int64_t fromBase, const Shape &fromStrides) {
  const int64_t toStep = step(toStrides), fromStep = step(fromStrides);
  walkRows<2>(shape, {&toStrides, &fromStrides}, [&](const std::array<int64_t, 2> &at, int64_t n) {
    Word *t = to + toBase + at[0];
    const Word *f = from + fromBase + at[1];
    if (toStep == 1 && fromStep == 1)
      for (int64_t i = 0; i < n; ++i)
        t[i] = f[i];
    else
      for (int64_t i = 0; i < n; ++i)
        t[i * toStep] = f[i * fromStep];
  });
}

void settle(Element element, bool inDouble, Word *w, int64_t count) {
  const ElementInfo &t = info(element);
  if (t.kind == ElementInfo::Float) {
    if (inDouble || t.bits == 64)
      return;
    if (t.bits == 32)
      for (int64_t i = 0; i < count; ++i)
        w[i] = asDouble(w[i]) == asDouble(w[i]) ? asWord(static_cast<float>(asDouble(w[i]))) : w[i]; // signalling ones too
    else
      for (int64_t i = 0; i < count; ++i)
        w[i] = asWord(roundTo(t, asDouble(w[i])));
    return;
  }
  if (t.bits == 64)
    return;
  const int shift = 64 - t.bits;
  if (t.kind == ElementInfo::Signed)
    for (int64_t i = 0; i < count; ++i)
      w[i] = static_cast<Word>(static_cast<int64_t>(w[i] << shift) >> shift);
  else
    for (int64_t i = 0; i < count; ++i)
      w[i] = w[i] << shift >> shift;
}

} // namespace glia::interp
