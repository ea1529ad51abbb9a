#include "OperandPanels.h"
#include "MadeRows.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr size_t kMostDims = 4;       // of one transfer
constexpr int64_t kFewColumns = 8;    // below, single elements are loaded rather than turned on chip
constexpr int64_t kTurnedRows = 4096; // bytes per partition of rows that come to be turned
constexpr int64_t kRowsInFlight = 3;  // such pieces

int64_t rowBlocks(const PanelSource &s, int64_t blocks) { // of the contraction, that come to be turned together
  return s.made ? blocks : std::min(blocks, kTurnedRows / (kContract * sizeOf(s.type)));
}

class Loader {
public:
  Loader(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
         int64_t x, int64_t nx, int64_t at)
      : k(k), s(s), b(b), nb(nb), x(x), nx(nx), at(at), all(countOf(s.contract)), out(out) {
    first = block * kContract;
    count = std::min(blocks * kContract, all - first);
    paired = s.paired ? std::clamp<int64_t>(all / (2 * kContract) * 2 - block, 0, blocks) : 0;
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
      if (s.woven || nx >= kFewColumns)
        return onChip();
      turned = false;
    }
    const int64_t full = count / kContract;
    if (s.contract.size() == 1) {
      const int64_t each = std::max<int64_t>(1, transferBytes(all) / (nb * nx * sizeOf(s.type))),
                    two = std::max<int64_t>(2, each / 2 * 2);
      for (int64_t i = 0; i < paired; i += two)
        pairsAt(i, std::min(two, paired - i));
      for (int64_t i = paired; i < full; i += each)
        blocksAt(i, std::min(each, full - i), kContract);
      if (count % kContract)
        blocksAt(full, 1, count % kContract);
    } else {
      for (int64_t i = 0; i * kContract < count; ++i) {
        const int64_t n = std::min(kContract, count - i * kContract);
        for (const Box &box : boxesOf(s.contract, first + i * kContract, n, 2))
          send(out.rows(box.from, box.count).part(1, i, 1), box.dims, {}, box.offset);
      }
    }
  }

