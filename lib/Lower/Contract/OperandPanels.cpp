#include "OperandPanels.h"
#include "MadeRows.h"
#include "TurnedBlocks.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr size_t kMostDims = 4;          // of one transfer
constexpr int64_t kTransferBytes = 8192; // per partition, so that the first blocks can be used while the others come
constexpr int64_t kFewColumns = 8;       // below, single elements are loaded rather than turned on chip

class Loader {
public:
  Loader(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
         int64_t x, int64_t nx)
      : k(k), s(s), b(b), nb(nb), x(x), nx(nx), all(countOf(s.contract)), out(out) {
    first = block * kContract;
    count = std::min(blocks * kContract, all - first);
  }

  void run() {
    if (s.splat)
      return fillAll();
    if (s.packed)
      return unpack();
    if (s.made)
      return onChip();
    turned = liesTurned(s);
    if (turned && !turnsByDma(k.target(), s)) {
      if (nx >= kFewColumns)
        return onChip();
      turned = false;
    }
    const int64_t full = count / kContract;
    if (s.contract.size() == 1) {
      const int64_t each = std::max<int64_t>(1, kTransferBytes / (nb * nx * sizeOf(s.type)));
      for (int64_t i = 0; i < full; i += each)
        blocksAt(i, std::min(each, full - i), kContract);
      if (count % kContract)
        blocksAt(full, 1, count % kContract);
    } else {
      for (int64_t i = 0; i * kContract < count; ++i) {
        const int64_t n = std::min(kContract, count - i * kContract);
        for (const Box &box : boxesOf(s.contract, first + i * kContract, n, 2))
          send(out.rows(box.from, box.count).part(1, i, 1), box.dims, {0, 1}, box.offset);
      }
    }
  }

private:
  KernelBuilder &k;
  const PanelSource &s;
  int64_t b, nb, x, nx, all, first, count;
  const Tile &out;
  bool turned = false;

  void fillAll() {
    const int64_t full = count / kContract;
    if (full)
      k.fill(out.part(1, 0, full), static_cast<float>(*s.splat));
    if (count % kContract)
      k.fill(out.rows(0, count % kContract).part(1, full, 1), static_cast<float>(*s.splat));
  }

  void blocksAt(int64_t i, int64_t n, int64_t rows) {
    const int64_t stride = s.contract[0].stride;
    send(out.rows(0, rows).part(1, i, n), {{stride, rows}}, {stride * kContract, n}, (first + i * kContract) * stride);
  }

  void unpack() {
    const int64_t blocks = (all + kContract - 1) / kContract, first = this->first / kContract, full = count / kContract;
    const int64_t row = blocks * s.packed;
    const int64_t each = std::max<int64_t>(1, kTransferBytes / (nx * sizeOf(s.type)));
    for (int64_t i = 0; i < nb; ++i)
      for (int64_t at = 0; at < nx;) {
        const int64_t panel = (x + at) / s.packed, column = (x + at) % s.packed, n = std::min(nx - at, s.packed - column);
        const auto copy = [&](int64_t block, int64_t count, int64_t rows) {
          Tile from = s.tensor;
          from.offset += (b + i) * packedBatch(s) + panel * kContract * row + (first + block) * s.packed + column;
          from.dims = {{row, rows}, {s.packed, count}, {1, n}};
          k.copy(out.rows(0, rows).index(0, i).part(0, block, count).part(1, at, n), from);
        };
        for (int64_t block = 0; block < full; block += each)
          copy(block, std::min(each, full - block), kContract);
        if (count % kContract)
          copy(full, 1, count % kContract);
        at += n;
      }
  }

  // chip is [rows, batches, blocks, free].
  void send(const Tile &chip, const Dims &rows, Tile::Dim outer, int64_t offset) {
    for (const Box &batch : boxesOf(s.batch, b, nb, 1))
      for (const Box &free : boxesOf(s.free, x, nx, std::max<size_t>(1, kMostDims - rows.size() - (outer.count > 1))))
        one(chip.part(0, batch.from, batch.count).part(2, free.from, free.count), rows, batch.dims, outer, free.dims,
            offset + batch.offset + free.offset);
  }

  void one(const Tile &chip, const Dims &rows, const Dims &batch, Tile::Dim outer, const Dims &free, int64_t offset) {
    const size_t dims = rows.size() + (countOf(batch) > 1) + (outer.count > 1) + free.size();
    if (dims > kMostDims && countOf(batch) > 1) {
      for (int64_t i = 0; i < batch[0].count; ++i)
        one(chip.part(0, i, 1), rows, {}, outer, free, offset + i * batch[0].stride);
      return;
    }
    if (dims > kMostDims && outer.count > 1) {
      for (int64_t i = 0; i < outer.count; ++i)
        one(chip.part(1, i, 1), rows, batch, {0, 1}, free, offset + i * outer.stride);
      return;
    }
    Tile from = s.tensor;
    from.offset += offset;
    Dims middle = batch;
    middle.push_back(outer);
    from.dims = turned ? free : rows;
    from.dims.insert(from.dims.end(), middle.begin(), middle.end());
    const Dims &last = turned ? rows : free;
    from.dims.insert(from.dims.end(), last.begin(), last.end());
    if (turned)
      k.transposeByDma(chip, from, countOf(middle));
    else
      k.copy(chip, from);
  }

