// Loops and branches that depend on data. Carried values live in HBM; the groups of a body are written one after the other inside a
// run-time loop: `while` tests a register that is loaded from the condition, a branch is a loop of 0 or 1 iterations.
#include "Lower/Families.h"
#include "Graph/Decompose/CollectiveCall.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Graph/Graph.h"
#include "glia/Support/Diagnostic.h"

#include <map>

namespace glia::emit {

namespace {

class Control {
public:
  explicit Control(KernelBuilder &k) : k(k) {}

  using Tiles = llvm::DenseMap<mlir::Value, Tile>;

  void loop(mlir::Operation *op, const Tiles &outer, std::span<const Tile> results) {
    mlir::Block &cond = op->getRegion(0).front(), &body = op->getRegion(1).front();
    std::vector<Tile> carried;
    for (mlir::Value v : op->getOperands()) {
      carried.push_back(isEmpty(v) ? Tile() : fresh(v));
      if (!isEmpty(v))
        store(carried.back(), read(v, outer));
    }
    Tiles inCond = outer, inBody = outer;
    for (size_t i = 0; i < carried.size(); ++i) {
      inCond[cond.getArgument(static_cast<unsigned>(i))] = carried[i];
      inBody[body.getArgument(static_cast<unsigned>(i))] = carried[i];
    }
    const int condition = k.makeRegister();
    k.loadInto(condition, block(cond, inCond)[0]);
    k.whileNotZero(condition);
    const std::vector<Tile> next = block(body, inBody);
    move(body, carried, next);
    k.loadInto(condition, block(cond, inCond)[0]);
    k.endWhile();
    for (size_t i = 0; i < results.size(); ++i)
      if (!isEmpty(op->getResult(static_cast<unsigned>(i))))
        store(results[i], carried[i]);
  }

  // Each branch runs as often as its own condition says: once or never. Results are there before, whichever branch writes them.
  void branch(mlir::Operation *op, const Tiles &outer, std::span<const Tile> results) {
    const Tile which = read(op->getOperand(0), outer);
    for (size_t i = 0; i < results.size(); ++i)
      if (!isEmpty(op->getResult(static_cast<unsigned>(i))))
        fill(results[i]);
    const auto count = static_cast<int64_t>(op->getNumRegions());
    const bool two = opName(op) == "if";
    for (int64_t r = 0; r < count; ++r) {
      const int times = k.makeRegister();
      k.loadInto(times, taken(which, r, count, two));
      k.loopOf(times);
      mlir::Block &body = op->getRegion(static_cast<unsigned>(r)).front();
      const std::vector<Tile> values = block(body, outer);
      for (size_t i = 0; i < results.size(); ++i)
        if (!isEmpty(op->getResult(static_cast<unsigned>(i))))
          store(results[i], values[i]);
      k.endLoop();
    }
  }

private:
  KernelBuilder &k;
  size_t constants = 0;

  Tile fresh(mlir::Value v) { return k.scratch(heldType(v), shapeOf(v)); }
  void store(const Tile &dst, const Tile &src) { k.copy(dst, src); }

  // A tensor of HBM, zero everywhere.
  void fill(const Tile &t) {
    constexpr int64_t kColumns = 4096;
    Tile flat = t;
    const int64_t n = t.elements(), columns = std::min(n, kColumns);
    const Tile zero = k.sbuf(t.dtype, 1, {columns});
    k.fill(zero, 0);
    for (int64_t at = 0; at < n; at += columns) {
      flat.offset = t.offset + at;
      flat.dims = {{1, std::min(columns, n - at)}};
      k.copy(flat, zero.columns(0, std::min(columns, n - at)));
    }
  }

  // 1 if region r is the one to run, else 0.
  Tile taken(const Tile &which, int64_t r, int64_t count, bool two) {
    const Tile raw = k.sbuf(which.dtype, 1, {1}), out = k.sbuf(DType::I32, 1, {1});
    k.copy(raw, which);
    if (two)
      k.scalar(out, raw, r == 0 ? "not_equal" : "equal", 0.0f);
    else if (r + 1 < count)
      k.scalar(out, raw, "equal", static_cast<float>(r));
    else { // the last one takes whatever is out of range
      const Tile below = k.sbuf(DType::I32, 1, {1}), above = k.sbuf(DType::I32, 1, {1});
      k.scalar(below, raw, "less", 0.0f);
      k.scalar(above, raw, "greater_equal", static_cast<float>(r));
      k.tensor(out, below, above, "max");
    }
    return out;
  }

