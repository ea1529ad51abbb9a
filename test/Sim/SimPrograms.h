// Small programs and conversions that the simulator's tests share.
#pragma once
#include "glia/Program/Builder.h"
#include "glia/Sim/Simulator.h"

#include <cstring>
#include <vector>

namespace glia::simtest {

template <class T> std::vector<std::byte> bytes(const std::vector<T> &v) {
  std::vector<std::byte> out(v.size() * sizeof(T));
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}
template <class T> std::vector<T> as(const std::vector<std::byte> &v) {
  std::vector<T> out(v.size() / sizeof(T));
  std::memcpy(out.data(), v.data(), out.size() * sizeof(T));
  return out;
}
inline std::vector<float> floats(const std::vector<std::byte> &v) { return as<float>(v); }
inline std::vector<int32_t> ints(const std::vector<std::byte> &v) { return as<int32_t>(v); }
inline std::vector<float> ramp(size_t n, float start) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = start + static_cast<float>(i);
  return v;
}

// z = x + y on 128 x 16, each input with its own semaphore. `waitFor` is what the add asks of the second one.
inline Program addProgram(const char *target, int waitFor = 16) {
  Builder b(loadTarget(target));
  b.origin("add", "sum", "add.py", 7);
  const ObjectRef x = b.input("x", DType::F32, {128, 16}), y = b.input("y", DType::F32, {128, 16}),
                  z = b.output("z", DType::F32, {128, 16});
  const ObjectRef tx = b.sbuf("tx", DType::F32, {128, 16}, 0, 0), ty = b.sbuf("ty", DType::F32, {128, 16}, 0, 64);
  const int sx = b.semaphore("sx"), sy = b.semaphore("sy"), added = b.semaphore("added"), stored = b.semaphore("stored");
  const int q = b.queue("q");
  b.emit(Engine::Sync, "dma_copy").set("dst", tx).set("src", x).queue(q).then(sx, 16);
  b.emit(Engine::Sync, "dma_copy").set("dst", ty).set("src", y).queue(q).then(sy, 16);
  b.emit(Engine::Vector, "tensor_tensor")
      .set("dst", tx)
      .set("a", tx)
      .set("b", ty)
      .set("op", "add")
      .when(sx, 16)
      .when(sy, waitFor)
      .then(added, 1);
  b.emit(Engine::Sync, "dma_copy").set("dst", z).set("src", tx).queue(q).when(added, 1).then(stored, 16);
  return b.finish();
}

// dst[k] = rows of two elements of `table`, the k-th chosen by index[k]; one row per partition. Waits and updates are the caller's.
inline Emit gatherPairs(Builder &b, ObjectRef dst, ObjectRef table, ObjectRef index, uint32_t rows, int queue) {
  Pattern pairs;
  pairs.rank = 2;
  pairs.dims[0] = {2, rows};
  pairs.dims[1] = {1, 2};
  Emit gather = b.emit(Engine::GpSimd, "dma_copy");
  gather.set("dst", dst).set("src", b.view(table, pairs, 0)).set("src_index", index).set("dge", "swdge").queue(queue);
  return gather;
}

inline void loopStart(Builder &b, Engine e, int iv, int count) {
  b.emit(e, "loop").reg("iv", iv).set("count", count).set("end", 0);
}
inline void loopEnd(Builder &b, Engine e, uint32_t begin) {
  const uint32_t at = b.nextIndex(0, e);
  b.emit(e, "end_loop").set("begin", static_cast<int32_t>(begin));
  b.patchLabel(0, e, begin, at);
}

} // namespace glia::simtest
