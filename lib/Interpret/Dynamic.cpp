// Operations whose sizes are operands: the static ones, with attributes from the values of operands. Types are static, so sizes that
// do not fit them are an error.
#include "Interpret/CallOf.h"
#include "Interpret/Rules.h"

#include <algorithm>
#include <map>

namespace glia::interp {

namespace {

// The call of a static operation, of the first operands of a dynamic one.
class StaticCall : public CallOf {
public:
  StaticCall(Call &from, std::string_view called, size_t count) : CallOf(from), called(called) {
    operands.assign(from.operands.begin(), from.operands.begin() + static_cast<std::ptrdiff_t>(count));
    results.resize(from.results.size());
  }
  // An attribute that is an operand of the dynamic operation.
  void takeNumbers(std::string attribute, size_t operand, size_t count) {
    const Tensor &t = whole.tensor(operand);
    if (t.count() != static_cast<int64_t>(count))
      whole.fail("operand " + std::to_string(operand) + " has " + std::to_string(t.count()) + " numbers, not " +
                 std::to_string(count));
    Shape &numbers = attributes[std::move(attribute)];
    for (int64_t i = 0; i < t.count(); ++i)
      numbers.push_back(asInt(t.at(i)));
  }
  const Shape &numbers(const std::string &attribute) { return attributes[attribute]; }
  void run() {
    findRule(called)->run(*this);
    whole.results = std::move(results);
  }

