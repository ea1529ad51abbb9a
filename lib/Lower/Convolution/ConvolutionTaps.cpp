// Convolution with channels on the contraction: for each tap a shifted, strided view of the input tile is multiplied with the tap's
// weights, and sums stay in PSUM over taps and channels. Taps that fall outside are left out (whole products, or the rows and columns of
// a product that they do not reach); where shifted copies of the input share a product, the border is zeros.
#include "ConvolutionTaps.h"
#include "ConvolutionResult.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>

namespace glia::emit {

namespace {

using Phase = ConvolutionPhase;

struct Band {
  Span batch, rows, columns; // outputs of a phase
};

// Outputs of one phase that one product makes; from the start of the band.
struct Block {
  const Phase *rows, *columns;
  Span batch, r, c;
};

// One product: a tap (or packed taps) for a part of a block.
struct Product {
  int64_t tapRow, tapColumn; // of the phase's lists; packed: of its groups
  Span r, c;                 // of the block
};

class Taps {
public:
  Taps(KernelBuilder &k, const Convolution &c, const TapsPlan &p, ConvolutionResult &to) : k(k), c(c), p(p), to(to) {
    columnsOfPsum = std::min<int64_t>(p.block, k.target().integer("limit.moving_free_fp32"));
  }

  void run() {
    std::vector<Band> bands;
    for (int64_t n = 0; n < p.batch; n += p.bandBatch)
      for (int64_t r = 0; r < p.phaseOutputs(p.rows); r += p.bandRows)
        for (int64_t x = 0; x < p.phaseOutputs(p.columns); x += p.bandColumns)
          bands.push_back({{n, std::min(p.bandBatch, p.batch - n)},
                           {r, std::min(p.bandRows, p.phaseOutputs(p.rows) - r)},
                           {x, std::min(p.bandColumns, p.phaseOutputs(p.columns) - x)}});
    if (p.weights == TapsPlan::AllWeights || p.outputParts.size() == 1)
      for (const Band &b : bands) {
        newBand();
        for (size_t o = 0; o < p.outputParts.size(); ++o)
          compute(b, o);
      }
    else
      for (size_t o = 0; o < p.outputParts.size(); ++o) {
        kernelTiles.clear();
        packedTiles.clear();
        for (size_t b = 0; b < bands.size(); ++b) {
          if (bands.size() > 1)
            newBand();
          compute(bands[b], o);
        }
      }
  }

private:
  KernelBuilder &k;
  const Convolution &c;
  const TapsPlan &p;
  ConvolutionResult &to;
  int64_t columnsOfPsum;
  std::map<size_t, Tile> inputTiles;                     // by part of the channels, of this band
  std::map<std::pair<size_t, size_t>, Tile> kernelTiles; // by part of the outputs and of the channels: [row][column][output]
  std::map<size_t, std::map<std::array<const void *, 2>, std::vector<Tile>>>
      packedTiles; // by part of the outputs, and phases
  Tile zeros;
  Span inRows, inColumns; // what the input tiles of the band hold

  void newBand() { inputTiles.clear(); }

  void compute(const Band &band, size_t o) {
    const Span outputs = p.outputParts[o];
    const int64_t stepRows = p.rows[0].step, stepColumns = p.columns[0].step;
    const Span y = cut({band.rows.from * stepRows, band.rows.count * stepRows}, c.axis[0].output),
               x = cut({band.columns.from * stepColumns, band.columns.count * stepColumns}, c.axis[1].output);
    inRows = neededBy(p.rows, band.rows.from, band.rows.count, p.packRows);
    inColumns = neededBy(p.columns, band.columns.from, band.columns.count, p.packColumns);
    if (!p.packed()) {
      inRows = cut(inRows, c.axis[0].input);
      inColumns = cut(inColumns, c.axis[1].input);
    }
    const Tile result = k.sbuf(c.result.dtype, outputs.count, {band.batch.count, y.count, x.count});
    const std::vector<Block> blocks = blocksOf(band);
    const size_t together = p.weights == TapsPlan::StreamedWeights || !p.bandFits ? 3 : 1;
    for (size_t i = 0; i < blocks.size(); i += together)
      sum(std::span(blocks).subspan(i, std::min(together, blocks.size() - i)), band, o, result);
    to.put(result, band.batch, {c.firstOutput + outputs.from, outputs.count}, y, x);
  }

