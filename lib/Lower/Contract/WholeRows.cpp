#include "WholeRows.h"
#include "Lower/Rows/RowsKernel.h"
#include "TurnedOperand.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kFewColumns = 64; // below, several blocks of rows share an epilogue

// The only reader of the sums, if it takes them from PSUM together with a number; bf16 is not rounded to on the way.
mlir::Operation *scaledFrom(mlir::Value root, llvm::ArrayRef<mlir::Operation *> ops) {
  static constexpr llvm::StringLiteral kTakes[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  const DType type = heldType(root);
  if ((type != DType::F32 && type != DType::BF16) || !root.hasOneUse())
    return nullptr;
  mlir::Operation *user = *root.getUsers().begin();
  const bool takes = llvm::is_contained(kTakes, opName(user)) && llvm::is_contained(ops, user) &&
                     (splatOf(user->getOperand(0)) || splatOf(user->getOperand(1)));
  return takes ? user : nullptr;
}

// Whatever the target, and however the operands lie: 128 rows and 128 columns of the operands fit beside what the operations need.
bool fits(graph::DotGeneralOp dot, const DotSizes &s, const RowsPlan &rows) {
  const bool wide = llvm::any_of(dot->getOperands(), [](mlir::Value v) { return heldType(v) == DType::F32; });
  const int64_t block = (s.contract + kContract - 1) / kContract * kContract * (wide ? 4 : 2);
  const int64_t panels = 3 * block, turning = 4 * block;
  return panels + turning + wholeRowsNeed(rows, heldType(dot->getResult(0))).least() <= kWholeRowsBudget;
}

class WholeRowsKernel {
public:
  WholeRowsKernel(KernelBuilder &k, const ContractPlan &p, RowsKernel &behind, mlir::Value root, mlir::Value input,
                  mlir::Operation *scaled)
      : k(k), p(p), behind(behind), root(root), input(input), scaled(scaled), left(p.left), right(p.right) {}

  void run() {
    k.location(root.getLoc());
    prepareTurning(k, left);
    prepareTurning(k, right);
    if (p.turnRight)
      right = turnOnce(k, right, p.chunk);
    for (batch = 0; batch < p.batches; ++batch)
      p.rowsStay ? rowsStay() : columnsStay();
  }

private:
  KernelBuilder &k;
  const ContractPlan &p;
  RowsKernel &behind;
  mlir::Value root, input;
  mlir::Operation *scaled;
  PanelSource left, right;
  int64_t batch = 0;

  Panel load(const PanelSource &s, int64_t from, int64_t width) {
    k.location(root.getLoc());
    return loadWide(k, s, batch, 1, 0, p.blocks, from, width);
  }
  Tile tileOf(int64_t rows) { return k.sbuf(heldType(input), rows, {p.nc}); }

  void columnsStay() {
    const Panel columns = load(right, 0, p.nc);
    for (int64_t r = 0; r < p.nr; r += p.chunk) {
      const int64_t end = std::min(p.nr, r + p.chunk);
      const Panel rows = load(left, r, end - r);
      for (int64_t y = r; y < end; y += kRowBlock) {
        const Tile whole = tileOf(std::min(kRowBlock, end - y));
        products(rows, columns, y, 0, p.nc, whole);
        behind.run(input, whole, batch * p.nr + y);
      }
    }
  }

  void rowsStay() {
    for (int64_t r = 0; r < p.nr; r += p.panel) {
      const int64_t end = std::min(p.nr, r + p.panel);
      const Panel rows = load(left, r, end - r);
      std::vector<Tile> whole;
      for (int64_t y = r; y < end; y += kRowBlock)
        whole.push_back(tileOf(std::min(kRowBlock, end - y)));
      for (int64_t c = 0; c < p.nc; c += p.chunk) {
        const int64_t n = std::min(p.chunk, p.nc - c);
        const Panel columns = load(right, c, n);
        for (size_t i = 0; i < whole.size(); ++i)
          products(rows, columns, r + static_cast<int64_t>(i) * kRowBlock, c, n, whole[i]);
      }
      for (size_t i = 0; i < whole.size(); ++i)
        behind.run(input, whole[i], batch * p.nr + r + static_cast<int64_t>(i) * kRowBlock);
    }
  }

  // Columns [c, c + n) of the rows from y on, as many as `whole` has.
  void products(const Panel &rows, const Panel &columns, int64_t y, int64_t c, int64_t n, const Tile &whole) {
    k.location(root.getLoc());
    for (int64_t x = c; x < c + n; x += right.block) {
      const int64_t wide = std::min(right.block, c + n - x);
      const Tile sum = k.psum(whole.partitions, {wide});
      for (int64_t i = 0; i < p.blocks; ++i) {
        const int64_t depth = std::min(kContract, p.nk - i * kContract);
        k.matmul(sum, rows.at(0, i, y, whole.partitions).rows(0, depth), columns.at(0, i, x, wide).rows(0, depth), i > 0);
      }
      leave(whole.columns(x, wide), sum);
    }
  }

  void leave(const Tile &to, const Tile &sum) {
    if (!scaled)
      return k.move(to, sum);
    static constexpr std::pair<llvm::StringLiteral, std::string_view> kCodes[] = {
        {"add", "add"}, {"subtract", "subtract"}, {"multiply", "multiply"}, {"maximum", "max"}, {"minimum", "min"}};
    const std::optional<double> first = splatOf(scaled->getOperand(0));
    k.location(scaled->getLoc());
    k.scalar(to, sum, llvm::find_if(kCodes, [&](const auto &c) { return c.first == opName(scaled); })->second,
             first ? *first : *splatOf(scaled->getOperand(1)), first.has_value());
    k.location(root.getLoc());
  }
};

} // namespace

