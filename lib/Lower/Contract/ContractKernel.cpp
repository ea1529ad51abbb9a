#include "ContractKernel.h"
#include "TurnedOperand.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <functional>

namespace glia::emit {

namespace {

constexpr int64_t kLoopBatches = 256; // of one iteration of a run-time loop
constexpr int64_t kSquare = 512;      // rows that are multiplied with a block of columns before the next one
constexpr int64_t kFirstBlocks = 8;   // of the contraction, at most, that come together for the first products

class ContractKernel {
public:
  ContractKernel(KernelBuilder &k, const ContractPlan &p, Epilogue &epilogue, mlir::Value root)
      : k(k), p(p), epilogue(epilogue), place(root.getLoc()), rank(shapeOf(root).size()), leftSource(p.left),
        rightSource(p.right), shares(k.target()) {}

  void run() {
    if (p.batches * p.nr * p.nc == 0)
      return;
    if (p.nk == 0)
      return zeros();
    k.location(place);
    for (PanelSource *s : {&leftSource, &rightSource}) {
      prepareTurning(k, *s);
      s->turning.shares = &shares;
    }
    const bool down = p.rowsStay || p.piece;
    if ((p.asItPasses || p.firstApart) && (down ? p.turnRight : p.turnLeft))
      turned = packedLike(k, down ? rightSource : leftSource, p.chunk);
    if (p.turnLeft && (down || !turned))
      leftSource = turnOnce(k, leftSource, down ? p.panel : p.chunk);
    if (p.turnRight && (!down || !turned))
      rightSource = turnOnce(k, rightSource, down ? p.chunk : p.panel);
    if (p.loop == ContractPlan::None)
      return range({0, p.batches}, {0, p.nr}, {0, p.nc});
    if (p.ahead)
      return oneAhead();
    // Whole steps in the loop, what is left over behind it.
    const int64_t base = firstApart();
    const Range b{0, p.batches}, r{0, p.nr}, c{0, p.nc};
    switch (p.loop) {
    case ContractPlan::Batches: {
      const int64_t step = std::max(p.together, std::min(p.batches / 2, kLoopBatches / p.together * p.together));
      repeat(p.batch[0], p.batches / step, step, [&] { range({0, step}, r, c); });
      return range({p.batches / step * step, p.batches}, r, c);
    }
    case ContractPlan::Rows: {
      repeat(p.rows[0], (p.nr - base) / p.panel, p.panel, [&] { range(b, {base, base + p.panel}, c); });
      return range(b, {p.nr - (p.nr - base) % p.panel, p.nr}, c);
    }
    default: {
      const int64_t step = p.rowsStay || p.piece ? p.chunk : p.panel;
      repeat(p.columns[0], (p.nc - base) / step, step, [&] { range(b, r, {base, base + step}); });
      return range(b, r, {p.nc - (p.nc - base) % step, p.nc});
    }
    }
  }

private:
  KernelBuilder &k;
  const ContractPlan &p;
  Epilogue &epilogue;
  mlir::Location place;
  size_t rank;
  PanelSource leftSource, rightSource;
  std::optional<PanelSource> turned; // what passes by, where it goes when it does so for the first time
  TurnShares shares;
  int64_t batch = 0, together = 1;

  // A part of an operand on chip, filled when it is needed.
  struct Operand {
    Panel panel;
    const PanelSource *source;
    int64_t filled = 0;
  };

  struct Range {
    int64_t from, to;
  };

  // The first panel of what stays, if what passes it is turned meanwhile: where the others begin. `ahead`: the next one.
  int64_t firstApart(Operand *ahead = nullptr) {
    if (!p.firstApart)
      return 0;
    const bool down = p.loop == ContractPlan::Rows;
    Operand first = make(down ? leftSource : rightSource, 0, p.panel);
    if (ahead)
      ahead->panel.from = p.panel;
    if (down)
      passColumns(first, 0, p.panel, {0, p.nc}, ahead);
    else
      passRows(first, 0, p.panel, {0, p.nr}, ahead);
    (down ? rightSource : leftSource) = *turned;
    turned.reset();
    return p.panel;
  }

