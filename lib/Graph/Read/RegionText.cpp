// Text of the ops that have a form of their own: constant, reduce, while.
#include "Fields.h"
#include "Format.h"
#include "Refused.h"

using namespace mlir;

namespace glia::graph {

// ---- constant ---------------------------------------------------------------------------------------------------------------

ParseResult ConstantOp::parse(OpAsmParser &p, OperationState &state) {
  const SMLoc open = p.getCurrentLocation();
  if (succeeded(p.parseOptionalLParen())) // the form of constants whose type differs from that of their values
    return p.emitError(open) << kQuantised;
  ElementsAttr value;
  if (p.parseOptionalAttrDict(state.attributes))
    return failure();
  const SMLoc at = p.getCurrentLocation();
  Attribute any;
  if (p.parseAttribute(any))
    return failure();
  value = dyn_cast<ElementsAttr>(any);
  if (!value)
    return p.emitError(at) << "expected the elements of a tensor, such as dense<0.0> : tensor<4xf32>";
  state.attributes.set("value", value);
  state.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &p) {
  p.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  p << ' ' << getValue();
}

// ---- reduce -----------------------------------------------------------------------------------------------------------------

// reduce(%a init: %b), (%c init: %d) applies stablehlo.add across dimensions = [1] : (types) -> types
static bool isBinaryCommutative(OperationName name) {
  return name.isRegistered() && name.getDialectNamespace() == "stablehlo" && name.hasTrait<OpTrait::IsCommutative>();
}

// The op to be named after `applies`, if the body is nothing else.
static Operation *appliedOp(ReduceOp op) {
  if (!op.getBody().hasOneBlock() || op.getInputs().size() != 1)
    return nullptr;
  Block &block = op.getBody().front();
  auto scalar = RankedTensorType::get({}, cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType());
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation &inner = block.front();
  auto back = dyn_cast<ReturnOp>(block.back());
  auto same = [&](Value v) { return v.getType() == scalar; };
  const bool plain = isBinaryCommutative(inner.getName()) && back && inner.getAttrs().empty() &&
                     inner.getNumOperands() == 2 && inner.getOperand(0) == block.getArgument(0) &&
                     inner.getOperand(1) == block.getArgument(1) && llvm::all_of(block.getArguments(), same) &&
                     same(inner.getResult(0)) && back.getNumOperands() == 1 && back.getOperand(0) == inner.getResult(0) &&
                     back->getAttrs().empty();
  return plain ? &inner : nullptr;
}

static ParseResult buildApplied(OpAsmParser &p, SMLoc at, OperationName name, Type input, Location loc, Region &body) {
  auto tensor = dyn_cast<RankedTensorType>(input);
  if (!tensor)
    return p.emitError(at) << "`applies` needs tensors";
  auto scalar = RankedTensorType::get({}, tensor.getElementType());
  OpBuilder b(p.getContext());
  Block *block = b.createBlock(&body);
  block->addArguments({scalar, scalar}, {loc, loc});
  OperationState inner(loc, name, block->getArguments(), TypeRange(scalar));
  ReturnOp::create(b, loc, b.create(inner)->getResults());
  return success();
}

// reducer(%a: type, %b: type) (%c: type, %d: type) { ... }: the left ones of all pairs come first in the block.
static ParseResult parseReducer(OpAsmParser &p, size_t inputs, Region &body) {
  SmallVector<OpAsmParser::Argument> left, right;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseKeyword("reducer"))
    return failure();
  while (succeeded(p.parseOptionalLParen())) {
    if (p.parseArgument(left.emplace_back(), true) || p.parseComma() || p.parseArgument(right.emplace_back(), true) ||
        p.parseRParen())
      return failure();
  }
  if (left.size() != inputs)
    return p.emitError(at) << "expected " << inputs << " pair(s) of arguments, found " << left.size();
  left.append(right);
  return p.parseRegion(body, left);
}