  std::vector<Block> blocksOf(const Band &band) const {
    std::vector<Block> out;
    for (const Phase &r : p.rows)
      for (const Phase &x : p.columns) {
        const int64_t height = std::min(band.rows.count, r.count - band.rows.from),
                      width = std::min(band.columns.count, x.count - band.columns.from);
        if (height <= 0 || width <= 0)
          continue;
        const std::vector<Span> columns = spansOf(width, columnsOfPsum - p.sumColumns(0));
        const int64_t most = columnsOfPsum / p.sumColumns(columns[0].count);
        const std::vector<Span> rows = spansOf(height, most);
        const std::vector<Span> images = spansOf(band.batch.count, std::max<int64_t>(most / rows[0].count, 1));
        for (const Span &n : images)
          for (const Span &rr : rows)
            for (const Span &cc : columns)
              out.push_back({&r, &x, n, rr, cc});
      }
    return out;
  }

  bool isPair(const Block &b, int64_t tapColumn) const {
    return p.paired && tapColumn + 1 < static_cast<int64_t>(b.columns->taps.size());
  }

  // Products of a block with the taps of a piece of the kernel.
  std::vector<Product> productsOf(const Block &b, const Band &band, Span kernelRows, Span kernelColumns) const {
    std::vector<Product> out;
    const auto within = [](int64_t at, Span s) { return at >= s.from && at < s.from + s.count; };
    if (p.packed()) {
      for (int64_t r = 0; r < static_cast<int64_t>(b.rows->taps.size()); r += p.packRows)
        for (int64_t x = 0; x < static_cast<int64_t>(b.columns->taps.size()); x += p.tapStep())
          out.push_back({r, x, {0, b.r.count}, {0, isPair(b, x) ? p.sumColumns(b.c.count) : b.c.count}});
      return out;
    }
    const Span tr{band.rows.from + b.r.from, b.r.count}, tc{band.columns.from + b.c.from, b.c.count};
    for (size_t r = 0; r < b.rows->taps.size(); ++r)
      for (size_t x = 0; x < b.columns->taps.size(); ++x) {
        const Phase::Tap &a = b.rows->taps[r], &e = b.columns->taps[x];
        const Span y = reached(a.input, b.rows->stride, tr, c.axis[0].input),
                   z = reached(e.input, b.columns->stride, tc, c.axis[1].input);
        if (within(a.kernel, kernelRows) && within(e.kernel, kernelColumns) && y.count && z.count)
          out.push_back(
              {static_cast<int64_t>(r), static_cast<int64_t>(x), {y.from - tr.from, y.count}, {z.from - tc.from, z.count}});
      }
    // A product that reaches the whole block comes first: it overwrites what PSUM held.
    const auto whole = std::find_if(out.begin(), out.end(),
                                    [&](const Product &q) { return q.r.count == b.r.count && q.c.count == b.c.count; });
    if (whole != out.end())
      std::rotate(out.begin(), whole, whole + 1);
    return out;
  }

