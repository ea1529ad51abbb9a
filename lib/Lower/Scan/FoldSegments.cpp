// A tile is [segments, parts, steps, columns]. Step after step all parts are folded at once; what the parts come to is folded by doubling
// distances, along the partition and then, turned, across partitions; last, each element takes what came before its part. Floats
// that lie along a partition are folded by the instruction that scans instead of step by step.
#include "FoldSegments.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace glia::emit {

namespace {

constexpr int64_t kElements = 4096; // of a tile, per partition
constexpr int64_t kColumns = 128;   // that are turned at a time
constexpr int64_t kLeast = 16;      // steps of a segment
constexpr int64_t kStep = 64;       // elements of an instruction, per partition
// Elements of all rows, per partition, that are visited one by one: each is a place of its own to the compiler, which takes milliseconds for it.
// Beyond it all steps are folded by doubling distances.
constexpr int64_t kApart = 16384, kDoubled = 1024;

class Fold {
public:
  Fold(KernelBuilder &k, const FoldForm &f) : k(k), f(f), type(isFloat(f.c.type) ? DType::F32 : sumType(f.c)) {
    scans = isFloat(f.c.type) && !f.backward && f.inner == 1;
    segments = std::clamp<int64_t>(128 / f.outer, 1, std::max<int64_t>(1, f.length / kLeast));
  }

  void run() {
    const int64_t together = std::max<int64_t>(1, 128 / segments);
    for (outer = 0; outer < f.outer; outer += together) {
      rows = std::min(together, f.outer - outer);
      for (column = 0; column < f.inner; column += kColumns) {
        width = std::min(kColumns, f.inner - column);
        before = startsNeutral() ? Tile() : begin();
        const int64_t most = std::max<int64_t>(1, (isMuch() && !scans ? kDoubled : kElements) / width) * segments;
        const int64_t pieces = (f.length + most - 1) / most, piece = (f.length + pieces - 1) / pieces;
        for (int64_t i = 0; i < pieces; ++i) {
          const int64_t at = (f.backward ? pieces - 1 - i : i) * piece;
          fold(at, std::min(piece, f.length - at));
        }
      }
    }
  }

private:
  KernelBuilder &k;
  const FoldForm &f;
  const DType type; // of partial results
  bool scans;
  int64_t segments;
  int64_t outer = 0, rows = 0, column = 0, width = 0;
  Tile before; // what the pieces so far come to: [columns, rows] if there are segments, else [rows, columns]

  bool isMuch() const { return f.outer * f.length * f.inner > kApart * 128 && f.inner < kStep; }
  double neutral() const { return neutralOf(f.c.op, f.c.type, f.c.logical); }

  bool startsNeutral() const { return isNeutral(f.c.op, f.start, f.c.type, f.c.logical); }
  Tile begin() {
    const Tile t = segments == 1 ? k.sbuf(type, rows, {width}) : k.sbuf(type, width, {rows, 1, 1});
    k.fill(t, f.start);
    return t;
  }

  // Steps [at, at + n) of these rows and columns.
  void fold(int64_t at, int64_t n) {
    const int64_t each = (n + segments - 1) / segments, used = (n + each - 1) / each;
    int64_t parts = 1; // as many as a step should have elements for
    while (!scans && parts * width < kStep && parts * parts < each)
      parts *= 2;
    if (parts > 1 && isMuch())
      parts = each;
    const int64_t steps = (each + parts - 1) / parts, held = parts * steps;
    const Tile loaded = k.sbuf(f.c.type, rows * used, {held * width});
    if (n != used * held)
      k.fill(loaded, neutral());
    transfer(loaded, at, n, each, used, true);
    const Tile x = widened(k, f.c, loaded).reshaped({parts, steps, width});
    const Tile sums = scans ? scanned(x.reshaped({steps})).reshaped({1, steps, 1}) : stepped(x);
    const Tile done = withCarry(sums, used);
    transfer(inType(k, done.reshaped({held * width}), f.c.type), at, n, each, used, false);
  }

  // Between the tile and HBM: segments of `each` steps, of which the last may be shorter.
  void transfer(const Tile &chip, int64_t at, int64_t n, int64_t each, int64_t used, bool load) {
    const int64_t full = n / each, rest = n % each;
    const auto part = [&](int64_t from, int64_t count, int64_t row, int64_t rowCount, int64_t segment, int64_t m) {
      Tile hbm = load ? f.in : f.out;
      hbm.offset += ((outer + row) * f.length + at + segment * each) * f.inner + column;
      hbm.dims = {{f.length * f.inner, rowCount}, {each * f.inner, count / rowCount}, {f.inner, m}, {1, width}};
      const Tile t = chip.rows(from, count).columns(0, m * width);
      load ? k.copy(t, hbm) : k.copy(hbm, t);
    };
    if (rest == 0) {
      part(0, rows * used, 0, rows, 0, each);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (full > 0)
        part(r * used, full, r, 1, 0, each);
      part(r * used + full, 1, r, 1, full, rest);
    }
  }

