// Convolution with positions of the kernel on the contraction: the way of a kernel as large as the input, as in the gradient of
// weights, where "batch" and "output" are the two kinds of channels and the outputs are few taps.
//
// The kernel's positions are cut into blocks of a few rows and columns. Each partition holds one block: of the kernel as it is, of
// the input with what the outputs need around it. Step (r, j) multiplies position (r, j) of all blocks at once; shifts are offsets
// in the tiles, so nothing is transposed, and no NaN or infinity meets what it should not. Borders of the input are zeros.
#include "ConvolutionResult.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>

namespace glia::emit {

namespace {

constexpr int64_t kPsumTiles = 4;
constexpr double kLong = 140'000; // columns: as long as what takes all of the memory in any case (AllocateMemory)

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Plan {
  int64_t features, batch, outputs;
  int64_t rows, columns;                    // of a block
  int64_t height, width;                    // of a block of the input
  int64_t down, across;                     // blocks
  int64_t perFeatures, perDown, perAcross;  // of a chunk: what shares the partitions
  int64_t unitBatch, unitRows, unitColumns; // outputs that one product makes
  int64_t groupUnits, groupOutputs;         // units of batch, and parts of 128 outputs, whose sums are in PSUM at a time
  bool kernelStays;                         // its blocks are loaded once for all of the batch
  int64_t chunks() const { return ceilDiv(features, perFeatures) * ceilDiv(down, perDown) * ceilDiv(across, perAcross); }
  int64_t partitions() const { return perFeatures * perDown * perAcross; }
  double cost = 0;
};

std::vector<int64_t> divisorsOf(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0)
      out.push_back(d);
  return out;
}

// A way to cut, if it fits.
std::optional<Plan> planOf(const Convolution &c, int64_t rows, int64_t columns, int64_t room) {
  const ConvolutionAxis &y = c.axis[0], &x = c.axis[1];
  Plan p{};
  p.features = c.input.dims[1].count;
  p.batch = c.result.dims[0].count;
  p.outputs = c.kernel.dims[0].count;
  p.rows = rows;
  p.columns = columns;
  p.height = (rows - 1) * y.kernelDilation + (y.output - 1) * y.stride + 1;
  p.width = (columns - 1) * x.kernelDilation + (x.output - 1) * x.stride + 1;
  p.down = y.kernel / rows;
  p.across = x.kernel / columns;
  p.perDown = std::min<int64_t>(p.down, 128);
  p.perAcross = std::min(p.across, 128 / p.perDown);
  p.perFeatures = p.perDown == p.down && p.perAcross == p.across ? std::min(p.features, 128 / (p.perDown * p.perAcross)) : 1;
  p.perDown = ceilDiv(p.down, ceilDiv(p.down, p.perDown));
  p.perAcross = ceilDiv(p.across, ceilDiv(p.across, p.perAcross));
  p.perFeatures = ceilDiv(p.features, ceilDiv(p.features, p.perFeatures));

  p.unitColumns = std::min<int64_t>(x.output, 512);
  p.unitRows = p.unitColumns == x.output ? std::min(y.output, 512 / p.unitColumns) : 1;
  p.unitBatch = p.unitRows == y.output ? std::min(p.batch, 512 / (p.unitColumns * p.unitRows)) : 1;
  p.unitBatch = ceilDiv(p.batch, ceilDiv(p.batch, p.unitBatch));
  const int64_t units = ceilDiv(x.output, p.unitColumns) * ceilDiv(y.output, p.unitRows) * ceilDiv(p.batch, p.unitBatch);
  const int64_t parts = ceilDiv(p.outputs, 128), size = sizeOf(c.type);
  p.groupOutputs = std::min(parts, kPsumTiles);
  const bool whole = p.unitRows == y.output; // otherwise one image may have more sums than PSUM holds
  p.groupUnits = whole ? std::min(ceilDiv(p.batch, p.unitBatch), kPsumTiles / p.groupOutputs) : 1;
  if (!whole && units / p.batch * p.groupOutputs > kPsumTiles)
    return std::nullopt;
  // Two tiles of the input on their way, and two of the kernel or all of it.
  const int64_t forKernel = std::min(p.outputs, p.groupOutputs * 128) * rows * columns * size;
  p.kernelStays = p.chunks() * forKernel <= room / 2;
  const int64_t held = (p.kernelStays ? p.chunks() : 2) * forKernel;
  const auto fits = [&](int64_t images) {
    return held <= room / 2 && held + 2 * images * p.height * p.width * size <= room;
  };
  while (p.groupUnits > 1 && !fits(p.groupUnits * p.unitBatch))
    --p.groupUnits;
  while (p.unitBatch > 1 && !fits(p.unitBatch))
    p.unitBatch = ceilDiv(p.unitBatch, 2);
  const int64_t images = std::min(p.batch, p.groupUnits * p.unitBatch);
  if (!fits(images))
    return std::nullopt;
  // Columns through the array, and what the transfers take in the same measure (a run costs at least as much as 128 bytes; 16
  // engines move about 10 bytes in the time of one fp32 column each).
  const double steps = static_cast<double>(p.chunks() * rows * columns);
  const int64_t groups = ceilDiv(p.batch, images), outputGroups = ceilDiv(parts, p.groupOutputs);
  const double product = static_cast<double>(std::max<int64_t>(p.unitBatch * p.unitRows * p.unitColumns, 64) + 16);
  const double arithmetic =
      steps *
      static_cast<double>(ceilDiv(p.batch, p.unitBatch) *
                          (units / ceilDiv(p.batch, p.unitBatch) + (units % ceilDiv(p.batch, p.unitBatch) != 0)) * parts) *
      product;
  const double blocks = static_cast<double>(p.features * p.down * p.across);
  const double bytes = static_cast<double>(outputGroups) * blocks *
                           static_cast<double>(p.batch * p.height * std::max<int64_t>(p.width * size, 128)) +
                       static_cast<double>(p.kernelStays ? 1 : groups) * blocks *
                           static_cast<double>(p.outputs * rows * std::max<int64_t>(columns * size, 128));
  // Before the first product its blocks come in.
  const double first = static_cast<double>(p.partitions() * (images * p.height * std::max<int64_t>(p.width * size, 128) +
                                                             p.outputs * rows * std::max<int64_t>(columns * size, 128)));
  p.cost = std::max(arithmetic, bytes / 400) + (arithmetic + bytes / 400) / 8 + first / 400;
  return p;
}

std::optional<Plan> planPositions(const Convolution &c, int64_t sbufBytes) {
  for (const ConvolutionAxis &a : c.axis)
    if (a.inputDilation != 1 || a.reverse)
      return std::nullopt;
  std::optional<Plan> best;
  const auto search = [&](int64_t bytes) {
    for (int64_t rows : divisorsOf(c.axis[0].kernel))
      for (int64_t columns : divisorsOf(c.axis[1].kernel))
        if (std::optional<Plan> p = planOf(c, rows, columns, (bytes - 4096) * 14 / 15); p && (!best || p->cost < best->cost))
          best = p;
  };
  search(sbufBytes / 2); // the other half is for the neighbours
  if (!best || best->cost > kLong)
    search(sbufBytes);
  return best;
}

// What shares the partitions: partition (feature, across, down).
struct Chunk {
  Span features, down, across;
};

class Positions {
public:
  Positions(KernelBuilder &k, const Convolution &c, const Plan &p, ConvolutionResult &to) : k(k), c(c), p(p), to(to) {
    const auto spans = [](int64_t size, int64_t step) {
      std::vector<Span> out;
      for (int64_t at = 0; at < size; at += step)
        out.push_back({at, std::min(step, size - at)});
      return out;
    };
    for (const Span &f : spans(p.features, p.perFeatures))
      for (const Span &a : spans(p.across, p.perAcross))
        for (const Span &d : spans(p.down, p.perDown))
          chunks.push_back({f, d, a});
  }