  void sum(std::span<const Block> blocks, const Band &band, size_t o, const Tile &result) {
    std::vector<Tile> sums(blocks.size());
    std::vector<bool> started(blocks.size());
    for (const Block &b : blocks)
      sums[static_cast<size_t>(&b - blocks.data())] = k.psum(p.outputParts[o].count + (p.paired ? p.secondHalf() : 0),
                                                             {b.batch.count, b.r.count, p.sumColumns(b.c.count)});
    const bool streamed = p.weights == TapsPlan::StreamedWeights;
    const auto pieces = [&](int64_t size, int64_t piece) {
      std::vector<Span> out;
      for (int64_t at = 0; at < size; at += piece)
        out.push_back({at, std::min(piece, size - at)});
      return out;
    };
    const std::vector<Span> kernelRows = pieces(c.axis[0].kernel, streamed ? p.pieceRows : c.axis[0].kernel),
                            kernelColumns = pieces(c.axis[1].kernel, streamed ? p.pieceColumns : c.axis[1].kernel);
    for (size_t part = 0; part < p.channelParts.size(); ++part) {
      if (!p.bandFits)
        inputTiles.clear();
      for (const Span &kr : kernelRows)
        for (const Span &kc : kernelColumns) {
          Tile kernel;
          for (size_t i = 0; i < blocks.size(); ++i) {
            const std::vector<Product> products = productsOf(blocks[i], band, kr, kc);
            if (products.empty())
              continue;
            if (kernel.handle < 0 && !p.packed())
              kernel = streamed ? loadPart(o, part, kr, kc) : kernelOf(o, part);
            if (!started[i] && !p.paired &&
                (products[0].r.count != blocks[i].r.count || products[0].c.count != blocks[i].c.count)) {
              clear(sums[i]);
              started[i] = true;
            }
            for (const Product &q : products) {
              multiply(blocks[i], q, band, o, part, kernel, kr, kc, sums[i], started[i]);
              started[i] = true;
            }
          }
        }
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Block &b = blocks[i];
      const Tile place = result.part(0, b.batch.from, b.batch.count)
                             .part(1, b.rows->first + b.r.from * b.rows->step, b.r.count, b.rows->step)
                             .part(2, b.columns->first + b.c.from * b.columns->step, b.c.count, b.columns->step);
      if (started[i] && p.paired)
        addHalves(place, sums[i]);
      else if (started[i])
        k.move(place, sums[i]);
      else
        k.fill(place, 0);
    }
  }

  void addHalves(const Tile &place, const Tile &sum) {
    const int64_t outputs = place.partitions, width = place.dims[2].count;
    const Tile first = place.dtype == DType::F32 ? place : k.sbuf(DType::F32, outputs, place.shape()); // one rounding
    k.move(first, sum.rows(0, outputs).part(2, 0, width));
    k.tensor(place, first, sum.rows(p.secondHalf(), outputs).part(2, 1, width), "add");
  }

  // A product of zeros: no tap reaches the whole block.
  void clear(const Tile &sum) {
    if (zeros.handle < 0) {
      zeros = k.sbuf(c.type, 1, {columnsOfPsum});
      k.fill(zeros, 0);
    }
    k.matmul(sum, zeros.columns(0, sum.partitions), zeros.columns(0, sum.elements()), false);
  }

  void multiply(const Block &b, const Product &q, const Band &band, size_t o, size_t part, const Tile &kernel, Span kr,
                Span kc, const Tile &sum, bool accumulate) {
    const Tile &input = inputOf(band, part);
    const Phase::Tap &row = b.rows->taps[static_cast<size_t>(q.tapRow)],
                     &column = b.columns->taps[static_cast<size_t>(q.tapColumn)];
    const int64_t r = row.input + (band.rows.from + b.r.from + q.r.from) * b.rows->stride - inRows.from,
                  x = column.input + (band.columns.from + b.c.from + q.c.from) * b.columns->stride - inColumns.from;
    Tile moving = input.part(0, b.batch.from, b.batch.count)
                      .part(1, r / p.rowStep, q.r.count, b.rows->stride / p.rowStep)
                      .part(2, x, q.c.count, b.columns->stride);
    Tile stationary;
    if (p.packed()) {
      stationary = packedOf(o, b, q);
      moving = moving.rows(0, stationary.partitions);
    } else {
      stationary = kernel.index(0, row.kernel - kr.from).index(0, column.kernel - kc.from);
    }
    k.matmul(sum.rows(0, stationary.elements()).part(1, q.r.from, q.r.count).part(2, q.c.from, q.c.count), stationary,
             moving, accumulate);
  }

