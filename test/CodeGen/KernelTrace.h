// A short way to write kernels in tests.
#pragma once
#include "glia/Dialect/Trace.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Diagnostic.h"

#include <cstring>
#include <string>
#include <vector>

namespace glia {

using nisa::SlotValue;

inline int32_t choice(const char *instruction, const char *slot, std::string_view name) {
  const InstrDef &d = *findInstruction(instruction);
  const auto names = d.slots[d.slot(slot)].names->names;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<int32_t>(i);
  throw Error("TEST", "no such choice: " + std::string(name));
}

struct KernelTrace {
  nisa::Trace t;
  int line = 0; // the next instruction's; 0: none
  explicit KernelTrace(const char *target = "trn2", int cores = 1) : t("k", target, cores) {}

  int input(const char *name, DType d, std::vector<int64_t> shape) { return t.tensor("input", name, d, shape, true, {}); }
  int output(const char *name, DType d, std::vector<int64_t> shape) { return t.tensor("output", name, d, shape, true, {}); }
  int sbuf(const char *name, DType d, std::vector<int64_t> shape, int64_t partition = -1, int64_t byte = -1) {
    return t.alloc(Space::Sbuf, name, d, shape, partition, byte);
  }
  int psum(const char *name, DType d, std::vector<int64_t> shape, int64_t partition = -1, int64_t byte = -1) {
    return t.alloc(Space::Psum, name, d, shape, partition, byte);
  }

  SlotValue all(int tensor) const { return SlotValue::of(nisa::wholeTensor(t.tensorValue(tensor))); }
  // On chip: partitions [p0, p1), elements [c0, c1) of each.
  SlotValue box(int tensor, int p0, int p1, int64_t c0, int64_t c1) const {
    nisa::TensorOperand o = nisa::wholeTensor(t.tensorValue(tensor));
    o.partition = p0;
    o.partitions = p1 - p0;
    o.byteOffset = c0 * sizeOf(o.dtype);
    o.dims = {1, c1 - c0};
    return SlotValue::of(std::move(o));
  }
  // In HBM: elements [c0, c1).
  SlotValue flat(int tensor, int64_t c0, int64_t c1) const {
    SlotValue v = box(tensor, 0, 0, c0, c1);
    return v;
  }
  SlotValue plus(SlotValue v, int reg, int64_t bytes, bool partition = false) const {
    v.tensor.terms.push_back({t.registerValue(reg), bytes, partition});
    return v;
  }
  SlotValue reg(int r) const { return SlotValue::of(t.registerValue(r)); }
  static SlotValue none() { return {}; }

  int emit(const char *name, std::vector<SlotValue> values, int engine = -1) {
    const int loc = line ? t.location("kernel.py", line, name) : 0;
    return t.emit(*findInstruction(name), std::move(values), engine, loc, "");
  }
  int load(int dst, int src) { return emit("dma_copy", {all(dst), all(src)}); }
  int store(int dst, int src) { return load(dst, src); }
  int binary(const char *op, SlotValue dst, SlotValue a, SlotValue b, int engine = -1) {
    return emit("tensor_tensor", {dst, a, b, SlotValue::of(choice("tensor_tensor", "op", op))}, engine);
  }
  int matmul(SlotValue dst, SlotValue stationary, SlotValue moving, int32_t accumulate = nisa::kAccumulateAuto) {
    return emit("nc_matmul", {dst, stationary, moving, SlotValue::of(accumulate)});
  }
  int scale(SlotValue dst, SlotValue src, float by, int engine = -1) {
    return emit("tensor_scalar", {dst, src, SlotValue::of(choice("tensor_scalar", "op0", "multiply")), SlotValue::of(by)},
                engine);
  }
  nisa::Kernel finish() { return t.finish(); }
};

template <class T> std::vector<std::byte> bytesOf(const std::vector<T> &v) {
  std::vector<std::byte> out(v.size() * sizeof(T));
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}
template <class T> std::vector<T> valuesOf(const std::vector<std::byte> &b) {
  std::vector<T> out(b.size() / sizeof(T));
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}
// Small numbers that differ from each other, exact in fp32 sums.
inline std::vector<float> ramp(size_t n, int modulus = 13, int shift = 5) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = static_cast<float>(static_cast<int>(i * 7 % modulus) - shift);
  return v;
}

inline std::vector<std::string> codesOf(const std::vector<Diagnostic> &ds) {
  std::vector<std::string> out;
  for (const Diagnostic &d : ds)
    out.push_back(d.code);
  return out;
}

} // namespace glia
