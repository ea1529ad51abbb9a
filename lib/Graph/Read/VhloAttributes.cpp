// Attributes of VHLO operations as StableHLO has them.
#include "VhloOperations.h"

using namespace mlir;

namespace glia::graph {

namespace {
class Conversion {
public:
  Conversion(const VhloOperation &o, NamedAttrList &l, MLIRContext *c, const ByteCursor &b)
      : op(o), list(l), context(c), at(b) {}
  void run();

private:
  bool is(StringRef a) const { return op.name == a; }
  bool has(StringRef name) const { return llvm::is_contained(op.attributes, name); }
  // The attribute leaves the list.
  Attribute take(StringRef name) { return list.erase(name); }
  template <typename T> T takeOf(StringRef name) {
    auto a = dyn_cast_or_null<T>(take(name));
    if (!a)
      wrong(name);
    return a;
  }
  int64_t takeInteger(StringRef name) {
    const auto i = takeOf<IntegerAttr>(name);
    if (i.getValue().getBitWidth() > 64)
      wrong(name);
    return i.getValue().getSExtValue();
  }
  SmallVector<int64_t> takeIntegers(StringRef name, bool optional = false);
  [[noreturn]] void wrong(StringRef name) const {
    at.fail("the attribute `" + name.str() + "` of `" + op.name.str() + "` is missing or of another kind");
  }
  void set(StringRef name, Attribute a) { list.set(name, a); }

  void dropDefaults();
  void joinConvolution();
  void joinDot();
  void joinGather();
  void joinScatter();
  void joinChannel();
  void makeSymbols();
  void makeArrays();
  void makeUnits();