  void run() {
    for (int64_t o = 0; o < p.outputs; o += p.groupOutputs * 128) {
      kernelTiles.clear();
      for (int64_t n = 0; n < p.batch; n += p.groupUnits * p.unitBatch)
        sums({o, std::min(p.groupOutputs * 128, p.outputs - o)}, {n, std::min(p.groupUnits * p.unitBatch, p.batch - n)});
    }
  }

private:
  KernelBuilder &k;
  const Convolution &c;
  const Plan &p;
  ConvolutionResult &to;
  std::vector<Chunk> chunks;
  std::map<size_t, Tile> kernelTiles;

  struct Sum {
    Tile tile;
    Span outputs, batch, rows, columns; // outputs and batch from the start of the group
  };

  void sums(Span outputs, Span batch) {
    std::vector<Sum> all;
    for (const Span &o : spansOf(outputs.count, 128))
      for (int64_t n = 0; n < batch.count; n += p.unitBatch)
        for (int64_t r = 0; r < c.axis[0].output; r += p.unitRows)
          for (int64_t x = 0; x < c.axis[1].output; x += p.unitColumns) {
            Sum s{{},
                  o,
                  {n, std::min(p.unitBatch, batch.count - n)},
                  {r, std::min(p.unitRows, c.axis[0].output - r)},
                  {x, std::min(p.unitColumns, c.axis[1].output - x)}};
            s.tile = k.psum(o.count, {s.batch.count, s.rows.count, s.columns.count});
            all.push_back(std::move(s));
          }
    for (size_t i = 0; i < chunks.size(); ++i) {
      const Tile kernel = kernelOf(i, outputs), input = inputOf(chunks[i], batch);
      for (int64_t r = 0; r < p.rows; ++r)
        for (int64_t j = 0; j < p.columns; ++j)
          for (const Sum &s : all)
            k.matmul(
                s.tile, kernel.part(0, s.outputs.from, s.outputs.count).index(1, r).index(1, j),
                input.part(0, s.batch.from, s.batch.count)
                    .part(1, r * c.axis[0].kernelDilation + s.rows.from * c.axis[0].stride, s.rows.count, c.axis[0].stride)
                    .part(2, j * c.axis[1].kernelDilation + s.columns.from * c.axis[1].stride, s.columns.count,
                          c.axis[1].stride),
                i || r || j);
    }
    for (const Sum &s : all) {
      const Tile t = k.sbuf(c.result.dtype, s.tile.partitions, s.tile.shape());
      k.move(t, s.tile);
      to.put(t, {batch.from + s.batch.from, s.batch.count}, {c.firstOutput + outputs.from + s.outputs.from, s.outputs.count},
             s.rows, s.columns);
    }
  }

