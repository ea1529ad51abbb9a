#include "Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace glia::graph {

using namespace mlir;

ShardingDialect::ShardingDialect(MLIRContext *context)
    : Dialect(getDialectNamespace(), context, TypeID::get<ShardingDialect>()) {
  allowUnknownOperations();                  // they have no classes
  context->getOrLoadDialect<GraphDialect>(); // whose attributes say axes and meshes
}

// ---- attributes -------------------------------------------------------------------------------------------------------------

MeshAttr meshAttribute(MLIRContext *context, ArrayRef<MeshAxisAttr> axes, ArrayRef<int64_t> devices) {
  const auto type = RankedTensorType::get({static_cast<int64_t>(devices.size())}, IntegerType::get(context, 64));
  return MeshAttr::get(context, axes, devices.empty() ? DenseIntElementsAttr() : DenseIntElementsAttr::get(type, devices));
}

DictionaryAttr shardingAttribute(Attribute mesh, ArrayAttr dims, ArrayAttr replicated, ArrayAttr unreduced) {
  MLIRContext *context = dims.getContext();
  NamedAttrList list;
  list.set("mesh", mesh);
  list.set("dims", dims);
  if (replicated && !replicated.empty())
    list.set("replicated", replicated);
  if (unreduced && !unreduced.empty())
    list.set("unreduced", unreduced);
  return list.getDictionary(context);
}

// ---- text -------------------------------------------------------------------------------------------------------------------

// "x", or "x":(1)2 for a part of it.
static ParseResult parseAxis(AsmParser &p, Attribute &to) {
  std::string name;
  if (p.parseString(&name))
    return failure();
  SubAxisInfoAttr part;
  if (succeeded(p.parseOptionalColon())) {
    int64_t before, size;
    if (p.parseLParen() || p.parseInteger(before) || p.parseRParen() || p.parseInteger(size))
      return failure();
    part = SubAxisInfoAttr::get(p.getContext(), before, size);
  }
  to = AxisRefAttr::get(p.getContext(), name, part);
  return success();
}

// {"x", "y", ?}p1: the priority is left out.
static ParseResult parseAxes(AsmParser &p, ArrayAttr &to) {
  SmallVector<Attribute> axes;
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        if (succeeded(p.parseOptionalQuestion())) {
          axes.push_back(UnitAttr::get(p.getContext()));
          return success();
        }
        return parseAxis(p, axes.emplace_back());
      }))
    return failure();
  to = ArrayAttr::get(p.getContext(), axes);
  return success();
}

// <["x"=4, "y"=2], device_ids=[1, 0]>
static ParseResult parseMeshBody(AsmParser &p, MeshAttr &to) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> devices;
  const auto axis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (p.parseString(&name) || p.parseEqual() || p.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(p.getContext(), name, size));
    return success();
  };
  if (p.parseLess() || p.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis))
    return failure();
  if (succeeded(p.parseOptionalComma()))
    if (p.parseKeyword("device_ids") || p.parseEqual() ||
        p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return p.parseInteger(devices.emplace_back()); }))
      return failure();
  to = meshAttribute(p.getContext(), axes, devices);
  return p.parseGreater();
}

// <@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>
static ParseResult parseShardingBody(AsmParser &p, DictionaryAttr &to) {
  StringAttr name;
  MeshAttr mesh;
  SmallVector<Attribute> dims;
  ArrayAttr replicated, unreduced;
  if (p.parseLess())
    return failure();
  if (failed(p.parseOptionalSymbolName(name)) && (p.parseKeyword("mesh") || parseMeshBody(p, mesh)))
    return failure();
  const auto dim = [&]() -> ParseResult {
    ArrayAttr axes;
    StringRef priority;
    if (parseAxes(p, axes))
      return failure();
    (void)p.parseOptionalKeyword(&priority);
    dims.push_back(axes);
    return success();
  };
  if (p.parseComma() || p.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim))
    return failure();
  while (succeeded(p.parseOptionalComma())) {
    StringRef word;
    ArrayAttr axes;
    const SMLoc at = p.getCurrentLocation();
    if (p.parseKeyword(&word) || p.parseEqual() || parseAxes(p, axes))
      return failure();
    if (word != "replicated" && word != "unreduced")
      return p.emitError(at) << "`" << word << "` of a sharding is unknown";
    (word == "replicated" ? replicated : unreduced) = axes;
  }
  to = shardingAttribute(mesh ? Attribute(mesh) : FlatSymbolRefAttr::get(name), ArrayAttr::get(p.getContext(), dims),
                         replicated, unreduced);
  return p.parseGreater();
}

// [<sharding>, <sharding>]
static ParseResult parseShardings(AsmParser &p, ArrayAttr &to) {
  SmallVector<Attribute> list;
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        DictionaryAttr sharding;
        if (parseShardingBody(p, sharding))
          return failure();
        list.push_back(sharding);
        return success();
      }))
    return failure();
  to = ArrayAttr::get(p.getContext(), list);
  return success();
}

