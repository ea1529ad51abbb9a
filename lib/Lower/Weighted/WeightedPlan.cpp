#include "WeightedPlan.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Contract/TurnedBlocks.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

// The Tensor engine takes fp32 with fp32, and 16-bit floats with each other.
bool takes(DType t) { return t == DType::F32 || t == DType::BF16 || t == DType::F16; }

graph::DotDimensionNumbersAttr numbersOf(graph::DotGeneralOp op) { return op.getDotDimensionNumbers(); }

class Planner {
public:
  Planner(const WeightedMean &m, const Target &target, const Tile *left, const Tile *right, const Tile *values)
      : m(m), target(target), tiles{left, right, values}, scores(numbersOf(m.scores)), result(numbersOf(m.result)) {
    operands[0] = m.scores->getOperand(0);
    operands[1] = m.scores->getOperand(1);
    operands[2] = m.result->getOperand(1 - m.side);
  }

  std::optional<WeightedPlan> run() {
    for (mlir::Value v : {operands[0], operands[1], operands[2], m.result->getOperand(m.side)})
      if (splatOf(v) || !takes(heldType(v)))
        return std::nullopt;
    if (!axes())
      return std::nullopt;
    sources();
    if (!conditions() || !steps())
      return std::nullopt;
    if (!p.together && !p.group)
      p.piecesAt = roomForPieces();
    chooseLoop();
    return std::move(p);
  }

private:
  const WeightedMean &m;
  const Target &target;
  const Tile *tiles[3];
  mlir::Value operands[3]; // of the scores: left, right; the values
  graph::DotDimensionNumbersAttr scores, result;
  WeightedPlan p;
  int columnSide = 1; // of the scores' operands
  llvm::DenseMap<int, std::pair<int, int64_t>>
      where; // of a dimension of the scores: the operand and its dimension (batch: left)
  llvm::DenseMap<int, int64_t> rightBatch, valueDim; // of the right operand; of the values (batch and column)

  void readScores() {
    int d = 0;
    for (size_t i = 0; i < scores.getLhsBatchingDimensions().size(); ++i, ++d) {
      where[d] = {2, scores.getLhsBatchingDimensions()[i]};
      rightBatch[d] = scores.getRhsBatchingDimensions()[i];
    }
    for (int side : {0, 1})
      for (int64_t i : freeDims(shapeOf(operands[side]).size(),
                                side ? scores.getRhsBatchingDimensions() : scores.getLhsBatchingDimensions(),
                                side ? scores.getRhsContractingDimensions() : scores.getLhsContractingDimensions()))
        where[d++] = {side, i};
  }