private:
  KernelBuilder &k;
  const PanelSource &s;
  int64_t b, nb, x, nx, at, all, first, count;
  int64_t paired; // blocks of those that are filled
  const Tile &out;
  bool turned = false;

  void fillAll() {
    const int64_t full = count / kContract;
    const Tile here = out.part(2, at, nx);
    if (full)
      k.fill(here.part(1, 0, full), static_cast<float>(*s.splat));
    if (count % kContract)
      k.fill(here.rows(0, count % kContract).part(1, full, 1), static_cast<float>(*s.splat));
  }

  void blocksAt(int64_t i, int64_t n, int64_t rows) {
    const int64_t stride = s.contract[0].stride;
    send(out.rows(0, rows).part(1, i, n), {{stride, rows}}, {{stride * kContract, n}}, (first + i * kContract) * stride);
  }

  // Of 256 rows, every second one from the first on, and from the second.
  void pairsAt(int64_t i, int64_t n) {
    const int64_t stride = s.contract[0].stride;
    send(out.part(1, i, n), {{2 * stride, kContract}}, {{2 * stride * kContract, n / 2}, {stride, 2}},
         (first + i * kContract) * stride);
  }

  void unpack() {
    const int64_t blocks = (all + kContract - 1) / kContract, first = this->first / kContract, full = count / kContract;
    const int64_t row = blocks * s.packed;
    const int64_t each = std::max<int64_t>(1, transferBytes(all) / (nx * sizeOf(s.type)));
    const int64_t woven = wovenBlocks(s, first, (count + kContract - 1) / kContract);
    for (int64_t i = 0; i < nb; ++i)
      for (int64_t done = 0; done < nx;) {
        const int64_t panel = (x + done) / s.packed, column = (x + done) % s.packed,
                      n = std::min(nx - done, s.packed - column);
        const auto copy = [&](int64_t block, int64_t count, int64_t rows) {
          Tile from = s.tensor, to = out.rows(0, rows).index(0, i);
          from.offset += (b + i) * packedBatch(s) + panel * kContract * row;
          from.dims = {{s.packed, blocks}, {1, s.packed}};
          from = block < woven ? wovenPart(from, first + block, count, column, n)
                               : from.part(0, first + block, count).part(1, column, n);
          from.dims.insert(from.dims.begin(), {row, rows});
          k.copy(block < woven ? wovenPart(to, block, count, at + done, n) : to.part(0, block, count).part(1, at + done, n),
                 from);
        };
        const int64_t two = std::max<int64_t>(2, each / 2 * 2);
        for (int64_t block = 0; block < woven; block += two)
          copy(block, std::min(two, woven - block), kContract);
        for (int64_t block = woven; block < full; block += each)
          copy(block, std::min(each, full - block), kContract);
        if (count % kContract)
          copy(full, 1, count % kContract);
        done += n;
      }
  }

  // chip is [rows, batches, blocks, free], the blocks as `outer` says.
  void send(const Tile &chip, const Dims &rows, const Dims &outer, int64_t offset) {
    for (const Box &batch : boxesOf(s.batch, b, nb, 1))
      for (const Box &free : boxesOf(s.free, x, nx, std::max<size_t>(1, kMostDims - rows.size() - several(outer))))
        one(chip.part(0, batch.from, batch.count).part(2, at + free.from, free.count), rows, batch.dims, outer, free.dims,
            offset + batch.offset + free.offset);
  }

  static size_t several(const Dims &dims) {
    return static_cast<size_t>(llvm::count_if(dims, [](const Tile::Dim &d) { return d.count > 1; }));
  }

  void one(const Tile &chip, const Dims &rows, const Dims &batch, const Dims &outer, const Dims &free, int64_t offset) {
    const size_t dims = rows.size() + (countOf(batch) > 1) + several(outer) + free.size();
    if (dims > kMostDims && countOf(batch) > 1) {
      for (int64_t i = 0; i < batch[0].count; ++i)
        one(chip.part(0, i, 1), rows, {}, outer, free, offset + i * batch[0].stride);
      return;
    }
    if (dims > kMostDims && countOf(outer) > 1) {
      const Dims inner(outer.begin() + 1, outer.end());
      for (int64_t i = 0; i < outer[0].count; ++i)
        one(chip.part(1, i * countOf(inner), countOf(inner)), rows, batch, inner, free, offset + i * outer[0].stride);
      return;
    }
    Tile from = s.tensor;
    from.offset += offset;
    Dims middle = batch;
    middle.insert(middle.end(), outer.begin(), outer.end());
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
  void rowsAt(const Tile &rows, int64_t i, int64_t done, int64_t column) {
    for (const Box &batch : boxesOf(s.batch, b + i, 1, 1)) {
      Tile from = s.tensor;
      from.offset += batch.offset;
      load(k, rows, from, s.free, s.contract, x + done, first + column);
    }
  }

  // Rows of the operand, and their blocks turned. Of short rows several blocks of them are turned together.
  void onChip() {
    const int64_t most = s.made || count > kContract ? 1 : kTurnedTogether;
    for (int64_t done = 0; done < nx;) {
      const int64_t n = std::min(kContract, nx - done), together = std::clamp<int64_t>((nx - done) / kContract, 1, most);
      for (int64_t i = 0; i < nb; ++i) {
        const Tile to = out.index(0, i);
        if (s.made) {
          turn(to, s.made->rows(s.type, x + done, n).columns(first, count), at + done, 0);
          continue;
        }
        if (together > 1) {
          const Tile rows = k.sbuf(s.type, n, {together * count});
          for (int64_t j = 0; j < together; ++j)
            rowsAt(rows.columns(j * count, count), i, done + j * n, 0);
          turnBlocks(k, to.index(0, 0).part(0, at + done, n * together).rows(0, count).reshaped({together, n}), rows,
                     s.turning, count);
          continue;
        }
        const int64_t most = rowBlocks(s, (count + kContract - 1) / kContract) * kContract;
        for (int64_t from = 0; from < count; from += most) {
          const Tile rows = k.sbuf(s.type, n, {std::min(most, count - from)});
          rowsAt(rows, i, done, from);
          turn(to.part(0, from / kContract, to.dims[0].count - from / kContract), rows, at + done, from / kContract);
        }
      }
      done += n * together;
    }
  }

  // Blocks from `block` on, into free elements from `to` on of [blocks, free].
  void turn(const Tile &panel, const Tile &rows, int64_t to, int64_t block) {
    const int64_t n = rows.partitions, elements = rows.elements(), blocks = (elements + kContract - 1) / kContract,
                  woven = s.woven ? std::clamp<int64_t>(paired - block, 0, elements / kContract) : 0;
    if (woven)
      turnBlocks(k, pairsOf(wovenPart(panel, 0, woven, to, n)), pairsOf(rows.columns(0, woven * kContract)), s.turning);
    if (blocks > woven)
      turnBlocks(k, panel.part(0, woven, blocks - woven).part(1, to, n),
                 rows.columns(woven * kContract, elements - woven * kContract), s.turning);
  }
};

} // namespace

