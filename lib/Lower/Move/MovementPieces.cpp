#include "MovementPieces.h"
#include "Lower/Rows/RowsView.h"
#include "glia/Graph/Graph.h"

#include <algorithm>
#include <numeric>

namespace glia::emit {

namespace {

using Known = llvm::DenseMap<mlir::Value, Pieces>;

int64_t widthOf(mlir::Value v) { return sizeOf(heldType(v)); }

int64_t ceilDiv(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

Piece wholeOf(mlir::Value v) {
  Piece p;
  p.source = v;
  for (const Tile::Dim &d : contiguous(shapeOf(v)))
    p.axes.push_back({0, 1, d.count, d.stride});
  return p;
}

Piece numberOf(uint32_t bits, const std::vector<int64_t> &shape) {
  Piece p;
  p.bits = bits;
  for (int64_t n : shape)
    p.axes.push_back({0, 1, n, 0});
  return p;
}

bool coversAll(const Piece &p, const std::vector<int64_t> &shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (!p.axes[d].covers(shape[d]))
      return false;
  return true;
}

Pieces sliced(const Pieces &in, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit, llvm::ArrayRef<int64_t> step) {
  Pieces out;
  for (const Piece &p : in) {
    std::optional<Piece> rest = p;
    for (size_t d = 0; d < start.size() && rest; ++d)
      rest = restricted(std::move(*rest), d, start[d], step[d], ceilDiv(limit[d] - start[d], step[d]));
    if (rest)
      out.push_back(std::move(*rest));
  }
  return out;
}

Pieces permuted(const Pieces &in, llvm::ArrayRef<int64_t> order) {
  Pieces out = in;
  for (size_t i = 0; i < in.size(); ++i)
    for (size_t d = 0; d < order.size(); ++d)
      out[i].axes[d] = in[i].axes[static_cast<size_t>(order[d])];
  return out;
}

Pieces reversed(Pieces in, const std::vector<int64_t> &shape, llvm::ArrayRef<int64_t> dims) {
  for (Piece &p : in)
    for (int64_t d : dims) {
      PieceAxis &a = p.axes[static_cast<size_t>(d)];
      a.from = shape[static_cast<size_t>(d)] - 1 - (a.from + a.step * (a.count - 1));
      p.offset += (a.count - 1) * a.stride;
      a.stride = -a.stride;
    }
  return in;
}

// Index i goes to low + i * every; what leaves [0, n) is cut off.
std::optional<Piece> placed(Piece p, size_t dim, int64_t low, int64_t every, int64_t n) {
  PieceAxis &a = p.axes[dim];
  a.from = low + a.from * every;
  a.step = a.count == 1 ? 1 : a.step * every;
  return restricted(std::move(p), dim, 0, 1, n);
}

Pieces padded(const Pieces &in, const Piece &value, graph::PadOp op, const std::vector<int64_t> &shape) {
  Pieces out{value};
  for (const Piece &p : in) {
    std::optional<Piece> rest = p;
    for (size_t d = 0; d < shape.size() && rest; ++d)
      rest = placed(std::move(*rest), d, op.getEdgePaddingLow()[d], op.getInteriorPadding()[d] + 1, shape[d]);
    if (rest)
      out.push_back(std::move(*rest));
  }
  return out;
}

// Operand dimension i becomes dims[i]; sizes of 1 are repeated, other dimensions are new.
Pieces spread(const Pieces &in, const std::vector<int64_t> &from, const std::vector<int64_t> &to,
              llvm::ArrayRef<int64_t> dims) {
  Pieces out;
  for (Piece p : in) {
    std::vector<PieceAxis> axes;
    for (int64_t n : to)
      axes.push_back({0, 1, n, 0});
    for (size_t d = 0; d < from.size(); ++d)
      if (const size_t at = static_cast<size_t>(dims[d]); from[d] != 1 || to[at] == 1)
        axes[at] = p.axes[d];
    p.axes = std::move(axes);
    out.push_back(std::move(p));
  }
  return out;
}

// The same elements in another shape: one piece, whose strides allow it.
std::optional<Pieces> reshaped(const Pieces &in, const std::vector<int64_t> &from, const std::vector<int64_t> &to) {
  if (in.empty())
    return in;
  if (in.size() != 1 || !coversAll(in[0], from))
    return std::nullopt;
  Piece p = in[0];
  Tile t;
  for (const PieceAxis &a : p.axes)
    t.dims.push_back({a.stride, a.count});
  try {
    t = t.reshaped(to);
  } catch (const std::logic_error &) {
    return std::nullopt;
  }
  p.axes.clear();
  for (const Tile::Dim &d : t.dims)
    p.axes.push_back({0, 1, d.count, d.stride});
  return Pieces{std::move(p)};
}

// Elements of another size: the last dimension holds the parts of the wider ones.
std::optional<Pieces> recast(const Pieces &in, int64_t from, int64_t to) {
  Pieces out;
  for (Piece p : in) {
    if (from == to) {
      out.push_back(std::move(p));
    } else if (from > to) {
      const int64_t parts = from / to;
      p.offset *= parts;
      for (PieceAxis &a : p.axes)
        a.stride *= parts;
      for (PieceShift &s : p.shifts)
        s.scale *= parts;
      for (int64_t i = 0; i < (p.bits ? parts : 1); ++i) {
        Piece part = p;
        if (p.bits)
          part.bits = static_cast<uint32_t>((*p.bits >> (8 * to * i)) & ((uint64_t{1} << (8 * to)) - 1));
        part.axes.push_back(p.bits ? PieceAxis{i, 1, 1, 0} : PieceAxis{0, 1, parts, 1});
        out.push_back(std::move(part));
      }
    } else {
      const int64_t parts = to / from;
      const PieceAxis last = p.axes.back();
      p.axes.pop_back();
      if (p.bits || !last.covers(parts) || last.stride != 1 || p.offset % parts)
        return std::nullopt;
      p.offset /= parts;
      for (PieceAxis &a : p.axes) {
        if (a.stride % parts && a.count > 1)
          return std::nullopt;
        a.stride /= parts;
      }
      for (PieceShift &s : p.shifts) {
        if (s.scale % parts)
          return std::nullopt;
        s.scale /= parts;
      }
      out.push_back(std::move(p));
    }
  }
  return out;
}

std::optional<Pieces> dynamicSlice(graph::DynamicSliceOp op, const Pieces &in) {
  const std::vector<int64_t> shape = shapeOf(op.getOperand());
  const std::vector<int64_t> sizes(op.getSliceSizes().begin(), op.getSliceSizes().end());
  if (elementsOf(op.getResult()) == 0)
    return Pieces{};
  if (in.size() != 1 || !coversAll(in[0], shape))
    return std::nullopt;
  Piece p = in[0];
  std::vector<int64_t> scales;
  for (size_t d = 0; d < shape.size(); ++d) {
    scales.push_back(p.axes[d].stride);
    p.axes[d].count = sizes[d];
  }
  const std::vector<PieceShift> more = shiftsOf(op.getStartIndices(), shape, sizes, scales, p.offset);
  if (!p.bits)
    p.shifts.insert(p.shifts.end(), more.begin(), more.end());
  return Pieces{std::move(p)};
}

// Where an update whose place is known begins, per dimension.
std::optional<std::vector<int64_t>> knownStarts(graph::DynamicUpdateSliceOp op) {
  const std::vector<int64_t> shape = shapeOf(op.getOperand()), sizes = shapeOf(op.getUpdate());
  std::vector<int64_t> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t at = 0;
    if (!shiftsOf(op.getStartIndices().slice(static_cast<unsigned>(d), 1), {shape[d]}, {sizes[d]}, {1}, at).empty())
      return std::nullopt;
    out.push_back(at);
  }
  return out;
}

std::optional<Pieces> resultOf(mlir::Operation *op, const Known &known) {
  const mlir::Value result = op->getResult(0);
  const std::vector<int64_t> shape = shapeOf(result);
  if (const std::optional<uint32_t> bits = splatBits(result))
    return Pieces{numberOf(*bits, shape)};
  if (isAlias(op))
    return reshaped(piecesOf(aliasOf(result), known), shapeOf(aliasOf(result)), shape);
  if (elementsOf(result) == 0)
    return Pieces{};
  const auto in = [&](unsigned i) { return piecesOf(op->getOperand(i), known); };
  if (auto x = llvm::dyn_cast<graph::TransposeOp>(op))
    return permuted(in(0), x.getPermutation());
  if (auto x = llvm::dyn_cast<graph::SliceOp>(op))
    return sliced(in(0), x.getStartIndices(), x.getLimitIndices(), x.getStrides());
  if (auto x = llvm::dyn_cast<graph::ReverseOp>(op))
    return reversed(in(0), shape, x.getDimensions());
  if (auto x = llvm::dyn_cast<graph::PadOp>(op))
    return padded(in(0), spread(in(1), {}, shape, {}).at(0), x, shape);
  if (auto x = llvm::dyn_cast<graph::BroadcastInDimOp>(op))
    return spread(in(0), shapeOf(op->getOperand(0)), shape, x.getBroadcastDimensions());
  if (llvm::isa<graph::BroadcastOp>(op)) {
    const std::vector<int64_t> from = shapeOf(op->getOperand(0));
    std::vector<int64_t> dims(from.size());
    std::iota(dims.begin(), dims.end(), static_cast<int64_t>(shape.size() - from.size()));
    return spread(in(0), from, shape, dims);
  }
  if (auto x = llvm::dyn_cast<graph::ConcatenateOp>(op)) {
    Pieces out;
    const size_t dim = static_cast<size_t>(x.getDimension());
    int64_t at = 0;
    for (mlir::Value v : op->getOperands()) {
      for (Piece p : piecesOf(v, known)) {
        p.axes[dim].from += at;
        out.push_back(std::move(p));
      }
      at += shapeOf(v)[dim];
    }
    return out;
  }
  if (llvm::isa<graph::BitcastConvertOp>(op))
    return recast(in(0), widthOf(op->getOperand(0)), widthOf(result));
  if (auto x = llvm::dyn_cast<graph::DynamicSliceOp>(op))
    return dynamicSlice(x, in(0));
  if (auto x = llvm::dyn_cast<graph::DynamicUpdateSliceOp>(op)) {
    const std::vector<int64_t> at = *knownStarts(x);
    Pieces out = in(0);
    for (Piece p : in(1)) {
      for (size_t d = 0; d < at.size(); ++d)
        p.axes[d].from += at[d];
      out.push_back(std::move(p));
    }
    return out;
  }
  return std::nullopt;
}

} // namespace

bool updatesAtRunTime(mlir::Operation *op) {
  auto update = llvm::dyn_cast<graph::DynamicUpdateSliceOp>(op);
  return update && !knownStarts(update);
}

std::optional<Piece> restricted(Piece p, size_t dim, int64_t lo, int64_t step, int64_t count) {
  PieceAxis &a = p.axes[dim];
  // The first n with lo + step * n = from + a.step * m, both not negative.
  int64_t n = std::max<int64_t>(0, ceilDiv(a.from - lo, step));
  const int64_t period = a.step / std::gcd(a.step, step);
  for (int64_t tries = 0; tries < period && n < count && (lo + step * n - a.from) % a.step != 0; ++tries)
    ++n;
  if (n >= count || (lo + step * n - a.from) % a.step != 0)
    return std::nullopt;
  const int64_t m = (lo + step * n - a.from) / a.step;
  if (m >= a.count)
    return std::nullopt;
  const int64_t advance = step * period / a.step;
  p.offset += m * a.stride;
  const int64_t both = std::min((count - 1 - n) / period, (a.count - 1 - m) / advance) + 1;
  a = {n, both == 1 ? 1 : period, both, a.stride * advance};
  return p;
}

std::optional<uint32_t> splatBits(mlir::Value v) {
  if (!splatOf(v))
    return std::nullopt;
  mlir::Operation *op = v.getDefiningOp();
  while (op && opName(op) != "constant")
    op = op->getOperand(0).getDefiningOp();
  if (!op || !machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()))
    return std::nullopt;
  auto value = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
  const auto one = mlir::RankedTensorType::get({1}, value.getElementType());
  const std::vector<uint8_t> bytes =
      graph::constantBytes(mlir::DenseElementsAttr::get(one, *value.value_begin<mlir::Attribute>()));
  uint32_t bits = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    bits = bits << 8 | bytes[i];
  return bits;
}

