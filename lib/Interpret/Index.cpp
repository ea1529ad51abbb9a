// Operations whose places depend on values: dynamic slices, gather, scatter.
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

bool contains(const Shape &list, int64_t x) { return std::find(list.begin(), list.end(), x) != list.end(); }

// The value of an index operand; u64 beyond the range of int64 is as good as the largest.
int64_t indexOf(const Tensor &t, int64_t i) {
  const int64_t v = asInt(t.at(i));
  return t.element == Element::U64 && v < 0 ? INT64_MAX : v;
}
int64_t clampIndex(int64_t v, int64_t last) { return std::clamp<int64_t>(v, 0, std::max<int64_t>(last, 0)); }

int64_t dynamicBase(Call &c, size_t firstIndex, const Shape &whole, const Shape &part) {
  const Shape strides = rowMajor(whole);
  int64_t base = 0;
  for (size_t d = 0; d < whole.size(); ++d)
    base += clampIndex(indexOf(c.tensor(firstIndex + d), 0), whole[d] - part[d]) * strides[d];
  return base;
}

void dynamicSlice(Call &c) {
  const Tensor &in = c.tensor(0);
  Tensor out = c.fresh(0);
  copyStrided(out.shape, out.own(), 0, rowMajor(out.shape), in.words(), dynamicBase(c, 1, in.shape, out.shape),
              rowMajor(in.shape));
  c.set(0, std::move(out));
}

void dynamicUpdateSlice(Call &c) {
  const Tensor update = c.tensor(1);
  const int64_t base = dynamicBase(c, 2, c.tensor(0).shape, update.shape);
  Tensor out = std::move(c.operands[0].tensor); // in place when nothing else uses it
  copyStrided(update.shape, out.own(), base, rowMajor(out.shape), update.words(), 0, rowMajor(update.shape));
  c.set(0, std::move(out));
}

// The indices of a gather or scatter: a batch of vectors, along `vectorDim`, each a place in the operand.
struct Places {
  const Tensor &indices;
  Shape batchShape, batchStrides; // of `indices` without the vector dimension
  int64_t vectorStride = 0, length = 1;

  Places(const Tensor &indices, int64_t vectorDim) : indices(indices) {
    const Shape strides = rowMajor(indices.shape);
    for (int64_t d = 0; d < indices.rank(); ++d)
      if (d == vectorDim) {
        vectorStride = strides[d];
        length = indices.shape[d];
      } else {
        batchShape.push_back(indices.shape[d]);
        batchStrides.push_back(strides[d]);
      }
  }
  // Index of batch number `b` along each batch dimension.
  Shape batchIndex(int64_t b) const {
    Shape index(batchShape.size());
    for (size_t d = batchShape.size(); d-- > 0; b /= batchShape[d])
      index[d] = b % batchShape[d];
    return index;
  }
  int64_t at(const Shape &batch, int64_t k) const {
    int64_t offset = k * vectorStride;
    for (size_t d = 0; d < batch.size(); ++d)
      offset += batch[d] * batchStrides[d];
    return indexOf(indices, offset);
  }
  // Where among `batch` is dimension d of the indices.
  static size_t batchPosition(int64_t d, int64_t vectorDim) { return static_cast<size_t>(d < vectorDim ? d : d - 1); }
};

// Dimensions of a result or of updates that walk a window, against those that walk the batch.
struct WindowSplit {
  Shape windowStrides, batchStrides, windowShape;
  WindowSplit(const Shape &shape, const Shape &windowDims) {
    const Shape strides = rowMajor(shape);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (contains(windowDims, d)) {
        windowStrides.push_back(strides[d]);
        windowShape.push_back(shape[d]);
      } else {
        batchStrides.push_back(strides[d]);
      }
  }
};

void gather(Call &c) {
  const Tensor &in = c.tensor(0);
  const auto field = [&](const char *name) { return c.intsOr("dimension_numbers." + std::string(name), 0, 0); };
  const Shape collapsed = field("collapsed_slice_dims"), batching = field("operand_batching_dims"),
              indexBatching = field("start_indices_batching_dims"), map = field("start_index_map"),
              sizes = c.intsOr("slice_sizes", 0, 0);
  const int64_t vectorDim = c.integerOr("dimension_numbers.index_vector_dim", 0);
  const Places places(c.tensor(1), vectorDim);
  Tensor out = c.fresh(0);
  const WindowSplit split(out.shape, field("offset_dims"));
  const Shape own = rowMajor(in.shape);
  Shape windowStrides; // of the operand, for the dimensions that are in the result
  for (int64_t d = 0; d < in.rank(); ++d)
    if (!contains(collapsed, d) && !contains(batching, d))
      windowStrides.push_back(own[d]);
  Word *to = out.own();
  for (int64_t b = 0, n = countOf(places.batchShape); b < n; ++b) {
    const Shape batch = places.batchIndex(b);
    int64_t base = 0, toBase = 0;
    for (size_t k = 0; k < map.size(); ++k)
      base += clampIndex(places.at(batch, static_cast<int64_t>(k)), in.shape[map[k]] - sizes[map[k]]) * own[map[k]];
    for (size_t k = 0; k < batching.size(); ++k)
      base += batch[Places::batchPosition(indexBatching[k], vectorDim)] * own[batching[k]];
    for (size_t d = 0; d < batch.size(); ++d)
      toBase += batch[d] * split.batchStrides[d];
    if (out.count() > 0)
      copyStrided(split.windowShape, to, toBase, split.windowStrides, in.words(), base, windowStrides);
  }
  c.set(0, std::move(out));
}

