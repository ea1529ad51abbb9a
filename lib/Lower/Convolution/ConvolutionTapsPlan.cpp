#include "ConvolutionTaps.h"

#include <algorithm>

namespace glia::emit {

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t mostTaps(const std::vector<ConvolutionPhase> &phases) {
  size_t n = 0;
  for (const ConvolutionPhase &p : phases)
    n = std::max(n, p.taps.size());
  return static_cast<int64_t>(n);
}

int64_t tapGroups(const ConvolutionPhase &p, int64_t pack) { return ceilDiv(static_cast<int64_t>(p.taps.size()), pack); }

int64_t allGroups(const TapsPlan &p) {
  int64_t rows = 0, columns = 0;
  for (const ConvolutionPhase &x : p.rows)
    rows += tapGroups(x, p.packRows);
  for (const ConvolutionPhase &x : p.columns)
    columns += tapGroups(x, p.tapStep()) * (p.paired ? 2 : 1);
  return rows * columns;
}

// As many copies as fill the partitions, but not more than make a product fewer.
int64_t packOf(int64_t taps, int64_t room) {
  const int64_t pack = std::min(taps, room);
  return pack < 2 ? 1 : ceilDiv(taps, ceilDiv(taps, pack));
}

void choosePacking(TapsPlan &p) {
  p.packRows = packOf(mostTaps(p.rows), 128 / p.channels);
  // Copies that a product does not need must be the last ones: with two kinds of shifts the inner kind is always complete.
  const bool complete = std::all_of(p.rows.begin(), p.rows.end(), [&](const ConvolutionPhase &x) {
    return static_cast<int64_t>(x.taps.size()) % p.packRows == 0;
  });
  if (complete)
    p.packColumns = packOf(mostTaps(p.columns), 128 / (p.channels * p.packRows));
  if (p.rows.size() == 1 && tapGroups(p.rows[0], p.packRows) == 1 && p.packed())
    p.rowStep = p.rows[0].stride;
}

// Taps of two columns meet an input at outputs that are one apart. Their sums leave PSUM one after the other, which takes as long as one fp32
// product: it is worth two.
bool isWorthPairs(const TapsPlan &p, const Convolution &c) {
  if (!p.packed() || p.packColumns > 1 || p.outputs > 64 || sizeOf(c.type) != 4 || p.rows.size() != 1 ||
      p.columns.size() != 1 || p.columns[0].stride != 1 || p.columns[0].shift != 1)
    return false;
  const int64_t taps = static_cast<int64_t>(p.columns[0].taps.size());
  return tapGroups(p.rows[0], p.packRows) * (taps - ceilDiv(taps, 2)) >= 2;
}

} // namespace

int64_t TapsPlan::phaseOutputs(const std::vector<ConvolutionPhase> &phases) const {
  return phases.empty() ? 0 : phases[0].count; // the first one is never shorter than the others
}

int64_t TapsPlan::tileBytes(const Convolution &c, int64_t n, int64_t r, int64_t col) const {
  int64_t height = neededBy(rows, 0, r, packRows).count, width = neededBy(columns, 0, col, packColumns).count;
  if (packed())
    height = ceilDiv(height, rowStep);
  else
    height = std::min(height, c.axis[0].input), width = std::min(width, c.axis[1].input);
  return n * height * width * sizeOf(c.type);
}

