#include "Propagate.h"

using namespace mlir;

namespace glia::partition {

// ---- values -----------------------------------------------------------------------------------------------------------------

int Layouts::addNode(Type type) {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  const int64_t rank = rankOf(type);
  nodes.push_back({tensor, Layout::whole(rank), SmallVector<bool, 4>(static_cast<size_t>(rank), true), taken});
  return static_cast<int>(nodes.size()) - 1;
}

int Layouts::nodeOf(Value v) {
  const auto [at, isNew] = number.try_emplace(v, 0);
  if (isNew)
    at->second = addNode(v.getType());
  return number.lookup(v);
}

const Layout &Layouts::of(Value v) const {
  const auto found = number.find(v);
  if (found == number.end())
    throw std::runtime_error("a value of the graph has no layout");
  return nodes[static_cast<size_t>(found->second)].layout;
}

void Layouts::fix(int node, Attribute sharding, Operation *at) {
  Node &n = nodes[static_cast<size_t>(node)];
  if (!sharding || !n.type)
    return;
  const Sharding s = mesh.read(sharding, n.type, at);
  if (llvm::any_of(n.banned, [&](int axis) { return s.layout.uses(axis); }))
    refuse(at, "a sharding names an axis that the computation around is written for", "");
  n.layout = s.layout;
  n.open = s.open;
  n.banned.append(s.replicated.begin(), s.replicated.end());
}

void Layouts::link(std::initializer_list<int> list) {
  const Node &first = nodes[static_cast<size_t>(*list.begin())];
  if (first.type)
    edges.push_back({sameRule(first.type, list.size()), list});
}

Layouts::Layouts(func::FuncOp main, const Mesh &m) : mesh(m) {
  for (const BlockArgument a : main.getArguments())
    fix(nodeOf(a), main.getArgAttr(a.getArgNumber(), "sdy.sharding"), main);
  addBlock(main.getBody().front());
  Operation *end = main.getBody().front().getTerminator();
  for (const auto [i, v] : llvm::enumerate(end->getOperands())) {
    results.push_back(addNode(v.getType()));
    fix(results.back(), main.getResultAttr(static_cast<unsigned>(i), "sdy.sharding"), main);
    link({results.back(), nodeOf(v)});
  }
  spread();
  const auto name = [&](int node) {
    Node &n = nodes[static_cast<size_t>(node)];
    n.layout = mesh.inWholeAxes(n.layout, n.open);
  };
  for (const BlockArgument a : main.getArguments())
    name(nodeOf(a));
  llvm::for_each(results, name);
}

void Layouts::addBlock(Block &block) {
  for (Operation &op : llvm::drop_end(block))
    addOperation(op);
}

void Layouts::addOperation(Operation &op) {
  const StringRef name = op.getName().getStringRef();
  if (name == "sdy.manual_computation")
    return addManual(op);
  for (const Value v : op.getResults())
    nodeOf(v);
  if (name == "sdy.sharding_constraint" || name == "sdy.reshard") {
    if (op.getNumOperands() != 1 || op.getOperandTypes() != op.getResultTypes() || op.getNumRegions())
      refuse(&op, "a constraint of a sharding of an unknown form", "");
    fix(nodeOf(op.getResult(0)), op.getAttr("sharding"), &op);
    return link({nodeOf(op.getResult(0)), nodeOf(op.getOperand(0))});
  }
  if (name == "stablehlo.while") {
    // A value that goes round has one layout all the time.
    for (Region &region : op.getRegions())
      for (const BlockArgument a : region.front().getArguments())
        number[a] = nodeOf(op.getResult(a.getArgNumber()));
    for (Region &region : op.getRegions())
      addBlock(region.front());
    Operation *end = op.getRegion(1).front().getTerminator();
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      link({nodeOf(op.getResult(i)), nodeOf(op.getOperand(i)), nodeOf(end->getOperand(i))});
    return;
  }
  if (name == "stablehlo.if" || name == "stablehlo.case") {
    for (Region &region : op.getRegions()) {
      addBlock(region.front());
      for (unsigned i = 0; i < op.getNumResults(); ++i)
        link({nodeOf(op.getResult(i)), nodeOf(region.front().getTerminator()->getOperand(i))});
    }
    return;
  }
  if (const Attribute said = op.getAttr("sdy.sharding")) { // one, or one for each result
    const auto list = dyn_cast<ArrayAttr>(said);
    if (list ? list.size() != op.getNumResults() : op.getNumResults() != 1)
      refuse(&op, "an operation has another number of shardings than results", "");
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      fix(nodeOf(op.getResult(i)), list ? list[i] : said, &op);
  }
  Edge edge{ruleOf(&op), {}};
  for (const Value v : op.getOperands())
    edge.nodes.push_back(nodeOf(v));
  for (const Value v : op.getResults())
    edge.nodes.push_back(nodeOf(v));
  edges.push_back(std::move(edge));
}

// The axes of a sharding that the computation itself divides by: the first of each dimension.
Layout Layouts::handPart(Attribute sharding, Type global, Type local, ArrayRef<int> axes, Operation &op) const {
  Layout part = mesh.read(sharding, global, &op).layout;
  for (Axes &dim : part.dims) {
    const auto isFree = [&](int a) { return !llvm::is_contained(axes, a); };
    auto *end = llvm::find_if(dim, isFree);
    if (!std::all_of(end, dim.end(), isFree))
      refuse(&op, "a sharding has an axis of the computation behind another one", "");
    dim.truncate(static_cast<size_t>(end - dim.begin()));
  }
  if (mesh.localType(global, part) != local)
    refuse(&op, "an argument or a result of a computation for the parts of devices has not the shape of a part", "");
  return part;
}

// A dimension of the whole is what is divided by hand times a dimension of the part.
void Layouts::linkPart(int whole, int part, const Layout &hand) {
  Edge edge;
  edge.rule.easy = true;
  edge.nodes = {whole, part};
  const RankedTensorType type = nodes[static_cast<size_t>(part)].type;
  edge.rule.tensors.assign(2, Letters(static_cast<size_t>(type.getRank())));
  for (size_t d = 0; d < hand.dims.size(); ++d) {
    if (const int64_t parts = mesh.sizeOf(hand.dims[d]); parts > 1)
      edge.rule.tensors[0][d].push_back(edge.rule.add(parts));
    if (const int64_t size = type.getDimSize(static_cast<unsigned>(d)); size != 1) {
      const int letter = edge.rule.add(size);
      edge.rule.tensors[0][d].push_back(letter);
      edge.rule.tensors[1][d].push_back(letter);
    }
  }
  edges.push_back(std::move(edge));
}

void Layouts::addManual(Operation &op) {
  const auto in = op.getAttrOfType<ArrayAttr>("in_shardings"), out = op.getAttrOfType<ArrayAttr>("out_shardings");
  const auto manual = op.getAttrOfType<ArrayAttr>("manual_axes");
  const auto isTensor = [](Type t) { return isa<RankedTensorType>(t); };
  const bool known = in && out && manual && in.size() == op.getNumOperands() && out.size() == op.getNumResults() &&
                     op.getNumRegions() == 1 && op.getRegion(0).hasOneBlock() && !op.getRegion(0).front().empty() &&
                     op.getRegion(0).front().back().getName().getStringRef() == "sdy.return" &&
                     op.getRegion(0).front().getNumArguments() == op.getNumOperands() &&
                     op.getRegion(0).front().back().getNumOperands() == op.getNumResults() &&
                     llvm::all_of(op.getOperandTypes(), isTensor) && llvm::all_of(op.getResultTypes(), isTensor);
  if (!known)
    refuse(&op, "a computation for the parts of devices (sdy.manual_computation) of an unknown form", "");
  Block &body = op.getRegion(0).front();
  body.walk([&](Operation *inner) {
    for (Value v : inner->getOperands())
      if (!op.getRegion(0).isAncestor(v.getParentRegion()))
        refuse(inner, "a computation for the parts of devices uses a value from outside", "Give it as an argument.");
  });
  const ArrayAttr some = in.empty() ? out : in;
  const auto first = some.empty() ? DictionaryAttr() : dyn_cast<DictionaryAttr>(some[0]);
  const Axes axes = first ? mesh.named(first.get("mesh"), manual, &op) : Axes();
  if (llvm::any_of(axes, [&](int a) { return llvm::is_contained(taken, a); }))
    refuse(&op, "a computation for the parts of devices divides by an axis that the one around it divides by", "");
  ByHand hand;
  std::vector<int> wholes; // of operands, as the computation wants them
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    const Type type = op.getOperand(i).getType();
    hand.operands.push_back(handPart(in[i], type, body.getArgument(i).getType(), axes, op));
    wholes.push_back(addNode(type));
    fix(wholes.back(), in[i], &op);
    link({wholes.back(), nodeOf(op.getOperand(i))});
  }
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    const Type type = op.getResult(i).getType();
    hand.results.push_back(handPart(out[i], type, body.back().getOperand(i).getType(), axes, op));
    fix(nodeOf(op.getResult(i)), out[i], &op);
  }
  const Axes around = taken;
  taken.append(axes.begin(), axes.end());
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    linkPart(wholes[i], nodeOf(body.getArgument(i)), hand.operands[i]);
  addBlock(body);
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    linkPart(nodeOf(op.getResult(i)), nodeOf(body.back().getOperand(i)), hand.results[i]);
  taken = around;
  byHand[&op] = std::move(hand);
}

