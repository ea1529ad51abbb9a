#include "WindowScan.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>

namespace glia::emit {

std::optional<WindowScan> scanOf(const std::vector<WindowDim> &dims) {
  constexpr int64_t kShort = 12;
  WindowScan s;
  bool found = false;
  for (const WindowDim &d : dims) {
    if (d.isPlain()) {
      (found ? s.inner : s.outer) *= d.in;
      continue;
    }
    const bool grows = d.size == d.in && d.out == d.in && d.stride == 1 && d.dilation == 1 && d.base == 1;
    if (found || !grows || (d.low != 0 && d.low != d.in - 1) || d.in < kShort)
      return std::nullopt;
    found = true;
    s.length = d.in;
    s.backward = d.low == 0;
  }
  if (!found)
    return std::nullopt;
  return s;
}

namespace {

constexpr int64_t kPiece = 1024; // columns at a time

class Scan {
public:
  Scan(KernelBuilder &k, const WindowScan &s, const Combiner &c, double start, const Tile &in, const Tile &out)
      : k(k), s(s), c(c), start(start), in(in), out(out) {}

  void run() {
    if (c.op == "add" || c.op == "multiply") {
      ones = k.sbuf(DType::F32, 128, {1});
      k.fill(ones, 1);
    }
    if (s.inner == 1) {
      for (int64_t r = 0; r < s.outer; r += 128)
        rows(0, r, std::min<int64_t>(128, s.outer - r));
      return;
    }
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t r = 0; r < s.inner; r += 128)
        rows(o * s.length * s.inner, r, std::min<int64_t>(128, s.inner - r));
  }

private:
  KernelBuilder &k;
  const WindowScan &s;
  const Combiner &c;
  double start;
  Tile in, out, ones;

  Tile matrix(Tile t, int64_t offset) const {
    t.offset += offset;
    t.dims = s.inner == 1 ? Dims{{s.length, s.outer}, {1, s.length}} : Dims{{1, s.inner}, {s.inner, s.length}};
    return t;
  }

  // Rows [r, r + n) of a matrix whose columns are scanned, piece after piece; the last column of one starts the next.
  void rows(int64_t offset, int64_t r, int64_t n) {
    const Tile from = matrix(in, offset), to = matrix(out, offset);
    const int64_t pieces = (s.length + kPiece - 1) / kPiece;
    Tile last;
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t at = (s.backward ? pieces - 1 - i : i) * kPiece, m = std::min(kPiece, s.length - at);
      const Tile x = widened(k, c, loadBlock(k, from, r, n, at, m, c.type));
      const Tile sum = inOneGo() ? scan(x, last) : doubled(x, last);
      last = sum.columns(s.backward ? 0 : m - 1, 1);
      const Tile result = inType(k, sum, c.type);
      if (s.inner == 1) {
        k.copy(to.part(0, r, n).part(1, at, m), result);
        continue;
      }
      for (int64_t b = 0; b < m; b += 128) {
        const int64_t w = std::min<int64_t>(128, m - b);
        const Tile back = k.sbuf(c.type, w, {n});
        transposeTile(k, back, result.columns(b, w));
        k.copy(to.part(0, r, n).part(1, at + b, w).permuted({1, 0}), back);
      }
    }
  }

  // The engine scans forward, with a state in fp32.
  bool inOneGo() const { return isFloat(c.type) && !s.backward; }

  Tile scan(const Tile &x, const Tile &last) {
    const bool adds = c.op == "add", multiplies = c.op == "multiply";
    const Tile sum = k.sbuf(DType::F32, x.partitions, x.shape());
    const Tile one = adds || multiplies ? ones.rows(0, x.partitions).broadcast(0, x.elements()) : x;
    k.scan(sum, adds ? one : x, adds ? x : one, last.handle < 0 ? ScalarOperand(start) : ScalarOperand(last),
           adds ? "multiply" : c.op, adds ? "add" : c.op);
    return sum;
  }

  Tile doubled(Tile x, const Tile &last) {
    const int64_t n = x.elements();
    const DType t = sumType(c);
    for (int64_t step = 1; step < n; step *= 2) {
      const Tile y = k.sbuf(t, x.partitions, {n});
      const int64_t near = s.backward ? 0 : step, far = step - near; // where the nearer of two elements begins
      combine(k, c, y.columns(near, n - step), x.columns(near, n - step), x.columns(far, n - step));
      k.move(y.columns(s.backward ? n - step : 0, step), x.columns(s.backward ? n - step : 0, step));
      x = y;
    }
    const Tile y = k.sbuf(t, x.partitions, {n});
    Tile before = last;
    if (before.handle < 0) {
      before = k.sbuf(t, x.partitions, {1});
      k.fill(before, start);
    }
    combine(k, c, y, x, before.broadcast(0, n));
    return y;
  }
};

} // namespace

void emitScan(KernelBuilder &k, const WindowScan &s, const Combiner &c, double start, const Tile &in, const Tile &out) {
  Scan(k, s, c, start, in, out).run();
}

} // namespace glia::emit
