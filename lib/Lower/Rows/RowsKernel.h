// The kernel of a group of rows (RowsPlan.h): rows on the partitions, columns along them, tile after tile.
#pragma once
#include "Counts.h"
#include "RowsLanes.h"

namespace glia::emit {

class RowsKernel {
public:
  RowsKernel(KernelBuilder &k, const Group &g, RowsPlan plan, std::span<const Tile> inputs, std::span<const Tile> outputs)
      : k(k), g(g), p(std::move(plan)), inputs(inputs), outputs(outputs), lanes(k) {}

  void run();
  // Instead: rows from `first` on, as many as `tile` has partitions, which holds all columns of them of `input`. Operations of the group
  // that the plan does not know make `input`.
  void run(mlir::Value input, const Tile &tile, int64_t first);
  // Or: what a value is in rows [first, first + n), n <= 128; outputs are stored as in a run.
  Tile make(mlir::Value v, int64_t first, int64_t n);

private:
  KernelBuilder &k;
  const Group &g;
  RowsPlan p;
  std::span<const Tile> inputs, outputs;
  RowsLanes lanes;
  using Lanes = llvm::DenseMap<mlir::Value, Lane>;
  Lanes values;    // of this tile
  Lanes residents; // the same for all rows
  llvm::DenseMap<mlir::Value, std::vector<Tile>> sums;
  llvm::DenseMap<mlir::Value, Tile> partials; // of reductions of long rows
  Counts counts;
  bool alone = false; // nobody else writes to the kernel
  mlir::Value inPsum; // of the residents
  mlir::Value here;   // an input that is on chip, and its rows of this tile
  Tile hereTile;
  int64_t base = 0, rows = 0, columns = 0, row = 0, column = 0;
  int64_t fold = 1; // partitions of a row, at the moment

  void block(int64_t first, int64_t n);
  void pass(int64_t first, int64_t nr, int64_t nc);
  void longRows();
  void sweepPiece(int64_t sweep, Lanes &kept);
  void forgetPieces();
  bool isOfRows(mlir::Value v);
  void spreadRows(const Lanes &single);
  bool isReduction(mlir::Operation *op);
  void addPiece(mlir::Operation *op);
  Lane reduced(mlir::Operation *op);
  void visit(mlir::Operation *op);
  bool isFull(mlir::Value v) const;
  Lane valueOf(mlir::Value v);
  int64_t periodOf(const Dims &columns) const;
  Lane fetch(mlir::Value v, const RowsValue &view);
  bool isBestInPsum(mlir::Value v);
  void storeValue(mlir::Value v, Tile to);
  void storeParts(mlir::Operation *op);
  void storeUniform(const Lane &lane, Tile to, int64_t n);
  void addRows(mlir::Value result, const Lane &v);
  void storeSum(const std::vector<Tile> &sum, Tile to);
};

} // namespace glia::emit
