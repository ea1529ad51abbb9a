// Forms groups: walks the operations in order and lets each join the group of one of its producers if the family agrees and no
// cycle of groups comes of it; otherwise it starts a group of its own. Local and deterministic.
#include "glia/Emit/Family.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

namespace glia::emit {

bool Group::contains(mlir::Operation *op) const { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

llvm::StringRef opName(mlir::Operation *op) { return op->getName().stripDialect(); }

std::vector<int64_t> shapeOf(mlir::Value v) {
  const auto t = llvm::cast<mlir::RankedTensorType>(v.getType());
  return {t.getShape().begin(), t.getShape().end()};
}

int64_t elementsOf(mlir::Value v) {
  int64_t n = 1;
  for (int64_t d : shapeOf(v))
    n *= d;
  return n;
}

std::optional<DType> machineType(mlir::Type t) {
  if (t.isF32())
    return DType::F32;
  if (t.isBF16())
    return DType::BF16;
  if (t.isF16())
    return DType::F16;
  if (llvm::isa<mlir::Float8E4M3Type>(t))
    return DType::F8E4M3;
  if (llvm::isa<mlir::Float8E4M3FNType>(t))
    return DType::F8E4M3FN;
  if (llvm::isa<mlir::Float8E5M2Type>(t))
    return DType::F8E5M2;
  if (llvm::isa<mlir::Float8E3M4Type>(t))
    return DType::F8E3M4;
  const auto i = llvm::dyn_cast<mlir::IntegerType>(t);
  if (!i)
    return std::nullopt;
  switch (i.getWidth()) {
  case 1: return DType::U8;
  case 8: return i.isUnsigned() ? DType::U8 : DType::I8;
  case 16: return i.isUnsigned() ? DType::U16 : DType::I16;
  case 32: return i.isUnsigned() ? DType::U32 : DType::I32;
  default: return std::nullopt;
  }
}

std::optional<double> splatOf(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  const llvm::StringRef name = opName(op);
  if (name == "broadcast_in_dim" || name == "broadcast" || name == "reshape" || name == "transpose")
    return splatOf(op->getOperand(0));
  auto value = name == "constant" ? llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value")) : nullptr;
  if (!value || value.getNumElements() == 0 || !(value.isSplat() || value.getNumElements() == 1))
    return std::nullopt;
  const mlir::Type t = value.getElementType();
  if (llvm::isa<mlir::FloatType>(t)) {
    llvm::APFloat f = *value.value_begin<llvm::APFloat>();
    bool lost;
    f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return f.convertToDouble();
  }
  if (auto i = llvm::dyn_cast<mlir::IntegerType>(t)) {
    const llvm::APInt n = *value.value_begin<llvm::APInt>();
    return i.isUnsigned() || i.getWidth() == 1 ? static_cast<double>(n.getZExtValue())
                                               : static_cast<double>(n.getSExtValue());
  }
  return std::nullopt;
}

bool isAlias(mlir::Operation *op) { return opName(op) == "reshape" || opName(op) == "optimization_barrier"; }

mlir::Value aliasOf(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op || !isAlias(op))
    return v;
  return op->getOperand(op->getNumOperands() == 1 ? 0 : llvm::cast<mlir::OpResult>(v).getResultNumber());
}

namespace {

// Which groups a group reads from, directly or not.
class Reach {
public:
  void add(size_t group) {
    if (rows.size() <= group)
      rows.resize(group + 1);
  }
  bool from(size_t group, size_t other) const { return other < rows[group].size() && rows[group][other]; }
  // `group` now reads from `other`; so does everything that reads from `group`.
  void connect(size_t group, size_t other) {
    if (group == other || from(group, other))
      return;
    std::vector<bool> more(std::max(rows[other].size(), other + 1));
    std::copy(rows[other].begin(), rows[other].end(), more.begin());
    more[other] = true;
    join(group, more);
    for (size_t g = 0; g < rows.size(); ++g)
      if (g != group && from(g, group))
        join(g, more);
  }

private:
  std::vector<std::vector<bool>> rows;
  void join(size_t g, const std::vector<bool> &more) {
    if (rows[g].size() < more.size())
      rows[g].resize(more.size());
    for (size_t i = 0; i < more.size(); ++i)
      if (more[i])
        rows[g][i] = true;
  }
};

class Grouping {
public:
  std::vector<Group> run(mlir::Block &body) {
    for (mlir::Operation &op : body.without_terminator())
      place(&op);
    if (!refused.empty())
      throw Error(std::move(refused));
    std::vector<Group> out = inOrder();
    for (Group &g : out)
      findTensors(g);
    return out;
  }

private:
  std::vector<Group> groups;
  Reach reach;
  llvm::DenseMap<mlir::Operation *, size_t> groupOf;
  std::vector<Diagnostic> refused;

  static const Family *familyOf(mlir::Operation *op, std::string &why) {
    for (const Family *f : families()) {
      const std::optional<std::string> answer = f->accepts(op);
      if (!answer)
        continue;
      if (answer->empty())
        return f;
      why = *answer;
    }
    return nullptr;
  }

  void refuse(mlir::Operation *op, const std::string &why) {
    const nisa::Origin o = nisa::originOf(op->getLoc());
    Diagnostic d;
    d.code = "GRAPH-UNSUPPORTED";
    d.message =
        op->getName().getStringRef().str() + " cannot be lowered: " + (why.empty() ? "the operation is not supported" : why);
    d.place = {o.file, o.line, 0};
    d.advice = "docs/graph.md lists what can be lowered, and forms that work instead.";
    refused.push_back(std::move(d));
  }

