// Three ways, by where the reduced axes are:
//   the last axis is reduced     rows are what is kept; a permuted load, long rows in pieces
//   it is kept, sums of floats   rows are what is reduced; the Tensor engine adds them up, a row of ones times the tile
//   it is kept, anything else    slab after slab, element by element
// A reduction to few values first makes 128 partial ones, each on its partition.
#include "RowsReduce.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>
#include <functional>

namespace glia::emit {

namespace {

constexpr int64_t kPiece = 4096; // columns at a time

class Alone {
public:
  Alone(KernelBuilder &k, mlir::Operation *op, const Tile &in, const Tile &out) : k(k), lanes(k), in(in), out(out) {
    std::string why;
    r = *reductionOf(op, why);
    partial = r;
    partial.identity = true; // the start is added once, at the end
    const Dims all = contiguous(shapeOf(op->getOperand(0)));
    for (size_t d = 0; d < all.size(); ++d)
      (llvm::is_contained(r.dims, static_cast<int64_t>(d)) ? gone : kept).push_back(all[d]);
    lastIsKept = !kept.empty() && countOf(merged(kept)) > 1 && merged(kept).back().stride == 1;
    keptCount = countOf(kept);
    goneCount = countOf(gone);
    kept = merged(kept);
    gone = merged(gone);
    // Floats are added up in fp32, and rounded at the end.
    type = isFloat(r.type) ? DType::F32 : r.type;
  }

  void run() {
    if (keptCount == 0)
      return;
    if (goneCount == 0)
      return fillStart();
    if (lastIsKept && isFloat(r.type) && r.op == "add" && goneCount >= 8)
      return byMatmul();
    if (lastIsKept && kept.back().count >= 64)
      return bySlabs();
    if (keptCount == 1 && isFloat(r.type) && goneCount >= 1024 && (r.op == "add" || r.op == "max"))
      return toOne();
    byRows();
  }

private:
  KernelBuilder &k;
  RowsLanes lanes;
  Tile in, out;
  Reduction r, partial;
  Dims kept, gone;
  int64_t keptCount, goneCount;
  bool lastIsKept;
  DType type;

  Tile outFlat() const {
    Tile t = out;
    t.dims = {{1, keptCount}};
    return t;
  }

  void fillStart() {
    for (int64_t c = 0; c < keptCount; c += kPiece) {
      const int64_t n = std::min(kPiece, keptCount - c);
      const Tile t = k.sbuf(r.type, 1, {n});
      lanes.resize(1, n);
      k.move(t, lanes.constant(r.type, r.start, n));
      k.copy(outFlat().part(0, c, n), t);
    }
  }

  // To the type of the result, with the start.
  Tile finished(const Tile &t) {
    if (t.dtype == r.type && r.identity)
      return t;
    const Tile o = k.sbuf(r.type, t.partitions, {t.elements()});
    if (r.identity)
      k.move(o, t);
    else
      k.scalar(o, t, r.op, r.start);
    return o;
  }

  void byRows() {
    for (int64_t row = 0; row < keptCount; row += 128) {
      const int64_t nr = std::min<int64_t>(128, keptCount - row);
      const Tile sum = k.sbuf(type, nr, {1});
      for (int64_t c = 0; c < goneCount; c += kPiece) {
        const int64_t nc = std::min(kPiece, goneCount - c);
        const Tile t = k.sbuf(r.type, nr, {nc});
        load(k, t, in, kept, gone, row, c);
        lanes.resize(nr, nc);
        partial.type = type;
        const Tile piece = reduced(t, nr, nc);
        if (c == 0)
          k.move(sum, piece);
        else
          k.tensor(sum, sum, piece, r.op);
      }
      Tile to = outFlat().part(0, row, nr);
      k.copy(to, finished(sum));
    }
  }

  Tile reduced(const Tile &t, int64_t nr, int64_t nc) {
    lanes.resize(nr, nc);
    Lane v;
    v.tile = t;
    v.type = t.dtype;
    v.row = nc == 1;
    partial.type = type;
    return lanes.reduce(partial, v).tile;
  }

  // All to one number: 128 partial ones, then across the partitions.
  void toOne() {
    const int64_t per = std::max<int64_t>(goneCount / 128, 1), columns = std::min(per, kPiece);
    const int64_t rows = goneCount / columns, tail = goneCount - rows * columns;
    const Tile sum = k.sbuf(DType::F32, 128, {1});
    bool first = true;
    const auto add = [&](int64_t offset, int64_t nr, int64_t nc) {
      const Tile t = k.sbuf(r.type, nr, {nc});
      Tile from = in;
      from.offset += offset;
      from.dims = {{nc, nr}, {1, nc}};
      k.copy(t, from);
      const Tile piece = reduced(t, nr, nc);
      if (first)
        k.move(sum.rows(0, nr), piece);
      else
        k.tensor(sum.rows(0, nr), sum.rows(0, nr), piece, r.op);
      first = false;
    };
    const int64_t used = std::min<int64_t>(rows, 128);
    for (int64_t row = 0; row < rows; row += 128)
      add(row * columns, std::min<int64_t>(128, rows - row), columns);
    if (tail)
      add(rows * columns, 1, tail);
    const Tile one = k.sbuf(DType::F32, 1, {1});
    if (r.op == "add") { // in one row, where sums are taken in many lanes: a product would add one after the other
      const Tile row = k.sbuf(DType::F32, 1, {used});
      k.copy(row, sum.rows(0, used));
      k.reduce(one, row, "add");
    } else {
      k.emit("tensor_partition_reduce",
             {k.operand(one), k.operand(sum.rows(0, used)), nisa::SlotValue::of(static_cast<int32_t>(2))});
    }
    k.copy(outFlat(), finished(one));
  }

