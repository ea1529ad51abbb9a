#include "MoveOnChip.h"
#include "glia/Verify/StaticRules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace glia::codegen {

using nisa::TensorOperand;

namespace {

constexpr int64_t kMostInstructions = 64; // in place of one transfer
constexpr int64_t kVectorBlock = 32;

using Steps = std::vector<SharedBox::Step>;

// Dimensions of both tiles, merged where both go on without a gap.
struct Walk {
  llvm::SmallVector<int64_t, 8> from, to; // stride, count ...
};

Walk walkOf(const Steps &steps) { // widest in the destination first
  Steps merged;
  for (const SharedBox::Step &s : steps)
    if (!merged.empty() && merged.back().from == s.from * s.count && merged.back().to == s.to * s.count) {
      const int64_t count = merged.back().count * s.count;
      merged.back() = s;
      merged.back().count = count;
    } else {
      merged.push_back(s);
    }
  Walk out;
  for (const SharedBox::Step &s : merged) {
    out.from.append({s.from, s.count});
    out.to.append({s.to, s.count});
  }
  if (merged.empty()) {
    out.from = {1, 1};
    out.to = {1, 1};
  }
  return out;
}

void sortWidest(Steps &steps, int64_t SharedBox::Step::*stride) {
  std::sort(steps.begin(), steps.end(),
            [&](const auto &a, const auto &b) { return std::tie(a.*stride, a.count) > std::tie(b.*stride, b.count); });
}

// One run of partitions, if the steps are one; 0 otherwise.
int64_t runOf(Steps steps, int64_t SharedBox::Step::*stride) {
  sortWidest(steps, stride);
  int64_t n = 1;
  for (const SharedBox::Step &s : llvm::reverse(steps)) {
    if (s.*stride != n)
      return 0;
    n *= s.count;
  }
  return n;
}

class Mover {
public:
  Mover(mlir::OpBuilder &b, mlir::Location loc, const Target &target, mlir::Value stored, const TransferMap &wanted,
        const SharedBox &box, std::vector<mlir::Operation *> &made)
      : target(target), b(b), loc(loc), stored(stored), wanted(wanted), box(box), made(made) {}

  bool run() {
    Steps steps = box.steps;
    sortWidest(steps, &SharedBox::Step::to);
    for (const SharedBox::Step &step : steps) {
      if (step.fromPartition && step.toPartition)
        both.push_back(step);
      else if (step.fromPartition)
        rows.push_back(step);
      else if (step.toPartition)
        columns.push_back(step);
      else
        rest.push_back(step);
      if (step.toPartition && !step.fromPartition && step.from == 0)
        return false; // one element for many partitions
    }
    const bool turned = both.empty() && (!rows.empty() || !columns.empty());
    return turned ? turn() : copy();
  }

private:
  const Target &target;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const mlir::Value stored;
  const TransferMap &wanted;
  const SharedBox &box;
  std::vector<mlir::Operation *> &made;
  Steps both, rows, columns, rest; // partitions of both; of the stored tile; of the loaded one; of none

  TensorOperand operand(mlir::Value tile, DType t, int64_t partition, int64_t partitions, int64_t at,
                        llvm::ArrayRef<int64_t> dims) const {
    TensorOperand o;
    o.tensor = tile;
    o.dtype = t;
    o.partition = static_cast<int32_t>(partition);
    o.partitions = static_cast<int32_t>(partitions);
    o.byteOffset = at * sizeOf(t);
    o.dims.assign(dims.begin(), dims.end());
    return o;
  }
  void emit(const char *name, TensorOperand to, TensorOperand from) {
    made.push_back(nisa::createInstruction(b, loc, *findInstruction(name),
                                           {nisa::SlotValue::of(std::move(to)), nisa::SlotValue::of(std::move(from))})
                       .operation());
  }
  static bool starts(int64_t partition, int64_t partitions) {
    return partition % partitionStep(static_cast<int>(partitions)) == 0;
  }
  static bool fits(const Walk &w) { return w.from.size() <= 8 && w.to.size() <= 8; }

  // Every index of some steps: how far it is in both tiles.
  template <typename F> static bool each(const Steps &steps, F visit) {
    int64_t all = 1;
    for (const SharedBox::Step &step : steps)
      all *= step.count;
    if (all > kMostInstructions)
      return false;
    for (int64_t n = 0; n < all; ++n) {
      int64_t left = n, from = 0, to = 0, fromRows = 0, toRows = 0;
      for (const SharedBox::Step &step : llvm::reverse(steps)) {
        const int64_t i = left % step.count;
        left /= step.count;
        (step.fromPartition ? fromRows : from) += i * step.from;
        (step.toPartition ? toRows : to) += i * step.to;
      }
      if (!visit(fromRows, from, toRows, to))
        return false;
    }
    return true;
  }

