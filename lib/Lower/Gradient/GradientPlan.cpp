#include "GradientPlan.h"
#include "Graph/Analysis/GraphFacts.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

// Where the dimensions of a contraction's result come from.
struct Sides {
  graph::DotGeneralOp dot;
  llvm::ArrayRef<int64_t> batch[2], contract[2];
  std::vector<int64_t> free[2];

  explicit Sides(graph::DotGeneralOp op) : dot(op) {
    const auto n = op.getDotDimensionNumbers();
    batch[0] = n.getLhsBatchingDimensions();
    batch[1] = n.getRhsBatchingDimensions();
    contract[0] = n.getLhsContractingDimensions();
    contract[1] = n.getRhsContractingDimensions();
    for (unsigned s : {0u, 1u})
      free[s] = freeDims(shapeOf(op->getOperand(s)).size(), batch[s], contract[s]);
  }
  // A dimension of the result: the operand that has it (2: both), and its dimension there.
  std::pair<int, int64_t> from(size_t d) const {
    if (d < batch[0].size())
      return {2, static_cast<int64_t>(d)};
    d -= batch[0].size();
    return d < free[0].size() ? std::pair(0, free[0][d]) : std::pair(1, free[1][d - free[0].size()]);
  }
  int resultOf(unsigned side, size_t i) const { // of a free dimension
    return static_cast<int>(batch[0].size() + (side ? free[0].size() : 0) + i);
  }
};

class Planner {
public:
  Planner(const WeightedGradient &g, const Target &target, llvm::function_ref<const Tile *(mlir::Value)> tile)
      : g(g), target(target), tile(tile) {}

  std::optional<GradientPlan> run() {
    if (!types() || !axes() || !pair(p.scores, g.scores, {}) || !pair(p.second, g.second, g.secondPlace) || !products() ||
        !conditions() || !room())
      return std::nullopt;
    chooseLoop();
    return std::move(p);
  }

private:
  const WeightedGradient &g;
  const Target &target;
  llvm::function_ref<const Tile *(mlir::Value)> tile;
  GradientPlan p;
  std::vector<WeightedAxis> rows; // all of them
  int64_t turning = 0;            // bytes that turning an operand takes
  int64_t share = 0;              // of SBUF, in 32 parts

  // Sums of 16-bit floats that are no bf16 would not hold what rows are divided by.
  bool types() {
    std::vector<mlir::Value> all;
    for (graph::DotGeneralOp dot : {g.scores, g.second})
      all.insert(all.end(), dot->operand_begin(), dot->operand_end());
    bool wide = false;
    for (const WeightedGradient::Product &x : g.products)
      for (mlir::Value v : x.dot->getOperands()) {
        all.push_back(v);
        wide |= heldType(v) == DType::F32;
      }
    for (mlir::Value v : all)
      if (splatOf(v) || (heldType(v) != DType::F32 && heldType(v) != DType::BF16))
        return false;
    p.weights = wide ? DType::F32 : DType::BF16;
    p.inner = wide || g.wide ? DType::F32 : DType::BF16;
    return true;
  }

