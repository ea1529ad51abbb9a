// Operations that move elements and compute nothing.
#include "Generator.h"

#include <algorithm>

namespace glia::graphs {

namespace {

std::vector<int64_t> permutation(Random &r, int64_t n) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] = i;
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(out[static_cast<size_t>(i)], out[static_cast<size_t>(r.below(i + 1))]);
  return out;
}

bool hasElements(const Value &v) { return v.elements() > 0; }
bool hasDims(const Value &v) { return v.rank() > 0 && hasElements(v); }

} // namespace

bool Generator::broadcast() {
  const int64_t most = r.chance(10) ? 12 : 4;
  const std::optional<Value> v = find([&](const Value &v) { return v.rank() < most; });
  if (!v)
    return false;
  // The operand's dimensions keep their order most of the time; those of size 1 may grow.
  const int64_t extra = r.between(v->rank() == 0 ? 1 : 0, std::min<int64_t>(most - v->rank(), 2));
  const int64_t rank = v->rank() + extra;
  std::vector<int64_t> dims = permutation(r, rank);
  dims.resize(static_cast<size_t>(v->rank()));
  if (r.chance(75))
    std::sort(dims.begin(), dims.end());
  Shape shape(static_cast<size_t>(rank), -1); // -1: new
  for (size_t i = 0; i < dims.size(); ++i)
    shape[static_cast<size_t>(dims[i])] = v->shape[i];
  int64_t all = v->elements();
  for (int64_t &s : shape)
    if (s == -1 || (s == 1 && r.chance(60))) {
      s = anySize();
      if (all * s > kMostElements)
        s = all * 3 > kMostElements ? 1 : r.between(1, 3);
      all *= s;
    }
  keep(arrow("broadcast_in_dim", {*v}, "dims = [" + list(dims) + "]", v->type, shape, v->trust, v->bound));
  return true;
}

bool Generator::reshape() {
  const std::optional<Value> v = find(hasElements);
  if (!v)
    return false;
  // The prime factors of the size, thrown into new dimensions.
  const int64_t rank = r.chance(6) ? r.between(5, 12) : v->elements() == 1 ? r.between(0, 3) : r.between(1, 4);
  Shape shape(static_cast<size_t>(rank), 1);
  const bool ordered = r.chance(60); // neighbours are joined or split, as in models
  int64_t at = 0, rest = v->elements();
  for (int64_t p = 2; rest > 1;) {
    if (p * p > rest)
      p = rest;
    if (rest % p != 0) {
      ++p;
      continue;
    }
    rest /= p;
    if (ordered)
      at = std::min(rank - 1, at + (r.chance(30) ? 1 : 0));
    else
      at = r.below(rank);
    shape[static_cast<size_t>(at)] *= p;
  }
  keep(arrow("reshape", {*v}, "", v->type, shape, v->trust, v->bound));
  return true;
}

bool Generator::transpose() {
  const std::optional<Value> v = find([](const Value &v) { return v.rank() >= 2; });
  if (!v)
    return false;
  const std::vector<int64_t> order = permutation(r, v->rank());
  Shape shape;
  for (int64_t d : order)
    shape.push_back(v->shape[static_cast<size_t>(d)]);
  keep(arrow("transpose", {*v}, "dims = [" + list(order) + "]", v->type, shape, v->trust, v->bound));
  return true;
}

bool Generator::slice() {
  const std::optional<Value> v = find(hasDims);
  if (!v)
    return false;
  std::string text;
  Shape shape;
  for (int64_t s : v->shape) {
    int64_t from = 0, to = s, step = 1;
    if (r.chance(60)) {
      from = r.below(s);
      to = r.between(r.chance(98) ? from + 1 : from, s); // rarely nothing
      step = r.chance(60) ? 1 : r.between(1, 4);
    }
    text += (text.empty() ? "" : ", ") + std::to_string(from) + ":" + std::to_string(to) +
            (step == 1 ? "" : ":" + std::to_string(step));
    shape.push_back((to - from + step - 1) / step);
  }
  keep(put("stablehlo.slice " + v->name + " [" + text + "] : (" + v->text() + ") -> " + tensorType(v->type, shape), v->type,
           shape, v->trust, v->bound));
  return true;
}

