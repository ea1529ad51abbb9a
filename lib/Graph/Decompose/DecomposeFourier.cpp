#include "DecomposeFourier.h"
#include "ComplexArithmetic.h"
#include "Graph/Analysis/GraphFacts.h"

#include <complex>
#include <numbers>

namespace glia::emit {

namespace {

using Complex = std::complex<double>;
using Value = mlir::Value;

constexpr int64_t kDirect = 128; // a transform of this length is one product
constexpr int64_t kPrime = 256;  // and one that has no factors up to this

// exp(2 pi i turns / length), of whole turns left out first
Complex root(int64_t turns, int64_t length) {
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(turns % length) / static_cast<double>(length));
}

// The transform of numbers that are known, of a length that is a power of two.
std::vector<Complex> transformed(const std::vector<Complex> &x) {
  const size_t n = x.size();
  if (n == 1)
    return x;
  std::vector<Complex> even, odd, out(n);
  for (size_t i = 0; i < n; ++i)
    (i % 2 ? odd : even).push_back(x[i]);
  even = transformed(even);
  odd = transformed(odd);
  for (size_t k = 0; k < n; ++k)
    out[k] = even[k % (n / 2)] + std::conj(root(static_cast<int64_t>(k), static_cast<int64_t>(n))) * odd[k % (n / 2)];
  return out;
}

// Works on values [lines, parts, length]: parts is 2, real and imaginary, or 1 where all is real.
class Fourier {
public:
  explicit Fourier(mlir::Operation *at) : g(at) {}

  void write(graph::FftOp op) {
    const graph::FftType type = op.getFftType();
    const llvm::ArrayRef<int64_t> lengths = op.getFftLength();
    const Value in = op.getOperand();
    std::vector<int64_t> shape(typeOf(in).getShape());
    const auto last = static_cast<int64_t>(shape.size()) - 1, first = last + 1 - static_cast<int64_t>(lengths.size());
    const bool forward = type == graph::FftType::FFT || type == graph::FftType::RFFT;
    sign = forward ? -1 : 1;
    Parts x = type == graph::FftType::RFFT ? Parts{in, Value()} : partsOf(in);
    const auto others = [&] {
      for (int64_t d = first; d < last; ++d)
        x = along(x, d);
    };
    if (type == graph::FftType::IRFFT)
      others();
    if (type == graph::FftType::IRFFT)
      x = toReal(x, lengths.back());
    else
      x = along(x, last, type == graph::FftType::RFFT);
    if (type != graph::FftType::IRFFT)
      others();
    Value out = op->getResult(0);
    out.replaceAllUsesWith(x.im ? g.make("complex", {x.re, x.im}, out.getType()) : x.re);
    op->erase();
  }

private:
  GraphBuilder g;
  int sign = -1;

  Parts partsOf(Value z) {
    const auto type = withElement(z, llvm::cast<mlir::ComplexType>(elementOf(z)).getElementType());
    return {g.make("real", {z}, type), g.make("imag", {z}, type)};
  }
  // That dimension last, and the others one.
  Value lines(Parts x, int64_t dim) {
    const std::vector<int64_t> order = toLast(typeOf(x.re).getRank(), dim);
    const int64_t n = typeOf(x.re).getDimSize(dim), count = typeOf(x.re).getNumElements() / n;
    const auto flat = [&](Value v) { return g.reshape(isLast(v, dim) ? v : g.transpose(v, order), {count, 1, n}); };
    return x.im ? g.concatenate({flat(x.re), flat(x.im)}, 1) : flat(x.re);
  }
  static bool isLast(Value v, int64_t dim) { return dim == typeOf(v).getRank() - 1; }
  static std::vector<int64_t> toLast(int64_t rank, int64_t dim) {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < rank; ++d)
      if (d != dim)
        order.push_back(d);
    order.push_back(dim);
    return order;
  }
  // And back, with `n` elements in it.
  Parts unlined(Value x, Parts like, int64_t dim) {
    const int64_t rank = typeOf(like.re).getRank(), n = typeOf(x).getDimSize(2);
    const std::vector<int64_t> order = toLast(rank, dim);
    std::vector<int64_t> shape, back(static_cast<size_t>(rank));
    for (int64_t d : order)
      shape.push_back(d == dim ? n : typeOf(like.re).getDimSize(d));
    for (int64_t d = 0; d < rank; ++d)
      back[static_cast<size_t>(order[static_cast<size_t>(d)])] = d;
    const auto one = [&](int64_t part) {
      const Value v = g.reshape(g.slice(x, 1, part, part + 1), shape);
      return dim == rank - 1 ? v : g.transpose(v, back);
    };
    return {one(0), typeOf(x).getDimSize(1) == 2 ? one(1) : Value()};
  }

  Parts along(Parts x, int64_t dim, bool half = false) {
    const int64_t n = typeOf(x.re).getDimSize(dim);
    return unlined(transform(lines(x, dim), sign > 0 ? 1.0 / static_cast<double>(n) : 1.0, half ? n / 2 + 1 : n), x, dim);
  }