  void place(mlir::Operation *op) {
    if (opName(op) == "constant" || (op->getNumResults() == 1 && splatOf(op->getResult(0))))
      return; // part of whoever reads it
    std::string why;
    const Family *family = familyOf(op, why);
    if (!family && isAlias(op))
      return;
    if (!family)
      return refuse(op, why);
    llvm::SmallSetVector<size_t, 4> producers;
    for (mlir::Value v : op->getOperands()) {
      while (v.getDefiningOp() && isAlias(v.getDefiningOp()) && !groupOf.count(v.getDefiningOp()))
        v = aliasOf(v);
      if (const auto it = groupOf.find(v.getDefiningOp()); it != groupOf.end())
        producers.insert(it->second);
    }
    // The latest group first: it is the one whose values are still at hand.
    std::vector<size_t> candidates(producers.begin(), producers.end());
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    for (size_t g : candidates) {
      if (groups[g].family != family)
        continue;
      // Another producer that itself reads from g would have to run between the group's own operations.
      const bool cycle =
          std::any_of(producers.begin(), producers.end(), [&](size_t p) { return p != g && reach.from(p, g); });
      if (cycle || !takeAliases(op, g) || !family->joins(groups[g], op))
        continue;
      groups[g].ops.push_back(op);
      groupOf[op] = g;
      for (size_t p : producers)
        reach.connect(g, p);
      return;
    }
    if (isAlias(op))
      return; // nobody needs it inside a kernel
    const size_t g = groups.size();
    groups.push_back({family, {op}, {}, {}});
    reach.add(g);
    groupOf[op] = g;
    for (size_t p : producers)
      reach.connect(g, p);
  }

  // Reshapes between the group and the operation become part of the group; false if the family does not want one of them.
  bool takeAliases(mlir::Operation *op, size_t g) {
    for (mlir::Value v : op->getOperands()) {
      std::vector<mlir::Operation *> chain;
      mlir::Value root = v;
      while (root.getDefiningOp() && isAlias(root.getDefiningOp()) && !groupOf.count(root.getDefiningOp())) {
        chain.push_back(root.getDefiningOp());
        root = aliasOf(root);
      }
      const auto it = groupOf.find(root.getDefiningOp());
      if (chain.empty() || it == groupOf.end() || it->second != g)
        continue;
      for (size_t i = chain.size(); i-- > 0;) {
        if (!groups[g].family->joins(groups[g], chain[i]))
          return false;
        groups[g].ops.push_back(chain[i]);
        groupOf[chain[i]] = g;
      }
    }
    return true;
  }

  // A group may have grown after later ones were begun: order them by what they read.
  std::vector<Group> inOrder() {
    std::vector<size_t> left(groups.size());
    std::vector<Group> out;
    std::vector<bool> done(groups.size(), false);
    while (out.size() < groups.size())
      for (size_t g = 0; g < groups.size(); ++g) {
        if (done[g])
          continue;
        bool ready = true;
        for (size_t p = 0; p < groups.size() && ready; ++p)
          ready = p == g || done[p] || !reach.from(g, p);
        if (!ready)
          continue;
        done[g] = true;
        out.push_back(groups[g]);
      }
    return out;
  }

  // Somebody outside the group needs the value, perhaps through reshapes.
  static bool neededOutside(mlir::Value v, const llvm::DenseSet<mlir::Operation *> &mine, mlir::Block *block) {
    return llvm::any_of(v.getUsers(), [&](mlir::Operation *user) {
      mlir::Operation *u = block->findAncestorOpInBlock(*user);
      if (!isAlias(u))
        return !mine.contains(u);
      return llvm::any_of(u->getResults(), [&](mlir::Value r) { return aliasOf(r) == v && neededOutside(r, mine, block); });
    });
  }

  static void findTensors(Group &g) {
    llvm::SetVector<mlir::Value> inputs;
    llvm::DenseSet<mlir::Operation *> mine(g.ops.begin(), g.ops.end());
    for (mlir::Operation *op : g.ops) {
      for (mlir::Value v : op->getOperands())
        if ((!v.getDefiningOp() || !mine.contains(v.getDefiningOp())) && !(g.family->takesSplats() && splatOf(v)))
          inputs.insert(v);
      for (mlir::Value v : op->getResults())
        if (!isAlias(op) && neededOutside(v, mine, op->getBlock()))
          g.outputs.push_back(v);
    }
    g.inputs.assign(inputs.begin(), inputs.end());
  }
};

} // namespace

std::vector<Group> groupOperations(mlir::Block &body) { return Grouping().run(body); }

std::string structureOf(const Group &g) {
  std::string out;
  llvm::raw_string_ostream s(out);
  llvm::DenseMap<mlir::Value, size_t> numbers;
  for (mlir::Value v : g.inputs) {
    numbers.try_emplace(v, numbers.size());
    s << v.getType() << ";";
  }
  mlir::OpPrintingFlags flags;
  flags.useLocalScope();
  for (mlir::Operation *op : g.ops) {
    s << op->getName() << "(";
    for (mlir::Value v : op->getOperands())
      s << numbers.lookup(v) << ",";
    s << ")" << op->getAttrDictionary() << ":";
    for (mlir::Value v : op->getResults()) {
      numbers.try_emplace(v, numbers.size());
      s << v.getType() << ",";
    }
    for (mlir::Region &r : op->getRegions())
      for (mlir::Block &b : r)
        for (mlir::Operation &inner : b)
          inner.print(s, flags);
    s << "\n";
  }
  for (mlir::Value v : g.outputs)
    s << numbers.lookup(v) << " ";
  return out;
}

} // namespace glia::emit
