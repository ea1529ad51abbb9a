#include "BodyLaws.h"
#include "BodyTrial.h"

namespace glia::emit {

namespace {

constexpr double kTries[] = {-3, -1, 0, 1, 2, 5, 40};

// Numbers that the arguments from `first` on may be, one for each tensor; the n-th choice.
std::vector<double> tried(mlir::Block &body, size_t first, size_t count, size_t n) {
  std::vector<double> out;
  for (size_t k = 0; k < count; ++k) {
    const mlir::Type type = elementOf(body.getArgument(static_cast<unsigned>(first + k)));
    const double x = kTries[(n + k) % std::size(kTries)];
    out.push_back(type.isInteger(1) ? x > 0 : type.isUnsignedInteger() ? std::abs(x) : x);
  }
  return out;
}

std::vector<double> joined(std::vector<double> a, const std::vector<double> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// But for rounding. Where something is no number, nothing is said.
bool same(const std::vector<double> &a, const std::vector<double> &b) {
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (std::abs(x - y) > 1e-9 * std::max({1.0, std::abs(x), std::abs(y)}))
      return false;
  return true;
}
bool finite(const std::vector<double> &a) {
  return llvm::all_of(a, [](double x) { return std::isfinite(x); });
}

std::optional<std::vector<double>> numbers(mlir::ValueRange start) {
  std::vector<double> out;
  for (mlir::Value v : start)
    if (const std::optional<double> n = splatOf(v))
      out.push_back(*n);
    else
      return std::nullopt;
  return out;
}

} // namespace

bool isNeutral(mlir::Block &body, mlir::ValueRange start) {
  const auto from = numbers(start);
  Trial trial(body, Trial::Arithmetic);
  if (!from || trial.run(joined(*from, *from)) != from)
    return false;
  for (size_t t = 0; t < std::size(kTries); ++t) {
    const std::vector<double> x = tried(body, 0, from->size(), t);
    if (trial.run(joined(x, *from)) != x || trial.run(joined(*from, x)) != x)
      return false;
  }
  return true;
}

bool repeats(mlir::Block &body, mlir::ValueRange start) {
  if (start.size() == 1 && body.getOperations().size() == 2)
    if (const llvm::StringRef op = opName(&body.front()); op == "maximum" || op == "minimum" || op == "and" || op == "or")
      return true; // whatever the start is
  const auto from = numbers(start);
  Trial trial(body, Trial::Arithmetic);
  if (!from || trial.run(joined(*from, *from)) != from)
    return false;
  for (size_t t = 0; t < std::size(kTries) * std::size(kTries); ++t) {
    const auto one = trial.run(joined(*from, tried(body, 0, from->size(), t)));
    const auto two = one ? trial.run(joined(*one, tried(body, 0, from->size(), t / std::size(kTries)))) : std::nullopt;
    if (!two || trial.run(joined(*one, *from)) != one || trial.run(joined(*two, *from)) != two)
      return false;
  }
  return true;
}

std::optional<bool> isAssociative(mlir::Block &body) {
  const size_t count = body.getNumArguments() / 2, n = std::size(kTries);
  Trial trial(body, Trial::Arithmetic);
  for (size_t i = 0; i < n * n * n; ++i) {
    const std::vector<double> a = tried(body, 0, count, i), b = tried(body, 0, count, i / n),
                              c = tried(body, 0, count, i / n / n);
    const auto ab = trial.run(joined(a, b)), bc = trial.run(joined(b, c));
    if (!ab || !bc)
      return std::nullopt;
    const auto left = trial.run(joined(*ab, c)), right = trial.run(joined(a, *bc));
    if (!left || !right)
      return std::nullopt;
    if (finite(*ab) && finite(*bc) && finite(*left) && finite(*right) && !same(*left, *right))
      return false;
  }
  return true;
}

} // namespace glia::emit