std::optional<TapsPlan> planTaps(const Convolution &c, int64_t sbufBytes) {
  TapsPlan p;
  p.rows = phasesOf(c.axis[0]);
  p.columns = phasesOf(c.axis[1]);
  p.batch = c.result.dims[0].count;
  p.channels = c.input.dims[1].count;
  p.outputs = c.kernel.dims[0].count;
  const int64_t room = sbufBytes / 2 - 4096, size = sizeOf(c.type);
  if (p.channels <= 64)
    choosePacking(p);
  const int64_t everyTap = c.axis[0].kernel * c.axis[1].kernel;
  if (p.packed() && std::max(allGroups(p), everyTap) * std::min<int64_t>(p.outputs, 128) * size * 2 > room / 3)
    p.packRows = p.packColumns = p.rowStep = 1; // too many taps to hold their weights
  p.paired = isWorthPairs(p, c);
  p.channelParts = spansOf(p.channels, 128);
  p.outputParts = spansOf(p.outputs, 128);

  // Weights: all of them, those of one part of the outputs (two on their way), or a piece at a time.
  const int64_t taps = p.packed() ? allGroups(p) : everyTap;
  const int64_t parts = static_cast<int64_t>(p.channelParts.size()),
                part = p.outputParts.empty() ? 0 : p.outputParts[0].count;
  const int64_t all = parts * taps * (p.paired ? p.secondHalf() : p.outputs) * size, one = parts * taps * part * size;
  int64_t held = all;
  if (all > room * 2 / 5) {
    p.weights = TapsPlan::WeightsOfAPart;
    held = 2 * one;
    if (held > room / 2) {
      p.weights = TapsPlan::StreamedWeights;
      const int64_t most = std::max<int64_t>(room / 5 / (part * size), 1);
      p.pieceColumns = std::min(c.axis[1].kernel, most);
      p.pieceRows = std::max<int64_t>(std::min(c.axis[0].kernel, most / p.pieceColumns), 1);
      held = 2 * p.pieceRows * p.pieceColumns * part * size;
    }
  }
  // The band: two of them and two results on their way.
  const int64_t forInput = (room - held) * 3 / 10, forResult = (room - held) / 6, wide = sizeOf(c.result.dtype);
  const int64_t steps = (p.rows.empty() ? 1 : p.rows[0].step) * (p.columns.empty() ? 1 : p.columns[0].step);
  const int64_t allRows = p.phaseOutputs(p.rows), allColumns = p.phaseOutputs(p.columns);
  for (bool together : {true, false}) {
    const int64_t tiles = together ? parts : 1;
    const auto fits = [&](int64_t n, int64_t r, int64_t col) {
      return p.tileBytes(c, n, r, col) * tiles <= forInput && n * r * col * steps * wide <= forResult;
    };
    p.bandFits = together;
    p.bandBatch = p.bandRows = 1;
    p.bandColumns = allColumns;
    while (p.bandColumns > 1 && !fits(1, 1, p.bandColumns))
      p.bandColumns = ceilDiv(p.bandColumns, 2);
    if (!fits(1, 1, p.bandColumns) || (together && p.bandColumns < std::min<int64_t>(allColumns, 64))) {
      if (together)
        continue;
      return std::nullopt;
    }
    if (p.bandColumns == allColumns)
      while (p.bandRows < allRows && fits(1, p.bandRows + 1, allColumns))
        ++p.bandRows;
    if (p.bandRows == allRows)
      while (p.bandBatch < p.batch && fits(p.bandBatch + 1, allRows, allColumns))
        ++p.bandBatch;
    break;
  }
  // Whole blocks, and bands of about the same size.
  const int64_t rowsOfBlock = std::max<int64_t>(p.block / std::max<int64_t>(p.sumColumns(p.bandColumns), 1), 1);
  if (p.bandRows < allRows) {
    p.bandRows = ceilDiv(allRows, ceilDiv(allRows, p.bandRows));
    if (p.bandRows > rowsOfBlock)
      p.bandRows -= p.bandRows % rowsOfBlock;
  }
  return p;
}

std::optional<double> tapsCost(const Convolution &c, int64_t sbufBytes) {
  const std::optional<TapsPlan> p = planTaps(c, sbufBytes);
  if (!p)
    return std::nullopt;
  double columns = 0;
  for (const ConvolutionPhase &r : p->rows)
    for (const ConvolutionPhase &x : p->columns) {
      const double groups = static_cast<double>(tapGroups(r, p->packRows) * tapGroups(x, p->tapStep()));
      const int64_t width = std::min(x.count, p->bandColumns), height = std::min(r.count, p->bandRows);
      const int64_t tc = std::min(width, p->block), tr = std::min(height, p->block / tc),
                    tn = tr == height ? std::min(p->bandBatch, p->block / (tc * tr)) : 1;
      const double blocks = static_cast<double>(ceilDiv(x.count, tc) * ceilDiv(r.count, tr) * ceilDiv(p->batch, tn));
      columns += groups * blocks * static_cast<double>(std::max<int64_t>(tc * tr * tn, 64) + 16);
    }
  return columns * static_cast<double>(p->channelParts.size() * p->outputParts.size());
}

} // namespace glia::emit