  // ---- weights -----------------------------------------------------------------------------------------------------------

  Tile loadPart(size_t o, size_t part, Span kr, Span kc) {
    return loadKernel(k,
                      c.kernel.part(0, p.outputParts[o].from, p.outputParts[o].count)
                          .part(1, p.channelParts[part].from, p.channelParts[part].count)
                          .part(2, kr.from, kr.count)
                          .part(3, kc.from, kc.count),
                      c.type);
  }
  const Tile &kernelOf(size_t o, size_t part) {
    auto [it, fresh] = kernelTiles.try_emplace({o, part});
    if (fresh)
      it->second = loadPart(o, part, {0, c.axis[0].kernel}, {0, c.axis[1].kernel});
    return it->second;
  }

  // The weights of packed taps: [column copy, row copy, channel] on the partitions.
  Tile packedOf(size_t o, const Block &b, const Product &q) {
    const int64_t groupsAcross = (static_cast<int64_t>(b.columns->taps.size()) + p.tapStep() - 1) / p.tapStep();
    const int64_t groupsDown = (static_cast<int64_t>(b.rows->taps.size()) + p.packRows - 1) / p.packRows;
    auto [it, fresh] = packedTiles[o].try_emplace({b.rows, b.columns});
    if (fresh) {
      Tile lying = kernelOf(o, 0);
      if (lying.dims[2].stride != 1 && lying.dims[2].count > 1) { // outputs together, so that transfers move rows
        const Tile t = k.sbuf(c.type, lying.partitions, lying.shape());
        k.move(t, lying);
        kernelTiles[{o, 0}] = lying = t;
      }
      for (int64_t g = 0; g < groupsDown * groupsAcross; ++g)
        it->second.push_back(packTaps(lying, b, g / groupsAcross * p.packRows, g % groupsAcross * p.tapStep()));
    }
    return it->second[static_cast<size_t>(q.tapRow / p.packRows * groupsAcross + q.tapColumn / p.tapStep())];
  }
  Tile packTaps(const Tile &lying, const Block &b, int64_t r, int64_t x) {
    const Phase &rows = *b.rows, &columns = *b.columns;
    const int64_t outputs = lying.dims[2].count;
    const int64_t nr = std::min(p.packRows, static_cast<int64_t>(rows.taps.size()) - r),
                  nx = std::min(p.packColumns, static_cast<int64_t>(columns.taps.size()) - x);
    const bool pair = isPair(b, x);
    const Tile out = k.sbuf(c.type, nr * nx * p.channels, {outputs + (pair ? p.secondHalf() : 0)});
    if (pair && outputs < p.secondHalf())
      k.fill(out, 0); // what lies between the halves is never read
    for (int64_t v = 0; v < (pair ? 2 : nx); ++v)
      for (int64_t u = 0; u < nr; ++u)
        k.copy(out.rows(((pair ? 0 : v) * nr + u) * p.channels, p.channels).columns(pair ? v * p.secondHalf() : 0, outputs),
               lying.index(0, rows.taps[static_cast<size_t>(r + u)].kernel)
                   .index(0, columns.taps[static_cast<size_t>(x + v)].kernel));
    return out;
  }

  // ---- input -------------------------------------------------------------------------------------------------------------

  const Tile &inputOf(const Band &band, size_t part) {
    auto [it, fresh] = inputTiles.try_emplace(part);
    if (fresh)
      it->second = p.packed() ? loadCopies(band) : loadInput(band, part);
    return it->second;
  }

  Tile source(const Band &band, Span channels, Span r, Span x, int64_t step = 1) const {
    return c.input.part(0, band.batch.from, band.batch.count)
        .part(1, channels.from, channels.count)
        .part(2, r.from, r.count, step)
        .part(3, x.from, x.count)
        .permuted({1, 0, 2, 3});
  }

