#include "GradientMatch.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace glia::emit {

namespace {

using Place = ScoreMatcher::Place;
constexpr int kOne = ScoreMatcher::kOne, kSpread = ScoreMatcher::kSpread;
constexpr int kSecond = 1 << 16; // multiples of it: dimensions of contractions that may be the second one
constexpr int kMostTried = 300;  // operations

bool isMember(const std::optional<ScoreForm> &f) { return f && f->weight; }

class Matcher {
public:
  std::optional<WeightedGradient> run(graph::DotGeneralOp product) {
    if (!formOperand(product))
      return std::nullopt;
    // All products of values with an element for each score belong to it.
    for (bool more = true; more;) {
      more = false;
      for (mlir::Operation *op : std::vector<mlir::Operation *>(seen.begin(), seen.end()))
        for (mlir::Operation *user : op->getUsers())
          if (user->getBlock() == op->getBlock() && asked.insert(user).second && user->getNumResults() == 1) {
            if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(user))
              formOperand(dot);
            else
              know(user->getResult(0));
            more = true;
          }
    }
    return finish();
  }

private:
  // What is known of a value: an element for each score, or a number for each row.
  struct Known {
    std::optional<ScoreForm> form;
    int row = -1;    // a term
    int second = -1; // the contraction that it hangs on
    Place place;
    bool isFull() const { return form.has_value(); }
  };

  ScoreMatcher scores;
  WeightedGradient g;
  mlir::Operation *exponential = nullptr;
  bool failed = false;
  std::vector<graph::DotGeneralOp> contractions; // one of them is multiplied with the weights: the second one
  std::map<int, int> second;                     // dimensions of these: those of the scores
  llvm::DenseMap<mlir::Value, std::unique_ptr<Known>> known;
  llvm::SetVector<mlir::Operation *> seen; // operations of which something is known
  llvm::DenseSet<mlir::Operation *> asked;
  llvm::SetVector<mlir::Operation *> beside;
  int tried = 0;

  // The operand of a product that has an element for each score.
  bool formOperand(graph::DotGeneralOp dot) {
    if (dot == g.second || dot == g.scores)
      return false;
    for (unsigned side : {0u, 1u}) {
      const Known *v = know(dot->getOperand(side));
      if (!v || !isMember(v->form))
        continue;
      if (!llvm::is_contained(llvm::map_range(g.products, [](const auto &p) { return p.dot; }), dot))
        g.products.push_back({dot, side, *v->form, v->place, false, -1});
      return true;
    }
    return false;
  }

  const Known *keep(mlir::Value v, Known k) {
    seen.insert(v.getDefiningOp());
    return known.try_emplace(v, std::make_unique<Known>(std::move(k))).first->second.get();
  }

  const Known *know(mlir::Value v, const Place *hint = nullptr) {
    if (const auto it = known.find(v); it != known.end())
      return it->second.get();
    mlir::Operation *op = v.getDefiningOp();
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
    if (failed || !op || !type || !llvm::isa<mlir::FloatType>(type.getElementType()) || ++tried > kMostTried)
      return nullptr;
    const llvm::StringRef name = opName(op);
    if (name == "exponential")
      return weights(op);
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      return contraction(dot, hint);
    if (isAlias(op) || name == "transpose" || name == "broadcast_in_dim" || (name == "convert" && keepsDigits(op))) {
      const mlir::Value in = isAlias(op) ? aliasOf(v) : op->getOperand(0);
      const Known *from = know(in, name == "convert" ? hint : nullptr);
      if (!from || (name == "broadcast_in_dim" && from->isFull()))
        return nullptr;
      const std::optional<Place> to = placeThrough(op, in, v, from->place);
      if (!to)
        return nullptr;
      Known out = *from;
      out.place = *to;
      return keep(v, std::move(out));
    }
    if (name == "reduce")
      return sum(op);
    if (name == "select")
      return choice(op);
    if (name == "negate") {
      const Known *x = know(op->getOperand(0), hint);
      return x ? keep(v, scaled(*x, -1)) : nullptr;
    }
    if (name == "multiply" || name == "divide" || name == "add" || name == "subtract")
      return combined(op, name, hint);
    return nullptr;
  }

  Known scaled(const Known &x, double by) {
    Known out = x;
    if (out.isFull())
      out.form->factor.number *= by;
    else
      out.row = g.terms.combine("multiply", x.row, g.terms.number(by));
    return out;
  }