  // Panels of what stays in a loop, two in turns: one is multiplied while the next is loaded and turned.
  void oneAhead() {
    const bool down = p.loop == ContractPlan::Rows;
    const PanelSource &stays = down ? leftSource : rightSource;
    Operand now = make(stays, 0, p.panel), next = make(stays, 0, p.panel);
    const auto begin = [&](Operand &panel, int64_t from) {
      panel.panel.from = from;
      panel.filled = 0;
    };
    const auto multiply = [&](Operand &panel, int64_t at, Operand *ahead = nullptr) {
      panel.panel.from = at;
      if (down)
        passColumns(panel, at, p.panel, {0, p.nc}, ahead);
      else
        passRows(panel, at, p.panel, {0, p.nr}, ahead);
    };
    const int64_t base = firstApart(&now), all = down ? p.nr : p.nc, pairs = ((all - base) / p.panel - 1) / 2;
    need(now, p.panel);
    repeat(down ? p.rows[0] : p.columns[0], pairs, 2 * p.panel, [&] {
      begin(next, base + p.panel);
      multiply(now, base, &next);
      begin(now, base + 2 * p.panel);
      multiply(next, base + p.panel, &now);
    });
    multiply(now, base + 2 * pairs * p.panel);
    const Range rest{base + (2 * pairs + 1) * p.panel, all}, whole{0, down ? p.nc : p.nr};
    down ? range({0, 1}, rest, whole) : range({0, 1}, whole, rest);
  }

  void repeat(const ContractAxis &axis, int64_t count, int64_t step, const std::function<void()> &body) {
    k.location(place);
    const int reg = k.loop(count);
    const auto move = [&](PanelSource &s, size_t side) {
      if (axis.strides[side])
        s.tensor.moves.push_back({reg, step * (!s.packed                         ? axis.strides[side]
                                               : p.loop == ContractPlan::Batches ? packedBatch(s)
                                                                                 : packedColumn(s))});
    };
    move(leftSource, p.rowSide);
    move(rightSource, 1 - p.rowSide);
    epilogue.moved(axis.root, reg, step);
    body();
    k.endLoop();
    leftSource.tensor.moves.clear();
    rightSource.tensor.moves.clear();
    epilogue.still();
  }

  void range(Range b, Range r, Range c) {
    if (r.from == r.to || c.from == c.to)
      return;
    for (batch = b.from; batch < b.to; batch += p.together) {
      together = std::min(p.together, b.to - batch);
      if (p.piece)
        inPieces(r, c);
      else if (p.rowsStay)
        rowsStay(r, c);
      else
        columnsStay(r, c);
    }
  }

  Operand make(const PanelSource &s, int64_t from, int64_t width) {
    Operand out{makeWide(k, s, together, 0, p.blocks, width), &s};
    out.panel.from = from;
    return out;
  }

  // Its first `width` free elements: 128 at a time where they are turned, else a tile.
  void need(Operand &o, int64_t width) {
    k.location(place);
    const int64_t most = p.blocks > 1 && turnsOnChip(k.target(), *o.source) ? kContract : o.panel.step;
    for (const int64_t all = o.panel.width(); o.filled < width;) {
      const int64_t n = std::min({most, o.panel.step - o.filled % o.panel.step, all - o.filled});
      fillPart(k, o.panel, *o.source, batch, together, 0, p.blocks, o.filled, n);
      o.filled += n;
    }
  }

  Panel load(const PanelSource &s, int64_t from, int64_t width, int64_t block, int64_t blocks) {
    k.location(place);
    return loadWide(k, s, batch, together, block, blocks, from, width);
  }

  // Of what stays.
  Operand panel(const PanelSource &s, int64_t from, int64_t width) {
    if (!p.nextBeside)
      shares.meet();
    return make(s, from, width);
  }

  void rowsStay(Range rows, Range columns) {
    for (int64_t r = rows.from; r < rows.to; r += p.panel) {
      const int64_t nr = std::min(p.panel, rows.to - r);
      Operand stays = panel(leftSource, r, nr);
      passColumns(stays, r, nr, columns);
    }
  }

  // A part of what passes by, the `pass`th time.
  Operand passing(const PanelSource &s, int64_t from, int64_t width, int64_t pass) {
    const int64_t kept = p.inTwoPasses ? from / p.chunk % 2 : 0; // in which pass
    Operand out = make(turned && pass > kept ? *turned : s, from, width);
    if (turned && pass == kept) {
      need(out, width);
      for (int64_t x = 0; const Tile &piece : out.panel.pieces) {
        for (int64_t b = 0; b < together; ++b)
          storePacked(k, *turned, piece.index(0, b), batch + b, from + x, piece.dims[2].count, 0, p.blocks);
        x += out.panel.step;
      }
    }
    return out;
  }