  Tile kernelOf(size_t i, Span outputs) {
    if (!p.kernelStays)
      return loadBlocks(chunks[i], c.kernel, outputs, kernelGeometry());
    auto [it, fresh] = kernelTiles.try_emplace(i);
    if (fresh)
      it->second = loadBlocks(chunks[i], c.kernel, outputs, kernelGeometry());
    return it->second;
  }
  Tile inputOf(const Chunk &chunk, Span batch) { return loadBlocks(chunk, c.input, batch, inputGeometry()); }

  // Block b of an axis holds positions [b * step - low, ... + size) of `all`.
  struct Blocks {
    int64_t step, low, size, all;
    Span inside(int64_t b) const {
      const int64_t first = b * step - low;
      const int64_t from = std::max<int64_t>(-first, 0), to = std::min(size, all - first);
      return {from, std::max<int64_t>(to - from, 0)};
    }
    bool whole(int64_t b) const { return inside(b).count == size; }
  };
  struct Geometry {
    Blocks down, across;
  };
  Geometry kernelGeometry() const {
    return {{p.rows, 0, p.rows, c.axis[0].kernel}, {p.columns, 0, p.columns, c.axis[1].kernel}};
  }
  Geometry inputGeometry() const {
    return {{p.rows * c.axis[0].kernelDilation, c.axis[0].low, p.height, c.axis[0].input},
            {p.columns * c.axis[1].kernelDilation, c.axis[1].low, p.width, c.axis[1].input}};
  }

