// How a convolution with channels on the contraction is cut up: decided from sizes alone.
#pragma once
#include "Convolution.h"
#include "ConvolutionTiles.h"

#include <optional>

namespace glia::emit {

struct TapsPlan {
  std::vector<ConvolutionPhase> rows, columns;
  int64_t batch, channels, outputs;
  // Few channels: copies of the input, shifted by one tap each, lie on further partitions, packRows x packColumns of them.
  int64_t packRows = 1, packColumns = 1;
  bool packed() const { return packRows * packColumns > 1; }
  // Few outputs: the sums of a column of taps and of the next one lie on two halves of the partitions, the second half's for the outputs one
  // column before; the two are added when they leave PSUM. Nothing is multiplied by zeros.
  bool paired = false;
  int64_t tapStep() const { return paired ? 2 : packColumns; }                 // columns of taps in a product
  int64_t secondHalf() const { return outputs <= 32 ? 32 : 64; }               // where it begins
  int64_t sumColumns(int64_t count) const { return count + (paired ? 1 : 0); } // of PSUM, for outputs of a row
  int64_t rowStep = 1;                                                         // only each so manieth input row is needed
  std::vector<Span> channelParts, outputParts;
  // What is on chip at a time: outputs of each phase, of so many images.
  int64_t bandBatch = 1, bandRows = 1, bandColumns = 1;
  int64_t block = 512; // columns of a product
  enum { AllWeights, WeightsOfAPart, StreamedWeights } weights = AllWeights;
  int64_t pieceRows = 0, pieceColumns = 0; // streamed: so many taps of the kernel at a time
  bool bandFits = true; // all channels of a band fit; otherwise they are loaded again for each part of the outputs

  int64_t phaseOutputs(const std::vector<ConvolutionPhase> &phases) const; // most of one phase
  int64_t tileBytes(const Convolution &c, int64_t n, int64_t r,
                    int64_t col) const; // of the input for a band, one part of the channels
};

std::optional<TapsPlan> planTaps(const Convolution &c, int64_t sbufBytes);

} // namespace glia::emit
