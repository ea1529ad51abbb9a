// Operations that move elements and change none: transpose, slice, pad, concatenate, reverse, broadcast, dynamic_slice and
// dynamic_update_slice, bitcast_convert. A chain of them is one group: its last value is written from the first tensors.
#include "Lower/Families.h"
#include "Graph/Analysis/GraphFacts.h"
#include "MovementWriter.h"
#include "Lower/Rows/RowsPlan.h"
#include "glia/Graph/Graph.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr llvm::StringLiteral kNames[] = {
    "transpose",        "slice",     "pad",           "concatenate",          "reverse",
    "broadcast_in_dim", "broadcast", "dynamic_slice", "dynamic_update_slice", "bitcast_convert"};

std::optional<DType> typeOf(mlir::Value v) {
  const auto t = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  return t ? machineType(t.getElementType()) : std::nullopt;
}

class MovementKernel {
public:
  MovementKernel(KernelBuilder &k, const Group &g, std::span<const Tile> inputs)
      : k(k), g(g), inputs(inputs), writer(k, [this](const Piece &p, DType t) { return sourceOf(p, t); }) {}

  void run(std::span<const Tile> outputs) {
    const auto known = planMovement(g.ops);
    if (!known)
      throw std::logic_error("a group of movements without a plan");
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      const mlir::Value v = g.outputs[i];
      Place to{outputs[i], {}};
      to.tile.dtype = movingType(outputs[i].dtype);
      k.location(v.getLoc());
      if (g.over || updatesAtRunTime(v.getDefiningOp()))
        writeUpdate(llvm::cast<graph::DynamicUpdateSliceOp>(v.getDefiningOp()), std::move(to), *known);
      else
        writer.write(to, piecesOf(v, *known));
    }
  }

private:
  KernelBuilder &k;
  const Group &g;
  std::span<const Tile> inputs;
  MovementWriter writer;
  struct Index {
    mlir::Value start;
    int64_t most;
    int reg;
  };
  std::vector<Index> indices;

  const Tile &inputOf(mlir::Value v) const {
    const auto at = std::find(g.inputs.begin(), g.inputs.end(), v);
    if (at == g.inputs.end())
      throw std::logic_error("a group of movements reads a tensor that is none of its inputs");
    return inputs[static_cast<size_t>(at - g.inputs.begin())];
  }

  // All of the operand, unless it lies there, then the update over it.
  void writeUpdate(graph::DynamicUpdateSliceOp op, Place to, const llvm::DenseMap<mlir::Value, Pieces> &known) {
    if (!g.over)
      writer.write(to, piecesOf(op.getOperand(), known));
    const std::vector<int64_t> shape = shapeOf(op.getOperand()), sizes = shapeOf(op.getUpdate());
    std::vector<int64_t> scales;
    for (size_t d = 0; d < shape.size(); ++d) {
      scales.push_back(to.tile.dims[d].stride);
      to.tile.dims[d].count = sizes[d];
    }
    const std::vector<PieceShift> shifts = shiftsOf(op.getStartIndices(), shape, sizes, scales, to.tile.offset);
    to.terms = termsOf(shifts);
    writer.write(to, piecesOf(op.getUpdate(), known));
  }

  Place sourceOf(const Piece &p, DType t) {
    Place from{inputOf(p.source), termsOf(p.shifts)};
    from.tile.dtype = t;
    from.tile.offset = p.offset;
    return from;
  }

  int indexOf(const PieceShift &s) {
    for (const Index &i : indices)
      if (i.start == s.start && i.most == s.most)
        return i.reg;
    const int reg = k.loadIndex(inputOf(s.start), static_cast<int32_t>(s.most));
    indices.push_back({s.start, s.most, reg});
    return reg;
  }

  // An address takes two registers; more are added up before.
  std::vector<Place::Term> termsOf(const std::vector<PieceShift> &shifts) {
    std::vector<Place::Term> out;
    for (const PieceShift &s : shifts)
      out.push_back({indexOf(s), s.scale});
    while (out.size() > 2) {
      const Place::Term a = out[out.size() - 2], b = out.back();
      out.resize(out.size() - 2);
      const auto scaled = [&](const Place::Term &t) {
        return k.registerOp("multiply", t.reg, static_cast<int32_t>(t.scale));
      };
      out.push_back({k.registerOpOf("add", scaled(a), scaled(b)), 1});
    }
    return out;
  }
};

