// fft: in double, by the smallest factor of the length first; each result is rounded once.
#include "Interpret/Complex.h"

#include <numbers>

namespace glia::interp {

namespace {

// Along one dimension of many: sum over n of x[n] exp(sign 2 pi i k n / N).
class Transform {
public:
  Transform(int64_t length, int sign) : length(length) {
    for (int64_t k = 0; k < length; ++k)
      roots.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length)));
  }

  std::vector<Complex> of(const std::vector<Complex> &x) const {
    const auto n = static_cast<int64_t>(x.size());
    int64_t factor = 2;
    while (factor * factor <= n && n % factor != 0)
      ++factor;
    if (n <= 1)
      return x;
    if (n % factor != 0)
      factor = n;
    const int64_t each = n / factor;
    std::vector<std::vector<Complex>> parts;
    for (int64_t r = 0; r < factor; ++r) {
      std::vector<Complex> part;
      for (int64_t i = r; i < n; i += factor)
        part.push_back(x[static_cast<size_t>(i)]);
      parts.push_back(of(part));
    }
    std::vector<Complex> out(x.size());
    for (int64_t k = 0; k < n; ++k)
      for (int64_t r = 0; r < factor; ++r)
        out[static_cast<size_t>(k)] += parts[static_cast<size_t>(r)][static_cast<size_t>(k % each)] *
                                       roots[static_cast<size_t>(k * r % n * (length / n))];
    return out;
  }

private:
  int64_t length;
  std::vector<Complex> roots;
};

void transform(std::vector<Complex> &x, const Shape &shape, size_t dim, int sign) {
  const Transform t(shape[dim], sign);
  const int64_t stride = rowMajor(shape)[dim], n = shape[dim];
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    if (i / stride % n != 0)
      continue;
    std::vector<Complex> line;
    for (int64_t k = 0; k < n; ++k)
      line.push_back(x[static_cast<size_t>(i + k * stride)]);
    line = t.of(line);
    for (int64_t k = 0; k < n; ++k)
      x[static_cast<size_t>(i + k * stride)] = line[static_cast<size_t>(k)];
  }
}

// x of another size along the last dimension: from(index of the line, place) gives its elements.
template <class From> std::vector<Complex> withLast(const std::vector<Complex> &x, int64_t was, int64_t now, From from) {
  std::vector<Complex> out;
  for (size_t line = 0; line < x.size() / static_cast<size_t>(was); ++line)
    for (int64_t k = 0; k < now; ++k)
      out.push_back(from(&x[line * static_cast<size_t>(was)], k));
  return out;
}

void fft(Call &c) {
  const std::string type = c.text("fft_type").value_or("FFT");
  const Shape lengths = c.intsOr("fft_length", 0, 0);
  Shape shape = c.operands[0].tensor.shape;
  std::vector<Complex> x = numbersOf(c.operands[0]);
  const size_t first = shape.size() - lengths.size(), last = shape.size() - 1;
  const bool forward = type == "FFT" || type == "RFFT";
  const auto scale = [&] {
    for (Complex &z : x)
      for (int64_t n : lengths)
        z /= static_cast<double>(n);
  };
  if (countOf(c.resultType(0).shape) == 0 || lengths.empty()) {
    x.resize(static_cast<size_t>(countOf(c.resultType(0).shape)));
  } else if (type == "IRFFT") {
    for (size_t d = first; d < last; ++d)
      transform(x, shape, d, 1);
    // The upper half of the last dimension is that of a real signal; ends that cannot have an imaginary part lose it.
    const int64_t n = lengths.back(), half = n / 2 + 1;
    x = withLast(x, half, n, [&](const Complex *line, int64_t k) {
      const Complex z = k < half ? line[k] : std::conj(line[n - k]);
      return k == 0 || 2 * k == n ? Complex(z.real()) : z;
    });
    shape[last] = n;
    transform(x, shape, last, 1);
    scale();
  } else {
    transform(x, shape, last, forward ? -1 : 1);
    if (type == "RFFT") {
      const int64_t half = shape[last] / 2 + 1;
      x = withLast(x, shape[last], half, [](const Complex *line, int64_t k) { return line[k]; });
      shape[last] = half;
    }
    for (size_t d = first; d < last; ++d)
      transform(x, shape, d, forward ? -1 : 1);
    if (!forward)
      scale();
  }
  c.results[0] = datumOf(c.resultType(0), x, c.inDouble);
}

constexpr Rule kRules[] = {{"stablehlo.fft", fft}};

} // namespace

std::span<const Rule> fourierRules() { return kRules; }

} // namespace glia::interp
