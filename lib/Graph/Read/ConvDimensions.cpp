// #stablehlo.conv: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], or `raw` with one field per number.
#include "ConvDimensions.h"
#include "Fields.h"

using namespace mlir;

namespace glia::graph {

namespace {
// One of the three lists: the places of two letters and of the spatial dimensions 0, 1, 2 ...
struct Side {
  char first, second;
  int64_t firstPlace = -1, secondPlace = -1;
  Dims spatial;

  ParseResult parse(AsmParser &p);
  bool isPermutation(int64_t rank) const;
  void print(AsmPrinter &p) const;
};

ParseResult Side::parse(AsmParser &p) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> numbers; // dimension, place
  int64_t place = 0;
  const SMLoc start = p.getCurrentLocation();
  auto one = [&]() -> ParseResult {
    const SMLoc at = p.getCurrentLocation();
    int64_t number;
    if (OptionalParseResult r = p.parseOptionalInteger(number); r.has_value()) {
      if (failed(*r))
        return failure();
      numbers.push_back({number, place++});
      return success();
    }
    StringRef letter;
    if (failed(p.parseOptionalKeyword(&letter)))
      return p.emitError(at) << "expected a dimension: `" << StringRef(&first, 1) << "`, `" << StringRef(&second, 1)
                             << "` or the number of a spatial dimension";
    int64_t *which = letter == StringRef(&first, 1) ? &firstPlace : letter == StringRef(&second, 1) ? &secondPlace : nullptr;
    if (!which)
      return p.emitError(at) << "unknown dimension `" << letter << "`: `" << StringRef(&first, 1) << "`, `"
                             << StringRef(&second, 1) << "` or the number of a spatial dimension";
    if (*which >= 0)
      return p.emitError(at) << "dimension `" << letter << "` is given twice";
    *which = place++;
    return success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return failure();
  if (firstPlace < 0 || secondPlace < 0)
    return p.emitError(start) << "dimension `" << StringRef(firstPlace < 0 ? &first : &second, 1) << "` is missing";
  spatial.assign(numbers.size(), -1);
  for (auto [number, at] : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(numbers.size()) || spatial[number] >= 0)
      return p.emitError(start) << "spatial dimensions must be 0 to " << numbers.size() - 1 << ", each once";
    spatial[number] = at;
  }
  return success();
}

bool Side::isPermutation(int64_t rank) const {
  llvm::SmallVector<bool> seen(rank, false);
  auto take = [&](int64_t place) { return place >= 0 && place < rank && !std::exchange(seen[place], true); };
  return take(firstPlace) && take(secondPlace) && llvm::all_of(spatial, take);
}

void Side::print(AsmPrinter &p) const {
  llvm::SmallVector<std::string> names(spatial.size() + 2);
  names[firstPlace] = first;
  names[secondPlace] = second;
  for (auto [number, place] : llvm::enumerate(spatial))
    names[place] = std::to_string(number);
  p << "[";
  llvm::interleaveComma(names, p);
  p << "]";
}

struct Sides {
  Side input{'b', 'f'}, kernel{'i', 'o'}, output{'b', 'f'};

  Sides() = default;
  explicit Sides(ConvDimensionNumbersAttr a) {
    input = {'b', 'f', a.getInputBatchDimension(), a.getInputFeatureDimension(), Dims(a.getInputSpatialDimensions())};
    kernel = {'i', 'o', a.getKernelInputFeatureDimension(), a.getKernelOutputFeatureDimension(),
              Dims(a.getKernelSpatialDimensions())};
    output = {'b', 'f', a.getOutputBatchDimension(), a.getOutputFeatureDimension(), Dims(a.getOutputSpatialDimensions())};
  }
  ConvDimensionNumbersAttr attribute(MLIRContext *context) const {
    return ConvDimensionNumbersAttr::get(context, input.firstPlace, input.secondPlace, input.spatial, kernel.firstPlace,
                                         kernel.secondPlace, kernel.spatial, output.firstPlace, output.secondPlace,
                                         output.spatial);
  }
  std::array<std::tuple<StringRef, int64_t *, Dims *>, 9> fields() {
    return {{{"input_batch_dimension", &input.firstPlace, nullptr},
             {"input_feature_dimension", &input.secondPlace, nullptr},
             {"input_spatial_dimensions", nullptr, &input.spatial},
             {"kernel_input_feature_dimension", &kernel.firstPlace, nullptr},
             {"kernel_output_feature_dimension", &kernel.secondPlace, nullptr},
             {"kernel_spatial_dimensions", nullptr, &kernel.spatial},
             {"output_batch_dimension", &output.firstPlace, nullptr},
             {"output_feature_dimension", &output.secondPlace, nullptr},
             {"output_spatial_dimensions", nullptr, &output.spatial}}};
  }
};
} // namespace

bool isPlainConv(ConvDimensionNumbersAttr a) {
  const Sides s(a);
  auto plain = [](const Side &side) { return side.isPermutation(static_cast<int64_t>(side.spatial.size()) + 2); };
  return plain(s.input) && plain(s.kernel) && plain(s.output);
}

ParseResult parseConvLists(AsmParser &p, ConvDimensionNumbersAttr &attribute) {
  Sides s;
  // After `]` the lexer takes `x` and the bracket apart, so the letter is a keyword of its own.
  if (s.input.parse(p) || p.parseKeyword("x") || s.kernel.parse(p) || p.parseArrow() || s.output.parse(p))
    return failure();
  attribute = s.attribute(p.getContext());
  return success();
}

void printConvLists(AsmPrinter &p, ConvDimensionNumbersAttr attribute) {
  const Sides s(attribute);
  s.input.print(p);
  p << "x";
  s.kernel.print(p);
  p << "->";
  s.output.print(p);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &p, Type) {
  if (p.parseLess())
    return {};
  if (failed(p.parseOptionalKeyword("raw"))) {
    ConvDimensionNumbersAttr a;
    return parseConvLists(p, a) || p.parseGreater() ? Attribute() : a;
  }
  Sides s;
  SmallVector<Field> fields;
  for (auto [name, number, dims] : s.fields())
    fields.push_back({name, dims, number});
  if (parseFields(p, fields) || p.parseGreater())
    return {};
  return s.attribute(p.getContext());
}

void ConvDimensionNumbersAttr::print(AsmPrinter &p) const {
  p << "<";
  if (isPlainConv(*this)) {
    printConvLists(p, *this);
  } else {
    p << "raw ";
    Sides s(*this);
    FieldPrinter f(p);
    for (auto [name, number, dims] : s.fields()) {
      if (number)
        f.number(name, *number, true);
      else
        f.dims(name, *dims, true);
    }
  }
  p << ">";
}

} // namespace glia::graph
