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

void ConvolutionResult::putRows(const Tile &tile, const ChannelRows &rows, const ImagePart &part, int64_t output, bool lying,
                                int64_t image) {
  const int64_t outputs = result.dims[1].count / rows.groups;
  const int down = lying ? COLUMN : ROW, across = lying ? ROW : COLUMN;
  const Tile memory = lying ? result.permuted({0, 1, 3, 2}) : result;
  Tile start = memory;
  start.offset += image * memory.dims[0].stride + output * memory.dims[1].stride + part.y.from * memory.dims[2].stride +
                  part.x.from * memory.dims[3].stride;
  const int64_t columns = part.x.count, positions = part.y.count * columns;
  const Dims ofRows = rowDims(memory, rows, outputs, part.step),
             ofPositions = merged({{memory.dims[2].stride, part.y.count}, {memory.dims[3].stride, columns}});
  Tile all = tile;
  all.dims = {{1, positions}};
  const auto blockAt = [&](int64_t y, int64_t x) {
    std::array<int64_t, 4> at{image, output, 0, 0};
    at[static_cast<size_t>(down)] = part.y.from + y;
    at[static_cast<size_t>(across)] = part.x.from + x;
    return BlockAt(dims, at);
  };
  if (channelsLast(memory)) { // positions on the partitions, as they are stored
    for (int64_t at = 0; at < positions; at += 128) {
      const int64_t n = std::min<int64_t>(128, positions - at);
      const Tile t = k.sbuf(tile.dtype, n, {rows.partitions()});
      transposeTile(k, t, all.columns(at, n));
      if (!epilogue) {
        store(k, start, t, ofPositions, ofRows, at, rows.first);
        continue;
      }
      epilogue->block(t, blockAt(0, 0)
                             .rows(down, part.y.count)
                             .rows(across, columns)
                             .fromRow(at)
                             .columns(down, rows.bands, part.step)
                             .columns(BATCH, rows.images)
                             .columns(OUTPUT, rows.groups, outputs)
                             .fromColumn(rows.first));
      k.location(location);
    }
    return;
  }
  if (!epilogue)
    return store(k, start, all, ofRows, ofPositions, rows.first, 0);
  const int64_t width = std::min(columns, kEpilogueColumns), height = std::max<int64_t>(kEpilogueColumns / columns, 1);
  for (int64_t y = 0; y < part.y.count; y += height)
    for (int64_t x = 0; x < columns; x += width) {
      const int64_t ny = std::min(height, part.y.count - y), nx = std::min(width, columns - x);
      epilogue->block(all.columns(y * columns + x, ny * nx), blockAt(y, x)
                                                                 .rows(down, rows.bands, part.step)
                                                                 .rows(BATCH, rows.images)
                                                                 .rows(OUTPUT, rows.groups, outputs)
                                                                 .fromRow(rows.first)
                                                                 .columns(down, ny)
                                                                 .columns(across, nx));
    }
  k.location(location);
}

} // namespace glia::emit
