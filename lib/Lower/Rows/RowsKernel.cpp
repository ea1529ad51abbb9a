#include "RowsKernel.h"

#include <algorithm>
#include <utility>

namespace glia::emit {

void RowsKernel::run() {
  if (p.elements == 0)
    return;
  alone = true;
  if (p.rows)
    return pass(0, p.rows, p.columns);
  // Any split: all partitions, as few tiles as fit; what is left over is a row of its own.
  const int64_t n = p.elements, per = std::max((n + 127) / 128, std::min<int64_t>(n, 64)),
                tiles = (per + p.chunk - 1) / p.chunk;
  const int64_t columns = (per + tiles - 1) / tiles, rows = n / columns;
  if (rows)
    pass(0, rows, columns);
  if (const int64_t tail = n - rows * columns)
    pass(rows * columns, 1, tail);
}

void RowsKernel::run(mlir::Value input, const Tile &tile, int64_t first) {
  here = input;
  hereTile = tile;
  block(first, tile.partitions);
}

Tile RowsKernel::make(mlir::Value v, int64_t first, int64_t n) {
  block(first, n);
  return lanes.whole(valueOf(v));
}

void RowsKernel::block(int64_t first, int64_t n) {
  base = column = 0;
  rows = p.rows;
  columns = p.columns;
  row = first;
  values.clear();
  lanes.resize(n, columns);
  for (mlir::Operation *op : g.ops)
    if (p.values.contains(op->getResult(0)))
      visit(op);
}

void RowsKernel::pass(int64_t first, int64_t nr, int64_t nc) {
  base = first;
  rows = nr;
  columns = nc;
  if (!p.after.empty())
    return longRows();
  for (column = 0; column < columns; column += p.chunk) {
    residents.clear();
    for (row = 0; row < rows; row += 128) {
      values.clear();
      lanes.resize(std::min<int64_t>(128, rows - row), std::min(p.chunk, columns - column));
      for (mlir::Operation *op : g.ops)
        visit(op);
    }
  }
  for (size_t i = 0; i < g.outputs.size(); ++i)
    if (const auto it = sums.find(g.outputs[i]); it != sums.end())
      storeSum(it->second, outputs[i]);
}

// Row after row, sweep after sweep, piece after piece; behind each sweep what needs whole rows.
void RowsKernel::longRows() {
  const int64_t all = rows, pieces = (columns / p.fold + p.chunk - 1) / p.chunk;
  for (row = 0; row < all; row += 128) {
    Lanes spread, single; // of values that rows have one of: on all partitions of a row, on one
    std::vector<Lanes> kept(static_cast<size_t>(pieces));
    values.clear();
    for (int64_t sweep = 0; sweep < p.sweeps; ++sweep) {
      fold = p.fold;
      rows = all * fold;
      columns = p.columns / fold;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        column = piece * p.chunk;
        sweepPiece(sweep, kept[static_cast<size_t>(piece)]);
      }
      forgetPieces();
      column = 0;
      if (fold > 1) { // rows lie on one partition each again
        fold = 1;
        rows = all;
        columns = p.columns;
        spread = std::exchange(values, std::move(single));
        residents.clear();
        lanes.resize(rows, p.chunk);
      }
      for (mlir::Operation *op : g.ops)
        if (isReduction(op) && p.level.lookup(op->getResult(0)) == sweep + 1)
          values[op->getResult(0)] = reduced(op);
      for (mlir::Operation *op : g.ops)
        if (const mlir::Value v = op->getResult(0);
            p.after.contains(v) ? p.level.lookup(v) == sweep + 1 : p.fold > 1 && sweep == 0 && isOfRows(v))
          visit(op);
      if (p.fold > 1) {
        single = std::exchange(values, std::move(spread));
        spreadRows(single);
      }
    }
  }
}

// Operations of this sweep on one piece. `kept` is what the sweeps have of it on chip.
void RowsKernel::sweepPiece(int64_t sweep, Lanes &kept) {
  residents.clear();
  forgetPieces();
  for (const auto &[v, lane] : kept)
    values[v] = lane;
  lanes.resize(std::min<int64_t>(128, rows - row), std::min(p.chunk, columns - column));
  for (mlir::Operation *op : g.ops)
    if (const int64_t level = p.level.lookup(op->getResult(0)); isReduction(op) && level == sweep + 1)
      addPiece(op);
    else if (!p.after.contains(op->getResult(0)) && level == sweep)
      visit(op);
  kept.clear();
  for (const auto &[v, last] : p.kept)
    if (const auto it = values.find(v); last > sweep && it != values.end())
      kept[v] = it->second;
}

