// jax.lax.associative_scan is a recursion: neighbours are combined in pairs, the pairs are scanned, the elements between come from the pairs
// before them, and both are interleaved by padding and adding. What it computes is followed here, not how: each element along the
// dimension is the combination of a run of the elements of some tensor, [from, to]. Slices, concatenations and paddings move runs; an operation of
// runs of which one begins where the other ends joins them. A tensor whose elements are [0, 0], [0, 1], [0, 2] ... is a scan, in
// whatever order its runs were joined.
//
//   one operation: add, multiply, maximum, minimum, and, or, xor   a running fold (reduce_window)
//   (a, b), (c, d) -> (a * c, c * b + d), factors in any order     a linear recurrence (Recurrence.h); also with + and max, + and min
//
// Error: n elements are added one after the other in fp32, n roundings at most, where the recursion has 2 log2 n; types narrower than
// f32 are rounded once instead of each time. With factors of at most 1 a recurrence forgets its roundings as it forgets its terms.
// Special values: +0 for a sum of the padding and -0, and -0 here. The recursion multiplies factors with each other: where such a product overflows
// or meets 0 as infinity, it gives infinity or NaN and the recurrence, which only multiplies states, may be finite. Infinity and
// NaN in factors or terms reach the same elements and all behind them in both, but that infinity times a state of 0, or of the other sign, may be NaN
// in one and infinity in the other. The first element is the first term itself, whatever its factor is.
#include "FoldScans.h"
#include "Graph/Analysis/Recurrence.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace glia::emit {

namespace {

constexpr int64_t kShortest = 2, kLongest = int64_t{1} << 18;

struct Run { // of elements, both included
  int32_t from = 0, to = 0;
  bool operator==(const Run &) const = default;
};
constexpr Run kHole{-1, -1}; // padding
using RunList = std::vector<Run>;
using Shared = std::shared_ptr<const RunList>;

// What the elements of a value along a dimension are.
struct Runs {
  enum Kind : uint8_t {
    Fold,   // of the terms, by `combine`; no name: each is one element
    State,  // of a recurrence of factors and terms
    Scaled, // a state, scaled by the factors of the run `later` that follows it
  } kind = Fold;
  int64_t dim = 0;
  mlir::Value factors, terms;
  llvm::StringRef scale, combine;
  Shared runs, later;
  bool holes = false;

  bool isPlain() const { return kind == Fold && combine.empty(); }
};

// The runs of `x` can be taken for runs of the kind of `like`.
bool agrees(const Runs &like, const Runs &x) {
  if (x.dim != like.dim || x.terms != like.terms)
    return false;
  return x.isPlain() ||
         (x.kind == like.kind && x.factors == like.factors && x.scale == like.scale && x.combine == like.combine);
}

bool follows(const RunList &first, const RunList &then) {
  if (first.size() != then.size())
    return false;
  for (size_t i = 0; i < first.size(); ++i)
    if (first[i].to + 1 != then[i].from)
      return false;
  return true;
}

Shared joined(const RunList &first, const RunList &then) {
  RunList out;
  out.reserve(first.size());
  for (size_t i = 0; i < first.size(); ++i)
    out.push_back({first[i].from, then[i].to});
  return std::make_shared<const RunList>(std::move(out));
}

bool isWhole(const Runs &r) {
  const int64_t n = typeOf(r.terms).getDimSize(r.dim);
  if (r.holes || r.kind == Runs::Scaled || r.isPlain() || n < kShortest || static_cast<int64_t>(r.runs->size()) != n)
    return false;
  for (int32_t i = 0; i < n; ++i)
    if ((*r.runs)[static_cast<size_t>(i)] != Run{0, i})
      return false;
  return r.kind == Runs::Fold || r.factors.getType() == r.terms.getType();
}

class Follower {
public:
  void visit(mlir::Operation *op) {
    if (op->getNumResults() != 1 || !llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType()))
      return;
    if (auto s = llvm::dyn_cast<graph::SliceOp>(op))
      slice(s);
    else if (known.empty())
      return;
    else if (auto c = llvm::dyn_cast<graph::ConcatenateOp>(op))
      concatenate(c);
    else if (auto p = llvm::dyn_cast<graph::PadOp>(op))
      pad(p);
    else if (op->getNumOperands() == 2)
      binary(op);
  }

  const Runs *whole(mlir::Value v) const {
    const auto it = known.find(v);
    if (it != known.end())
      for (const Runs &r : it->second)
        if (isWhole(r))
          return &r;
    return nullptr;
  }

private:
  using List = llvm::SmallVector<Runs, 2>;
  llvm::DenseMap<mlir::Value, List> known;

