// How a group of pointwise operations, broadcasts and reductions is laid out: which values are full (one element per row and column),
// which have one element per row, and which are views of an input.
#pragma once
#include "RowsView.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace glia::emit {

// What a group may use of SBUF, in bytes per partition: half of the smallest target's.
inline constexpr int64_t kRowsBudget = kSmallestSbuf / 2;
inline constexpr int64_t kMostInFlight = 6, kLeastInFlight = 2; // tiles that fit in it together
// Bytes of a row that keep the DMA engines busy while the next transfer is begun.
inline constexpr int64_t kGoodRow = 2560;
inline constexpr int64_t kLongestPiece = 4096;             // columns of a long row at a time
inline constexpr int64_t kSumColumns = 512, kSumBanks = 4; // sums over rows live in PSUM

// Uniform: computed from numbers alone, the same everywhere. RowSpread: the elements of `source`, in another shape or repeated along
// rows. Sum: over rows, one element per column. Joined: values side by side; each is stored in its part of the whole.
enum class RowsKind : uint8_t { Splat, Uniform, View, Computed, RowSpread, Sum, Joined };

struct RowsValue {
  RowsKind kind = RowsKind::Computed;
  mlir::Value source; // View: the input, or the iota itself. RowSpread, Uniform: what it repeats, if anything
  Dims view;          // View: per dimension of the value
  int64_t offset = 0; // View: where it begins, in elements
};

struct RowsPart { // of a tensor in HBM, as in RowsValue
  Dims view;
  int64_t offset = 0;
};

struct RowsPlan {
  int64_t elements = 1, rows = 0, columns = 1; // rows 0: any split of the elements will do
  int64_t chunk = 1;                           // columns at a time
  int64_t fold = 1;   // partitions that a row lies on; more than 1 only if it is reduced piece by piece
  int64_t alive = 0;  // bytes per column of what is on chip together
  bool alone = false; // one reduction that does not fit the scheme: see RowsReduce.h
  llvm::DenseMap<mlir::Value, RowsValue> values;
  llvm::MapVector<mlir::Value, std::vector<RowsPart>> joined; // one per operand
  // Rows that are too long for the chip are taken piece by piece, in as many sweeps as reductions need: level n is what can be made in sweep n, or,
  // if there is one of it per row, in front of it.
  int64_t sweeps = 1;
  llvm::DenseMap<mlir::Value, int64_t> level;
  llvm::DenseSet<mlir::Value> after;          // one per row, known after a sweep
  llvm::MapVector<mlir::Value, int64_t> kept; // values with all elements that later sweeps read: the last of these
};

// What a reduction does: one operation of two values, from a start.
struct Reduction {
  std::string_view op; // name of alu_op
  double start = 0;
  bool identity = false; // the start changes nothing
  std::vector<int64_t> dims;
  DType type;
};
// Empty `why` and a reduction, or why it cannot be lowered.
std::optional<Reduction> reductionOf(mlir::Operation *op, std::string &why);

bool isPointwise(llvm::StringRef name); // all operands and results have the same shape (select and clamp: or scalars)
std::string_view comparisonOf(mlir::Operation *compare); // name of alu_op; empty for a total order

// A broadcast whose dimensions stand in the order of its operand's.
bool keepsOrder(mlir::Operation *broadcast);

// nullopt: the operations are not one kernel.
std::optional<RowsPlan> planRows(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace glia::emit