  // The same of some blocks of the contraction.
  Panel passing(const PanelSource &s, int64_t from, int64_t width, int64_t pass, int64_t block, int64_t blocks) {
    const int64_t kept = p.inTwoPasses ? from / p.chunk % 2 : 0;
    Panel out = load(turned && pass > kept ? *turned : s, from, width, block, blocks);
    if (turned && pass == kept)
      for (int64_t x = 0; const Tile &piece : out.pieces) {
        storePacked(k, *turned, piece.index(0, 0), batch, from + x, piece.dims[2].count, block, blocks);
        x += out.step;
      }
    return out;
  }

  // What stays; as much of the contraction as is needed, if it is not there yet.
  const Panel &staying(Operand &o, int64_t block, int64_t blocks) {
    const int64_t width = o.panel.width();
    k.location(place);
    for (int64_t x = 0; o.filled < width && x < width; x += o.panel.step)
      fillPart(k, o.panel, *o.source, batch, 1, block, blocks, x, std::min(o.panel.step, width - x));
    if (block + blocks == p.blocks)
      o.filled = width;
    return o.panel;
  }

  // `ahead`: the next of what stays, which is filled between the products.
  void passColumns(Operand &stays, int64_t r, int64_t nr, Range columns, Operand *ahead = nullptr) {
    for (int64_t c = columns.from; c < columns.to; c += p.chunk) {
      const int64_t nc = std::min(p.chunk, columns.to - c);
      fillAhead(ahead, c - columns.from, columns.to - columns.from);
      if (p.depth) {
        growing(
            r, nr, c, nc, p.depth, [&](int64_t block, int64_t n) { return staying(stays, block, n); },
            [&](int64_t block, int64_t n) { return passing(rightSource, c, nc, r / p.panel, block, n); });
        continue;
      }
      Operand passes = passing(rightSource, c, nc, r / p.panel);
      products(stays, r, nr, passes, c, nc);
    }
  }

  void columnsStay(Range rows, Range columns) {
    for (int64_t c = columns.from; c < columns.to; c += p.panel) {
      const int64_t nc = std::min(p.panel, columns.to - c);
      Operand stays = panel(rightSource, c, nc);
      passRows(stays, c, nc, rows);
    }
  }

  void passRows(Operand &stays, int64_t c, int64_t nc, Range rows, Operand *ahead = nullptr) {
    for (int64_t r = rows.from; r < rows.to; r += p.chunk) {
      const int64_t nr = std::min(p.chunk, rows.to - r);
      fillAhead(ahead, r - rows.from, rows.to - rows.from);
      if (p.depth) {
        growing(
            r, nr, c, nc, p.depth,
            [&](int64_t block, int64_t n) { return passing(leftSource, r, nr, c / p.panel, block, n); },
            [&](int64_t block, int64_t n) { return staying(stays, block, n); });
        continue;
      }
      Operand passes = passing(leftSource, r, nr, c / p.panel);
      products(passes, r, nr, stays, c, nc);
    }
  }

  // All of it before the last chunk of what passes by.
  void fillAhead(Operand *ahead, int64_t passed, int64_t all) {
    if (!ahead)
      return;
    const int64_t width = ahead->panel.width(), last = (all - 1) / p.chunk * p.chunk;
    need(*ahead, last ? width * passed / last : width);
  }

  void products(Operand &left, int64_t r, int64_t nr, Operand &right, int64_t c, int64_t nc) {
    // Several narrow products share a bank, an epilogue and its transfers.
    const int64_t beside = nc == p.nc && nc <= kColumnBlock ? kColumnBlock / nc : 1, whole = nr / kRowBlock;
    const bool rowsBeside = beside > 1 && whole > 1 && p.rows.size() == 1,
               batchesBeside = beside > 1 && together > 1 && nr == p.nr && nr <= kRowBlock && p.batch.size() == 1;
    if (!rowsBeside && !batchesBeside)
      return inSquares(left, r, nr, right, c, nc);
    need(left, nr);
    need(right, nc);
    if (rowsBeside) {
      for (int64_t b = 0; b < together; ++b) {
        for (int64_t i = 0; i < whole; i += beside)
          rowBlocks(left.panel, right.panel, b, r + i * kRowBlock, std::min(beside, whole - i));
        if (nr % kRowBlock)
          product(left.panel, right.panel, b, r + whole * kRowBlock, nr % kRowBlock, c, nc);
      }
    } else {
      for (int64_t b = 0; b < together; b += beside)
        batches(left.panel, right.panel, b, std::min(beside, together - b));
    }
  }