  bool axes() {
    const Sides s(g.scores);
    const std::vector<int64_t> shape = shapeOf(g.scores->getResult(0));
    const int side = s.from(static_cast<size_t>(g.column)).first;
    if (side == 2)
      return false;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      const int64_t n = shape[static_cast<size_t>(d)];
      const int from = s.from(static_cast<size_t>(d)).first;
      if (n == 1 || d == g.column)
        continue;
      if (from == side)
        return false;
      (from == 2 ? p.batch : rows).push_back({d, -1, n});
    }
    const auto conditioned = [&](const WeightedAxis &a) {
      return llvm::any_of(g.keep, [&](const IndexCondition &c) { return c.factors[static_cast<size_t>(a.inScores)] != 0; });
    };
    const auto longest = std::max_element(rows.begin(), rows.end(), [&](const WeightedAxis &a, const WeightedAxis &b) {
      return std::pair(conditioned(a), a.count) < std::pair(conditioned(b), b.count);
    });
    if (longest == rows.end())
      return false;
    p.row = *longest;
    for (const WeightedAxis &a : rows)
      if (a.inScores != p.row.inScores) {
        p.sharing *= a.count;
        p.batch.push_back(a);
      }
    for (const WeightedAxis &a : p.batch)
      p.batches *= a.count;
    p.columns = p.span = shape[static_cast<size_t>(g.column)];
    return p.columns * p.batches * p.row.count > 0;
  }

  bool isRow(int d) const {
    return llvm::any_of(rows, [&](const WeightedAxis &a) { return a.inScores == d; });
  }
  int64_t stride(mlir::Value v, int64_t d) const { return tile ? tile(v)->dims[static_cast<size_t>(d)].stride : 1; }
  Dims dimsOf(mlir::Value v, llvm::ArrayRef<int64_t> dims) const {
    Dims out;
    for (int64_t d : dims)
      out.push_back({stride(v, d), shapeOf(v)[static_cast<size_t>(d)]});
    out = merged(out);
    return out.empty() ? Dims{{1, 1}} : out;
  }

  // `place`: for each dimension of the result, that of the scores; empty: these are the scores.
  bool pair(GradientPlan::Pair &out, graph::DotGeneralOp dot, llvm::ArrayRef<int> place) {
    const Sides s(dot);
    const std::vector<int64_t> shape = shapeOf(dot->getResult(0));
    llvm::DenseMap<int, size_t> at; // a dimension of the scores: of the result
    for (size_t d = 0; d < shape.size(); ++d)
      if (const int to = place.empty() ? static_cast<int>(d) : place[d]; to >= 0 && shape[d] != 1)
        at[to] = d;
    if (p.columns > 1 && !at.contains(g.column))
      return false;
    const int side = s.from(at.contains(g.column) ? at[g.column] : static_cast<size_t>(g.column)).first;
    if (side == 2)
      return false;
    for (const WeightedAxis &a : p.batch)
      if (!at.contains(a.inScores) || s.from(at[a.inScores]).first != (isRow(a.inScores) ? 1 - side : 2))
        return false;
    if (p.row.count > 1 && (!at.contains(p.row.inScores) || s.from(at[p.row.inScores]).first != 1 - side))
      return false;
    const bool wide = heldType(dot->getOperand(0)) == DType::F32 || heldType(dot->getOperand(1)) == DType::F32;
    for (const int operand : {0, 1}) {
      PanelSource &to = operand == side ? out.columns : out.rows;
      const mlir::Value v = g.tensorOf(dot->getOperand(static_cast<unsigned>(operand)));
      const auto along = [&](int d) -> int64_t {
        if (!at.contains(d))
          return 0;
        const auto [from, dim] = s.from(at[d]);
        if (from == 2)
          return stride(v, s.batch[operand][static_cast<size_t>(dim)]);
        return from == operand ? stride(v, dim) : 0;
      };
      if (tile)
        to.tensor = *tile(v);
      to.type = wide ? DType::F32 : DType::BF16;
      for (const WeightedAxis &a : p.batch)
        to.batch.push_back({along(a.inScores), a.count});
      to.contract = dimsOf(v, s.contract[operand]);
      if (operand == side)
        to.free = {{along(g.column), p.columns}};
      else
        to.free = {{along(p.row.inScores), p.row.count}};
      to.byBytes = turnsOnChip(target, to) && turnsBytes(target, to.type);
      to.turning.byScalar = !target.has("vector_scalar_psum_concurrent");
      // However it lies: the answer is the same before tensors have their places.
      PanelSource turned = to;
      turned.contract = {{1, countOf(to.contract)}};
      turned.free = {{countOf(to.contract) + 1, countOf(to.free)}};
      turned.byBytes = turnsBytes(target, to.type);
      turning = std::max(turning, turningBytes(target, turned, blocksOf(countOf(to.contract))));
    }
    out.contract = countOf(out.rows.contract);
    return true;
  }

  bool products() {
    for (const WeightedGradient::Product &x : g.products) {
      const Sides s(x.dot);
      const unsigned other = 1 - x.side;
      const mlir::Value v = g.tensorOf(x.dot->getOperand(other));
      GradientPlan::Product out;
      out.other.type = p.weights;
      if (tile)
        out.other.tensor = *tile(v);
      llvm::DenseMap<int, int64_t> inOther; // a dimension of the scores: of the other operand
      llvm::DenseMap<int, int> inResult;
      for (size_t i = 0; i < s.contract[x.side].size(); ++i)
        if (const int d = x.place[static_cast<size_t>(s.contract[x.side][i])]; d >= 0) {
          if (x.overRows ? !isRow(d) : d != g.column)
            return false;
          inOther[d] = s.contract[other][i];
        }
      for (size_t i = 0; i < s.batch[x.side].size(); ++i)
        if (const int d = x.place[static_cast<size_t>(s.batch[x.side][i])]; d >= 0) {
          if (isRow(d) || d == g.column)
            return false;
          inOther[d] = s.batch[other][i];
          inResult[d] = static_cast<int>(i);
        }
      for (size_t i = 0; i < s.free[x.side].size(); ++i)
        if (const int d = x.place[static_cast<size_t>(s.free[x.side][i])]; d >= 0)
          inResult[d] = s.resultOf(x.side, i);
      // Over the rows: all of them, and the result has the columns. Over the columns: the other way round.
      for (const WeightedAxis &a : p.batch) {
        const bool shared = isRow(a.inScores);
        if ((x.overRows || !shared) != inOther.contains(a.inScores) ||
            (!x.overRows || !shared) != inResult.contains(a.inScores))
          return false;
        out.other.batch.push_back({inOther.contains(a.inScores) ? stride(v, inOther[a.inScores]) : 0, a.count});
        out.batchDims.push_back(inResult.contains(a.inScores) ? inResult[a.inScores] : -1);
      }
      const int over = x.overRows ? p.row.inScores : g.column, line = x.overRows ? g.column : p.row.inScores;
      const int64_t summed = x.overRows ? p.row.count : p.columns;
      if ((summed > 1) != inOther.contains(over))
        return false;
      out.other.contract = {{summed > 1 ? stride(v, inOther[over]) : 1, summed}};
      out.line = inResult.contains(line) ? inResult[line] : -1;
      if ((x.overRows ? p.columns : p.row.count) > 1 && out.line < 0)
        return false;
      out.other.free = dimsOf(v, s.free[other]);
      out.width = countOf(out.other.free);
      for (size_t i = 0; i < s.free[other].size(); ++i)
        out.widthDims.push_back(s.resultOf(other, i));
      if (out.width > kBank)
        return false;
      p.products.push_back(std::move(out));
    }
    return true;
  }

  bool conditions() {
    const auto keep = placesOf(g.keep, p.row.inScores, g.column);
    if (!keep)
      return false;
    p.keep = *keep;
    return !std::isinf(g.masked) || p.keep.empty() || everyRowCounts();
  }

  // A row of nothing but -inf has no weights: factors of such a row would make NaN of what the graph chooses to be 0.
  bool everyRowCounts() const {
    for (int64_t r = 0; r < p.row.count; ++r) {
      int64_t first = 0, last = p.columns - 1;
      for (const PlaceCondition &k : p.keep) {
        const int64_t n = k.r * r + k.constant; // at least 0 with k.c times the column
        if (k.c > 0)
          first = std::max(first, n >= 0 ? 0 : (-n + k.c - 1) / k.c);
        else if (k.c < 0)
          last = std::min(last, n < 0 ? -1 : n / -k.c);
        else if (n < 0)
          return false;
      }
      if (first > last)
        return false;
    }
    return true;
  }

  // Sums over the rows of few blocks cost most, then scores in fp32 where the graph rounds them, then stages that wait for each other. In parts,
  // the next part's operands come while this one is at work: there more is left for what comes before its time.
  bool room() {
    constexpr int64_t kLeastSpan = 1024, kNearlyAll = 31, kMuch = 26;
    share = kNearlyAll;
    if (fits({4, 2, 1}))
      return true;
    if (g.masked == HUGE_VAL)
      return false;
    for (const auto [least, most] : {std::pair(4, kMuch), std::pair(1, kMuch), std::pair(1, kNearlyAll)})
      for (int64_t parts = 2; blocksOf(p.columns, parts) >= kLeastSpan; ++parts) {
        p.span = blocksOf(blocksOf(p.columns, parts), kBank) * kBank;
        share = most;
        if (p.inParts() && fits({least}))
          return true;
      }
    return false;
  }

  int64_t budget() const { return target.sbufBytes / 32 * share; }

  bool fits(std::initializer_list<int64_t> leasts) {
    constexpr int64_t kMostTogether = 8;
    const int64_t blocks = p.sharing * blocksOf(p.row.count);
    for (const int64_t least : leasts)
      for (const bool narrow : {false, true})
        for (const bool deep : {true, false}) {
          p.deep = deep;
          p.narrow = narrow && p.inner != DType::F32;
          for (p.together = std::min(kMostTogether, blocks); p.together >= std::min(least, blocks); --p.together)
            if (p.bytes(g) + (target.has("exact_transpose") ? 0 : turning + kContract * 4) <= budget())
              return true;
        }
    return false;
  }

  // Along what has most, but not what shares columns. Its step divides it.
  void chooseLoop() {
    constexpr int64_t kMostAtOnce = 40'000, kInLoop = 12'000; // instructions
    const int64_t all = p.instructions(g);
    if (all <= kMostAtOnce)
      return;
    int best = -1;
    for (size_t i = 0; i < p.batch.size(); ++i)
      if (!isRow(p.batch[i].inScores) && (best < 0 || p.batch[i].count > p.batch[static_cast<size_t>(best)].count))
        best = static_cast<int>(i);
    if (best < 0)
      return;
    const int64_t count = p.batch[static_cast<size_t>(best)].count;
    p.loop = best;
    p.step = std::max<int64_t>(1, std::min(count / 2, kInLoop * count / all));
    while (count % p.step)
      --p.step;
  }
};

} // namespace

