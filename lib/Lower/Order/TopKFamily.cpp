// top_k along the last dimension: the largest elements of each row and where they are, equal ones by index, floats in total
// order (a NaN with a clear sign is above infinity). Elements become keys: whole numbers that are ordered like them, in
// fp32. A key of 16 bits is one number, and the machine finds eight at a time; 32 bits are two, and are picked one by one:
// the largest upper half, of these the largest lower half, of these the first.
#include "Lower/Families.h"
#include "Lower/Rows/RowsView.h"
#include "TopK.h"
#include "glia/Graph/Graph.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

namespace glia::emit {

bool isTopK(mlir::Operation *op) {
  if (opName(op) == "top_k")
    return true;
  static constexpr llvm::StringLiteral kTargets[] = {"mhlo.topk", "TopK", "AwsNeuronTopK"};
  auto call = opName(op) == "custom_call" ? op->getAttrOfType<mlir::StringAttr>("call_target_name") : nullptr;
  return call && llvm::is_contained(kTargets, call.getValue());
}

bool isOfSmallest(mlir::Operation *op) {
  const auto how = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.attributes");
  const auto largest = how ? how.getAs<mlir::BoolAttr>("largest") : mlir::BoolAttr();
  return largest && !largest.getValue();
}

static constexpr int64_t kEights = 8192; // in a row of 16-bit keys or less, eight at a time

bool isPicked(mlir::Type element, int64_t picks, int64_t n) {
  const std::optional<DType> type = machineType(element);
  return type && n < kRowsPicked && picks <= (sizeOf(*type) < 4 && n <= kEights ? kMostPicks : 128);
}

double passesOf(mlir::Type element, int64_t picks, int64_t n) {
  const std::optional<DType> type = machineType(element);
  if (type && sizeOf(*type) < 4 && n <= kEights)
    return 3 * static_cast<double>((picks + 7) / 8);
  return (type && sizeOf(*type) < 4 ? 6 : 9) * static_cast<double>(picks);
}

namespace {

constexpr int64_t kPiece = 2048; // elements of a row at a time, one by one

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

// Candidates: keys in halves, and how many elements lie behind each of them in its row, itself included.
struct Candidates {
  Tile high, low, behind; // low: plus 1; no handle for keys of 16 bits
  int64_t n = 0;
};

class TopK {
public:
  TopK(KernelBuilder &k, DType type, int64_t rows, int64_t n, int64_t picks, const Tile &in, const Tile &values,
       const Tile &indices)
      : k(k), type(type), n(n), picks(picks), rows(rows), in(in), values(values), indices(indices), two(sizeOf(type) == 4) {}

  void run() {
    if (!two && n <= kEights) {
      for (row = 0; row < rows; row += 128) {
        nr = std::min<int64_t>(128, rows - row);
        eightByEight();
      }
      return;
    }
    for (row = 0; row < rows; row += 128) {
      nr = std::min<int64_t>(128, rows - row);
      Candidates best;
      for (int64_t at = 0; at < n; at += kPiece)
        best = joined(best, picked(piece(at, std::min(kPiece, n - at))));
      const Candidates last = n > kPiece ? picked(best) : best;
      finish(last.high, last.low, last.behind);
    }
  }

private:
  KernelBuilder &k;
  DType type;
  int64_t n, picks, rows, row = 0, nr = 0;
  Tile in, values, indices;
  bool two;

  Tile make(DType t, int64_t count) { return k.sbuf(t, nr, {count}); }

  Tile loaded(int64_t at, int64_t count) {
    const DType bits = sizeOf(type) == 4 ? DType::I32 : sizeOf(type) == 2 ? DType::I16 : DType::I8;
    Tile from = in;
    from.dtype = isFloat(type) ? bits : type;
    const Tile x = make(from.dtype, count);
    load(k, x, from, {{n, rows}}, {{1, n}}, row, at);
    return x;
  }

  // Keys of 8 and 16 bits. A negative float is counted from the other end.
  double turn() const { return sizeOf(type) == 2 ? -32769 : -129; }
  Tile key(const Tile &x) {
    const Tile f = make(DType::F32, x.elements());
    k.move(f, x);
    if (isFloat(type))
      turned(f);
    return f;
  }
  void turned(const Tile &f) {
    const Tile other = make(DType::F32, f.elements()), negative = make(DType::U8, f.elements());
    k.scalar(negative, f, "less", 0.0f);
    k.scalar(other, f, "multiply", -1.0f, false, "add", turn());
    k.select(f, negative, other);
  }

