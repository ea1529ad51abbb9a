// Operations on complex values. Movement is done part by part, sums of products as four real ones in double, functions element by
// element by the C++ library; results are rounded once, part by part.
#include "Interpret/CallOf.h"
#include "Interpret/Complex.h"
#include "Interpret/Pointwise.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace glia::interp {

Datum makeComplex(Element element, Tensor real, Tensor imaginary) {
  Datum d;
  d.tensor.element = element;
  d.tensor.shape = real.shape;
  d.parts.resize(2);
  d.parts[0].tensor = std::move(real);
  d.parts[1].tensor = std::move(imaginary);
  return d;
}

Datum fromPairs(Element element, const Tensor &pairs) {
  const Shape shape(pairs.shape.begin(), pairs.shape.end() - 1);
  Tensor parts[2] = {Tensor(partOf(element), shape), Tensor(partOf(element), shape)};
  for (int p = 0; p < 2; ++p)
    for (int64_t i = 0; i < parts[p].count(); ++i)
      parts[p].own()[i] = pairs.at(2 * i + p);
  return makeComplex(element, std::move(parts[0]), std::move(parts[1]));
}

Tensor toPairs(const Datum &d) {
  Shape shape = d.tensor.shape;
  shape.push_back(2);
  Tensor out(partOf(d.tensor.element), shape);
  for (int64_t i = 0; i < out.count(); ++i)
    out.own()[i] = d.parts[static_cast<size_t>(i % 2)].tensor.at(i / 2);
  return out;
}

std::vector<Complex> numbersOf(const Datum &d) {
  const bool pair = isComplex(d.tensor.element);
  const Tensor &real = pair ? d.parts[0].tensor : d.tensor;
  std::vector<Complex> out;
  for (int64_t i = 0; i < real.count(); ++i)
    out.emplace_back(asDouble(real.at(i)), pair ? asDouble(d.parts[1].tensor.at(i)) : 0.0);
  return out;
}

Datum datumOf(const TensorType &type, const std::vector<Complex> &numbers, bool inDouble) {
  Tensor real(partOf(type.element), type.shape), imaginary = real;
  std::transform(numbers.begin(), numbers.end(), real.own(), [](Complex z) { return asWord(z.real()); });
  settle(real.element, inDouble, real.own(), real.count());
  if (!isComplex(type.element))
    return {std::move(real), {}};
  std::transform(numbers.begin(), numbers.end(), imaginary.own(), [](Complex z) { return asWord(z.imag()); });
  settle(imaginary.element, inDouble, imaginary.own(), imaginary.count());
  return makeComplex(type.element, std::move(real), std::move(imaginary));
}

