#include "DecomposeCollectives.h"
#include "CollectiveCall.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/PlainBody.h"
#include "NumberRanks.h"
#include "glia/Dialect/Nisa.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include <numeric>

namespace glia::emit {

namespace {

using Value = mlir::Value;
using Groups = std::vector<std::vector<int64_t>>; // ranks

[[noreturn]] void refuse(mlir::Operation *op, const std::string &what, const std::string &advice) {
  const nisa::Origin o = nisa::originOf(op->getLoc());
  throw Error("GRAPH-COLLECTIVE", "`" + opName(op).str() + "`: " + what, advice, {o.file, o.line, 0});
}

class Exchange {
public:
  Exchange(mlir::Operation *op, RankCounts counts) : op(op), counts(counts), g(op) {}

  // False: not an exchange.
  bool run() {
    const llvm::StringRef name = opName(op);
    if (name == "all_reduce" || name == "cross-replica-sum")
      return each([&](Value x, Value) { return allReduce(x); });
    if (name == "all_gather")
      return each([&](Value x, Value) { return allGather(x, integer("all_gather_dim")); });
    if (name == "reduce_scatter")
      return each([&](Value x, Value) { return reduceScatter(x, integer("scatter_dimension")); });
    if (name == "all_to_all")
      return each([&](Value x, Value r) { return allToAll(x, r); });
    if (name == "collective_broadcast")
      return each([&](Value x, Value) { return move(CollectiveKind::Broadcast, x, typeOf(x).getShape()); });
    if (name == "collective_permute")
      return each([&](Value x, Value) { return move(CollectiveKind::Permute, x, typeOf(x).getShape()); });
    if (name == "collective_reduce")
      refuse(op, "a reduction to one rank", "Use all_reduce.");
    return false;
  }

  // Of a module of one rank. Groups of the others are never read as a number of ranks: they say nothing of how replicas and partitions make it up.
  [[noreturn]] void refuseAlone() const {
    const bool permutes = opName(op) == "collective_permute";
    const auto table = op->getAttrOfType<mlir::DenseIntElementsAttr>(permutes ? "source_target_pairs" : "replica_groups");
    int64_t named = 0;
    if (table)
      for (const int64_t r : table.getValues<int64_t>())
        named = std::max(named, r + 1);
    const bool ofPartitions = hasChannel() && (permutes || byPartition() || op->hasAttr("use_global_device_ids"));
    refuse(
        op, "ranks exchange, and the module does not say that there are several",
        format("Say how many there are: `module attributes {mhlo.num_%s = %s : i32}`. Of frameworks docs/ranks.md says how.",
               ofPartitions ? "partitions" : "replicas", named > 1 ? std::to_string(named).c_str() : "N"));
  }

private:
  mlir::Operation *op;
  const RankCounts counts;
  GraphBuilder g;

  int64_t integer(llvm::StringRef name) const { return op->getAttrOfType<mlir::IntegerAttr>(name).getInt(); }

  template <class Make> bool each(Make make) {
    if (op->getNumOperands() != op->getNumResults())
      refuse(op, "a root that is computed", "Name the root in the groups.");
    for (auto [x, r] : llvm::zip(op->getOperands(), op->getResults())) {
      const Value made = make(x, r);
      if (made.getType() != r.getType())
        refuse(op, "the result has another size than its groups give", "Every group has as many ranks as the shapes say.");
      r.replaceAllUsesWith(made);
    }
    op->erase();
    return true;
  }

  // ---- who takes part -----------------------------------------------------------------------------------------------------

  bool hasChannel() const {
    const auto channel = op->getAttrOfType<graph::ChannelHandleAttr>("channel_handle");
    return channel && channel.getHandle() > 0;
  }

  bool byPartition() const { return opName(op) == "all_to_all" || opName(op) == "collective_broadcast"; }

  Groups written() const {
    Groups out;
    const auto table = op->getAttrOfType<mlir::DenseIntElementsAttr>("replica_groups");
    if (!table || (table.getType().getRank() != 2 && !table.empty()))
      refuse(op, "groups of ranks that are not a table", "Give replica_groups as a table of numbers.");
    const std::vector<int64_t> all(table.getValues<int64_t>().begin(), table.getValues<int64_t>().end());
    const auto width = all.empty() ? 1 : static_cast<size_t>(table.getType().getShape()[1]);
    for (size_t row = 0; row < all.size(); row += width) {
      out.emplace_back();
      std::copy_if(all.begin() + static_cast<ptrdiff_t>(row), all.begin() + static_cast<ptrdiff_t>(row + width),
                   std::back_inserter(out.back()), [](int64_t r) { return r >= 0; });
    }
    return out;
  }

