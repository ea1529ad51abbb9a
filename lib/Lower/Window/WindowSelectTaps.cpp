#include "WindowSelectTaps.h"
#include "Lower/Rows/RowsPlan.h"
#include "WindowPlan.h"
#include "glia/Graph/Graph.h"
#include "glia/ISA/AluRules.h"

#include <limits>

namespace glia::emit {

std::string_view keepingComparison(mlir::Operation *selects, std::string &why) {
  mlir::Block &body = selects->getRegion(0).front();
  auto compare = llvm::dyn_cast<graph::CompareOp>(body.front());
  const bool plain =
      compare && body.getOperations().size() == 2 && body.getTerminator()->getOperand(0) == compare->getResult(0);
  const std::string_view op = plain ? comparisonOf(compare) : "";
  if (op.empty() || op == "not_equal") {
    why = "a selection that is not one comparison of its two values";
    return {};
  }
  if (compare->getOperand(0) == body.getArgument(0) && compare->getOperand(1) == body.getArgument(1))
    return op;
  if (compare->getOperand(0) != body.getArgument(1) || compare->getOperand(1) != body.getArgument(0)) {
    why = "a selection that does not compare its two values";
    return {};
  }
  constexpr std::pair<std::string_view, std::string_view> kTurned[] = {
      {"greater_equal", "less_equal"}, {"greater", "less"}, {"less_equal", "greater_equal"}, {"less", "greater"}};
  for (const auto &[from, to] : kTurned)
    if (op == from)
      return to;
  return op;
}

std::pair<int64_t, int64_t> windowsAt(const WindowDim &d, int64_t from, int64_t to) {
  int64_t first = 0, last = d.out;
  while (first < d.out && first * d.stride + d.size - 1 - d.low < from)
    ++first;
  while (last > first && (last - 1) * d.stride - d.low >= to)
    --last;
  return {first, last};
}

SelectTaps::SelectTaps(KernelBuilder &k, mlir::Operation *op, const std::vector<WindowDim> &free, int64_t rowTaps)
    : k(k), free(free) {
  std::string why;
  c = *combinerOf(op->getRegion(1), llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getElementType(), why);
  keeps = keepingComparison(op, why);
  for (const WindowDim &d : free)
    sizes.push_back(d.size);
  last = taps() * rowTaps - 1;
  nothing = last + 1 < 255 ? 255 : 65535;
}

int64_t SelectTaps::taps() const {
  int64_t n = 1;
  for (int64_t s : sizes)
    n *= s;
  return n;
}

Tile SelectTaps::begin(int64_t rows, const Counts &windows) {
  best = k.sbuf(c.type, rows, windows);
  which = k.sbuf(type(), rows, windows);
  k.fill(which, static_cast<double>(nothing));
  k.fill(best, isFloat(c.type) ? std::numeric_limits<double>::quiet_NaN() : 0); // no comparison keeps NaN
  return which;
}

void SelectTaps::choose(const Tile &x, const Counts &firstIn, const Counts &firstWindow, const Counts &windows,
                        int64_t first, const Tile &outside) {
  const bool wide = isWide(c.type);
  forEachIndex(sizes, [&](const Counts &tap) {
    Tile b = best, w = which, from = x;
    const int64_t mine = first++;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const TapRun r = free[i].run(tap[i], firstWindow[i], firstWindow[i] + windows[i]);
      if (r.count == 0)
        return;
      const int d = static_cast<int>(i);
      b = b.part(d, r.from - firstWindow[i], r.count, r.step);
      w = w.part(d, r.from - firstWindow[i], r.count, r.step);
      from = from.part(d, r.at - firstIn[i], r.count, r.stride);
    }
    const Tile kept = k.sbuf(wide ? c.type : DType::U8, b.partitions, b.shape());
    k.tensor(kept, b, from, keeps);
    const Tile mask = wide ? kept.as(DType::U32) : kept;
    if (!isFloat(c.type)) { // nothing to keep before the first element
      const Tile begun = k.sbuf(DType::U8, b.partitions, b.shape());
      k.scalar(begun, w, "equal", static_cast<double>(nothing));
      k.select(mask, begun, 0.0f);
    }
    if (outside.handle >= 0) { // the padding is never chosen
      const Tile all = k.sbuf(DType::U8, b.partitions, b.shape());
      k.move(all.reshaped({all.elements()}), outside.broadcast(0, all.elements()));
      k.select(mask, all, 1.0f);
    }
    if (mine != last) // nobody compares with it any more
      k.select(b, mask, from, true);
    k.select(w, mask, static_cast<double>(mine), true);
  });
}

void SelectTaps::send(const Tile &sum, const Tile &given, const Tile &chosen, const Counts &from, const Counts &count,
                      const Counts &firstWindow, const Counts &windows, int64_t first) {
  forEachIndex(sizes, [&](const Counts &tap) {
    Tile to = sum, g = given, w = chosen;
    const int64_t mine = first++;
    for (size_t i = 0; i < sizes.size(); ++i) {
      WindowDim d = free[i]; // as if the box were all there is
      d.low += from[i];
      d.in = count[i];
      const TapRun r = d.run(tap[i], firstWindow[i], firstWindow[i] + windows[i]);
      if (r.count == 0)
        return;
      const int dim = static_cast<int>(i);
      to = to.part(dim, r.at, r.count, r.stride);
      g = g.part(dim, r.from - firstWindow[i], r.count, r.step);
      w = w.part(dim, r.from - firstWindow[i], r.count, r.step);
    }
    const Tile mask = k.sbuf(DType::U8, to.partitions, to.shape()), more = k.sbuf(sum.dtype, to.partitions, to.shape());
    k.scalar(mask, w, "equal", static_cast<double>(mine));
    combine(k, c, more, to, g);
    k.select(to, mask, more);
  });
}

} // namespace glia::emit
