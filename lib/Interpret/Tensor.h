// Values while a function is evaluated: each element a 64-bit word (Element.h), rows shared until one is written.
#pragma once
#include "glia/Interpret/Element.h"

#include <bit>
#include <memory>
#include <span>
#include <vector>

namespace glia::interp {

using Shape = std::vector<int64_t>;

inline double asDouble(Word w) { return std::bit_cast<double>(w); }
inline Word asWord(double x) { return std::bit_cast<Word>(x); }
inline int64_t asInt(Word w) { return static_cast<int64_t>(w); }

int64_t countOf(std::span<const int64_t> shape);
Shape rowMajor(std::span<const int64_t> shape); // strides

class Tensor {
public:
  Tensor() = default;
  Tensor(Element element, Shape shape); // zeros
  static Tensor scalar(Element element, Word value);

  Element element = Element::Token;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t count() const { return buffer ? static_cast<int64_t>(buffer->size()) : 0; }
  const Word *words() const { return buffer->data(); }
  Word *own(); // to write; copied first if shared
  Word at(int64_t i) const { return (*buffer)[i]; }
  Tensor as(Element element, Shape shape) const; // the same words, of as many elements

private:
  std::shared_ptr<std::vector<Word>> buffer;
};

// What a value of the graph is bound to: a tensor, a token, or a tuple of them.
struct Datum {
  Tensor tensor;
  std::vector<Datum> parts;
};

// Visits the positions of `shape` in row-major order, one innermost row at a time: fn(offsets, count), where offsets[k] is the sum
// of index times strides[k]; within the row offset k grows by strides[k].back().
template <size_t N, class Fn>
void walkRows(std::span<const int64_t> shape, const std::array<const Shape *, N> &strides, Fn &&fn) {
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t n : shape)
    if (n == 0)
      return;
  std::array<int64_t, N> offsets{};
  if (rank == 0) {
    fn(offsets, int64_t{1});
    return;
  }
  Shape index(rank, 0);
  for (;;) {
    fn(offsets, shape[rank - 1]);
    int64_t d = rank - 2;
    for (; d >= 0; --d) {
      for (size_t k = 0; k < N; ++k)
        offsets[k] += (*strides[k])[d];
      if (++index[d] < shape[d])
        break;
      for (size_t k = 0; k < N; ++k)
        offsets[k] -= (*strides[k])[d] * shape[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}
inline int64_t step(const Shape &strides) { return strides.empty() ? 0 : strides.back(); }

// to[toBase + i . toStrides] = from[fromBase + i . fromStrides] for every index i of `shape`.
void copyStrided(std::span<const int64_t> shape, Word *to, int64_t toBase, const Shape &toStrides, const Word *from,
                 int64_t fromBase, const Shape &fromStrides);

// Brings raw results into their type: floats are rounded (unless evaluated in double), integers wrap.
void settle(Element element, bool inDouble, Word *words, int64_t count);

} // namespace glia::interp