  // [block][outer][row][column] of a tensor [outer, feature, row, column]; what lies outside is zero.
  Tile loadBlocks(const Chunk &chunk, const Tile &tensor, Span outer, const Geometry &g) {
    const int64_t blocks = chunk.features.count * chunk.across.count * chunk.down.count;
    // Rows outside, so that what is cut at the top or bottom is one piece. Channels may be the fastest dimension: as they lie.
    const bool last = tensor.dims[0].stride == 1 && tensor.dims[0].count > 1 && tensor.dims[3].stride != 1;
    const Tile t = last ? k.sbuf(c.type, blocks, {g.down.size, g.across.size, outer.count}).permuted({2, 0, 1})
                        : k.sbuf(c.type, blocks, {g.down.size, outer.count, g.across.size}).permuted({1, 0, 2});
    clearBorders(t, 1, g.down, chunk.down);
    clearBorders(t, 2, g.across, chunk.across);
    for (int64_t f = 0; f < chunk.features.count; ++f)
      for (int64_t a = 0; a < chunk.across.count; ++a) {
        const int64_t first = (f * chunk.across.count + a) * chunk.down.count;
        const Span columns = g.across.inside(chunk.across.from + a);
        for (int64_t d = 0; d < chunk.down.count && columns.count;) {
          int64_t run = 1; // blocks that are cut alike
          const Span rows = g.down.inside(chunk.down.from + d);
          while (d + run < chunk.down.count && g.down.whole(chunk.down.from + d) && g.down.whole(chunk.down.from + d + run))
            ++run;
          if (rows.count)
            load(t.rows(first + d, run).part(1, rows.from, rows.count).part(2, columns.from, columns.count),
                 tensor.part(0, outer.from, outer.count).index(1, chunk.features.from + f),
                 (chunk.down.from + d) * g.down.step - g.down.low + rows.from, g.down.step,
                 (chunk.across.from + a) * g.across.step - g.across.low + columns.from, last);
          d += run;
        }
      }
    return t;
  }

  // `from` is [outer, row, column]; partition i starts `step` rows after the one before. A transfer has four dimensions.
  void load(const Tile &to, const Tile &from, int64_t row, int64_t step, int64_t column, bool last) {
    Tile source = from;
    source.offset += row * from.dims[1].stride + column * from.dims[2].stride;
    source.dims = {{step * from.dims[1].stride, to.partitions},
                   {from.dims[0].stride, to.dims[0].count},
                   {from.dims[1].stride, to.dims[1].count},
                   {from.dims[2].stride, to.dims[2].count}};
    if (last)
      k.copy(to.permuted({1, 2, 0}), source.permuted({0, 2, 3, 1}));
    else
      k.copy(to.permuted({1, 0, 2}), source.permuted({0, 2, 1, 3}));
  }

  void clearBorders(const Tile &t, int dim, const Blocks &b, Span blocks) {
    int64_t before = 0, after = b.size;
    for (int64_t i = blocks.from; i < blocks.from + blocks.count; ++i) {
      const Span s = b.inside(i);
      before = std::max(before, s.count ? s.from : b.size);
      after = std::min(after, s.count ? s.from + s.count : 0);
    }
    if (before >= after)
      return k.fill(t, 0);
    if (before > 0)
      k.fill(t.part(dim, 0, before), 0);
    if (after < b.size)
      k.fill(t.part(dim, after, b.size - after), 0);
  }
};

} // namespace

std::optional<double> positionsCost(const Convolution &c, int64_t sbufBytes) {
  const std::optional<Plan> p = planPositions(c, sbufBytes);
  return p ? std::optional(p->cost) : std::nullopt;
}

void emitPositions(KernelBuilder &k, const Convolution &c, int64_t sbufBytes, ConvolutionResult &result) {
  const std::optional<Plan> p = planPositions(c, sbufBytes);
  if (!p)
    throw Error("KERNEL-MEMORY", "no way to cut the convolution fits the on-chip memory");
  Positions(k, c, *p, result).run();
}

} // namespace glia::emit