  // e, and with it the scores. There is one of them.
  const Known *weights(mlir::Operation *op) {
    if (exponential)
      return nullptr;
    failed = true; // unless the rest fits
    mlir::Operation *below = scores.made(op->getOperand(0));
    if (!below || opName(below) != "subtract")
      return nullptr;
    mlir::Operation *most = scores.largestOf(below->getOperand(1), below->getOperand(0));
    if (!most || !scores.m.steps.empty())
      return nullptr;
    for (mlir::Operation *o : {op, below, most})
      scores.m.ops.insert(o);
    std::string why;
    const std::optional<Place> full = scores.placeOf(below->getOperand(0)), row = scores.placeOf(below->getOperand(1)),
                               place = scores.placeOf(op->getResult(0)), reduced = scores.placeOf(most->getOperand(0));
    if (!full || !row || !place || !reduced || llvm::is_contained(*place, kSpread))
      return nullptr;
    const std::optional<Reduction> reduction = reductionOf(most, why);
    for (int64_t d : reduction->dims)
      if (const int at = (*reduced)[static_cast<size_t>(d)]; at >= 0) {
        if (g.column >= 0)
          return nullptr;
        g.column = at;
      }
    for (size_t d = 0; d < full->size(); ++d)
      if ((*full)[d] >= 0 && (*row)[d] != ((*full)[d] == g.column ? kSpread : (*full)[d]))
        return nullptr;
    if (g.column < 0)
      return nullptr;
    failed = false;
    exponential = op;
    g.scores = scores.m.scores;
    Known out;
    out.form.emplace().weight = true;
    out.place = *place;
    return keep(op->getResult(0), std::move(out));
  }

  // p, perhaps.
  const Known *contraction(graph::DotGeneralOp dot, const Place *hint) {
    if (dot == g.scores)
      return nullptr;
    Known out;
    out.form.emplace().product = true;
    out.second = static_cast<int>(contractions.size());
    contractions.push_back(dot);
    const std::vector<int64_t> shape = shapeOf(dot->getResult(0));
    for (size_t d = 0; d < shape.size(); ++d) {
      out.place.push_back(shape[d] == 1 ? kOne : kSecond * (out.second + 1) + static_cast<int>(d));
      if (hint && shape[d] != 1 && !same(out.place.back(), (*hint)[d]))
        return nullptr;
    }
    return keep(dot->getResult(0), std::move(out));
  }

  int resolved(int at) const {
    const auto it = second.find(at);
    return it == second.end() ? at : it->second;
  }
  // Two dimensions are one, or become one.
  bool same(int a, int b) {
    a = resolved(a);
    b = resolved(b);
    if (a == b)
      return true;
    if (b >= kSecond)
      std::swap(a, b);
    const auto taken = [&](const auto &x) { return x.first / kSecond == a / kSecond && x.second == b; };
    if (a < kSecond || b < 0 || b >= kSecond || llvm::any_of(second, taken))
      return false;
    second[a] = b;
    return true;
  }

  bool samePlace(const Place &a, const Place &b) {
    for (size_t d = 0; d < a.size(); ++d)
      if (!same(a[d], b[d]))
        return false;
    return true;
  }
  // A row's number stands beside each of its columns.
  bool stands(const Place &full, const Place &row) {
    for (size_t d = 0; d < full.size(); ++d) {
      const int at = resolved(full[d]);
      if (at == kOne ? row[d] != kOne : !same(full[d], row[d] == kSpread ? g.column : row[d]))
        return false;
    }
    return true;
  }

