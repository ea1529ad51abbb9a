// Rows, which are all other dimensions, lie on the partitions, and a row is scanned piece after piece: the last state of one begins the
// next. Where the scanned dimension is not the last one, blocks of 128 steps are turned on their way in and on their way out. From the end to the
// beginning, transfers bring steps that lie apart in the other order; those that lie along memory are turned twice, read backwards once.
#include "ScanKernel.h"
#include "Lower/Contract/OperandTiles.h"
#include "Lower/Rows/Combine.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kLeastPiece = 512, kMostPiece = 2048; // steps at a time
constexpr int64_t kBlock = 128;                         // steps that are turned together
constexpr int64_t kBank = 512;                          // elements of PSUM at a time, per partition

bool turnsExactly(const Target &target, DType type) {
  return target.has("exact_transpose") && (type == DType::F32 || type == DType::BF16 || type == DType::F16);
}

class Scan {
public:
  Scan(KernelBuilder &k, const ScanForm &f) : k(k), f(f) {}

  void run() {
    if (f.inner == 1)
      return alongMemory();
    const int64_t wide = std::max<int64_t>(1, std::min<int64_t>(f.inner, kBank) / kBlock) * kBlock;
    for (int64_t o = 0; o < f.outer; ++o)
      for (int64_t i = 0; i < f.inner; i += wide)
        across(o, i, std::min(wide, f.inner - i));
  }

private:
  KernelBuilder &k;
  const ScanForm &f;
  Tile factor, term; // those that are one number everywhere, in a column

  // ---- steps that are neighbours in memory ----------------------------------------------------------------------------------
  void alongMemory() {
    const int64_t blocks = (f.outer + 127) / 128;
    const int64_t piece =
        f.backward ? kBank : std::clamp((blocks * f.length / 8 + 127) / 128 * 128, kLeastPiece, kMostPiece);
    for (int64_t r = 0; r < f.outer; r += 128) {
      const int64_t n = std::min<int64_t>(128, f.outer - r);
      Tile last = begin(0, r, n);
      for (int64_t done = 0; done < f.length; done += piece) {
        const int64_t m = std::min(piece, f.length - done), at = f.backward ? f.length - done - m : done;
        const auto loaded = [&](const ScanOperand &x) {
          if (x.isNumber())
            return Tile();
          const Tile t = k.sbuf(f.type, n, {m});
          k.copy(t, matrix(x.tile).part(0, r, n).part(1, at, m));
          return t;
        };
        const Tile factors = inSbuf(round(loaded(f.factors))), state = scan(factors, round(loaded(f.terms)), n, m, last);
        last = state.columns(m - 1, 1);
        k.copy(matrix(f.out).part(0, r, n).part(1, at, m), inSbuf(round(inType(k, state, f.type))));
      }
    }
  }

  Tile matrix(Tile t) const {
    t.dims = {{f.length, f.outer}, {1, f.length}};
    return t;
  }

  // The elements of each row from the last to the first, in PSUM; as they are in a scan forward.
  Tile round(const Tile &x) {
    if (!f.backward || x.handle < 0)
      return x;
    const int64_t n = x.partitions, m = x.elements();
    const Tile out = k.psum(n, {m}, f.type);
    for (int64_t at = 0; at < m; at += kBlock) { // of the result; the elements from the end
      const int64_t w = std::min(kBlock, m - at);
      const Tile turned = k.psum(w, {n}, f.type), copy = k.sbuf(f.type, w, {n});
      k.transpose(turned, backwards(x.columns(m - at - w, w)));
      k.move(copy, turned);
      k.transpose(out.columns(at, w), copy);
    }
    return out;
  }
  static Tile backwards(Tile t) {
    Tile::Dim &d = t.dims.back();
    t.offset += (d.count - 1) * d.stride;
    d.stride = -d.stride;
    return t;
  }

  // ---- steps that lie apart ---------------------------------------------------------------------------------------------------
  // Steps [at, at + m), from the end if backward, of columns [i, i + w): a step per partition, in blocks of them.
  Tile steps(Tile t, int64_t o, int64_t at, int64_t m, int64_t i, int64_t w) const {
    t.offset += (o * f.length + (f.backward ? f.length - 1 - at : at)) * f.inner + i;
    const int64_t step = f.backward ? -f.inner : f.inner;
    t.dims = {{step, std::min(m, kBlock)}, {step * kBlock, std::max<int64_t>(1, m / kBlock)}, {1, w}};
    return t;
  }