namespace {

// ---- part by part -----------------------------------------------------------------------------------------------------------

// `return op(a, b)` on parts, or `return b`.
class PartBody final : public Body {
public:
  PartBody(std::string operation, Element element, bool inDouble)
      : operation(std::move(operation)), add(*namedFunction("add", element, inDouble)) {}
  std::string_view single(size_t) const override { return operation; }
  void run(const Word *arguments, Word *results) override {
    const Word *in[] = {&arguments[0], &arguments[1]};
    if (operation.empty())
      *results = arguments[1];
    else
      add(in, results, 1);
  }

private:
  std::string operation;
  Pointwise add;
};

// A call as one part of its complex operands and results.
class PartCall final : public CallOf {
public:
  PartCall(Call &whole, bool inDouble) : CallOf(whole) { this->inDouble = inDouble; }
  TensorType operandType(size_t i) const override { return real(whole.operandType(i)); }
  TensorType resultType(size_t i) const override { return real(whole.resultType(i)); }
  std::unique_ptr<Body> body(size_t region) override {
    const std::optional<std::string> operation = whole.singleOperation(region);
    if (!operation || (*operation != "stablehlo.add" && !operation->empty()))
      fail("this body on complex numbers is not implemented", "Sums and replacements are.");
    return std::make_unique<PartBody>(*operation, resultType(0).element, inDouble);
  }

private:
  static TensorType real(TensorType t) { return {partOf(t.element), std::move(t.shape)}; }
};

// The results of the operation on a choice of parts of its operands; `parts[i]` for the i-th, the last for all that follow.
std::vector<Datum> runOn(Call &c, std::initializer_list<size_t> parts, bool inDouble) {
  PartCall part(c, inDouble);
  size_t i = 0;
  for (const Datum &d : c.operands) {
    const size_t which = *(parts.begin() + std::min(i++, parts.size() - 1));
    part.operands.push_back(isComplex(d.tensor.element) ? d.parts[which] : d);
  }
  part.results.resize(c.resultCount());
  if (const Rule *rule = findRule(c.name()))
    rule->run(part);
  else
    part.set(0, evaluate(*pointwise(part), part.operands, part.resultType(0)));
  return std::move(part.results);
}

void byParts(Call &c) {
  std::vector<Datum> real = runOn(c, {0}, c.inDouble), imaginary = runOn(c, {1}, c.inDouble);
  for (size_t i = 0; i < real.size(); ++i)
    c.results[i] = isComplex(c.resultType(i).element)
                       ? makeComplex(c.resultType(i).element, std::move(real[i].tensor), std::move(imaginary[i].tensor))
                       : std::move(real[i]);
}

// (a + bi)(c + di), each product a whole contraction.
void contract(Call &c) {
  std::vector<Complex> out;
  const std::vector<Complex> rr = numbersOf(runOn(c, {0, 0}, true)[0]), ii = numbersOf(runOn(c, {1, 1}, true)[0]),
                             ri = numbersOf(runOn(c, {0, 1}, true)[0]), ir = numbersOf(runOn(c, {1, 0}, true)[0]);
  for (size_t i = 0; i < rr.size(); ++i)
    out.emplace_back(rr[i].real() - ii[i].real(), ri[i].real() + ir[i].real());
  c.results[0] = datumOf(c.resultType(0), out, c.inDouble);
}

// Element after element by the body's own operations, unless it is a sum.
void reduce(Call &c) {
  if (c.singleOperation(0) == "stablehlo.add") {
    byParts(c);
    return;
  }
  const size_t arrays = c.operandCount() / 2;
  const Shape dims = c.intsOr("dimensions", 0, 0), shape = c.operands[0].tensor.shape, own = rowMajor(shape);
  std::vector<std::vector<Complex>> in, out;
  const TensorType result = c.resultType(0);
  for (size_t k = 0; k < arrays; ++k) {
    if (!isComplex(c.resultType(k).element))
      c.fail("a reduction of complex and other numbers together is not implemented");
    in.push_back(numbersOf(c.operands[k]));
    out.emplace_back(countOf(result.shape), numbersOf(c.operands[arrays + k])[0]);
  }
  const TensorType scalar{result.element, {}};
  for (size_t i = 0; i < in[0].size(); ++i) {
    int64_t to = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end())
        to = to * shape[d] + static_cast<int64_t>(i) / own[d] % shape[d];
    std::vector<Datum> arguments;
    for (size_t k = 0; k < arrays; ++k)
      arguments.push_back(datumOf(scalar, {out[k][static_cast<size_t>(to)]}, true));
    for (size_t k = 0; k < arrays; ++k)
      arguments.push_back(datumOf(scalar, {in[k][i]}, true));
    const std::vector<Datum> made = c.region(0, std::move(arguments));
    for (size_t k = 0; k < arrays; ++k)
      out[k][static_cast<size_t>(to)] = numbersOf(made[k])[0];
  }
  for (size_t k = 0; k < arrays; ++k)
    c.results[k] = datumOf(c.resultType(k), out[k], c.inDouble);
}

// ---- element by element -----------------------------------------------------------------------------------------------------

