// Windows that slide over a tensor: reduce_window and select_and_scatter.
#include "Interpret/Fold.h"
#include "Interpret/Rules.h"

#include <algorithm>
#include <optional>

namespace glia::interp {

namespace {

struct Windows {
  Shape size, strides, baseDilation, dilation, padding;
  Shape input, output;
  std::vector<std::vector<int64_t>> offsets; // [d][position * size + tap]: offset of the element along d, or -1

  Windows(Call &c, const Shape &input, const Shape &output) : input(input), output(output) {
    const size_t rank = input.size();
    size = c.intsOr("window_dimensions", rank, 1);
    strides = c.intsOr("window_strides", rank, 1);
    baseDilation = c.intsOr("base_dilations", rank, 1);
    dilation = c.intsOr("window_dilations", rank, 1);
    padding = c.intsOr("padding", 2 * rank, 0);
  }

  void place() { // before windows are visited
    const size_t rank = input.size();
    const Shape own = rowMajor(input);
    offsets.resize(rank);
    for (size_t d = 0; d < rank; ++d)
      for (int64_t o = 0; o < output[d]; ++o)
        for (int64_t k = 0; k < size[d]; ++k) {
          const int64_t at = o * strides[d] + k * dilation[d] - padding[2 * d], i = at / baseDilation[d];
          offsets[d].push_back(at >= 0 && at % baseDilation[d] == 0 && i < input[d] ? i * own[d] : -1);
        }
  }

  // Calls fn(offset in the input, or -1 in the padding) for each place of the window at output position `p`, in row-major order.
  template <class Fn> void visit(int64_t p, Fn &&fn) const {
    const size_t rank = size.size();
    std::vector<const int64_t *> rows(rank);
    for (size_t d = rank; d-- > 0; p /= output[d])
      rows[d] = offsets[d].data() + p % output[d] * size[d];
    descend(rows, 0, 0, false, fn);
  }

private:
  template <class Fn>
  void descend(const std::vector<const int64_t *> &rows, size_t d, int64_t offset, bool outside, Fn &fn) const {
    if (d == rows.size()) {
      fn(outside ? -1 : offset);
      return;
    }
    for (int64_t k = 0; k < size[d]; ++k)
      descend(rows, d + 1, offset + rows[d][k], outside || rows[d][k] < 0, fn);
  }
};

// Along one dimension all elements up to each one, or from each one on: each result is one step from its neighbour. Only where the initial value, which
// the padding holds, is neutral for itself. From the end, elements are folded in the other order, in f64.
bool accumulate(const Windows &w, Fold fold, Word init, const Word *in, Word *to) {
  const size_t rank = w.size.size();
  std::optional<size_t> dim;
  for (size_t d = 0; d < rank; ++d) {
    if (w.size[d] == 1 && w.strides[d] == 1 && w.baseDilation[d] == 1 && w.padding[2 * d] == 0 && w.input[d] == w.output[d])
      continue;
    const int64_t n = w.input[d];
    if (dim || w.size[d] != n || w.output[d] != n || w.strides[d] != 1 || w.dilation[d] != 1 || w.baseDilation[d] != 1 ||
        (w.padding[2 * d] != 0 && w.padding[2 * d] != n - 1))
      return false;
    dim = d;
  }
  Word twice = init;
  fold(&twice, 0, &init, 0, 1);
  if (!dim || twice != init)
    return false;
  const int64_t inner = rowMajor(w.input)[*dim], length = w.input[*dim], all = countOf(w.input);
  const bool forward = w.padding[2 * *dim] != 0;
  for (int64_t o = 0; o < all; o += length * inner)
    for (int64_t i = 0; i < inner; ++i) {
      Word acc = init;
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = o + (forward ? t : length - 1 - t) * inner + i;
        fold(&acc, 0, in + at, 0, 1);
        to[at] = acc;
      }
    }
  return true;
}

// Places in the padding, and between elements when the base is dilated, hold the initial value.
void reduceWindow(Call &c) {
  const size_t arrays = c.operandCount() / 2;
  std::vector<Tensor> outs;
  std::vector<Word *> to;
  for (size_t k = 0; k < arrays; ++k)
    outs.push_back(c.fresh(k));
  for (Tensor &t : outs)
    to.push_back(t.own());
  Windows windows(c, c.tensor(0).shape, outs[0].shape);
  const std::unique_ptr<Body> body = c.body(0);
  std::vector<Word> init(arrays), arguments(2 * arrays), results(arrays);
  for (size_t k = 0; k < arrays; ++k)
    init[k] = c.tensor(arrays + k).at(0);
  const Fold fold = arrays == 1 ? findFold(body->single(), outs[0].element) : nullptr;
  const Word *in = c.tensor(0).words();
  const bool done = fold && accumulate(windows, fold, init[0], in, to[0]);
  if (!done)
    windows.place();
  for (int64_t p = 0, n = done ? 0 : outs[0].count(); p < n; ++p) {
    if (fold) {
      Word acc = init[0];
      windows.visit(p, [&](int64_t at) { fold(&acc, 0, at < 0 ? &init[0] : in + at, 0, 1); });
      to[0][p] = acc;
      continue;
    }
    std::copy(init.begin(), init.end(), arguments.begin());
    windows.visit(p, [&](int64_t at) {
      for (size_t k = 0; k < arrays; ++k)
        arguments[arrays + k] = at < 0 ? init[k] : c.tensor(k).at(at);
      body->run(arguments.data(), results.data());
      std::copy(results.begin(), results.end(), arguments.begin());
    });
    for (size_t k = 0; k < arrays; ++k)
      to[k][p] = arguments[k];
  }
  for (size_t k = 0; k < arrays; ++k) {
    if (fold)
      settle(outs[k].element, c.inDouble, to[k], outs[k].count());
    c.set(k, std::move(outs[k]));
  }
}

// In each window the first element that `select` prefers gets the source of that window; the padding is never chosen.
void selectAndScatter(Call &c) {
  const Tensor &in = c.tensor(0), &source = c.tensor(1);
  Tensor out = c.fresh(0);
  Word *to = out.own();
  std::fill_n(to, out.count(), c.tensor(2).at(0));
  Windows windows(c, in.shape, source.shape);
  windows.place();
  const std::unique_ptr<Body> select = c.body(0), scatter = c.body(1);
  const Fold fold = findFold(scatter->single(), out.element);
  for (int64_t p = 0, n = source.count(); p < n; ++p) {
    int64_t chosen = -1;
    windows.visit(p, [&](int64_t at) {
      if (at < 0)
        return;
      if (chosen < 0) {
        chosen = at;
        return;
      }
      const Word pair[] = {in.at(chosen), in.at(at)};
      Word keep = 0;
      select->run(pair, &keep);
      if (!keep)
        chosen = at;
    });
    if (chosen < 0)
      continue;
    const Word pair[] = {to[chosen], source.at(p)};
    if (fold)
      fold(&to[chosen], 0, &pair[1], 0, 1);
    else
      scatter->run(pair, &to[chosen]);
  }
  if (fold)
    settle(out.element, c.inDouble, to, out.count());
  c.set(0, std::move(out));
}

constexpr Rule kRules[] = {{"stablehlo.reduce_window", reduceWindow}, {"stablehlo.select_and_scatter", selectAndScatter}};

} // namespace

std::span<const Rule> windowRules() { return kRules; }

} // namespace glia::interp