  // Parts of rows and of columns in turns, so that each part that comes has all the others to be multiplied with.
  void inSquares(Operand &left, int64_t r, int64_t nr, Operand &right, int64_t c, int64_t nc) {
    const int64_t wide = p.right.block, down = (nr + kSquare - 1) / kSquare, across = (nc + wide - 1) / wide;
    const bool begun = left.filled == 0 && right.filled == 0 && together == 1 && !left.source->made;
    if (begun)
      asTheyCome(left, r, std::min(nr, kSquare), right, c, std::min(nc, wide));
    const auto square = [&](int64_t i, int64_t j) {
      if (i == 0 && j == 0 && begun)
        return;
      const int64_t x = j * wide, columns = std::min(wide, nc - x), end = std::min(nr, (i + 1) * kSquare);
      for (int64_t b = 0; b < together; ++b)
        for (int64_t y = i * kSquare; y < end; y += kRowBlock) {
          const int64_t rows = std::min(kRowBlock, nr - y);
          need(left, y + rows);
          need(right, x + columns);
          product(left.panel, right.panel, b, r + y, rows, c + x, columns);
        }
    };
    for (int64_t i = 0; i < std::max(down, across); ++i) {
      if (i < across)
        for (int64_t j = 0; j < std::min(i, down); ++j)
          square(j, i);
      if (i < down)
        for (int64_t j = 0; j <= std::min(i, across - 1); ++j)
          square(i, j);
    }
  }

  // At most four sums, which grow while both operands come, some blocks of the contraction at a time.
  void asTheyCome(Operand &left, int64_t r, int64_t nr, Operand &right, int64_t c, int64_t nc) {
    std::vector<Tile> sums;
    for (int64_t y = 0; y < nr; y += kRowBlock)
      sums.push_back(k.psum(std::min(kRowBlock, nr - y), {nc}));
    for (int64_t block = 0, n = left.source->byBytes || right.source->byBytes ? kFirstBlocks : 4; block < p.blocks;
         block += n, n = std::min(2 * n, kFirstBlocks)) {
      n = std::min(n, p.blocks - block);
      k.location(place);
      fillPart(k, left.panel, *left.source, batch, 1, block, n, 0, nr);
      fillPart(k, right.panel, *right.source, batch, 1, block, n, 0, nc);
      for (size_t i = 0; i < sums.size(); ++i)
        multiply(sums[i], left.panel, right.panel, 0, r + static_cast<int64_t>(i) * kRowBlock, sums[i].partitions, c, nc,
                 block, n);
    }
    for (size_t i = 0; i < sums.size(); ++i)
      leave(sums[i], blockAt(0, r + static_cast<int64_t>(i) * kRowBlock, c));
    left.filled = nr;
    right.filled = nc;
  }

  void multiply(const Tile &sum, const Panel &left, const Panel &right, int64_t b, int64_t y, int64_t rows, int64_t x,
                int64_t columns, int64_t first = 0, int64_t blocks = -1) {
    k.location(place);
    for (int64_t i = 0; i < (blocks < 0 ? p.blocks : blocks); ++i) {
      const int64_t depth = std::min(kContract, p.nk - (first + i) * kContract);
      k.matmul(sum, left.at(b, first + i, y, rows).rows(0, depth), right.at(b, first + i, x, columns).rows(0, depth),
               first + i > 0);
      shares.multiplied(columns, p.left.type == DType::F32);
    }
  }

  // The sums, and how their epilogue counts among the work of engines.
  void leave(const Tile &sum, const Block &at) {
    const bool turns = p.left.byBytes || p.right.byBytes; // which keeps Vector busy
    epilogue.block(sum, at, turns && shares.scalarTakes(sum.elements()));
    shares.left(sum.elements() * epilogue.steps());
  }

  void product(const Panel &left, const Panel &right, int64_t b, int64_t y, int64_t rows, int64_t x, int64_t columns) {
    const Tile sum = k.psum(rows, {columns});
    multiply(sum, left, right, b, y, rows, x, columns);
    leave(sum, blockAt(b, y, x));
  }

