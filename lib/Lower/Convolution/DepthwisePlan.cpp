#include "Depthwise.h"

#include <algorithm>

namespace glia::emit {

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Few rows of images and groups: so many bands of equal size that they fill the partitions, and instructions are not too short.
int64_t bandsOf(const DepthwisePlan &p) {
  constexpr int64_t kShort = 64;
  const int64_t all = p.rows[0].count, width = p.columns[0].count;
  if (p.c.axis[0].output % p.stepRows() != 0)
    return 1;
  for (int64_t bands = std::min(128 / (p.images * p.groups), all); bands > 1; --bands)
    if (all % bands == 0 && all / bands * width >= kShort)
      return bands;
  return 1;
}

int64_t inputBytes(const DepthwisePlan &p, int64_t rows, int64_t columns) {
  const int64_t height = neededBy(p.rows, 0, rows).count, width = neededBy(p.columns, 0, columns).count;
  return p.inputs * height * std::min(width, p.c.axis[1].input) * sizeOf(p.c.input.dtype);
}

} // namespace

std::optional<DepthwisePlan> planDepthwise(const Convolution &c, int64_t sbufBytes) {
  constexpr int64_t kBetween = 12 * kDepthwiseBlock * 4; // products and sums on their way
  constexpr int64_t kPsumBank = 2048;
  if (c.batchGroups != 1)
    return std::nullopt;
  DepthwisePlan p;
  p.lying = isLying(c);
  p.c = p.lying ? uprightOf(c) : c;
  p.rows = phasesOf(p.c.axis[0]);
  p.columns = phasesOf(p.c.axis[1]);
  p.images = c.result.dims[0].count;
  p.groups = c.groups;
  p.inputs = c.input.dims[1].count / c.groups;
  p.outputs = c.kernel.dims[0].count / c.groups;
  if (std::max(p.inputs, p.outputs) > kDepthwiseChannels)
    return std::nullopt;
  const int64_t taps = p.c.axis[0].kernel * p.c.axis[1].kernel;
  p.weightBytes = p.inputs * p.outputs * taps * 4;
  if (p.inputs == 1 && p.outputs == 1) {
    const int64_t beside = groupsBeside(p.images, p.groups, p.rows[0].count * p.columns[0].count);
    if (beside * taps * 4 <= kPsumBank) {
      p.beside = p.inputs = p.outputs = beside;
      p.groups /= beside;
      p.weightBytes *= beside;
    }
  }
  p.bands = p.beside == 1 && p.images * p.groups <= 64 ? bandsOf(p) : 1;
  p.bandRows = p.rows[0].count / p.bands;

  // Two tiles of inputs and of results on their way.
  const int64_t room = (sbufBytes - kBetween) / 2, wide = sizeOf(c.result.dtype);
  const auto fits = [&](int64_t rows, int64_t columns) {
    return inputBytes(p, rows, columns) <= room * 3 / 10 &&
           p.outputs * rows * p.stepRows() * columns * p.stepColumns() * wide <= room / 4;
  };
  if (p.weightBytes > room / 4)
    return std::nullopt;
  p.tileColumns = p.columns[0].count;
  while (p.tileColumns > 1 && !fits(1, p.tileColumns))
    p.tileColumns = ceilDiv(p.tileColumns, 2);
  if (!fits(1, p.tileColumns))
    return std::nullopt;
  p.tileRows = 1;
  if (p.tileColumns == p.columns[0].count)
    while (p.tileRows < p.bandRows && fits(p.tileRows + 1, p.tileColumns))
      ++p.tileRows;
  p.tileRows = ceilDiv(p.bandRows, ceilDiv(p.bandRows, p.tileRows));
  // Two blocks at least, so that one is added up while the other is multiplied.
  constexpr int64_t kShortBlock = 256;
  p.block = std::clamp(ceilDiv(p.beside * p.tileRows * p.tileColumns, 2), kShortBlock, kDepthwiseBlock);
  return p;
}

double costOf(const DepthwisePlan &p) {
  constexpr double kElement = 0.75, kInstruction = 80, kStart = 4000; // ns; an element of a tap, shared by the engines
  double taps = 0, positions = 0;
  for (const ConvolutionPhase &r : p.rows)
    for (const ConvolutionPhase &x : p.columns) {
      const double terms = static_cast<double>(r.taps.size() * x.taps.size()) * static_cast<double>(p.inputs / p.beside);
      const double size = static_cast<double>(p.beside * r.count / p.bands * x.count);
      taps += terms * (size * kElement + kInstruction);
      positions += size;
    }
  const double chunks = static_cast<double>(ceilDiv(p.images * p.groups, 128));
  return chunks * (taps + positions) * static_cast<double>(p.outputs / p.beside) + kStart;
}

} // namespace glia::emit