int64_t transferBytes(int64_t contract) { return contract < 128 * kContract ? 8192 : 16384; }

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
  const int64_t pieces = rowBlocks(s, blocks) < blocks ? kRowsInFlight : 2;
  return turnsOnChip(t, s) ? pieces * rowBlocks(s, blocks) * kContract * sizeOf(s.type) + (s.byBytes ? kTurnedBytes : 0) : 0;
}

void prepareTurning(KernelBuilder &k, PanelSource &s) {
  if (s.byBytes)
    s.turning.identity = identityOf(k);
}

Tile panelTile(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t blocks, int64_t nx) {
  return k.sbuf(s.type, std::min(kContract, countOf(s.contract)), {nb, blocks, nx});
}

void fillPanel(KernelBuilder &k, const Tile &out, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
               int64_t x, int64_t nx, int64_t at) {
  Loader(k, out, s, b, nb, block, blocks, x, nx, at).run();
}

Tile loadPanel(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t x,
               int64_t nx) {
  const Tile out = panelTile(k, s, nb, blocks, nx);
  fillPanel(k, out, s, b, nb, block, blocks, x, nx);
  return out;
}

int64_t wovenBlocks(const PanelSource &s, int64_t block, int64_t blocks) {
  return s.woven ? std::clamp<int64_t>(countOf(s.contract) / (2 * kContract) * 2 - block, 0, blocks) : 0;
}

Tile wovenPart(const Tile &t, int64_t block, int64_t count, int64_t x, int64_t n) {
  Tile out = t;
  out.offset += block * t.dims[0].stride + 2 * x;
  out.dims = {{2 * t.dims[0].stride, count / 2}, {1, 2 * n}};
  return out;
}

Tile Panel::at(int64_t b, int64_t block, int64_t x, int64_t n) const {
  const int64_t i = (x - from) / step;
  const Tile piece = pieces[static_cast<size_t>(i)].index(0, b);
  x -= from + i * step;
  block -= first;
  if (block >= woven)
    return piece.index(0, block).part(0, x, n);
  return wovenPart(piece, block / 2 * 2, 2, x, n).index(0, 0).part(0, block % 2, n, 2);
}

int64_t Panel::width() const {
  int64_t n = 0;
  for (const Tile &piece : pieces)
    n += piece.dims[2].count;
  return n;
}

Panel makeWide(KernelBuilder &k, const PanelSource &s, int64_t nb, int64_t block, int64_t blocks, int64_t width) {
  Panel out;
  out.step = s.block;
  out.first = block;
  out.woven = wovenBlocks(s, block, blocks);
  for (int64_t x = 0; x < width; x += out.step)
    out.pieces.push_back(panelTile(k, s, nb, blocks, std::min(out.step, width - x)));
  return out;
}

void fillPart(KernelBuilder &k, const Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block,
              int64_t blocks, int64_t x, int64_t n) {
  fillPanel(k, panel.pieces[static_cast<size_t>(x / panel.step)].part(1, block - panel.first, blocks), s, b, nb, block,
            blocks, panel.from + x, n, x % panel.step);
}

void fillWide(KernelBuilder &k, Panel &panel, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks,
              int64_t from) {
  panel.from = from;
  for (int64_t x = 0; const Tile &piece : panel.pieces) {
    fillPart(k, panel, s, b, nb, block, blocks, x, piece.dims[2].count);
    x += panel.step;
  }
}

Panel loadWide(KernelBuilder &k, const PanelSource &s, int64_t b, int64_t nb, int64_t block, int64_t blocks, int64_t from,
               int64_t width) {
  Panel out = makeWide(k, s, nb, block, blocks, width);
  fillWide(k, out, s, b, nb, block, blocks, from);
  return out;
}

} // namespace glia::emit
