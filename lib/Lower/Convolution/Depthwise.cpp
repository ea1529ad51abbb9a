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

// So many of the terms are added up by GpSimd, such that all engines are done at the same time: Vector adds to PSUM in one cycle and
// GpSimd to SBUF in two, and Scalar and Vector share the products.
int64_t gpSimdTerms(const Target &t, int64_t terms) {
  if (!t.has("vector_gpsimd_concurrent"))
    return 0;
  const double vector = t.number("clock.vector"), scalar = t.number("clock.scalar"), gpSimd = t.number("clock.gpsimd");
  const auto time = [&](int64_t n) {
    const double adds = static_cast<double>(terms - n), products = static_cast<double>(terms);
    return std::max({2 * static_cast<double>(std::max<int64_t>(n - 1, 0)) / gpSimd, adds / vector,
                     (adds + products) / (vector + scalar)});
  };
  int64_t best = 0;
  for (int64_t n = 1; n < terms; ++n)
    if (time(n) < time(best))
      best = n;
  return best;
}

class Depthwise {
public:
  Depthwise(KernelBuilder &k, const DepthwisePlan &p, ConvolutionResult &to) : k(k), p(p), c(p.c), to(to) {}

  void run() {
    for (const ChannelRows &rows : chunksOf(p.images, p.groups, p.bands)) {
      const Tile weights = weightsOf(rows);
      for (const Span &r : spansOf(p.bandRows, p.tileRows))
        for (const Span &x : spansOf(p.columns[0].count, p.tileColumns))
          compute(rows, weights, r, x);
    }
  }

private:
  KernelBuilder &k;
  const DepthwisePlan &p;
  const Convolution &c;
  ConvolutionResult &to;
  std::map<int64_t, Tile> weightTiles; // by the first row's group

  // [output of a group][channel of a group][kernel row][kernel column], in fp32.
  Tile weightsOf(const ChannelRows &rows) {
    if (static_cast<int64_t>(weightTiles.size() + 1) * p.weightBytes > k.target().sbufBytes / 8)
      weightTiles.clear();
    const auto [it, fresh] = weightTiles.try_emplace(rows.first % p.groups);
    if (fresh || it->second.partitions < rows.partitions())
      it->second = loadWeights(rows);
    return it->second.rows(0, rows.partitions());
  }
  Tile loadWeights(const ChannelRows &rows) {
    const std::vector<int64_t> shape{p.outputs, p.inputs, c.axis[0].kernel, c.axis[1].kernel};
    const Tile t = k.sbuf(c.kernel.dtype, rows.partitions(), shape);
    Tile flat = t;
    flat.dims = {{1, t.elements()}};
    const int64_t output = c.kernel.dims[0].stride;
    load(k, flat, c.kernel, merged({{0, rows.bands}, {0, rows.images}, {output * p.outputs, rows.groups}}),
         merged({{output, p.outputs}, c.kernel.dims[1], c.kernel.dims[2], c.kernel.dims[3]}), rows.first, 0);
    if (t.dtype == DType::F32)
      return t;
    const Tile wide = k.sbuf(DType::F32, rows.partitions(), shape);
    k.move(wide, t);
    return wide;
  }

  // Outputs [r] of each band and [x] of each row.
  void compute(const ChannelRows &rows, const Tile &weights, Span r, Span x) {
    ImagePart in{neededBy(p.rows, r.from, r.count), neededBy(p.columns, x.from, x.count), p.bandRows * p.rows[0].stride};
    in.x = cut(in.x, c.axis[1].input);
    if (p.bands == 1)
      in.y = cut(in.y, c.axis[0].input);
    std::vector<Tile> inputs;
    if (in.y.count && in.x.count)
      inputs = loadImages(k, c.input, rows, in, c.input.dtype);
    const ImagePart out{cut({r.from * p.stepRows(), r.count * p.stepRows()}, c.axis[0].output),
                        cut({x.from * p.stepColumns(), x.count * p.stepColumns()}, c.axis[1].output),
                        p.bandRows * p.stepRows()};
    const std::vector<Block> blocks = blocksOf(r, x);
    for (int64_t o = 0; o < p.outputs; ++o) {
      const Tile result = k.sbuf(c.result.dtype, rows.partitions(), {out.y.count, out.x.count});
      for (const Block &b : blocks)
        sum(result.part(0, b.rows->first + b.r.from * b.rows->step, b.r.count, b.rows->step)
                .part(1, b.columns->first + b.c.from * b.columns->step, b.c.count, b.columns->step),
            b, r.from, x.from, in, inputs, weights.index(0, o));
      to.putRows(result, rows, out, o, p.lying);
    }
  }

