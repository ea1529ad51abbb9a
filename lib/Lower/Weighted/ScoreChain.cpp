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

bool isPower(double of2) {
  int power = 0;
  return std::frexp(of2, &power) == 0.5;
}

} // namespace

ScoreChain::ScoreChain(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p,
                       std::vector<std::vector<Tile>> tensors)
    : k(k), m(m), p(p), tensors(std::move(tensors)) {
  rest = 1 / p.rowFactor;
  bool any = false; // numbers of any size may be left
  for (const ScoreStep &s : m.steps) {
    rest = s.kind == ScoreStep::Scale ? rest * s.number : letsThrough(s) ? rest : 1;
    any = letsThrough(s) ? any : !s.beside.views.empty();
  }
  rest *= m.scale;
  applied = rest < 0 || (any && !isPower(rest));
}

double ScoreChain::masked() const {
  const double n = unscaled(m.masked, rest);
  return applied ? static_cast<float>(n) * static_cast<float>(rest) : n; // with the rounding of the instruction
}

// A number divided by a factor of what is exponentiated.
double ScoreChain::unscaled(double number, double scale) const {
  constexpr double kFar = 1e5; // beyond, a number only has to be the same wherever it stands
  if (!std::isfinite(number))
    return scale < 0 ? -number : number;
  const double n = std::clamp(number / scale, -kLargest, kLargest);
  if (isPower(factor()) || std::abs(n * factor()) < kFar)
    return n;
  // exp takes the factor, and does not round its product with a number. That with the largest of a row is rounded: unless it is exact,
  // the difference of the two is not 0 in rows of which all is this number.
  return std::copysign(std::exp2(std::min(127.0, std::round(std::log2(std::abs(n))))), n);
}

void ScoreChain::moved(int reg) {
  const WeightedAxis &axis = p.batch[static_cast<size_t>(p.loop)];
  for (size_t i = 0; i < m.steps.size(); ++i)
    for (size_t j = 0; j < tensors[i].size(); ++j)
      if (const int64_t stride = m.steps[i].strides[j][static_cast<size_t>(axis.inScores)])
        tensors[i][j].moves.push_back({reg, stride * p.step});
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
      const double number = unscaled(s.number, scale);
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
  if (applied)
    k.scalar(out, now, kTimes, rest);
  else if (now.space == Space::Psum)
    k.move(out, now);
}

void ScoreChain::combine(const Tile &out, const Tile &now, size_t step, double &scale, int64_t batch, int64_t row,
                         int64_t column) {
  const ScoreStep &s = m.steps[step];
  const bool scaled = scale != 1 && !letsThrough(s);
  const Tile other = !s.beside.views.empty() ? beside(step, batch, row, out.partitions, column, out.elements()) : Tile();
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

// The product of a step's tensors beside these scores, or one element per row.
Tile ScoreChain::beside(size_t step, int64_t batch, int64_t row, int64_t n, int64_t column, int64_t count) {
  const TensorProduct &product = m.steps[step].beside;
  Tile a = viewed(step, 0, batch, row, n, column, count);
  if (product.views.size() == 1 && product.number == 1)
    return a;
  if (product.views.size() == 1) {
    const Tile out = k.sbuf(DType::F32, n, {a.elements()});
    k.scalar(out, a, kTimes, product.number);
    return out;
  }
  Tile b = viewed(step, 1, batch, row, n, column, count);
  if (a.elements() == 1)
    std::swap(a, b);
  const Tile out = k.sbuf(DType::F32, n, {a.elements()});
  if (b.elements() > 1) {
    k.tensor(out, a, b, kTimes);
    if (product.number != 1)
      k.scalar(out, out, kTimes, product.number);
  } else if (product.number != 1) {
    k.scalar(out, a, kTimes, b, false, kTimes, product.number);
  } else {
    k.scalar(out, a, kTimes, b);
  }
  return out;
}

// The part of a tensor beside these scores, or one element per row.
Tile ScoreChain::viewed(size_t step, size_t view, int64_t batch, int64_t row, int64_t n, int64_t column, int64_t count) {
  const ScoreStep &s = m.steps[step];
  const auto along = [&](int d) { return d < 0 ? 0 : s.strides[view][static_cast<size_t>(d)]; };
  const int64_t down = along(p.row.inScores), across = along(p.column);
  Tile from = tensors[step][view];
  for (size_t i = 0; i < p.batch.size(); ++i)
    from.offset += p.indexOf(batch, i) * along(p.batch[i].inScores);
  from.dims = {{down, p.row.count}, {across, p.columns}};
  if (down && across)
    return loadBlock(k, from, row, n, column, count, from.dtype);
  const auto key = std::pair(step, view);
  const auto it = kept.find(key);
  const int64_t place = down ? row : 0;
  if (it == kept.end() || it->second.offset != from.offset || it->second.row != place || it->second.tile.partitions < n) {
    // One number per partition is fp32; a mask stays what it is.
    const Tile tile = k.sbuf(across || s.kind == ScoreStep::Choose ? from.dtype : DType::F32, n, {across ? p.columns : 1});
    k.copy(tile, from.part(0, place, n).part(1, 0, across ? p.columns : 1));
    kept.insert_or_assign(key, Kept{from.offset, place, tile});
  }
  const Tile whole = kept.at(key).tile.rows(0, n);
  return across ? whole.columns(column, count) : whole;
}

} // namespace glia::emit