  const Known *sum(mlir::Operation *op) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    const Known *x = r && r->op == "add" && r->identity ? know(op->getOperand(0)) : nullptr;
    if (!x)
      return nullptr;
    const std::optional<Place> place = placeThrough(op, op->getOperand(0), op->getResult(0), x->place);
    int found = 0;
    for (int64_t d : r->dims) {
      const int at = resolved(x->place[static_cast<size_t>(d)]);
      if (at != kOne && (!x->isFull() || at != g.column))
        return nullptr;
      found += at != kOne;
    }
    Known out;
    out.place = *place;
    if (!x->isFull()) {
      out.row = x->row;
      return keep(op->getResult(0), std::move(out));
    }
    if (!x->form->weight || x->form->chosen || found != 1)
      return nullptr;
    RowTerm total;
    total.kind = RowTerm::Weights;
    int sum = g.terms.add(total);
    if (x->form->product) {
      const int weights = sum;
      total.kind = RowTerm::Products;
      sum = g.terms.add(total);
      if (x->form->shift >= 0)
        sum = g.terms.combine("add", sum, g.terms.combine("multiply", x->form->shift, weights));
    }
    RowFactor f = x->form->factor;
    f.powers[sum] += 1;
    out.row = f.term(g.terms);
    return keep(op->getResult(0), std::move(out));
  }

  // The choice that the scores went through, with 0 in the place of the number.
  const Known *choice(mlir::Operation *op) {
    const Known *x = know(op->getOperand(1));
    const std::optional<double> other = splatOf(op->getOperand(2));
    mlir::Operation *before = scores.m.chosen ? scores.m.chosen.getDefiningOp() : nullptr;
    if (!x || !x->isFull() || !other || *other != 0 || !before || before->getOperand(0) != op->getOperand(0) ||
        splatOf(before->getOperand(1)))
      return nullptr;
    const std::optional<Place> place = scores.placeOf(scores.m.chosen);
    if (!place || !samePlace(x->place, *place))
      return nullptr;
    Known out = *x;
    out.form->chosen = true;
    return keep(op->getResult(0), std::move(out));
  }

  // A tensor in HBM of which each row has one element, beside a value of that place.
  std::optional<int> tensor(mlir::Value v, const Place &place) {
    llvm::SetVector<mlir::Operation *> ops;
    const TensorProduct product = productOf(v, ops);
    if (product.views.size() != 1 || !exponential)
      return std::nullopt;
    RowTerm t;
    t.kind = RowTerm::Tensor;
    t.number = product.number;
    t.source = product.views[0].source;
    t.strides.assign(shapeOf(g.scores->getResult(0)).size(), 0);
    for (size_t d = 0; d < place.size(); ++d) {
      const Tile::Dim dim = product.views[0].dims[d];
      const int at = resolved(place[d]);
      if (dim.count == 1 || dim.stride == 0)
        continue;
      if (at < 0 || at >= kSecond || at == g.column)
        return std::nullopt;
      t.strides[static_cast<size_t>(at)] = dim.stride;
    }
    beside.insert(ops.begin(), ops.end());
    return g.terms.add(t);
  }

  const Known *combined(mlir::Operation *op, llvm::StringRef name, const Place *hint) {
    const mlir::Value result = op->getResult(0);
    for (unsigned i : {0u, 1u})
      if (const std::optional<double> n = splatOf(op->getOperand(i))) {
        const Known *x = know(op->getOperand(1 - i), hint);
        if (!x)
          return nullptr;
        if (name == "multiply" || (name == "divide" && i == 1))
          return *n != 0 && std::isfinite(*n) ? keep(result, scaled(*x, name == "multiply" ? *n : 1 / *n)) : nullptr;
        if (x->isFull())
          return nullptr;
        Known out = *x;
        const int number = g.terms.number(name == "subtract" && i == 1 ? -*n : *n);
        if (name == "divide")
          out.row = g.terms.combine("divide", number, x->row);
        else
          out.row = g.terms.combine("add", number, name == "subtract" && i == 0 ? scaled(*x, -1).row : x->row);
        return keep(result, std::move(out));
      }
    const auto placed = [&](const Known *x) { return x && x->isFull() ? &x->place : hint; };
    const Known *a = know(op->getOperand(0), hint), *b = know(op->getOperand(1), placed(a));
    if (!a && b)
      a = know(op->getOperand(0), placed(b));
    // The other may be in HBM.
    Known row;
    if (const Known *full = a ? a : b; full && full->isFull() && !(a && b)) {
      const std::optional<int> t = tensor(op->getOperand(a ? 1 : 0), full->place);
      if (!t)
        return nullptr;
      row.row = *t;
      return joined(result, name, a ? *a : row, a ? row : *b, /*placed=*/true);
    }
    return a && b ? joined(result, name, *a, *b, /*placed=*/false) : nullptr;
  }

  const Known *joined(mlir::Value result, llvm::StringRef name, Known x, Known y, bool placed) {
    Known out;
    if (!x.isFull() && !y.isFull()) {
      if (x.place != y.place)
        return nullptr;
      out.place = x.place;
      if (name == "subtract")
        y = scaled(y, -1);
      const std::string_view how = name == "multiply" ? "multiply" : name == "divide" ? "divide" : "add";
      out.row = g.terms.combine(how, x.row, y.row);
      return keep(result, std::move(out));
    }
    if (x.isFull() && y.isFull()) {
      if (!samePlace(x.place, y.place))
        return nullptr;
      const std::optional<ScoreForm> form = name == "multiply" ? productOf(*x.form, *y.form)
                                            : name == "divide"
                                                ? std::nullopt
                                                : sumOf(g.terms, *x.form, *y.form, name == "subtract" ? -1 : 1);
      if (!form)
        return nullptr;
      out.second = std::max(x.second, y.second);
      if (form->weight && out.second >= 0) { // there is one of them, too
        if (g.second && g.second != contractions[static_cast<size_t>(out.second)])
          return nullptr;
        g.second = contractions[static_cast<size_t>(out.second)];
      }
      out.form = form;
      out.place = x.place;
      return keep(result, std::move(out));
    }
    const bool first = x.isFull();
    const Known &full = first ? x : y, &row = first ? y : x;
    if (!placed && !stands(full.place, row.place))
      return nullptr;
    out = full;
    ScoreForm &f = *out.form;
    RowFactor factor;
    factor.powers[row.row] = 1;
    if (name == "multiply" || (name == "divide" && first)) {
      f.factor = f.factor.times(factor, name == "multiply" ? 1 : -1);
      return keep(result, std::move(out));
    }
    // f (p + t) + n = f (p + t + n / f)
    if (name == "divide" || f.weight || !f.product || f.chosen)
      return nullptr;
    if (name == "subtract" && !first)
      f.factor.number = -f.factor.number;
    if (name == "subtract" && first)
      factor.number = -1;
    const int more = factor.times(f.factor, -1).term(g.terms);
    f.shift = f.shift < 0 ? more : g.terms.combine("add", f.shift, more);
    return keep(result, std::move(out));
  }

  // Everything that a value is made of, as far as it is known.
  void collect(mlir::Value v) {
    mlir::Operation *op = v.getDefiningOp();
    if (!op || !known.contains(v) || !g.ops.insert(op) || op == exponential || op == g.second)
      return;
    for (mlir::Value o : op->getOperands())
      collect(isAlias(op) ? aliasOf(v) : o);
  }

  std::optional<WeightedGradient> finish() {
    if (failed || !exponential || !g.second)
      return std::nullopt;
    static_cast<MatchedScores &>(g) = std::move(scores.m);
    const auto chosen =
        static_cast<int>(std::find(contractions.begin(), contractions.end(), g.second) - contractions.begin());
    const std::vector<int64_t> shape = shapeOf(g.second->getResult(0));
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto it = second.find(kSecond * (chosen + 1) + static_cast<int>(d));
      if (shape[d] != 1 && it == second.end())
        return std::nullopt;
      g.secondPlace.push_back(shape[d] == 1 ? kOne : it->second);
    }
    // A mean of weights alone is no gradient.
    std::erase_if(g.products, [&](WeightedGradient::Product &p) {
      for (int &d : p.place)
        d = resolved(d);
      const auto n = p.dot.getDotDimensionNumbers();
      const auto contract = p.side ? n.getRhsContractingDimensions() : n.getLhsContractingDimensions();
      p.overRows = llvm::none_of(contract, [&](int64_t d) { return p.place[static_cast<size_t>(d)] == g.column; });
      return !p.form.product && !p.overRows;
    });
    const ScoreForm *one = nullptr; // what all that hang on the second contraction have in common
    for (const WeightedGradient::Product &p : g.products)
      if (p.form.product) {
        if ((one && (one->shift != p.form.shift || one->chosen != p.form.chosen)) || p.form.chosen != !g.keep.empty() ||
            (p.form.chosen && p.form.shift < 0))
          return std::nullopt;
        one = &p.form;
      } else if (p.form.chosen) {
        return std::nullopt;
      }
    if (!one)
      return std::nullopt;
    std::sort(g.products.begin(), g.products.end(),
              [](const auto &a, const auto &b) { return a.dot->isBeforeInBlock(b.dot); });
    for (WeightedGradient::Product &p : g.products) {
      // Transfers convert what is narrower.
      if (mlir::Operation *op = p.dot->getOperand(1 - p.side).getDefiningOp();
          op && opName(op) == "convert" && keepsDigits(op) && heldType(op->getOperand(0)) == DType::BF16)
        beside.insert(op);
      p.factor = p.form.factor.term(g.terms);
      collect(p.dot->getOperand(p.side));
      g.ops.insert(p.dot);
    }
    for (mlir::Operation *op : beside)
      if (!g.ops.contains(op))
        g.beside.insert(op);
    return alone() && g.readsWhatIsThere() ? std::optional(std::move(g)) : std::nullopt;
  }

  // Nobody else needs what hangs on the second contraction. Weights are made again by those who do.
  bool alone() {
    const auto isProduct = [&](mlir::Operation *op) {
      return llvm::any_of(g.products, [&](const auto &p) { return p.dot == op; });
    };
    for (mlir::Operation *op : g.ops) {
      const auto it = op->getNumResults() == 1 ? known.find(op->getResult(0)) : known.end();
      if (it == known.end() || isProduct(op) || !it->second->isFull())
        continue;
      g.wide |= mlir::getElementTypeOrSelf(op->getResult(0).getType()).isF32() &&
                !llvm::all_of(op->getUsers(), [](mlir::Operation *u) { return opName(u) == "reduce"; });
      if (it->second->form->product && !llvm::all_of(op->getUsers(), [&](mlir::Operation *u) { return g.ops.contains(u); }))
        return false;
    }
    return llvm::none_of(g.beside, [&](mlir::Operation *op) { return g.ops.contains(op); });
  }
};

} // namespace

std::optional<WeightedGradient> matchGradient(graph::DotGeneralOp product) { return Matcher().run(product); }

} // namespace glia::emit
