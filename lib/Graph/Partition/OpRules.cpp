// The rules of operations that are element-wise or move elements, and the table of all.
#include "ComputeRules.h"
#include "RuleWriter.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace glia::partition {

namespace {

using namespace graph;

// ---- element-wise -----------------------------------------------------------------------------------------------------------

// Operands have the shape of the result, or are scalars.
Rule pointwise(Operation *op) {
  Writer w(op);
  const Value shaped = op->getResult(0);
  for (int64_t d = 0; d < rankOf(shaped.getType()); ++d) {
    if (sizeAt(shaped, d) == 1)
      continue;
    const int l = w.rule.add(sizeAt(shaped, d));
    for (Letters &t : w.rule.tensors)
      if (t.size() == static_cast<size_t>(rankOf(shaped.getType())))
        t[static_cast<size_t>(d)].push_back(l);
  }
  return w.finish(true);
}

// Each operand is a result.
Rule barrier(Operation *op) {
  Writer w(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (int64_t d = 0; d < rankOf(op->getOperand(i).getType()); ++d)
      w.letter({{i, d}, {w.result(i), d}}, sizeAt(op->getOperand(i), d));
  return w.finish(true);
}

// Exchanges that are written by hand: operands are results, but along the dimensions that the groups cut or join.
Rule exchanged(Operation *op) {
  Writer w(op);
  SmallVector<int64_t> along;
  for (const StringRef name : {"all_gather_dim", "scatter_dimension", "split_dimension", "concat_dimension"})
    if (const auto dim = op->getAttrOfType<IntegerAttr>(name))
      along.push_back(dim.getInt());
  for (unsigned i = 0; i < op->getNumResults() && i < op->getNumOperands(); ++i)
    for (int64_t d = 0; d < rankOf(op->getResult(i).getType()); ++d)
      if (!llvm::is_contained(along, d))
        w.letter({{i, d}, {w.result(i), d}}, sizeAt(op->getResult(i), d));
  return w.finish(true);
}

// ---- movement ---------------------------------------------------------------------------------------------------------------

Rule made(Operation *op) { return sameRule(op->getResult(0).getType(), 1); }

Rule broadcastInDim(Operation *op) {
  Writer w(op);
  const auto dims = cast<BroadcastInDimOp>(op).getBroadcastDimensions();
  for (int64_t d = 0; d < rankOf(op->getResult(0).getType()); ++d) {
    const int64_t size = sizeAt(op->getResult(0), d);
    const auto *from = llvm::find(dims, d);
    if (from != dims.end() && sizeAt(op->getOperand(0), from - dims.begin()) == size)
      w.letter({{0, from - dims.begin()}, {1, d}}, size);
    else
      w.letter({{1, d}}, size);
  }
  return w.finish(true);
}

Rule transpose(Operation *op) {
  Writer w(op);
  for (const auto [to, from] : llvm::enumerate(cast<TransposeOp>(op).getPermutation()))
    w.letter({{0, from}, {1, static_cast<int64_t>(to)}}, sizeAt(op->getOperand(0), from));
  return w.finish(true);
}

// Dimensions are cut and joined: their common factors are letters, the major ones first.
Rule reshape(Operation *op) {
  Writer w(op);
  const auto from = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  const auto to = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (llvm::is_contained(from, 0))
    return w.finish(true);
  const auto count = [](size_t i, ArrayRef<int64_t> shape) { return i < shape.size() ? shape[i] : 1; };
  size_t i = 0, j = 0;
  int64_t a = count(0, from), b = count(0, to);
  while (i < from.size() || j < to.size()) {
    if (a == 1) {
      a = count(++i, from);
      if (i > from.size())
        break;
      continue;
    }
    if (b == 1) {
      b = count(++j, to);
      if (j > to.size())
        break;
      continue;
    }
    if (i >= from.size() || j >= to.size())
      break;
    const int64_t common = std::min(a, b);
    if (std::max(a, b) % common) { // neither divides the other: whole, until both products are the same
      const auto whole = [&](size_t tensor, size_t dim, int64_t size) {
        w.put({tensor, static_cast<int64_t>(dim)}, w.rule.add(size, Letter::Whole));
      };
      whole(0, i, a);
      whole(1, j, b);
      int64_t left = a, right = b;
      while (left != right) {
        if (left < right) {
          left *= count(++i, from);
          if (count(i, from) != 1)
            whole(0, i, count(i, from));
        } else {
          right *= count(++j, to);
          if (count(j, to) != 1)
            whole(1, j, count(j, to));
        }
      }
      a = b = 1;
      continue;
    }
    w.letter({{0, static_cast<int64_t>(i)}, {1, static_cast<int64_t>(j)}}, common);
    a /= common;
    b /= common;
  }
  return w.finish(true);
}

// Dimensions that are the same on both sides pass; `same` says which others do not.
Rule sides(Operation *op, function_ref<bool(int64_t)> same) {
  Writer w(op);
  for (int64_t d = 0; d < rankOf(op->getResult(0).getType()); ++d)
    if (same(d))
      w.letter({{0, d}, {w.result(), d}}, sizeAt(op->getResult(0), d));
  return w.finish(true);
}

Rule slice(Operation *op) {
  auto s = cast<SliceOp>(op);
  return sides(op, [&](int64_t d) {
    const auto i = static_cast<size_t>(d);
    return s.getStartIndices()[i] == 0 && s.getStrides()[i] == 1 && s.getLimitIndices()[i] == sizeAt(op->getOperand(0), d);
  });
}
Rule pad(Operation *op) {
  auto p = cast<PadOp>(op);
  return sides(op, [&](int64_t d) {
    const auto i = static_cast<size_t>(d);
    return p.getEdgePaddingLow()[i] == 0 && p.getEdgePaddingHigh()[i] == 0 && p.getInteriorPadding()[i] == 0;
  });
}
Rule reverse(Operation *op) {
  return sides(op, [&](int64_t d) { return !llvm::is_contained(cast<ReverseOp>(op).getDimensions(), d); });
}
Rule dynamicSlice(Operation *op) {
  return sides(op, [&](int64_t d) { return sizeAt(op->getOperand(0), d) == sizeAt(op->getResult(0), d); });
}
Rule bitcast(Operation *op) {
  const int64_t rank = std::min(rankOf(op->getOperand(0).getType()), rankOf(op->getResult(0).getType()));
  return sides(op, [&](int64_t d) { return d < rank; });
}

Rule concatenate(Operation *op) {
  Writer w(op);
  const auto dim = static_cast<int64_t>(cast<ConcatenateOp>(op).getDimension());
  for (int64_t d = 0; d < rankOf(op->getResult(0).getType()); ++d)
    if (const int64_t size = sizeAt(op->getResult(0), d); d != dim && size != 1) {
      const int l = w.rule.add(size);
      for (size_t t = 0; t < w.rule.tensors.size(); ++t)
        w.put({t, d}, l);
    }
  return w.finish(true);
}

Rule dynamicUpdateSlice(Operation *op) {
  Writer w(op);
  for (int64_t d = 0; d < rankOf(op->getResult(0).getType()); ++d)
    if (sizeAt(op->getOperand(1), d) == sizeAt(op->getResult(0), d))
      w.letter({{0, d}, {1, d}, {w.result(), d}}, sizeAt(op->getResult(0), d));
    else
      w.letter({{0, d}, {w.result(), d}}, sizeAt(op->getResult(0), d), Letter::Whole);
  return w.finish(true);
}

Rule unknown(Operation *op) {
  Rule rule = Writer(op).finish();
  rule.known = false;
  return rule;
}

using Maker = Rule (*)(Operation *);
const llvm::StringMap<Maker> &table() {
  static const llvm::StringMap<Maker> all = [] {
    llvm::StringMap<Maker> t;
    constexpr StringLiteral kPointwise =
        "abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide exponential "
        "exponential_minus_one floor imag is_finite log log_plus_one logistic map maximum minimum multiply negate not or "
        "popcnt "
        "power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left "
        "shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor acos acosh asin asinh atan atanh "
        "bessel_i1e conj cosh digamma erf erf_inv erfc lgamma sinh square is_inf is_pos_inf is_neg_inf next_after polygamma "
        "zeta mulhi";
    SmallVector<StringRef> names;
    kPointwise.split(names, ' ');
    for (const StringRef name : names)
      t[name] = pointwise;
    const std::pair<StringRef, Maker> others[] = {
        {"optimization_barrier", barrier},
        {"constant", made},
        {"iota", made},
        {"broadcast_in_dim", broadcastInDim},
        {"transpose", transpose},
        {"reshape", reshape},
        {"slice", slice},
        {"pad", pad},
        {"reverse", reverse},
        {"dynamic_slice", dynamicSlice},
        {"bitcast_convert", bitcast},
        {"concatenate", concatenate},
        {"gather", gatherRule},
        {"scatter", scatterRule},
        {"dot_general", dotGeneralRule},
        {"dot", dotRule},
        {"convolution", convolutionRule},
        {"reduce", reduceRule},
        {"sort", sortRule},
        {"top_k", topKRule},
        {"reduce_window", reduceWindowRule},
        {"select_and_scatter", selectAndScatterRule},
        {"cholesky", matricesRule},
        {"triangular_solve", matricesRule},
        {"fft", fftRule},
        {"dynamic_update_slice", dynamicUpdateSlice},
    };
    for (const StringRef name : {"all_reduce", "all_gather", "all_to_all", "reduce_scatter", "collective_broadcast",
                                 "collective_permute", "cross-replica-sum"})
      t[name] = exchanged;
    for (const auto &[name, maker] : others)
      t[name] = maker;
    return t;
  }();
  return all;
}

} // namespace

Rule ruleOf(Operation *op) {
  const StringRef dialect = op->getName().getDialectNamespace();
  const auto found = table().find(op->getName().stripDialect());
  const auto known = [](Type t) { return isa<RankedTensorType>(t) || !isa<ShapedType>(t); };
  const bool ours = (dialect == "stablehlo" || dialect == "chlo") && found != table().end() &&
                    llvm::all_of(op->getOperandTypes(), known) && llvm::all_of(op->getResultTypes(), known);
  const bool isMade = found != table().end() && found->second == made; // as an operation of StableHLO only
  return ours && (!isMade || isa<ConstantOp, IotaOp>(op)) ? found->second(op) : unknown(op);
}

} // namespace glia::partition
