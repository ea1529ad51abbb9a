// The attributes of Shardy. Of a sharding only its mesh is kept: it says whether the graph needs several devices.
#include "EntryReader.h"

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
    integers(); // the devices
    return waiting() ? Attribute() : MeshAttr::get(context, axes, DenseIntElementsAttr());
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
    const Attribute axes = list();
    in.byte();    // whether it is closed
    in.flagged(); // its priority
    return axes;
  }
  case TensorSharding:
  case TensorShardingUnreduced:
  case TensorShardingReduction: {
    const Attribute mesh = attribute();
    for (int n = code == TensorSharding ? 2 : 3; n-- > 0;)
      list(); // dimensions, replicated axes, unreduced axes
    if (code == TensorShardingReduction)
      in.signedVarint();
    return waiting() ? Attribute() : mesh;
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
