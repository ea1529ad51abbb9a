#include "WindowScan.h"
#include "Lower/Scan/FoldSegments.h"
#include "Lower/Scan/ScanKernel.h"

namespace glia::emit {

std::optional<WindowScan> scanOf(const std::vector<WindowDim> &dims) {
  constexpr int64_t kShort = 12;
  WindowScan s;
  bool found = false;
  for (const WindowDim &d : dims) {
    if (d.isPlain()) {
      (found ? s.inner : s.outer) *= d.in;
      continue;
    }
    const bool grows = d.size == d.in && d.out == d.in && d.stride == 1 && d.dilation == 1 && d.base == 1;
    if (found || !grows || (d.low != 0 && d.low != d.in - 1) || d.in < kShort)
      return std::nullopt;
    found = true;
    s.length = d.in;
    s.backward = d.low == 0;
  }
  if (!found)
    return std::nullopt;
  return s;
}

namespace {

// The instruction that scans has a state in fp32, and wants rows on the partitions.
bool scansRows(const Target &target, const WindowScan &s, const Combiner &c) {
  constexpr int64_t kRows = 64, kColumns = 32;
  if (!isFloat(c.type) || sizeOf(c.type) < 2 || (s.backward && !scansBackward(target, c.type, s.inner)))
    return false;
  return s.inner == 1 ? s.outer >= kRows : target.has("exact_transpose") && s.inner >= kColumns;
}

} // namespace

void emitScan(KernelBuilder &k, const WindowScan &s, const Combiner &c, double start, const Tile &in, const Tile &out) {
  if (!scansRows(k.target(), s, c))
    return emitFoldSegments(k, {s.outer, s.length, s.inner, s.backward, c, start, in, out});
  const bool multiplies = c.op == "multiply";
  const ScanOperand x{in, 0}, one{{}, 1}, nothing{{}, -0.0};
  emitScan(k, {s.outer, s.length, s.inner, s.backward, c.type, "multiply", multiplies ? "add" : c.op, multiplies ? x : one,
               multiplies ? nothing : x, ScanOperand{{}, start}, out});
}

} // namespace glia::emit
