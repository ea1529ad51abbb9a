#include "GatherRows.h"
#include "Lower/Window/WindowPlan.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace glia::emit {

std::vector<Place::Term> fewTerms(KernelBuilder &k, std::vector<Place::Term> terms) {
  while (terms.size() > 2) {
    const auto scaled = [&](const Place::Term &t) {
      return t.scale == 1 ? t.reg : k.registerOp("multiply", t.reg, static_cast<int32_t>(t.scale));
    };
    const int a = scaled(terms[terms.size() - 2]), b = scaled(terms.back());
    terms.resize(terms.size() - 2);
    terms.push_back({k.registerOpOf("add", a, b), 1});
  }
  return terms;
}

void PlaceCursor::move(Place &p, llvm::ArrayRef<int64_t> steps) const {
  for (size_t j = 0; j < steps.size(); ++j)
    if (!numbers.empty())
      p.tile.offset += numbers[j] * steps[j];
    else if (steps[j] != 0)
      p.terms.push_back({registers[j], steps[j]});
}

void forEachPlace(KernelBuilder &k, const IndexForm &f, llvm::function_ref<void(const PlaceCursor &)> body,
                  int64_t unrolled) {
  std::vector<int64_t> counts;
  for (const IndexForm::Batch &b : f.batch)
    counts.push_back(b.count);
  if (f.places() <= unrolled) {
    forEachIndex(counts, [&](const std::vector<int64_t> &place) { body({place, {}}); });
    return;
  }
  PlaceCursor c;
  for (int64_t n : counts)
    c.registers.push_back(k.loop(n));
  body(c);
  for (size_t j = 0; j < counts.size(); ++j)
    k.endLoop();
}

int loadRegister(KernelBuilder &k, Place element) {
  element.terms = fewTerms(k, std::move(element.terms));
  element.tile.dims = {{1, 1}};
  nisa::SlotValue v = k.operand(element.tile);
  for (const Place::Term &t : element.terms)
    v.tensor.terms.push_back({k.trace().registerValue(t.reg), t.scale * sizeOf(element.tile.dtype), false});
  const int r = k.trace().makeRegister();
  k.emit("reg_load", {nisa::SlotValue::of(k.trace().registerValue(r)), std::move(v)});
  return r;
}

std::vector<CopyAxis> windowAxes(const IndexForm &f) {
  std::vector<CopyAxis> out;
  for (const IndexForm::Window &w : f.window) {
    if (w.count == 1)
      continue;
    if (!out.empty() && out.back().from == w.data * w.count && out.back().to == w.other * w.count)
      out.back() = {out.back().count * w.count, w.other, w.data};
    else
      out.push_back({w.count, w.other, w.data});
  }
  return out;
}

namespace {

class ByIndex {
public:
  ByIndex(KernelBuilder &k, const IndexForm &f, const Tile &data, const Tile &indices, const Tile &out)
      : k(k), f(f), data(data), indices(indices), out(out) {
    for (const IndexForm::Component &c : f.components)
      unit = std::gcd(unit, c.stride);
    for (const IndexForm::Batch &b : f.batch)
      unit = std::gcd(unit, b.data);
    unit = std::max<int64_t>(unit, 1);
    for (const IndexForm::Component &c : f.components)
      most += c.most * (c.stride / unit);
    for (const IndexForm::Batch &b : f.batch) {
      most += (b.count - 1) * (b.data / unit);
      batched |= b.data != 0 && b.count > 1;
      places.push_back({b.index, b.count});
      others.push_back({b.other, b.count});
    }
  }

  void run() {
    if (batched)
      writeTable();
    const int64_t n = f.places();
    for (row = 0; row < n; row += 128) {
      nr = std::min<int64_t>(128, n - row);
      const Tile index = combined();
      window(windowAxes(f), 0, 0, index);
    }
  }

private:
  KernelBuilder &k;
  const IndexForm &f;
  Tile data, indices, out, table;
  Dims places, others;
  int64_t unit = 0, most = 0, row = 0, nr = 0;
  bool batched = false;

  // fp32 holds every number up to here: the engines that clamp compute in it.
  bool isExact() const { return most < (1 << 24); }