  void rowBlocks(const Panel &left, const Panel &right, int64_t b, int64_t y, int64_t n) {
    const Tile sum = k.psum(kRowBlock, {n * p.nc});
    for (int64_t i = 0; i < n; ++i)
      multiply(sum.columns(i * p.nc, p.nc), left, right, b, y + i * kRowBlock, kRowBlock, 0, p.nc);
    Block at = blockAt(b, 0, 0);
    at.rows = {{p.rows[0].root, kRowBlock}};
    at.columns.insert(at.columns.begin(), {p.rows[0].root, n, kRowBlock});
    at.start[static_cast<size_t>(p.rows[0].root)] = y;
    leave(sum, at);
  }

  void batches(const Panel &left, const Panel &right, int64_t b, int64_t n) {
    const Tile sum = k.psum(p.nr, {n * p.nc});
    for (int64_t i = 0; i < n; ++i)
      multiply(sum.columns(i * p.nc, p.nc), left, right, b + i, 0, p.nr, 0, p.nc);
    Block at = blockAt(b, 0, 0);
    at.columns.insert(at.columns.begin(), {p.batch[0].root, n});
    leave(sum, at);
  }

  // The contraction in pieces, several sums at a time.
  void inPieces(Range rowRange, Range columnRange) {
    for (int64_t r = rowRange.from; r < rowRange.to; r += p.panel)
      for (int64_t c = columnRange.from; c < columnRange.to; c += p.chunk) {
        const int64_t nr = std::min(p.panel, rowRange.to - r), nc = std::min(p.chunk, columnRange.to - c);
        growing(
            r, nr, c, nc, p.piece, [&](int64_t block, int64_t n) { return load(leftSource, r, nr, block, n); },
            [&](int64_t block, int64_t n) { return load(rightSource, c, nc, block, n); });
      }
  }

  // All sums of these rows and columns, while `piece` blocks of the contraction come at a time.
  using PartOf = llvm::function_ref<Panel(int64_t block, int64_t blocks)>;
  void growing(int64_t r, int64_t nr, int64_t c, int64_t nc, int64_t piece, PartOf leftPart, PartOf rightPart) {
    struct Sum {
      Tile tile;
      int64_t y, x;
    };
    std::vector<Sum> sums;
    for (int64_t y = r; y < r + nr; y += kRowBlock)
      for (int64_t x = c; x < c + nc; x += p.right.block)
        sums.push_back({k.psum(std::min(kRowBlock, r + nr - y), {std::min(p.right.block, c + nc - x)}), y, x});
    for (int64_t first = 0; first < p.blocks; first += piece) {
      const int64_t n = std::min(piece, p.blocks - first);
      const Panel left = leftPart(first, n), right = rightPart(first, n);
      for (const Sum &s : sums) {
        multiply(s.tile, left, right, 0, s.y, s.tile.partitions, s.x, s.tile.elements(), first, n);
        if (first + n == p.blocks)
          leave(s.tile, blockAt(0, s.y, s.x));
      }
    }
  }

  Block blockAt(int64_t b, int64_t y, int64_t x) const {
    Block at;
    at.start.assign(rank, 0);
    int64_t left = batch + b;
    for (size_t i = p.batch.size(); i-- > 0; left /= p.batch[i].count)
      at.start[static_cast<size_t>(p.batch[i].root)] = left % p.batch[i].count;
    for (const ContractAxis &a : p.rows)
      at.rows.push_back({a.root, a.count});
    for (const ContractAxis &a : p.columns)
      at.columns.push_back({a.root, a.count});
    at.row = y;
    at.column = x;
    return at;
  }

  // Sums of nothing.
  void zeros() {
    for (batch = 0; batch < p.batches; ++batch)
      for (int64_t y = 0; y < p.nr; y += kRowBlock)
        for (int64_t x = 0; x < p.nc; x += kColumnBlock) {
          const Tile sum = k.sbuf(DType::F32, std::min(kRowBlock, p.nr - y), {std::min(kColumnBlock, p.nc - x)});
          k.fill(sum, 0);
          epilogue.block(sum, blockAt(0, y, x));
        }
  }
};

} // namespace

void writeContraction(KernelBuilder &k, const ContractPlan &plan, Epilogue &epilogue, mlir::Value root) {
  ContractKernel(k, plan, epilogue, root).run();
}

} // namespace glia::emit