  Tile loadInput(const Band &band, size_t part) {
    const Tile t = k.sbuf(c.type, p.channelParts[part].count, {band.batch.count, inRows.count, inColumns.count});
    loadChannels(k, t, source(band, p.channelParts[part], inRows, inColumns));
    return t;
  }

  // Copy (v, u) holds the input shifted by v taps to the left and u taps upwards.
  Tile loadCopies(const Band &band) {
    const int64_t height = (inRows.count + p.rowStep - 1) / p.rowStep, width = inColumns.count;
    const int64_t down = p.rows[0].shift, right = p.columns[0].shift;
    const Tile t = k.sbuf(c.type, p.packColumns * p.packRows * p.channels, {band.batch.count, height, width});
    const auto inside = [](int64_t from, int64_t step, int64_t count, int64_t size) {
      return reached(from, step, {0, count}, size);
    };
    // What some copy does not fill is zero.
    const Span firstRows = inside(inRows.from, p.rowStep, height, c.axis[0].input),
               lastRows = inside(inRows.from + (p.packRows - 1) * down, p.rowStep, height, c.axis[0].input),
               firstColumns = inside(inColumns.from, 1, width, c.axis[1].input),
               lastColumns = inside(inColumns.from + (p.packColumns - 1) * right, 1, width, c.axis[1].input);
    const auto border = [&](int dim, Span first, Span last, int64_t size) {
      const int64_t before = std::clamp<int64_t>(first.count ? first.from : size, 0, size),
                    after = std::clamp<int64_t>(last.count ? last.from + last.count : 0, 0, size);
      if (before >= after)
        return k.fill(t, 0);
      if (before > 0)
        k.fill(t.part(dim, 0, before), 0);
      if (after < size)
        k.fill(t.part(dim, after, size - after), 0);
    };
    border(1, firstRows, lastRows, height);
    border(2, firstColumns, lastColumns, width);
    for (int64_t v = 0; v < p.packColumns; ++v)
      for (int64_t u = 0; u < p.packRows; ++u) {
        const int64_t row = inRows.from + u * down, column = inColumns.from + v * right;
        Span r = inside(row, p.rowStep, height, c.axis[0].input);
        const Span x = inside(column, 1, width, c.axis[1].input);
        if (!r.count || !x.count)
          continue;
        if (u > 0 && v == 0 && p.rowStep == 1 && p.channels % 32 == 0 && sizeOf(c.type) == 4) {
          // What the first copy holds an engine moves: transfers have more to do than most engines.
          const int64_t held = std::clamp<int64_t>(firstRows.from + firstRows.count - u * down - r.from, 0, r.count);
          if (held > 0)
            k.move(t.rows(u * p.channels, p.channels).part(1, r.from, held),
                   t.rows(0, p.channels).part(1, r.from + u * down, held));
          r = {r.from + held, r.count - held};
          if (!r.count)
            continue;
        }
        const Tile place =
            t.rows((v * p.packRows + u) * p.channels, p.channels).part(1, r.from, r.count).part(2, x.from, x.count);
        const Tile from =
            source(band, {0, p.channels}, {row + r.from * p.rowStep, r.count}, {column + x.from, x.count}, p.rowStep);
        if (p.channels > 1 && from.dims[0].stride == 1 && from.dims[3].stride != 1) {
          const Tile turned = k.sbuf(c.type, p.channels, {band.batch.count, r.count, x.count});
          loadChannels(k, turned, from);
          k.copy(place, turned);
        } else {
          k.copy(place, from);
        }
      }
    return t;
  }
};

} // namespace

void emitTaps(KernelBuilder &k, const Convolution &c, int64_t sbufBytes, ConvolutionResult &result) {
  const std::optional<TapsPlan> p = planTaps(c, sbufBytes);
  if (!p)
    throw Error("KERNEL-MEMORY", "no way to cut the convolution fits the on-chip memory");
  Taps(k, c, *p, result).run();
}

} // namespace glia::emit
