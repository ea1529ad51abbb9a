#include "SplitMatmul.h"
#include "InstrFacts.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/StaticRules.h"

#include <algorithm>

using namespace mlir;

namespace glia::nisa {

enum { DST, STATIONARY, MOVING, ACCUMULATE };

// Restricts the free elements to [begin, begin + count), in their order. False if no pattern says that. `skip`: leading
// dimensions that stay whole (the two rows of double_row).
static bool slice(TensorOperand &t, int64_t begin, int64_t count, size_t skip) {
  SmallVector<int64_t, 8> dims(t.dims.begin(), t.dims.begin() + 2 * static_cast<ptrdiff_t>(skip));
  const ArrayRef<int64_t> rest = ArrayRef(t.dims).drop_front(2 * skip);
  int64_t inner = 1; // elements of one step of the dimension being looked at
  for (size_t k = 1; k < rest.size(); k += 2)
    inner *= rest[k];
  if (begin == 0 && count == inner)
    return true;
  int64_t shift = 0;
  for (size_t k = 0; k < rest.size(); k += 2) {
    inner /= rest[k + 1];
    if (begin / inner == (begin + count - 1) / inner && inner > 1) { // one index of this dimension
      shift += begin / inner * rest[k];
      begin %= inner;
      if (begin == 0 && count == inner) {
        dims.append(rest.begin() + static_cast<ptrdiff_t>(k) + 2, rest.end());
        break;
      }
      continue;
    }
    if (begin % inner || count % inner)
      return false;
    shift += begin / inner * rest[k];
    dims.append({rest[k], count / inner});
    dims.append(rest.begin() + static_cast<ptrdiff_t>(k) + 2, rest.end());
    break;
  }
  t.dims = dims;
  t.byteOffset += shift * sizeOf(t.dtype);
  return true;
}

namespace {

struct Piece {
  int32_t row = 0, rows = 0;    // partitions of dst, from its own first one
  int64_t first = 0, count = 0; // elements
  bool accumulates = false;
};

// Runs of equal elements, each cut so that both dst and moving have a pattern for it.
std::string columnsOf(const Adds::Band &band, int32_t row, const TensorOperand &dst, const TensorOperand &moving,
                      size_t skip, std::vector<Piece> &out) {
  const int64_t n = static_cast<int64_t>(band.elements.size());
  for (int64_t e = 0; e < n;) {
    int64_t end = e;
    while (end < n && band.elements[end] == band.elements[e])
      ++end;
    int64_t count = end - e;
    for (; count > 0; --count) {
      TensorOperand a = dst, b = moving;
      if (slice(a, e, count, 0) && slice(b, e, count, skip))
        break;
    }
    if (count == 0)
      return "its columns cannot be addressed one by one";
    out.push_back({row, band.count, e, count, band.elements[e] == static_cast<uint8_t>(Adding::Accumulates)});
    e += count;
  }
  return {};
}

} // namespace

std::string splitMatmul(Instr i, const Adds &adds, int32_t dstPartition) {
  const bool doubleRow = i.integer("perf_mode") != 0;
  const SlotValue dst = i.value(DST), stationary = i.value(STATIONARY), moving = i.value(MOVING);
  const size_t skip = doubleRow ? 1 : 0;
  if (doubleRow && (moving.tensor.dims[1] != 2 || stationary.tensor.dims[1] != 2))
    return "double_row with merged rows cannot be split";
  std::vector<Piece> pieces;
  for (const Adds::Band &band : adds.bands) {
    const int32_t row = band.first - dstPartition;
    if (std::string why = columnsOf(band, row, dst.tensor, moving.tensor, skip, pieces); !why.empty())
      return why;
    const int32_t start = addressOf(dst.tensor.tensor).partition + band.first;
    if (start % partitionStep(band.count))
      return format("the rows from partition %d on would be a matmul of their own, and %d rows start at a multiple of %d",
                    start, band.count, partitionStep(band.count));
    TensorOperand part = stationary.tensor;
    if (!slice(part, row, band.count, skip))
      return "the columns of its stationary operand cannot be taken apart";
  }
  if (adds.bands.size() > 1 && (i.integer("tile_rows") || i.integer("tile_cols")))
    return "a matmul on a tile of the array cannot be split by rows";

  OpBuilder b(i.operation());
  for (const Piece &p : pieces) {
    SmallVector<SlotValue> values;
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      values.push_back(i.value(static_cast<int>(k)));
    values[DST].tensor.partition += p.row;
    values[DST].tensor.partitions = p.rows;
    slice(values[DST].tensor, p.first, p.count, 0);
    slice(values[MOVING].tensor, p.first, p.count, skip);
    slice(values[STATIONARY].tensor, p.row, p.rows, skip);
    values[ACCUMULATE] = SlotValue::of(static_cast<int32_t>(p.accumulates));
    const Instr piece = createInstruction(b, i->getLoc(), i.def(), values);
    for (const NamedAttribute &a : i->getAttrs())
      if (a.getName() != "slots" && (a.getName() != "id" || &p == &pieces.back()))
        piece->setAttr(a.getName(), a.getValue());
  }
  i->erase();
  return {};
}

} // namespace glia::nisa