// Of the piece before.
void RowsKernel::forgetPieces() {
  llvm::SmallVector<mlir::Value> old;
  for (const auto &[v, lane] : values)
    if (!lane.row && !lane.splat)
      old.push_back(v);
  for (mlir::Value v : old)
    values.erase(v);
}

bool RowsKernel::isOfRows(mlir::Value v) { return !isFull(v) && p.values[v].kind != RowsKind::Joined; }

// What the next sweep needs on all partitions of a row.
void RowsKernel::spreadRows(const Lanes &single) {
  for (mlir::Operation *op : g.ops) {
    mlir::Value v = op->getResult(0);
    if (!isFull(v) || p.values[v].kind != RowsKind::RowSpread)
      continue;
    while (p.values[v].kind == RowsKind::RowSpread)
      v = p.values[v].source;
    const auto it = single.find(v);
    if (isFull(v) || it == single.end() || values.contains(v))
      continue;
    Lane lane = it->second;
    if (!lane.splat) {
      lane.tile = k.sbuf(lane.type, p.rows * p.fold, {1});
      k.copy(lane.tile, it->second.tile.broadcast(0, p.fold));
    }
    values[v] = lane;
  }
}

bool RowsKernel::isReduction(mlir::Operation *op) {
  return opName(op) == "reduce" && p.values[op->getResult(0)].kind == RowsKind::Computed;
}

// The reduction of this piece joins those before it, in fp32.
void RowsKernel::addPiece(mlir::Operation *op) {
  std::string why;
  Reduction part = *reductionOf(op, why);
  part.identity = true;
  part.type = DType::F32;
  k.location(op->getLoc());
  Tile &sum = partials[op->getResult(0)];
  const Tile piece = lanes.reduce(part, valueOf(op->getOperand(0))).tile;
  if (column == 0) {
    sum = piece;
  } else {
    const Tile next = lanes.make(DType::F32, 1);
    k.tensor(next, sum, piece, part.op);
    sum = next;
  }
}

// That of whole rows, of what each of their partitions has found.
Lane RowsKernel::reduced(mlir::Operation *op) {
  std::string why;
  const Reduction r = *reductionOf(op, why);
  k.location(op->getLoc());
  Tile sum = partials[op->getResult(0)];
  if (p.fold > 1) {
    const Tile beside = lanes.make(DType::F32, p.fold);
    k.copy(beside, sum);
    sum = lanes.make(DType::F32, 1);
    k.reduce(sum, beside, r.op);
  }
  Lane lane;
  lane.row = true;
  lane.type = r.type;
  lane.tile = sum;
  if (!r.identity || r.type != DType::F32) {
    lane.tile = lanes.make(r.type, 1);
    if (r.identity)
      k.move(lane.tile, sum);
    else
      k.scalar(lane.tile, sum, r.op, r.start);
  }
  return lane;
}

void RowsKernel::visit(mlir::Operation *op) {
  k.location(op->getLoc());
  const mlir::Value result = op->getResult(0);
  const RowsValue &v = p.values[result];
  if (v.kind == RowsKind::Sum)
    return addRows(result, valueOf(op->getOperand(0)));
  if (v.kind == RowsKind::Joined)
    return storeParts(op);
  const bool known = p.after.contains(result) && isReduction(op);
  if (!known && (v.kind == RowsKind::Computed || (v.kind == RowsKind::Uniform && !v.source))) {
    if (opName(op) == "reduce") {
      std::string why;
      values[result] = lanes.reduce(*reductionOf(op, why), valueOf(op->getOperand(0)));
    } else {
      llvm::SmallVector<Lane, 3> in;
      for (mlir::Value o : op->getOperands())
        in.push_back(valueOf(o));
      const Lane made = lanes.pointwise(op, in);
      values[result] = made;
    }
  }
  for (size_t i = 0; i < g.outputs.size(); ++i)
    if (g.outputs[i] == result)
      storeValue(result, outputs[i]);
}