  List of(mlir::Value v) const { return known.lookup(v); }

  void add(mlir::Value v, Runs r) {
    List &all = known[v];
    for (const Runs &k : all)
      if (k.kind == r.kind && agrees(k, r) && k.combine == r.combine)
        return;
    all.push_back(std::move(r));
  }

  // Only one dimension changes: which one.
  template <class Changes> static std::optional<int64_t> onlyDim(int64_t rank, Changes changes) {
    std::optional<int64_t> out;
    for (int64_t d = 0; d < rank; ++d)
      if (changes(static_cast<size_t>(d))) {
        if (out)
          return std::nullopt;
        out = d;
      }
    return out;
  }

  void slice(graph::SliceOp op) {
    const mlir::Value x = op->getOperand(0);
    const mlir::RankedTensorType type = typeOf(x);
    const auto low = op.getStartIndices(), high = op.getLimitIndices(), step = op.getStrides();
    const std::optional<int64_t> dim =
        onlyDim(type.getRank(), [&](size_t d) { return low[d] != 0 || high[d] != type.getShape()[d] || step[d] != 1; });
    if (!dim)
      return;
    const auto d = static_cast<size_t>(*dim);
    if (const int64_t n = type.getDimSize(*dim); step[d] == 2 && n >= kShortest && n <= kLongest) {
      RunList runs;
      for (int32_t i = 0; i < n; ++i)
        runs.push_back({i, i});
      add(x, {.dim = *dim, .terms = x, .runs = std::make_shared<const RunList>(std::move(runs))});
    }
    for (Runs r : of(x)) {
      if (r.dim != *dim || r.kind == Runs::Scaled)
        continue;
      RunList runs;
      for (int64_t i = low[d]; i < high[d]; i += step[d])
        runs.push_back((*r.runs)[static_cast<size_t>(i)]);
      r.runs = std::make_shared<const RunList>(std::move(runs));
      add(op->getResult(0), std::move(r));
    }
  }

  void concatenate(graph::ConcatenateOp op) {
    const auto dim = static_cast<int64_t>(op.getDimension());
    for (mlir::Value like : op->getOperands())
      for (Runs r : of(like)) {
        RunList runs;
        const bool all = r.dim == dim && r.kind != Runs::Scaled && llvm::all_of(op->getOperands(), [&](mlir::Value v) {
                           for (const Runs &x : of(v))
                             if (agrees(r, x) && !x.holes) {
                               runs.insert(runs.end(), x.runs->begin(), x.runs->end());
                               return true;
                             }
                           return false;
                         });
        if (!all)
          continue;
        r.runs = std::make_shared<const RunList>(std::move(runs));
        add(op->getResult(0), std::move(r));
      }
  }

  void pad(graph::PadOp op) {
    if (splatOf(op->getOperand(1)) != 0.0)
      return;
    const auto low = op.getEdgePaddingLow(), high = op.getEdgePaddingHigh(), between = op.getInteriorPadding();
    const std::optional<int64_t> dim = onlyDim(typeOf(op->getOperand(0)).getRank(),
                                               [&](size_t d) { return low[d] != 0 || high[d] != 0 || between[d] != 0; });
    if (!dim)
      return;
    const auto d = static_cast<size_t>(*dim);
    if (low[d] < 0 || high[d] < 0)
      return;
    for (Runs r : of(op->getOperand(0))) {
      if (r.dim != *dim || r.kind == Runs::Scaled || r.holes)
        continue;
      RunList runs(static_cast<size_t>(typeOf(op->getResult(0)).getDimSize(*dim)), kHole);
      for (size_t i = 0; i < r.runs->size(); ++i)
        runs[static_cast<size_t>(low[d]) + i * static_cast<size_t>(between[d] + 1)] = (*r.runs)[i];
      r.runs = std::make_shared<const RunList>(std::move(runs));
      r.holes = true;
      add(op->getResult(0), std::move(r));
    }
  }