template <class Fn> void eachOf(Call &c, Fn fn) {
  const TensorType type = c.resultType(0);
  std::vector<std::vector<Complex>> in;
  for (const Datum &d : c.operands)
    in.push_back(numbersOf(d));
  std::vector<Complex> out(static_cast<size_t>(countOf(type.shape)));
  const auto at = [&](size_t k, size_t i) { return in[k].size() == 1 ? in[k][0] : in[k][i]; };
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = fn(at(0, i), in.size() > 1 ? at(1, i) : Complex());
  c.results[0] = datumOf(type, out, c.inDouble);
}
template <auto F> void each(Call &c) { eachOf(c, F); }

// Four products, each of which is rounded: that is what the specification's sum of products means for typed values.
Complex product(const ElementInfo &t, bool inDouble, Complex a, Complex b) {
  const auto times = [&](double x, double y) { return inDouble ? x * y : roundTo(t, x * y); };
  return {times(a.real(), b.real()) - times(a.imag(), b.imag()), times(a.real(), b.imag()) + times(a.imag(), b.real())};
}
void multiply(Call &c) {
  const ElementInfo &t = info(partOf(c.resultType(0).element));
  eachOf(c, [&](Complex a, Complex b) { return product(t, c.inDouble, a, b); });
}
void square(Call &c) {
  const ElementInfo &t = info(partOf(c.resultType(0).element));
  eachOf(c, [&](Complex a, Complex) { return product(t, c.inDouble, a, a); });
}
constexpr auto signOf = [](Complex z, Complex) -> Complex {
  return z == 0.0 || std::abs(z) != std::abs(z) ? z : z / std::abs(z);
};
constexpr auto expm1 = [](Complex z, Complex) -> Complex {
  const double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag())};
};
constexpr auto log1p = [](Complex z, Complex) -> Complex {
  const double x = z.real(), y = z.imag();
  const double square =
      std::fabs(x) < 0.5 && std::fabs(y) < 0.5 ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::abs(1.0 + z));
  return {square, std::atan2(y, 1 + x)};
};
constexpr auto power = [](Complex a, Complex b) -> Complex {
  if (a == 0.0)
    return b == 0.0 ? Complex(1) : b.real() > 0 ? Complex(0) : Complex(NAN, NAN);
  return std::pow(a, b);
};

void compare(Call &c) {
  const std::vector<Complex> a = numbersOf(c.operands[0]), b = numbersOf(c.operands[1]);
  const std::string direction = c.text("comparison_direction").value_or("EQ");
  if (direction != "EQ" && direction != "NE")
    c.fail("complex numbers have no order");
  Tensor out = c.fresh(0);
  for (int64_t i = 0; i < out.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    out.own()[i] = (a[at].real() == b[at].real() && a[at].imag() == b[at].imag()) == (direction == "EQ");
  }
  c.set(0, std::move(out));
}

// From a real type, to one (the imaginary part is dropped), or between complex ones.
void convert(Call &c) {
  const Datum &in = c.operands[0];
  if (isComplex(in.tensor.element)) {
    const TensorType type = c.resultType(0);
    if (isComplex(type.element)) {
      c.results[0] = datumOf(type, numbersOf(in), c.inDouble);
      return;
    }
  }
  std::vector<Datum> real = runOn(c, {0}, c.inDouble);
  if (!isComplex(c.resultType(0).element)) {
    c.results[0] = std::move(real[0]);
    return;
  }
  c.results[0] = datumOf(c.resultType(0), numbersOf(real[0]), c.inDouble);
}

void constant(Call &c) {
  std::optional<Tensor> pairs = c.elements("value");
  if (!pairs)
    c.fail("a constant without a value");
  c.results[0] = fromPairs(c.resultType(0).element, *pairs);
}

void iota(Call &c) {
  std::vector<Datum> real = runOn(c, {}, c.inDouble);
  c.results[0] = datumOf(c.resultType(0), numbersOf(real[0]), c.inDouble);
}

void complexOf(Call &c) { c.results[0] = makeComplex(c.resultType(0).element, c.tensor(0), c.tensor(1)); }
void realOf(Call &c) { c.results[0] = c.operands[0].parts[0]; }
void imaginaryOf(Call &c) { c.results[0] = c.operands[0].parts[1]; }