bool Generator::pad() {
  const std::optional<Value> v = find([](const Value &v) { return v.rank() > 0; });
  if (!v)
    return false;
  Shape low, high, interior, shape;
  for (int64_t s : v->shape) {
    const bool inside = r.chance(25), outside = r.chance(60);
    interior.push_back(inside ? r.between(1, 3) : 0);
    const int64_t full = s + std::max<int64_t>(s - 1, 0) * interior.back();
    low.push_back(outside ? r.between(-std::min<int64_t>(full / 3, 4), 5) : 0);
    high.push_back(outside ? r.between(-std::min<int64_t>(full / 3, 4), 5) : 0);
    shape.push_back(full + low.back() + high.back());
    if (shape.back() < 1)
      return false;
  }
  if (product(shape) > kMostElements)
    return false;
  const bool special = v->type.isFloat() && r.chance(20);
  const Value fill = special ? constant(v->type, {}, true) : r.chance(60) ? splat(v->type, {}, 0) : of(v->type, {});
  keep(arrow("pad", {*v, fill},
             "low = [" + list(low) + "], high = [" + list(high) + "], interior = [" + list(interior) + "]", v->type, shape,
             worst(v->trust, fill.trust), std::max(v->bound, fill.bound)));
  return true;
}

bool Generator::concatenate() {
  const std::optional<Value> v = find(hasDims);
  if (!v)
    return false;
  const auto dim = static_cast<size_t>(r.below(v->rank()));
  std::vector<Value> operands = {*v};
  int64_t size = v->shape[dim];
  Trust trust = v->trust;
  double bound = v->bound;
  const int64_t count = r.between(1, 4);
  for (int64_t i = 1; i < count; ++i) {
    Shape shape = v->shape;
    if (r.chance(60))
      shape[dim] = r.between(r.chance(95) ? 1 : 0, 9);
    operands.push_back(of(v->type, shape));
    size += shape[dim];
    trust = worst(trust, operands.back().trust);
    bound = std::max(bound, operands.back().bound);
  }
  if (r.chance(50))
    std::swap(operands.front(), operands.back());
  Shape shape = v->shape;
  shape[dim] = size;
  if (product(shape) > kMostElements)
    return false;
  keep(arrow("concatenate", operands, "dim = " + std::to_string(dim), v->type, shape, trust, bound));
  return true;
}

bool Generator::reverse() {
  const std::optional<Value> v = find(hasDims);
  if (!v)
    return false;
  Shape dims;
  for (int64_t d = 0; d < v->rank(); ++d)
    if (r.chance(50))
      dims.push_back(d);
  keep(put("stablehlo.reverse " + v->name + ", dims = [" + list(dims) + "] : " + v->text(), v->type, v->shape, v->trust,
           v->bound));
  return true;
}

bool Generator::iota() {
  const Type t = r.chance(50) ? integerType() : floatType();
  const Shape shape = anyShape(r.between(1, 3));
  const int64_t dim = r.below(static_cast<int64_t>(shape.size()));
  if (t.bits == 8 && shape[static_cast<size_t>(dim)] > 127)
    return false;
  keepScaled(put("stablehlo.iota dim = " + std::to_string(dim) + " : " + tensorType(t, shape), t, shape, Trust::Exact,
                 static_cast<double>(shape[static_cast<size_t>(dim)])));
  return true;
}

bool Generator::constantNumbers() {
  const Type t = anyType();
  keep(constant(t, anyShape(), t.isFloat() && r.chance(20)));
  return true;
}

bool Generator::dynamicSlice() {
  const std::optional<Value> v = find(hasDims);
  if (!v)
    return false;
  std::vector<Value> operands = {*v};
  Shape sizes;
  for (int64_t s : v->shape) {
    sizes.push_back(r.chance(40) ? s : r.between(1, s));
    operands.push_back(scalarIndex());
  }
  keep(arrow("dynamic_slice", operands, "sizes = [" + list(sizes) + "]", v->type, sizes, v->trust, v->bound));
  return true;
}

bool Generator::dynamicUpdate() {
  const std::optional<Value> v = find(hasDims);
  if (!v)
    return false;
  Shape sizes;
  for (int64_t s : v->shape)
    sizes.push_back(r.chance(40) ? s : r.between(1, s));
  std::vector<Value> operands = {*v, of(v->type, sizes)};
  for (size_t i = 0; i < sizes.size(); ++i)
    operands.push_back(scalarIndex());
  keep(arrow("dynamic_update_slice", operands, "", v->type, v->shape, worst(v->trust, operands[1].trust),
             std::max(v->bound, operands[1].bound)));
  return true;
}

} // namespace glia::graphs