  bool axes() {
    readScores();
    const std::vector<int64_t> shape = shapeOf(m.scores->getResult(0));
    const auto wb = m.side ? result.getRhsBatchingDimensions() : result.getLhsBatchingDimensions(),
               vb = m.side ? result.getLhsBatchingDimensions() : result.getRhsBatchingDimensions(),
               wc = m.side ? result.getRhsContractingDimensions() : result.getLhsContractingDimensions(),
               vc = m.side ? result.getLhsContractingDimensions() : result.getRhsContractingDimensions();
    const std::vector<int64_t> wf = freeDims(m.place.size(), wb, wc), vf = freeDims(shapeOf(operands[2]).size(), vb, vc);
    // One dimension of columns, of one operand of the scores.
    for (size_t i = 0; i < wc.size(); ++i)
      if (const int d = m.place[static_cast<size_t>(wc[i])]; d >= 0) {
        if (p.column >= 0 || where[d].first == 2)
          return false;
        p.column = d;
        columnSide = where[d].first;
        valueDim[d] = vc[i];
      }
    if (p.column < 0)
      return false;
    llvm::DenseMap<int, int> inResult;
    for (size_t i = 0; i < wb.size(); ++i)
      if (const int d = m.place[static_cast<size_t>(wb[i])]; d >= 0) {
        if (where[d].first != 2)
          return false;
        inResult[d] = static_cast<int>(i);
        valueDim[d] = vb[i];
      }
    const int before = static_cast<int>(wb.size()), own = m.side ? before + static_cast<int>(vf.size()) : before;
    for (size_t i = 0; i < wf.size(); ++i)
      if (const int d = m.place[static_cast<size_t>(wf[i])]; d >= 0) {
        if (where[d].first != 1 - columnSide)
          return false;
        inResult[d] = own + static_cast<int>(i);
      }
    const int first = m.side ? before : before + static_cast<int>(wf.size());
    for (size_t i = 0; i < vf.size(); ++i)
      p.widthDims.push_back(first + static_cast<int>(i));
    p.width = widthOf(m);
    // Rows are the longest dimension, or that of the conditions.
    std::vector<WeightedAxis> rows;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const int64_t n = shape[static_cast<size_t>(d)];
      if (n == 1 || d == p.column)
        continue;
      if (!inResult.contains(d))
        return false;
      (where[d].first == 2 ? p.batch : rows).push_back({d, inResult[d], n});
    }
    const auto conditioned = [&](const WeightedAxis &a) {
      return llvm::any_of(m.keep, [&](const IndexCondition &c) { return c.factors[static_cast<size_t>(a.inScores)] != 0; });
    };
    const auto longest = std::max_element(rows.begin(), rows.end(), [&](const WeightedAxis &a, const WeightedAxis &b) {
      return std::pair(conditioned(a), a.count) < std::pair(conditioned(b), b.count);
    });
    if (longest != rows.end()) {
      p.row = *longest;
      rows.erase(longest);
    }
    for (const WeightedAxis &a : rows) {
      p.sharing *= a.count;
      p.batch.push_back(a);
    }
    for (const WeightedAxis &a : p.batch)
      p.batches *= a.count;
    p.columns = shape[static_cast<size_t>(p.column)];
    for (int64_t d : scores.getLhsContractingDimensions())
      p.contract *= shapeOf(operands[0])[static_cast<size_t>(d)];
    return p.columns * p.contract * p.width * p.batches * p.row.count > 0;
  }

  int64_t stride(int operand, int64_t d) const {
    return tiles[operand] ? tiles[operand]->dims[static_cast<size_t>(d)].stride : 1;
  }

  // Of an operand of the scores, along a dimension of theirs.
  int64_t along(int operand, int d) const {
    const auto &[side, dim] = where.at(d);
    if (side == 2)
      return stride(operand, operand ? rightBatch.at(d) : dim);
    return side == operand ? stride(operand, dim) : 0;
  }

  void sources() {
    const auto type = [&](mlir::Value a, mlir::Value b) { return heldType(a) == DType::F32 || heldType(b) == DType::F32; };
    const bool wide = type(operands[0], operands[1]);
    for (int side : {0, 1}) {
      PanelSource &s = side == columnSide ? p.columnSide : p.rowSide;
      if (tiles[side])
        s.tensor = *tiles[side];
      s.type = wide ? DType::F32 : heldType(operands[side]);
      for (const WeightedAxis &a : p.batch)
        s.batch.push_back({along(side, a.inScores), a.count});
      const auto contract = side ? scores.getRhsContractingDimensions() : scores.getLhsContractingDimensions();
      for (int64_t d : contract)
        s.contract.push_back({stride(side, d), shapeOf(operands[side])[static_cast<size_t>(d)]});
      s.contract = merged(s.contract);
      if (s.contract.empty())
        s.contract = {{1, 1}};
      if (side == columnSide)
        s.free = {{along(side, p.column), p.columns}};
      else
        s.free = {{p.row.inScores >= 0 ? along(side, p.row.inScores) : 1, p.row.count}};
      // Products of 32 bits leave Vector the time to turn their operands.
      s.byBytes = !wide && turnsOnChip(target, s) && turnsBytes(target, s.type);
      s.turning.byScalar = !target.has("vector_scalar_psum_concurrent");
    }
    if (tiles[2])
      p.values.tensor = *tiles[2];
    p.weights = p.values.type = type(operands[2], m.result->getOperand(m.side)) ? DType::F32 : heldType(operands[2]);
    if (p.weights != DType::F32)
      p.weights = heldType(m.result->getOperand(m.side));
    for (const WeightedAxis &a : p.batch) {
      const auto it = valueDim.find(a.inScores);
      p.values.batch.push_back({it == valueDim.end() ? 0 : stride(2, it->second), a.count});
    }
    p.values.contract = {{stride(2, valueDim[p.column]), p.columns}};
    const auto vb = m.side ? result.getLhsBatchingDimensions() : result.getRhsBatchingDimensions(),
               vc = m.side ? result.getLhsContractingDimensions() : result.getRhsContractingDimensions();
    Dims width;
    for (int64_t d : freeDims(shapeOf(operands[2]).size(), vb, vc))
      width.push_back({stride(2, d), shapeOf(operands[2])[static_cast<size_t>(d)]});
    p.values.free = merged(width);
    if (p.values.free.empty())
      p.values.free = {{1, 1}};
  }

  // Along what has most, but not what shares columns and values. Its step divides it.
  void chooseLoop() {
    constexpr int64_t kMostAtOnce = 40'000, kInLoop = 12'000; // instructions
    const int64_t all = p.instructions();
    if (all <= kMostAtOnce)
      return;
    int best = -1;
    for (size_t i = 0; i < p.batch.size(); ++i)
      if (valueDim.contains(p.batch[i].inScores) &&
          (best < 0 || p.batch[i].count > p.batch[static_cast<size_t>(best)].count))
        best = static_cast<int>(i);
    if (best < 0)
      return;
    const int64_t count = p.batch[static_cast<size_t>(best)].count;
    p.loop = best;
    p.step = std::max<int64_t>(1, std::min(count / 2, kInLoop * count / all));
    while (count % p.step)
      --p.step;
  }

  // Tensors beside the scores are read as rows or as columns of neighbours, not element by element.
  bool steps() {
    constexpr int64_t kMostMade = 65536; // bytes
    for (const ScoreStep &s : m.steps)
      for (size_t i = 0; i < s.strides.size(); ++i) {
        const std::optional<DType> type =
            machineType(llvm::cast<mlir::RankedTensorType>(s.beside.views[i].source.getType()).getElementType());
        if (!type || (s.kind == ScoreStep::Choose ? *type != DType::U8 : !takes(*type)))
          return false;
        const int64_t down = p.row.inScores < 0 ? 0 : s.strides[i][static_cast<size_t>(p.row.inScores)],
                      across = s.strides[i][static_cast<size_t>(p.column)];
        if (across != 0 && across != 1 && down != 1)
          return false;
        const int64_t wide = !across ? 1 : down ? 2 * kScoreColumns : p.columns;
        p.besideBytes += 2 * wide * (across ? sizeOf(*type) : 4) + (s.strides.size() > 1 ? 4 * kScoreColumns * 4 : 0);
      }
    if (m.steps.empty() && chooseGroup())
      return true;
    // Scores of fp32 take four passes of the Tensor engine: to turn weights once costs less than to make the scores twice.
    if (p.width > kWidestTurned || (p.rowSide.type == DType::F32 && target.has("exact_transpose") &&
                                    WeightedPlan::madeBytes(1, p.columns) <= kMostMade))
      p.together = 1;
    if (m.steps.empty())
      return true;
    int power = 0;
    if (m.steps.size() > 1 && m.steps[0].kind == ScoreStep::Scale && m.steps[1].kind == ScoreStep::Combine &&
        std::abs(std::frexp(m.steps[0].number, &power)) == 0.5 && power <= 1 && power > -30 && p.rowSide.type != DType::F16)
      p.rowFactor = m.steps[0].number;
    // Functions take turns with exp, each time with its own table.
    p.together = llvm::any_of(m.steps, [](const ScoreStep &s) { return s.kind == ScoreStep::Function; }) ? 4 : 1;
    while (p.together > 1 && WeightedPlan::madeBytes(p.together, p.columns) > kMostMade)
      p.together /= 2;
    return true;
  }

  // The partition from which on the pieces of the largest scores have room beside what is contracted; 0: there is none.
  int64_t roomForPieces() const {
    const int64_t next = (p.contract + 31) / 32 * 32; // partitions are reached from multiples of 32 on
    return next + kPieces <= kContract && p.rowSide.type == p.columnSide.type && p.rowSide.type != DType::F16 ? next : 0;
  }

  // As many columns as there is room for. Narrow scores of rows of several groups, with the pieces beside them, are as well made twice, unless
  // there are two groups and transfers have the time to turn nearly all weights.
  bool chooseGroup() {
    constexpr double kNearlyAll = 7.0 / 8;
    const bool narrow = p.rowSide.type != DType::F32 && roomForPieces();
    if (p.width > kWidestTurned || !target.has("dma_transpose") || !target.has("exact_transpose") ||
        (narrow && p.columns > kMostGroup && p.keep.empty() &&
         (p.columns > 2 * kMostGroup || p.byTransfers(target) < kNearlyAll)))
      return false;
    // Scores of 16 bits wait for Vector, not for the Tensor engine.
    p.halves = p.rowSide.type == DType::F32 && p.contract <= kHalf && p.columns > kOnHalf;
    for (p.group = kMostGroup; p.bytes() > target.sbufBytes / 8 * 7; p.group /= 2)
      if (p.group <= kScoreColumns) {
        p.group = 0;
        p.halves = false;
        return false;
      }
    return true;
  }

  bool conditions() {
    const auto keep = placesOf(m.keep, p.row.inScores, p.column);
    if (keep)
      p.keep = *keep;
    return keep.has_value();
  }
};

} // namespace