// @name = <axes> {attributes}
static ParseResult parseMesh(OpAsmParser &p, OperationState &state) {
  StringAttr name;
  MeshAttr mesh;
  NamedAttrList attributes;
  if (p.parseSymbolName(name) || p.parseEqual() || parseMeshBody(p, mesh) || p.parseOptionalAttrDict(attributes))
    return failure();
  state.addAttribute("sym_name", name);
  state.addAttribute("mesh", mesh);
  return success();
}

// %value <sharding> {attributes} : type
static ParseResult parseConstraint(OpAsmParser &p, OperationState &state) {
  OpAsmParser::UnresolvedOperand value;
  NamedAttrList attributes;
  DictionaryAttr sharding;
  Type type;
  if (p.parseOperand(value) || parseShardingBody(p, sharding) || p.parseOptionalAttrDict(attributes) ||
      p.parseColonType(type) || p.resolveOperand(value, type, state.operands))
    return failure();
  state.addAttribute("sharding", sharding);
  state.addTypes(type);
  return success();
}

// (%values) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%arguments: types) { body } : (types) -> types
static ParseResult parseManual(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<OpAsmParser::Argument> arguments;
  ArrayAttr in, out;
  SmallVector<Attribute> axes;
  const auto axis = [&]() -> ParseResult {
    std::string name;
    if (p.parseString(&name))
      return failure();
    axes.push_back(StringAttr::get(p.getContext(), name));
    return success();
  };
  FunctionType type;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseOperandList(values, AsmParser::Delimiter::Paren) || p.parseKeyword("in_shardings") || p.parseEqual() ||
      parseShardings(p, in) || p.parseKeyword("out_shardings") || p.parseEqual() || parseShardings(p, out) ||
      p.parseKeyword("manual_axes") || p.parseEqual() || p.parseCommaSeparatedList(AsmParser::Delimiter::Braces, axis) ||
      p.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true) ||
      p.parseRegion(*state.addRegion(), arguments) || p.parseOptionalAttrDict(state.attributes) || p.parseColonType(type) ||
      p.resolveOperands(values, type.getInputs(), at, state.operands))
    return failure();
  state.addAttribute("in_shardings", in);
  state.addAttribute("out_shardings", out);
  state.addAttribute("manual_axes", ArrayAttr::get(p.getContext(), axes));
  state.addTypes(type.getResults());
  return success();
}

// %values : types
static ParseResult parseReturn(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<Type> types;
  const SMLoc at = p.getCurrentLocation();
  return failure(p.parseOperandList(values) || p.parseOptionalAttrDict(state.attributes) ||
                 p.parseOptionalColonTypeList(types) || p.resolveOperands(values, types, at, state.operands));
}

std::optional<Dialect::ParseOpHook> ShardingDialect::getParseOperationHook(StringRef name) const {
  if (name == "sdy.mesh")
    return ParseOpHook(parseMesh);
  if (name == "sdy.sharding_constraint" || name == "sdy.reshard")
    return ParseOpHook(parseConstraint);
  if (name == "sdy.manual_computation")
    return ParseOpHook(parseManual);
  if (name == "sdy.return")
    return ParseOpHook(parseReturn);
  return std::nullopt;
}

// #sdy.sharding<...> and #sdy.sharding_per_value<[...]>; of others the text is kept, and nothing reads it.
Attribute ShardingDialect::parseAttribute(DialectAsmParser &p, Type) const {
  StringRef kind;
  const std::string text = p.getFullSymbolSpec().str();
  if (StringRef(text).starts_with("sharding<")) {
    DictionaryAttr sharding;
    return p.parseKeyword(&kind) || parseShardingBody(p, sharding) ? Attribute() : sharding;
  }
  if (StringRef(text).starts_with("sharding_per_value<")) {
    ArrayAttr list;
    return p.parseKeyword(&kind) || p.parseLess() || parseShardings(p, list) || p.parseGreater() ? Attribute() : list;
  }
  return StringAttr::get(getContext(), text);
}

// ---- dropping ---------------------------------------------------------------------------------------------------------------

bool hasPartitions(Operation *module) {
  const auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_partitions");
  return count && count.getInt() > 1;
}

bool isShardingOperation(Operation *op) {
  static constexpr StringLiteral kNames[] = {"sdy.mesh", "sdy.sharding_constraint", "sdy.reshard", "sdy.manual_computation",
                                             "sdy.return"};
  return llvm::is_contained(kNames, op->getName().getStringRef());
}

