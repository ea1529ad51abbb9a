// Pointwise operations behind a contraction or a convolution, done on its result while it is on chip: bias, scale, residual,
// activation, conversion, and a transpose as the way the result is stored. Any family with an anchor can use it:
//
//   joins:  planEpilogue(ops of the group and the new one, the anchor's result) says whether they are an epilogue
//   emit:   Epilogue e(k, g, root, inputs, outputs);
//           for each part of the result: e.block(sums, {rows, columns, ...});    computes and stores everything
#pragma once
#include "Lower/Rows/RowsLanes.h"
#include "ShortProduct.h"

namespace glia::emit {

// A run over a dimension of the anchor's result: every `step`-th index, `count` of them.
struct Loop {
  int dim;
  int64_t count, step = 1;
};

// A part of the anchor's result on chip: rows on partitions, columns along them. The loops name dimensions of the result, slowest
// first; the tile holds rows [row, row + partitions) and columns [column, column + elements) of their flat indices.
struct Block {
  std::vector<Loop> rows, columns;
  int64_t row = 0, column = 0;
  std::vector<int64_t>
      start; // per dimension of the result, where its loops begin (also for dimensions without one); empty: 0
};

// How the operations see the anchor's result.
struct EpiloguePlan {
  enum Kind : uint8_t { Splat, View, Made };
  struct Value {
    Kind kind = Made;
    mlir::Value source;     // View: the tensor in HBM
    Dims view;              // View: per dimension of the value
    int64_t offset = 0;     // View: where it begins
    std::vector<int> place; // Made: the result's dimension that each of its dimensions is; -1 for sizes of 1
  };
  mlir::Value root;
  llvm::DenseMap<mlir::Value, Value> values;
};

// `ops` are the anchor, which gives `root`, and others in program order; `products`: short products may be among them, and blocks are
// parts of rows and columns as the anchor has them. nullopt: they are not an epilogue of the anchor.
std::optional<EpiloguePlan> planEpilogue(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root, bool products = false);

// Bytes per partition that the epilogue needs for blocks of `columns` columns, one being computed while another is stored.
int64_t epilogueBytes(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root, int64_t columns);

// Nobody but reductions reads the value: it is better computed with them than stored.
bool onlyReduced(mlir::Value v);

class Epilogue {
public:
  Epilogue(KernelBuilder &k, const Group &g, mlir::Value root, std::span<const Tile> inputs, std::span<const Tile> outputs,
           bool products = false);
  // For each tensor in HBM that is read or written: its strides over the dimensions of the result. Dimensions may be run over as
  // one if all of these allow it.
  const std::vector<std::vector<int64_t>> &strides() const { return all; }
  // In a run-time loop: from here on blocks are `step` indices of a dimension further with each iteration. still(): no longer.
  void moved(int dim, int reg, int64_t step);
  void still();
  // `sums` is fp32, or in SBUF in the type of the result; `byScalar`: that engine takes them from PSUM.
  void block(const Tile &sums, const Block &b, bool byScalar = false);
  int64_t steps() const; // operations of a block that run over its elements

private:
  struct Tensor {
    Tile tile;
    std::vector<int64_t> strides;
  };
  struct Kept { // a tile that is the same for all rows
    const Tensor *tensor;
    int64_t offset, column, columns;
    Lane lane;
  };
  KernelBuilder &k;
  const Group &g;
  EpiloguePlan plan;
  RowsLanes lanes;
  std::vector<std::vector<int64_t>> all;
  llvm::DenseMap<mlir::Value, Tensor> outs;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, Tensor> ins; // operands that are views
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<ShortProduct>> products;
  llvm::DenseMap<mlir::Value, Lane> values; // of this block
  std::vector<Kept> kept;

  std::vector<int64_t> stridesOf(const Dims &view, const std::vector<int> &place) const;
  bool staysInPsum() const;
  Lane fetch(const Tensor &t, DType type, const Block &b);
  void store(mlir::Value v, const Lane &lane, const Block &b);
};

} // namespace glia::emit