  const VhloOperation &op;
  NamedAttrList &list;
  MLIRContext *context;
  const ByteCursor &at;
};
} // namespace

// ---- defaults ---------------------------------------------------------------------------------------------------------------

static bool isFalse(Attribute a) {
  const auto b = dyn_cast<BoolAttr>(a);
  return b && !b.getValue();
}
template <int64_t value> static bool isNumber(Attribute a) {
  const auto i = dyn_cast<IntegerAttr>(a);
  return i && i.getValue().getBitWidth() <= 64 && i.getValue().getSExtValue() == value;
}
template <int64_t value> static bool isAll(Attribute a) {
  const auto d = dyn_cast<DenseIntElementsAttr>(a);
  return d && d.isSplat() && d.getElementType().isInteger(64) && d.getSplatValue<int64_t>() == value;
}
static bool isAllFalse(Attribute a) {
  const auto d = dyn_cast<DenseIntElementsAttr>(a);
  return d && d.isSplat() && d.getElementType().isInteger(1) && !d.getSplatValue<bool>();
}
static bool isEmptyTensor(Attribute a) {
  const auto d = dyn_cast<DenseElementsAttr>(a);
  return d && d.getNumElements() == 0;
}
static bool isEmpty(Attribute a) {
  if (const auto s = dyn_cast<StringAttr>(a))
    return s.empty();
  if (const auto l = dyn_cast<ArrayAttr>(a))
    return l.empty();
  const auto d = dyn_cast<DictionaryAttr>(a);
  return d && d.empty();
}
static bool isNoType(Attribute a) {
  const auto t = dyn_cast<ComparisonTypeAttr>(a);
  return t && t.getValue() == ComparisonType::NOTYPE;
}
static bool isDefaultPrecision(Attribute a) {
  const auto l = dyn_cast<ArrayAttr>(a);
  return l && llvm::all_of(l, [](Attribute p) {
           const auto precision = dyn_cast<PrecisionAttr>(p);
           return precision && precision.getValue() == Precision::DEFAULT;
         });
}
static bool isDefaultAccuracy(Attribute a) {
  const auto r = dyn_cast<ResultAccuracyAttr>(a);
  return r && r.getAtol().isZero() && r.getRtol().isZero() && r.getUlps() == 0 && r.getMode() == ResultAccuracyMode::DEFAULT;
}

namespace {
struct Default {
  StringLiteral attribute;
  bool (*is)(Attribute);
  StringLiteral operations; // between spaces; empty: all that have the attribute
};
} // namespace

static constexpr Default kDefaults[] = {
    {"sym_visibility", isEmpty, ""},
    {"arg_attrs", isEmpty, ""},
    {"res_attrs", isEmpty, ""},
    {"channel_id", isNumber<0>,
     " all_gather all_reduce all_to_all collective_broadcast collective_permute collective_reduce reduce_scatter "},
    {"use_global_device_ids", isFalse, ""},
    {"has_dynamic_root", isFalse, ""},
    {"lower", isFalse, " cholesky "},
    {"compare_type", isNoType, ""},
    {"version", isNumber<0>, ""},
    {"composite_attributes", isEmpty, ""},
    {"window_strides", isAll<1>, ""},
    {"padding", isAll<0>, ""},
    {"lhs_dilation", isAll<1>, ""},
    {"rhs_dilation", isAll<1>, ""},
    {"window_reversal", isAllFalse, ""},
    {"precision_config", isDefaultPrecision, ""},
    {"has_side_effect", isFalse, ""},
    {"backend_config", isEmpty, ""},
    {"api_version", isNumber<1>, ""},
    {"called_computations", isEmpty, ""},
    {"output_operand_aliases", isEmpty, ""},
    {"result_tilings", isEmpty, ""},
    {"known_expanding_dimensions", isEmptyTensor, ""},
    {"known_nonexpanding_dimensions", isEmptyTensor, ""},
    {"indices_are_sorted", isFalse, ""},
    {"unique_indices", isFalse, ""},
    {"infeed_config", isEmpty, ""},
    {"layout", isEmpty, ""},
    {"outfeed_config", isEmpty, ""},
    {"is_host_transfer", isFalse, ""},
    {"source_target_pairs", isEmptyTensor, " recv send "},
    {"base_dilations", isAll<1>, ""},
    {"window_dilations", isAll<1>, ""},
    {"dimension", isNumber<-1>, " sort "},
    {"is_stable", isFalse, ""},
    {"result_accuracy", isDefaultAccuracy, ""},
};

void Conversion::dropDefaults() {
  for (const Default &d : kDefaults) {
    if (!has(d.attribute) || (!d.operations.empty() && !d.operations.contains((" " + op.name + " ").str())))
      continue;
    if (const Attribute a = list.get(d.attribute); a && d.is(a))
      list.erase(d.attribute);
  }
  if (has("operand_layouts")) { // both or none
    const Attribute operands = list.get("operand_layouts"), results = list.get("result_layouts");
    if (operands && results && isEmpty(operands) && isEmpty(results)) {
      list.erase("operand_layouts");
      list.erase("result_layouts");
    }
  }
}

// ---- several numbers in one attribute ---------------------------------------------------------------------------------------

SmallVector<int64_t> Conversion::takeIntegers(StringRef name, bool optional) {
  if (optional && !has(name)) // of a later version of the operation
    return {};
  const auto d = takeOf<DenseIntElementsAttr>(name);
  if (!d.getElementType().isInteger(64))
    wrong(name);
  return SmallVector<int64_t>(d.getValues<int64_t>());
}

void Conversion::joinConvolution() {
  const int64_t ib = takeInteger("input_batch_dimension"), f = takeInteger("input_feature_dimension");
  const SmallVector<int64_t> is = takeIntegers("input_spatial_dimensions");
  const int64_t ki = takeInteger("kernel_input_feature_dimension"), ko = takeInteger("kernel_output_feature_dimension");
  const SmallVector<int64_t> ks = takeIntegers("kernel_spatial_dimensions");
  const int64_t ob = takeInteger("output_batch_dimension"), of = takeInteger("output_feature_dimension");
  const SmallVector<int64_t> os = takeIntegers("output_spatial_dimensions");
  set("dimension_numbers", ConvDimensionNumbersAttr::get(context, ib, f, is, ki, ko, ks, ob, of, os));
}

void Conversion::joinDot() {
  const SmallVector<int64_t> lb = takeIntegers("lhs_batching_dimensions"), rb = takeIntegers("rhs_batching_dimensions");
  const SmallVector<int64_t> lc = takeIntegers("lhs_contracting_dimensions"),
                             rc = takeIntegers("rhs_contracting_dimensions");
  set("dot_dimension_numbers", DotDimensionNumbersAttr::get(context, lb, rb, lc, rc));
  if (!has("accumulation_type"))
    return;
  const auto isNone = [](Attribute a) {
    const auto t = dyn_cast_or_null<TypeAttr>(a);
    return t && isa<NoneType>(t.getValue());
  };
  if (isNone(list.get("lhs_component_count"))) { // no algorithm
    for (const StringRef name : {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
                                 "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"})
      if (!isNone(take(name)))
        wrong(name);
    return;
  }
  const Type lhs = takeOf<TypeAttr>("lhs_precision_type").getValue(),
             rhs = takeOf<TypeAttr>("rhs_precision_type").getValue();
  const Type sum = takeOf<TypeAttr>("accumulation_type").getValue();
  const int64_t l = takeInteger("lhs_component_count"), r = takeInteger("rhs_component_count");
  const int64_t n = takeInteger("num_primitive_operations");
  const bool imprecise = takeOf<BoolAttr>("allow_imprecise_accumulation").getValue();
  set("algorithm", DotAlgorithmAttr::get(context, lhs, rhs, sum, l, r, n, imprecise));
}

void Conversion::joinGather() {
  const SmallVector<int64_t> offset = takeIntegers("offset_dims"), collapsed = takeIntegers("collapsed_slice_dims");
  const SmallVector<int64_t> operand = takeIntegers("operand_batching_dims", true),
                             start = takeIntegers("start_indices_batching_dims", true);
  const SmallVector<int64_t> map = takeIntegers("start_index_map");
  const int64_t vector = takeInteger("index_vector_dim");
  set("dimension_numbers", GatherDimensionNumbersAttr::get(context, offset, collapsed, operand, start, map, vector));
}

void Conversion::joinScatter() {
  const SmallVector<int64_t> window = takeIntegers("update_window_dims"), inserted = takeIntegers("inserted_window_dims");
  const SmallVector<int64_t> input = takeIntegers("input_batching_dims", true),
                             indices = takeIntegers("scatter_indices_batching_dims", true);
  const SmallVector<int64_t> map = takeIntegers("scatter_dims_to_operand_dims");
  const int64_t vector = takeInteger("index_vector_dim");
  set("scatter_dimension_numbers", ScatterDimensionNumbersAttr::get(context, window, inserted, input, indices, map, vector));
}

// A channel of collectives has a number, and of send and recv a type too.
void Conversion::joinChannel() {
  if (!list.get("channel_id"))
    return;
  const int64_t id = takeInteger("channel_id"), type = has("channel_type") ? takeInteger("channel_type") : 0;
  set("channel_handle", ChannelHandleAttr::get(context, id, type));
}

// ---- other kinds ------------------------------------------------------------------------------------------------------------

void Conversion::makeSymbols() {
  for (const StringRef name : {"callee", "decomposition"})
    if (has(name))
      set(name, FlatSymbolRefAttr::get(takeOf<StringAttr>(name)));
  if (!has("called_computations") || !list.get("called_computations"))
    return;
  SmallVector<Attribute> symbols;
  for (const Attribute a : takeOf<ArrayAttr>("called_computations")) {
    if (!isa<StringAttr>(a))
      wrong("called_computations");
    symbols.push_back(FlatSymbolRefAttr::get(cast<StringAttr>(a)));
  }
  set("called_computations", ArrayAttr::get(context, symbols));
}

void Conversion::makeArrays() {
  static constexpr StringLiteral kArrays[] = {"base_dilations",
                                              "broadcast_dimensions",
                                              "broadcast_sizes",
                                              "dimensions",
                                              "edge_padding_high",
                                              "edge_padding_low",
                                              "fft_length",
                                              "interior_padding",
                                              "known_expanding_dimensions",
                                              "known_nonexpanding_dimensions",
                                              "lhs_dilation",
                                              "limit_indices",
                                              "permutation",
                                              "rhs_dilation",
                                              "slice_sizes",
                                              "start_indices",
                                              "strides",
                                              "window_dilations",
                                              "window_dimensions",
                                              "window_strides"};
  for (const StringRef name : kArrays)
    if (has(name) && list.get(name))
      set(name, DenseI64ArrayAttr::get(context, takeIntegers(name)));
  if (has("window_reversal") && list.get("window_reversal")) {
    const auto d = takeOf<DenseIntElementsAttr>("window_reversal");
    if (!d.getElementType().isInteger(1))
      wrong("window_reversal");
    set("window_reversal", DenseBoolArrayAttr::get(context, SmallVector<bool>(d.getValues<bool>())));
  }
}

void Conversion::makeUnits() {
  for (const StringRef name : {"use_global_device_ids", "has_dynamic_root"})
    if (has(name) && list.get(name)) { // true: false is the default
      takeOf<BoolAttr>(name);
      set(name, UnitAttr::get(context));
    }
}

void Conversion::run() {
  for (const StringRef name : op.attributes)
    if (!list.get(name))
      wrong(name);
  dropDefaults();
  if (is("dynamic_conv") && has("padding")) // of its first version; an operand says it
    take("padding");
  if (has("input_batch_dimension"))
    joinConvolution();
  if (has("lhs_batching_dimensions"))
    joinDot();
  if (has("offset_dims"))
    joinGather();
  if (has("update_window_dims"))
    joinScatter();
  if (has("channel_id"))
    joinChannel();
  makeSymbols();
  makeArrays();
  makeUnits();
}

void convertVhloAttributes(const VhloOperation &op, NamedAttrList &attributes, MLIRContext *context, const ByteCursor &at) {
  if (!op.attributes.empty())
    Conversion(op, attributes, context, at).run();
}

} // namespace glia::graph
