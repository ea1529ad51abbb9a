// Types, attributes and places of MLIR operations.
#include "Interpret/View.h"

#include "glia/Graph/Graph.h"
#include "Graph/Read/Place.h"

#include "llvm/Support/raw_ostream.h"

namespace glia::interp {

using namespace mlir;

void failAt(Operation *op, std::string_view code, std::string message, std::string advice) {
  Diagnostic d;
  d.code = code;
  d.message = op->getName().getStringRef().str() + ": " + std::move(message);
  d.advice = std::move(advice);
  d.place = graph::placeOf(op->getLoc());
  throw Error(std::move(d));
}

namespace {

Element elementOf(Type type, Operation *op, Caches &caches) {
  if (const auto at = caches.elements.find(type); at != caches.elements.end())
    return at->second;
  if (const auto c = dyn_cast<ComplexType>(type); c && (c.getElementType().isF32() || c.getElementType().isF64()))
    return caches.elements[type] = c.getElementType().isF32() ? Element::Complex64 : Element::Complex128;
  std::string name; // the public names are those of the table, but for signs
  if (const auto i = dyn_cast<IntegerType>(type))
    name = (i.isUnsigned() ? "ui" : "i") + std::to_string(i.getWidth());
  else
    llvm::raw_string_ostream(name) << type;
  const std::optional<Element> e = parseElement(name);
  if (!e)
    failAt(op, "GRAPH-INTERPRET", "elements of type " + name + " are not implemented",
           "The interpreter knows i1, integers up to 64 bits, floats and complex numbers of f32 or f64.");
  caches.elements[type] = *e;
  return *e;
}

// ---- structured attributes: their fields under the public names ---------------------------------------------------------------
template <class A> struct Field {
  StringRef name;
  Shape (*get)(A attribute);
};
Shape listOf(ArrayRef<int64_t> a) { return {a.begin(), a.end()}; }
#define LIST(A, name, getter) {name, [](A a) { return listOf(a.getter()); }}
#define ONE(A, name, getter) {name, [](A a) { return Shape{a.getter()}; }}

using graph::ConvDimensionNumbersAttr;
using graph::DotDimensionNumbersAttr;
using graph::GatherDimensionNumbersAttr;
using graph::ScatterDimensionNumbersAttr;

const Field<DotDimensionNumbersAttr> kDot[] = {
    LIST(DotDimensionNumbersAttr, "lhs_batching_dimensions", getLhsBatchingDimensions),
    LIST(DotDimensionNumbersAttr, "rhs_batching_dimensions", getRhsBatchingDimensions),
    LIST(DotDimensionNumbersAttr, "lhs_contracting_dimensions", getLhsContractingDimensions),
    LIST(DotDimensionNumbersAttr, "rhs_contracting_dimensions", getRhsContractingDimensions),
};
const Field<GatherDimensionNumbersAttr> kGather[] = {
    LIST(GatherDimensionNumbersAttr, "offset_dims", getOffsetDims),
    LIST(GatherDimensionNumbersAttr, "collapsed_slice_dims", getCollapsedSliceDims),
    LIST(GatherDimensionNumbersAttr, "operand_batching_dims", getOperandBatchingDims),
    LIST(GatherDimensionNumbersAttr, "start_indices_batching_dims", getStartIndicesBatchingDims),
    LIST(GatherDimensionNumbersAttr, "start_index_map", getStartIndexMap),
    ONE(GatherDimensionNumbersAttr, "index_vector_dim", getIndexVectorDim),
};
const Field<ScatterDimensionNumbersAttr> kScatter[] = {
    LIST(ScatterDimensionNumbersAttr, "update_window_dims", getUpdateWindowDims),
    LIST(ScatterDimensionNumbersAttr, "inserted_window_dims", getInsertedWindowDims),
    LIST(ScatterDimensionNumbersAttr, "input_batching_dims", getInputBatchingDims),
    LIST(ScatterDimensionNumbersAttr, "scatter_indices_batching_dims", getScatterIndicesBatchingDims),
    LIST(ScatterDimensionNumbersAttr, "scatter_dims_to_operand_dims", getScatterDimsToOperandDims),
    ONE(ScatterDimensionNumbersAttr, "index_vector_dim", getIndexVectorDim),
};
const Field<ConvDimensionNumbersAttr> kConv[] = {
    ONE(ConvDimensionNumbersAttr, "input_batch_dimension", getInputBatchDimension),
    ONE(ConvDimensionNumbersAttr, "input_feature_dimension", getInputFeatureDimension),
    LIST(ConvDimensionNumbersAttr, "input_spatial_dimensions", getInputSpatialDimensions),
    ONE(ConvDimensionNumbersAttr, "kernel_input_feature_dimension", getKernelInputFeatureDimension),
    ONE(ConvDimensionNumbersAttr, "kernel_output_feature_dimension", getKernelOutputFeatureDimension),
    LIST(ConvDimensionNumbersAttr, "kernel_spatial_dimensions", getKernelSpatialDimensions),
    ONE(ConvDimensionNumbersAttr, "output_batch_dimension", getOutputBatchDimension),
    ONE(ConvDimensionNumbersAttr, "output_feature_dimension", getOutputFeatureDimension),
    LIST(ConvDimensionNumbersAttr, "output_spatial_dimensions", getOutputSpatialDimensions),
};
const Field<graph::ChannelHandleAttr> kChannel[] = {ONE(graph::ChannelHandleAttr, "handle", getHandle)};
#undef LIST
#undef ONE

template <class A, size_t N> bool readField(const Field<A> (&fields)[N], Attribute attribute, StringRef field, Shape &to) {
  const auto a = dyn_cast<A>(attribute);
  if (!a)
    return false;
  for (const Field<A> &f : fields)
    if (f.name == field) {
      to = f.get(a);
      return true;
    }
  return false;
}

std::optional<Shape> intsOf(Attribute a, StringRef field) {
  Shape r;
  if (const auto fields = dyn_cast<DictionaryAttr>(a); fields && !field.empty())
    return fields.contains(field) ? intsOf(fields.get(field), "") : std::nullopt;
  if (!field.empty()) {
    const bool found = readField(kDot, a, field, r) || readField(kGather, a, field, r) || readField(kScatter, a, field, r) ||
                       readField(kConv, a, field, r) || readField(kChannel, a, field, r);
    return found ? std::optional(r) : std::nullopt;
  }
  if (const auto v = dyn_cast<DenseI64ArrayAttr>(a))
    return listOf(v.asArrayRef());
  if (const auto v = dyn_cast<DenseBoolArrayAttr>(a))
    return Shape(v.asArrayRef().begin(), v.asArrayRef().end());
  if (const auto v = dyn_cast<BoolAttr>(a))
    return Shape{v.getValue()};
  if (isa<UnitAttr>(a))
    return Shape{1};
  if (const auto v = dyn_cast<IntegerAttr>(a))
    return Shape{v.getValue().getSExtValue()};
  if (const auto v = dyn_cast<DenseIntElementsAttr>(a)) {
    for (const APInt &x : v.getValues<APInt>())
      r.push_back(x.getBitWidth() == 1 ? static_cast<int64_t>(x.getZExtValue()) : x.getSExtValue());
    return r;
  }
  return std::nullopt;
}

Attribute find(Operation *op, std::string_view &attribute) { // leaves the name of the field in `attribute`
  const size_t dot = attribute.rfind('.');                   // names of dictionaries may have dots too
  const Attribute a = op->getAttr(StringRef(attribute).take_front(dot));
  attribute = dot == std::string_view::npos ? std::string_view{} : attribute.substr(dot + 1);
  return a;
}

} // namespace

TensorType typeOf(Type type, Operation *op, Caches &caches) {
  if (isa<TupleType>(type))
    return {Element::Tuple, {}};
  if (isa<graph::TokenType>(type))
    return {Element::Token, {}};
  const auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    failAt(op, "GRAPH-INTERPRET", "values of type " + name + " are not implemented", "Only tensors of static shape are.");
  }
  return {elementOf(tensor.getElementType(), op, caches), listOf(tensor.getShape())};
}

