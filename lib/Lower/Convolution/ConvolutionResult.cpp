#include "ConvolutionResult.h"
#include "Lower/Contract/Epilogue.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

enum { BATCH, OUTPUT, ROW, COLUMN };

// A block of the result that begins there.
class BlockAt {
public:
  BlockAt(const std::vector<int> &dims, std::array<int64_t, 4> at) : dims(dims) {
    b.start.assign(static_cast<size_t>(std::count_if(dims.begin(), dims.end(), [](int d) { return d >= 0; })), 0);
    for (size_t i = 0; i < 4; ++i)
      if (dims[i] >= 0)
        b.start[static_cast<size_t>(dims[i])] = at[i];
  }
  BlockAt &rows(int which, int64_t count, int64_t step = 1) { return add(b.rows, which, count, step); }
  BlockAt &columns(int which, int64_t count, int64_t step = 1) { return add(b.columns, which, count, step); }
  BlockAt &fromRow(int64_t row) {
    b.row = row;
    return *this;
  }
  BlockAt &fromColumn(int64_t column) {
    b.column = column;
    return *this;
  }
  operator const Block &() const { return b; }

private:
  const std::vector<int> &dims;
  Block b;
  BlockAt &add(std::vector<Loop> &loops, int which, int64_t count, int64_t step) {
    if (dims[static_cast<size_t>(which)] >= 0)
      loops.push_back({dims[static_cast<size_t>(which)], count, step});
    return *this;
  }
};

} // namespace

ConvolutionResult::ConvolutionResult(KernelBuilder &k, graph::ConvolutionOp op, const Tile &result, Epilogue *epilogue)
    : k(k), location(op.getLoc()), result(result), epilogue(epilogue) {
  const auto n = op.getDimensionNumbers();
  const llvm::ArrayRef<int64_t> spatial = n.getOutputSpatialDimensions();
  dims = {static_cast<int>(n.getOutputBatchDimension()), static_cast<int>(n.getOutputFeatureDimension()),
          spatial.size() > 1 ? static_cast<int>(spatial[0]) : -1, spatial.empty() ? -1 : static_cast<int>(spatial.back())};
}

void ConvolutionResult::put(const Tile &tile, Span batch, Span outputs, Span rows, Span columns) {
  const Tile target = result.part(0, batch.from, batch.count)
                          .part(1, outputs.from, outputs.count)
                          .part(2, rows.from, rows.count)
                          .part(3, columns.from, columns.count)
                          .permuted({1, 0, 2, 3});
  if (!epilogue)
    return storeChannels(k, target, tile);
  if (turned(target)) { // positions on the partitions, as they are stored
    forPositions(target, tile, [&](const Tile &piece, Span images, Span y, Span x, int64_t at) {
      const Tile t = k.sbuf(tile.dtype, piece.elements(), {outputs.count});
      transposeTile(k, t, piece);
      epilogue->block(t, BlockAt(dims, {batch.from + images.from, outputs.from, rows.from + y.from, columns.from + x.from})
                             .rows(BATCH, images.count)
                             .rows(ROW, y.count)
                             .rows(COLUMN, x.count)
                             .fromRow(at)
                             .columns(OUTPUT, outputs.count));
      k.location(location);
    });
    return;
  }
  // Whole images, or whole rows of one, or a part of a row: adjacent on chip.
  const int64_t across = std::min(columns.count, kEpilogueColumns), down = std::min(rows.count, kEpilogueColumns / across);
  const bool whole = across == columns.count && down == rows.count;
  const int64_t images = whole ? std::max<int64_t>(kEpilogueColumns / (across * down), 1) : 1;
  for (int64_t n = 0; n < batch.count; n += images)
    for (int64_t y = 0; y < rows.count; y += down)
      for (int64_t x = 0; x < columns.count; x += across) {
        const int64_t nn = std::min(images, batch.count - n), ny = std::min(down, rows.count - y),
                      nx = std::min(across, columns.count - x);
        Tile part = tile.part(0, n, nn).part(1, y, ny).part(2, x, nx);
        part.dims = {{1, nn * ny * nx}};
        epilogue->block(part, BlockAt(dims, {batch.from + n, outputs.from, rows.from + y, columns.from + x})
                                  .rows(OUTPUT, outputs.count)
                                  .columns(BATCH, nn)
                                  .columns(ROW, ny)
                                  .columns(COLUMN, nx));
      }
  k.location(location);
}