  void binary(mlir::Operation *op) {
    static constexpr llvm::StringLiteral kNames[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
    const auto *name = llvm::find(kNames, opName(op));
    if (name == std::end(kNames))
      return;
    const mlir::Value to = op->getResult(0);
    const List left = of(op->getOperand(0)), right = of(op->getOperand(1));
    for (const Runs &x : left)
      for (const Runs &y : right) {
        if (x.dim != y.dim || x.holes != y.holes)
          continue;
        if (x.holes) {
          if (*name == "add" || *name == "or")
            interleave(to, x, y);
          continue;
        }
        for (const auto &[p, q] : {std::pair(&x, &y), std::pair(&y, &x)}) {
          fold(to, *name, *p, *q);
          scaled(to, *name, *p, *q);
          state(to, *name, *p, *q);
        }
      }
  }

  // One has an element wherever the other has a hole.
  void interleave(mlir::Value to, const Runs &x, const Runs &y) {
    Runs r = x.isPlain() ? y : x;
    if (!agrees(r, x) || !agrees(r, y) || x.runs->size() != y.runs->size())
      return;
    RunList runs = *x.runs;
    for (size_t i = 0; i < runs.size(); ++i) {
      if ((runs[i] == kHole) == ((*y.runs)[i] == kHole))
        return;
      if (runs[i] == kHole)
        runs[i] = (*y.runs)[i];
    }
    r.runs = std::make_shared<const RunList>(std::move(runs));
    r.holes = false;
    add(to, std::move(r));
  }

  static bool isFold(const Runs &r, llvm::StringRef op) {
    return r.kind == Runs::Fold && (r.combine.empty() || r.combine == op);
  }

  void fold(mlir::Value to, llvm::StringRef op, const Runs &first, const Runs &then) {
    if (isFold(first, op) && isFold(then, op) && first.terms == then.terms && follows(*first.runs, *then.runs))
      add(to, {.dim = first.dim, .terms = first.terms, .combine = op, .runs = joined(*first.runs, *then.runs)});
  }

  void scaled(mlir::Value to, llvm::StringRef op, const Runs &first, const Runs &factor) {
    const bool isState = first.kind == Runs::State && first.factors == factor.terms && first.scale == op;
    if (!isFold(factor, op) || first.terms == factor.terms || !(isState || first.isPlain()) ||
        !follows(*first.runs, *factor.runs))
      return;
    add(to, {.kind = Runs::Scaled,
             .dim = first.dim,
             .factors = factor.terms,
             .terms = first.terms,
             .scale = op,
             .combine = isState ? first.combine : llvm::StringRef(),
             .runs = joined(*first.runs, *factor.runs),
             .later = factor.runs});
  }

  void state(mlir::Value to, llvm::StringRef op, const Runs &s, const Runs &term) {
    if (s.kind != Runs::Scaled || !isRecurrence(s.scale, op) || (!s.combine.empty() && s.combine != op) ||
        !llvm::isa<mlir::FloatType>(elementOf(to)))
      return;
    Runs r = s;
    r.kind = Runs::State;
    r.combine = op;
    r.later = nullptr;
    if (agrees(r, term) && *term.runs == *s.later)
      add(to, std::move(r));
  }
};

// Erases what nobody needs any more, from `op` on towards the arguments.
void eraseDead(mlir::Operation *op, llvm::DenseSet<mlir::Operation *> &erased) {
  llvm::SmallVector<mlir::Operation *> left{op};
  while (!left.empty()) {
    mlir::Operation *dead = left.pop_back_val();
    if (erased.contains(dead) || !dead->use_empty() || !mlir::isMemoryEffectFree(dead))
      continue;
    for (mlir::Value v : dead->getOperands())
      if (mlir::Operation *from = v.getDefiningOp())
        left.push_back(from);
    erased.insert(dead);
    dead->erase();
  }
}

} // namespace

void foldScans(mlir::func::FuncOp main) {
  const std::vector<mlir::Operation *> all = programOps(main);
  Follower follower;
  for (mlir::Operation *op : all)
    follower.visit(op);
  llvm::DenseSet<mlir::Operation *> erased;
  for (mlir::Operation *op : llvm::reverse(all)) { // the whole scan before the scans of pairs inside it
    if (erased.contains(op) || op->getNumResults() != 1)
      continue;
    const mlir::Value v = op->getResult(0);
    const Runs *r = follower.whole(v);
    if (!r)
      continue;
    if (!v.use_empty()) {
      GraphBuilder g(op);
      const mlir::Value scan = r->kind == Runs::Fold
                                   ? runningFold(g, r->combine, r->terms, r->dim)
                                   : makeRecurrence(g, {r->factors, r->terms, {}, r->dim, r->scale, r->combine});
      if (!scan)
        continue;
      op->getResult(0).replaceAllUsesWith(scan);
    }
    eraseDead(op, erased);
  }
}

} // namespace glia::emit
