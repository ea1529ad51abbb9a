#include "SlabsKernel.h"
#include "Counts.h"
#include "IntegerLanes.h"
#include "Lower/Contract/OperandTiles.h"
#include "RowsLanes.h"
#include "SlabsReduce.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>

namespace glia::emit {

namespace {

// What a tile of a full value has: an element each, or fewer, which are seen several times.
enum class Form : uint8_t { Each, PerInner, PerDepth };
struct Slab {
  Lane lane;
  Form form = Form::Each;
};

// Rows of the depth that are on chip together: so many along each of the partitions.
struct Piece {
  int64_t first, partitions, rows;
};

class SlabsKernel {
public:
  SlabsKernel(KernelBuilder &k, const Group &g, SlabsPlan plan, std::span<const Tile> inputs, std::span<const Tile> outputs)
      : k(k), g(g), p(std::move(plan)), inputs(inputs), outputs(outputs), lanes(k),
        exact(k.target().has("exact_transpose")) {}

  void run() {
    for (inner = 0; inner < p.inner; inner += groups * width) {
      width = std::min(p.width, p.inner - inner);
      groups = std::min(p.groups, (p.inner - inner) / width);
      const int64_t most = p.parts ? 1 : 128 / groups;
      for (outer = 0; outer < p.outer; outer += most) {
        outers = std::min(most, p.outer - outer);
        tile();
      }
    }
  }

private:
  KernelBuilder &k;
  const Group &g;
  SlabsPlan p;
  std::span<const Tile> inputs, outputs;
  RowsLanes lanes;
  Counts counts;
  const bool exact;                                                // the Tensor engine turns tiles bit by bit
  int64_t inner = 0, width = 1, groups = 1, outer = 0, outers = 1; // what is on chip, with the whole depth
  std::vector<Piece> pieces;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Slab> values; // of a piece
  llvm::DenseMap<mlir::Value, Lane> kept, spread, inverses;
  llvm::DenseMap<mlir::Value, Tile> sums; // what the pieces so far come to

  // Of parts of the depth, kept values have inner indices on the partitions.
  int64_t keptRows() const { return p.parts ? width : outers * groups; }
  int64_t keptColumns() const { return p.parts ? 1 : width; }

  // Level by level, what needs no further reductions.
  void tile() {
    pieces.clear();
    for (int64_t at = 0; at < p.depth;) {
      const int64_t left = p.depth - at, parts = p.parts ? std::min<int64_t>(left, 128) : 1,
                    rows = std::min(p.rows, left / parts);
      pieces.push_back({at, p.parts ? parts : outers * groups, rows});
      at += parts * rows;
    }
    values.clear();
    kept.clear();
    spread.clear();
    inverses.clear();
    sums.clear();
    for (int level = 0; level <= p.levels + 1; ++level) {
      for (mlir::Operation *op : g.ops)
        keptOperation(op, level);
      if (level <= p.levels)
        fullOperations(level);
    }
  }

  // Piece by piece; then what the reductions give.
  void fullOperations(int level) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (mlir::Operation *op : g.ops)
        fullOperation(op, level, i);
      if (p.levels == 0)
        values.clear();
    }
    for (mlir::Operation *op : g.ops)
      if (opName(op) == "reduce" && p.values[op->getResult(0)].level == level + 1)
        finish(op);
  }

  void keptOperation(mlir::Operation *op, int level) {
    const mlir::Value result = op->getResult(0);
    const SlabsValue &v = p.values[result];
    if (v.level != level || elementsOf(result) != p.kept() || opName(op) == "reduce")
      return;
    k.location(op->getLoc());
    if (v.kind == SlabsKind::Kept) {
      lanes.resize(keptRows(), keptColumns());
      llvm::SmallVector<Lane, 3> in;
      for (mlir::Value o : op->getOperands())
        in.push_back(plain(keptOf(o)));
      const Lane made = pointwise(op, in);
      kept[result] = made;
    }
    storeKept(result);
  }

