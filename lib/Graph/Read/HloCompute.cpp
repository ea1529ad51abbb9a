// Contractions, windows, sorting, norms, linear algebra and random numbers.
#include "HloReader.h"

using namespace mlir;

namespace glia::graph::hlo {

// ---- precision --------------------------------------------------------------------------------------------------------------

static Attribute algorithmOf(int64_t code, MLIRContext *c) {
  const Type f16 = Float16Type::get(c), bf16 = BFloat16Type::get(c), f32 = Float32Type::get(c), f64 = Float64Type::get(c),
             tf32 = FloatTF32Type::get(c), f8 = Float8E5M2Type::get(c);
  const auto make = [&](Type in, Type sum, int64_t components, int64_t products, bool imprecise = false) {
    return DotAlgorithmAttr::get(c, in, in, sum, components, components, products, imprecise);
  };
  switch (code) {
    // clang-format off
  case 1: return make(f8, f32, 1, 1);
  case 2: return make(f8, f32, 1, 1, true);
  case 3: return make(f16, f16, 1, 1);
  case 4: return make(f16, f32, 1, 1);
  case 5: return make(bf16, bf16, 1, 1);
  case 6: return make(bf16, f32, 1, 1);
  case 7: return make(bf16, f32, 1, 3);
  case 8: return make(bf16, f32, 1, 6);
  case 9: return make(tf32, f32, 1, 1);
  case 10: return make(tf32, f32, 1, 3);
  case 11: return make(f32, f32, 1, 1);
  case 12: return make(f64, f64, 1, 1);
  case 13: return make(bf16, f32, 1, 9);
  default: return {};
    // clang-format on
  }
}

void Reader::addPrecision(const Instruction &i, Attributes &to, bool algorithms) const {
  if (!i.precision)
    return;
  SmallVector<int64_t> codes;
  int64_t algorithm = 0;
  forEach(*i.precision, [&](const Field &f) {
    if (f.number == 1)
      f.appendTo(codes);
    else if (f.number == 2)
      algorithm = f.integer();
  });
  if (llvm::any_of(codes, [](int64_t p) { return p != 0; })) {
    SmallVector<Attribute> list;
    for (const int64_t p : codes) {
      const auto known = p >= 0 && p <= 2 ? symbolizePrecision(static_cast<uint32_t>(p)) : std::nullopt;
      if (!known)
        unsupported(i, format("has the precision %lld", static_cast<long long>(p)));
      list.push_back(PrecisionAttr::get(context, *known));
    }
    to.push_back(named("precision_config", ArrayAttr::get(context, list)));
  }
  if (!algorithm)
    return;
  const Attribute a = algorithmOf(algorithm, context);
  if (!a || !algorithms)
    unsupported(i, format("has the algorithm %lld", static_cast<long long>(algorithm)));
  to.push_back(named("algorithm", a));
}

// ---- contractions -----------------------------------------------------------------------------------------------------------

namespace {
struct DotDimensions {
  SmallVector<int64_t> lhsContracting, rhsContracting, lhsBatch, rhsBatch;
  explicit DotDimensions(ByteCursor in) {
    SmallVector<int64_t> *lists[] = {&lhsContracting, &rhsContracting, &lhsBatch, &rhsBatch};
    forEach(in, [&](const Field &f) {
      if (f.number >= 1 && f.number <= 4)
        f.appendTo(*lists[f.number - 1]);
    });
  }
};
} // namespace

Reader::Leaves Reader::readRaggedDot(const Instruction &i, Body &body) {
  if (!i.ragged)
    wrong(i, "has no dimension numbers");
  std::optional<DotDimensions> dot;
  SmallVector<int64_t> ragged, group;
  forEach(*i.ragged, [&](const Field &f) {
    if (f.number == 1)
      dot.emplace(f.message());
    else if (f.number == 2)
      f.appendTo(ragged);
    else if (f.number == 3)
      f.appendTo(group);
  });
  if (!dot)
    wrong(i, "has no dimension numbers");
  const auto dims = chlo::RaggedDotDimensionNumbersAttr::get(context, dot->lhsBatch, dot->rhsBatch, dot->lhsContracting,
                                                             dot->rhsContracting, ragged, group);
  Attributes attributes{named("ragged_dot_dimension_numbers", dims)};
  return Leaves(make(i, body, "chlo.ragged_dot", operands(i, body), attributes)->getResults());
}

Reader::Leaves Reader::readConvolution(const Instruction &i, Body &body) {
  if (!i.convolution)
    wrong(i, "has no dimension numbers");
  int64_t n[11] = {};
  SmallVector<int64_t> input, kernel, output;
  forEach(*i.convolution, [&](const Field &f) {
    switch (f.number) {
    case 3:
    case 4:
    case 7:
    case 8:
    case 9:
    case 10: n[f.number] = f.integer(); break;
    case 6: f.appendTo(kernel); break;
    case 11: f.appendTo(input); break;
    case 12: f.appendTo(output); break;
    default: break;
    }
  });
  SmallVector<int64_t> strides, padding, base, dilation;
  SmallVector<bool> reversed;
  for (const WindowDimension &w : i.window) {
    strides.push_back(w.stride);
    padding.append({w.low, w.high});
    base.push_back(w.baseDilation);
    dilation.push_back(w.windowDilation);
    reversed.push_back(w.reversed);
  }
  Attributes attributes{named("dimension_numbers", ConvDimensionNumbersAttr::get(context, n[7], n[8], input, n[3], n[4],
                                                                                 kernel, n[9], n[10], output)),
                        array("window_strides", strides),
                        named("padding", matrix(padding, 2)),
                        array("lhs_dilation", base),
                        array("rhs_dilation", dilation),
                        integer("feature_group_count", std::max<int64_t>(i.featureGroups, 1)),
                        integer("batch_group_count", std::max<int64_t>(i.batchGroups, 1))};
  if (llvm::is_contained(reversed, true))
    attributes.push_back(named("window_reversal", DenseBoolArrayAttr::get(context, reversed)));
  addPrecision(i, attributes, false);
  return Leaves(make(i, body, "stablehlo.convolution", operands(i, body), attributes)->getResults());
}

// ---- all of them ------------------------------------------------------------------------------------------------------------

bool Reader::readCompute(const Instruction &i, Body &body, Leaves &out) {
  const std::string_view op = i.opcode;
  const auto emit = [&](StringRef name, const Attributes &attributes, unsigned regions = 0) {
    Operation *made = make(i, body, name, operands(i, body), attributes, regions);
    for (unsigned n = 0; n < regions; ++n)
      fillRegion(i, made->getRegion(n), computation(i, n));
    llvm::append_range(out, made->getResults());
    return true;
  };
  const auto windowOf = [&](int64_t WindowDimension::*member) {
    return llvm::map_to_vector(i.window, [&](const WindowDimension &w) { return w.*member; });
  };
  const auto paddingOf = [&] {
    SmallVector<int64_t> v;
    for (const WindowDimension &w : i.window)
      v.append({w.low, w.high});
    return named("padding", matrix(v, 2));
  };
  if (op == "dot") {
    if (!i.dot)
      wrong(i, "has no dimension numbers");
    const DotDimensions d(*i.dot);
    Attributes attributes{named("dot_dimension_numbers", DotDimensionNumbersAttr::get(context, d.lhsBatch, d.rhsBatch,
                                                                                      d.lhsContracting, d.rhsContracting))};
    addPrecision(i, attributes, true);
    return emit("stablehlo.dot_general", attributes);
  }
  if (op == "ragged-dot") {
    out = readRaggedDot(i, body);
    return true;
  }
  if (op == "convolution") {
    out = readConvolution(i, body);
    return true;
  }
  if (op == "reduce")
    return emit("stablehlo.reduce", {array("dimensions", i.dimensions)}, 1);
  if (op == "map")
    return emit("stablehlo.map", {array("dimensions", i.dimensions)}, 1);
  if (op == "reduce-window")
    return emit("stablehlo.reduce_window",
                {array("window_dimensions", windowOf(&WindowDimension::size)),
                 array("window_strides", windowOf(&WindowDimension::stride)),
                 array("base_dilations", windowOf(&WindowDimension::baseDilation)),
                 array("window_dilations", windowOf(&WindowDimension::windowDilation)), paddingOf()},
                1);
  if (op == "select-and-scatter")
    return emit("stablehlo.select_and_scatter",
                {array("window_dimensions", windowOf(&WindowDimension::size)),
                 array("window_strides", windowOf(&WindowDimension::stride)), paddingOf()},
                2);
  if (op == "sort") {
    if (i.dimensions.size() != 1)
      wrong(i, "has one dimension");
    return emit("stablehlo.sort", {integer("dimension", i.dimensions[0]), truth("is_stable", i.stable)}, 1);
  }
  if (op == "topk") {
    if (!i.largest)
      unsupported(i, "is of the smallest elements");
    return emit("chlo.top_k", {integer("k", i.k)});
  }
  if (op == "batch-norm-training" || op == "batch-norm-inference" || op == "batch-norm-grad") {
    const Attributes attributes{named("epsilon", FloatAttr::get(Float32Type::get(context), i.epsilon)),
                                integer("feature_index", i.featureIndex)};
    return emit(op == "batch-norm-training"    ? "stablehlo.batch_norm_training"
                : op == "batch-norm-inference" ? "stablehlo.batch_norm_inference"
                                               : "stablehlo.batch_norm_grad",
                attributes);
  }
  if (op == "fft") {
    const auto type = i.fftType >= 0 && i.fftType <= 3 ? symbolizeFftType(static_cast<uint32_t>(i.fftType)) : std::nullopt;
    if (!type)
      wrong(i, "has no such type");
    return emit("stablehlo.fft", {named("fft_type", FftTypeAttr::get(context, *type)), array("fft_length", i.fftLength)});
  }
  if (op == "cholesky") {
    bool lower = false;
    if (i.cholesky)
      forEach(*i.cholesky, [&](const Field &f) { lower |= f.number == 1 && f.truth(); });
    return emit("stablehlo.cholesky", {truth("lower", lower)});
  }
  if (op == "triangular-solve") {
    int64_t v[5] = {};
    if (i.solve)
      forEach(*i.solve, [&](const Field &f) {
        if (f.number >= 1 && f.number <= 4)
          v[f.number] = f.integer();
      });
    const auto transpose = v[4] >= 0 && v[4] <= 3 ? symbolizeTranspose(static_cast<uint32_t>(v[4])) : std::nullopt;
    if (!transpose)
      wrong(i, "has no such transposition");
    return emit("stablehlo.triangular_solve", {truth("left_side", v[1]), truth("lower", v[2]), truth("unit_diagonal", v[3]),
                                               named("transpose_a", TransposeAttr::get(context, *transpose))});
  }
  if (op == "rng-bit-generator") {
    const auto algorithm =
        i.algorithm >= 0 && i.algorithm <= 2 ? symbolizeRngAlgorithm(static_cast<uint32_t>(i.algorithm)) : std::nullopt;
    if (!algorithm)
      wrong(i, "has no such algorithm");
    return emit("stablehlo.rng_bit_generator", {named("rng_algorithm", RngAlgorithmAttr::get(context, *algorithm))});
  }
  if (op == "rng") {
    const auto distribution = i.distribution == 1 || i.distribution == 2
                                  ? symbolizeRngDistribution(static_cast<uint32_t>(i.distribution))
                                  : std::nullopt;
    if (!distribution)
      wrong(i, "has no such distribution");
    const auto i64 = IntegerType::get(context, 64);
    const auto shape = DenseIntElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(i.shape.dims.size())}, i64),
                                                 ArrayRef<int64_t>(i.shape.dims));
    Leaves all = operands(i, body);
    all.push_back(makeConstant(i, body, shape));
    const Attributes attributes{named("rng_distribution", RngDistributionAttr::get(context, *distribution))};
    llvm::append_range(out, make(i, body, "stablehlo.rng", all, attributes)->getResults());
    return true;
  }
  return false;
}

} // namespace glia::graph::hlo
