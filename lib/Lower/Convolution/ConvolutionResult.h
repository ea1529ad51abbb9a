// What becomes of a convolution's sums once they are on chip: they go to HBM, or first through the pointwise operations behind it.
#pragma once
#include "ChannelRows.h"

namespace glia::emit {

class Epilogue;

constexpr int64_t kEpilogueColumns = 512; // of a block that the operations behind a convolution work on

class ConvolutionResult {
public:
  // `result` is [batch, output, row, column]; without an epilogue it is in HBM.
  ConvolutionResult(KernelBuilder &k, graph::ConvolutionOp op, const Tile &result, Epilogue *epilogue);
  // `tile` is [output][batch][row][column] on chip, contiguous, in the type of the result; the spans say where it belongs.
  void put(const Tile &tile, Span batch, Span outputs, Span rows, Span columns);
  // `tile` is [output of a group][y][x] on chip, contiguous, with rows of images and groups on the partitions, from `image` on.
  // `lying`: the image has one dimension, which is y; else y and x are row and column.
  void putRows(const Tile &tile, const ChannelRows &rows, const ImagePart &part, bool lying, int64_t image = 0);

private:
  KernelBuilder &k;
  const mlir::Location location;
  const Tile result;
  Epilogue *epilogue;
  std::vector<int> dims; // which of the result's dimensions batch, output, row and column are; -1: it has none
};

} // namespace glia::emit
