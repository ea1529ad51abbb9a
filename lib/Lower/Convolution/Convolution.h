// A convolution as the emitters see it: two spatial axes (a missing one has size 1), dimensions in one order whatever the graph's
// order is, and each axis taken apart into phases.
//
// Output position o and tap k meet the input where o * stride + k * kernelDilation - low is a multiple of inputDilation. So the
// outputs fall into phases (o modulo the inputDilation's share that the stride does not have); in each only some taps meet elements,
// and there the convolution is an ordinary one, without zeros between the elements.
#pragma once
#include "ConvolutionTiles.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

struct ConvolutionAxis {
  int64_t input = 1, kernel = 1, output = 1;
  int64_t stride = 1, low = 0, inputDilation = 1, kernelDilation = 1;
  bool reverse = false;
};

struct ConvolutionPhase {
  struct Tap {
    int64_t kernel; // where it lies in the kernel
    int64_t input;  // input position of the phase's first output
  };
  int64_t first = 0, step = 1, count = 0; // outputs first, first + step, ...
  int64_t stride = 1;                     // input positions from one of them to the next
  int64_t shift = 1;                      // input positions from one tap to the next
  std::vector<Tap> taps;                  // only those that may meet an element
};
std::vector<ConvolutionPhase> phasesOf(const ConvolutionAxis &axis);
// Input positions that outputs [t, t + count) of all phases need, not cut at the borders. `pack` taps share a copy of the input.
Span neededBy(const std::vector<ConvolutionPhase> &phases, int64_t t, int64_t count, int64_t pack = 1);
// Outputs t of a span whose input + t * stride is an element of `size`.
Span reached(int64_t input, int64_t stride, Span t, int64_t size);
Span cut(Span s, int64_t size); // to [0, size)

struct Convolution {
  // [batch, channel, row, column], [output, channel, row, column], [batch, output, row, column], all in HBM.
  Tile input, kernel, result;
  ConvolutionAxis axis[2];
  int64_t groups = 1, batchGroups = 1;
  int64_t firstOutput = 0; // of one of several groups, in the whole result
  DType type = DType::F32; // of the factors on chip
};

// A tensor's shape and type, row-major, without a place.
Tile plainTile(mlir::Value v);
// The sizes alone, for decisions before there is a kernel; tiles have no handles.
Convolution convolutionOf(graph::ConvolutionOp op);
Convolution convolutionOf(graph::ConvolutionOp op, const Tile &input, const Tile &kernel, const Tile &result);
// One of max(groups, batchGroups) independent convolutions without groups.
Convolution groupOf(const Convolution &c, int64_t group);

// An image of one dimension is one row; upright it is one column.
bool isLying(const Convolution &c);
Convolution uprightOf(Convolution c);

// Two ways. Taps: channels (and taps, where channels are few) on the contraction. Positions: positions of the kernel on the contraction,
// for a kernel as large as the input, as in the gradient of weights. What each costs, about in columns through the Tensor engine; nullopt
// if it does not fit the memories.
std::optional<double> tapsCost(const Convolution &c, int64_t sbufBytes);
std::optional<double> positionsCost(const Convolution &c, int64_t sbufBytes);
// `sbufBytes` is what they may use.
class ConvolutionResult;
void emitTaps(KernelBuilder &k, const Convolution &c, int64_t sbufBytes, ConvolutionResult &result);
void emitPositions(KernelBuilder &k, const Convolution &c, int64_t sbufBytes, ConvolutionResult &result);

} // namespace glia::emit
