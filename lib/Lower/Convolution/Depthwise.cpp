#include "Depthwise.h"
#include "ConvolutionResult.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>
#include <map>

namespace glia::emit {

namespace {

using Phase = ConvolutionPhase;

// Outputs of one phase, from the start of the tile.
struct Block {
  const Phase *rows, *columns;
  Span r, c;
};

// A channel and a tap, for the outputs of a block that it reaches.
struct Term {
  int64_t channel;
  const Phase::Tap *row, *column;
  Span r, c;
};

// Outputs of a span that a tap reaches, from its start.
Span reachedOf(const Phase::Tap &tap, const Phase &phase, Span t, const ConvolutionAxis &axis) {
  const Span s = reached(tap.input, phase.stride, t, axis.input);
  return {s.from - t.from, s.count};
}

// So many of the terms are added up by GpSimd, such that all engines are done at the same time.
int64_t gpSimdTerms(const Target &t, int64_t terms, bool beside) {
  if (!t.has("vector_gpsimd_concurrent"))
    return 0;
  const double vector = t.number("clock.vector"), scalar = t.number("clock.scalar"), gpSimd = t.number("clock.gpsimd");
  const auto time = [&](int64_t n) {
    const double adds = static_cast<double>(terms - n), products = static_cast<double>(terms),
                 others = static_cast<double>(n);
    if (beside) // each multiplies and adds; Vector with an operand in PSUM, in one cycle
      return std::max(4 * others / gpSimd, 2 * adds / vector);
    // Vector adds to PSUM in one cycle and GpSimd to SBUF in two, and Scalar and Vector share the products.
    return std::max({2 * std::max(others - 1, 0.0) / gpSimd, adds / vector, (adds + products) / (vector + scalar)});
  };
  int64_t best = 0;
  for (int64_t n = 1; n < terms; ++n)
    if (time(n) < time(best))
      best = n;
  return best;
}

// By channel of a group: [output of a group][kernel row][kernel column], in fp32.
struct Weights {
  std::vector<Tile> sbuf;
  Tile psum; // beside: there too
};

// A tile: outputs [r] of each band and [x] of each row, and what they are made of.
struct Work {
  ChannelRows rows;
  Span r, x;
  ImagePart in;
  Tile input;
  Weights weights;
};

class Depthwise {
public:
  Depthwise(KernelBuilder &k, const DepthwisePlan &p, ConvolutionResult &to) : k(k), p(p), c(p.c), to(to) {}

  // The next tile is loaded before this one is computed: transfers are issued in the order in which they are written.
  void run() {
    const bool inside = p.images > 1 && c.result.dims[0].stride < c.result.dims[1].stride;
    std::vector<Work> all;
    for (const ChannelRows &rows :
         chunksOf({.images = p.images, .groups = p.groups, .imagesInside = inside, .bands = p.bands}))
      for (const Span &r : spansOf(p.bandRows, p.tileRows))
        for (const Span &x : spansOf(p.columns[0].count, p.tileColumns))
          all.push_back({.rows = rows, .r = r, .x = x});
    for (size_t i = 0; i <= all.size(); ++i) {
      if (i < all.size())
        fetch(all[i]);
      if (i > 0)
        compute(std::exchange(all[i - 1], {}));
    }
  }

private:
  KernelBuilder &k;
  const DepthwisePlan &p;
  const Convolution &c;
  ConvolutionResult &to;
  std::map<int64_t, Weights> kept; // by the first row's group

