// Text forms of element-wise ops, slices, calls and lists of types.
#include "Format.h"

using namespace mlir;

namespace glia::graph {

// ---- types ------------------------------------------------------------------------------------------------------------------

// The type of a function with as many operands as asked for, and one result.
static ParseResult takeFunction(OpAsmParser &p, SMLoc at, FunctionType f, ArrayRef<Type *> operands, Type &result) {
  if (f.getNumInputs() != operands.size() || f.getNumResults() != 1)
    return p.emitError(at) << "expected " << operands.size() << " operand type(s) and 1 result type, found "
                           << f.getNumInputs() << " and " << f.getNumResults();
  for (auto [operand, type] : llvm::zip(operands, f.getInputs()))
    *operand = type;
  result = f.getResult(0);
  return success();
}

ParseResult parseOneOrAllTypes(OpAsmParser &p, ArrayRef<Type *> operands, Type &result) {
  const SMLoc at = p.getCurrentLocation();
  if (p.parseType(result))
    return failure();
  if (auto f = dyn_cast<FunctionType>(result))
    return takeFunction(p, at, f, operands, result);
  for (Type *t : operands)
    *t = result;
  return success();
}

void printOneOrAllTypes(OpAsmPrinter &p, ArrayRef<Type> operands, Type result) {
  if (llvm::all_equal(operands) && (operands.empty() || operands[0] == result))
    p << result;
  else
    p.printFunctionalType(operands, TypeRange(result));
}

static ParseResult parseColonOrAll(OpAsmParser &p, OperationState &state, unsigned operands, SmallVectorImpl<Type> &types) {
  types.resize(operands);
  SmallVector<Type *> places;
  for (Type &t : types)
    places.push_back(&t);
  Type result;
  if (p.parseColon() || parseOneOrAllTypes(p, places, result))
    return failure();
  state.addTypes(result);
  return success();
}

// An attribute of the wrong kind would be lost in silence.
static ParseResult parseAttributes(OpAsmParser &p, OperationState &state) {
  const SMLoc at = p.getCurrentLocation();
  if (p.parseOptionalAttrDict(state.attributes))
    return failure();
  return state.name.verifyInherentAttrs(state.attributes,
                                        [&] { return p.emitError(at) << "'" << state.name.getStringRef() << "' op "; });
}

// The number of operands is that of the op: more or fewer are found when it is verified.
ParseResult parseElementwise(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  const SMLoc at = p.getCurrentLocation();
  return failure(p.parseOperandList(operands) || parseAttributes(p, state) ||
                 parseColonOrAll(p, state, operands.size(), types) ||
                 p.resolveOperands(operands, types, at, state.operands));
}

// What is the default is not printed.
static bool isDefault(NamedAttribute a) {
  auto accuracy = dyn_cast<ResultAccuracyAttr>(a.getValue());
  return a.getName() == "result_accuracy" && accuracy && accuracy.getMode() == ResultAccuracyMode::DEFAULT;
}

static void printOperandsAndAttributes(OpAsmPrinter &p, Operation *op) {
  p << ' ';
  p.printOperands(op->getOperands());
  p.printOptionalAttrDict(llvm::to_vector(llvm::make_filter_range(op->getAttrs(), std::not_fn(isDefault))));
  p << " : ";
}

void printElementwise(OpAsmPrinter &p, Operation *op) {
  printOperandsAndAttributes(p, op);
  printOneOrAllTypes(p, llvm::to_vector(op->getOperandTypes()), op->getResult(0).getType());
}

ParseResult parseArrowForm(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  Type result;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseOperandList(operands) || parseAttributes(p, state) || p.parseColonTypeList(types) || p.parseArrow() ||
      p.parseType(result) || p.resolveOperands(operands, types, at, state.operands))
    return failure();
  state.addTypes(result);
  return success();
}

void printArrowForm(OpAsmPrinter &p, Operation *op) {
  printOperandsAndAttributes(p, op);
  llvm::interleaveComma(op->getOperandTypes(), p);
  p << " -> " << op->getResult(0).getType();
}

// `complex` names its result; the operands are its parts.
ParseResult parseComplexTypes(OpAsmParser &p, Type &lhs, Type &rhs, Type &result) {
  const SMLoc at = p.getCurrentLocation();
  if (p.parseType(result))
    return failure();
  if (auto f = dyn_cast<FunctionType>(result))
    return takeFunction(p, at, f, {&lhs, &rhs}, result);
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto element = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (!element)
    return p.emitError(at) << "expected a tensor of complex values";
  lhs = rhs = tensor.clone(element.getElementType());
  return success();
}

static Type partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return element ? tensor.clone(element.getElementType()) : Type();
}

void printComplexTypes(OpAsmPrinter &p, Operation *, Type lhs, Type rhs, Type result) {
  if (lhs == rhs && lhs == partType(result))
    p << result;
  else
    p.printFunctionalType(TypeRange{lhs, rhs}, TypeRange(result));
}