  std::string_view name() const override { return called; }
  size_t operandCount() const override { return operands.size(); }
  std::optional<Shape> ints(std::string_view attribute) const override {
    const auto found = attributes.find(std::string(attribute));
    return found != attributes.end() ? std::optional(found->second) : whole.ints(attribute);
  }

private:
  std::string_view called;
  std::map<std::string, Shape> attributes;
};

void require(const Call &c, bool fits) {
  if (!fits)
    c.fail("its sizes do not give the type of its result");
}

// An operand holds the sizes of the result.
void requireShape(const Call &c, size_t operand) {
  const Tensor &t = c.tensor(operand);
  const Shape shape = c.resultType(0).shape;
  require(c, t.count() == static_cast<int64_t>(shape.size()));
  for (size_t d = 0; d < shape.size(); ++d)
    require(c, asInt(t.at(static_cast<int64_t>(d))) == shape[d]);
}

void iota(Call &c) {
  requireShape(c, 0);
  StaticCall(c, "stablehlo.iota", 0).run();
}
void reshape(Call &c) {
  requireShape(c, 1);
  require(c, countOf(c.resultType(0).shape) == c.tensor(0).count());
  StaticCall(c, "stablehlo.reshape", 1).run();
}
void broadcastInDim(Call &c) {
  requireShape(c, 1);
  const Shape dims = c.intsOr("broadcast_dimensions", 0, 0), in = c.tensor(0).shape, out = c.resultType(0).shape;
  require(c, dims.size() == in.size());
  for (size_t d = 0; d < dims.size(); ++d)
    require(c, dims[d] >= 0 && dims[d] < static_cast<int64_t>(out.size()) && (in[d] == 1 || in[d] == out[dims[d]]));
  StaticCall(c, "stablehlo.broadcast_in_dim", 1).run();
}

void slice(Call &c) {
  const Shape in = c.tensor(0).shape, out = c.resultType(0).shape;
  StaticCall s(c, "stablehlo.slice", 1);
  s.takeNumbers("start_indices", 1, in.size());
  s.takeNumbers("limit_indices", 2, in.size());
  s.takeNumbers("strides", 3, in.size());
  const Shape &start = s.numbers("start_indices"), &limit = s.numbers("limit_indices"), &step = s.numbers("strides");
  require(c, in.size() == out.size());
  for (size_t d = 0; d < in.size(); ++d)
    require(c, start[d] >= 0 && limit[d] >= start[d] && limit[d] <= in[d] && step[d] > 0 &&
                   (limit[d] - start[d] + step[d] - 1) / step[d] == out[d]);
  s.run();
}

void pad(Call &c) {
  const Shape in = c.tensor(0).shape, out = c.resultType(0).shape;
  StaticCall s(c, "stablehlo.pad", 2);
  s.takeNumbers("edge_padding_low", 2, in.size());
  s.takeNumbers("edge_padding_high", 3, in.size());
  s.takeNumbers("interior_padding", 4, in.size());
  const Shape &low = s.numbers("edge_padding_low"), &high = s.numbers("edge_padding_high"),
              &between = s.numbers("interior_padding");
  require(c, in.size() == out.size());
  for (size_t d = 0; d < in.size(); ++d)
    require(c, between[d] >= 0 && in[d] + std::max<int64_t>(in[d] - 1, 0) * between[d] + low[d] + high[d] == out[d]);
  s.run();
}

bool within(const Shape &dims, size_t rank) {
  return std::ranges::all_of(dims, [&](int64_t d) { return d >= 0 && d < static_cast<int64_t>(rank); });
}
bool contains(const Shape &dims, size_t d) { return std::ranges::count(dims, static_cast<int64_t>(d)) > 0; }

void gather(Call &c) {
  const Shape in = c.tensor(0).shape, indices = c.tensor(1).shape, out = c.resultType(0).shape;
  StaticCall s(c, "stablehlo.gather", 2);
  s.takeNumbers("slice_sizes", 2, in.size());
  const auto list = [&](const char *field) { return c.intsOr(std::string("dimension_numbers.") + field, 0, 0); };
  const Shape offset = list("offset_dims"), collapsed = list("collapsed_slice_dims"),
              batching = list("operand_batching_dims"), indexBatching = list("start_indices_batching_dims"),
              map = list("start_index_map");
  const auto vector = static_cast<size_t>(c.integerOr("dimension_numbers.index_vector_dim", 0));
  require(c, vector <= indices.size() && within(offset, out.size()) && within(map, in.size()) &&
                 within(batching, in.size()) && within(indexBatching, indices.size()) &&
                 batching.size() == indexBatching.size() && !contains(indexBatching, vector) &&
                 map.size() == static_cast<size_t>(vector < indices.size() ? indices[vector] : 1));
  // Windows and index vectors, each in their order, are the dimensions of the result.
  Shape windows, vectors;
  for (size_t d = 0; d < in.size(); ++d) {
    const int64_t size = s.numbers("slice_sizes")[d];
    const bool gone = contains(collapsed, d) || contains(batching, d);
    require(c, size >= 0 && size <= in[d] && (!gone || size <= 1));
    if (!gone)
      windows.push_back(size);
  }
  for (size_t d = 0; d < indices.size(); ++d)
    if (d != vector)
      vectors.push_back(indices[d]);
  for (size_t k = 0; k < batching.size(); ++k)
    require(c, indices[indexBatching[k]] == in[batching[k]]);
  Shape made;
  size_t w = 0, v = 0;
  for (size_t d = 0; d < out.size(); ++d) {
    const bool window = contains(offset, d);
    require(c, window ? w < windows.size() : v < vectors.size());
    made.push_back(window ? windows[w++] : vectors[v++]);
  }
  require(c, made == out && w == windows.size() && v == vectors.size());
  s.run();
}

void convolution(Call &c) {
  const size_t rank = c.tensor(0).shape.size();
  require(c, rank >= 2 && c.tensor(1).shape.size() == rank && c.resultType(0).shape.size() == rank);
  for (const char *side : {"input", "kernel", "output"}) {
    const auto list = [&](const char *field) { return c.intsOr("dimension_numbers." + std::string(side) + field, 0, 0); };
    const bool kernel = side == std::string_view("kernel");
    Shape dims = list("_spatial_dimensions");
    for (const char *field : {kernel ? "_input_feature_dimension" : "_batch_dimension",
                              kernel ? "_output_feature_dimension" : "_feature_dimension"})
      dims.push_back(list(field).at(0));
    std::ranges::sort(dims);
    require(c, dims.size() == rank && within(dims, rank) && std::ranges::adjacent_find(dims) == dims.end());
  }
  for (const char *window : {"window_strides", "lhs_dilation", "rhs_dilation", "window_reversal"})
    require(c, c.intsOr(window, rank - 2, 1).size() == rank - 2);
  StaticCall s(c, "stablehlo.convolution", 2);
  s.takeNumbers("padding", 2, 2 * (rank - 2));
  s.run();
}

void setDimensionSize(Call &c) {
  const auto d = static_cast<size_t>(c.integerOr("dimension", 0));
  const Shape shape = c.tensor(0).shape;
  require(c, d < shape.size() && c.resultType(0).shape == shape && asInt(c.tensor(1).at(0)) == shape[d]);
  c.set(0, c.tensor(0));
}

constexpr Rule kRules[] = {
    {"stablehlo.dynamic_iota", iota},
    {"stablehlo.dynamic_reshape", reshape},
    {"stablehlo.dynamic_broadcast_in_dim", broadcastInDim},
    {"stablehlo.real_dynamic_slice", slice},
    {"stablehlo.dynamic_pad", pad},
    {"stablehlo.dynamic_gather", gather},
    {"stablehlo.dynamic_conv", convolution},
    {"stablehlo.set_dimension_size", setDimensionSize},
};

} // namespace

std::span<const Rule> dynamicRules() { return kRules; }

} // namespace glia::interp