  void fullOperation(mlir::Operation *op, int level, size_t piece) {
    const mlir::Value result = op->getResult(0);
    const SlabsValue &v = p.values[result];
    k.location(op->getLoc());
    if (opName(op) == "reduce") {
      if (v.level == level + 1)
        addPiece(op, piece);
      return;
    }
    if (v.level != level || elementsOf(result) != p.full())
      return;
    if (v.kind == SlabsKind::Full)
      compute(op, piece);
    for (size_t i = 0; i < g.outputs.size(); ++i)
      if (g.outputs[i] == result)
        storeFull(result, outputs[i], piece);
  }

  // Operations on tiles of any number of dimensions; others take tiles of one.
  static bool takesViews(mlir::Operation *op) {
    static constexpr llvm::StringLiteral kNames[] = {"add", "subtract", "multiply", "maximum", "minimum", "compare"};
    return llvm::is_contained(kNames, opName(op)) && !isIntegerOperation(op) &&
           llvm::none_of(op->getOperands(), [](mlir::Value v) { return isWide(heldType(v)); });
  }

  void compute(mlir::Operation *op, size_t piece) {
    const mlir::Value result = op->getResult(0);
    llvm::SmallVector<Slab, 3> in;
    for (mlir::Value o : op->getOperands())
      in.push_back(fullOf(o, piece));
    const auto all = [&](Form form) {
      return llvm::all_of(in, [&](const Slab &s) { return s.lane.splat || s.form == form; });
    };
    Slab made;
    made.form = all(Form::PerInner) ? Form::PerInner : all(Form::PerDepth) ? Form::PerDepth : Form::Each;
    lanes.resize(pieces[piece].partitions, elements(made.form, piece));
    if (opName(op) == "divide" && isFloat(heldType(result)) && made.form == Form::Each && in[1].form != Form::Each &&
        !in[1].lane.splat && !in[0].lane.splat) { // of fewer elements
      const Slab inverse = inverseOf(op->getOperand(1), in[1], piece);
      made.lane.type = heldType(result);
      made.lane.tile = lanes.make(made.lane.type, lanes.nc);
      Lane above = seen(in[0], Form::Each, piece);
      if (above.tile.space == Space::Psum)
        above = plain(above);
      k.tensor(made.lane.tile, above.tile, seen(inverse, Form::Each, piece).tile, "multiply");
    } else {
      llvm::SmallVector<Lane, 3> operands;
      bool fromPsum = false; // one operand may come from there
      for (const Slab &s : in) {
        const Lane lane = seen(s, made.form, piece);
        const bool psum = !lane.splat && lane.tile.space == Space::Psum;
        operands.push_back(takesViews(op) && !(psum && fromPsum) ? lane : plain(lane));
        fromPsum |= psum;
      }
      made.lane = pointwise(op, operands);
    }
    values[{result, static_cast<int64_t>(piece)}] = made;
  }

  // What is made of numbers alone is one element of each partition, which is seen again.
  Lane pointwise(mlir::Operation *op, llvm::ArrayRef<Lane> in) {
    Lane made = lanes.pointwise(op, in);
    if (made.row && lanes.nc > 1)
      made.tile = made.tile.broadcast(0, lanes.nc);
    made.row = false;
    return made;
  }

  // 1 / v, of the elements that v has.
  Slab inverseOf(mlir::Value v, const Slab &slab, size_t piece) {
    const mlir::Value source = keptSource(v);
    Slab s;
    s.form = slab.form;
    if (!source) {
      s.lane.tile = lanes.make(DType::F32, elements(s.form, piece));
      k.reciprocal(s.lane.tile, slab.lane.tile);
      return s;
    }
    const auto [it, fresh] = inverses.try_emplace(source);
    if (fresh) {
      const Lane whole = keptOf(source);
      Lane inverse;
      inverse.tile = k.sbuf(DType::F32, keptRows(), {keptColumns()});
      k.reciprocal(inverse.tile, whole.tile);
      it->second = everywhere(inverse);
    }
    s.lane = it->second;
    s.lane.tile = s.lane.tile.rows(0, pieces[piece].partitions);
    return s;
  }