WholeRowsNeed wholeRowsNeed(const RowsPlan &rows, DType type) {
  return {rows.columns * sizeOf(type), rows.columns * rows.alive};
}

std::optional<WholeRowsPlan> planWholeRows(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot) {
  WholeRowsPlan whole;
  whole.scaled = scaledFrom(dot->getResult(0), ops);
  whole.input = whole.scaled ? whole.scaled->getResult(0) : dot->getResult(0);
  std::vector<mlir::Operation *> behind;
  llvm::copy_if(ops, std::back_inserter(behind), [&](mlir::Operation *op) { return op != dot && op != whole.scaled; });
  if (llvm::none_of(behind, [](mlir::Operation *op) { return opName(op) == "reduce"; }))
    return std::nullopt;
  const DotSizes s = sizesOf(dot);
  const bool fillsPartitions = s.batches == 1 || 4 * s.rows >= 3 * ((s.rows + kRowBlock - 1) / kRowBlock * kRowBlock);
  if (s.contract == 0 || s.columns < kFewColumns || !fillsPartitions ||
      s.batches * productsOf(s.rows, s.columns, s.contract) > kMostProducts)
    return std::nullopt;
  std::optional<RowsPlan> plan = planRows(behind);
  if (!plan || plan->alone || !plan->after.empty() || !plan->joined.empty() || plan->rows != s.batches * s.rows ||
      plan->columns != s.columns || plan->chunk != s.columns)
    return std::nullopt;
  for (const auto &[v, value] : plan->values) {
    if (value.kind == RowsKind::Sum)
      return std::nullopt;
    if (value.kind != RowsKind::View || value.source != whole.input)
      continue;
    const Dims m = merged(value.view);
    if (value.offset || elementsOf(v) != plan->elements || m.size() != 1 || m[0].stride != 1)
      return std::nullopt;
  }
  if (!fits(dot, s, *plan))
    return std::nullopt;
  whole.rows = std::move(*plan);
  return whole;
}

void writeWholeRows(KernelBuilder &k, const Group &g, graph::DotGeneralOp dot, WholeRowsPlan whole,
                    std::span<const Tile> inputs, std::span<const Tile> outputs) {
  const mlir::Value root = dot->getResult(0);
  const auto at = [&](mlir::Value v) -> const Tile * {
    const auto it = std::find(g.inputs.begin(), g.inputs.end(), v);
    return it == g.inputs.end() ? nullptr : &inputs[static_cast<size_t>(it - g.inputs.begin())];
  };
  std::vector<int64_t> strides;
  for (const Tile::Dim &d : contiguous(shapeOf(root)))
    strides.push_back(d.stride);
  const ContractPlan plan = planForWholeRows(k.target(), dot, at(dot->getOperand(0)), at(dot->getOperand(1)), strides,
                                             wholeRowsNeed(whole.rows, heldType(whole.input)));
  RowsKernel behind(k, g, std::move(whole.rows), inputs, outputs);
  WholeRowsKernel(k, plan, behind, root, whole.input, whole.scaled).run();
}

} // namespace glia::emit