  // The tensor that holds a value: through reshapes, and constants of the body are tensors of the kernel.
  Tile read(mlir::Value v, const Tiles &tiles) {
    if (const auto it = tiles.find(v); it != tiles.end())
      return it->second;
    if (isEmpty(v)) { // nothing to read
      Tile t;
      t.dtype = heldType(v);
      for (int64_t n : shapeOf(v))
        t.dims.push_back({1, n});
      return t;
    }
    mlir::Operation *op = v.getDefiningOp();
    if (op && isAlias(op)) {
      Tile t = read(aliasOf(v), tiles);
      std::vector<int64_t> shape = shapeOf(v);
      if (shape.empty())
        shape.push_back(1);
      return t.reshaped(shape);
    }
    if (op && opName(op) == "constant") {
      const std::vector<uint8_t> bytes = graph::constantBytes(llvm::cast<mlir::ElementsAttr>(op->getAttr("value")));
      return k.constant("constant" + std::to_string(constants++), heldType(v), shapeOf(v),
                        {reinterpret_cast<const std::byte *>(bytes.data()), bytes.size()});
    }
    throw std::logic_error("a value of a loop body is nowhere");
  }

  // Writes the groups of a block; where its results are.
  std::vector<Tile> block(mlir::Block &b, Tiles tiles) {
    for (const Group &g : groupOperations(b)) {
      std::vector<Tile> inputs, outputs;
      for (mlir::Value v : g.inputs)
        inputs.push_back(read(v, tiles));
      for (mlir::Value v : g.outputs)
        outputs.push_back(tiles[v] = fresh(v));
      k.location(g.ops.back()->getLoc());
      g.family->emit(k, g, inputs, outputs);
    }
    std::vector<Tile> out;
    for (mlir::Value v : b.getTerminator()->getOperands())
      out.push_back(isEmpty(v) ? Tile() : read(v, tiles));
    return out;
  }

  // The carried values of the next iteration. One that is another carried value of this iteration is kept aside before it is
  // overwritten.
  void move(mlir::Block &body, const std::vector<Tile> &carried, std::vector<Tile> next) {
    for (size_t i = 0; i < next.size(); ++i)
      for (size_t j = 0; j < carried.size(); ++j)
        if (i != j && next[i].handle >= 0 && next[i].handle == carried[j].handle) {
          const Tile aside = fresh(body.getTerminator()->getOperand(static_cast<unsigned>(i)));
          store(aside, next[i]);
          next[i] = aside;
          break;
        }
    for (size_t i = 0; i < next.size(); ++i)
      if (next[i].handle >= 0 && next[i].handle != carried[i].handle)
        store(carried[i], next[i]);
  }
};

class ControlFamily : public Family {
public:
  std::string_view name() const override { return "control"; }
  std::optional<std::string> accepts(mlir::Operation *op) const override {
    const llvm::StringRef n = opName(op);
    if (n != "while" && n != "if" && n != "case")
      return std::nullopt;
    for (mlir::Value v : op->getResults())
      if (const auto t = llvm::dyn_cast<mlir::RankedTensorType>(v.getType()); !t || !machineType(t.getElementType()))
        return "the device does not hold the type of one of its values";
    const auto exchanges = op->walk([](mlir::Operation *o) {
      return isCollectiveCall(o) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    });
    if (exchanges.wasInterrupted())
      return "ranks exchange values in it, and how often it is done is not known before the program runs (or is more than "
             "10,000 times), so that ranks might come there unequally often; a loop with fewer iterations, whose number is "
             "a constant, works";
    try {
      for (mlir::Region &r : op->getRegions())
        groupOperations(r.front());
    } catch (const Error &e) {
      return "its body has operations that cannot be lowered: " + e.diagnostics()[0].message;
    }
    return "";
  }
  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    mlir::Operation *op = g.ops[0];
    Control::Tiles tiles;
    for (size_t i = 0; i < g.inputs.size(); ++i)
      tiles[g.inputs[i]] = inputs[i];
    // Results that nobody reads have no tensor of the group.
    std::vector<Tile> results;
    for (mlir::Value v : op->getResults()) {
      const auto it = std::find(g.outputs.begin(), g.outputs.end(), v);
      if (it != g.outputs.end())
        results.push_back(outputs[static_cast<size_t>(it - g.outputs.begin())]);
      else
        results.push_back(elementsOf(v) == 0 ? Tile()
                                             : k.scratch(*machineType(mlir::getElementTypeOrSelf(v.getType())), shapeOf(v)));
    }
    Control control(k);
    if (opName(op) == "while")
      control.loop(op, std::move(tiles), results);
    else
      control.branch(op, tiles, results);
  }
};

} // namespace

const Family &controlFamily() {
  static const ControlFamily family;
  return family;
}

} // namespace glia::emit