  // What is kept: the last dimension, and the offsets of all others.
  void outer(const std::function<void(int64_t from, int64_t to)> &body) {
    const int64_t last = kept.back().count;
    for (int64_t i = 0; i < keptCount / last; ++i) {
      int64_t left = i, from = 0;
      for (size_t d = kept.size() - 1; d-- > 0;) {
        from += left % kept[d].count * kept[d].stride;
        left /= kept[d].count;
      }
      body(from, i * last);
    }
  }

  void byMatmul() {
    const DType t = sizeOf(r.type) == 1 ? DType::BF16 : r.type;
    const int64_t last = kept.back().count, most = kSumColumns * kSumBanks;
    outer([&](int64_t from, int64_t to) {
      Tile source = in;
      source.offset += from;
      for (int64_t c = 0; c < last; c += most) {
        const int64_t nc = std::min(most, last - c);
        std::vector<Tile> sums;
        for (int64_t b = 0; b < nc; b += kSumColumns)
          sums.push_back(k.psum(1, {std::min(kSumColumns, nc - b)}));
        for (int64_t row = 0; row < goneCount; row += 128) {
          const int64_t nr = std::min<int64_t>(128, goneCount - row);
          const Tile x = k.sbuf(t, nr, {nc});
          load(k, x, source, gone, {kept.back()}, row, c);
          lanes.resize(nr, nc);
          for (size_t b = 0; b < sums.size(); ++b)
            k.matmul(sums[b], lanes.constant(t, 1, 1), x.columns(static_cast<int64_t>(b) * kSumColumns, sums[b].elements()),
                     row > 0);
        }
        const Tile sum = k.sbuf(DType::F32, 1, {nc});
        for (size_t b = 0; b < sums.size(); ++b)
          k.move(sum.columns(static_cast<int64_t>(b) * kSumColumns, sums[b].elements()), sums[b]);
        k.copy(outFlat().part(0, to + c, nc), finished(sum));
      }
    });
  }

  void bySlabs() {
    const int64_t last = kept.back().count;
    outer([&](int64_t from, int64_t to) {
      const int64_t columns = std::min<int64_t>(kPiece, std::max<int64_t>((last + 127) / 128, std::min<int64_t>(last, 64)));
      for (int64_t at = 0; at < last;) {
        const int64_t nr = std::clamp<int64_t>((last - at) / columns, 1, 128), nc = std::min(columns, last - at);
        const Tile sum = k.sbuf(type, nr, {nc});
        for (int64_t i = 0; i < goneCount; ++i) {
          int64_t left = i, offset = 0;
          for (size_t d = gone.size(); d-- > 0;) {
            offset += left % gone[d].count * gone[d].stride;
            left /= gone[d].count;
          }
          Tile source = in;
          source.offset += from + offset + at;
          source.dims = {{nc, nr}, {1, nc}};
          const Tile x = k.sbuf(r.type, nr, {nc});
          k.copy(x, source);
          if (i == 0)
            k.move(sum, x);
          else
            k.tensor(sum, sum, x, r.op);
        }
        Tile dst = out;
        dst.offset += to + at;
        dst.dims = {{nc, nr}, {1, nc}};
        k.copy(dst, finished(sum));
        at += nr * nc;
      }
    });
  }
};

} // namespace

bool isSumOfLongRows(mlir::Operation *op) {
  std::string why;
  const std::optional<Reduction> r = reductionOf(op, why);
  if (!r || r->op != "add" || !isFloat(r->type))
    return false;
  const std::vector<int64_t> shape = shapeOf(op->getOperand(0));
  int64_t columns = 1;
  for (size_t d = shape.size(); d-- > 0 && !llvm::is_contained(r->dims, static_cast<int64_t>(d));)
    columns *= shape[d];
  return columns >= kSumColumns && elementsOf(op->getOperand(0)) / std::max<int64_t>(elementsOf(op->getResult(0)), 1) >= 128;
}

void reduceAlone(KernelBuilder &k, mlir::Operation *op, const Tile &in, const Tile &out) { Alone(k, op, in, out).run(); }

} // namespace glia::emit