static Layout joined(const Layout &hand, const Layout &rest) {
  Layout out = hand;
  for (size_t d = 0; d < out.dims.size(); ++d)
    out.dims[d].append(rest.dims[d].begin(), rest.dims[d].end());
  return out;
}
Layout Layouts::entering(Operation *op, unsigned i) const {
  return joined(byHand.find(op)->second.operands[i], of(op->getRegion(0).front().getArgument(i)));
}
Layout Layouts::leaving(Operation *op, unsigned i) const {
  return joined(byHand.find(op)->second.results[i], of(op->getRegion(0).front().back().getOperand(i)));
}

// ---- spreading --------------------------------------------------------------------------------------------------------------

static bool isPrefix(ArrayRef<int> a, ArrayRef<int> b) { return a.size() <= b.size() && b.take_front(a.size()) == a; }

// Divides the open dimensions of a value further, where what it has already stays as it is.
bool Layouts::extend(Node &node, const Layout &to) {
  bool changed = false;
  for (size_t d = 0; d < node.layout.dims.size(); ++d) {
    Axes &have = node.layout.dims[d];
    const Axes &want = to.dims[d];
    if (!node.open[d] || want.size() <= have.size() || !isPrefix(have, want))
      continue;
    int64_t rest = node.type.getDimSize(static_cast<unsigned>(d)) / mesh.sizeOf(have);
    for (const int axis : ArrayRef(want).drop_front(have.size())) {
      if (node.layout.uses(axis) || llvm::is_contained(node.banned, axis) || rest % mesh.sizes[static_cast<size_t>(axis)])
        break;
      have.push_back(axis);
      rest /= mesh.sizes[static_cast<size_t>(axis)];
      changed = true;
    }
  }
  return changed;
}