  // Groups of ranks, as the StableHLO specification forms them from groups of replicas, of partitions or of both.
  Groups groups() const {
    Groups out, said = written();
    const bool global = op->hasAttr("use_global_device_ids");
    const auto rank = [&](int64_t replica, int64_t partition) { return replica * counts.partitions + partition; };
    const bool flat = hasChannel() && global, partitions = hasChannel() && byPartition(),
               both = hasChannel() && !flat && !partitions;
    if (said.empty()) {
      said.emplace_back(flat ? counts.ranks() : partitions ? counts.partitions : counts.replicas);
      std::iota(said[0].begin(), said[0].end(), 0);
    }
    for (const std::vector<int64_t> &group : said) {
      if (flat) {
        out.push_back(group);
      } else if (both) {
        out.emplace_back();
        for (int64_t p = 0; p < counts.partitions; ++p)
          for (const int64_t r : group)
            out.back().push_back(rank(r, p));
      } else {
        for (int64_t other = 0; other < (partitions ? counts.replicas : counts.partitions); ++other) {
          out.emplace_back();
          for (const int64_t r : group)
            out.back().push_back(partitions ? rank(other, r) : rank(r, other));
        }
      }
    }
    return out;
  }

  // Pairs of replicas, or with a channel of partitions.
  Groups pairs() const {
    const auto table = op->getAttrOfType<mlir::DenseIntElementsAttr>("source_target_pairs");
    if (!table)
      refuse(op, "no pairs", "Give source_target_pairs.");
    const std::vector<int64_t> all(table.getValues<int64_t>().begin(), table.getValues<int64_t>().end());
    Groups out;
    for (size_t i = 0; i + 1 < all.size(); i += 2)
      for (int64_t other = 0; other < (hasChannel() ? counts.replicas : counts.partitions); ++other) {
        const auto rank = [&](int64_t n) {
          return hasChannel() ? other * counts.partitions + n : n * counts.partitions + other;
        };
        out.push_back({rank(all[i]), rank(all[i + 1])});
      }
    return out;
  }

  size_t members() const { return groups().front().size(); }

  // ---- calls --------------------------------------------------------------------------------------------------------------

  Value call(CollectiveKind kind, CollectiveOp how, Value x, llvm::ArrayRef<int64_t> shape) {
    const Groups who = kind == CollectiveKind::Permute ? pairs() : groups();
    size_t width = kind == CollectiveKind::Permute ? 2 : 1;
    for (const std::vector<int64_t> &group : who)
      width = std::max(width, group.size());
    std::vector<int32_t> table;
    for (const std::vector<int64_t> &group : who) {
      for (size_t i = 0; i < width; ++i)
        table.push_back(i < group.size() ? static_cast<int32_t>(std::clamp<int64_t>(group[i], 0, kMostRanks)) : -1);
    }
    Collective c{.kind = kind,
                 .op = how,
                 .ranks = static_cast<int>(counts.ranks()),
                 .width = static_cast<int>(width),
                 .groups = table};
    c.dtype = machineType(elementOf(x)).value_or(DType::F32);
    c.elements = typeOf(x).getNumElements();
    if (const std::string fault = faultOf(c); !fault.empty())
      refuse(op, fault, "Every rank is in one group.");
    const auto number = [&](int64_t n) { return g.b.getI32IntegerAttr(static_cast<int32_t>(n)); };
    const mlir::NamedAttribute config[] = {
        g.b.getNamedAttr("kind", g.b.getStringAttr(collectiveKindNames().names[static_cast<size_t>(kind)])),
        g.b.getNamedAttr("op", g.b.getStringAttr(collectiveOpNames().names[static_cast<size_t>(how)])),
        g.b.getNamedAttr("ranks", number(counts.ranks())), g.b.getNamedAttr("width", number(static_cast<int64_t>(width))),
        g.b.getNamedAttr("groups", g.b.getDenseI32ArrayAttr(table))};
    return g.make("custom_call", {x}, mlir::RankedTensorType::get(shape, elementOf(x)),
                  {g.b.getNamedAttr("call_target_name", g.b.getStringAttr(kCollectiveTarget)),
                   g.b.getNamedAttr("backend_config", g.b.getDictionaryAttr(config))});
  }

