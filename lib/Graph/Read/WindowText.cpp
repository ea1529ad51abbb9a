// Text of contractions and convolutions: dimension numbers, precision, windows.
#include "ConvDimensions.h"
#include "Fields.h"
#include "Format.h"

using namespace mlir;

namespace glia::graph {

// ---- precision --------------------------------------------------------------------------------------------------------------

static ParseResult parsePrecisions(OpAsmParser &p, ArrayAttr &precision) {
  SmallVector<Attribute> list;
  auto one = [&]() -> ParseResult {
    StringRef name;
    const SMLoc at = p.getCurrentLocation();
    if (p.parseKeyword(&name))
      return failure();
    const std::optional<Precision> value = symbolizePrecision(name);
    if (!value)
      return p.emitError(at) << "unknown precision `" << name << "`: DEFAULT, HIGH or HIGHEST";
    list.push_back(PrecisionAttr::get(p.getContext(), *value));
    return success();
  };
  if (p.parseEqual() || p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return failure();
  precision = p.getBuilder().getArrayAttr(list);
  return success();
}

ParseResult parsePrecisionList(OpAsmParser &p, ArrayAttr &precision) {
  if (failed(p.parseOptionalComma()))
    return success();
  return failure(p.parseKeyword("precision") || parsePrecisions(p, precision));
}

void printPrecisionList(OpAsmPrinter &p, Operation *, ArrayAttr precision) {
  if (!precision)
    return;
  p << ", precision = [";
  llvm::interleaveComma(precision, p, [&](Attribute a) { p << stringifyPrecision(cast<PrecisionAttr>(a).getValue()); });
  p << ']';
}

ParseResult parsePrecisionThenAlgorithm(OpAsmParser &p, ArrayAttr &precision, DotAlgorithmAttr &algorithm) {
  bool comma = succeeded(p.parseOptionalComma());
  if (comma && succeeded(p.parseOptionalKeyword("precision"))) {
    if (parsePrecisions(p, precision))
      return failure();
    comma = succeeded(p.parseOptionalComma());
  }
  if (!comma)
    return success();
  if (p.parseKeyword("algorithm") || p.parseEqual())
    return failure();
  algorithm = dyn_cast_or_null<DotAlgorithmAttr>(DotAlgorithmAttr::parse(p, {}));
  return failure(!algorithm);
}

void printPrecisionThenAlgorithm(OpAsmPrinter &p, Operation *op, ArrayAttr precision, DotAlgorithmAttr algorithm) {
  printPrecisionList(p, op, precision);
  if (algorithm) {
    p << ", algorithm = ";
    p.printStrippedAttrOrType(algorithm);
  }
}

// ---- dimension numbers ------------------------------------------------------------------------------------------------------

static ParseResult parsePair(OpAsmParser &p, Dims &lhs, Dims &rhs) {
  return failure(p.parseEqual() || parseDims(p, lhs) || p.parseKeyword("x") || parseDims(p, rhs));
}

ParseResult parseDotAxes(OpAsmParser &p, DotDimensionNumbersAttr &dims) {
  Dims lb, rb, lc, rc;
  if (succeeded(p.parseOptionalKeyword("batching_dims")) && (parsePair(p, lb, rb) || p.parseComma()))
    return failure();
  if (p.parseKeyword("contracting_dims") || parsePair(p, lc, rc))
    return failure();
  dims = DotDimensionNumbersAttr::get(p.getContext(), lb, rb, lc, rc);
  return success();
}

static void printPair(OpAsmPrinter &p, StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  p << name << " = ";
  printDims(p, lhs);
  p << " x ";
  printDims(p, rhs);
}

void printDotAxes(OpAsmPrinter &p, Operation *, DotDimensionNumbersAttr d) {
  if (!d.getLhsBatchingDimensions().empty() || !d.getRhsBatchingDimensions().empty()) {
    printPair(p, "batching_dims", d.getLhsBatchingDimensions(), d.getRhsBatchingDimensions());
    p << ", ";
  }
  printPair(p, "contracting_dims", d.getLhsContractingDimensions(), d.getRhsContractingDimensions());
}

ParseResult parseConvAxes(OpAsmParser &p, ConvDimensionNumbersAttr &dims) { return parseConvLists(p, dims); }
void printConvAxes(OpAsmPrinter &p, Operation *, ConvDimensionNumbersAttr dims) {
  if (isPlainConv(dims))
    printConvLists(p, dims);
  else
    p << dims; // only an op that was not accepted has such numbers
}

// ---- windows ----------------------------------------------------------------------------------------------------------------

static ParseResult parsePadding(OpAsmParser &p, DenseIntElementsAttr &padding) {
  SmallVector<int64_t> values;
  const SMLoc at = p.getCurrentLocation();
  auto pair = [&]() -> ParseResult {
    Dims two;
    if (parseDims(p, two))
      return failure();
    if (two.size() != 2)
      return p.emitError(at) << "padding is a list of pairs: [[low, high], ...]";
    values.append(two);
    return success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, pair))
    return failure();
  const auto type = RankedTensorType::get({static_cast<int64_t>(values.size() / 2), 2}, p.getBuilder().getI64Type());
  padding = DenseIntElementsAttr::get(type, values);
  return success();
}

static ParseResult parseBools(OpAsmParser &p, SmallVector<bool> &bools) {
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t number;
    if (OptionalParseResult r = p.parseOptionalInteger(number); r.has_value()) {
      bools.push_back(succeeded(*r) && number);
      return *r;
    }
    if (succeeded(p.parseOptionalKeyword("true")))
      bools.push_back(true);
    else if (succeeded(p.parseOptionalKeyword("false")))
      bools.push_back(false);
    else
      return p.emitError(p.getCurrentLocation()) << "expected true or false";
    return success();
  });
}