  // What batching dimensions add to the index of each place.
  void writeTable() {
    std::vector<int32_t> values;
    std::vector<int64_t> counts;
    for (const IndexForm::Batch &b : f.batch)
      counts.push_back(b.count);
    forEachIndex(counts, [&](const std::vector<int64_t> &at) {
      int64_t v = 0;
      for (size_t j = 0; j < at.size(); ++j)
        v += at[j] * (f.batch[j].data / unit);
      values.push_back(static_cast<int32_t>(v));
    });
    std::vector<std::byte> bytes(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    table = k.constant("places", DType::I32, {static_cast<int64_t>(values.size())}, bytes);
  }

  Tile component(const IndexForm::Component &c) {
    const Tile raw = k.sbuf(indices.dtype, nr, {1}), index = k.sbuf(DType::I32, nr, {1});
    Tile from = indices;
    from.offset += c.at;
    load(k, raw, from, merged(places), {}, row, 0);
    k.scalar(index, raw, "max", 0.0f, false, "min", static_cast<double>(c.most));
    return index;
  }

  // The index of each place, in units. All sums are exact: 32-bit integers on GpSimd.
  Tile combined() {
    Tile sum;
    const auto add = [&](const Tile &t) {
      if (sum.handle >= 0)
        k.tensor(t, t, sum, "add");
      sum = t;
    };
    for (const IndexForm::Component &c : f.components) {
      const Tile index = component(c);
      if (const int64_t scale = c.stride / unit; scale != 1) {
        const Tile factor = k.sbuf(DType::I32, nr, {1});
        k.fill(factor, static_cast<double>(scale));
        k.tensor(index, index, factor, "multiply");
      }
      add(index);
    }
    if (batched) {
      const Tile t = k.sbuf(DType::I32, nr, {1});
      load(k, t, table, {{1, f.places()}}, {}, row, 0);
      add(t);
    }
    if (sum.handle < 0) {
      sum = k.sbuf(DType::I32, nr, {1});
      k.fill(sum, 0);
    } else if (isExact() && (f.components.size() > 1 || batched || f.components[0].stride != unit)) {
      const Tile t = k.sbuf(DType::I32, nr, {1}); // changes nothing; it is what the proof needs
      k.scalar(t, sum, "max", 0.0f, false, "min", static_cast<double>(most));
      sum = t;
    }
    return sum;
  }

  // Windows of every row, in parts that fit and have few enough dimensions.
  void window(std::vector<CopyAxis> axes, int64_t from, int64_t to, const Tile &index) {
    constexpr int64_t kMostBytes = 16384;
    int64_t n = 1;
    for (const CopyAxis &a : axes)
      n *= a.count;
    const int64_t bytes = n * sizeOf(data.dtype);
    if (axes.size() <= 3 && bytes <= kMostBytes)
      return transferWindow(axes, n, from, to, index);
    const CopyAxis a = axes[0];
    const int64_t inner = bytes / a.count;
    const int64_t step = axes.size() > 3 ? 1 : std::clamp<int64_t>(kMostBytes / inner, 1, a.count);
    for (int64_t i = 0; i < a.count; i += step) {
      std::vector<CopyAxis> rest = axes;
      rest[0].count = std::min(step, a.count - i);
      if (rest[0].count == 1)
        rest.erase(rest.begin());
      window(std::move(rest), from + i * a.from, to + i * a.to, index);
    }
  }

  void transferWindow(const std::vector<CopyAxis> &axes, int64_t n, int64_t from, int64_t to, const Tile &index) {
    const Tile t = k.sbuf(data.dtype, nr, {n});
    Tile source = data, target = out;
    source.offset += from;
    source.dims = {{0, nr}};
    Dims cols;
    for (const CopyAxis &a : axes) {
      source.dims.push_back({a.from, a.count});
      cols.push_back({a.to, a.count});
    }
    if (!isExact())
      k.fill(t, 0); // the indices are inside; what proves it does not reach so far, and would leave rows out
    k.gather(t, source, index, unit, !isExact());
    target.offset += to;
    store(k, target, t, merged(others), merged(cols), row, 0);
  }
};

} // namespace

void gatherByIndex(KernelBuilder &k, const IndexForm &f, const Tile &data, const Tile &indices, const Tile &out) {
  ByIndex(k, f, data, indices, out).run();
}

void gatherByRegister(KernelBuilder &k, const IndexForm &f, const Tile &data, const Tile &indices, const Tile &out) {
  std::vector<int64_t> places, others, own;
  for (const IndexForm::Batch &b : f.batch) {
    places.push_back(b.index);
    others.push_back(b.other);
    own.push_back(b.data);
  }
  const std::vector<CopyAxis> axes = windowAxes(f);
  forEachPlace(k, f, [&](const PlaceCursor &cursor) {
    Place from{data, {}}, to{out, {}};
    cursor.move(from, own);
    cursor.move(to, others);
    for (const IndexForm::Component &c : f.components) {
      Place element{indices, {}};
      element.tile.offset += c.at;
      cursor.move(element, places);
      int r = loadRegister(k, element);
      if (indices.dtype == DType::U32) // registers are signed: what looks negative is beyond every limit
        r = k.registerOpOf("add", k.registerOp("min", k.registerOp("max", r, 0), static_cast<int32_t>(c.most)),
                           k.registerOp("multiply", k.registerOp("shift_right", r, 31), static_cast<int32_t>(c.most)));
      from.terms.push_back({k.registerOp("min", k.registerOp("max", r, 0), static_cast<int32_t>(c.most)), c.stride});
    }
    from.terms = fewTerms(k, std::move(from.terms));
    to.terms = fewTerms(k, std::move(to.terms));
    transfer(k, to, from, {}, axes);
  });
}

} // namespace glia::emit
