#include "ScoreChain.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

constexpr std::string_view kTimes = "multiply";

// Whether factors before the step can as well be behind it.
bool letsThrough(const ScoreStep &s) {
  return s.kind == ScoreStep::Scale || s.kind == ScoreStep::Choose || (s.kind == ScoreStep::Combine && s.name == kTimes);
}

} // namespace

ScoreChain::ScoreChain(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, std::vector<Tile> tensors)
    : k(k), m(m), p(p), tensors(std::move(tensors)) {
  rest = 1 / p.rowFactor;
  for (const ScoreStep &s : m.steps)
    rest = s.kind == ScoreStep::Scale ? rest * s.number : letsThrough(s) ? rest : 1;
  rest *= m.scale;
}

void ScoreChain::moved(int reg) {
  const WeightedAxis &axis = p.batch[static_cast<size_t>(p.loop)];
  for (size_t i = 0; i < m.steps.size(); ++i)
    if (m.steps[i].view.source)
      if (const int64_t stride = m.steps[i].strides[static_cast<size_t>(axis.inScores)])
        tensors[i].moves.push_back({reg, stride * p.step});
}

void ScoreChain::make(const Tile &out, const Tile &scores, int64_t batch, int64_t row, int64_t column) {
  Tile now = scores;
  double scale = 1;
  for (size_t i = p.rowFactor != 1 ? 1 : 0; i < m.steps.size(); ++i) { // the rows have it already
    const ScoreStep &s = m.steps[i];
    switch (s.kind) {
    case ScoreStep::Scale: scale *= s.number; continue;
    case ScoreStep::Function:
      k.activation(out, now, s.name, scale);
      scale = 1;
      break;
    case ScoreStep::Combine: combine(out, now, i, scale, batch, row, column); break;
    case ScoreStep::Choose: {
      const double number = std::isfinite(s.number) ? std::clamp(s.number / scale, -kLargest, kLargest)
                            : scale < 0             ? -s.number
                                                    : s.number;
      Tile mask = beside(i, batch, row, out.partitions, column, out.elements());
      if (mask.elements() == 1)
        mask = mask.broadcast(0, out.elements());
      if (now.space == Space::Psum) {
        k.fill(out, number);
        k.select(out, mask, now, s.reversed);
      } else {
        k.select(out, mask, number, !s.reversed);
      }
      break;
    }
    }
    now = out;
  }
  if (rest < 0)
    k.scalar(out, now, kTimes, rest);
}

void ScoreChain::combine(const Tile &out, const Tile &now, size_t step, double &scale, int64_t batch, int64_t row,
                         int64_t column) {
  const ScoreStep &s = m.steps[step];
  const bool scaled = scale != 1 && !letsThrough(s);
  const Tile other = s.view.source ? beside(step, batch, row, out.partitions, column, out.elements()) : Tile();
  if (other.handle < 0 || other.elements() == 1) {
    const ScalarOperand operand = other.handle < 0 ? ScalarOperand(s.number) : ScalarOperand(other);
    if (scaled)
      k.scalar(out, now, kTimes, scale, false, s.name, operand, s.reversed);
    else
      k.scalar(out, now, s.name, operand, s.reversed);
  } else {
    if (scaled) // apart, so that any engine can do it
      k.scalar(now, now, kTimes, scale);
    k.tensor(out, s.reversed ? other : now, s.reversed ? now : other, s.name);
  }
  if (scaled)
    scale = 1;
}

// The part of a step's tensor beside these scores, or one element per row.
Tile ScoreChain::beside(size_t step, int64_t batch, int64_t row, int64_t n, int64_t column, int64_t count) {
  const ScoreStep &s = m.steps[step];
  const auto along = [&](int d) { return d < 0 ? 0 : s.strides[static_cast<size_t>(d)]; };
  const int64_t down = along(p.row.inScores), across = along(p.column);
  Tile from = tensors[step];
  for (size_t i = 0; i < p.batch.size(); ++i)
    from.offset += p.indexOf(batch, i) * along(p.batch[i].inScores);
  from.dims = {{down, p.row.count}, {across, p.columns}};
  if (down && across)
    return loadBlock(k, from, row, n, column, count, from.dtype);
  const auto it = kept.find(step);
  const int64_t place = down ? row : 0;
  if (it == kept.end() || it->second.offset != from.offset || it->second.row != place || it->second.tile.partitions < n) {
    const Tile tile = across                        ? k.sbuf(from.dtype, n, {p.columns})
                      : s.kind == ScoreStep::Choose ? k.sbuf(from.dtype, n, {1})
                                                    : k.sbuf(DType::F32, n, {1});
    k.copy(tile, from.part(0, place, n).part(1, 0, across ? p.columns : 1));
    kept.insert_or_assign(step, Kept{from.offset, place, tile});
  }
  const Tile whole = kept.at(step).tile.rows(0, n);
  return across ? whole.columns(column, count) : whole;
}

} // namespace glia::emit