  // What the spectrum of a real signal has no imaginary part in is taken for real, even if one is given that is not finite.
  Value withoutEnds(Value im, int64_t n) {
    const auto type = typeOf(im);
    const int64_t last = type.getRank() - 1;
    llvm::SmallVector<bool> real;
    for (int64_t k = 0; k < type.getDimSize(last); ++k)
      real.push_back(k == 0 || 2 * k == n);
    const auto line = mlir::RankedTensorType::get({type.getDimSize(last)}, g.b.getI1Type());
    const Value ends = g.broadcast(g.constant(mlir::DenseElementsAttr::get(line, llvm::ArrayRef<bool>(real))), {last},
                                   mlir::RankedTensorType::get(type.getShape(), g.b.getI1Type()));
    return g.select(ends, g.number(0, im), im);
  }

  // The half of a spectrum to the real signal that it is of.
  Parts toReal(Parts x, int64_t n) {
    const int64_t last = typeOf(x.re).getRank() - 1, half = n / 2 + 1;
    x.im = withoutEnds(x.im, n);
    Value z = lines(x, last);
    if (n <= kDirect) {
      const double scale = 1.0 / static_cast<double>(n);
      return unlined(contract(z, 1, 2,
                              table(2, half, 1, n,
                                    [&](int64_t p, int64_t k, int64_t, int64_t i) {
                                      const double twice = k == 0 || 2 * k == n ? scale : 2 * scale;
                                      const Complex w = root(i * k, n);
                                      return twice * (p == 0 ? w.real() : -w.imag());
                                    })),
                     x, last);
    }
    // What is not there is the conjugate of the other half.
    const Value rest = g.slice(z, 2, 1, n - half + 1);
    const Value turned =
        g.make("reverse", {rest}, rest.getType(), {g.b.getNamedAttr("dimensions", g.b.getDenseI64ArrayAttr({2}))});
    const Value other = g.concatenate({g.slice(turned, 1, 0, 1), g.unary("negate", g.slice(turned, 1, 1, 2))}, 1);
    z = g.concatenate({z, other}, 2);
    return unlined(g.slice(transform(z, 1.0 / static_cast<double>(n), n), 1, 0, 1), x, last);
  }

  // ---- constants --------------------------------------------------------------------------------------------------------------