  // The kept value that a full one repeats; null if it is another one.
  mlir::Value keptSource(mlir::Value v) {
    while (p.values[v].kind == SlabsKind::Same)
      v = p.values[v].source;
    return p.values[v].kind == SlabsKind::Spread ? p.values[v].source : mlir::Value();
  }

  int64_t elements(Form form, size_t piece) const {
    return form == Form::PerInner ? width : form == Form::PerDepth ? pieces[piece].rows : pieces[piece].rows * width;
  }

  // As a tile of the form: elements that it lacks are seen again.
  Lane seen(const Slab &s, Form form, size_t piece) const {
    Lane lane = s.lane;
    if (lane.splat || s.form == form)
      return lane;
    if (s.form == Form::PerInner)
      lane.tile = lane.tile.inserted(0, pieces[piece].rows);
    else
      lane.tile = lane.tile.broadcast(static_cast<int>(lane.tile.dims.size()), width);
    return lane;
  }

  // With one dimension, and an element each.
  Lane plain(Lane lane) {
    if (lane.splat || (lane.tile.space == Space::Sbuf && lane.tile.dims.size() == 1 &&
                       (lane.tile.dims[0].stride == 1 || lane.tile.dims[0].count == 1)))
      return lane;
    const Tile t = k.sbuf(lane.type, lane.tile.partitions, {lane.tile.elements()});
    k.move(t, lane.tile);
    lane.tile = t;
    return lane;
  }

  Lane number(mlir::Value v) const {
    Lane lane;
    lane.splat = splatOf(v);
    lane.type = heldType(v);
    return lane;
  }

  Lane keptOf(mlir::Value v) {
    if (const auto it = kept.find(v); it != kept.end())
      return it->second;
    const SlabsValue &known = p.values[v];
    if (known.kind == SlabsKind::Splat)
      return number(v);
    if (known.kind == SlabsKind::Same)
      return keptOf(known.source);
    Lane lane;
    lane.type = heldType(v);
    if (p.parts) {
      lane.tile = k.sbuf(lane.type, width, {1});
      Tile from = sourceOf(v, known);
      from.offset += boxesOf(known.outer, outer, 1, 1)[0].offset;
      load(k, lane.tile, from, {{known.alongInner, width}}, {}, 0, 0);
    } else {
      lane.tile = loadNarrow(v, known, keptRows(), {{known.alongInner, width}});
    }
    kept[v] = lane;
    return lane;
  }

  // A kept value for every partition; in PSUM, where engines read it besides another operand without loss.
  Lane spreadOf(mlir::Value v) {
    if (const auto it = spread.find(v); it != spread.end())
      return it->second;
    const Lane lane = everywhere(keptOf(v));
    spread[v] = lane;
    return lane;
  }
  Lane everywhere(Lane lane) {
    if (lane.splat)
      return lane;
    const bool psum = p.fewSpreads && width <= kBank && pieces[0].rows > 1 && lane.type == DType::F32;
    if (p.parts) {
      Tile from = plain(lane).tile;
      if (from.dtype != DType::F32) {
        const Tile wider = k.sbuf(DType::F32, width, {1});
        k.move(wider, from);
        from = wider;
      }
      const Tile back = k.psum(pieces[0].partitions, {width});
      if (exact) {
        k.transpose(back, from.broadcast(0, back.partitions));
      } else { // a row of them, and one product each
        const Tile row = k.sbuf(DType::F32, 1, {width});
        transposeTile(k, row, from);
        const int64_t rows = lanes.nr;
        lanes.resize(1, lanes.nc);
        k.matmul(back, lanes.constant(DType::F32, 1, back.partitions), row, false);
        lanes.resize(rows, lanes.nc);
      }
      lane.tile = back;
      if (!psum) {
        lane.tile = k.sbuf(lane.type, pieces[0].partitions, {width});
        k.move(lane.tile, back);
      }
    } else if (psum && lane.tile.space == Space::Sbuf) {
      const Tile t = k.psum(lane.tile.partitions, {width});
      k.move(t, lane.tile);
      lane.tile = t;
    }
    return lane;
  }

