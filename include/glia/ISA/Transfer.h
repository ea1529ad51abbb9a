// What the DMA instructions share: walking a tensor in element order, dealing rows to parts, copying, indexed rows.
// Strict mode: every read of a run of elements is noted just before the write of the same elements.
#pragma once
#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

namespace glia {

// Elements of a region in row-major order, partitions outermost. A run is a stretch of the innermost dimension.
class RunCursor {
public:
  // Starts at element `first` of the region.
  RunCursor(const Region &r, int64_t first);
  std::byte *at() const { return region->row(partition) + offset; }
  int64_t stride() const { return strides[rank - 1]; } // bytes between elements of the run
  int64_t left() const { return counts[rank - 1] - index[rank - 1]; }
  void advance(int64_t n); // n <= left()
  int partition = 0;
  int64_t offset = 0; // bytes from the partition's first element

private:
  const Region *region;
  int rank = 0;
  std::array<int64_t, kMaxDims> strides{}, counts{}, index{}; // adjacent dimensions merged
};

// Elements [begin, end) of `elements` that belong to part x.part: row r of `rows` equal rows belongs to part r * parts / rows.
struct Share {
  int64_t begin, end;
};
Share shareOf(const Exec &x, int64_t rows, int64_t elements);
// The rows a plain transfer is dealt by: partitions of the destination, else of the source, else single elements.
int64_t transferRows(const Region &dst, const Region &src);

// dst[dstFirst + k] = src[srcFirst + k] for k in [0, n). Equal types are copied bit by bit, others are cast through fp32.
void copyElements(Exec &x, int dstSlot, const Region &dst, int64_t dstFirst, int srcSlot, const Region &src,
                  int64_t srcFirst, int64_t n);

void zeroElements(const Region &dst);

// ---- indexed rows: one side is in HBM, row i of it starts at its own start + index[i] * indexStride ------------------

// The rows of an indexed operand when there are `count` indices: its leading dimension counts the indices. A leading dimension
// that is a multiple of `count` is split (slices merge adjacent dimensions). `stride` 0 means the leading dimension's own.
struct IndexedRows {
  bool ok = false; // false: the leading dimension is not a multiple of the number of indices
  int64_t count = 0;
  int64_t stride = 0; // elements per unit of the index
  int64_t rowElements = 0;
  int64_t low = 0, high = 0; // a row touches elements [low, high) relative to its start
  uint8_t rank = 0;          // dimensions of one row
  std::array<Dim, kMaxDims> dims{};
};
IndexedRows indexedRows(const Pattern &p, int64_t count, int64_t indexStride);
// The same as a region whose base is row 0; shift `base` and `start` by index * stride for the others.
struct IndexedRegion {
  Region row;
  IndexedRows shape;
};
IndexedRegion indexedRegion(const Region &r, int64_t count, int64_t indexStride);

enum class OutOfRange : uint8_t { Error, Skip };
const EnumNames &outOfRangeNames(); // "error" "skip"
enum class Dge : uint8_t { None, Swdge, Hwdge };
const EnumNames &dgeNames(); // "none" "swdge" "hwdge"

// Index i of the index operand (partition first within a column), as a number.
int64_t indexAt(Exec &x, int slot, int64_t i);
// Points `r.row` at the row the index names. False: out of range and to be skipped. Traps DGE-OOB in error mode.
bool placeRow(Exec &x, IndexedRegion &r, const Region &origin, int slot, int64_t index, OutOfRange mode);

// ---- rules shared by DMA instructions ----------------------------------------------------------------------------------
void checkDge(Check &c, int dgeSlot, std::initializer_list<int> tensors, bool indexed, bool casts); // DGE-MODE
// DMA-INDEX: `rows` rows of the indexed operand, or (0) as many as there are indices, one per partition.
void checkIndex(Check &c, int indexedSlot, int indexSlot, int64_t indexStride, int64_t rows = 0);
// DMA-ELEMENTS
void checkElements(Check &c, int dstSlot, int srcSlot);
// What issuing a transfer costs its engine; the transfer itself is timed by the DMA model.
Cost issueCost(const CostQuery &q);

} // namespace glia
