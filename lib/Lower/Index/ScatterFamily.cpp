// scatter. By what is known:
//   indices known now     replaced: parts of the updates over the operand; combined: part after part (IndexPieces.h)
//   indices at run time   sums of rows: a product with ones and zeros; replaced rows: a gather of the last update of each
//                         (ScatterRows.h); anything else: update after update, each with its address in registers
//                         (ScatterOrdered.h)
#include "Lower/Families.h"
#include "Lower/Move/MovementWriter.h"
#include "ScatterOrdered.h"
#include "ScatterRows.h"

#include <algorithm>

namespace glia::emit {

namespace {

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

class ScatterKernel {
public:
  ScatterKernel(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, const Tile &out)
      : k(k), g(g), inputs(inputs), op(g.ops[0]), out(out), writer(k, [this](const Piece &p, DType t) {
          Place from{at(p.source), {}};
          from.tile.dtype = t;
          from.tile.offset = p.offset;
          return from;
        }) {}

  void run() {
    std::string why;
    const Combiner c = *combinerOf(op->getRegion(0), elementOf(op->getOperand(0)), why);
    const std::optional<Pieces> pieces = scatteredPieces(op);
    if (pieces && c.op == "bypass") {
      Pieces all = operandPieces();
      all.insert(all.end(), pieces->begin(), pieces->end());
      return write(out, all);
    }
    const double splat = splatOf(op->getOperand(2)).value_or(0);
    if (pieces) {
      write(out, operandPieces());
      return scatterPieces(k, c, *pieces, out, at(op->getOperand(2)), splat);
    }
    const IndexForm f = scatterForm(op);
    const Tile data = at(op->getOperand(0)), indices = indexTile(k, g, inputs, op->getOperand(1)),
               updates = at(op->getOperand(2));
    const std::optional<RowScatter> rows = f.places() > kFewPlaces ? rowScatterOf(f) : std::nullopt;
    if (rows && sumsWell(*rows, c))
      return scatterSums(k, *rows, c.type, data, splatOf(op->getOperand(0)).value_or(0), indices, updates, splat, out);
    if (rows && c.op == "bypass" && data.handle >= 0 && updates.handle >= 0 && k.target().has("swdge_indirect") &&
        replacesWell(*rows))
      return scatterReplacing(k, *rows, moving(data), indices, moving(updates), moving(out));
    const Tile all = k.scratch(out.dtype, {workElements(f)});
    Tile work = all;
    work.dims = out.dims;
    write(work, operandPieces());
    Tile behind = all; // what updates outside are combined with
    behind.offset = elementsOf(op->getResult(0));
    behind.dims = {{1, workElements(f) - behind.offset}};
    Piece zeros;
    zeros.bits = 0;
    zeros.axes.push_back({0, 1, behind.dims[0].count, 0});
    write(behind, {zeros});
    scatterInOrder(k, moving(c), f, moving(all), indices, moving(updates), splat);
    transfer(k, {moving(out), {}}, {moving(all), {}}, {}, {{elementsOf(op->getResult(0)), 1, 1}});
  }

private:
  static constexpr int64_t kFewPlaces = 4;
  KernelBuilder &k;
  const Group &g;
  std::span<const Tile> inputs;
  mlir::Operation *op;
  Tile out;
  MovementWriter writer;

  Tile at(mlir::Value v) const { // a number everywhere has no tensor
    const auto it = std::find(g.inputs.begin(), g.inputs.end(), v);
    return it == g.inputs.end() ? Tile() : inputs[static_cast<size_t>(it - g.inputs.begin())];
  }
  bool replaces() const { return op->getRegion(0).front().getOperations().size() == 1; }
  // What is only moved goes as bits.
  Tile moving(Tile t) const {
    if (replaces() && t.handle >= 0)
      t.dtype = movingType(t.dtype);
    return t;
  }
  Combiner moving(Combiner c) const {
    if (replaces())
      c.type = movingType(c.type);
    return c;
  }

  void write(Tile to, const Pieces &pieces) {
    to.dtype = movingType(to.dtype);
    writer.write({to, {}}, pieces);
  }

  Pieces operandPieces() const {
    const mlir::Value v = op->getOperand(0);
    Piece p;
    if (const std::optional<uint32_t> bits = splatBits(v))
      p.bits = bits;
    else
      p.source = v;
    for (const Tile::Dim &d : contiguous(shapeOf(v)))
      p.axes.push_back({0, 1, d.count, d.stride});
    return {p};
  }
};

class ScatterFamily : public Family {
public:
  std::string_view name() const override { return "scatter"; }
  bool takesSplats(mlir::Operation *) const override { return true; }
  bool writesConstant(mlir::Operation *op, unsigned operand) const override {
    return operand == 1 && scatteredPieces(op).has_value();
  }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (opName(op) != "scatter")
      return std::nullopt;
    if (op->getNumOperands() != 3)
      return "a scatter into several tensors together";
    std::string why;
    const std::optional<Combiner> c = combinerOf(op->getRegion(0), elementOf(op->getOperand(0)), why);
    if (!c)
      return why;
    if (isFloat(c->type) && sizeOf(c->type) == 1 && c->op != "bypass")
      return "arithmetic on 8-bit floats";
    for (mlir::Value v : op->getOperands())
      if (elementsOf(v) > INT32_MAX / 2)
        return "a tensor of more than 2^30 elements";
    if (scatteredPieces(op))
      return "";
    if (!machineType(elementOf(op->getOperand(1))))
      return "64-bit indices that are not known to fit 32 bits";
    const IndexForm f = scatterForm(op);
    constexpr int64_t kMostPlaces = 1 << 16;
    if (f.places() > kMostPlaces)
      return "a scatter of more than 65536 updates";
    for (size_t i = 0; i < f.components.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (f.components[i].dim == f.components[j].dim)
          return "indices that count twice for one dimension";
    return "";
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    k.location(g.ops[0]->getLoc());
    if (elementsOf(g.ops[0]->getResult(0)) > 0)
      ScatterKernel(k, g, inputs, outputs[0]).run();
  }
};

} // namespace

const Family &scatterFamily() {
  static const ScatterFamily family;
  return family;
}

} // namespace glia::emit
