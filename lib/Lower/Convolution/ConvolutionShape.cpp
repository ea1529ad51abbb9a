// Reads a convolution's attributes, and takes its axes apart into phases.
#include "Convolution.h"
#include "glia/Lower/Family.h"

#include <numeric>

namespace glia::emit {

namespace {

// The first t >= 0 at which input + t * stride is an element of `size`; false if none of `count` is.
bool meets(int64_t input, int64_t stride, int64_t count, int64_t size) {
  const int64_t t = input < 0 ? (-input + stride - 1) / stride : 0;
  return t < count && input + t * stride < size;
}

// Two outer dimensions, then two spatial ones; missing ones have size 1 and come first.
Tile inOrder(const Tile &t, int64_t a, int64_t b, llvm::ArrayRef<int64_t> spatial) {
  Tile out = t;
  out.dims = {t.dims[static_cast<size_t>(a)], t.dims[static_cast<size_t>(b)]};
  for (size_t i = spatial.size(); i < 2; ++i)
    out.dims.push_back({0, 1});
  for (int64_t d : spatial)
    out.dims.push_back(t.dims[static_cast<size_t>(d)]);
  return out;
}

} // namespace

Tile plainTile(mlir::Value v) {
  Tile t;
  t.dtype = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()).value_or(DType::F32);
  int64_t stride = 1;
  const std::vector<int64_t> shape = shapeOf(v);
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    t.dims.insert(t.dims.begin(), {stride, shape[i]});
  return t;
}

std::vector<ConvolutionPhase> phasesOf(const ConvolutionAxis &a) {
  const int64_t period = a.inputDilation / std::gcd(a.stride, a.inputDilation);
  const int64_t dilation = a.inputDilation / std::gcd(a.kernelDilation, a.inputDilation);
  std::vector<ConvolutionPhase> out;
  for (int64_t first = 0; first < std::min(period, a.output); ++first) {
    ConvolutionPhase p;
    p.first = first;
    p.step = period;
    p.count = (a.output - first + period - 1) / period;
    p.stride = period * a.stride / a.inputDilation;
    p.shift = dilation * a.kernelDilation / a.inputDilation;
    for (int64_t k = 0; k < a.kernel; ++k) {
      const int64_t at = first * a.stride + k * a.kernelDilation - a.low;
      if (at % a.inputDilation == 0)
        p.taps.push_back({a.reverse ? a.kernel - 1 - k : k, at / a.inputDilation});
    }
    const auto idle = [&](const ConvolutionPhase::Tap &t) { return !meets(t.input, p.stride, p.count, a.input); };
    while (!p.taps.empty() && idle(p.taps.back()))
      p.taps.pop_back();
    p.taps.erase(p.taps.begin(), std::find_if_not(p.taps.begin(), p.taps.end(), idle));
    out.push_back(std::move(p));
  }
  return out;
}

Span neededBy(const std::vector<ConvolutionPhase> &phases, int64_t t, int64_t count, int64_t pack) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const ConvolutionPhase &p : phases) {
    const int64_t last = std::min(t + count, p.count) - 1;
    if (last < t || p.taps.empty())
      continue;
    const size_t back = (p.taps.size() - 1) / static_cast<size_t>(pack) * static_cast<size_t>(pack);
    low = std::min(low, p.taps.front().input + t * p.stride);
    high = std::max(high, p.taps[back].input + last * p.stride);
  }
  return low > high ? Span{0, 0} : Span{low, high - low + 1};
}

Span reached(int64_t input, int64_t stride, Span t, int64_t size) {
  int64_t first = t.from, last = t.from + t.count - 1;
  if (input + first * stride < 0)
    first = (-input + stride - 1) / stride;
  if (input + last * stride >= size)
    last = size - 1 - input < 0 ? first - 1 : (size - 1 - input) / stride;
  return {first, std::max<int64_t>(last - first + 1, 0)};
}

Span cut(Span s, int64_t size) {
  const int64_t from = std::max<int64_t>(s.from, 0), to = std::min(s.from + s.count, size);
  return {from, std::max<int64_t>(to - from, 0)};
}

Convolution convolutionOf(graph::ConvolutionOp op, const Tile &input, const Tile &kernel, const Tile &result) {
  const auto n = op.getDimensionNumbers();
  Convolution c;
  c.input = inOrder(input, n.getInputBatchDimension(), n.getInputFeatureDimension(), n.getInputSpatialDimensions());
  c.kernel = inOrder(kernel, n.getKernelOutputFeatureDimension(), n.getKernelInputFeatureDimension(),
                     n.getKernelSpatialDimensions());
  c.result = inOrder(result, n.getOutputBatchDimension(), n.getOutputFeatureDimension(), n.getOutputSpatialDimensions());
  c.groups = static_cast<int64_t>(op.getFeatureGroupCount());
  c.batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  c.type = input.dtype == kernel.dtype ? input.dtype : DType::F32;
  const size_t rank = n.getInputSpatialDimensions().size();
  std::vector<int64_t> padding(2 * rank, 0);
  if (const auto p = op.getPadding()) {
    size_t i = 0;
    for (const llvm::APInt &v : p->getValues<llvm::APInt>())
      padding[i++] = v.getSExtValue();
  }
  for (size_t d = 0; d < 2; ++d) {
    ConvolutionAxis &a = c.axis[d];
    a.input = c.input.dims[2 + d].count;
    a.kernel = c.kernel.dims[2 + d].count;
    a.output = c.result.dims[2 + d].count;
    if (d + rank < 2)
      continue;
    const size_t i = d + rank - 2;
    a.stride = op.getWindowStrides() ? (*op.getWindowStrides())[i] : 1;
    a.inputDilation = op.getLhsDilation() ? (*op.getLhsDilation())[i] : 1;
    a.kernelDilation = op.getRhsDilation() ? (*op.getRhsDilation())[i] : 1;
    a.reverse = op.getWindowReversal() && (*op.getWindowReversal())[i];
    a.low = padding[2 * i];
  }
  return c;
}

Convolution convolutionOf(graph::ConvolutionOp op) {
  return convolutionOf(op, plainTile(op->getOperand(0)), plainTile(op->getOperand(1)), plainTile(op->getResult(0)));
}

bool isLying(const Convolution &c) { return c.axis[0].input == 1 && c.axis[0].kernel == 1 && c.axis[0].output == 1; }

Convolution uprightOf(Convolution c) {
  for (Tile *t : {&c.input, &c.kernel, &c.result})
    *t = t->permuted({0, 1, 3, 2});
  std::swap(c.axis[0], c.axis[1]);
  return c;
}

Convolution groupOf(const Convolution &c, int64_t g) {
  const int64_t all = std::max(c.groups, c.batchGroups);
  Convolution out = c;
  out.groups = out.batchGroups = 1;
  if (all == 1)
    return out;
  const int d = c.groups > 1 ? 1 : 0; // feature groups split the channels of the input, batch groups its batch
  const int64_t part = c.input.dims[static_cast<size_t>(d)].count / all, outputs = c.kernel.dims[0].count / all;
  out.input = c.input.part(d, g * part, part);
  out.kernel = c.kernel.part(0, g * outputs, outputs);
  out.result = c.result.part(1, g * outputs, outputs);
  out.firstOutput = g * outputs;
  return out;
}

} // namespace glia::emit
