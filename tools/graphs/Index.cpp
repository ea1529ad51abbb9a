// Gathers and scatters of rows, with indices from data or constant, in and out of range.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

Value indices(Generator &g, const Shape &shape, int64_t size) {
  if (g.r.chance(45)) {
    const int64_t lo = g.r.chance(20) ? -3 : 0, hi = g.r.chance(20) ? size + 3 : size - 1;
    return g.integers(kI32, shape, lo, hi);
  }
  const auto wanted = [&](const Value &v) { return v.type == kI32 && v.shape == shape && v.trust == Trust::Exact; };
  const std::optional<Value> v = g.find(wanted);
  return v && g.r.chance(60) ? *v : g.argument(kI32, shape);
}

struct Rows { // one dimension is indexed; the others are taken whole
  int64_t dim = 0;
  bool vector = false; // the indices have a last dimension of 1
  Shape index, batch;  // of the indices; without that dimension
};

std::optional<Rows> rowsOf(Random &r, const Value &v) {
  Rows out;
  out.dim = r.chance(70) ? 0 : r.below(v.rank());
  static const std::vector<int64_t> counts = {1, 2, 5, 7, 16, 33, 100, 128, 130};
  const int64_t rank = r.chance(75) ? 1 : r.between(0, 2);
  for (int64_t i = 0; i < rank; ++i)
    out.batch.push_back(rank == 1 ? r.pick(counts) : r.between(1, 9));
  out.index = out.batch;
  out.vector = r.chance(70);
  if (out.vector)
    out.index.push_back(1);
  const int64_t rows = v.elements() / v.shape[static_cast<size_t>(out.dim)];
  if (rows * product(out.batch) > kMostElements || v.rank() - 1 + rank > (r.chance(10) ? 12 : 4))
    return std::nullopt;
  return out;
}

} // namespace

bool Generator::gather() {
  const std::optional<Value> v = find([](const Value &v) { return v.rank() > 0 && v.elements() > 0; });
  if (!v)
    return false;
  const std::optional<Rows> rows = rowsOf(r, *v);
  if (!rows)
    return false;
  const int64_t size = v->shape[static_cast<size_t>(rows->dim)];
  const Value at = indices(*this, rows->index, size);
  Shape sizes = v->shape, offsets, result = rows->batch;
  sizes[static_cast<size_t>(rows->dim)] = 1;
  for (int64_t d = 0; d < v->rank(); ++d)
    if (d != rows->dim) {
      offsets.push_back(static_cast<int64_t>(result.size()));
      result.push_back(v->shape[static_cast<size_t>(d)]);
    }
  const std::string dim = std::to_string(rows->dim);
  keep(put("\"stablehlo.gather\"(" + v->name + ", " + at.name + ") <{dimension_numbers = #stablehlo.gather<offset_dims = [" +
               list(offsets) + "], collapsed_slice_dims = [" + dim + "], start_index_map = [" + dim +
               "], index_vector_dim = " + std::to_string(rows->batch.size()) +
               ">, indices_are_sorted = false, slice_sizes = " + array(sizes) + "}> : (" + v->text() + ", " + at.text() +
               ") -> " + tensorType(v->type, result),
           v->type, result, v->trust, v->bound));
  return true;
}

bool Generator::scatter() {
  const std::optional<Value> v = find([](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && v.trust != Trust::Decided && !v.type.isPred() && !v.type.isSmall();
  });
  if (!v)
    return false;
  const std::optional<Rows> rows = rowsOf(r, *v);
  if (!rows)
    return false;
  const int64_t size = v->shape[static_cast<size_t>(rows->dim)];
  const Value at = indices(*this, rows->index, size);
  Shape window, shape = rows->batch;
  for (int64_t d = 0; d < v->rank(); ++d)
    if (d != rows->dim) {
      window.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(v->shape[static_cast<size_t>(d)]);
    }
  const Value updates = of(v->type, shape);
  const bool adds = r.chance(55);
  const std::string region = combiner(adds ? "add" : "second", v->type), dim = std::to_string(rows->dim);
  const double many = std::sqrt(static_cast<double>(product(rows->batch)));
  keepScaled(
      put("\"stablehlo.scatter\"(" + v->name + ", " + at.name + ", " + updates.name +
              ") <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" +
              list(window) + "], inserted_window_dims = [" + dim + "], scatter_dims_to_operand_dims = [" + dim +
              "], index_vector_dim = " + std::to_string(rows->batch.size()) + ">, unique_indices = false}> (" + region +
              ") : (" + v->text() + ", " + at.text() + ", " + updates.text() + ") -> " + v->text(),
          v->type, v->shape, adds && v->type.isFloat() ? Trust::Rounded : worst(v->trust, updates.trust),
          adds ? v->bound + many * updates.bound : std::max(v->bound, updates.bound)));
  return true;
}

} // namespace glia::graphs
