// gather and torch_index_select. By what is indexed and how:
//   indices known now            copies of parts of the operand (IndexPieces.h)
//   along the last dimension     rows on partitions, gathered there (GatherColumns.h)
//   many places, small operand   all of the operand on every partition, gathered there (GatherTable.h)
//   anything else                windows by index, or by register (GatherRows.h)
#include "Lower/Families.h"
#include "GatherColumns.h"
#include "GatherRows.h"
#include "GatherTable.h"
#include "IndexPieces.h"
#include "Lower/Move/MovementWriter.h"

#include <algorithm>

namespace glia::emit {

namespace {

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

class GatherFamily : public Family {
public:
  std::string_view name() const override { return "gather"; }
  bool takesSplats(mlir::Operation *) const override { return true; }
  bool writesConstant(mlir::Operation *op, unsigned operand) const override {
    return operand == 1 && gatheredPieces(op).has_value();
  }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (opName(op) != "gather" && opName(op) != "torch_index_select")
      return std::nullopt;
    const std::optional<DType> t = machineType(elementOf(op->getOperand(0)));
    if (!t)
      return "the device does not hold its element type";
    for (mlir::Value v : op->getOperands())
      if (elementsOf(v) > INT32_MAX)
        return "a tensor of more than 2^31 - 1 elements";
    if (splatOf(op->getOperand(0)) || gatheredPieces(op))
      return "";
    if (!machineType(elementOf(op->getOperand(1))))
      return "64-bit indices that are not known to fit 32 bits";
    const IndexForm f = gatherForm(op);
    constexpr int64_t kMostSingle = 1 << 16;
    if (!columnGatherOf(f, *t) && f.run() * sizeOf(*t) < 64 && elementsOf(op->getResult(0)) / f.run() > kMostSingle)
      return "a gather of many single elements; gathers of rows, and along a last dimension that fits on chip, work";
    for (const IndexForm::Component &c : f.components)
      if (c.most >= 1 << 24)
        return "indices beyond 2^24";
    return "";
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    mlir::Operation *op = g.ops[0];
    k.location(op->getLoc());
    if (elementsOf(op->getResult(0)) == 0)
      return;
    const auto at = [&](mlir::Value v) {
      Tile t = inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
      return t;
    };
    const mlir::Value operand = op->getOperand(0);
    const DType type = movingType(*machineType(elementOf(operand)));
    Tile out = outputs[0];
    out.dtype = type;
    std::optional<Pieces> pieces = gatheredPieces(op);
    if (const std::optional<uint32_t> bits = splatBits(operand)) { // the same everywhere
      Piece p;
      p.bits = bits;
      for (int64_t n : shapeOf(op->getResult(0)))
        p.axes.push_back({0, 1, n, 0});
      pieces = Pieces{p};
    }
    if (pieces) {
      MovementWriter writer(k, [&](const Piece &p, DType t) {
        Place from{at(p.source), {}};
        from.tile.dtype = t;
        from.tile.offset = p.offset;
        return from;
      });
      return writer.write({out, {}}, *pieces);
    }
    Tile data = at(operand);
    data.dtype = type;
    const Tile indices = indexTile(k, g, inputs, op->getOperand(1));
    const IndexForm f = gatherForm(op);
    const bool indirect = k.target().has("swdge_indirect");
    constexpr int64_t kFewPlaces = 8, kPerElement = 16; // what a single element costs against one of a row
    if (const std::optional<ColumnGather> c = columnGatherOf(f, type);
        c && f.places() > kFewPlaces && (!indirect || c->columns * kPerElement >= c->length))
      return emitColumnGather(k, *c, data, indices, out);
    // A transfer for each place, or for 128 of them, against one of the whole operand.
    const int64_t transfers = indirect ? (f.places() + 127) / 128 : f.places();
    if (const std::optional<TableGather> table = tableGatherOf(f, type);
        table &&
        nanosecondsOf(k.target(), *table, type) < static_cast<double>(transfers) * k.target().number("dma.queue_spacing"))
      return gatherFromTable(k, f, *table, data, indices, out);
    if (indirect && f.places() > kFewPlaces)
      return gatherByIndex(k, f, data, indices, out);
    gatherByRegister(k, f, data, indices, out);
  }
};

} // namespace

const Family &gatherFamily() {
  static const GatherFamily family;
  return family;
}

} // namespace glia::emit
