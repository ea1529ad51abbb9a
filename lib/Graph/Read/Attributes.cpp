// The text of the attributes with named fields.
#include "Fields.h"
#include "glia/Graph/Graph.h"

using namespace mlir;

namespace glia::graph {

ParseResult parseDims(AsmParser &p, Dims &dims) {
  dims.clear();
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return p.parseInteger(dims.emplace_back()); });
}

void printDims(AsmPrinter &p, ArrayRef<int64_t> dims) {
  p << "[";
  llvm::interleaveComma(dims, p);
  p << "]";
}

ParseResult parseFields(AsmParser &p, MutableArrayRef<Field> fields) {
  while (true) {
    StringRef name;
    const SMLoc at = p.getCurrentLocation();
    if (failed(p.parseOptionalKeyword(&name)))
      return success(); // the end: what follows is not ours
    Field *field = llvm::find_if(fields, [&](const Field &f) { return f.name == name; });
    if (field == fields.end()) {
      auto error = p.emitError(at) << "unknown field `" << name << "`; expected one of ";
      llvm::interleaveComma(fields, error, [&](const Field &f) { error << f.name; });
      return error;
    }
    if (field->seen)
      return p.emitError(at) << "field `" << name << "` is given twice";
    field->seen = true;
    if (p.parseEqual() || (field->dims     ? parseDims(p, *field->dims)
                           : field->number ? p.parseInteger(*field->number)
                                           : field->parse()))
      return failure();
    if (failed(p.parseOptionalComma()))
      return success();
  }
}

// ---- dot, gather, scatter ---------------------------------------------------------------------------------------------------

Attribute DotDimensionNumbersAttr::parse(AsmParser &p, Type) {
  Dims lb, rb, lc, rc;
  Field fields[] = {{"lhs_batching_dimensions", &lb},
                    {"rhs_batching_dimensions", &rb},
                    {"lhs_contracting_dimensions", &lc},
                    {"rhs_contracting_dimensions", &rc}};
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  return get(p.getContext(), lb, rb, lc, rc);
}

void DotDimensionNumbersAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  f.dims("lhs_batching_dimensions", getLhsBatchingDimensions());
  f.dims("rhs_batching_dimensions", getRhsBatchingDimensions());
  f.dims("lhs_contracting_dimensions", getLhsContractingDimensions());
  f.dims("rhs_contracting_dimensions", getRhsContractingDimensions());
  p << ">";
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &p, Type) {
  Dims offset, collapsed, operandBatch, startBatch, map;
  int64_t vector = 0;
  Field fields[] = {{"offset_dims", &offset},
                    {"collapsed_slice_dims", &collapsed},
                    {"operand_batching_dims", &operandBatch},
                    {"start_indices_batching_dims", &startBatch},
                    {"start_index_map", &map},
                    {"index_vector_dim", nullptr, &vector}};
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  return get(p.getContext(), offset, collapsed, operandBatch, startBatch, map, vector);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  f.dims("offset_dims", getOffsetDims());
  f.dims("collapsed_slice_dims", getCollapsedSliceDims());
  f.dims("operand_batching_dims", getOperandBatchingDims());
  f.dims("start_indices_batching_dims", getStartIndicesBatchingDims());
  f.dims("start_index_map", getStartIndexMap());
  f.number("index_vector_dim", getIndexVectorDim());
  p << ">";
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &p, Type) {
  Dims window, inserted, inputBatch, indicesBatch, map;
  int64_t vector = 0;
  Field fields[] = {{"update_window_dims", &window},        {"inserted_window_dims", &inserted},
                    {"input_batching_dims", &inputBatch},   {"scatter_indices_batching_dims", &indicesBatch},
                    {"scatter_dims_to_operand_dims", &map}, {"index_vector_dim", nullptr, &vector}};
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  return get(p.getContext(), window, inserted, inputBatch, indicesBatch, map, vector);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  f.dims("update_window_dims", getUpdateWindowDims());
  f.dims("inserted_window_dims", getInsertedWindowDims());
  f.dims("input_batching_dims", getInputBatchingDims());
  f.dims("scatter_indices_batching_dims", getScatterIndicesBatchingDims());
  f.dims("scatter_dims_to_operand_dims", getScatterDimsToOperandDims());
  f.number("index_vector_dim", getIndexVectorDim());
  p << ">";
}

// ---- custom calls, accuracy -------------------------------------------------------------------------------------------------

