// How a group is laid out whose reductions go over an axis that is not the last: [outer, depth, inner], of which depth is reduced. A value
// is full (one element for each), or kept (one for each outer and inner index). Inner elements stay neighbours along a partition, so
// transfers are as they lie; the partitions are
//   outer indices and groups of inner ones     the whole depth lies along a partition, and nothing crosses partitions
//   parts of the depth, of one outer index     what the partitions have is put together at the end
#pragma once
#include "RowsPlan.h"

namespace glia::emit {

// Spread: a kept value, the same for the whole depth. Same: the elements of `source` in another shape.
enum class SlabsKind : uint8_t { Splat, View, Full, Kept, Spread, Same };

struct SlabsValue {
  SlabsKind kind = SlabsKind::Full;
  mlir::Value source;                     // View: the input, or the iota itself. Spread, Same: what it repeats
  Dims view;                              // View: per dimension of the value
  Dims outer;                             // View: along the outer indices,
  int64_t alongDepth = 0, alongInner = 0; // the depth and the inner ones, in elements
  int level = 0;                          // reductions that have to be done before it is known
};

struct SlabsPlan {
  int64_t outer = 1, depth = 0, inner = 1;
  int levels = 0;         // of full values
  bool parts = false;     // the partitions are parts of the depth
  int64_t width = 1;      // inner elements along a partition
  int64_t groups = 1;     // of so many, on partitions
  int64_t rows = 1;       // of the depth along a partition at a time; all of them if full values wait for a reduction
  bool fewSpreads = true; // PSUM has room for what comes back from reductions
  llvm::DenseMap<mlir::Value, SlabsValue> values;

  int64_t full() const { return outer * depth * inner; }
  int64_t kept() const { return outer * inner; }
};

// nullopt: the operations are not one kernel of this kind.
std::optional<SlabsPlan> planSlabs(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace glia::emit