  // Rows of batch b + i as they lie.
  void rowsAt(const Tile &rows, int64_t i, int64_t at) {
    for (const Box &batch : boxesOf(s.batch, b + i, 1, 1)) {
      Tile from = s.tensor;
      from.offset += batch.offset;
      load(k, rows, from, s.free, s.contract, x + at, first);
    }
  }

  // Rows of the operand, and their blocks turned. Of short rows several blocks of them are turned together.
  void onChip() {
    const int64_t most = s.made || count > kContract ? 1 : kTurnedTogether;
    for (int64_t at = 0; at < nx;) {
      const int64_t n = std::min(kContract, nx - at), together = std::clamp<int64_t>((nx - at) / kContract, 1, most);
      for (int64_t i = 0; i < nb; ++i) {
        const Tile to = out.index(0, i).part(1, at, n * together);
        if (s.made) {
          turnBlocks(k, to, s.made->rows(s.type, x + at, n).columns(first, count), s.identity);
          continue;
        }
        const Tile rows = k.sbuf(s.type, n, {together * count});
        for (int64_t j = 0; j < together; ++j)
          rowsAt(rows.columns(j * count, count), i, at + j * n);
        if (together > 1)
          turnBlocks(k, to.index(0, 0).rows(0, count).reshaped({together, n}), rows, s.identity, count, s.byScalar);
        else
          turnBlocks(k, to, rows, s.identity, kTurnedSide, s.byScalar);
      }
      at += n * together;
    }
  }
};

} // namespace

int64_t packedColumn(const PanelSource &s) { return (countOf(s.contract) + kContract - 1) / kContract * kContract; }

int64_t packedBatch(const PanelSource &s) {
  return (countOf(s.free) + s.packed - 1) / s.packed * s.packed * packedColumn(s);
}

bool liesTurned(const PanelSource &s) {
  return !s.splat && !s.packed && !s.contract.empty() && s.contract.back().stride == 1 &&
         (s.free.empty() || s.free.back().stride != 1);
}

bool turnsByDma(const Target &t, const PanelSource &s) {
  return t.has("dma_transpose") && !s.made && s.tensor.moves.empty() && s.tensor.dtype == s.type && sizeOf(s.type) != 1;
}

bool turnsOnChip(const Target &t, const PanelSource &s) {
  return liesTurned(s) && !turnsByDma(t, s) && (s.made || countOf(s.free) >= kFewColumns);
}

int64_t turningBytes(const Target &t, const PanelSource &s, int64_t blocks) {
  return turnsOnChip(t, s) ? 2 * blocks * kContract * sizeOf(s.type) + (s.byBytes ? kTurnedBytes : 0) : 0;
}

void prepareTurning(KernelBuilder &k, PanelSource &s) {
  if (s.byBytes)
    s.identity = identityOf(k);
}

Tile panelTile(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t nx) {
  return k.sbuf(s.type, std::min(kContract, countOf(s.contract)), {nb, blocks, nx});
}

void fillPanel(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
               int64_t x, int64_t nx) {
  Loader(k, out, s, b, nb, block, blocks, x, nx).run();
}

Tile loadPanel(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t x,
               int64_t nx) {
  const Tile out = panelTile(k, s, nb, blocks, nx);
  fillPanel(k, out, s, b, nb, block, blocks, x, nx);
  return out;
}

Tile Panel::at(int64_t b, int64_t block, int64_t x, int64_t n) const {
  const int64_t i = (x - from) / step;
  return pieces[static_cast<size_t>(i)].index(0, b).index(0, block).part(0, x - from - i * step, n);
}

Panel makeWide(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t width) {
  Panel out;
  for (int64_t x = 0; x < width; x += out.step)
    out.pieces.push_back(panelTile(k, s, nb, blocks, std::min(out.step, width - x)));
  return out;
}

void fillWide(KernelBuilder &k, Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
              int64_t from) {
  panel.from = from;
  for (const Tile &piece : panel.pieces) {
    fillPanel(k, piece, s, b, nb, block, blocks, from, piece.dims[2].count);
    from += panel.step;
  }
}

Panel loadWide(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t from,
               int64_t width) {
  Panel out = makeWide(k, s, nb, blocks, width);
  fillWide(k, out, s, b, nb, block, blocks, from);
  return out;
}

} // namespace glia::emit