  // Only bits are moved: types that the machine does not hold go in parts that it does.
  Value move(CollectiveKind kind, Value x, llvm::ArrayRef<int64_t> shape) {
    const mlir::Type element = elementOf(x);
    const auto part = [&](Value v) { return move(kind, v, shape); };
    if (auto c = llvm::dyn_cast<mlir::ComplexType>(element)) {
      const auto half = withElement(x, c.getElementType());
      const Value re = part(g.make("real", {x}, half)), im = part(g.make("imag", {x}, half));
      return g.make("complex", {re, im}, mlir::RankedTensorType::get(shape, element));
    }
    if (element.isInteger(1)) {
      const Value got = part(g.convert(x, g.b.getIntegerType(8, false)));
      return g.compare(graph::ComparisonDirection::NE, got, g.number(0, got));
    }
    if (element.isInteger(64)) {
      const mlir::Type word = g.b.getIntegerType(32, false), wide = g.b.getIntegerType(64, false);
      const Value bits = g.convert(x, wide), shift = g.number(32, bits);
      const Value low = g.convert(part(g.convert(bits, word)), wide);
      const Value high = g.convert(part(g.convert(g.binary("shift_right_logical", bits, shift), word)), wide);
      return g.convert(g.binary("or", low, g.binary("shift_left", high, g.number(32, high))), element);
    }
    if (!machineType(element))
      refuse(op, "elements of a type that the machine does not have", "Convert them first.");
    return call(kind, CollectiveOp::Add, x, shape);
  }

  // ---- kinds --------------------------------------------------------------------------------------------------------------

  // The operation of the body, if it is one that ranks combine by.
  std::optional<CollectiveOp> combiner() const {
    if (opName(op) == "cross-replica-sum")
      return CollectiveOp::Add;
    mlir::Block &body = op->getRegion(0).front();
    if (body.getNumArguments() != 2 || body.getOperations().size() != 2)
      return std::nullopt;
    mlir::Operation *only = &body.front();
    const auto uses = [&](unsigned a, unsigned b) {
      return only->getNumOperands() == 2 && only->getOperand(0) == body.getArgument(a) &&
             only->getOperand(1) == body.getArgument(b);
    };
    if (body.back().getNumOperands() != 1 || body.back().getOperand(0).getDefiningOp() != only ||
        (!uses(0, 1) && !uses(1, 0)))
      return std::nullopt;
    static constexpr std::pair<llvm::StringLiteral, CollectiveOp> kNames[] = {
        {"add", CollectiveOp::Add},     {"multiply", CollectiveOp::Multiply}, {"maximum", CollectiveOp::Max},
        {"minimum", CollectiveOp::Min}, {"and", CollectiveOp::And},           {"or", CollectiveOp::Or},
        {"xor", CollectiveOp::Xor}};
    for (const auto &[name, how] : kNames)
      if (opName(only) == name)
        return how;
    return std::nullopt;
  }

  // In a type of the machine; truth values as 0 and 1. Null: it must be done otherwise.
  Value combined(CollectiveKind kind, Value x, llvm::ArrayRef<int64_t> shape) {
    std::optional<CollectiveOp> how = combiner();
    const mlir::Type element = elementOf(x);
    if (!how)
      return {};
    if (element.isInteger(1)) {
      const bool any = *how == CollectiveOp::Or || *how == CollectiveOp::Max || *how == CollectiveOp::Add;
      if (!any && *how != CollectiveOp::And && *how != CollectiveOp::Min && *how != CollectiveOp::Multiply)
        return {};
      const Value got =
          call(kind, any ? CollectiveOp::Max : CollectiveOp::Min, g.convert(x, g.b.getIntegerType(8, false)), shape);
      return g.compare(graph::ComparisonDirection::NE, got, g.number(0, got));
    }
    if (auto c = llvm::dyn_cast<mlir::ComplexType>(element); c && *how == CollectiveOp::Add) {
      const auto half = withElement(x, c.getElementType());
      const Value re = combined(kind, g.make("real", {x}, half), shape),
                  im = combined(kind, g.make("imag", {x}, half), shape);
      return re && im ? g.make("complex", {re, im}, mlir::RankedTensorType::get(shape, element)) : Value();
    }
    const std::optional<DType> type = machineType(element);
    return type && combines(*how, *type) ? call(kind, *how, x, shape) : Value();
  }

