#include "TurnShares.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr double kSide = 128;

} // namespace

TurnShares::TurnShares(const Target &t)
    : vectorNs(1 / t.number("clock.vector")), scalarNs(1 / t.number("clock.scalar")), floor(t.number("cost.issue_floor")),
      tensorNs(1 / t.number("clock.tensor")), passes(t.number("cost.fp32_passes")) {
  pieceNs = std::max(t.number("limit.vector_transpose"), floor) * vectorNs;
  weightsNs = t.number("cost.load_weights_start") + kSide / t.number("cost.load_weights_speedup") * tensorNs;
  // With an identity half of the passes, or as long as the weights take to load.
  const double half = passes / 2 * kSide * tensorNs;
  turnNs = std::max(half, t.number("cost.load_weights_start") + half / 2);
}

void TurnShares::multiplied(int64_t columns, bool wide) {
  const double streams = std::max(static_cast<double>(columns), floor) * tensorNs * (wide ? passes : 1);
  tensor += std::max(streams, wide ? 0 : weightsNs);
}

void TurnShares::left(int64_t columns) { vector += static_cast<double>(columns) * vectorNs; }

void TurnShares::meet() {
  vector = std::max(vector, tensor);
  scalar = std::max(scalar, tensor);
}

bool TurnShares::tensorTurns(int64_t pieces, int64_t products, int64_t columns) {
  const double byVector = vector + static_cast<double>(pieces) * pieceNs,
               byTensor = std::max(tensor + static_cast<double>(products) * turnNs,
                                   scalar + static_cast<double>(columns) * scalarNs);
  if (byVector <= byTensor) {
    vector = byVector;
    return false;
  }
  tensor += static_cast<double>(products) * turnNs;
  scalar += static_cast<double>(columns) * scalarNs;
  return true;
}

bool TurnShares::scalarTakes(int64_t columns) {
  const double byVector = vector + static_cast<double>(columns) * vectorNs,
               byScalar = scalar + static_cast<double>(columns) * scalarNs;
  (byScalar < byVector ? scalar : vector) = std::min(byScalar, byVector);
  return byScalar < byVector;
}

} // namespace glia::emit