bool isSharding(Attribute attribute) {
  const auto sharding = dyn_cast_or_null<DictionaryAttr>(attribute);
  const auto dims = sharding ? sharding.getAs<ArrayAttr>("dims") : ArrayAttr();
  const auto isAxis = [](Attribute a) { return isa<AxisRefAttr>(a); };
  const auto isDim = [&](Attribute a) {
    const auto axes = dyn_cast<ArrayAttr>(a);
    return axes && llvm::all_of(axes, [&](Attribute x) { return isAxis(x) || isa<UnitAttr>(x); });
  };
  const auto isList = [&](StringRef name) {
    const auto axes = sharding.getAs<ArrayAttr>(name);
    return !sharding.contains(name) || (axes && llvm::all_of(axes, isAxis));
  };
  return dims && llvm::all_of(dims, isDim) && isList("replicated") && isList("unreduced") &&
         isa_and_nonnull<MeshAttr, FlatSymbolRefAttr>(sharding.get("mesh"));
}

MeshAttr findMesh(Operation *from, StringRef name) {
  auto module = from->getParentOfType<ModuleOp>();
  for (Operation &op : module.getOps())
    if (op.getName().getStringRef() == "sdy.mesh")
      if (const auto symbol = op.getAttrOfType<StringAttr>("sym_name"); symbol && symbol.getValue() == name)
        return op.getAttrOfType<MeshAttr>("mesh");
  return {};
}

static bool saysSharding(NamedAttribute a) { return a.getName().getValue().starts_with("sdy."); }

// Of arguments or of results.
static ArrayAttr withoutShardings(ArrayAttr lists) {
  return ArrayAttr::get(lists.getContext(), llvm::map_to_vector(lists, [](Attribute a) -> Attribute {
                          auto list = dyn_cast<DictionaryAttr>(a);
                          if (!list || llvm::none_of(list, saysSharding))
                            return a;
                          SmallVector<NamedAttribute> kept(llvm::make_filter_range(list, std::not_fn(saysSharding)));
                          return DictionaryAttr::get(list.getContext(), kept);
                        }));
}

static void dropAttributes(Operation *op) {
  for (NamedAttribute a : llvm::to_vector(op->getDiscardableAttrs()))
    if (saysSharding(a))
      op->removeDiscardableAttr(a.getName());
  if (auto f = dyn_cast<func::FuncOp>(op)) {
    if (const ArrayAttr arguments = f.getArgAttrsAttr())
      f.setArgAttrsAttr(withoutShardings(arguments));
    if (const ArrayAttr results = f.getResAttrsAttr())
      f.setResAttrsAttr(withoutShardings(results));
  }
}

// Whether a computation is divided among devices: its manual axes have more than one between them.
static bool needsDevices(Operation *op) {
  const auto manual = op->getAttrOfType<ArrayAttr>("manual_axes");
  if (!manual)
    return true;
  MeshAttr mesh;
  for (const StringRef name : {"in_shardings", "out_shardings"})
    if (const auto list = op->getAttrOfType<ArrayAttr>(name); list && !list.empty() && !mesh)
      if (const auto sharding = dyn_cast<DictionaryAttr>(list[0])) {
        mesh = sharding.getAs<MeshAttr>("mesh");
        if (const auto symbol = sharding.getAs<FlatSymbolRefAttr>("mesh"))
          mesh = findMesh(op, symbol.getValue());
      }
  return !manual.empty() && (!mesh || llvm::any_of(mesh.getAxes(), [&](MeshAxisAttr a) {
    return a.getSize() != 1 && llvm::is_contained(manual, StringAttr::get(op->getContext(), a.getName()));
  }));
}

// The body of a computation on one device takes the place of the operation, if it is given what it takes.
static bool inlineManual(Operation *op) {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() || needsDevices(op))
    return false;
  Block &body = op->getRegion(0).front();
  const auto own = [&](Value v) { return v.getDefiningOp() == op; };
  if (body.empty() || body.back().getName().getStringRef() != "sdy.return" ||
      body.getArgumentTypes() != op->getOperandTypes() || body.back().getOperandTypes() != op->getResultTypes() ||
      llvm::any_of(op->getOperands(), own) || llvm::any_of(body.back().getOperands(), own))
    return false;
  for (auto [argument, value] : llvm::zip(body.getArguments(), op->getOperands()))
    argument.replaceAllUsesWith(value);
  Operation *end = &body.back();
  for (auto [result, value] : llvm::zip(op->getResults(), end->getOperands()))
    result.replaceAllUsesWith(value);
  end->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  return true;
}

void dropShardings(ModuleOp module) {
  SmallVector<Operation *> meshes; // which computations refer to
  module.walk([&](Operation *op) {
    dropAttributes(op);
    const StringRef name = op->getName().getStringRef();
    const bool constrains = name == "sdy.sharding_constraint" || name == "sdy.reshard";
    if (name == "sdy.mesh" && !op->getNumRegions() && !op->getNumResults()) {
      meshes.push_back(op);
    } else if (constrains && op->getNumRegions() == 0 && op->getNumOperands() == 1 &&
               op->getOperandTypes() == op->getResultTypes() && op->getOperand(0) != op->getResult(0)) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    } else if (name == "sdy.manual_computation" && inlineManual(op)) {
      op->erase();
    }
  });
  for (Operation *op : meshes)
    op->erase();
}

} // namespace glia::graph