  Weights weightsOf(const ChannelRows &rows) {
    if (static_cast<int64_t>(kept.size() + 1) * p.weightBytes > k.target().sbufBytes / 8)
      kept.clear();
    const auto [it, fresh] = kept.try_emplace(rows.imagesInside ? rows.first : rows.first % p.groups);
    if (fresh || it->second.sbuf[0].partitions < rows.partitions())
      it->second = loadWeights(rows);
    Weights out = it->second;
    for (Tile &t : out.sbuf)
      t = t.rows(0, rows.partitions());
    if (p.beside > 1)
      out.psum = out.psum.rows(0, rows.partitions());
    return out;
  }
  Weights loadWeights(const ChannelRows &rows) {
    constexpr int64_t kFew = 2048;
    Weights out;
    for (int64_t i = 0; i < c.kernel.dims[1].count; ++i) {
      Tile source = c.kernel.part(1, i, 1).permuted({1, 0, 2, 3}); // the same for all images
      source.dims[0] = {0, p.images};
      Tile t = loadImages(k, source, rows, {{0, c.axis[0].kernel}, {0, c.axis[1].kernel}, 0}, kFew);
      if (t.dtype != DType::F32) {
        const Tile wide = k.sbuf(DType::F32, rows.partitions(), t.shape());
        k.move(wide, t);
        t = wide;
      }
      out.sbuf.push_back(t);
    }
    if (p.beside > 1) {
      out.psum = k.psum(rows.partitions(), out.sbuf[0].shape());
      k.move(out.psum, out.sbuf[0]);
    }
    return out;
  }

  void fetch(Work &w) {
    w.in = {neededBy(p.rows, w.r.from, w.r.count), neededBy(p.columns, w.x.from, w.x.count), p.bandRows * p.rows[0].stride};
    w.in.x = cut(w.in.x, c.axis[1].input);
    if (p.bands == 1)
      w.in.y = cut(w.in.y, c.axis[0].input);
    if (w.in.y.count && w.in.x.count)
      w.input = loadImages(k, c.input, w.rows, w.in);
    w.weights = weightsOf(w.rows);
  }

  void compute(const Work &w) {
    const auto &[rows, r, x, in, input, weights] = w;
    const ImagePart out{cut({r.from * p.stepRows(), r.count * p.stepRows()}, c.axis[0].output),
                        cut({x.from * p.stepColumns(), x.count * p.stepColumns()}, c.axis[1].output),
                        p.bandRows * p.stepRows()};
    const std::vector<Block> blocks = blocksOf(r, x);
    const Tile result = k.sbuf(c.result.dtype, rows.partitions(), {p.outputs, out.y.count, out.x.count});
    for (int64_t o = 0; o < p.outputs; o += p.beside)
      for (const Block &b : blocks)
        sum(result.part(0, o, p.beside)
                .part(1, b.rows->first + b.r.from * b.rows->step, b.r.count, b.rows->step)
                .part(2, b.columns->first + b.c.from * b.columns->step, b.c.count, b.columns->step),
            b, r.from, x.from, in, input, o, weights);
    to.putRows(result, rows, out, p.lying);
  }

  std::vector<Block> blocksOf(Span r, Span x) const {
    std::vector<Block> out;
    for (const Phase &a : p.rows)
      for (const Phase &b : p.columns) {
        const int64_t height = std::min(r.count, a.count - r.from), width = std::min(x.count, b.count - x.from);
        if (height <= 0 || width <= 0)
          continue;
        const int64_t most = std::max<int64_t>(p.block / p.beside, 1);
        const std::vector<Span> columns = spansOf(width, most);
        for (const Span &rr : spansOf(height, most / columns[0].count))
          for (const Span &cc : columns)
            out.push_back({&a, &b, rr, cc});
      }
    return out;
  }

  // What reaches the whole block comes first.
  std::vector<Term> termsOf(const Block &b, int64_t row, int64_t column) const {
    std::vector<Term> out, partial;
    for (int64_t i = 0; i < p.inputs; i += p.beside)
      for (const Phase::Tap &y : b.rows->taps)
        for (const Phase::Tap &x : b.columns->taps) {
          const Span r = p.bands > 1 ? Span{0, b.r.count} : reachedOf(y, *b.rows, {row + b.r.from, b.r.count}, c.axis[0]),
                     s = reachedOf(x, *b.columns, {column + b.c.from, b.c.count}, c.axis[1]);
          if (!r.count || !s.count)
            continue;
          const Term t{i, &y, &x, r, s};
          (isWhole(t, b) ? out : partial).push_back(t);
        }
    out.insert(out.end(), partial.begin(), partial.end());
    return out;
  }
  static bool isWhole(const Term &t, const Block &b) { return t.r.count == b.r.count && t.c.count == b.c.count; }