class MovementFamily : public Family {
public:
  std::string_view name() const override { return "movement"; }
  bool takesSplats(mlir::Operation *) const override { return true; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (!llvm::is_contained(kNames, opName(op)))
      return std::nullopt;
    for (mlir::Value v : op->getOperands())
      if (!typeOf(v))
        return "the device does not hold its element type";
    if (!typeOf(op->getResult(0)))
      return "the device does not hold its element type";
    for (mlir::Value v : {op->getOperand(0), mlir::Value(op->getResult(0))})
      if (elementsOf(v) > INT32_MAX)
        return "a tensor of more than 2^31 - 1 elements";
    if (opName(op) == "bitcast_convert")
      for (mlir::Value v : {op->getOperand(0), mlir::Value(op->getResult(0))})
        if (llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType().isInteger(1) &&
            v.getType() != op->getOperand(0).getType())
          return "a bitcast between i1 and another type";
    return "";
  }

  // Pointwise operations read long runs of another tensor as well as they read their own.
  bool repeats(mlir::Operation *op) const override {
    constexpr int64_t kLongRun = 128; // bytes; shorter ones cost each reader more than one copy does
    auto slice = llvm::dyn_cast<graph::SliceOp>(op);
    const std::optional<DType> type = slice ? typeOf(op->getResult(0)) : std::nullopt;
    if (!type || elementsOf(op->getResult(0)) <= 1 || op->use_empty() ||
        llvm::any_of(slice.getStrides(), [](int64_t s) { return s != 1; }))
      return false;
    Dims view = contiguous(shapeOf(op->getOperand(0)));
    partOf(view, slice.getStartIndices(), slice.getStrides(), shapeOf(op->getResult(0)));
    const Dims runs = merged(view);
    return runs.back().stride == 1 && runs.back().count * sizeOf(*type) >= kLongRun &&
           llvm::all_of(op->getUsers(), [&](mlir::Operation *u) {
             return u->getBlock() == op->getBlock() && isPointwise(opName(u)) &&
                    shapeOf(u->getResult(0)) == shapeOf(op->getResult(0));
           });
  }

  bool joins(const Group &g, mlir::Operation *op) const override {
    constexpr size_t kMostPieces = 64;
    if (updatesAtRunTime(op))
      return false;
    std::vector<mlir::Operation *> ops = g.ops;
    ops.push_back(op);
    for (mlir::Operation *o : ops)
      if (!isAlias(o) && !llvm::is_contained(kNames, opName(o)))
        return false;
    // A register is loaded from what lies in HBM: not from what this kernel would make.
    for (mlir::Operation *o : ops)
      if (auto slice = llvm::dyn_cast<graph::DynamicSliceOp>(o))
        for (mlir::Value start : slice.getStartIndices())
          if (llvm::is_contained(ops, rootOf(start).getDefiningOp()))
            return false;
    // What others read too is written once, and read from there.
    for (mlir::Operation *o : g.ops)
      if (!isAlias(o) && opName(o) != "broadcast_in_dim")
        for (mlir::Operation *user : o->getUsers())
          if (!llvm::is_contained(ops, user))
            return false;
    const auto known = planMovement(ops);
    return known && known->lookup(op->getResult(0)).size() <= kMostPieces;
  }

  std::optional<size_t> overwrites(const Group &g) const override {
    auto update = llvm::dyn_cast<graph::DynamicUpdateSliceOp>(g.ops.back());
    if (!update || g.outputs.size() != 1 || g.outputs[0] != update.getResult())
      return std::nullopt;
    const auto at = llvm::find(g.inputs, update.getOperand());
    const auto reads = [&](mlir::Operation *op) { return llvm::count(op->getOperands(), update.getOperand()); };
    size_t readers = 0;
    for (mlir::Operation *op : g.ops)
      readers += static_cast<size_t>(reads(op));
    if (at == g.inputs.end() || readers != 1)
      return std::nullopt; // it is made here, or read for something else too
    return static_cast<size_t>(at - g.inputs.begin());
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    MovementKernel(k, g, inputs).run(outputs);
  }
};

} // namespace

const Family &movementFamily() {
  static const MovementFamily family;
  return family;
}

} // namespace glia::emit
