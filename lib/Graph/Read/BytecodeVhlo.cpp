// The attributes and types of VHLO, the versioned form of StableHLO.
#include "EntryReader.h"
#include "Refused.h"

using namespace mlir;

namespace glia::graph {

namespace {
enum AttributeCode : uint64_t {
  Array = 1,
  Boolean,
  ComparisonDirectionOf,
  ComparisonTypeOf,
  ApiVersion,
  Dictionary,
  FftTypeOf,
  Float,
  Integer,
  OutputOperandAlias,
  PrecisionOf,
  RngAlgorithmOf,
  RngDistributionOf,
  String,
  TensorOf,
  TransposeOf,
  TypeOf,
  TypeExtensions,
  AccuracyMode,
  Accuracy,
  SubAxis,
  AxisRef,
  ReplicaGroups,
  MeshAxis,
  MeshOf,
};
enum TypeCode : uint64_t {
  Boolean1 = 0,
  Complex = 1,
  Function = 8,
  Index = 9,
  Tensor = 20,
  EncodedTensor = 21,
  TokenOf = 22,
  Tuple = 23,
  Quantised = 24,
  UnrankedTensor = 25,
  QuantisedPerAxis = 30,
  None = 33,
  BufferOf = 41,
  FutureOf = 42,
};
} // namespace

Attribute EntryReader::vhloAttribute(uint64_t code) {
  switch (code) {
  case Array: {
    const SmallVector<Attribute> list = attributes();
    return waiting() ? Attribute() : ArrayAttr::get(context, list);
  }
  case Boolean: {
    const uint64_t v = in.varint();
    if (v > 1)
      in.fail("a truth value is 0 or 1");
    return BoolAttr::get(context, v == 1);
  }
  case ComparisonDirectionOf: return choice<ComparisonDirectionAttr>(symbolizeComparisonDirection);
  case ComparisonTypeOf: return choice<ComparisonTypeAttr>(symbolizeComparisonType);
  case ApiVersion: {
    const uint64_t v = in.varint();
    if (v > UINT32_MAX || !symbolizeCustomCallApiVersion(static_cast<uint32_t>(v)))
      unknown("value of an enum", v);
    return IntegerAttr::get(IntegerType::get(context, 32), static_cast<int64_t>(v));
  }
  case Dictionary: return pairs();
  case FftTypeOf: return choice<FftTypeAttr>(symbolizeFftType);
  case Float: return floatAttribute();
  case Integer: return integerAttribute();
  case OutputOperandAlias: {
    const SmallVector<int64_t> output = integers();
    const int64_t operand = in.signedVarint();
    return OutputOperandAliasAttr::get(context, output, operand, integers());
  }
  case PrecisionOf: return choice<PrecisionAttr>(symbolizePrecision);
  case RngAlgorithmOf: return choice<RngAlgorithmAttr>(symbolizeRngAlgorithm);
  case RngDistributionOf: return choice<RngDistributionAttr>(symbolizeRngDistribution);
  case String: return string();
  case TensorOf: {
    const Type t = type();
    return denseElements(t, in.take(in.varint()));
  }
  case TransposeOf: return choice<TransposeAttr>(symbolizeTranspose);
  case TypeOf: {
    const Type t = type();
    return waiting() ? Attribute() : TypeAttr::get(t);
  }
  case TypeExtensions: return TypeExtensionsAttr::get(context, integers());
  case AccuracyMode: return choice<ResultAccuracyModeAttr>(symbolizeResultAccuracyMode);
  case Accuracy: {
    const auto f64 = Float64Type::get(context);
    const APFloat atol = real(f64), rtol = real(f64);
    const int64_t ulps = in.signedVarint();
    const auto mode = attributeOf<ResultAccuracyModeAttr>("a mode of accuracy");
    return waiting() ? Attribute() : ResultAccuracyAttr::get(context, atol, rtol, ulps, mode.getValue());
  }
  case SubAxis: {
    const int64_t before = in.signedVarint();
    return SubAxisInfoAttr::get(context, before, in.signedVarint());
  }
  case AxisRef: {
    const auto name = attributeOf<StringAttr>("a name");
    const auto sub = in.varint() ? attributeOf<SubAxisInfoAttr>("a part of an axis") : SubAxisInfoAttr();
    return waiting() ? Attribute() : AxisRefAttr::get(context, name.getValue(), sub);
  }
  case ReplicaGroups: {
    Attribute mesh = attribute();
    const auto axes = attributeOf<ArrayAttr>("a list of axes");
    if (auto name = dyn_cast_or_null<StringAttr>(mesh))
      mesh = FlatSymbolRefAttr::get(name);
    return waiting() ? Attribute() : ReplicaGroupMeshAxesAttr::get(context, mesh, axes);
  }
  case MeshAxis: {
    const auto name = attributeOf<StringAttr>("a name");
    const int64_t size = in.signedVarint();
    return waiting() ? Attribute() : MeshAxisAttr::get(context, name.getValue(), size);
  }
  case MeshOf: {
    const auto list = attributeOf<ArrayAttr>("a list of axes");
    const Attribute devices = optionalAttribute();
    if (waiting())
      return {};
    SmallVector<MeshAxisAttr> axes;
    for (const Attribute a : list) {
      if (!isa<MeshAxisAttr>(a))
        in.fail("an axis of a mesh is expected");
      axes.push_back(cast<MeshAxisAttr>(a));
    }
    return MeshAttr::get(context, axes, dyn_cast_or_null<DenseIntElementsAttr>(devices));
  }
  default: unknown("attribute", code);
  }
}

// Types without parts.
static Type simpleType(uint64_t code, MLIRContext *c) {
  const auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(c, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (code) {
  case Boolean1: return integer(1, false);
  case 2: return BFloat16Type::get(c);
  case 3: return Float16Type::get(c);
  case 4: return Float32Type::get(c);
  case 5: return Float64Type::get(c);
  case 6: return Float8E4M3FNType::get(c);
  case 7: return Float8E5M2Type::get(c);
  case Index: return IndexType::get(c);
  case 10:
  case 11:
  case 12:
  case 13:
  case 14: return integer(4u << (code - 10), false);
  case 15:
  case 16:
  case 17:
  case 18:
  case 19: return integer(4u << (code - 15), true);
  case TokenOf: return TokenType::get(c);
  case 27: return Float8E4M3FNUZType::get(c);
  case 28: return Float8E5M2FNUZType::get(c);
  case 29: return Float8E4M3B11FNUZType::get(c);
  case 31: return integer(2, false);
  case 32: return integer(2, true);
  case None: return NoneType::get(c);
  case 34: return FloatTF32Type::get(c);
  case 35: return Float8E4M3Type::get(c);
  case 36: return Float8E3M4Type::get(c);
  case 37: return Float4E2M1FNType::get(c);
  case 38: return Float6E2M3FNType::get(c);
  case 39: return Float6E3M2FNType::get(c);
  case 40: return Float8E8M0FNUType::get(c);
  default: return {};
  }
}

Type EntryReader::vhloType(uint64_t code) {
  if (const Type t = simpleType(code, context))
    return t;
  switch (code) {
  case Complex: return complexType(type());
  case Function: return functionType();
  case Tensor: return tensorType(false);
  case EncodedTensor: return tensorType(true);
  case Tuple: return tupleType();
  case Quantised:
  case QuantisedPerAxis: in.fail("GRAPH-QUANTISED", kQuantised.str(), "");
  case UnrankedTensor: {
    const Type e = type();
    if (waiting())
      return {};
    if (!TensorType::isValidElementType(e))
      in.fail("a tensor has no such elements");
    return UnrankedTensorType::get(e);
  }
  case BufferOf: {
    const SmallVector<int64_t> shape = integers();
    return bufferType(shape, type());
  }
  case FutureOf: {
    const SmallVector<Type> list = types();
    return waiting() ? Type() : FutureType::get(context, list);
  }
  default: unknown("type", code);
  }
}

} // namespace glia::graph
