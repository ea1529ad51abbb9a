// Tuples, control flow, calls, and what needs other devices.
#include "HloReader.h"

#include "Accept.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace glia::graph::hlo {

static StringRef ref(std::string_view s) { return {s.data(), s.size()}; }

Reader::Leaves Reader::readWhile(const Instruction &i, Body &body) {
  Operation *made = make(i, body, "stablehlo.while", operands(i, body), {}, 2);
  // In HLO the body comes first.
  fillRegion(i, made->getRegion(0), computation(i, 1));
  fillRegion(i, made->getRegion(1), computation(i, 0));
  return Leaves(made->getResults());
}

// The branches take operands; regions of `if` and `case` use the values around them.
Reader::Leaves Reader::readConditional(const Instruction &i, Body &body) {
  const Value selector = value(i, body, 0);
  const auto type = dyn_cast<RankedTensorType>(selector.getType());
  const bool isIf = type && type.getElementType().isInteger(1);
  const auto branches = static_cast<unsigned>(i.computations.size());
  if (i.operands.size() != branches + size_t(1) || (isIf && branches != 2))
    wrong(i, "has another number of operands than of branches");
  Operation *made = make(i, body, isIf ? "stablehlo.if" : "stablehlo.case", selector, {}, branches);
  for (unsigned n = 0; n < branches; ++n) {
    const Computation &c = computation(i, n);
    const std::vector<Parameter> takes = parametersOf(c);
    const Known &given = operand(i, body, n + 1);
    if (takes.size() != 1 || types(*takes[0].shape, i.at) != ValueRange(given.leaves).getTypes())
      wrong(i, "gives a branch another value than it takes");
    Block *block = &made->getRegion(n).emplaceBlock();
    const Known root = readComputation(c, block, Known{given.leaves, takes[0].shape});
    OpBuilder::atBlockEnd(block).create(places.of(i), StringAttr::get(context, "stablehlo.return"), root.leaves);
  }
  return Leaves(made->getResults());
}

bool Reader::readControl(const Instruction &i, Body &body, Leaves &out) {
  const std::string_view op = i.opcode;
  if (op == "tuple") {
    out = operands(i, body);
    return true;
  }
  if (op == "get-tuple-element") {
    const Known &tuple = operand(i, body, 0);
    if (!tuple.shape->isTuple() || i.tupleIndex < 0 || i.tupleIndex >= static_cast<int64_t>(tuple.shape->parts.size()))
      wrong(i, "has no such element");
    size_t first = 0;
    for (int64_t n = 0; n < i.tupleIndex; ++n)
      first += tuple.shape->parts[n].leaves();
    const size_t count = tuple.shape->parts[i.tupleIndex].leaves();
    out.assign(tuple.leaves.begin() + first, tuple.leaves.begin() + first + count);
    return true;
  }
  if (op == "copy" || op == "add-dependency" || op == "domain") { // the same value elsewhere, later, or for other devices
    out = operand(i, body, 0).leaves;
    return true;
  }
  if (op == "opt-barrier") {
    llvm::append_range(out, make(i, body, "stablehlo.optimization_barrier", operands(i, body))->getResults());
    return true;
  }
  if (op == "after-all") {
    llvm::append_range(out, make(i, body, "stablehlo.after_all", operands(i, body))->getResults());
    return true;
  }
  if (op == "get-dimension-size") {
    const auto t = dyn_cast<RankedTensorType>(value(i, body, 0).getType());
    if (!t || i.dimensions.size() != 1 || i.dimensions[0] < 0 || i.dimensions[0] >= t.getRank())
      wrong(i, "has no such dimension");
    const Attributes attributes{integer("dimension", i.dimensions[0])};
    llvm::append_range(out, make(i, body, "stablehlo.get_dimension_size", operands(i, body), attributes)->getResults());
    return true;
  }
  if (op == "while") {
    out = readWhile(i, body);
    return true;
  }
  if (op == "conditional") {
    out = readConditional(i, body);
    return true;
  }
  return false;
}

