// dot_general: sums of products over any dimensions. Both operands are seen as matrices with the contraction on the partitions, in
// blocks that the Tensor engine takes: 128 contracted elements, 128 rows and 512 columns of the result; sums stay in PSUM over the
// whole contraction.
#include "Families.h"
#include "OperandTiles.h"
#include "glia/Graph/Graph.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kRows = 128, kContract = 128;

using Dims = llvm::ArrayRef<int64_t>;

// Dimensions of two tensors that run together (x[i] with y[i]), merged where they lie together in both.
void mergeTogether(const Tile &x, const std::vector<int64_t> &xs, const Tile &y, const std::vector<int64_t> &ys,
                   std::vector<Tile::Dim> &xOut, std::vector<Tile::Dim> &yOut) {
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tile::Dim a = x.dims[static_cast<size_t>(xs[i])], b = y.dims[static_cast<size_t>(ys[i])];
    if (a.count == 1)
      continue;
    if (!xOut.empty() && xOut.back().stride == a.stride * a.count && yOut.back().stride == b.stride * b.count) {
      xOut.back() = {a.stride, xOut.back().count * a.count};
      yOut.back() = {b.stride, yOut.back().count * b.count};
    } else {
      xOut.push_back(a);
      yOut.push_back(b);
    }
  }
  if (xOut.empty()) {
    xOut.push_back({1, 1});
    yOut.push_back({1, 1});
  }
}

// Offsets of all combinations of all dimensions but the last.
std::vector<int64_t> outerOffsets(const std::vector<Tile::Dim> &dims) {
  std::vector<int64_t> out{0};
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t o : out)
      for (int64_t i = 0; i < dims[d].count; ++i)
        next.push_back(o + i * dims[d].stride);
    out = std::move(next);
  }
  return out;
}

Tile matrixAt(const Tile &t, int64_t offset, Tile::Dim rows, Tile::Dim columns) {
  Tile out = t;
  out.offset += offset;
  out.dims = {rows, columns};
  return out;
}

struct Side { // one operand; the last of each are the sides of its matrices, the others are walked one by one
  const Tile *tensor;
  std::vector<Tile::Dim> free, contract;
};

std::vector<int64_t> rest(size_t rank, Dims a, Dims b) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(a, static_cast<int64_t>(d)) && !llvm::is_contained(b, static_cast<int64_t>(d)))
      out.push_back(static_cast<int64_t>(d));
  return out;
}

class Contraction {
public:
  Contraction(KernelBuilder &k, graph::DotGeneralOp op, const Tile &lhs, const Tile &rhs, const Tile &out) : k(k), out(out) {
    const auto n = op.getDotDimensionNumbers();
    const auto vec = [](Dims d) { return std::vector<int64_t>(d.begin(), d.end()); };
    // The order of the contracted dimensions does not matter as long as it is the same on both sides: as the left side lies.
    std::vector<size_t> order(n.getLhsContractingDimensions().size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return n.getLhsContractingDimensions()[a] < n.getLhsContractingDimensions()[b]; });
    std::vector<int64_t> lc, rc;
    for (size_t i : order) {
      lc.push_back(n.getLhsContractingDimensions()[i]);
      rc.push_back(n.getRhsContractingDimensions()[i]);
    }
    lbatch = vec(n.getLhsBatchingDimensions());
    rbatch = vec(n.getRhsBatchingDimensions());
    const std::vector<int64_t> lfree = rest(lhs.dims.size(), lbatch, lc), rfree = rest(rhs.dims.size(), rbatch, rc);
    a.tensor = &lhs;
    b.tensor = &rhs;
    mergeTogether(lhs, lc, rhs, rc, a.contract, b.contract);
    batches(lhs, rhs);
    // The result is [batch, left free, right free].
    std::vector<int64_t> om, on;
    for (size_t d = 0; d < lfree.size(); ++d)
      om.push_back(static_cast<int64_t>(lbatch.size() + d));
    for (size_t d = 0; d < rfree.size(); ++d)
      on.push_back(static_cast<int64_t>(lbatch.size() + lfree.size() + d));
    mergeTogether(lhs, lfree, out, om, a.free, outM);
    mergeTogether(rhs, rfree, out, on, b.free, outN);
    type = lhs.dtype == DType::F32 || rhs.dtype == DType::F32 ? DType::F32 : lhs.dtype;
  }

  void run() {
    for (const Batch &batch : all)
      for (size_t m = 0; m < outerOffsets(a.free).size(); ++m)
        for (size_t n = 0; n < outerOffsets(b.free).size(); ++n)
          product(batch, outerOffsets(a.free)[m], outerOffsets(outM)[m], outerOffsets(b.free)[n], outerOffsets(outN)[n]);
  }

