#include "ConvolutionTiles.h"
#include "Lower/Contract/OperandTiles.h"
#include "Lower/Rows/RowsView.h"

#include <algorithm>

namespace glia::emit {

namespace {

// Bytes: shorter runs are turned on chip instead, which costs less where the Tensor engine does it.
constexpr int64_t kShortRun = 64, kShortRunSlowly = 32;
constexpr int64_t kFewTransfers = 2048; // so many short runs are cheaper than turning them on chip

// Elements that lie together when the dimensions are read in this order.
int64_t runOf(const std::vector<Tile::Dim> &dims) {
  int64_t run = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i].count == 1)
      continue;
    if (dims[i].stride != run)
      break;
    run *= dims[i].count;
  }
  return run;
}

// Slowest first.
std::vector<int> byStride(const Tile &t, std::vector<int> dims) {
  const auto stride = [&](int d) { return t.dims[static_cast<size_t>(d)].stride; };
  std::sort(dims.begin(), dims.end(), [&](int a, int b) { return stride(a) != stride(b) ? stride(a) > stride(b) : a < b; });
  return dims;
}

} // namespace

bool turned(const Tile &memory) {
  return memory.dims[0].stride == 1 && memory.dims[0].count > 1 &&
         runOf({memory.dims.begin() + 1, memory.dims.end()}) == 1 &&
         memory.dims[1].count * memory.dims[2].count * memory.dims[3].count > 1;
}

void forPositions(const Tile &memory, const Tile &tile,
                  llvm::function_ref<void(const Tile &piece, Span a, Span b, Span c, int64_t at)> call) {
  const int64_t columns = memory.dims[3].count;
  const auto even = [&](long from) { return merged({memory.dims.begin() + from, memory.dims.end()}).size() < 2; };
  const int64_t images = even(1) ? memory.dims[1].count : 1, rows = even(2) ? memory.dims[2].count : 1;
  const int64_t all = images * rows * columns;
  for (int64_t a = 0; a < memory.dims[1].count; a += images)
    for (int64_t b = 0; b < memory.dims[2].count; b += rows) {
      Tile t = tile.part(0, a, images).part(1, b, rows);
      t.dims = {{1, all}};
      for (int64_t at = 0; at < all; at += 128)
        call(t.part(0, at, std::min<int64_t>(128, all - at)), {a, images}, {b, rows}, {0, columns}, at);
    }
}

// The piece in HBM: [positions, channel].
static Tile positionsOf(const Tile &memory, Span a, Span b, int64_t at, int64_t count) {
  Tile m = memory.part(1, a.from, a.count).part(2, b.from, b.count);
  const Dims positions = merged({m.dims.begin() + 1, m.dims.end()});
  m.dims = {positions.empty() ? Tile::Dim{1, 1} : positions[0], memory.dims[0]};
  return m.part(0, at, count);
}

std::vector<Span> spansOf(int64_t size, int64_t most) {
  const int64_t parts = (size + most - 1) / most;
  std::vector<Span> out;
  for (int64_t i = 0, from = 0; i < parts; ++i) {
    const int64_t count = (size - from + parts - i - 1) / (parts - i);
    out.push_back({from, count});
    from += count;
  }
  return out;
}

void loadChannels(KernelBuilder &k, const Tile &tile, const Tile &source) {
  if (!turned(source))
    return k.copy(tile, source);
  forPositions(source, tile, [&](const Tile &piece, Span a, Span b, Span, int64_t at) {
    const Tile t = k.sbuf(tile.dtype, piece.elements(), {tile.partitions});
    k.copy(t, positionsOf(source, a, b, at, piece.elements()));
    transposeTile(k, piece, t);
  });
}

void storeChannels(KernelBuilder &k, const Tile &target, const Tile &tile) {
  if (!turned(target))
    return k.copy(target, tile);
  forPositions(target, tile, [&](const Tile &piece, Span a, Span b, Span, int64_t at) {
    const Tile t = k.sbuf(tile.dtype, piece.elements(), {tile.partitions});
    transposeTile(k, t, piece);
    k.copy(positionsOf(target, a, b, at, piece.elements()), t);
  });
}

Tile loadKernel(KernelBuilder &k, const Tile &part, DType type) {
  const int64_t outputs = part.dims[0].count, channels = part.dims[1].count, rows = part.dims[2].count,
                columns = part.dims[3].count;
  // With channels on the partitions, as they lie.
  const std::vector<int> rest = byStride(part, {0, 2, 3});
  const Tile direct = part.permuted({1, rest[0], rest[1], rest[2]});
  const int64_t run = runOf({direct.dims.begin() + 1, direct.dims.end()});
  const std::vector<int> other = byStride(part, {1, 2, 3});
  const Tile outputsFirst = part.permuted({0, other[0], other[1], other[2]});
  const int64_t shortest = k.target().has("exact_transpose") ? kShortRun : kShortRunSlowly;
  const bool few = channels * outputs * rows * columns / run <= kFewTransfers;
  if (run * sizeOf(part.dtype) >= shortest || few ||
      runOf({outputsFirst.dims.begin() + 1, outputsFirst.dims.end()}) <= run) {
    const Tile t = k.sbuf(type, channels, {direct.dims[1].count, direct.dims[2].count, direct.dims[3].count});
    k.copy(t, direct);
    std::vector<int> order(3); // back to row, column, output
    for (int i = 0; i < 3; ++i)
      order[static_cast<size_t>(rest[static_cast<size_t>(i)] == 0 ? 2 : rest[static_cast<size_t>(i)] - 2)] = i;
    return t.permuted(order);
  }
  // With outputs on the partitions, then each tap turned.
  const Tile t = k.sbuf(type, outputs, {outputsFirst.dims[1].count, outputsFirst.dims[2].count, outputsFirst.dims[3].count});
  k.copy(t, outputsFirst);
  std::vector<int> order(3); // to channel, row, column
  for (int i = 0; i < 3; ++i)
    order[static_cast<size_t>(other[static_cast<size_t>(i)] - 1)] = i;
  const Tile lying = t.permuted(order);
  const Tile out = k.sbuf(type, channels, {rows, columns, outputs});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      transposeTile(k, out.index(0, r).index(0, c), lying.index(1, r).index(1, c));
  return out;
}

} // namespace glia::emit