// Updates in row-major order of the updates. Choice, as XLA: a window that does not lie wholly inside the operand is left out.
void scatter(Call &c) {
  const size_t arrays = (c.operandCount() - 1) / 2;
  const Tensor indices = c.tensor(arrays);
  const auto field = [&](const char *name) { return c.intsOr("scatter_dimension_numbers." + std::string(name), 0, 0); };
  const Shape inserted = field("inserted_window_dims"), batching = field("input_batching_dims"),
              indexBatching = field("scatter_indices_batching_dims"), map = field("scatter_dims_to_operand_dims");
  const int64_t vectorDim = c.integerOr("scatter_dimension_numbers.index_vector_dim", 0);
  const Places places(indices, vectorDim);
  const Shape shape = c.tensor(0).shape, own = rowMajor(shape);
  const Shape updateShape = c.tensor(arrays + 1).shape;
  const WindowSplit split(updateShape, field("update_window_dims"));
  Shape windowStrides, size(shape.size(), 1);
  for (int64_t d = 0, w = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (!contains(inserted, d) && !contains(batching, d)) {
      windowStrides.push_back(own[d]);
      size[d] = split.windowShape[w++];
    }
  std::vector<Tensor> outs;
  std::vector<Word *> to;
  std::vector<const Word *> from;
  for (size_t k = 0; k < arrays; ++k) {
    outs.push_back(std::move(c.operands[k].tensor));
    from.push_back(c.tensor(arrays + 1 + k).words());
  }
  for (Tensor &t : outs)
    to.push_back(t.own());
  const std::unique_ptr<Body> body = c.body(0);
  std::vector<Word> arguments(2 * arrays), results(arrays);
  for (int64_t b = 0, n = countOf(updateShape) ? countOf(places.batchShape) : 0; b < n; ++b) {
    const Shape batch = places.batchIndex(b);
    Shape start(shape.size(), 0);
    for (size_t k = 0; k < map.size(); ++k)
      start[map[k]] += places.at(batch, static_cast<int64_t>(k));
    for (size_t k = 0; k < batching.size(); ++k)
      start[batching[k]] += batch[Places::batchPosition(indexBatching[k], vectorDim)];
    int64_t base = 0, fromBase = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      inside &= start[d] >= 0 && start[d] <= shape[d] - size[d];
      base += inside ? start[d] * own[d] : 0;
    }
    if (!inside)
      continue;
    for (size_t d = 0; d < batch.size(); ++d)
      fromBase += batch[d] * split.batchStrides[d];
    const int64_t toStep = step(windowStrides), fromStep = step(split.windowStrides);
    walkRows<2>(split.windowShape, {&windowStrides, &split.windowStrides},
                [&](const std::array<int64_t, 2> &at, int64_t count) {
                  for (int64_t i = 0; i < count; ++i) {
                    const int64_t t = base + at[0] + i * toStep, f = fromBase + at[1] + i * fromStep;
                    for (size_t k = 0; k < arrays; ++k) {
                      arguments[k] = to[k][t];
                      arguments[arrays + k] = from[k][f];
                    }
                    body->run(arguments.data(), results.data());
                    for (size_t k = 0; k < arrays; ++k)
                      to[k][t] = results[k];
                  }
                });
  }
  for (size_t k = 0; k < arrays; ++k)
    c.set(k, std::move(outs[k]));
}

void torchIndexSelect(Call &c) {
  const Tensor &in = c.tensor(0), &index = c.tensor(1);
  const int64_t dim = c.integerOr("dim", 0), batches = c.integerOr("batch_dims", 0);
  Tensor out = c.fresh(0);
  const std::span<const int64_t> shape = in.shape;
  const int64_t batch = countOf(shape.first(batches)), outer = countOf(shape.subspan(batches, dim - batches));
  const int64_t inner = countOf(shape.subspan(dim + 1)), picks = batch ? index.count() / batch : 0;
  Word *to = out.own();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t p = 0; p < picks; ++p, to += inner) {
        const int64_t i = clampIndex(indexOf(index, b * picks + p), in.shape[dim] - 1);
        std::copy_n(in.words() + ((b * outer + o) * in.shape[dim] + i) * inner, inner, to);
      }
  c.set(0, std::move(out));
}

constexpr Rule kRules[] = {
    {"stablehlo.dynamic_slice", dynamicSlice},
    {"stablehlo.dynamic_update_slice", dynamicUpdateSlice},
    {"stablehlo.gather", gather},
    {"stablehlo.scatter", scatter},
    {"stablehlo.torch_index_select", torchIndexSelect},
};

} // namespace

std::span<const Rule> indexRules() { return kRules; }

} // namespace glia::interp
