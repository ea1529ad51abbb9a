// Linear algebra: each result is computed in double, column by column, and rounded once.
#include "Interpret/Complex.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glia::interp {

namespace {

// A batch of matrices, the last two dimensions.
struct Matrices {
  int64_t batch = 1, rows = 1, columns = 1;
  std::vector<Complex> at; // [batch][rows][columns]

  explicit Matrices(const Datum &d) : at(numbersOf(d)) {
    const Shape &shape = d.tensor.shape;
    rows = shape[shape.size() - 2];
    columns = shape.back();
    for (size_t k = 0; k + 2 < shape.size(); ++k)
      batch *= shape[k];
  }
  Complex *one(int64_t i) { return at.data() + i * rows * columns; }
};

// Without the C++ library's care for infinities, which a real number in the place of a complex one must not meet.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex over(Complex a, Complex b) { return b.imag() == 0 ? Complex(a.real() / b.real(), a.imag() / b.real()) : a / b; }

void give(Call &c, size_t i, const std::vector<Complex> &numbers) {
  c.results[i] = datumOf(c.resultType(i), numbers, c.inDouble);
}

void triangularSolve(Call &c) {
  Matrices a(c.operands[0]), b(c.operands[1]);
  const bool left = c.integerOr("left_side", 1) != 0, lower = c.integerOr("lower", 0) != 0,
             unit = c.integerOr("unit_diagonal", 0) != 0;
  const std::string how = c.text("transpose_a").value_or("NO_TRANSPOSE");
  const bool adjoint = how == "ADJOINT", turned = (how == "TRANSPOSE" || adjoint) != !left; // x a = b is a' x' = b'
  const int64_t n = a.rows, systems = left ? b.columns : b.rows;
  const int64_t down = left ? b.columns : 1, along = left ? 1 : b.columns;
  const bool forward = lower != turned;
  for (int64_t k = 0; k < a.batch; ++k) {
    const Complex *const m = a.one(k);
    const auto element = [&](int64_t i, int64_t j) {
      const Complex z = turned ? m[j * n + i] : m[i * n + j];
      return adjoint ? std::conj(z) : z;
    };
    for (int64_t s = 0; s < systems; ++s) {
      Complex *const x = b.one(k) + s * along;
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = forward ? step : n - 1 - step;
        Complex sum = x[i * down];
        for (int64_t j = forward ? 0 : i + 1; j < (forward ? i : n); ++j)
          sum -= times(element(i, j), x[j * down]);
        x[i * down] = unit ? sum : over(sum, element(i, i));
      }
    }
  }
  give(c, 0, b.at);
}

// The other triangle of the result is zeros. NaN everywhere if the matrix is not positive definite.
void cholesky(Call &c) {
  Matrices a(c.operands[0]);
  const bool lower = c.integerOr("lower", 0) != 0;
  const int64_t n = a.rows;
  std::vector<Complex> out;
  for (int64_t k = 0; k < a.batch; ++k) {
    const Complex *const m = a.one(k);
    std::vector<Complex> l(static_cast<size_t>(n * n));
    bool positive = true;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i < n; ++i) {
        Complex sum = lower ? m[i * n + j] : std::conj(m[j * n + i]);
        for (int64_t p = 0; p < j; ++p)
          sum -= times(l[i * n + p], std::conj(l[j * n + p]));
        positive = positive && !(i == j && sum.real() <= 0); // NaN stays what it is
        l[i * n + j] = i == j ? Complex(std::sqrt(sum.real())) : over(sum, l[j * n + j]);
      }
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        out.push_back(!positive ? Complex(nan) : lower ? l[i * n + j] : std::conj(l[j * n + i]));
  }
  give(c, 0, out);
}

// x - tau v (v' x) for the columns from `first`; v is column `of` of m below row `of`, where a one stands for what lies there.
void reflect(Complex *x, int64_t stride, int64_t first, int64_t columns, const Complex *m, int64_t mStride, int64_t of,
             int64_t rows, Complex tau) {
  const auto v = [&](int64_t i) { return i == of ? Complex(1) : m[i * mStride + of]; };
  for (int64_t j = first; j < columns; ++j) {
    Complex sum = 0;
    for (int64_t i = of; i < rows; ++i)
      sum += times(std::conj(v(i)), x[i * stride + j]);
    for (int64_t i = of; i < rows; ++i)
      x[i * stride + j] -= times(times(tau, v(i)), sum);
  }
}

// As LAPACK's geqrf: R, below it the vectors of the reflections, and tau.
void qr(Call &c) {
  Matrices a(c.operands[0]);
  std::vector<Complex> taus;
  for (int64_t k = 0; k < a.batch; ++k) {
    Complex *const m = a.one(k);
    for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
      const Complex alpha = m[j * a.columns + j];
      double under = 0;
      for (int64_t i = j + 1; i < a.rows; ++i)
        under += std::norm(m[i * a.columns + j]);
      if (under == 0 && alpha.imag() == 0) {
        taus.emplace_back(0);
        continue;
      }
      const double length = std::sqrt(std::norm(alpha) + under), beta = alpha.real() >= 0 ? -length : length;
      taus.push_back(over(beta - alpha, beta));
      for (int64_t i = j + 1; i < a.rows; ++i)
        m[i * a.columns + j] = over(m[i * a.columns + j], alpha - beta);
      m[j * a.columns + j] = beta;
      reflect(m, a.columns, j + 1, a.columns, m, a.columns, j, a.rows, std::conj(taus.back()));
    }
  }
  give(c, 0, a.at);
  give(c, 1, taus);
}

// The first columns of the product of reflections.
void householderProduct(Call &c) {
  Matrices a(c.operands[0]);
  const std::vector<Complex> taus = numbersOf(c.operands[1]);
  const int64_t count = c.operands[1].tensor.shape.back();
  std::vector<Complex> out(a.at.size());
  for (int64_t k = 0; k < a.batch; ++k) {
    Complex *const q = out.data() + k * a.rows * a.columns;
    for (int64_t i = 0; i < std::min(a.rows, a.columns); ++i)
      q[i * a.columns + i] = 1;
    for (int64_t j = count; j-- > 0;)
      reflect(q, a.columns, 0, a.columns, a.one(k), a.columns, j, a.rows, taus[static_cast<size_t>(k * count + j)]);
  }
  give(c, 0, out);
}

constexpr Rule kRules[] = {
    {"stablehlo.triangular_solve", triangularSolve},
    {"stablehlo.cholesky", cholesky},
};
constexpr Rule kCalls[] = {
    {"Qr", qr},
    {"ProductOfElementaryHouseholderReflectors", householderProduct},
};

} // namespace

std::span<const Rule> linalgRules() { return kRules; }
std::span<const Rule> linalgCallRules() { return kCalls; }

} // namespace glia::interp