  // Everything to everybody, and each rank combines one after the other.
  Value gatheredAndCombined(Value x) {
    for (const std::vector<int64_t> &group : groups())
      if (group.size() != members())
        refuse(op, "groups of different sizes", "Use groups of one size, or an operation that ranks combine by.");
    const Value all = gathered(x);
    Value sum;
    for (size_t m = 0; m < members(); ++m) {
      const auto i = static_cast<int64_t>(m);
      const Value next = g.reshape(g.slice(all, 0, i, i + 1), typeOf(x).getShape());
      sum = sum ? body(sum, next) : next;
    }
    return sum;
  }

  Value body(Value a, Value b) {
    if (opName(op) == "cross-replica-sum")
      return g.add(a, b);
    mlir::Block &block = op->getRegion(0).front();
    if (!isPlainBody(block))
      refuse(op, "a combination that is not made of pointwise operations", "Combine by pointwise operations.");
    return applied(g, block, {a, b}).front();
  }

  Value gathered(Value x) { // [members, ...]
    std::vector<int64_t> shape(typeOf(x).getShape());
    shape.insert(shape.begin(), static_cast<int64_t>(members()));
    return move(CollectiveKind::AllGather, x, shape);
  }

  Value allReduce(Value x) {
    const Value out = combined(CollectiveKind::AllReduce, x, typeOf(x).getShape());
    return out ? out : gatheredAndCombined(x);
  }

  // Puts the first dimension, of blocks, before `dim` and makes one of the two.
  Value joined(Value blocks, int64_t dim) {
    std::vector<int64_t> order, shape;
    const llvm::ArrayRef<int64_t> from = typeOf(blocks).getShape();
    for (int64_t d = 1; d <= static_cast<int64_t>(from.size()); ++d) {
      if (d - 1 == dim)
        order.push_back(0);
      if (d < static_cast<int64_t>(from.size()))
        order.push_back(d);
    }
    for (size_t d = 1; d < from.size(); ++d)
      shape.push_back(from[d] * (static_cast<int64_t>(d) - 1 == dim ? from[0] : 1));
    return g.reshape(g.transpose(blocks, order), shape);
  }

  // The other way: `n` blocks of a dimension become the first dimension.
  Value blocksOf(Value x, int64_t dim, int64_t n) {
    std::vector<int64_t> shape, order;
    const llvm::ArrayRef<int64_t> from = typeOf(x).getShape();
    if (dim < 0 || dim >= static_cast<int64_t>(from.size()) || from[static_cast<size_t>(dim)] % n)
      refuse(op, "a dimension that its ranks do not divide", "Its size is a multiple of the ranks of a group.");
    for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
      if (d == dim)
        shape.push_back(n);
      shape.push_back(from[static_cast<size_t>(d)] / (d == dim ? n : 1));
    }
    order.push_back(dim);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (d != dim)
        order.push_back(d);
    return g.transpose(g.reshape(x, shape), order);
  }

  Value allGather(Value x, int64_t dim) { return joined(gathered(x), dim); }

  Value reduceScatter(Value x, int64_t dim) {
    const auto n = static_cast<int64_t>(members());
    const Value blocks = blocksOf(x, dim, n);
    std::vector<int64_t> one(typeOf(blocks).getShape().drop_front());
    if (const Value out = combined(CollectiveKind::ReduceScatter, blocks, one))
      return out;
    // Each rank gets everybody's block for it.
    const Value mine = move(CollectiveKind::AllToAll, blocks, typeOf(blocks).getShape());
    Value sum;
    for (int64_t m = 0; m < n; ++m) {
      const Value next = g.reshape(g.slice(mine, 0, m, m + 1), one);
      sum = sum ? body(sum, next) : next;
    }
    return sum;
  }

  Value allToAll(Value x, Value r) {
    const int64_t n = integer("split_count");
    if (n != static_cast<int64_t>(members()))
      refuse(op, format("%lld blocks among %zu ranks", (long long)n, members()),
             "There is a block for each rank of a group.");
    const Value blocks = blocksOf(x, integer("split_dimension"), n);
    const Value out = joined(move(CollectiveKind::AllToAll, blocks, typeOf(blocks).getShape()), integer("concat_dimension"));
    return out.getType() == r.getType() ? out : g.reshape(out, typeOf(r).getShape());
  }
};

} // namespace

void decomposeCollectives(mlir::func::FuncOp main) {
  const RankCounts counts = rankCounts(main->getParentOfType<mlir::ModuleOp>());
  for (mlir::Operation *op : programOps(main))
    if (counts.ranks() > 1)
      Exchange(op, counts).run();
    else if (isExchange(op))
      Exchange(op, counts).refuseAlone();
}

} // namespace glia::emit