  Tile scanned(const Tile &x) {
    const bool adds = f.c.op == "add", multiplies = f.c.op == "multiply";
    const Tile sums = k.sbuf(DType::F32, x.partitions, x.shape());
    if (adds || multiplies) {
      const Tile one = k.sbuf(DType::F32, x.partitions, {1});
      k.fill(one, 1);
      const Tile ones = one.broadcast(0, x.elements());
      k.scan(sums, adds ? ones : x, adds ? x : ones, neutral(), "multiply", adds ? "add" : "multiply");
    } else {
      k.scan(sums, x, x, neutral(), f.c.op, f.c.op);
    }
    return sums;
  }

  Tile stepped(const Tile &x) {
    const int64_t steps = x.dims[1].count;
    const Tile sums = x.dtype == type ? x : k.sbuf(type, x.partitions, x.shape());
    const auto at = [&](const Tile &t, int64_t i) { return t.index(1, f.backward ? steps - 1 - i : i); };
    if (x.dtype != type)
      k.move(at(sums, 0), at(x, 0));
    for (int64_t i = 1; i < steps; ++i)
      combine(k, f.c, at(sums, i), at(sums, i - 1), at(x, i));
    return sums;
  }

  // [.., n, ..] along dimension 1 of three: the fold of the elements up to each one.
  Tile doubled(Tile x) {
    const int64_t n = x.dims[1].count;
    for (int64_t step = 1; step < n; step *= 2) {
      const Tile y = k.sbuf(type, x.partitions, x.shape());
      const int64_t near = f.backward ? 0 : step, far = step - near, rest = f.backward ? n - step : 0;
      combine(k, f.c, y.part(1, near, n - step), x.part(1, near, n - step), x.part(1, far, n - step));
      k.move(y.part(1, rest, step), x.part(1, rest, step));
      x = y;
    }
    return x;
  }

  // What comes before each element of dimension 1 of three, given the folds up to each one and what comes before them
  // all, [.., 1, ..] or nothing.
  Tile shifted(const Tile &x, const Tile &first) {
    const int64_t n = x.dims[1].count;
    const Tile y = k.sbuf(type, x.partitions, x.shape()), head = y.part(1, f.backward ? n - 1 : 0, 1);
    if (first.handle < 0)
      k.fill(head, neutral());
    else
      k.move(head, first);
    if (n == 1)
      return y;
    const Tile tail = y.part(1, f.backward ? 0 : 1, n - 1), from = x.part(1, f.backward ? 1 : 0, n - 1);
    if (first.handle < 0)
      k.move(tail, from);
    else
      combine(k, f.c, tail, from, spread(first, n - 1));
    return y;
  }
  static Tile spread(const Tile &t, int64_t n) { return n == 1 ? t : t.broadcast(1, n); }

  Tile withCarry(const Tile &sums, int64_t used) {
    const int64_t parts = sums.dims[0].count, steps = sums.dims[1].count;
    const Tile lasts = sums.index(1, f.backward ? 0 : steps - 1).inserted(0); // [1, parts, columns]
    const Tile folds = parts > 1 ? doubled(lasts) : lasts;
    const Tile whole = folds.part(1, f.backward ? 0 : parts - 1, 1).reshaped({width});
    const Tile prior = segments == 1 ? before : acrossPartitions(whole, used); // [columns], before this segment
    if (segments == 1)
      before = joined(whole, prior);
    if (parts == 1 && prior.handle < 0)
      return sums;
    const Tile carry = shifted(folds, prior.handle < 0 ? Tile() : prior.reshaped({1, 1, width}));
    if (!scans) {
      Tile all = carry.reshaped({parts, 1, width});
      if (steps > 1)
        all = all.broadcast(1, steps);
      combine(k, f.c, sums, sums, all);
      return sums;
    }
    const Tile out = k.sbuf(type, sums.partitions, sums.shape());
    k.scalar(out, sums, f.c.op, carry.reshaped({1}));
    return out;
  }

  // With what came before, if anything did.
  Tile joined(const Tile &x, const Tile &prior) {
    const Tile y = k.sbuf(type, x.partitions, x.shape());
    if (prior.handle < 0)
      k.move(y, x);
    else
      combine(k, f.c, y, x, prior);
    return y;
  }

  // [columns] on each partition, in the order of rows and their segments: what comes before each segment.
  Tile acrossPartitions(const Tile &whole, int64_t used) {
    const int64_t p = whole.partitions;
    const Tile turned = k.sbuf(type, width, {p});
    transposeTile(k, turned, whole);
    const Tile folds = doubled(turned.reshaped({rows, used, 1})); // [rows, segments, 1] of a column
    const Tile prior = shifted(folds, before);
    before = joined(folds.part(1, f.backward ? 0 : used - 1, 1), before);
    const Tile back = k.sbuf(type, p, {width});
    transposeTile(k, back, prior.reshaped({p}));
    return back;
  }
};

} // namespace

void emitFoldSegments(KernelBuilder &k, const FoldForm &f) { Fold(k, f).run(); }

} // namespace glia::emit