// ---- calls ------------------------------------------------------------------------------------------------------------------

static Attribute layoutOf(const Shape &shape, MLIRContext *context) {
  SmallVector<int64_t, 4> order = shape.minorToMajor;
  if (order.empty())
    for (size_t d = shape.dims.size(); d-- > 0;)
      order.push_back(static_cast<int64_t>(d));
  const auto type = RankedTensorType::get({static_cast<int64_t>(order.size())}, IndexType::get(context));
  return DenseIntElementsAttr::get(type, ArrayRef<int64_t>(order));
}

static void appendLayouts(const Shape &shape, MLIRContext *context, SmallVectorImpl<Attribute> &to) {
  if (!shape.isTuple()) {
    to.push_back(layoutOf(shape, context));
    return;
  }
  for (const Shape &p : shape.parts)
    appendLayouts(p, context, to);
}

Reader::Leaves Reader::readCustomCall(const Instruction &i, Body &body) {
  Attributes attributes{named("call_target_name", StringAttr::get(context, ref(i.target)))};
  if (i.sideEffect)
    attributes.push_back(truth("has_side_effect", true));
  if (i.apiVersion != 0 && i.apiVersion != 1) {
    if (i.apiVersion < 0 || i.apiVersion > 4)
      unsupported(i, format("has the version %lld of the calling convention", static_cast<long long>(i.apiVersion)));
    attributes.push_back(integer("api_version", i.apiVersion, 32));
  }
  if (!i.backendConfig.empty()) {
    Attribute config = StringAttr::get(context, ref(i.backendConfig));
    if (i.apiVersion == 4) { // a dictionary, as text
      if (nestedTooDeeply(i.backendConfig))
        wrong(i, "has a configuration with too many brackets");
      config = parseAttribute(ref(i.backendConfig), context);
      if (!isa_and_nonnull<DictionaryAttr>(config))
        wrong(i, "has a configuration that is no dictionary");
    }
    attributes.push_back(named("backend_config", config));
  }
  SmallVector<Attribute> called;
  for (size_t n = 0; n < i.computations.size(); ++n)
    called.push_back(functionOf(computation(i, n)));
  if (!called.empty())
    attributes.push_back(named("called_computations", ArrayAttr::get(context, called)));
  if (i.constrainLayout) {
    SmallVector<Attribute> from, to;
    for (const ByteCursor &s : i.operandShapes)
      appendLayouts(readShape(s), context, from);
    appendLayouts(i.shape, context, to);
    attributes.push_back(named("operand_layouts", ArrayAttr::get(context, from)));
    attributes.push_back(named("result_layouts", ArrayAttr::get(context, to)));
  }
  SmallVector<Attribute> aliases;
  for (const ByteCursor &a : i.aliases) {
    SmallVector<int64_t> output, operand;
    int64_t index = 0;
    forEach(a, [&](const Field &f) {
      if (f.number == 1)
        f.appendTo(output);
      else if (f.number == 2)
        index = f.integer();
      else if (f.number == 3)
        f.appendTo(operand);
    });
    aliases.push_back(OutputOperandAliasAttr::get(context, output, index, operand));
  }
  if (!aliases.empty())
    attributes.push_back(named("output_operand_aliases", ArrayAttr::get(context, aliases)));
  return Leaves(make(i, body, "stablehlo.custom_call", operands(i, body), attributes)->getResults());
}

bool Reader::readCalls(const Instruction &i, Body &body, Leaves &out) {
  if (i.opcode == "custom-call") {
    out = readCustomCall(i, body);
    return true;
  }
  if (i.opcode != "call" && i.opcode != "fusion")
    return false;
  if (i.computations.size() != 1)
    wrong(i, "calls one computation");
  const Attributes attributes{named("callee", functionOf(computation(i, 0)))};
  llvm::append_range(out, make(i, body, "func.call", operands(i, body), attributes)->getResults());
  return true;
}

// ---- devices ----------------------------------------------------------------------------------------------------------------