Pieces piecesOf(mlir::Value v, const Known &known) {
  if (const auto it = known.find(v); it != known.end())
    return it->second;
  if (elementsOf(v) == 0)
    return {};
  if (const std::optional<uint32_t> bits = splatBits(v))
    return {numberOf(*bits, shapeOf(v))};
  return {wholeOf(v)};
}

std::optional<Known> planMovement(llvm::ArrayRef<mlir::Operation *> ops) {
  Known known;
  for (mlir::Operation *op : ops) {
    if (updatesAtRunTime(op)) {
      if (op != ops.back())
        return std::nullopt; // somebody here would read what is written in place
      continue;
    }
    for (mlir::Value r : op->getResults().drop_front()) // barriers
      if (!isAlias(op))
        return std::nullopt;
      else if (std::optional<Pieces> p = reshaped(piecesOf(aliasOf(r), known), shapeOf(aliasOf(r)), shapeOf(r)))
        known[r] = std::move(*p);
      else
        return std::nullopt;
    std::optional<Pieces> p = resultOf(op, known);
    if (!p)
      return std::nullopt;
    known[op->getResult(0)] = std::move(*p);
  }
  return known;
}

std::vector<PieceShift> shiftsOf(mlir::ValueRange starts, const std::vector<int64_t> &shape,
                                 const std::vector<int64_t> &sizes, const std::vector<int64_t> &scales, int64_t &offset) {
  std::vector<PieceShift> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t most = shape[d] - sizes[d];
    if (most == 0)
      continue;
    if (const std::optional<double> start = splatOf(starts[d]))
      offset += static_cast<int64_t>(std::clamp(*start, 0.0, static_cast<double>(most))) * scales[d];
    else
      out.push_back({starts[d], most, scales[d]});
  }
  return out;
}

} // namespace glia::emit
