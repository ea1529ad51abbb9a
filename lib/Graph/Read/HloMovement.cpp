// Instructions that make arrays or move their elements.
#include "HloReader.h"

using namespace mlir;

namespace glia::graph::hlo {

bool Reader::readMovement(const Instruction &i, Body &body, Leaves &out) {
  const std::string_view op = i.opcode;
  const auto emit = [&](StringRef name, ValueRange operands, const Attributes &attributes) {
    llvm::append_range(out, make(i, body, name, operands, attributes)->getResults());
    return true;
  };
  const auto one = [&] { return value(i, body, 0); };
  const auto dimension = [&] {
    if (i.dimensions.size() != 1)
      wrong(i, "has one dimension");
    return i.dimensions[0];
  };
  if (op == "constant") {
    if (!i.literal)
      wrong(i, "has no literal");
    for (const ByteCursor &part : literalParts(*i.literal))
      out.push_back(makeConstant(i, body, readLiteral(part, context)));
    return true;
  }
  if (op == "iota")
    return emit("stablehlo.iota", {}, {integer("iota_dimension", dimension())});
  if (op == "broadcast")
    return emit("stablehlo.broadcast_in_dim", one(), {array("broadcast_dimensions", i.dimensions)});
  if (op == "reshape")
    return emit("stablehlo.reshape", one(), {});
  if (op == "transpose")
    return emit("stablehlo.transpose", one(), {array("permutation", i.dimensions)});
  if (op == "reverse")
    return emit("stablehlo.reverse", one(), {array("dimensions", i.dimensions)});
  if (op == "concatenate")
    return emit("stablehlo.concatenate", operands(i, body), {integer("dimension", dimension())});
  if (op == "bitcast") { // the same bytes; between other layouts it moves elements
    const Known &from = operand(i, body, 0);
    if (from.shape->isTuple() || from.shape->element != i.shape.element || !from.shape->rowMajor() || !i.shape.rowMajor())
      unsupported(i, "is between layouts or types");
    return emit("stablehlo.reshape", one(), {});
  }
  if (op == "slice") {
    SmallVector<int64_t> start, limit, stride;
    for (const ByteCursor &s : i.slices) {
      int64_t v[3] = {0, 0, 0};
      forEach(s, [&](const Field &f) {
        if (f.number >= 1 && f.number <= 3)
          v[f.number - 1] = f.integer();
      });
      start.push_back(v[0]);
      limit.push_back(v[1]);
      stride.push_back(v[2]);
    }
    return emit("stablehlo.slice", one(),
                {array("start_indices", start), array("limit_indices", limit), array("strides", stride)});
  }
  if (op == "pad") {
    SmallVector<int64_t> low, high, interior;
    if (i.padding)
      forEach(*i.padding, [&](const Field &d) {
        if (d.number != 1)
          return;
        int64_t v[3] = {0, 0, 0};
        forEach(d.message(), [&](const Field &f) {
          if (f.number >= 1 && f.number <= 3)
            v[f.number - 1] = f.integer();
        });
        low.push_back(v[0]);
        high.push_back(v[1]);
        interior.push_back(v[2]);
      });
    return emit("stablehlo.pad", {one(), value(i, body, 1)},
                {array("edge_padding_low", low), array("edge_padding_high", high), array("interior_padding", interior)});
  }
  return false;
}

bool Reader::readIndexing(const Instruction &i, Body &body, Leaves &out) {
  const std::string_view op = i.opcode;
  if (op == "dynamic-slice" || op == "dynamic-update-slice") {
    const Leaves all = operands(i, body);
    const size_t indices = op == "dynamic-slice" ? 1 : 2;
    if (all.size() == indices + 1 && i.shape.dims.size() != 1)
      unsupported(i, "has its indices in one array");
    Attributes attributes;
    if (op == "dynamic-slice")
      attributes.push_back(array("slice_sizes", i.sliceSizes));
    const StringRef name = op == "dynamic-slice" ? "stablehlo.dynamic_slice" : "stablehlo.dynamic_update_slice";
    llvm::append_range(out, make(i, body, name, all, attributes)->getResults());
    return true;
  }
  if (op != "gather" && op != "scatter")
    return false;
  // Both messages have the same numbers of fields: window, inserted, map, vector, and two of batches.
  SmallVector<int64_t> lists[7];
  int64_t vector = 0;
  const std::optional<ByteCursor> &numbers = op == "gather" ? i.gather : i.scatter;
  if (!numbers)
    wrong(i, "has no dimension numbers");
  forEach(*numbers, [&](const Field &f) {
    if (f.number == 4)
      vector = f.integer();
    else if (f.number >= 1 && f.number <= 6)
      f.appendTo(lists[f.number]);
  });
  if (op == "gather") {
    const auto dims = GatherDimensionNumbersAttr::get(context, lists[1], lists[2], lists[5], lists[6], lists[3], vector);
    Attributes attributes{named("dimension_numbers", dims), array("slice_sizes", i.gatherSizes)};
    if (i.sorted)
      attributes.push_back(truth("indices_are_sorted", true));
    llvm::append_range(out, make(i, body, "stablehlo.gather", operands(i, body), attributes)->getResults());
    return true;
  }
  const auto dims = ScatterDimensionNumbersAttr::get(context, lists[1], lists[2], lists[5], lists[6], lists[3], vector);
  Attributes attributes{named("scatter_dimension_numbers", dims)};
  if (i.sorted)
    attributes.push_back(truth("indices_are_sorted", true));
  if (i.unique)
    attributes.push_back(truth("unique_indices", true));
  Operation *made = make(i, body, "stablehlo.scatter", operands(i, body), attributes, 1);
  fillRegion(i, made->getRegion(0), computation(i, 0));
  llvm::append_range(out, made->getResults());
  return true;
}

} // namespace glia::graph::hlo
