// Contractions and convolutions in all their forms.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

constexpr int64_t kMostProducts = 3'000'000; // of one operation: the reference multiplies one by one

bool isReal(const Value &v) { return v.type.isFloat() && v.trust != Trust::Decided; }

void shuffle(Random &r, std::vector<int64_t> &v) {
  for (auto i = static_cast<int64_t>(v.size()) - 1; i > 0; --i)
    std::swap(v[static_cast<size_t>(i)], v[static_cast<size_t>(r.below(i + 1))]);
}

Type resultType(Random &r, Type t) {
  if (t.isInteger())
    return t.bits == 32 || r.chance(25) ? t : t.kind == Type::Signed ? kI32 : kU32;
  if (t.isSmall())
    return r.chance(60) ? kF32 : kBF16;
  return t == kF32 || r.chance(70) ? t : kF32;
}

} // namespace

bool Generator::dot() {
  const bool small = r.chance(25); // integers and 8-bit floats
  const std::optional<Value> a = find([&](const Value &v) {
    return v.rank() > 0 && (small ? v.trust == Trust::Exact && (v.type.isInteger() || v.type.isSmall()) : isReal(v));
  });
  if (!a)
    return false;
  // Each dimension of the left side is contracted, a batch, or free; the right side has the first two kinds in any order.
  enum { Contract, Batch, Free };
  std::vector<int> kind;
  for (int64_t d = 0; d < a->rank(); ++d) {
    const int64_t k = r.below(100);
    kind.push_back(k < 45 ? Contract : k < 60 ? Batch : Free);
  }
  if (r.chance(90) && std::find(kind.begin(), kind.end(), Contract) == kind.end())
    kind[static_cast<size_t>(r.below(a->rank()))] = Contract;
  std::vector<int64_t> other; // the right side's dimensions: a dimension of the left, or -1 - size
  int64_t depth = 1;
  for (int64_t d = 0; d < a->rank(); ++d)
    if (kind[static_cast<size_t>(d)] != Free) {
      other.push_back(d);
      depth *= kind[static_cast<size_t>(d)] == Contract ? a->shape[static_cast<size_t>(d)] : 1;
    }
  const int64_t extra = r.between(0, 2);
  for (int64_t i = 0; i < extra && other.size() < 4; ++i)
    other.push_back(-1 - anySize());
  shuffle(r, other);
  Shape right, leftBatch, rightBatch, leftDims, rightDims, result, tail;
  for (size_t i = 0; i < other.size(); ++i)
    right.push_back(other[i] >= 0 ? a->shape[static_cast<size_t>(other[i])] : -1 - other[i]);
  std::vector<int64_t> left;
  for (int64_t d = 0; d < a->rank(); ++d)
    left.push_back(d);
  shuffle(r, left); // pairs may be named in any order
  for (int64_t d : left) {
    const int k = kind[static_cast<size_t>(d)];
    if (k == Free)
      continue;
    const int64_t there = std::find(other.begin(), other.end(), d) - other.begin();
    (k == Batch ? leftBatch : leftDims).push_back(d);
    (k == Batch ? rightBatch : rightDims).push_back(there);
  }
  for (int64_t d : leftBatch)
    result.push_back(a->shape[static_cast<size_t>(d)]);
  for (int64_t d = 0; d < a->rank(); ++d)
    if (kind[static_cast<size_t>(d)] == Free)
      result.push_back(a->shape[static_cast<size_t>(d)]);
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i] < 0)
      result.push_back(right[i]);
  if (result.size() > 5 || product(right) > kMostElements || product(result) > kMostElements ||
      product(result) * depth > kMostProducts)
    return false;
  const Value b = of(a->type, right);
  if (small && b.trust != Trust::Exact)
    return false;
  const Type t = resultType(r, a->type);
  std::string text = leftBatch.empty() ? "" : "batching_dims = [" + list(leftBatch) + "] x [" + list(rightBatch) + "], ";
  text += "contracting_dims = [" + list(leftDims) + "] x [" + list(rightDims) + "]";
  keepScaled(arrow("dot_general", {*a, b}, text, t, result, t.isInteger() ? Trust::Exact : Trust::Rounded,
                   a->bound * b.bound * std::sqrt(static_cast<double>(depth))));
  return true;
}

