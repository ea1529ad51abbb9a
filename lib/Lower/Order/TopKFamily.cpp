// top_k along the last dimension: the largest elements of each row and where they are, equal ones by index, floats in total
// order (a NaN with a clear sign is above infinity). Elements become keys: whole numbers that are ordered like them, in
// fp32, of which the machine finds eight at a time, equal ones by place. A key of 16 bits is one number; 32 bits are two, of 24 and of 8
// bits. Then the upper parts say which elements are among the largest, but for those whose upper part is the last one: of these the lower
// parts say it. What was found is sorted by the lower part and, keeping that order, by the upper one.
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

double pickCycles(mlir::Type element, int64_t picks, int64_t n) {
  const std::optional<DType> type = machineType(element);
  const auto passes = [](int64_t count, int64_t elements) { // three instructions for eight
    return 3 * static_cast<double>((count + 7) / 8) * (static_cast<double>(elements) + 64);
  };
  if (type && sizeOf(*type) < 4)
    return passes(picks, n);
  return 2 * passes(picks, n) + passes(3 * picks, 2 * picks) + 5000;
}

namespace {

constexpr int64_t kPiece = 2048;       // elements of a row at a time
constexpr float kAboveKeys = 40000.0f; // makes keys of 16 bits positive

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

// Candidates: parts of their keys, plus 1, since 0 is none, and their places in the row. Equal ones stand in the order of their places.
struct Candidates {
  Tile high, low, place; // low: no handle for keys of 16 bits
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
      finish(n > kPiece ? picked(best) : best);
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
    Candidates c = none(count);
    k.iota(c.place.columns(0, count), {1, static_cast<int32_t>(count)}, static_cast<int32_t>(at), 0);
    const Tile x = loaded(at, count), high = c.high.columns(0, count);
    if (!two) {
      k.scalar(high, key(x), "add", kAboveKeys);
      return c;
    }
    const Tile u = wideKey(x), part = make(DType::U32, count), rest = make(DType::U32, count);
    k.scalar(part, u, "shift_right", 8.0f);
    k.scalar(high, part, "add", 1.0f);
    k.scalar(rest, u, "bitwise_and", 255.0f);
    k.scalar(c.low.columns(0, count), rest, "add", 1.0f);
    return c;
  }

  // Room for candidates: eight or more, which are none where they are not written.
  Candidates none(int64_t count) {
    Candidates c;
    c.n = std::max<int64_t>(count, 8);
    c.high = make(DType::F32, c.n);
    c.place = make(DType::F32, c.n);
    if (two)
      c.low = make(DType::F32, c.n);
    if (count < c.n)
      for (const Tile &t : {c.high, c.place, c.low})
        if (t.handle >= 0)
          k.fill(t, 0);
    return c;
  }

  struct Found {
    Tile keys, at; // in descending order, and where they are
  };
  // The largest `count` keys, a multiple of eight; equal ones by place. What was found becomes `below`, which is less than any key: of fewer
  // keys than `count` it comes last.
  Found largest(const Tile &keys, int64_t count, float below = -1) {
    const Tile left = make(DType::F32, keys.elements()), places = make(DType::U32, count);
    const Found out{make(DType::F32, count), make(DType::U32, count)};
    k.move(left, keys);
    for (int64_t i = 0; i < count; i += 8) {
      const Tile eight = out.keys.columns(i, 8);
      k.emit("max8", {k.operand(eight), k.operand(left)});
      k.emit("nc_find_index8", {k.operand(places.columns(i, 8)), k.operand(left), k.operand(eight)});
      if (i + 8 < count)
        k.emit("nc_match_replace8", {k.operand(left), k.operand(left), k.operand(eight), nisa::SlotValue::of(below)});
    }
    k.scalar(out.at, places, "min", static_cast<double>(keys.elements() - 1)); // also where nothing was found
    return out;
  }

  Tile taken(const Tile &data, const Tile &at) {
    const Tile out = make(DType::F32, at.elements());
    k.emit("nc_n_gather", {k.operand(out), k.operand(data), k.operand(at)});
    return out;
  }

  // dst = b where a `relation` number, else 0.
  void where(const Tile &dst, const Tile &a, std::string_view relation, const Tile &number, const Tile &b) {
    k.scalarTensor(dst, a, relation, number, "multiply", b);
  }

  // The best of candidates, best first.
  Candidates picked(const Candidates &c) {
    const int64_t count = std::min(picks, c.n), eights = (count + 7) / 8 * 8;
    const Found upper = largest(c.high, eights);
    Candidates out;
    out.n = count;
    if (!two) {
      out.high = upper.keys.columns(0, count);
      out.place = taken(c.place, upper.at).columns(0, count);
      return out;
    }
    const Tile last = upper.keys.columns(count - 1, 1), same = make(DType::F32, c.n);
    where(same, c.high, "equal", last, c.low);
    const Found lower = largest(same, eights);
    // Those above the last upper part, then those that have it.
    const Tile high = make(DType::F32, 2 * eights), low = make(DType::F32, 2 * eights), place = make(DType::F32, 2 * eights);
    where(high.columns(0, eights), upper.keys, "greater", last, upper.keys);
    k.scalar(high.columns(eights, eights), lower.keys, "greater", 0.0f, false, "multiply", last);
    k.move(low.columns(0, eights), taken(c.low, upper.at));
    k.move(low.columns(eights, eights), lower.keys);
    k.move(place.columns(0, eights), taken(c.place, upper.at));
    k.move(place.columns(eights, eights), taken(c.place, lower.at));
    const Found byLow = largest(low, 2 * eights, -2); // of keys there may be -1
    const Found byHigh = largest(taken(high, byLow.at), eights);
    out.high = byHigh.keys.columns(0, count);
    out.low = taken(byLow.keys, byHigh.at).columns(0, count);
    out.place = taken(taken(place, byLow.at), byHigh.at).columns(0, count);
    return out;
  }

  Candidates joined(const Candidates &a, const Candidates &b) {
    if (a.n == 0)
      return b;
    Candidates out = none(a.n + b.n);
    const auto put = [&](const Tile &t, const Tile &x, const Tile &y) {
      k.move(t.columns(0, a.n), x);
      k.move(t.columns(a.n, b.n), y);
    };
    put(out.high, a.high, b.high);
    put(out.place, a.place, b.place);
    if (two)
      put(out.low, a.low, b.low);
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

  void finish(const Candidates &c) {
    const Tile index = make(DType::I32, picks);
    k.move(index, c.place);
    if (!two) {
      const Tile f = make(DType::F32, picks);
      k.scalar(f, c.high, "subtract", kAboveKeys);
      return write(narrow(f), index);
    }
    const Tile u = make(DType::U32, picks), l = make(DType::U32, picks);
    k.scalar(u, c.high, "subtract", 1.0f);
    k.scalar(u, u, "shift_left", 8.0f);
    k.scalar(l, c.low, "subtract", 1.0f);
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