void ConvolutionResult::putRows(const Tile &tile, const ChannelRows &rows, const ImagePart &part, bool lying,
                                int64_t image) {
  const int64_t outputs = tile.dims[0].count, columns = part.x.count, positions = part.y.count * columns;
  const int down = lying ? COLUMN : ROW, across = lying ? ROW : COLUMN;
  const Tile memory = lying ? result.permuted({0, 1, 3, 2}) : result;
  Tile start = memory;
  start.offset += image * memory.dims[0].stride + part.y.from * memory.dims[2].stride + part.x.from * memory.dims[3].stride;
  const Tile::Dim ofOutputs{memory.dims[1].stride, outputs};
  const Dims ofRows = rowDims(rows, part.step * memory.dims[2].stride, memory.dims[0].stride, outputs * ofOutputs.stride),
             ofPositions = {{memory.dims[2].stride, part.y.count}, {memory.dims[3].stride, columns}};
  const auto flat = [&](int64_t from, int64_t count) {
    Tile t = tile;
    t.offset += from;
    t.dims = {{1, count}};
    return t;
  };
  const auto blockAt = [&](int64_t output, int64_t y, int64_t x) {
    std::array<int64_t, 4> at{image, output, 0, 0};
    at[static_cast<size_t>(down)] = part.y.from + y;
    at[static_cast<size_t>(across)] = part.x.from + x;
    return BlockAt(dims, at);
  };
  const auto loopsOfRows = [&](auto add) {
    add(down, rows.bands, part.step);
    if (!rows.imagesInside)
      add(BATCH, rows.images, 1);
    add(OUTPUT, rows.groups, outputs);
    if (rows.imagesInside)
      add(BATCH, rows.images, 1);
  };
  if (channelsLast(memory)) { // positions on the partitions, as they are stored
    const int64_t most = epilogue ? std::max<int64_t>(kEpilogueColumns / rows.partitions(), 1) : outputs;
    for (int64_t at = 0; at < positions; at += 128)
      for (int64_t o = 0; o < outputs; o += most) {
        const int64_t n = std::min<int64_t>(128, positions - at), some = std::min(most, outputs - o);
        const Tile t = k.sbuf(tile.dtype, n, {rows.partitions(), some});
        for (int64_t i = 0; i < some; ++i)
          transposeTile(k, t.index(1, i), flat((o + i) * positions + at, n));
        Tile all = t;
        all.dims = {{1, t.elements()}};
        if (!epilogue) {
          Dims stored = ofRows;
          stored.push_back(ofOutputs);
          store(k, start, all, merged(ofPositions), merged(stored), at, rows.first * outputs);
          continue;
        }
        BlockAt b = blockAt(o, 0, 0);
        b.rows(down, part.y.count).rows(across, columns).fromRow(at);
        loopsOfRows([&](int which, int64_t count, int64_t step) { b.columns(which, count, step); });
        epilogue->block(all, b.columns(OUTPUT, some).fromColumn(rows.first * some));
        k.location(location);
      }
    return;
  }
  if (!epilogue) {
    Dims stored = ofPositions;
    stored.insert(stored.begin(), ofOutputs);
    return store(k, start, flat(0, outputs * positions), ofRows, merged(stored), rows.first, 0);
  }
  // Whole images, or whole rows of one, or a part of a row: adjacent on chip.
  const int64_t width = std::min(columns, kEpilogueColumns), height = std::min(part.y.count, kEpilogueColumns / width);
  const bool whole = width == columns && height == part.y.count;
  const int64_t most = whole ? std::max<int64_t>(kEpilogueColumns / positions, 1) : 1;
  for (int64_t o = 0; o < outputs; o += most)
    for (int64_t y = 0; y < part.y.count; y += height)
      for (int64_t x = 0; x < columns; x += width) {
        const int64_t some = std::min(most, outputs - o), ny = std::min(height, part.y.count - y),
                      nx = std::min(width, columns - x);
        BlockAt b = blockAt(o, y, x);
        loopsOfRows([&](int which, int64_t count, int64_t step) { b.rows(which, count, step); });
        epilogue->block(flat(o * positions + y * columns + x, some * ny * nx),
                        b.fromRow(rows.first).columns(OUTPUT, some).columns(down, ny).columns(across, nx));
      }
  k.location(location);
}

} // namespace glia::emit