int64_t GradientPlan::indexOf(int64_t flat, size_t axis) const {
  for (size_t i = batch.size(); --i > axis;)
    flat /= batch[i].count;
  return flat % batch[axis].count;
}

int64_t GradientPlan::bytes(const WeightedGradient &g) const {
  const int64_t columns = span, blocks = blocksOf(columns), all = sharing * blocksOf(row.count);
  // Blocks of rows between their scores and the end of their products over the rows.
  const int64_t held = std::min(all, together + turns() + (deep ? 2 : 1));
  int64_t shared = 0, sums = 0, small = 0;
  for (const Pair *x : {&scores, &second}) {
    shared += x->depth() * columns * sizeOf(x->columns.type);
    small += 2 * x->depth() * kRowsAtOnce * sizeOf(x->rows.type);
  }
  for (size_t i = 0; i < products.size(); ++i) {
    const int64_t width = products[i].width;
    if (g.products[i].overRows) {
      sums += streams() ? blocksOf(width) * columns * 4 : blocks * width * 4;
      small += 2 * held * width * sizeOf(weights) + 4 * width * 4 + (keep.empty() ? 0 : held * width * 4);
    } else {
      shared += blocks * width * sizeOf(weights);
      small += (4 * (width + 2 * kContract) + (inParts() ? all * width : 0)) * 4;
    }
  }
  const int64_t turned = 2 * columns * sizeOf(weights) * atOnce();
  const int64_t kept = (2 * held - 1) * columns * sizeOf(weights);
  // What is exponentiated; weights and products that are rounded later; shifts.
  const int64_t made = weights == DType::F32 ? 0
                       : inner == weights    ? (narrow ? 0 : 2 * columns * 4)
                                             : (deep ? 7 : 5) * columns * 4;
  if (inParts()) // numbers of rows
    small += all * 4 * 20;
  return (batches > sharing || inParts() ? 2 : 1) * shared + sums + small + turned + kept + made + 4 * kBank * 4;
}