private:
  struct Batch {
    int64_t lhs, rhs, out;
  };
  KernelBuilder &k;
  Tile out;
  Side a, b;
  std::vector<int64_t> lbatch, rbatch;
  std::vector<Tile::Dim> outM, outN;
  std::vector<Batch> all;
  DType type;

  void batches(const Tile &lhs, const Tile &rhs) {
    all = {{0, 0, 0}};
    for (size_t i = 0; i < lbatch.size(); ++i) {
      std::vector<Batch> next;
      const Tile::Dim x = lhs.dims[static_cast<size_t>(lbatch[i])], y = rhs.dims[static_cast<size_t>(rbatch[i])],
                      o = out.dims[i];
      for (const Batch &s : all)
        for (int64_t n = 0; n < x.count; ++n)
          next.push_back({s.lhs + n * x.stride, s.rhs + n * y.stride, s.out + n * o.stride});
      all = std::move(next);
    }
  }

  // One product of matrices: all of the contraction, one run of rows and columns.
  void product(const Batch &batch, int64_t m, int64_t outm, int64_t n, int64_t outn) {
    const Tile::Dim M = a.free.back(), N = b.free.back(), K = a.contract.back();
    const std::vector<int64_t> ka = outerOffsets(a.contract), kb = outerOffsets(b.contract);
    const int64_t columns = k.target().integer("limit.moving_free_fp32") < 512 ? 256 : 512;
    const int64_t blocks = (K.count + kContract - 1) / kContract * static_cast<int64_t>(ka.size());
    for (int64_t c = 0; c < N.count; c += columns) {
      const int64_t nc = std::min(columns, N.count - c);
      // The right block stays on chip for all rows if it fits in a third of what a kernel may use.
      const bool stays = blocks * nc * sizeOf(type) <= k.target().sbufBytes / 6;
      std::vector<Tile> right;
      if (stays)
        for (int64_t i = 0; i < blocks; ++i)
          right.push_back(block(b, batch.rhs + n, kb, i, c, nc));
      for (int64_t r = 0; r < M.count; r += kRows) {
        const int64_t nr = std::min(kRows, M.count - r);
        const Tile sum = k.psum(nr, {nc});
        for (int64_t i = 0; i < blocks; ++i) {
          const Tile left = block(a, batch.lhs + m, ka, i, r, nr);
          k.matmul(sum, left, stays ? right[static_cast<size_t>(i)] : block(b, batch.rhs + n, kb, i, c, nc), i > 0);
        }
        const Tile result = k.sbuf(out.dtype, nr, {nc});
        k.move(result, sum);
        k.copy(matrixAt(out, batch.out + outm + outn, outM.back(), outN.back()).part(0, r, nr).part(1, c, nc), result);
      }
    }
  }

  // Block i of the contraction x [from, from + count) of the free side, contraction on the partitions.
  Tile block(const Side &s, int64_t offset, const std::vector<int64_t> &outer, int64_t i, int64_t from, int64_t count) {
    const Tile::Dim K = s.contract.back();
    const int64_t per = (K.count + kContract - 1) / kContract;
    const int64_t first = i % per * kContract;
    const Tile matrix = matrixAt(*s.tensor, offset + outer[static_cast<size_t>(i / per)], K, s.free.back());
    return loadBlock(k, matrix, first, std::min(kContract, K.count - first), from, count, type);
  }
};

class ContractFamily : public Family {
public:
  std::string_view name() const override { return "dot"; }
  std::optional<std::string> accepts(mlir::Operation *op) const override {
    auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
    if (!dot)
      return std::nullopt;
    for (mlir::Value v : {op->getOperand(0), op->getOperand(1), mlir::Value(op->getResult(0))}) {
      const auto t = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
      if (!t)
        return "the device does not hold its element type";
      if (!isFloat(*t))
        return "sums of products of integers";
    }
    return "";
  }
  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    auto op = llvm::cast<graph::DotGeneralOp>(g.ops[0]);
    auto at = [&](mlir::Value v) { // the same tensor may be on both sides
      return inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
    };
    k.location(op.getLoc());
    Contraction(k, op, at(op->getOperand(0)), at(op->getOperand(1)), outputs[0]).run();
  }
};

} // namespace

const Family &contractFamily() {
  static const ContractFamily family;
  return family;
}

} // namespace glia::emit