int64_t WeightedPlan::indexOf(int64_t flat, size_t axis) const {
  for (size_t i = batch.size(); --i > axis;)
    flat /= batch[i].count;
  return flat % batch[axis].count;
}

int64_t WeightedPlan::madeBytes(int64_t blocks, int64_t columns) { return 2 * blocks * (columns + kContract) * 4; }

int64_t WeightedPlan::ahead() const {
  constexpr int64_t kMost = 12;
  const int64_t each = keep.empty() ? columns : (columns + 1) / 2; // that count, about
  // Columns that are scored while a block of weights is on its way, and the fewest blocks of rows: those of several lengths wait for each other.
  const auto [most, least] = weights == DType::F32 ? std::pair(6144, 3)
                             : keep.empty()        ? std::pair(8192, 4)
                                                   : std::pair(6144, 6);
  return std::clamp<int64_t>(most / each, least, kMost);
}

int64_t WeightedPlan::transfersAhead() const {
  constexpr int64_t kColumns = 6144, kMost = 3;
  const int64_t each = keep.empty() ? columns : (columns + 1) / 2; // that count, about
  return weights == DType::F32 ? 1 : std::clamp<int64_t>(kColumns / each, 1, kMost);
}

double WeightedPlan::byTransfers(const Target &t) const {
  const auto block = static_cast<double>(kContract);
  const double scores = block + t.number("cost.issue_floor") * block / kScoreColumns;
  const double passes = rowSide.type == DType::F32 ? t.number("cost.fp32_passes") : 1;
  const double products =
      (block * (halves ? 0.5 : 1) + std::max(static_cast<double>(width), t.number("cost.issue_floor"))) * passes;
  const double rate = t.dmaEngines * t.number("dma.bytes_per_ns");
  const double transfer =
      block * block * static_cast<double>(sizeOf(weights)) / (rate * t.number("dma.transpose_rate_sbuf"));
  // Operands and results, by blocks of weights.
  const int64_t perRow = contract * sizeOf(rowSide.type) + width * sizeOf(values.type),
                perColumn = contract * sizeOf(columnSide.type) + width * sizeOf(values.type);
  const double others = block * block *
                        (static_cast<double>(perRow) / static_cast<double>(columns) +
                         static_cast<double>(perColumn) / static_cast<double>(row.count * sharing)) /
                        rate;
  // The Tensor engine turns the others, beside its products.
  const double turned = block * (weights == DType::F32 ? 2 : 1) / t.number("clock.tensor");
  return std::clamp(std::max((scores / t.number("clock.vector") - others) / transfer,
                             (products / t.number("clock.tensor") + turned - others) / (transfer + turned)),
                    0.0, 1.0);
}