int64_t GradientPlan::instructions(const WeightedGradient &) const {
  const int64_t columnBlocks = blocksOf(columns), rowBlocks = blocksOf(row.count);
  const int64_t here = loop < 0 ? batches : batches / batch[static_cast<size_t>(loop)].count * step;
  const int64_t products = static_cast<int64_t>(this->products.size());
  return here * rowBlocks *
         (blocksOf(columns, kBank) * (scores.depth() + second.depth() + 2) + columnBlocks * (products + 1) +
          3 * blocksOf(columns, kScoreColumns) + 30 +
          (inParts() ? blocksOf(columns, kBank) * (scores.depth() + second.depth() + 3) + 60 * blocksOf(columns, span) : 0));
}

std::optional<GradientPlan> planGradient(const WeightedGradient &g, const Target &target,
                                         llvm::function_ref<const Tile *(mlir::Value)> tile) {
  return Planner(g, target, tile).run();
}

std::optional<WeightedGradient> plannedGradient(graph::DotGeneralOp product, const Target &target) {
  constexpr int64_t kMostInstructions = 250'000; // the ordinary way has more by then
  constexpr int64_t kLeastScores = 128 * 128;    // fewer cost more instructions one by one than through HBM together
  std::optional<WeightedGradient> g = matchGradient(product);
  const std::optional<GradientPlan> p = g ? planGradient(*g, target) : std::nullopt;
  if (!p || p->row.count * p->columns < kLeastScores || p->instructions(*g) > kMostInstructions)
    return std::nullopt;
  return g;
}

} // namespace glia::emit