  bool copy() {
    const int64_t n = runOf(both, &SharedBox::Step::from);
    const Walk walk = walkOf(rest);
    const auto alike = [](const SharedBox::Step &step) { return step.from == step.to; }; // else partitions change places
    if (!n || !llvm::all_of(both, alike) || !fits(walk))
      return false;
    Steps others = rows;
    others.insert(others.end(), columns.begin(), columns.end());
    return each(others, [&](int64_t fromRows, int64_t from, int64_t toRows, int64_t to) {
      const int64_t p = box.fromPartition + fromRows, q = box.toPartition + toRows;
      if (!starts(p, n) || !starts(q, n))
        return false;
      emit("tensor_copy", operand(wanted.tile, wanted.dtype, q, n, box.to + to, walk.to),
           operand(stored, wanted.dtype, p, n, box.from + from, walk.from));
      return true;
    });
  }

  bool turn() {
    const int64_t p = runOf(rows, &SharedBox::Step::from), f = runOf(columns, &SharedBox::Step::to);
    sortWidest(rows, &SharedBox::Step::from); // a row of the stored tile after the other
    const Walk down = walkOf(rows),
               across = walkOf(columns); // down.to: along the loaded tile; across.from: along the stored one
    if (!p || !f || p > 128 || f > 128)
      return false;
    const DType t = sizeOf(wanted.dtype) == 4 ? DType::F32 : wanted.dtype;
    const bool exact = target.has("exact_transpose") && (t == DType::F32 || t == DType::BF16 || t == DType::F16);
    return exact ? turnThroughPsum(t, p, f, down, across) : turnByBlocks(p, f, down, across);
  }

  // Blocks beside each other leave a bank of PSUM together.
  bool turnThroughPsum(DType t, int64_t p, int64_t f, const Walk &down, const Walk &across) {
    if (!starts(box.fromPartition, p) || !starts(box.toPartition, f))
      return false;
    Steps inner;
    Steps outer = rest;
    const int64_t bank = target.psumBankBytes;
    if (!outer.empty() && outer.back().count * p * sizeOf(t) <= bank) {
      inner.push_back(outer.back());
      outer.pop_back();
    }
    const int64_t blocks = inner.empty() ? 1 : inner[0].count;
    llvm::SmallVector<int64_t, 8> to;
    if (!inner.empty())
      to.append({inner[0].to, blocks});
    to.append(down.to.begin(), down.to.end());
    if (to.size() > 8 || across.from.size() > 8 || blocks * p * sizeOf(t) > bank)
      return false;
    return each(outer, [&](int64_t, int64_t from, int64_t, int64_t at) {
      auto psum = nisa::AllocOp::create(b, loc, nisa::TensorType::get(b.getContext(), Space::Psum, t, {f, blocks * p}),
                                        b.getStringAttr("turned"), mlir::DenseI64ArrayAttr(), mlir::UnitAttr(),
                                        mlir::DenseI64ArrayAttr());
      made.push_back(psum);
      for (int64_t i = 0; i < blocks; ++i)
        emit("nc_transpose", operand(psum.getTensor(), t, 0, f, i * p, {1, p}),
             operand(stored, t, box.fromPartition, p, box.from + from + (inner.empty() ? 0 : i * inner[0].from),
                     across.from));
      emit("tensor_copy", operand(wanted.tile, t, box.toPartition, f, box.to + at, to),
           operand(psum.getTensor(), t, 0, f, 0, {1, blocks * p}));
      return true;
    });
  }

  bool turnByBlocks(int64_t p, int64_t f, const Walk &down, const Walk &across) {
    if (down.to.size() != 2 || across.from.size() != 2 || box.fromPartition % kVectorBlock || box.toPartition % kVectorBlock)
      return false;
    return each(rest, [&](int64_t, int64_t from, int64_t, int64_t at) {
      for (int64_t i = 0; i < p; i += kVectorBlock)
        for (int64_t j = 0; j < f; j += kVectorBlock) {
          const int64_t np = std::min(kVectorBlock, p - i), nf = std::min(kVectorBlock, f - j);
          emit("nc_transpose",
               operand(wanted.tile, wanted.dtype, box.toPartition + j, nf, box.to + at + i * down.to[0], {down.to[0], np}),
               operand(stored, wanted.dtype, box.fromPartition + i, np, box.from + from + j * across.from[0],
                       {across.from[0], nf}));
        }
      return static_cast<int64_t>(made.size()) <= kMostInstructions;
    });
  }
};

} // namespace

bool moveOnChip(mlir::OpBuilder &b, mlir::Location loc, const Target &target, mlir::Value from, const TransferMap &to,
                const SharedBox &box, std::vector<mlir::Operation *> &made) {
  return Mover(b, loc, target, from, to, box, made).run() && static_cast<int64_t>(made.size()) <= kMostInstructions;
}

} // namespace glia::codegen
