// The attributes of Shardy, in the forms that Sharding.h says.
#include "EntryReader.h"
#include "Sharding.h"

using namespace mlir;

namespace glia::graph {

namespace {
enum Code : uint64_t {
  ManualAxes,
  MeshAxis,
  MeshOf,
  SubAxis,
  AxisRef,
  DimensionSharding,
  TensorSharding,
  ShardingPerValue,
  DimMapping,
  TensorMapping,
  ShardingRule,
  AxisRefList,
  AxisRefLists,
  AllToAll,
  AllToAllList,
  TensorShardingUnreduced,
  ShardingPerValueUnreduced,
  TensorShardingReduction,
};
} // namespace

Attribute EntryReader::shardingAttribute(uint64_t code) {
  const auto list = [&]() -> Attribute {
    const SmallVector<Attribute> parts = attributes();
    return waiting() ? Attribute() : ArrayAttr::get(context, parts);
  };
  switch (code) {
  case ManualAxes:
  case ShardingPerValue:
  case ShardingPerValueUnreduced:
  case TensorMapping:
  case AxisRefList:
  case AxisRefLists:
  case AllToAllList: return list();
  case MeshAxis: {
    const StringAttr name = string();
    return MeshAxisAttr::get(context, name.getValue(), in.signedVarint());
  }
  case MeshOf: {
    SmallVector<MeshAxisAttr> axes(in.count());
    for (MeshAxisAttr &a : axes)
      a = attributeOf<MeshAxisAttr>("an axis of a mesh");
    const SmallVector<int64_t> devices = integers();
    return waiting() ? Attribute() : meshAttribute(context, axes, devices);
  }
  case SubAxis: {
    const int64_t before = in.signedVarint();
    return SubAxisInfoAttr::get(context, before, in.signedVarint());
  }
  case AxisRef: {
    const StringAttr name = string();
    const Attribute sub = optionalAttribute();
    return waiting() ? Attribute() : AxisRefAttr::get(context, name.getValue(), dyn_cast_or_null<SubAxisInfoAttr>(sub));
  }
  case DimensionSharding: {
    SmallVector<Attribute> axes = attributes();
    if (!in.byte()) // it is open
      axes.push_back(UnitAttr::get(context));
    in.flagged(); // its priority
    return waiting() ? Attribute() : ArrayAttr::get(context, axes);
  }
  case TensorSharding:
  case TensorShardingUnreduced:
  case TensorShardingReduction: {
    const Attribute mesh = attribute();
    ArrayAttr parts[3]; // dimensions, replicated axes, unreduced axes
    for (int n = 0; n < (code == TensorSharding ? 2 : 3); ++n)
      parts[n] = dyn_cast_or_null<ArrayAttr>(list());
    if (code == TensorShardingReduction)
      in.signedVarint();
    return waiting() ? Attribute() : graph::shardingAttribute(mesh, parts[0], parts[1], parts[2]);
  }
  case DimMapping: return DenseI64ArrayAttr::get(context, integers());
  case ShardingRule:
    integers();
    list();
    list();
    for (int n = 4; n-- > 0;)
      integers();
    in.byte();
    return waiting() ? Attribute() : UnitAttr::get(context);
  case AllToAll: {
    const Attribute axes = list();
    in.signedVarint();
    in.signedVarint();
    return axes;
  }
  default: unknown("attribute", code);
  }
}

} // namespace glia::graph
