// The operations of a group on one tile: rows on partitions, columns along them. A value is a tile with one element per row and
// column, one element per row, or a number.
#pragma once
#include "RowsPlan.h"

#include <map>

namespace glia::emit {

struct Lane {
  Tile tile;
  bool row = false; // one element per row
  std::optional<double> splat;
  DType type = DType::F32;
};

class RowsLanes {
public:
  explicit RowsLanes(KernelBuilder &k) : k(k) {}
  void resize(int64_t rows, int64_t columns) { nr = rows, nc = columns; }

  Lane pointwise(mlir::Operation *op, llvm::ArrayRef<Lane> in);
  Lane reduce(const Reduction &r, const Lane &in);
  Tile full(const Lane &v) { return at(v, nc); }   // may repeat elements
  Tile whole(const Lane &v);                       // one element each
  Tile constant(DType t, double value, int64_t n); // a number, seen n times
  Tile make(DType t, int64_t n) { return k.sbuf(t, nr, {n}); }
  // The parts that operations are made of. Tiles of n elements; a row's own element is seen n times.
  Tile at(const Lane &v, int64_t n);
  void binary(const Tile &dst, const Lane &a, const Lane &b, std::string_view op);
  void bits(const Tile &dst, const Lane &a, const Lane &b, std::string_view op); // operations on bits
  void forget() { constants.clear(); } // what was made in a loop is not used behind it
  KernelBuilder &k;
  int64_t nr = 1, nc = 1;

private:
  std::map<std::pair<DType, uint64_t>, Tile> constants; // by bits: NaN and -0 are numbers of their own

  ScalarOperand scalar(const Lane &v);
  void divide(const Tile &dst, const Lane &a, const Lane &b);
  void convert(const Tile &dst, const Lane &in, bool toBool, bool fromBool);
  void compare(const Tile &dst, const Lane &a, const Lane &b, std::string_view op);
  void round(const Tile &dst, const Lane &in, std::string_view how);
  void sigmoidByExp(const Tile &dst, const Tile &x, float scale);
  void tanhByExp(const Tile &dst, const Tile &x);
  void logistic(const Tile &dst, const Tile &x);
};

// Whether the operation can be lowered with its types; the reason if not.
std::string refusalOf(mlir::Operation *op);

} // namespace glia::emit