// Each letter takes the longest list that some tensor has, if the others have a beginning of it, and what all agree on else.
bool Layouts::visit(const Edge &edge) {
  Assignment axes(edge.rule.letters.size());
  std::vector<bool> differ(axes.size(), false);
  for (size_t t = 0; t < edge.nodes.size(); ++t) {
    const Assignment own = lettersOf(edge.rule, t, nodes[static_cast<size_t>(edge.nodes[t])].layout, mesh);
    for (size_t l = 0; l < axes.size(); ++l) {
      if (edge.rule.letters[l].kind == Letter::Whole || own[l].empty())
        continue;
      if (differ[l] || !isPrefix(own[l], axes[l])) {
        if (isPrefix(axes[l], own[l]) && !differ[l]) {
          axes[l] = own[l];
        } else {
          differ[l] = true;
          size_t same = 0;
          while (same < std::min(axes[l].size(), own[l].size()) && axes[l][same] == own[l][same])
            ++same;
          axes[l].truncate(same);
        }
      }
    }
  }
  bool changed = false;
  for (size_t t = 0; t < edge.nodes.size(); ++t)
    if (Node &node = nodes[static_cast<size_t>(edge.nodes[t])]; node.type)
      changed |= extend(node, layoutOf(edge.rule, t, axes, mesh));
  return changed;
}

// First through operations that every sharding passes, so that what the user says of a value reaches its neighbours before a contraction
// chooses for them.
void Layouts::spread() {
  for (const bool all : {false, true})
    for (bool again = true; again;) {
      again = false;
      for (const Edge &e : edges)
        if (all || e.rule.easy)
          again |= visit(e);
      for (const Edge &e : llvm::reverse(edges))
        if (all || e.rule.easy)
          again |= visit(e);
    }
}

} // namespace glia::partition