bool RowsKernel::isFull(mlir::Value v) const { return p.rows == 0 || elementsOf(v) == p.elements; }

Lane RowsKernel::valueOf(mlir::Value v) {
  if (const auto it = values.find(v); it != values.end())
    return it->second;
  if (const auto it = residents.find(v); it != residents.end()) {
    Lane lane = it->second;
    lane.tile = lane.tile.rows(0, lanes.nr);
    return lane;
  }
  const RowsValue &known = p.values[v];
  if (known.kind == RowsKind::Splat) {
    Lane lane;
    lane.splat = splatOf(v);
    lane.type = heldType(v);
    return lane;
  }
  if (known.kind == RowsKind::RowSpread || known.kind == RowsKind::Uniform)
    return valueOf(known.source);
  if (here && known.source == here) {
    Lane lane;
    lane.type = heldType(v);
    lane.tile = hereTile;
    return lane;
  }
  return fetch(v, known);
}

// Columns after which the tile has the same ones again, so that they need to come only once; 0: there are none, or somebody looks for a part of them.
int64_t RowsKernel::periodOf(const Dims &columns) const {
  const bool inParts = llvm::any_of(g.ops, [](mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    return !isPointwise(name) && name != "broadcast_in_dim" && name != "slice" && name != "concatenate" && !isAlias(op);
  });
  if (inParts || columns.size() < 2 || columns.front().stride != 0)
    return 0;
  const int64_t period = countOf(columns) / columns.front().count;
  return column % period == 0 && lanes.nc % period == 0 && lanes.nc > period ? period : 0;
}

// Reads what the current tile needs of a view.
Lane RowsKernel::fetch(mlir::Value v, const RowsValue &view) {
  Dims r, c;
  const auto at = std::find(g.inputs.begin(), g.inputs.end(), view.source);
  Tile from =
      at != g.inputs.end() ? inputs[static_cast<size_t>(at - g.inputs.begin())] : counts.of(k, heldType(v), view.view);
  const Dims m = merged(view.view);
  from.offset += view.offset;
  if (p.rows == 0) {
    const int64_t stride = m.empty() ? 0 : m[0].stride;
    from.offset += base * stride;
    r = merged({{columns * stride, rows}});
    c = merged({{stride, columns}});
  } else if (elementsOf(v) == 1) {
    // one number for all
  } else if (isFull(v)) {
    splitAt(view.view, columns, r, c);
  } else {
    r = m;
    if (fold > 1)
      r.push_back({0, fold});
  }
  if (r.empty())
    r = {{0, rows}};
  Lane lane;
  lane.type = heldType(v);
  lane.row = isStill(c);
  const bool stays = isStill(r);
  if (const int64_t period = stays || !isFull(v) ? 0 : periodOf(c)) {
    lane.tile = k.sbuf(lane.type, lanes.nr, {period});
    load(k, lane.tile, from, r, Dims(c.begin() + 1, c.end()), row, 0);
    lane.tile = lane.tile.inserted(0, lanes.nc / period);
    values[v] = lane;
    return lane;
  }
  lane.tile = k.sbuf(lane.type, stays ? std::min<int64_t>(128, rows) : lanes.nr, {lane.row ? 1 : lanes.nc});
  load(k, lane.tile, from, r, lane.row ? Dims{} : c, stays ? 0 : row, lane.row ? 0 : column);
  if (stays && !lane.row && isBestInPsum(v)) {
    const Tile there = k.psum(lane.tile.partitions, {lanes.nc});
    k.move(there, lane.tile);
    lane.tile = there;
  }
  (stays ? residents : values)[v] = lane;
  lane.tile = lane.tile.rows(0, lanes.nr);
  return lane;
}