  Slab fullOf(mlir::Value v, size_t piece) {
    if (const auto it = values.find({v, static_cast<int64_t>(piece)}); it != values.end())
      return it->second;
    const SlabsValue &known = p.values[v];
    Slab s;
    if (known.kind == SlabsKind::Splat) {
      s.lane = number(v);
      return s;
    }
    if (known.kind == SlabsKind::Same)
      return fullOf(known.source, piece);
    if (known.kind == SlabsKind::Spread) {
      s.lane = spreadOf(known.source);
      s.form = Form::PerInner;
      if (!s.lane.splat)
        s.lane.tile = s.lane.tile.rows(0, pieces[piece].partitions);
      return s;
    }
    const Piece &at = pieces[piece];
    s.lane.type = heldType(v);
    if (known.alongDepth == 0) {
      s.form = Form::PerInner;
      s.lane.tile = loadNarrow(v, known, at.partitions, {{known.alongInner, width}});
    } else if (known.alongInner == 0) {
      s.form = Form::PerDepth;
      s.lane.tile = k.sbuf(s.lane.type, at.partitions, {at.rows});
      transferOf(v, known, at, {{known.alongDepth, at.rows}}, s.lane.tile);
    } else {
      s.lane.tile = k.sbuf(s.lane.type, at.partitions, {at.rows * width});
      transferOf(v, known, at, {{known.alongDepth, at.rows}, {known.alongInner, width}}, s.lane.tile);
    }
    values[{v, static_cast<int64_t>(piece)}] = s;
    return s;
  }

  Tile sourceOf(mlir::Value v, const SlabsValue &known) {
    const auto at = std::find(g.inputs.begin(), g.inputs.end(), known.source);
    Tile from =
        at != g.inputs.end() ? inputs[static_cast<size_t>(at - g.inputs.begin())] : counts.of(k, heldType(v), known.view);
    from.offset += inner * known.alongInner;
    return from;
  }

  // Which rows of partitions a view has, and from which on this tile reads them.
  Dims partitionsOf(const SlabsValue &v, const Piece &piece, Tile &hbm, int64_t &first) const {
    hbm.offset += piece.first * v.alongDepth;
    if (p.parts) {
      hbm.offset += boxesOf(v.outer, outer, 1, 1)[0].offset;
      first = 0;
      return {{piece.rows * v.alongDepth, piece.partitions}};
    }
    Dims rows = merged(v.outer);
    if (groups > 1)
      rows.push_back({width * v.alongInner, groups});
    if (rows.empty())
      rows.push_back({0, 1});
    first = outer * groups;
    return rows;
  }

  void transferOf(mlir::Value v, const SlabsValue &known, const Piece &piece, const Dims &columns, const Tile &to) {
    Tile from = sourceOf(v, known);
    int64_t first;
    const Dims rows = partitionsOf(known, piece, from, first);
    load(k, to, from, rows, columns, first, 0);
  }

  // What is the same for the whole depth: a row, seen by all partitions, or one number.
  Tile loadNarrow(mlir::Value v, const SlabsValue &known, int64_t partitions, const Dims &columns) {
    const bool one = columns[0].stride == 0;
    const Tile to = k.sbuf(heldType(v), partitions, {one ? 1 : width});
    Tile from = sourceOf(v, known);
    const Piece all{0, partitions, 0};
    int64_t first;
    const Dims rows = partitionsOf(known, all, from, first);
    load(k, to, from, rows, one ? Dims{} : columns, first, 0);
    return one ? to.broadcast(0, width) : to;
  }