bool Generator::convolution() {
  const int64_t spatial = r.chance(35) ? 1 : r.chance(85) ? 2 : 3;
  const Type t = r.chance(12) ? integerType() : floatType();
  static const std::vector<int64_t> features = {1, 2, 3, 4, 6, 8, 16, 17, 32, 64, 130};
  const bool byFeature = r.chance(30), byBatch = !byFeature && r.chance(15);
  static const std::vector<int64_t> many = {5, 8, 32, 65, 96, 130, 260};
  const bool depthwise = (byFeature || byBatch) && r.chance(60); // many groups of few channels
  const int64_t groups = depthwise ? r.pick(many) : byFeature || byBatch ? r.between(2, 4) : 1;
  const int64_t batch = r.between(1, 3) * (byBatch ? groups : 1);
  const int64_t in = depthwise ? r.between(1, r.chance(70) ? 1 : 4) : r.pick(features); // per group
  const int64_t out = (depthwise ? r.between(1, r.chance(70) ? 1 : 3) : r.pick(features)) * groups;
  Shape image = {batch, in * (byFeature ? groups : 1)}, kernel = {in, out}, result = {byBatch ? batch / groups : batch, out};
  Shape stride, dilation, base;
  std::string padding;
  for (int64_t d = 0; d < spatial; ++d) {
    static const std::vector<int64_t> sizes = {1, 2, 3, 5, 7, 8, 13, 16, 31, 33};
    const int64_t size = spatial == 1 && r.chance(30) ? r.between(60, 300) : r.pick(sizes);
    const bool whole = byBatch && r.chance(60); // as in the gradient of weights
    const int64_t taps = whole ? r.between(std::max<int64_t>(size - 2, 1), size) : r.between(1, r.chance(10) ? 7 : 3);
    stride.push_back(r.chance(60) ? 1 : r.between(1, 3));
    base.push_back(r.chance(85) ? 1 : 2);
    dilation.push_back(r.chance(85) ? 1 : 2);
    const int64_t reach = (taps - 1) * dilation.back() + 1;
    const int64_t low = r.between(r.chance(10) ? -1 : 0, reach - 1);
    const int64_t high = r.between(r.chance(10) ? -1 : 0, reach);
    const int64_t full = (size - 1) * base.back() + 1 + low + high;
    if (full < reach)
      return false;
    image.push_back(size);
    kernel.push_back(taps);
    result.push_back((full - reach) / stride.back() + 1);
    padding += (d ? ", [" : "[") + std::to_string(low) + ", " + std::to_string(high) + "]";
  }
  int64_t taps = in;
  for (size_t i = 2; i < kernel.size(); ++i)
    taps *= kernel[i];
  if (product(image) > kMostElements || product(kernel) > kMostElements || product(result) > kMostElements ||
      product(result) * taps > kMostProducts)
    return false;
  // Dimensions in any order: [b, f, 0, 1] is usual, so is [b, 0, 1, f].
  const auto layout = [&](Shape &shape, const char *first, const char *second) {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < spatial + 2; ++d)
      order.push_back(d);
    if (r.chance(40)) { // channels last
      order.erase(order.begin() + 1);
      order.push_back(1);
    } else if (r.chance(30)) {
      shuffle(r, order);
    }
    Shape moved;
    std::string text;
    for (int64_t d : order) {
      moved.push_back(shape[static_cast<size_t>(d)]);
      text += (text.empty() ? "" : ", ") + (d == 0   ? std::string(first)
                                            : d == 1 ? std::string(second)
                                                     : std::to_string(d - 2));
    }
    shape = moved;
    return "[" + text + "]";
  };
  const std::string x = layout(image, "b", "f"), w = layout(kernel, "i", "o"), y = layout(result, "b", "f");
  const Value a = of(t, image);
  // Where it meets padding, an infinity of the kernel may become NaN.
  const std::optional<Value> known =
      find([&](const Value &v) { return v.type == t && v.shape == kernel && v.trust != Trust::Decided && !specials; });
  const Value b = known ? *known : argument(t, kernel);
  if (t.isInteger() && (a.trust != Trust::Exact || b.trust != Trust::Exact))
    return false;
  const Type to = resultType(r, t);
  keepScaled(put(
      "stablehlo.convolution(" + a.name + ", " + b.name + ") dim_numbers = " + x + "x" + w + "->" + y +
          ", window = {stride = [" + list(stride) + "], pad = [" + padding + "], lhs_dilate = [" + list(base) +
          "], rhs_dilate = [" + list(dilation) + "]} {batch_group_count = " + std::to_string(byBatch ? groups : 1) +
          " : i64, feature_group_count = " + std::to_string(byFeature ? groups : 1) + " : i64} : (" + a.text() + ", " +
          b.text() + ") -> " + tensorType(to, result),
      to, result, t.isInteger() ? Trust::Exact : Trust::Rounded, a.bound * b.bound * std::sqrt(static_cast<double>(taps))));
  return true;
}

} // namespace glia::graphs