// Vector reads a tensor besides another one without loss if it comes from PSUM: of what many blocks of rows meet, the first one that is met
// only there. GpSimd does not reach it, so others stay for it to share.
bool RowsKernel::isBestInPsum(mlir::Value v) {
  constexpr int64_t kManyBlocks = 8;
  static constexpr llvm::StringLiteral kMet[] = {"add", "subtract", "multiply"};
  if (inPsum && inPsum != v)
    return false;
  if (!alone || heldType(v) != DType::F32 || rows < kManyBlocks * 128 || lanes.nc * 4 > k.target().psumBytes ||
      llvm::any_of(g.ops, [&](mlir::Operation *op) { return p.values[op->getResult(0)].kind == RowsKind::Sum; }))
    return false;
  for (mlir::Operation *user : v.getUsers())
    if (g.contains(user) && (!llvm::is_contained(kMet, opName(user)) || user->getOperand(0) == user->getOperand(1) ||
                             heldType(user->getResult(0)) != DType::F32 || !isFull(user->getResult(0))))
      return false;
  inPsum = v;
  return true;
}

void RowsKernel::storeValue(mlir::Value v, Tile to) {
  if (fold > 1 && !isFull(v))
    return; // when rows are whole again
  const Lane lane = valueOf(v);
  if (const RowsKind kind = p.values[v].kind;
      (kind == RowsKind::Uniform || kind == RowsKind::Splat) && elementsOf(v) != p.elements)
    return storeUniform(lane, to, elementsOf(v));
  if (!isFull(v)) {
    if (column == 0) {
      lanes.resize(lanes.nr, 1);
      store(k, to, lanes.whole(lane), {{1, rows}}, {}, row, 0);
      lanes.resize(lanes.nr, std::min(p.chunk, columns - column));
    }
    return;
  }
  to.offset += base;
  store(k, to, lanes.whole(lane), {{columns, rows}}, {{1, columns}}, row, column);
}

// Each operand where it lies in the whole.
void RowsKernel::storeParts(mlir::Operation *op) {
  const auto at = std::find(g.outputs.begin(), g.outputs.end(), op->getResult(0));
  const Tile &whole = outputs[static_cast<size_t>(at - g.outputs.begin())];
  for (const auto &[v, part] : llvm::zip(op->getOperands(), p.joined[op->getResult(0)])) {
    Tile to = whole;
    to.offset += part.offset + base;
    Dims r{{columns, rows}}, c{{1, columns}};
    if (p.rows)
      splitAt(part.view, columns, r, c);
    store(k, to, lanes.whole(valueOf(v)), r, c, row, column);
  }
}

// The same everywhere, and of a size of its own: once.
void RowsKernel::storeUniform(const Lane &lane, Tile to, int64_t n) {
  constexpr int64_t kPiece = 4096;
  if (base || row || column)
    return;
  to.dims = {{1, n}};
  const int64_t rowsHere = lanes.nr, columnsHere = lanes.nc;
  for (int64_t c = 0; c < n; c += kPiece) {
    lanes.resize(1, std::min(kPiece, n - c));
    Lane one = lane;
    if (!one.splat)
      one.tile = one.tile.rows(0, 1);
    k.copy(to.part(0, c, lanes.nc), lanes.whole(one));
  }
  lanes.resize(rowsHere, columnsHere);
}

// Sums over rows: a row of ones times the tile, added up in PSUM.
void RowsKernel::addRows(mlir::Value result, const Lane &v) {
  const DType t = sizeOf(v.type) == 1 ? DType::BF16 : v.type;
  Tile data = lanes.whole(v);
  if (t != v.type) {
    const Tile wider = lanes.make(t, lanes.nc);
    k.move(wider, data);
    data = wider;
  }
  std::vector<Tile> &sum = sums[result];
  for (int64_t c = 0; c < columns; c += kSumColumns) {
    const int64_t n = std::min(kSumColumns, columns - c);
    if (row == 0)
      sum.push_back(k.psum(1, {n}));
    k.matmul(sum[static_cast<size_t>(c / kSumColumns)], lanes.constant(t, 1, 1), data.columns(c, n), row > 0);
  }
}

void RowsKernel::storeSum(const std::vector<Tile> &sum, Tile to) {
  const Tile t = k.sbuf(to.dtype, 1, {columns});
  for (size_t i = 0; i < sum.size(); ++i)
    k.move(t.columns(static_cast<int64_t>(i) * kSumColumns, sum[i].elements()), sum[i]);
  to.dims = {{1, columns}};
  k.copy(to, t);
}

} // namespace glia::emit
