// Gathers and scatters in their general form: windows of any size at places that several indices give, batches in common with the
// indices, results in any order of dimensions.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

struct Windows {
  Shape sizes;              // of a window, per dimension of the operand
  Shape gone, batch, there; // dimensions without one in the result; batches of the operand, and of the indices
  Shape map;                // what the parts of an index vector mean
  Shape index;              // the shape of the indices
  int64_t vector = 0;       // their dimension that holds a vector
  int64_t places = 1;       // how many vectors
  Shape offsets, result;    // where windows are in the result, and its shape

  std::string text(const char *const (&names)[5]) const {
    const auto field = [&](int i, const Shape &s) { return std::string(names[i]) + " = [" + list(s) + "], "; };
    return field(0, offsets) + field(1, gone) + (batch.empty() ? "" : field(2, batch) + field(3, there)) + field(4, map) +
           "index_vector_dim = " + std::to_string(vector);
  }
};

void shuffle(Random &r, Shape &v) {
  for (auto i = static_cast<int64_t>(v.size()) - 1; i > 0; --i)
    std::swap(v[static_cast<size_t>(i)], v[static_cast<size_t>(r.below(i + 1))]);
}

std::optional<Windows> windowsOf(Random &r, const Value &v, bool whole) {
  Windows w;
  Shape left;                                     // sizes of windows that stay in the result
  std::vector<std::pair<int64_t, int64_t>> outer; // of the indices: size, and the batch of the operand or -1
  for (int64_t d = 0; d < v.rank(); ++d) {
    const int64_t s = v.shape[static_cast<size_t>(d)];
    if (v.rank() > 1 && s < 40 && r.chance(15)) {
      w.batch.push_back(d);
      w.sizes.push_back(1);
      outer.push_back({s, d});
      continue;
    }
    const bool moved = r.chance(50);
    w.sizes.push_back(moved ? (r.chance(60) ? 1 : r.between(1, s)) : whole || r.chance(80) ? s : r.between(1, s));
    if (moved)
      w.map.push_back(d);
    if (w.sizes.back() == 1 && r.chance(70))
      w.gone.push_back(d);
    else
      left.push_back(w.sizes.back());
  }
  shuffle(r, w.map);
  for (int64_t i = r.between(0, 2); i > 0; --i)
    outer.push_back({r.chance(80) ? r.between(1, 9) : r.between(10, 130), -1});
  for (auto i = static_cast<int64_t>(outer.size()) - 1; i > 0; --i)
    std::swap(outer[static_cast<size_t>(i)], outer[static_cast<size_t>(r.below(i + 1))]);
  Shape places;
  for (const auto &[size, d] : outer)
    places.push_back(size);
  for (int64_t d : w.batch)
    w.there.push_back(std::find_if(outer.begin(), outer.end(), [&](const auto &o) { return o.second == d; }) -
                      outer.begin());
  w.places = product(places);
  w.index = places;
  w.vector = static_cast<int64_t>(places.size());
  if (w.map.size() != 1 || r.chance(60)) { // a vector of length 0 means the first place
    w.vector = r.chance(80) ? w.vector : r.below(w.vector + 1);
    w.index.insert(w.index.begin() + w.vector, static_cast<int64_t>(w.map.size()));
    for (int64_t &d : w.there)
      d += d >= w.vector ? 1 : 0;
  }
  const size_t rank = places.size() + left.size();
  if (rank > (r.chance(10) ? 12u : 5u))
    return std::nullopt;
  Shape all(rank);
  for (size_t i = 0; i < rank; ++i)
    all[i] = static_cast<int64_t>(i);
  if (r.chance(40))
    shuffle(r, all);
  else if (r.chance(50))
    std::reverse(all.begin(), all.end());
  w.offsets.assign(all.begin(), all.begin() + static_cast<int64_t>(left.size()));
  std::sort(w.offsets.begin(), w.offsets.end());
  size_t window = 0, place = 0;
  for (size_t i = 0; i < rank; ++i)
    w.result.push_back(std::binary_search(w.offsets.begin(), w.offsets.end(), static_cast<int64_t>(i)) ? left[window++]
                                                                                                       : places[place++]);
  return product(w.result) > kMostElements / 2 ? std::nullopt : std::optional(std::move(w));
}

Value indices(Generator &g, const Shape &shape, const Value &v) {
  if (g.r.chance(50)) {
    const int64_t most = *std::max_element(v.shape.begin(), v.shape.end());
    return g.integers(kI32, shape, g.r.chance(20) ? -2 : 0, most - 1 + (g.r.chance(20) ? 3 : 0));
  }
  const auto wanted = [&](const Value &o) { return o.type == kI32 && o.shape == shape && o.trust == Trust::Exact; };
  const std::optional<Value> found = g.find(wanted);
  return found && g.r.chance(60) ? *found : g.argument(kI32, shape);
}

} // namespace

bool Generator::gatherWindows() {
  const std::optional<Value> v = find([](const Value &v) { return v.rank() > 0 && v.elements() > 0; });
  const std::optional<Windows> w = v ? windowsOf(r, *v, false) : std::nullopt;
  if (!w)
    return false;
  const Value at = indices(*this, w->index, *v);
  static const char *const names[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                      "start_indices_batching_dims", "start_index_map"};
  keep(put("\"stablehlo.gather\"(" + v->name + ", " + at.name + ") <{dimension_numbers = #stablehlo.gather<" +
               w->text(names) + ">, indices_are_sorted = false, slice_sizes = " + array(w->sizes) + "}> : (" + v->text() +
               ", " + at.text() + ") -> " + tensorType(v->type, w->result),
           v->type, w->result, v->trust, v->bound));
  return true;
}

bool Generator::scatterWindows() {
  const std::optional<Value> v = find([](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && v.trust != Trust::Decided && (v.type.isFloat() || v.type.isInteger());
  });
  const std::optional<Windows> w = v ? windowsOf(r, *v, true) : std::nullopt;
  if (!w)
    return false;
  const Value at = indices(*this, w->index, *v), updates = of(v->type, w->result);
  static const std::vector<const char *> all = {"add",     "add",     "add",      "second", "second",
                                                "maximum", "minimum", "multiply", "from"};
  std::string op = r.pick(all);
  if (op == "multiply" && v->type.isFloat() && (w->places > 4 || updates.bound > 5))
    op = "add";
  const std::string region = combiner(op, v->type);
  const double many = std::sqrt(static_cast<double>(w->places));
  const bool sums = op == "add" || op == "multiply" || op == "from";
  static const char *const names[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                                      "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  keepScaled(put("\"stablehlo.scatter\"(" + v->name + ", " + at.name + ", " + updates.name +
                     ") <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<" + w->text(names) +
                     ">, unique_indices = false}> (" + region + ") : (" + v->text() + ", " + at.text() + ", " +
                     updates.text() + ") -> " + v->text(),
                 v->type, v->shape, sums && v->type.isFloat() ? Trust::Rounded : worst(v->trust, updates.trust),
                 op == "add"        ? v->bound + many * updates.bound
                 : op == "from"     ? v->bound + static_cast<double>(w->places) * updates.bound
                 : op == "multiply" ? v->bound * std::pow(std::max(updates.bound, 1.0), static_cast<double>(w->places))
                                    : std::max(v->bound, updates.bound)));
  return true;
}

} // namespace glia::graphs