  // `place` is [beside][row][column].
  void sum(const Tile &place, const Block &b, int64_t row, int64_t column, const ImagePart &in, const Tile &input,
           int64_t output, const Weights &weights) {
    const std::vector<Term> terms = termsOf(b, row, column);
    if (terms.empty())
      return k.fill(place, 0);
    const auto multiply = [&](const Tile &to, const Term &t, Engine engine) {
      const int64_t y = t.row->input + (row + b.r.from + t.r.from) * b.rows->stride - in.y.from,
                    x = t.column->input + (column + b.c.from + t.c.from) * b.columns->stride - in.x.from;
      const Tile shifted =
          input.part(0, t.channel, p.beside).part(1, y, t.r.count, b.rows->stride).part(2, x, t.c.count, b.columns->stride);
      const Tile &of =
          p.beside > 1 && engine == Engine::Vector ? weights.psum : weights.sbuf[static_cast<size_t>(t.channel)];
      Tile w = of.part(0, output, p.beside).index(1, t.row->kernel).index(1, t.column->kernel);
      if (p.beside == 1)
        return k.scalar(to, shifted, "multiply", w.index(0, 0));
      w.dims = {w.dims[0], {0, t.r.count}, {0, t.c.count}};
      apply(to, shifted, w, AluOp::Multiply, engine);
    };
    if (terms.size() == 1 && isWhole(terms[0], b))
      return multiply(place, terms[0], Engine::Vector);
    struct Sum {
      Tile tile;
      Engine engine;
      bool begun = false;
    };
    const auto add = [&](Sum &sum, const Term &t) {
      const Tile part = sum.tile.part(1, t.r.from, t.r.count).part(2, t.c.from, t.c.count);
      if (!std::exchange(sum.begun, true)) {
        multiply(part, t, sum.engine);
        return clearAround(sum.tile, t.r, t.c);
      }
      const Tile product = k.sbuf(DType::F32, place.partitions, part.shape());
      multiply(product, t, sum.engine);
      apply(part, part, product, AluOp::Add, sum.engine);
    };
    const int64_t all = static_cast<int64_t>(terms.size()), others = gpSimdTerms(k.target(), all, p.beside > 1);
    Sum first{k.psum(place.partitions, place.shape()), Engine::Vector}, second{{}, Engine::GpSimd};
    if (others)
      second.tile = k.sbuf(DType::F32, place.partitions, place.shape());
    int64_t due = 0;
    for (const Term &t : terms) { // in turns
      due += others;
      const bool elsewhere = due >= all;
      due -= elsewhere ? all : 0;
      add(elsewhere ? second : first, t);
    }
    if (others)
      k.tensor(place, first.tile, second.tile, "add");
    else
      k.move(place, first.tile);
  }
  void apply(const Tile &to, const Tile &a, const Tile &b, AluOp op, Engine engine) {
    k.emit("tensor_tensor", {k.operand(to), k.operand(a), k.operand(b), nisa::SlotValue::of(static_cast<int32_t>(op))},
           static_cast<int>(engine));
  }

  // Everything but rows r and columns c.
  void clearAround(const Tile &t, Span r, Span x) {
    const int64_t rows = t.dims[1].count, columns = t.dims[2].count;
    if (r.from > 0)
      k.fill(t.part(1, 0, r.from), 0);
    if (r.from + r.count < rows)
      k.fill(t.part(1, r.from + r.count, rows - r.from - r.count), 0);
    if (x.from > 0)
      k.fill(t.part(1, r.from, r.count).part(2, 0, x.from), 0);
    if (x.from + x.count < columns)
      k.fill(t.part(1, r.from, r.count).part(2, x.from + x.count, columns - x.from - x.count), 0);
  }
};

} // namespace

void emitDepthwise(KernelBuilder &k, const DepthwisePlan &p, ConvolutionResult &result) { Depthwise(k, p, result).run(); }

} // namespace glia::emit
