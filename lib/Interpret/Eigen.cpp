// Eigenvalues and eigenvectors of symmetric and Hermitian matrices: Jacobi's rotations in double, in rounds in which each row meets another.
#include "Interpret/Complex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace glia::interp {

namespace {

class Jacobi {
public:
  Jacobi(std::vector<Complex> matrix, int64_t n)
      : a(std::move(matrix)), v(static_cast<size_t>(n * n)), n(n), order(static_cast<size_t>(n + n % 2)) {
    for (int64_t i = 0; i < n; ++i)
      at(v, i, i) = 1;
    std::iota(order.begin(), order.end(), 0);
  }

  void run() {
    for (int sweep = 0; sweep < 60 && beside() > 1e-30 * whole(); ++sweep)
      for (size_t round = 0; round + 1 < std::max<size_t>(order.size(), 2); ++round) {
        const size_t half = order.size() / 2;
        for (size_t i = 0; i < half; ++i)
          if (order[i] < n && order[i + half] < n) // a row more makes their number even
            rotate(order[i], order[i + half]);
        change(half);
      }
  }
  double value(int64_t i) { return at(a, i, i).real(); }
  Complex vector(int64_t row, int64_t i) { return std::conj(at(v, i, row)); }

private:
  std::vector<Complex> a, v; // v a' v^H = a; rows of v
  int64_t n;
  std::vector<int64_t> order;

  Complex &at(std::vector<Complex> &m, int64_t i, int64_t j) { return m[static_cast<size_t>(i * n + j)]; }
  double beside() {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        sum += i == j ? 0 : std::norm(at(a, i, j));
    return sum;
  }
  double whole() {
    return std::accumulate(a.begin(), a.end(), 0.0, [](double sum, Complex z) { return sum + std::norm(z); });
  }
  void change(size_t half) {
    if (half < 2)
      return;
    std::vector<int64_t> next = {order[0], order[half]};
    next.insert(next.end(), order.begin() + 1, order.begin() + static_cast<int64_t>(half) - 1);
    next.insert(next.end(), order.begin() + static_cast<int64_t>(half) + 1, order.end());
    next.push_back(order[half - 1]);
    order = std::move(next);
  }
  void rotate(int64_t p, int64_t q) {
    const Complex b = at(a, p, q);
    const double size = std::abs(b);
    if (size == 0)
      return;
    // A real number keeps its sign; a complex one is turned to its size.
    const bool real = b.imag() == 0;
    const Complex turn = real ? Complex(1) : b / size;
    const double value = real ? b.real() : size;
    const double tau = (at(a, q, q).real() - at(a, p, p).real()) / (2 * value);
    const double t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau)), c = 1 / std::sqrt(1 + t * t),
                 s = t * c;
    for (std::vector<Complex> *m : {&a, &v})
      for (int64_t j = 0; j < n; ++j) {
        const Complex x = at(*m, p, j), y = turn * at(*m, q, j);
        at(*m, p, j) = c * x - s * y;
        at(*m, q, j) = s * x + c * y;
      }
    for (int64_t j = 0; j < n; ++j) {
      const Complex x = at(a, j, p), y = std::conj(turn) * at(a, j, q);
      at(a, j, p) = c * x - s * y;
      at(a, j, q) = s * x + c * y;
    }
  }
};

// backend_config: "lower,sorted,sweeps,tolerance". Values come in ascending order; of what is not finite NaN.
void eigh(Call &c) {
  const std::vector<Complex> in = numbersOf(c.operands[0]);
  const int64_t n = c.operands[0].tensor.shape.back();
  const bool lower = !c.text("backend_config").value_or("1").starts_with("0");
  std::vector<Complex> vectors, values;
  for (size_t k = 0; n > 0 && k < in.size() / static_cast<size_t>(n * n); ++k) {
    std::vector<Complex> a(static_cast<size_t>(n * n));
    bool finite = true;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const bool given = lower ? i >= j : i <= j;
        const Complex z = in[k * static_cast<size_t>(n * n) + static_cast<size_t>(given ? i * n + j : j * n + i)];
        a[static_cast<size_t>(i * n + j)] = i == j ? Complex(z.real()) : given ? z : std::conj(z);
        finite = finite && std::isfinite(z.real()) && std::isfinite(z.imag());
      }
    Jacobi jacobi(std::move(a), n);
    if (finite)
      jacobi.run();
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    if (finite)
      std::sort(order.begin(), order.end(),
                [&](int64_t i, int64_t j) { return std::pair(jacobi.value(i), i) < std::pair(jacobi.value(j), j); });
    const Complex nan(std::numeric_limits<double>::quiet_NaN());
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(finite ? Complex(jacobi.value(order[static_cast<size_t>(i)])) : nan);
      for (int64_t j = 0; j < n; ++j)
        vectors.push_back(finite ? jacobi.vector(i, order[static_cast<size_t>(j)]) : nan);
    }
  }
  c.results[0] = datumOf(c.resultType(0), vectors, c.inDouble);
  c.results[1] = datumOf(c.resultType(1), values, c.inDouble);
}

constexpr Rule kCalls[] = {{"Eigh", eigh}};

} // namespace

std::span<const Rule> eigenCallRules() { return kCalls; }

} // namespace glia::interp