  template <class Fn> Value table(int64_t a, int64_t b, int64_t c, int64_t d, Fn element) {
    std::vector<float> values;
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t k = 0; k < c; ++k)
          for (int64_t l = 0; l < d; ++l)
            values.push_back(static_cast<float>(element(i, j, k, l)));
    return g.constant(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({a, b, c, d}, g.b.getF32Type()),
                                                   llvm::ArrayRef<float>(values)));
  }
  // Complex numbers by place, the same for every line: [length], as parts of the shape of `like`.
  template <class Fn> Parts numbers(Value like, llvm::ArrayRef<int64_t> dims, int64_t count, Fn element) {
    std::vector<float> re, im;
    std::vector<int64_t> shape;
    for (int64_t d : dims)
      shape.push_back(typeOf(like).getDimSize(d));
    for (int64_t i = 0; i < count; ++i) {
      const Complex z = element(i);
      re.push_back(static_cast<float>(z.real()));
      im.push_back(static_cast<float>(z.imag()));
    }
    const auto type = mlir::RankedTensorType::get(shape, g.b.getF32Type());
    const auto made = [&](const std::vector<float> &v) {
      return g.broadcast(g.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(v))), dims, typeOf(like));
    };
    return {made(re), made(im)};
  }

  // Sums over two dimensions of x, parts and places, times table[parts, places, parts, places]: the new ones come last.
  Value contract(Value x, int64_t partDim, int64_t dim, Value table) {
    std::vector<int64_t> shape;
    for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
      if (d != partDim && d != dim)
        shape.push_back(typeOf(x).getDimSize(d));
    shape.push_back(typeOf(table).getDimSize(2));
    shape.push_back(typeOf(table).getDimSize(3));
    const auto axes = graph::DotDimensionNumbersAttr::get(g.b.getContext(), {}, {}, {partDim, dim}, {0, 1});
    return g.make("dot_general", {x, table}, mlir::RankedTensorType::get(shape, elementOf(x)),
                  {g.b.getNamedAttr("dot_dimension_numbers", axes)});
  }
  Value matrix(int64_t parts, int64_t n, double scale, int64_t outputs) {
    return table(parts, n, 2, outputs, [&](int64_t p, int64_t i, int64_t q, int64_t k) {
      const Complex w = scale * (sign < 0 ? std::conj(root(i * k, n)) : root(i * k, n)); // times 1 or i
      return p == 0 ? (q == 0 ? w.real() : w.imag()) : (q == 0 ? -w.imag() : w.real());
    });
  }

  Parts split(Value x, int64_t partDim) {
    return {g.slice(x, partDim, 0, 1), typeOf(x).getDimSize(partDim) == 2 ? g.slice(x, partDim, 1, 2) : g.number(0, x)};
  }
  Value joined(Parts z, int64_t partDim) { return g.concatenate({z.re, z.im}, partDim); }

  // ---- transforms of [lines, parts, n] to [lines, 2, outputs] -------------------------------------------------------------------

  Value transform(Value x, double scale, int64_t outputs) {
    const int64_t lines = typeOf(x).getDimSize(0), parts = typeOf(x).getDimSize(1), n = typeOf(x).getDimSize(2);
    const int64_t first = factorOf(n);
    if (n <= kDirect || (first == 1 && n <= kPrime))
      return contract(x, 1, 2, matrix(parts, n, scale, outputs));
    const Value all = first == 1 ? byChirp(x, scale) : byFactors(x, lines, parts, first, n / first, scale);
    return g.slice(all, 2, 0, outputs);
  }

  // The factor that is done first: the largest up to kDirect that is not above the root; 1 if there is none.
  static int64_t factorOf(int64_t n) {
    int64_t best = 1;
    for (int64_t f = 2; f <= kDirect && f * f <= n; ++f)
      if (n % f == 0)
        best = f;
    return best;
  }

  // Place i = second * i1 + i2, output k = k1 + first * k2: transforms over i1, turns by i2 k1, transforms over i2.
  Value byFactors(Value x, int64_t lines, int64_t parts, int64_t first, int64_t second, double scale) {
    const Value inner = contract(g.reshape(x, {lines, parts, first, second}), 1, 2, matrix(parts, first, scale, first));
    const Parts z = split(inner, 2); // [lines, second, 1, first]
    const Parts turns = numbers(z.re, {1, 3}, first * second, [&](int64_t i) {
      const Complex w = root(i / first * (i % first), first * second);
      return sign < 0 ? std::conj(w) : w;
    });
    const Value turned = joined(ComplexArithmetic(g).multiply(z, turns), 2);
    Value outer; // [lines, first, 2, second]
    if (second <= kDirect) {
      outer = contract(turned, 2, 1, matrix(2, second, 1, second));
    } else {
      const Value flat = g.reshape(g.transpose(turned, {0, 3, 2, 1}), {lines * first, 2, second});
      outer = g.reshape(transform(flat, 1, second), {lines, first, 2, second});
    }
    return g.reshape(g.transpose(outer, {0, 2, 3, 1}), {lines, 2, first * second});
  }

  // Bluestein's: a length without factors as a convolution, which has a length that is a power of two.
  Value byChirp(Value x, double scale) {
    const int64_t n = typeOf(x).getDimSize(2);
    int64_t m = 1;
    while (m < 2 * n - 1)
      m *= 2;
    const auto chirp = [&](int64_t i) { // exp(sign pi i^2 / n)
      const Complex w = root(i * i % (2 * n), 2 * n);
      return sign < 0 ? std::conj(w) : w;
    };
    std::vector<Complex> kernel(static_cast<size_t>(m));
    for (int64_t i = 0; i < n; ++i)
      kernel[static_cast<size_t>(i)] = kernel[static_cast<size_t>((m - i) % m)] = std::conj(chirp(i));
    kernel = transformed(kernel);
    ComplexArithmetic arithmetic(g);
    const auto times = [&](Value v, int64_t count, auto element) {
      const Parts z = split(v, 1);
      return joined(arithmetic.multiply(z, numbers(z.re, {2}, count, element)), 1);
    };
    const Value modulated = times(x, n, [&](int64_t i) { return scale * chirp(i); });
    std::vector<int64_t> shape(typeOf(modulated).getShape());
    shape[2] = m - n;
    const Value padded = g.concatenate({modulated, g.number(0, mlir::RankedTensorType::get(shape, elementOf(x)))}, 2);
    const int asked = sign;
    sign = -1;
    const Value spectrum = transform(padded, 1, m);
    sign = 1;
    const Value product = times(spectrum, m, [&](int64_t i) { return kernel[static_cast<size_t>(i)]; });
    const Value folded = g.slice(transform(product, 1.0 / static_cast<double>(m), m), 2, 0, n);
    sign = asked;
    return times(folded, n, chirp);
  }
};

bool isKnown(graph::FftOp op) {
  const auto part = [](mlir::Type t) {
    const auto c = llvm::dyn_cast<mlir::ComplexType>(t);
    return c ? c.getElementType() : t;
  };
  return part(elementOf(op.getOperand())).isF32() && !op.getFftLength().empty() && !isEmpty(op.getOperand()) &&
         !isEmpty(op->getResult(0));
}

} // namespace

void decomposeFourier(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto fft = llvm::dyn_cast<graph::FftOp>(op); fft && isKnown(fft))
      Fourier(op).write(fft);
}

} // namespace glia::emit