  // Keys of 32 bits, ordered as unsigned integers.
  Tile wideKey(const Tile &x) {
    const Tile u = make(DType::U32, x.elements()), top = topBit();
    if (type == DType::U32) {
      k.move(u, x.as(DType::U32));
      return u;
    }
    k.tensor(u, x.as(DType::U32), top.broadcast(0, x.elements()), "bitwise_xor");
    if (isFloat(type)) {
      const Tile flipped = make(DType::U32, x.elements()), negative = make(DType::U32, x.elements());
      k.scalar(flipped, x.as(DType::U32), "bitwise_not", 0.0f);
      k.scalar(negative, x.as(DType::U32), "shift_right", 31.0f);
      k.select(u, negative, flipped);
    }
    return u;
  }
  Tile topBit() {
    const Tile top = make(DType::U32, 1);
    k.fill(top, 2147483648.0);
    return top;
  }

  Candidates piece(int64_t at, int64_t count) {
    Candidates c;
    c.n = count;
    c.high = make(DType::F32, count);
    c.behind = make(DType::F32, count);
    k.iota(c.behind, {-1, static_cast<int32_t>(count)}, static_cast<int32_t>(n - at), 0);
    const Tile x = loaded(at, count);
    if (!two) {
      k.scalar(c.high, key(x), "add", 40000.0f); // not negative
      return c;
    }
    const Tile u = wideKey(x), half = make(DType::U32, count);
    c.low = make(DType::F32, count);
    k.scalar(half, u, "shift_right", 16.0f);
    k.move(c.high, half);
    const Tile rest = make(DType::U32, count);
    k.scalar(rest, u, "bitwise_and", 65535.0f);
    k.scalar(c.low, rest, "add", 1.0f);
    return c;
  }

  // The best of candidates, best first. Of equal ones those before: more elements lie behind them.
  Candidates picked(const Candidates &c) {
    Candidates out;
    out.n = std::min(picks, c.n);
    out.high = make(DType::F32, out.n);
    out.behind = make(DType::F32, out.n);
    if (two)
      out.low = make(DType::F32, out.n);
    const Tile part = make(DType::F32, c.n), gone = make(DType::U8, c.n);
    const auto both = [&](const Tile &dst, const Tile &a, const Tile &equal, const Tile &b) { // b where a == equal, else 0
      const InstrDef &d = *findInstruction("scalar_tensor_tensor");
      const auto code = [&](const char *slot, const char *name) {
        return nisa::SlotValue::of(static_cast<int32_t>(d.slots[static_cast<size_t>(d.slot(slot))].names->find(name)));
      };
      k.emit("scalar_tensor_tensor",
             {k.operand(dst), k.operand(a), code("op0", "equal"), k.operand(equal), code("op1", "multiply"), k.operand(b)});
    };
    for (int64_t i = 0; i < out.n; ++i) {
      const Tile high = out.high.columns(i, 1), behind = out.behind.columns(i, 1);
      k.reduce(high, c.high, "max");
      if (two) {
        const Tile low = out.low.columns(i, 1);
        both(part, c.high, high, c.low);
        k.reduce(low, part, "max");
        both(part, part, low, c.behind);
      } else {
        both(part, c.high, high, c.behind);
      }
      k.reduce(behind, part, "max");
      if (i + 1 == out.n)
        break;
      k.scalar(gone, c.behind, "equal", behind);
      k.select(c.high, gone, -1.0f);
    }
    return out;
  }

  Candidates joined(const Candidates &a, const Candidates &b) {
    if (a.n == 0)
      return b;
    Candidates out;
    out.n = a.n + b.n;
    const auto put = [&](const Tile &x, const Tile &y) {
      const Tile t = make(DType::F32, out.n);
      k.move(t.columns(0, a.n), x);
      k.move(t.columns(a.n, b.n), y);
      return t;
    };
    out.high = put(a.high, b.high);
    out.behind = put(a.behind, b.behind);
    if (two)
      out.low = put(a.low, b.low);
    if (out.n > kPiece) // fewer again
      return picked(out);
    return out;
  }

