// Complex numbers and Fourier transforms, from real values and back to them: nothing with a cut, where a rounding decides.
#include "Generator.h"

#include <cmath>

namespace glia::graphs {

namespace {

struct Complex {
  std::string name;
  Shape shape;
  double bound;
  std::string text() const {
    std::string out = "tensor<";
    for (int64_t n : shape)
      out += std::to_string(n) + "x";
    return out + "complex<f32>>";
  }
};

class Chain {
public:
  Chain(Generator &g, Complex z) : g(g), z(std::move(z)) {}

  void step() {
    switch (g.r.below(8)) {
    case 0: return unary("negate", z.bound);
    case 1: return unary(g.r.chance(50) ? "sine" : "cosine", 2 * std::exp(z.bound));
    case 2: return unary("exponential", std::exp(z.bound));
    case 3: return make("stablehlo.multiply " + z.name + ", " + z.name + " : " + z.text(), z.shape, z.bound * z.bound);
    case 4: return divide();
    case 5: return move();
    case 6: return sum();
    default:
      return make("stablehlo.subtract " + z.name + ", " + number(0.5, -0.25) + " : " + z.text(), z.shape, z.bound + 1);
    }
  }
  void finish() {
    const std::string to = " : (" + z.text() + ") -> " + tensorType(kF32, z.shape);
    for (const char *part : {"real", "imag", "abs"})
      if (g.r.chance(60))
        g.keepScaled(g.put(std::string("stablehlo.") + part + " " + z.name + to, kF32, z.shape, Trust::Rounded, z.bound));
  }
  bool isSmall() const { return z.bound <= 16; }

private:
  Generator &g;
  Complex z;

  void make(const std::string &text, Shape shape, double bound) {
    const std::string name = g.fresh();
    g.line(name + " = " + text);
    z = {name, std::move(shape), bound};
  }
  void unary(const std::string &op, double bound) {
    make("stablehlo." + op + " " + z.name + " : " + z.text(), z.shape, bound);
  }
  std::string number(double re, double im) {
    const std::string name = g.fresh();
    g.line(name + " = stablehlo.constant dense<(" + std::to_string(re) + ", " + std::to_string(im) + ")> : " + z.text());
    return name;
  }
  void divide() { // by what is not near zero
    const Complex over = z;
    make("stablehlo.add " + z.name + ", " + number(z.bound + 1, 0) + " : " + z.text(), z.shape, 2 * z.bound + 1);
    make("stablehlo.divide " + over.name + ", " + z.name + " : " + z.text(), z.shape, over.bound);
  }
  void move() {
    if (z.shape.empty())
      return;
    if (g.r.chance(50))
      return make("stablehlo.reverse " + z.name + ", dims = [" + std::to_string(z.shape.size() - 1) + "] : " + z.text(),
                  z.shape, z.bound);
    Shape order, shape;
    for (size_t d = z.shape.size(); d-- > 0;) {
      order.push_back(static_cast<int64_t>(d));
      shape.push_back(z.shape[d]);
    }
    const Complex to{"", shape, z.bound};
    make("stablehlo.transpose " + z.name + ", dims = [" + list(order) + "] : (" + z.text() + ") -> " + to.text(), shape,
         z.bound);
  }
  void sum() {
    if (z.shape.empty())
      return;
    const int64_t n = z.shape.back();
    const Complex to{"", Shape(z.shape.begin(), z.shape.end() - 1), 0};
    const std::string init = g.fresh(), scalar = "tensor<complex<f32>>";
    g.line(init + " = stablehlo.constant dense<(0.0, 0.0)> : " + scalar);
    make("stablehlo.reduce(" + z.name + " init: " + init + ") applies stablehlo.add across dimensions = [" +
             std::to_string(z.shape.size() - 1) + "] : (" + z.text() + ", " + scalar + ") -> " + to.text(),
         to.shape, z.bound * std::sqrt(static_cast<double>(n)));
  }
};

bool isPlain(const Value &v) {
  return v.type == kF32 && v.trust != Trust::Decided && v.elements() > 0 && v.elements() <= 8000;
}

// `a` and another value as one.
Complex complexOf(Generator &g, const Value &a) {
  const Value re = g.clamped(a, 2), im = g.clamped(g.of(kF32, a.shape), 2);
  const Complex z{g.fresh(), a.shape, 3};
  g.line(z.name + " = stablehlo.complex " + re.name + ", " + im.name + " : " + z.text());
  return z;
}

} // namespace

bool Generator::complexNumbers() {
  const std::optional<Value> a = specials ? std::nullopt : find(isPlain);
  if (!a)
    return false;
  Chain chain(*this, complexOf(*this, *a));
  for (int64_t steps = r.between(1, 4); steps > 0 && chain.isSmall(); --steps)
    chain.step();
  chain.finish();
  return true;
}

bool Generator::fourier() {
  const std::optional<Value> a = specials ? std::nullopt : find([](const Value &v) { return isPlain(v) && v.rank() > 0; });
  if (!a)
    return false;
  const int64_t n = a->shape.back();
  const double size = std::sqrt(static_cast<double>(n)) + 1;
  const auto call = [&](const std::string &in, const std::string &from, const char *type, int64_t length,
                        const std::string &to) {
    const std::string name = fresh();
    line(name + " = stablehlo.fft " + in + ", type = " + type + ", length = [" + std::to_string(length) + "] : (" + from +
         ") -> " + to);
    return name;
  };
  if (r.chance(30)) {
    Complex out{"", a->shape, (a->bound + 1) * size};
    out.shape.back() = n / 2 + 1;
    out.name = call(a->name, a->text(), "RFFT", n, out.text());
    Chain(*this, out).finish();
    return true;
  }
  const Complex z = complexOf(*this, *a);
  if (r.chance(40)) {
    const int64_t length = std::max<int64_t>(1, r.chance(50) ? 2 * (n - 1) : 2 * n - 1);
    Shape shape = a->shape;
    shape.back() = length;
    const std::string name = call(z.name, z.text(), "IRFFT", length, tensorType(kF32, shape));
    keepScaled({name, kF32, shape, Trust::Rounded, 3});
    return true;
  }
  const bool forward = r.chance(50);
  Chain(*this, {call(z.name, z.text(), forward ? "FFT" : "IFFT", n, z.text()), z.shape, forward ? 3 * size : 3}).finish();
  return true;
}

} // namespace glia::graphs
