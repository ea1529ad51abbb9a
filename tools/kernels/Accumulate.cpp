// Sums in PSUM of which the compiler finds out who writes first (`accumulate=auto`): in straight lines, over a part and then over
// all, onto what a memset or another engine left, and through loops.
#include "Generator.h"

#include <algorithm>

namespace glia::kernels {

// One matmul onto the tile, or onto the window of it that a loop has reached.
void Generator::accumulate(int core, Tile &sum, mlir::Value iv, int64_t columns) {
  static const Types types = {DType::F32, DType::BF16};
  const DType u = type(types);
  const int k = static_cast<int>(r.between(1, 32));
  const int64_t n = iv ? columns : sum.elements;
  Draft d(core, TENSOR, "nc_matmul");
  d.matmul = true;
  // Where some elements have a sum and some have not, it is taken apart: the operands are such that it can be.
  d.in("stationary", view(source(core, Space::Sbuf, {u}, k, sum.partitions, true), {{1, sum.partitions}}, 0, 0, k));
  d.in("moving", view(source(core, Space::Sbuf, {u}, k, n, true), {{1, n}}, 0, 0, k));
  d.out("dst", iv ? moved(view(sum, {{1, n}}), iv, n * sizeOf(sum.dtype)) : whole(sum));
  d.set("accumulate", nisa::kAccumulateAuto);
  add(d);
}

void Generator::firstWrites(int core) {
  const DType u = has("bf16_psum") && r.chance(30) ? DType::BF16 : DType::F32;
  Tile &sum = allocate(core, Space::Psum, u, static_cast<int>(r.between(1, 64)), r.between(1, 24));
  if (sum.pinned)
    return;
  switch (r.below(4)) {
  case 0: { // zeros, which the first matmul replaces
    Draft d(core, VECTOR, "memset");
    d.out("dst", whole(sum));
    add(d);
    break;
  }
  case 1: fill(sum); break; // other numbers, likewise
  case 2:
    for (int64_t parts = inLoop() ? 0 : r.between(1, 2); parts > 0; --parts) { // some elements have a sum already
      const int64_t n = r.between(1, sum.elements), from = r.below(sum.elements - n + 1);
      Draft d(core, TENSOR, "nc_matmul");
      d.matmul = true;
      const int k = static_cast<int>(r.between(1, 32)), m = r.chance(50) ? sum.partitions : std::min(sum.partitions, 32);
      d.in("stationary", view(source(core, Space::Sbuf, {DType::BF16}, k, m, true), {{1, m}}, 0, 0, k));
      d.in("moving", view(source(core, Space::Sbuf, {DType::BF16}, k, n, true), {{1, n}}, 0, 0, k));
      d.out("dst", view(sum, {{1, n}}, from, 0, m)).set("accumulate", nisa::kAccumulateAuto);
      add(d);
    }
    break;
  default: break;
  }
  for (int64_t times = r.between(1, 3); times > 0; --times)
    accumulate(core, sum);
}

} // namespace glia::kernels
