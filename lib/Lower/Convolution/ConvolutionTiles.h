// Loads and stores of the tiles that convolutions work on, whichever way the tensors lie in memory.
#pragma once
#include "glia/Lower/KernelBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace glia::emit {

struct Span {
  int64_t from = 0, count = 0;
};
std::vector<Span> spansOf(int64_t size, int64_t most); // as few as possible, nearly equal

// `tile` is [channel][a][b][c] on chip, contiguous; `source` is [channel, a, b, c] in HBM. Channels that lie together are read that
// way and turned on chip.
void loadChannels(KernelBuilder &k, const Tile &tile, const Tile &source);
void storeChannels(KernelBuilder &k, const Tile &target, const Tile &tile);
// Channels of [channel, a, b, c] in HBM lie together, positions apart.
bool turned(const Tile &memory);
// Calls back with pieces of at most 128 positions of `tile`, all channels: the piece, the spans of a, b and c that it is a part of, as
// many as lie at equal distances, and where in these it begins.
void forPositions(const Tile &memory, const Tile &tile,
                  llvm::function_ref<void(const Tile &piece, Span a, Span b, Span c, int64_t at)> call);

// A part of a kernel [output, channel, row, column] with channels on the partitions: dims [row][column][output] in any order in
// memory. At most 128 outputs and channels.
Tile loadKernel(KernelBuilder &k, const Tile &part, DType type);

} // namespace glia::emit