constexpr Rule kRules[] = {
    {"reshape", byParts},
    {"transpose", byParts},
    {"slice", byParts},
    {"broadcast_in_dim", byParts},
    {"broadcast", byParts},
    {"reverse", byParts},
    {"concatenate", byParts},
    {"pad", byParts},
    {"select", byParts},
    {"gather", byParts},
    {"dynamic_slice", byParts},
    {"dynamic_update_slice", byParts},
    {"scatter", byParts},
    {"reduce_window", byParts},
    {"torch_index_select", byParts},
    {"get_dimension_size", byParts},
    {"reduce", reduce},
    {"dot_general", contract},
    {"dot", contract},
    {"convolution", contract},
    {"constant", constant},
    {"iota", iota},
    {"complex", complexOf},
    {"real", realOf},
    {"imag", imaginaryOf},
    {"compare", compare},
    {"convert", convert},
    {"add", each<[](Complex a, Complex b) { return a + b; }>},
    {"subtract", each<[](Complex a, Complex b) { return a - b; }>},
    {"multiply", multiply},
    {"divide", each<[](Complex a, Complex b) { return a / b; }>},
    {"power", each<power>},
    {"negate", each<[](Complex a, Complex) { return -a; }>},
    {"abs", each<[](Complex a, Complex) { return Complex(std::abs(a)); }>},
    {"sign", each<signOf>},
    {"conj", each<[](Complex a, Complex) { return std::conj(a); }>},
    {"square", square},
    {"exponential", each<[](Complex a, Complex) { return std::exp(a); }>},
    {"exponential_minus_one", each<expm1>},
    {"log", each<[](Complex a, Complex) { return std::log(a); }>},
    {"log_plus_one", each<log1p>},
    {"logistic", each<[](Complex a, Complex) { return 1.0 / (1.0 + std::exp(-a)); }>},
    {"sqrt", each<[](Complex a, Complex) { return std::sqrt(a); }>},
    {"rsqrt", each<[](Complex a, Complex) { return 1.0 / std::sqrt(a); }>},
    {"sine", each<[](Complex a, Complex) { return std::sin(a); }>},
    {"cosine", each<[](Complex a, Complex) { return std::cos(a); }>},
    {"tan", each<[](Complex a, Complex) { return std::tan(a); }>},
    {"tanh", each<[](Complex a, Complex) { return std::tanh(a); }>},
    {"sinh", each<[](Complex a, Complex) { return std::sinh(a); }>},
    {"cosh", each<[](Complex a, Complex) { return std::cosh(a); }>},
    {"asin", each<[](Complex a, Complex) { return std::asin(a); }>},
    {"acos", each<[](Complex a, Complex) { return std::acos(a); }>},
    {"atan", each<[](Complex a, Complex) { return std::atan(a); }>},
    {"asinh", each<[](Complex a, Complex) { return std::asinh(a); }>},
    {"acosh", each<[](Complex a, Complex) { return std::acosh(a); }>},
    {"atanh", each<[](Complex a, Complex) { return std::atanh(a); }>},
};

} // namespace

const Rule *findComplexRule(std::string_view operation) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Rule *> t;
    for (const Rule &r : kRules)
      t.emplace(r.name, &r);
    return t;
  }();
  const auto at = table.find(operation.substr(operation.find('.') + 1));
  return at == table.end() ? nullptr : at->second;
}

bool handsOn(std::string_view operation) {
  constexpr std::string_view kNames[] = {"if",
                                         "case",
                                         "while",
                                         "call",
                                         "composite",
                                         "optimization_barrier",
                                         "tuple",
                                         "fft",
                                         "get_tuple_element",
                                         "custom_call",
                                         "cholesky",
                                         "triangular_solve",
                                         "all_reduce",
                                         "all_gather",
                                         "all_to_all",
                                         "reduce_scatter",
                                         "collective_broadcast",
                                         "collective_permute",
                                         "send",
                                         "recv",
                                         "cross-replica-sum"};
  return std::ranges::find(kNames, operation.substr(operation.find('.') + 1)) != std::end(kNames);
}

} // namespace glia::interp