double WeightedPlan::foundEarly() const {
  constexpr double kColumns = 2048;                                // weighed while the largest scores are on their way
  const int64_t each = keep.empty() ? columns : (columns + 1) / 2; // that count, about
  return std::min(2.0, kColumns / static_cast<double>(each));
}

int64_t WeightedPlan::bytes() const {
  const int64_t depth = blocksOf(contract, kContract);
  const int64_t once =
      depth * columns * sizeOf(columnSide.type) + blocksOf(columns, kContract) * (width + 1) * sizeOf(values.type);
  const int64_t turning = 2 * depth * kContract * sizeOf(columnSide.type);
  if (group) { // scores and weights of three blocks of rows, turned ones; sums of values that do not count
    const int64_t made = std::min(group, columns) * (3 * 4 + (2 + transfersAhead()) * sizeOf(weights)),
                  turned = (ahead() + 4) * std::min(group, columns) * sizeOf(weights);
    const int64_t others = keep.empty() ? 0 : blocksOf(columns, kRowsOfTiles) * (width + 1) * sizeOf(values.type);
    return (batches > sharing ? 2 : 1) * once + turning + 3 * depth * kRowsOfTiles * sizeOf(rowSide.type) + made + turned +
           others + 4 * (width + kRowsOfTiles) * 4;
  }
  const int64_t panels = together ? 2 : 3 + static_cast<int64_t>(foundEarly());
  const int64_t rows = panels * depth * kRowsAtOnce * sizeOf(rowSide.type), made = 6 * kRowsAtOnce * sizeOf(weights);
  const int64_t masks = keep.empty() ? 0 : 8 * kScoreColumns + 2 * kScoreColumns * 4;
  const int64_t stepped =
      together ? madeBytes(together, columns) + besideBytes + (together + 1) * (columns + kContract) * sizeOf(weights) : 0;
  // Columns and values of so many batches are there at once.
  const double rowsAhead = together ? 1 : 1 + foundEarly();
  const auto loaded =
      1 + static_cast<int64_t>(std::ceil(rowsAhead / static_cast<double>(sharing * blocksOf(row.count, kRowsAtOnce))));
  return std::min(batches / sharing, loaded) * once + turning + rows + made + masks + stepped + 4 * (width + 8) * 4;
}

