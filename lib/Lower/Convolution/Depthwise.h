// Convolutions of many groups with few channels each, as in depthwise ones: groups and images on the partitions, a tap is a shifted and
// strided view of the input times one number per partition. Vector, Scalar and GpSimd share the work; nothing meets a channel of another
// group.
#pragma once
#include "ChannelRows.h"

namespace glia::emit {

class ConvolutionResult;

struct DepthwisePlan {
  Convolution c;      // an image of one dimension stands upright: it is rows
  bool lying = false; // and in the graph they are columns
  std::vector<ConvolutionPhase> rows, columns;
  // Groups of one channel that lie side by side on a partition. They are one group here, and an output needs only its own channel.
  int64_t beside = 1;
  int64_t images, groups, inputs, outputs; // the last two of a group
  int64_t bands = 1;                       // of an image, on partitions
  int64_t bandRows;                        // outputs of a phase in one
  int64_t tileRows, tileColumns;           // on chip at a time, of each phase
  int64_t block;                           // positions of an instruction
  int64_t weightBytes;

  int64_t stepRows() const { return rows[0].step; }
  int64_t stepColumns() const { return columns[0].step; }
};

std::optional<DepthwisePlan> planDepthwise(const Convolution &c, int64_t sbufBytes);
// Nanoseconds, about.
double costOf(const DepthwisePlan &p);
void emitDepthwise(KernelBuilder &k, const DepthwisePlan &p, ConvolutionResult &result);

// The gradient of their weights: groups of the batch. The kernel is as large as the input, and each of the few outputs of a group is a
// sum along its partition.
struct DepthwiseGradientPlan {
  Convolution c; // upright, as above
  bool lying = false;
  int64_t beside = 1;
  int64_t images, groups, inputs, outputs;
  int64_t imagesAtOnce; // on partitions
  int64_t tileRows;     // of the kernel on chip at a time
};
std::optional<DepthwiseGradientPlan> planDepthwiseGradient(const Convolution &c, int64_t sbufBytes);
double costOf(const DepthwiseGradientPlan &p);
void emitDepthwiseGradient(KernelBuilder &k, const DepthwiseGradientPlan &p, ConvolutionResult &result);

constexpr int64_t kDepthwiseChannels = 32; // most inputs and outputs of a group
constexpr int64_t kDepthwiseBlock = 1024;  // most positions of an instruction

} // namespace glia::emit
