#include "Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace glia::graph {

using namespace mlir;

ShardingDialect::ShardingDialect(MLIRContext *context)
    : Dialect(getDialectNamespace(), context, TypeID::get<ShardingDialect>()) {
  allowUnknownOperations(); // until they are dropped
}

// Reads over what stands up to the closing bracket of a sharding or a mesh: names, strings, numbers and brackets in brackets.
static ParseResult skip(OpAsmParser &p, function_ref<ParseResult()> atEnd) {
  for (;;) {
    if (succeeded(atEnd()))
      return success();
    std::string text;
    StringRef word;
    StringAttr symbol;
    int64_t number;
    const OptionalParseResult integer = p.parseOptionalInteger(number);
    if (integer.has_value() && succeeded(*integer))
      continue;
    if (succeeded(p.parseOptionalString(&text)) || succeeded(p.parseOptionalSymbolName(symbol)) ||
        succeeded(p.parseOptionalComma()) || succeeded(p.parseOptionalColon()) || succeeded(p.parseOptionalEqual()) ||
        succeeded(p.parseOptionalQuestion()) || succeeded(p.parseOptionalKeyword(&word)))
      continue;
    ParseResult inner = failure();
    if (succeeded(p.parseOptionalLess()))
      inner = skip(p, [&] { return p.parseOptionalGreater(); });
    else if (succeeded(p.parseOptionalLSquare()))
      inner = skip(p, [&] { return p.parseOptionalRSquare(); });
    else if (succeeded(p.parseOptionalLBrace()))
      inner = skip(p, [&] { return p.parseOptionalRBrace(); });
    else if (succeeded(p.parseOptionalLParen()))
      inner = skip(p, [&] { return p.parseOptionalRParen(); });
    else
      return p.emitError(p.getCurrentLocation(), "expected a sharding");
    if (failed(inner))
      return failure();
  }
}

static ParseResult skipAngles(OpAsmParser &p) {
  return failure(p.parseLess() || failed(skip(p, [&] { return p.parseOptionalGreater(); })));
}

// @name = <axes> {attributes}
static ParseResult parseMesh(OpAsmParser &p, OperationState &) {
  StringAttr name;
  NamedAttrList attributes;
  return failure(p.parseSymbolName(name) || p.parseEqual() || failed(skipAngles(p)) || p.parseOptionalAttrDict(attributes));
}

// %value <sharding> {attributes} : type
static ParseResult parseConstraint(OpAsmParser &p, OperationState &state) {
  OpAsmParser::UnresolvedOperand value;
  NamedAttrList attributes;
  Type type;
  if (p.parseOperand(value) || failed(skipAngles(p)) || p.parseOptionalAttrDict(attributes) || p.parseColonType(type) ||
      p.resolveOperand(value, type, state.operands))
    return failure();
  state.addTypes(type);
  return success();
}

std::optional<Dialect::ParseOpHook> ShardingDialect::getParseOperationHook(StringRef name) const {
  if (name == "sdy.mesh")
    return ParseOpHook(parseMesh);
  if (name == "sdy.sharding_constraint")
    return ParseOpHook(parseConstraint);
  return std::nullopt;
}

Attribute ShardingDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  return StringAttr::get(getContext(), parser.getFullSymbolSpec());
}

static bool isSharding(NamedAttribute a) { return a.getName().getValue().starts_with("sdy."); }

// Of arguments or of results.
static ArrayAttr withoutShardings(ArrayAttr lists) {
  return ArrayAttr::get(lists.getContext(), llvm::map_to_vector(lists, [](Attribute a) -> Attribute {
                          auto list = dyn_cast<DictionaryAttr>(a);
                          if (!list || llvm::none_of(list, isSharding))
                            return a;
                          SmallVector<NamedAttribute> kept(llvm::make_filter_range(list, std::not_fn(isSharding)));
                          return DictionaryAttr::get(list.getContext(), kept);
                        }));
}

static void dropAttributes(Operation *op) {
  for (NamedAttribute a : llvm::to_vector(op->getDiscardableAttrs()))
    if (isSharding(a))
      op->removeDiscardableAttr(a.getName());
  if (auto f = dyn_cast<func::FuncOp>(op)) {
    if (const ArrayAttr arguments = f.getArgAttrsAttr())
      f.setArgAttrsAttr(withoutShardings(arguments));
    if (const ArrayAttr results = f.getResAttrsAttr())
      f.setResAttrsAttr(withoutShardings(results));
  }
}

void dropShardings(ModuleOp module) {
  module.walk([](Operation *op) {
    dropAttributes(op);
    const StringRef name = op->getName().getStringRef();
    if (name == "sdy.sharding_constraint" && op->getNumRegions() == 0 && op->getNumOperands() == 1 &&
        op->getOperandTypes() == op->getResultTypes() && op->getOperand(0) != op->getResult(0))
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    else if (name != "sdy.mesh" || op->getNumRegions() || op->getNumResults())
      return;
    op->erase();
  });
}

} // namespace glia::graph