// `select`: the type of the condition, then that of the rest.
ParseResult parseSelectTypes(OpAsmParser &p, Type &pred, Type &onTrue, Type &onFalse, Type &result) {
  const SMLoc at = p.getCurrentLocation();
  if (p.parseType(pred))
    return failure();
  if (auto f = dyn_cast<FunctionType>(pred))
    return takeFunction(p, at, f, {&pred, &onTrue, &onFalse}, result);
  if (p.parseComma() || p.parseType(result))
    return failure();
  onTrue = onFalse = result;
  return success();
}

void printSelectTypes(OpAsmPrinter &p, Operation *, Type pred, Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    p << pred << ", " << result;
  else
    p.printFunctionalType(TypeRange{pred, onTrue, onFalse}, TypeRange(result));
}

ParseResult parseTupleTypes(OpAsmParser &p, Types &operands, Type &result) {
  const SMLoc at = p.getCurrentLocation();
  if (p.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return p.emitError(at) << "expected a tuple type";
  operands.append(tuple.begin(), tuple.end());
  return success();
}

void printTupleTypes(OpAsmPrinter &p, Operation *, TypeRange, Type result) { p << result; }

ParseResult parseTypesInPairs(OpAsmParser &p, Types &operands, Types &results) {
  if (p.parseTypeList(operands))
    return failure();
  if (auto f = operands.size() == 1 ? dyn_cast<FunctionType>(operands[0]) : FunctionType()) {
    operands.assign(f.getInputs().begin(), f.getInputs().end());
    results.assign(f.getResults().begin(), f.getResults().end());
  } else {
    results.assign(operands.begin(), operands.end());
  }
  return success();
}

void printTypesInPairs(OpAsmPrinter &p, Operation *, TypeRange operands, TypeRange results) {
  if (operands == results)
    llvm::interleaveComma(operands, p);
  else
    p.printFunctionalType(operands, results);
}

ParseResult parseOneTypeForMany(OpAsmParser &p, Unresolved &operands, Types &types, Type &result) {
  types.resize(operands.size());
  SmallVector<Type *> places;
  for (Type &t : types)
    places.push_back(&t);
  return parseOneOrAllTypes(p, places, result);
}

void printOneTypeForMany(OpAsmPrinter &p, Operation *, OperandRange, TypeRange types, Type result) {
  printOneOrAllTypes(p, llvm::to_vector(types), result);
}

// ---- attributes -------------------------------------------------------------------------------------------------------------

ParseResult parseFloatFormat(OpAsmParser &p, IntegerAttr &exponent, IntegerAttr &mantissa) {
  const SMLoc at = p.getCurrentLocation();
  StringRef text;
  if (p.parseKeyword(&text))
    return failure();
  auto [e, m] = text.split('m');
  int32_t e32, m32;
  if (!e.consume_front("e") || e.getAsInteger(10, e32) || m.getAsInteger(10, m32))
    return p.emitError(at) << "expected a format such as e8m10, found `" << text << "`";
  exponent = p.getBuilder().getI32IntegerAttr(e32);
  mantissa = p.getBuilder().getI32IntegerAttr(m32);
  return success();
}

void printFloatFormat(OpAsmPrinter &p, Operation *, IntegerAttr exponent, IntegerAttr mantissa) {
  p << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseRanges(OpAsmParser &p, DenseI64ArrayAttr &start, DenseI64ArrayAttr &limit, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> from, to, step;
  auto one = [&]() -> ParseResult {
    if (p.parseInteger(from.emplace_back()) || p.parseColon() || p.parseInteger(to.emplace_back()))
      return failure();
    step.push_back(1);
    return succeeded(p.parseOptionalColon()) ? p.parseInteger(step.back()) : success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return failure();
  start = p.getBuilder().getDenseI64ArrayAttr(from);
  limit = p.getBuilder().getDenseI64ArrayAttr(to);
  strides = p.getBuilder().getDenseI64ArrayAttr(step);
  return success();
}

void printRanges(OpAsmPrinter &p, Operation *, ArrayRef<int64_t> start, ArrayRef<int64_t> limit, ArrayRef<int64_t> strides) {
  p << '[';
  llvm::interleaveComma(llvm::zip(start, limit, strides), p, [&](auto range) {
    auto [from, to, step] = range;
    p << from << ':' << to;
    if (step != 1)
      p << ':' << step;
  });
  p << ']';
}

ParseResult parseOperandsThenAttributes(OpAsmParser &p, Unresolved &operands) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult found = p.parseOptionalOperand(operand);
  while (found.has_value()) {
    if (failed(*found) || p.parseComma())
      return failure();
    operands.push_back(operand);
    found = p.parseOptionalOperand(operand);
  }
  return success();
}

void printOperandsThenAttributes(OpAsmPrinter &p, Operation *, OperandRange operands) {
  llvm::interleave(operands, p, [&](Value v) { p << v << ','; }, " ");
}

ParseResult parseCallTarget(OpAsmParser &p, StringAttr &target) { return p.parseSymbolName(target); }
void printCallTarget(OpAsmPrinter &p, Operation *, StringAttr target) { p.printSymbolName(target); }

} // namespace glia::graph