int64_t WeightedPlan::instructions() const {
  const int64_t depth = blocksOf(contract, kContract), columnBlocks = blocksOf(columns, kContract);
  const int64_t rowBlocks = blocksOf(row.count, kRowBlockOf), passes = blocksOf(row.count, kRowsAtOnce);
  const int64_t here = loop < 0 ? batches : batches / batch[static_cast<size_t>(loop)].count * step;
  if (group) // scores and products, what is exponentiated and weights, those that are turned, and what each group needs
    return here * rowBlocks *
           (blocksOf(columns, kBank) * depth + 2 * blocksOf(columns, kScoreColumns) + columnBlocks +
            blocksOf(columns, group) * 9 + 6);
  if (together)
    return here * rowBlocks *
           (blocksOf(columns, kScoreColumns) * (2 * depth + 5) + blocksOf(columns, kBank) * depth + columnBlocks * 5 / 2 +
            14);
  return here *
         (rowBlocks * (blocksOf(columns, kRowsAtOnce) * depth + columnBlocks + 12) + passes * columnBlocks * (depth + 2));
}

int64_t widthOf(const WeightedMean &m) {
  const graph::DotDimensionNumbersAttr numbers = numbersOf(m.result);
  const std::vector<int64_t> shape = shapeOf(m.result->getOperand(1 - m.side));
  int64_t width = 1;
  for (int64_t d : freeDims(shape.size(), m.side ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions(),
                            m.side ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions()))
    width *= shape[static_cast<size_t>(d)];
  return width;
}

std::optional<WeightedPlan> planWeightedMean(const WeightedMean &m, const Target &target, const Tile *scoresLeft,
                                             const Tile *scoresRight, const Tile *values) {
  return Planner(m, target, scoresLeft, scoresRight, values).run();
}

} // namespace glia::emit