  SlabsValue laidOut(bool full) const { // a tensor in HBM
    SlabsValue v;
    v.alongInner = 1;
    v.alongDepth = full ? p.inner : 0;
    v.outer = merged({{p.inner * (full ? p.depth : 1), p.outer}});
    return v;
  }

  void storeFull(mlir::Value v, Tile to, size_t piece) {
    const Piece &at = pieces[piece];
    const SlabsValue where = laidOut(true);
    int64_t first;
    to.offset += inner;
    const Dims rows = partitionsOf(where, at, to, first);
    Lane lane = seen(fullOf(v, piece), Form::Each, piece);
    lanes.resize(at.partitions, at.rows * width);
    const Tile tile = lane.splat ? lanes.whole(lane) : plain(lane).tile;
    store(k, to, tile, rows, {{p.inner, at.rows}, {1, width}}, first, 0);
  }

  void storeKept(mlir::Value v) {
    for (size_t i = 0; i < g.outputs.size(); ++i)
      if (g.outputs[i] == v) {
        Tile to = outputs[i];
        to.offset += inner;
        lanes.resize(keptRows(), keptColumns());
        const Tile tile = lanes.whole(plain(keptOf(v)));
        if (p.parts) {
          to.offset += outer * p.inner;
          store(k, to, tile, {{1, width}}, {}, 0, 0);
          continue;
        }
        const Piece all{0, keptRows(), 0};
        int64_t first;
        const Dims rows = partitionsOf(laidOut(false), all, to, first);
        store(k, to, tile, rows, {{1, width}}, first, 0);
      }
  }

  void addPiece(mlir::Operation *op, size_t piece) {
    std::string why;
    const Reduction r = *reductionOf(op, why);
    const mlir::Value result = op->getResult(0);
    const Piece &at = pieces[piece];
    Lane lane = seen(fullOf(op->getOperand(0), piece), Form::Each, piece);
    lanes.resize(at.partitions, at.rows * width);
    Tile data = lane.splat ? lanes.whole(lane) : plain(lane).tile;
    if (p.parts && r.op == "add")
      return addRows(result, data, at);
    const Tile part = p.parts ? mostPerColumn(k, data, at.rows, width, r.op) : foldRows(k, data, at.rows, width, r.op);
    const auto [sum, first] = sums.try_emplace(result, part);
    if (!first)
      k.tensor(sum->second.rows(0, part.partitions), sum->second.rows(0, part.partitions), part, r.op);
  }

  // Sums over all partitions: a product with ones, from which every inner index has a partition.
  void addRows(mlir::Value result, Tile data, const Piece &at) {
    if (sizeOf(data.dtype) == 1) {
      const Tile wider = lanes.make(DType::BF16, lanes.nc);
      k.move(wider, data);
      data = wider;
    }
    const auto [sum, first] = sums.try_emplace(result);
    if (first)
      sum->second = k.psum(keptRows(), {keptColumns()});
    for (int64_t row = 0; row < at.rows; ++row) {
      const Tile x = data.columns(row * width, width);
      k.matmul(sum->second, x, lanes.constant(data.dtype, 1, 1), !first || row > 0);
    }
  }

  void finish(mlir::Operation *op) {
    k.location(op->getLoc());
    std::string why;
    const Reduction r = *reductionOf(op, why);
    const mlir::Value result = op->getResult(0);
    const Tile total = sums[result];
    Lane lane;
    lane.type = r.type;
    lane.tile = total;
    if (!r.identity || r.type != DType::F32) {
      lane.tile = k.sbuf(r.type, keptRows(), {keptColumns()});
      if (r.identity)
        k.move(lane.tile, total);
      else
        k.scalar(lane.tile, total, r.op, r.start);
    }
    kept[result] = lane;
    storeKept(result);
  }
};

} // namespace

void writeSlabs(KernelBuilder &k, const Group &g, SlabsPlan plan, std::span<const Tile> inputs,
                std::span<const Tile> outputs) {
  SlabsKernel(k, g, std::move(plan), inputs, outputs).run();
}

} // namespace glia::emit