template <class Base> std::optional<Shape> ViewOf<Base>::ints(std::string_view attribute) const {
  const Attribute a = find(op, attribute);
  return a ? intsOf(a, StringRef(attribute.data(), attribute.size())) : std::nullopt;
}

template <class Base> std::optional<std::string> ViewOf<Base>::text(std::string_view attribute) const {
  Attribute a = find(op, attribute);
  if (const auto fields = dyn_cast_or_null<DictionaryAttr>(a); fields && !attribute.empty())
    a = fields.get(StringRef(attribute.data(), attribute.size()));
  if (!a)
    return std::nullopt;
  if (const auto v = dyn_cast<StringAttr>(a))
    return v.getValue().str();
  if (const auto v = dyn_cast<FlatSymbolRefAttr>(a))
    return v.getValue().str();
  if (const auto v = dyn_cast<graph::ComparisonDirectionAttr>(a))
    return graph::stringifyComparisonDirection(v.getValue()).str();
  if (const auto v = dyn_cast<graph::ComparisonTypeAttr>(a))
    return graph::stringifyComparisonType(v.getValue()).str();
  if (const auto v = dyn_cast<graph::TransposeAttr>(a))
    return graph::stringifyTranspose(v.getValue()).str();
  if (const auto v = dyn_cast<graph::FftTypeAttr>(a))
    return graph::stringifyFftType(v.getValue()).str();
  if (const auto v = dyn_cast<graph::RngAlgorithmAttr>(a))
    return graph::stringifyRngAlgorithm(v.getValue()).str();
  return std::nullopt;
}

template <class Base> std::optional<double> ViewOf<Base>::number(std::string_view attribute) const {
  const auto a = dyn_cast_or_null<FloatAttr>(find(op, attribute));
  return a ? std::optional(a.getValueAsDouble()) : std::nullopt;
}

template <class Base> std::optional<Tensor> ViewOf<Base>::elements(std::string_view attribute) const {
  if (const auto at = caches.constants.find(op); at != caches.constants.end())
    return at->second;
  const auto a = dyn_cast_or_null<ElementsAttr>(find(op, attribute));
  if (!a)
    return std::nullopt;
  TensorType t = typeOf(a.getType(), op, caches);
  if (isComplex(t.element)) { // pairs
    t.element = partOf(t.element);
    t.shape.push_back(2);
  }
  Tensor value(t.element, t.shape);
  const std::vector<uint8_t> bytes = graph::constantBytes(a);
  if (bytes.size() != static_cast<size_t>(value.count()) * info(t.element).bytes)
    failAt(op, "GRAPH-INTERPRET", "the value has another size than its type", "");
  decode(t.element, reinterpret_cast<const std::byte *>(bytes.data()), value.own(), value.count());
  caches.constants[op] = value;
  return value;
}

template class ViewOf<OpView>;
template class ViewOf<Call>;

} // namespace glia::interp