  // Columns [i, i + w) of one outer index.
  void across(int64_t o, int64_t i, int64_t w) {
    std::vector<Tile> last;
    for (int64_t c = 0; c < w; c += kBlock)
      last.push_back(begin(o, i + c, std::min(kBlock, w - c)));
    for (int64_t done = 0; done < f.length;) {
      const int64_t left = f.length - done, m = left >= kBank ? kBank : left >= kBlock ? left / kBlock * kBlock : left;
      const auto loaded = [&](const ScanOperand &x) {
        if (x.isNumber())
          return Tile();
        const Tile from = steps(x.tile, o, done, m, i, w), t = k.sbuf(f.type, from.dims[0].count, {from.dims[1].count, w});
        k.copy(t, from);
        return t;
      };
      const Tile factors = loaded(f.factors), terms = loaded(f.terms);
      const Tile result = k.sbuf(f.type, std::min(m, kBlock), {std::max<int64_t>(1, m / kBlock), w});
      for (int64_t c = 0; c < w; c += kBlock) {
        const int64_t n = std::min(kBlock, w - c);
        Tile &state = last[static_cast<size_t>(c / kBlock)];
        const Tile a = inSbuf(turned(factors, c, n)), b = turned(terms, c, n);
        const Tile made = scan(a, b, n, m, state);
        state = made.columns(m - 1, 1);
        turnBack(result, inType(k, made, f.type), c);
      }
      k.copy(steps(f.out, o, done, m, i, w), result);
      done += m;
    }
  }

  bool turnsInPsum() const { return turnsExactly(k.target(), f.type); }

  // dst[column, step] of columns [c, c + n), in PSUM where the Tensor engine turns.
  Tile turned(const Tile &t, int64_t c, int64_t n) {
    if (t.handle < 0)
      return {};
    const int64_t blocks = t.dims[0].count, height = t.partitions;
    const Tile out = turnsInPsum() ? k.psum(n, {blocks * height}, f.type) : k.sbuf(f.type, n, {blocks * height});
    for (int64_t b = 0; b < blocks; ++b) {
      const Tile from = t.index(0, b).columns(c, n), to = out.columns(b * height, height);
      if (turnsInPsum())
        k.transpose(to, from);
      else
        transposeTile(k, to, from);
    }
    return out;
  }
  Tile inSbuf(const Tile &t) {
    if (t.handle < 0 || t.space != Space::Psum)
      return t;
    const Tile copy = k.sbuf(t.dtype, t.partitions, t.shape());
    k.move(copy, t);
    return copy;
  }
  // The other way: [column, step] to columns [c, ...) of [step, block, column].
  void turnBack(const Tile &result, const Tile &made, int64_t c) {
    const int64_t blocks = result.dims[0].count, height = result.partitions, n = made.partitions;
    if (!turnsInPsum()) {
      for (int64_t b = 0; b < blocks; ++b)
        transposeTile(k, result.index(0, b).columns(c, n), made.columns(b * height, height));
      return;
    }
    const Tile back = k.psum(height, {blocks, n}, f.type);
    for (int64_t b = 0; b < blocks; ++b)
      k.transpose(back.index(0, b), made.columns(b * height, height));
    k.move(result.part(1, c, n), back);
  }

  // ---- the scan ---------------------------------------------------------------------------------------------------------------
  // The start of rows [r, r + n) in fp32; no handle without one, or if it is a number.
  Tile begin(int64_t o, int64_t r, int64_t n) {
    if (!f.start || f.start->isNumber())
      return {};
    Tile from = f.start->tile;
    from.offset += o * f.inner + r;
    from.dims = {{1, n}, {1, 1}};
    const Tile t = k.sbuf(f.type, n, {1});
    k.copy(t, from);
    return f.type == DType::F32 ? t : inType(k, t, DType::F32);
  }

  Tile spread(const Tile &t, const ScanOperand &x, Tile &column, int64_t n, int64_t m) {
    if (t.handle >= 0)
      return t;
    if (column.handle < 0) {
      column = k.sbuf(DType::F32, 128, {1});
      k.fill(column, x.number);
    }
    return column.rows(0, n).broadcast(0, m);
  }

  // m steps of n rows, in fp32.
  Tile scan(const Tile &factors, const Tile &terms, int64_t n, int64_t m, const Tile &last) {
    const Tile a = spread(factors, f.factors, factor, n, m), b = spread(terms, f.terms, term, n, m);
    const Tile out = k.sbuf(DType::F32, n, {m});
    if (last.handle >= 0 || f.start) {
      const ScalarOperand initial = last.handle >= 0 ? ScalarOperand(last) : ScalarOperand(f.start->number);
      k.scan(out, a, b, initial, f.op0, f.op1);
      return out;
    }
    k.move(out.columns(0, 1), b.columns(0, 1));
    if (m > 1)
      k.scan(out.columns(1, m - 1), a.columns(1, m - 1), b.columns(1, m - 1), out.columns(0, 1), f.op0, f.op1);
    return out;
  }
};

} // namespace

bool scansBackward(const Target &target, DType type, int64_t inner) { return inner > 1 || turnsExactly(target, type); }

void emitScan(KernelBuilder &k, const ScanForm &f) { Scan(k, f).run(); }

} // namespace glia::emit