void Reader::addReplicaGroups(const Instruction &i, Attributes &to) const {
  std::vector<SmallVector<int64_t>> groups;
  const auto add = [&](ByteCursor group) {
    groups.emplace_back();
    forEach(group, [&](const Field &f) {
      if (f.number == 1)
        f.appendTo(groups.back());
    });
  };
  if (i.deviceList)
    forEach(*i.deviceList, [&](const Field &f) {
      if (f.number == 1)
        add(f.message());
      else
        unsupported(i, "has its groups of devices as a formula");
    });
  if (groups.empty())
    for (const ByteCursor &g : i.replicaGroups)
      add(g);
  size_t longest = 0, all = 0;
  for (const auto &g : groups) {
    longest = std::max(longest, g.size());
    all += g.size();
  }
  if (longest * groups.size() > 16 * (all + 1))
    wrong(i, "has groups of very different sizes");
  SmallVector<int64_t> ids;
  for (const auto &g : groups) {
    llvm::append_range(ids, g);
    ids.append(longest - g.size(), -1);
  }
  to.push_back(named("replica_groups", matrix(ids, static_cast<int64_t>(longest))));
  if (i.channel > 0)
    to.push_back(named("channel_handle", ChannelHandleAttr::get(context, i.channel, 0)));
}

bool Reader::readDevices(const Instruction &i, Body &body, Leaves &out) {
  const std::string_view op = i.opcode;
  const auto emit = [&](StringRef name, const Attributes &attributes, bool region = false) {
    Operation *made = make(i, body, name, operands(i, body), attributes, region);
    if (region)
      fillRegion(i, made->getRegion(0), computation(i, 0));
    llvm::append_range(out, made->getResults());
    return true;
  };
  if (op == "partition-id")
    return emit("stablehlo.partition_id", {});
  if (op == "replica-id")
    return emit("stablehlo.replica_id", {});
  Attributes attributes;
  if (op == "all-reduce" || op == "all-gather" || op == "reduce-scatter") {
    addReplicaGroups(i, attributes);
    if (i.globalIds)
      attributes.push_back(named("use_global_device_ids", UnitAttr::get(context)));
    if (op == "all-reduce")
      return emit("stablehlo.all_reduce", attributes, true);
    if (i.dimensions.size() != 1)
      wrong(i, "has one dimension");
    attributes.push_back(integer(op == "all-gather" ? "all_gather_dim" : "scatter_dimension", i.dimensions[0]));
    return emit(op == "all-gather" ? "stablehlo.all_gather" : "stablehlo.reduce_scatter", attributes, op != "all-gather");
  }
  if (op == "collective-broadcast") {
    addReplicaGroups(i, attributes);
    return emit("stablehlo.collective_broadcast", attributes);
  }
  if (op == "all-to-all") { // of one array that is divided, not of one per device
    addReplicaGroups(i, attributes);
    if (i.dimensions.size() != 1 || i.shape.isTuple())
      unsupported(i, "is of several arrays");
    const int64_t parts = cast<DenseIntElementsAttr>(attributes[0].getValue()).getType().getDimSize(1);
    attributes.push_back(integer("split_dimension", i.dimensions[0]));
    attributes.push_back(integer("concat_dimension", i.dimensions[0]));
    attributes.push_back(integer("split_count", parts));
    return emit("stablehlo.all_to_all", attributes);
  }
  if (op == "collective-permute") {
    SmallVector<int64_t> pairs;
    for (const ByteCursor &p : i.pairs) {
      int64_t v[3] = {};
      forEach(p, [&](const Field &f) {
        if (f.number == 1 || f.number == 2)
          v[f.number] = f.integer();
      });
      pairs.append({v[1], v[2]});
    }
    attributes.push_back(named("source_target_pairs", matrix(pairs, 2)));
    if (i.channel > 0)
      attributes.push_back(named("channel_handle", ChannelHandleAttr::get(context, i.channel, 0)));
    return emit("stablehlo.collective_permute", attributes);
  }
  return false;
}

} // namespace glia::graph::hlo