ParseResult parseWindowFields(OpAsmParser &p, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                              DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal) {
  Dims stride, lhs, rhs;
  SmallVector<bool> reverse;
  auto pad = [&] { return parsePadding(p, padding); };
  auto flags = [&] { return parseBools(p, reverse); };
  Field fields[] = {{"stride", &stride},
                    {"pad", nullptr, nullptr, pad},
                    {"lhs_dilate", &lhs},
                    {"rhs_dilate", &rhs},
                    {"reverse", nullptr, nullptr, flags}};
  if (parseFields(p, fields))
    return failure();
  Builder &b = p.getBuilder();
  if (fields[0].seen)
    strides = b.getDenseI64ArrayAttr(stride);
  if (fields[2].seen)
    lhsDilation = b.getDenseI64ArrayAttr(lhs);
  if (fields[3].seen)
    rhsDilation = b.getDenseI64ArrayAttr(rhs);
  if (fields[4].seen)
    reversal = b.getDenseBoolArrayAttr(reverse);
  return success();
}

void printWindowFields(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                       DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  FieldPrinter f(p);
  if (strides)
    f.dims("stride", strides.asArrayRef(), true);
  if (padding) {
    const SmallVector<int64_t> values(padding.getValues<int64_t>());
    AsmPrinter &out = f.begin("pad") << "[";
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      out << (i ? ", " : "");
      printDims(out, {values[i], values[i + 1]});
    }
    out << "]";
  }
  if (lhsDilation)
    f.dims("lhs_dilate", lhsDilation.asArrayRef(), true);
  if (rhsDilation)
    f.dims("rhs_dilate", rhsDilation.asArrayRef(), true);
  if (reversal) {
    AsmPrinter &out = f.begin("reverse") << "[";
    llvm::interleaveComma(reversal.asArrayRef(), out, [&](bool b) { out << (b ? "true" : "false"); });
    out << "]";
  }
}

} // namespace glia::graph