ParseResult ReduceOp::parse(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  const SMLoc start = p.getCurrentLocation();
  do {
    if (p.parseLParen() || p.parseOperand(inputs.emplace_back()) || p.parseKeyword("init") || p.parseColon() ||
        p.parseOperand(inits.emplace_back()) || p.parseRParen())
      return failure();
  } while (succeeded(p.parseOptionalComma()));

  std::optional<OperationName> applied;
  const SMLoc at = p.getCurrentLocation();
  if (succeeded(p.parseOptionalKeyword("applies"))) {
    FailureOr<OperationName> name = p.parseCustomOperationName();
    if (failed(name))
      return failure();
    if (!isBinaryCommutative(*name))
      return p.emitError(at) << "'" << name->getStringRef()
                             << "' cannot be applied: add, multiply, maximum, minimum, and, or "
                             << "and xor can; write any other as a `reducer`";
    applied = *name;
  }
  Dims dimensions;
  FunctionType type;
  const SMLoc dict = p.getCurrentLocation();
  if (p.parseKeyword("across") || p.parseKeyword("dimensions") || p.parseEqual() || parseDims(p, dimensions) ||
      p.parseOptionalAttrDict(state.attributes) || p.parseColonType(type))
    return failure();
  state.attributes.set("dimensions", p.getBuilder().getDenseI64ArrayAttr(dimensions));
  if (failed(state.name.verifyInherentAttrs(state.attributes, [&] { return p.emitError(dict); })))
    return failure();
  state.addTypes(type.getResults());
  inputs.append(inits);
  if (p.resolveOperands(inputs, type.getInputs(), start, state.operands))
    return failure();
  Region &body = *state.addRegion();
  if (!applied)
    return parseReducer(p, inits.size(), body);
  if (inits.size() != 1)
    return p.emitError(at) << "`applies` reduces one tensor; write a `reducer` for several";
  return buildApplied(p, at, *applied, type.getInput(0), p.getEncodedSourceLoc(at), body);
}

void ReduceOp::print(OpAsmPrinter &p) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), p,
                        [&](auto pair) { p << '(' << std::get<0>(pair) << " init: " << std::get<1>(pair) << ')'; });
  Operation *applied = appliedOp(*this);
  if (applied)
    p << " applies " << applied->getName().getStringRef();
  p << " across dimensions = ";
  printDims(p, getDimensions());
  p.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  p << " : ";
  p.printFunctionalType(getOperandTypes(), getResultTypes());
  if (applied)
    return;
  p.printNewline();
  p << " reducer";
  Block &block = getBody().front();
  const unsigned n = getInputs().size();
  for (unsigned i = 0; i < n && i + n < block.getNumArguments(); ++i) {
    p << '(';
    p.printRegionArgument(block.getArgument(i));
    p << ", ";
    p.printRegionArgument(block.getArgument(i + n));
    p << ") ";
  }
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

// ---- while ------------------------------------------------------------------------------------------------------------------

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument a : region.getArguments())
    setName(a, "iterArg");
}

// while(%iterArg = %0, %iterArg_1 = %1) : type, type attributes {...} cond { ... } do { ... }
ParseResult WhileOp::parse(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  const SMLoc at = p.getCurrentLocation();
  auto one = [&] {
    return failure(p.parseArgument(arguments.emplace_back()) || p.parseEqual() || p.parseOperand(operands.emplace_back()));
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Paren, one))
    return failure();
  if (!operands.empty() && p.parseColonTypeList(types))
    return failure();
  if (p.resolveOperands(operands, types, at, state.operands) || p.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip(arguments, types))
    argument.type = type;
  state.addTypes(types);
  Region &cond = *state.addRegion(), &body = *state.addRegion();
  return failure(p.parseKeyword("cond") || p.parseRegion(cond, arguments) || p.parseKeyword("do") ||
                 p.parseRegion(body, arguments));
}

void WhileOp::print(OpAsmPrinter &p) {
  p << '(';
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperands()), p, [&](auto pair) {
    p.printOperand(std::get<0>(pair));
    p << " = " << std::get<1>(pair);
  });
  p << ')';
  if (getNumOperands()) {
    p << " : ";
    llvm::interleaveComma(getOperandTypes(), p);
  }
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p.printNewline();
  p << " cond ";
  p.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  p << " do ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace glia::graph
