// What a moved value is made of: pieces of the tensors that a group reads, each a box of indices with strides. Transposes, slices,
// padding, concatenations and their chains are arithmetic on pieces; nothing moves before the last value of a chain is written.
#pragma once
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

// Along one dimension of a value: the indices from, from + step ..., and how far their elements are apart in the source.
struct PieceAxis {
  int64_t from = 0, step = 1, count = 1, stride = 0;
  bool covers(int64_t n) const { return from == 0 && count == n && (step == 1 || n == 1); }
};

// The source moves by a start index that is known at run time: clamp(0, start, most) * scale elements.
struct PieceShift {
  mlir::Value start;
  int64_t most = 0, scale = 0;
};

struct Piece {
  std::optional<uint32_t> bits; // one number everywhere, or
  mlir::Value source;           // a tensor in HBM, seen as elements of the value's size
  int64_t offset = 0;           // of the first element
  std::vector<PieceAxis> axes;
  std::vector<PieceShift> shifts;
};

// A value; where pieces overlap, later ones lie over earlier ones. Together they cover every index.
using Pieces = std::vector<Piece>;

// Keeps the indices lo, lo + step ... (count of them) and numbers them anew; nullopt if none of them is in the piece.
std::optional<Piece> restricted(Piece p, size_t dim, int64_t lo, int64_t step, int64_t count);

// The numbers of a value that is one number everywhere; nullopt for others and for types that the device does not hold.
std::optional<uint32_t> splatBits(mlir::Value v);

// The pieces of every value that the operations make. nullopt if they cannot be put together (a reshape across pieces).
// The result of an update at run time has none: it is written over its operand.
std::optional<llvm::DenseMap<mlir::Value, Pieces>> planMovement(llvm::ArrayRef<mlir::Operation *> ops);
bool updatesAtRunTime(mlir::Operation *op); // a dynamic_update_slice with a start index that is not known
Pieces piecesOf(mlir::Value v, const llvm::DenseMap<mlir::Value, Pieces> &known);

// The start indices of a dynamic_slice or dynamic_update_slice that take `sizes` of a tensor of the shape `shape` with the strides
// `scales`; what is known at compile time is added to `offset`.
std::vector<PieceShift> shiftsOf(mlir::ValueRange starts, const std::vector<int64_t> &shape,
                                 const std::vector<int64_t> &sizes, const std::vector<int64_t> &scales, int64_t &offset);

} // namespace glia::emit