  std::vector<Block> blocksOf(Span r, Span x) const {
    std::vector<Block> out;
    for (const Phase &a : p.rows)
      for (const Phase &b : p.columns) {
        const int64_t height = std::min(r.count, a.count - r.from), width = std::min(x.count, b.count - x.from);
        if (height <= 0 || width <= 0)
          continue;
        const std::vector<Span> columns = spansOf(width, p.block);
        for (const Span &rr : spansOf(height, p.block / columns[0].count))
          for (const Span &cc : columns)
            out.push_back({&a, &b, rr, cc});
      }
    return out;
  }

  // What reaches the whole block comes first.
  std::vector<Term> termsOf(const Block &b, int64_t row, int64_t column) const {
    std::vector<Term> out, partial;
    for (int64_t i = 0; i < p.inputs; ++i)
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

  void sum(const Tile &place, const Block &b, int64_t row, int64_t column, const ImagePart &in,
           const std::vector<Tile> &inputs, const Tile &weights) {
    const std::vector<Term> terms = termsOf(b, row, column);
    if (terms.empty())
      return k.fill(place, 0);
    const auto multiply = [&](const Tile &to, const Term &t) {
      const int64_t y = t.row->input + (row + b.r.from + t.r.from) * b.rows->stride - in.y.from,
                    x = t.column->input + (column + b.c.from + t.c.from) * b.columns->stride - in.x.from;
      k.scalar(to,
               inputs[static_cast<size_t>(t.channel)]
                   .part(0, y, t.r.count, b.rows->stride)
                   .part(1, x, t.c.count, b.columns->stride),
               "multiply", weights.index(0, t.channel).index(0, t.row->kernel).index(0, t.column->kernel));
    };
    if (terms.size() == 1 && isWhole(terms[0], b))
      return multiply(place, terms[0]);
    struct Sum {
      Tile tile;
      Engine engine;
      bool begun = false;
    };
    const auto add = [&](Sum &sum, const Term &t) {
      const Tile part = sum.tile.part(0, t.r.from, t.r.count).part(1, t.c.from, t.c.count);
      if (!std::exchange(sum.begun, true)) {
        multiply(part, t);
        return clearAround(sum.tile, t.r, t.c);
      }
      const Tile product = k.sbuf(DType::F32, place.partitions, {t.r.count, t.c.count});
      multiply(product, t);
      k.emit("tensor_tensor",
             {k.operand(part), k.operand(part), k.operand(product), nisa::SlotValue::of(static_cast<int32_t>(AluOp::Add))},
             static_cast<int>(sum.engine));
    };
    const int64_t all = static_cast<int64_t>(terms.size()), others = gpSimdTerms(k.target(), all);
    Sum first{k.psum(place.partitions, {b.r.count, b.c.count}), Engine::Vector}, second{{}, Engine::GpSimd};
    if (others)
      second.tile = k.sbuf(DType::F32, place.partitions, {b.r.count, b.c.count});
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

  // Everything but rows r and columns c.
  void clearAround(const Tile &t, Span r, Span x) {
    const int64_t rows = t.dims[0].count, columns = t.dims[1].count;
    if (r.from > 0)
      k.fill(t.part(0, 0, r.from), 0);
    if (r.from + r.count < rows)
      k.fill(t.part(0, r.from + r.count, rows - r.from - r.count), 0);
    if (x.from > 0)
      k.fill(t.part(0, r.from, r.count).part(1, 0, x.from), 0);
    if (x.from + x.count < columns)
      k.fill(t.part(0, r.from, r.count).part(1, x.from + x.count, columns - x.from - x.count), 0);
  }
};

} // namespace

void emitDepthwise(KernelBuilder &k, const DepthwisePlan &p, ConvolutionResult &result) { Depthwise(k, p, result).run(); }

} // namespace glia::emit
