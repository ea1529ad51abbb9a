// A tile is [partitions, steps, columns]: neighbouring columns on a partition, so that transfers have long runs and instructions many elements.
#include "ScanSteps.h"
#include "Lower/Rows/Combine.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kLeastColumns = 64, kMostColumns = 256; // of a partition
constexpr int64_t kElements = 2048;                       // of a tile, per partition

class Steps {
public:
  Steps(KernelBuilder &k, const ScanForm &f) : k(k), f(f) {}

  void run() {
    for (int64_t o = 0; o < f.outer; ++o)
      for (column = 0; column < f.inner; column += rows * width) {
        const int64_t left = f.inner - column;
        rows = std::min<int64_t>(left, 128);
        width = std::clamp<int64_t>(left / 128, 1, kMostColumns);
        outer = o;
        columns();
      }
  }

private:
  KernelBuilder &k;
  const ScanForm &f;
  int64_t outer = 0, column = 0, rows = 0, width = 0;

  Tile at(Tile hbm, int64_t step, int64_t n) const {
    hbm.offset += (outer * f.length + step) * f.inner + column;
    hbm.dims = {{width, rows}, {f.inner, n}, {1, width}};
    return hbm;
  }
  Tile loaded(const ScanOperand &x, int64_t step, int64_t n) {
    if (x.isNumber())
      return {};
    const Tile t = k.sbuf(f.type, rows, {n, width});
    k.copy(t, at(x.tile, step, n));
    return t;
  }

  // The state before the first step, in fp32; no handle: there is none.
  Tile begin() {
    if (!f.start)
      return {};
    const Tile t = k.sbuf(f.start->isNumber() ? DType::F32 : f.type, rows, {width});
    if (f.start->isNumber()) {
      k.fill(t, f.start->number);
      return t;
    }
    Tile from = f.start->tile;
    from.offset += outer * f.inner + column;
    from.dims = {{width, rows}, {1, width}};
    k.copy(t, from);
    return inType(k, t, DType::F32);
  }

  // dst = x op state, x being a tile or a number.
  void apply(const Tile &dst, const Tile &tile, double number, const Tile &state, std::string_view op) {
    if (tile.handle < 0)
      k.scalar(dst, state, op, number);
    else
      k.tensor(dst, tile, state, op);
  }

  void columns() {
    Tile state = begin();
    const int64_t most = std::max<int64_t>(1, kElements / width);
    for (int64_t done = 0; done < f.length; done += most) {
      const int64_t n = std::min(most, f.length - done), from = f.backward ? f.length - done - n : done;
      const Tile factors = loaded(f.factors, from, n), terms = loaded(f.terms, from, n);
      const Tile all = k.sbuf(DType::F32, rows, {n, width}), scaled = k.sbuf(DType::F32, rows, {n, width});
      for (int64_t i = 0; i < n; ++i) {
        const int64_t s = f.backward ? n - 1 - i : i;
        const Tile next = all.index(0, s), mid = scaled.index(0, s);
        const Tile a = factors.handle < 0 ? Tile() : factors.index(0, s), b = terms.handle < 0 ? Tile() : terms.index(0, s);
        if (state.handle >= 0) {
          apply(mid, a, f.factors.number, state, f.op0);
          apply(next, b, f.terms.number, mid, f.op1);
        } else if (b.handle >= 0) {
          k.move(next, b);
        } else {
          k.fill(next, f.terms.number);
        }
        state = next;
      }
      k.copy(at(f.out, from, n), inType(k, all, f.type));
    }
  }
};

} // namespace

bool prefersSteps(const Target &target, const ScanForm &f) {
  return !target.has("exact_transpose") && f.inner >= 128 * kLeastColumns;
}

void emitScanSteps(KernelBuilder &k, const ScanForm &f) { Steps(k, f).run(); }

} // namespace glia::emit
