// Images with groups of channels on the partitions, for convolutions whose groups are too small for the Tensor engine: one row is one
// group of one image. Where these are few, bands of an image's rows lie on further partitions.
#pragma once
#include "Convolution.h"
#include "Lower/Rows/RowsView.h"

namespace glia::emit {

struct ChannelRows {
  int64_t images = 1, groups = 1;
  bool imagesInside = false;    // row group * images + image; else image * groups + group
  int64_t first = 0, count = 1; // of the rows
  int64_t bands = 1;            // partition b * count + i is band b of row first + i; several: all rows are there
  int64_t partitions() const { return count * bands; }
};

// The rows that share a pass, 128 at most.
std::vector<ChannelRows> chunksOf(ChannelRows all);
// So many groups of one channel lie side by side on a partition, where images are so small that instructions would be too short; 1: it
// does not help.
int64_t groupsBeside(int64_t images, int64_t groups, int64_t positions);

// What lies on chip of each row: positions of an image, from a band to the next `step` of its rows further.
struct ImagePart {
  Span y, x;
  int64_t step = 0;
};

// [channel of a group][y][x] of `source`, which is [image, channel, y, x] in HBM. What lies outside of an image is zero. Channels that lie
// together are read that way and turned on chip, unless there are only so few elements.
Tile loadImages(KernelBuilder &k, const Tile &source, const ChannelRows &rows, const ImagePart &part, int64_t few = 0);

// The rows, as dimensions over a tensor: from a band, an image, a group to the next.
Dims rowDims(const ChannelRows &rows, int64_t band, int64_t image, int64_t group);
// Positions of [image, channel, y, x] lie apart and channels together.
bool channelsLast(const Tile &memory);

} // namespace glia::emit