  void eightByEight() {
    const int64_t width = std::max<int64_t>(n, 8), rounds = (picks + 7) / 8;
    const Tile keys = make(DType::F32, width), best = make(DType::F32, rounds * 8), places = make(DType::U32, rounds * 8);
    if (n < 8)
      k.fill(keys, -100000);
    k.scalar(keys.columns(0, n), key(loaded(0, n)), "add", 0.0f);
    for (int64_t r = 0; r < rounds; ++r) {
      const Tile eight = best.columns(r * 8, 8);
      k.emit("max8", {k.operand(eight), k.operand(keys)});
      k.emit("nc_find_index8", {k.operand(places.columns(r * 8, 8)), k.operand(keys), k.operand(eight)});
      if (r + 1 < rounds)
        k.emit("nc_match_replace8", {k.operand(keys), k.operand(keys), k.operand(eight), nisa::SlotValue::of(-100000.0f)});
    }
    const Tile index = make(DType::I32, picks);
    k.move(index.as(DType::U32), places.columns(0, picks));
    write(narrow(best.columns(0, picks)), index);
  }

  // From a key of 8 or 16 bits to the element's bits.
  Tile narrow(const Tile &from) {
    const Tile f = make(DType::F32, from.elements());
    k.move(f, from);
    if (isFloat(type))
      turned(f);
    const Tile x = make(isFloat(type) ? (sizeOf(type) == 2 ? DType::I16 : DType::I8) : type, from.elements());
    k.move(x, f);
    return x;
  }

  void finish(const Tile &high, const Tile &low, const Tile &behind) {
    const Tile index = make(DType::I32, picks);
    k.scalar(index, behind, "multiply", -1.0f, false, "add", static_cast<double>(n));
    if (!two) {
      const Tile f = make(DType::F32, picks);
      k.scalar(f, high, "subtract", 40000.0f);
      return write(narrow(f), index);
    }
    const Tile u = make(DType::U32, picks), l = make(DType::U32, picks);
    k.move(u, high);
    k.scalar(u, u, "shift_left", 16.0f);
    k.scalar(l, low, "subtract", 1.0f);
    k.tensor(u, u, l, "bitwise_or");
    Tile x = u;
    if (type != DType::U32) {
      x = make(DType::U32, picks);
      k.tensor(x, u, topBit().broadcast(0, picks), "bitwise_xor");
      if (isFloat(type)) { // those whose top bit is clear were negative
        const Tile flipped = make(DType::U32, picks), positive = make(DType::U32, picks);
        k.scalar(flipped, u, "bitwise_not", 0.0f);
        k.scalar(positive, u, "shift_right", 31.0f);
        k.select(x, positive, flipped, true);
      }
    }
    write(x, index);
  }

  void write(const Tile &x, const Tile &index) {
    Tile to = values;
    to.dtype = x.dtype;
    if (values.handle >= 0)
      store(k, to, x, {{picks, rows}}, {{1, picks}}, row, 0);
    if (indices.handle >= 0)
      store(k, indices, index, {{picks, rows}}, {{1, picks}}, row, 0);
  }
};

class TopKFamily : public Family {
public:
  std::string_view name() const override { return "top_k"; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (opName(op) == "sort")
      return "a sort whose comparison is not made of operations on single elements";
    if (!isTopK(op))
      return std::nullopt;
    if (op->getNumResults() != 2 || op->getNumOperands() != 1)
      return "top_k has one operand and two results";
    if (isOfSmallest(op))
      return "top_k of the smallest elements";
    const std::vector<int64_t> shape = shapeOf(op->getOperand(0)), out = shapeOf(op->getResult(0));
    if (shape.empty() || out.size() != shape.size() || out.back() > shape.back())
      return "top_k of more elements than there are";
    const std::optional<DType> t = machineType(elementOf(op->getOperand(0))), i = machineType(elementOf(op->getResult(1)));
    if (!t || !i)
      return "the device does not hold its element type";
    if (*i != DType::I32 && *i != DType::U32)
      return "indices of other than 32 bits";
    if (out.back() > kMostPicks)
      return "top_k of more than 1024 elements of a row";
    if (shape.back() >= kRowsPicked)
      return "top_k of rows of 2^24 or more elements";
    return "";
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    mlir::Operation *op = g.ops[0];
    k.location(op->getLoc());
    const int64_t n = shapeOf(op->getOperand(0)).back(), picks = shapeOf(op->getResult(0)).back();
    if (elementsOf(op->getResult(0)) == 0)
      return;
    Tile values, indices;
    for (size_t i = 0; i < g.outputs.size(); ++i)
      (g.outputs[i] == op->getResult(0) ? values : indices) = outputs[i];
    TopK(k, inputs[0].dtype, elementsOf(op->getOperand(0)) / n, n, picks, inputs[0], values, indices).run();
  }
};

} // namespace

const Family &topKFamily() {
  static const TopKFamily family;
  return family;
}

} // namespace glia::emit