Attribute OutputOperandAliasAttr::parse(AsmParser &p, Type) {
  Dims output, operand;
  int64_t index = 0;
  Field fields[] = {
      {"output_tuple_indices", &output}, {"operand_index", nullptr, &index}, {"operand_tuple_indices", &operand}};
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  return get(p.getContext(), output, index, operand);
}

void OutputOperandAliasAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  f.dims("output_tuple_indices", getOutputTupleIndices(), true);
  f.number("operand_index", getOperandIndex(), true);
  f.dims("operand_tuple_indices", getOperandTupleIndices(), true);
  p << ">";
}

Attribute ResultAccuracyAttr::parse(AsmParser &p, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  auto parseAtol = [&] { return p.parseFloat(atol); };
  auto parseRtol = [&] { return p.parseFloat(rtol); };
  auto parseMode = [&] { return p.parseAttribute(mode); };
  Field fields[] = {{"atol", nullptr, nullptr, parseAtol},
                    {"rtol", nullptr, nullptr, parseRtol},
                    {"ulps", nullptr, &ulps},
                    {"mode", nullptr, nullptr, parseMode}};
  const SMLoc at = p.getCurrentLocation();
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  if (!mode) {
    p.emitError(at) << "`mode` is missing";
    return {};
  }
  return get(p.getContext(), APFloat(atol), APFloat(rtol), ulps, mode.getValue());
}

void ResultAccuracyAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  if (!getAtol().isZero())
    f.begin("atol").printFloat(getAtol());
  if (!getRtol().isZero())
    f.begin("rtol").printFloat(getRtol());
  f.number("ulps", getUlps());
  f.begin("mode") << ResultAccuracyModeAttr::get(getContext(), getMode());
  p << ">";
}

// ---- bounds -----------------------------------------------------------------------------------------------------------------

static ParseResult parseBound(AsmParser &p, Dims &bounds) {
  if (succeeded(p.parseOptionalQuestion())) {
    bounds.push_back(ShapedType::kDynamic);
    return success();
  }
  return p.parseInteger(bounds.emplace_back());
}

static void printBounds(AsmPrinter &p, ArrayRef<int64_t> bounds) {
  llvm::interleaveComma(bounds, p, [&](int64_t b) {
    if (b == ShapedType::kDynamic)
      p << "?";
    else
      p << b;
  });
}

Attribute BoundsAttr::parse(AsmParser &p, Type) {
  Dims bounds;
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] { return parseBound(p, bounds); }))
    return {};
  return get(p.getContext(), bounds);
}

void BoundsAttr::print(AsmPrinter &p) const {
  p << "<";
  printBounds(p, getBounds());
  p << ">";
}

Attribute TypeExtensionsAttr::parse(AsmParser &p, Type) {
  Dims bounds;
  if (p.parseLess() || p.parseKeyword("bounds") || p.parseEqual() ||
      p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseBound(p, bounds); }) || p.parseGreater())
    return {};
  return get(p.getContext(), bounds);
}

void TypeExtensionsAttr::print(AsmPrinter &p) const {
  p << "<bounds = [";
  printBounds(p, getBounds());
  p << "]>";
}

// ---- chlo -------------------------------------------------------------------------------------------------------------------

Attribute chlo::RaggedDotDimensionNumbersAttr::parse(AsmParser &p, Type) {
  Dims lb, rb, lc, rc, ragged, group;
  Field fields[] = {{"lhs_batching_dimensions", &lb},    {"rhs_batching_dimensions", &rb},
                    {"lhs_contracting_dimensions", &lc}, {"rhs_contracting_dimensions", &rc},
                    {"lhs_ragged_dimensions", &ragged},  {"rhs_group_dimensions", &group}};
  if (p.parseLess() || parseFields(p, fields) || p.parseGreater())
    return {};
  return get(p.getContext(), lb, rb, lc, rc, ragged, group);
}

void chlo::RaggedDotDimensionNumbersAttr::print(AsmPrinter &p) const {
  p << "<";
  FieldPrinter f(p);
  f.dims("lhs_batching_dimensions", getLhsBatchingDimensions());
  f.dims("rhs_batching_dimensions", getRhsBatchingDimensions());
  f.dims("lhs_contracting_dimensions", getLhsContractingDimensions());
  f.dims("rhs_contracting_dimensions", getRhsContractingDimensions());
  f.dims("lhs_ragged_dimensions", getLhsRaggedDimensions());
  f.dims("rhs_group_dimensions", getRhsGroupDimensions());
  p << ">";
}

} // namespace glia::graph
