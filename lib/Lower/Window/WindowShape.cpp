#include "WindowShape.h"
#include "glia/Graph/Graph.h"

#include <algorithm>
#include <numeric>

namespace glia::emit {

namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

std::vector<int64_t> list(mlir::Operation *op, llvm::StringRef name, size_t n, int64_t otherwise) {
  if (auto a = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name))
    return {a.asArrayRef().begin(), a.asArrayRef().end()};
  std::vector<int64_t> out;
  if (auto e = op->getAttrOfType<mlir::DenseIntElementsAttr>(name))
    for (const llvm::APInt &v : e.getValues<llvm::APInt>())
      out.push_back(v.getSExtValue());
  out.resize(n, otherwise);
  return out;
}

} // namespace

TapRun WindowDim::run(int64_t t, int64_t from, int64_t to) const {
  const int64_t shift = t * dilation - low; // output o reads place o * stride + shift, element place / base if it divides
  TapRun r;
  r.step = base / std::gcd(stride, base);
  r.stride = r.step * stride / base;
  r.from = std::max(from, ceilDiv(-shift, stride));
  const int64_t last = std::min(to - 1, floorDiv((in - 1) * base - shift, stride));
  for (int64_t tries = 0; tries < r.step && (r.from * stride + shift) % base != 0; ++tries)
    ++r.from;
  if (in == 0 || r.from > last || (r.from * stride + shift) % base != 0)
    return r;
  r.count = (last - r.from) / r.step + 1;
  r.at = (r.from * stride + shift) / base;
  return r;
}

bool WindowDim::reachesAll(int64_t t) const {
  const TapRun r = run(t, 0, out);
  return r.count == out;
}

bool WindowDim::isPadded() const {
  for (int64_t t = 0; t < size; ++t)
    if (!reachesAll(t))
      return true;
  return false;
}

std::pair<int64_t, int64_t> WindowDim::inputs(int64_t from, int64_t to) const {
  const int64_t first = std::max<int64_t>(0, ceilDiv(from * stride - low, base));
  const int64_t last = std::min(in, floorDiv((to - 1) * stride + (size - 1) * dilation - low, base) + 1);
  return {first, last};
}

int64_t WindowDim::mostInputs(int64_t outputs) const {
  return std::min(in, ((outputs - 1) * stride + (size - 1) * dilation) / base + 1);
}

std::vector<WindowDim> windowDims(mlir::Operation *op, mlir::Value in, mlir::Value out) {
  const std::vector<int64_t> a = shapeOf(in), b = shapeOf(out);
  const size_t rank = a.size();
  const std::vector<int64_t> size = list(op, "window_dimensions", rank, 1), stride = list(op, "window_strides", rank, 1),
                             base = list(op, "base_dilations", rank, 1), dilation = list(op, "window_dilations", rank, 1),
                             padding = list(op, "padding", 2 * rank, 0);
  const Dims from = contiguous(a), to = contiguous(b);
  std::vector<WindowDim> dims;
  for (size_t d = 0; d < rank; ++d) {
    WindowDim w{a[d], b[d], size[d], stride[d], dilation[d], base[d], padding[2 * d], from[d].stride, to[d].stride};
    if (w.size == 1)
      w.dilation = 1;
    if (w.in == 1)
      w.base = 1;
    if (w.out == 1)
      w.stride = 1;
    if (w.isPlain() && w.in == 1)
      continue;
    if (w.isPlain() && !dims.empty() && dims.back().isPlain()) {
      WindowDim &before = dims.back();
      before.in = before.out = before.in * w.in;
      before.inStride = w.inStride;
      before.outStride = w.outStride;
    } else {
      dims.push_back(w);
    }
  }
  return dims;
}

} // namespace glia::emit
