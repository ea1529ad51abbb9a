// Convolution in any number of spatial dimensions. The input is packed to [batch][positions][channels], the kernel to
// [group][taps][channels][outputs]; each output position sums over the taps that meet an element. Sums are in double (integers in 64
// bits) and rounded once.
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

struct Window {
  Shape strides, low, inputDilation, kernelDilation, reversal;
};

struct Sizes {
  int64_t batch, channels, outputs, groupChannels, groupOutputs, groups, batchGroups;
  Shape input, kernel, output; // spatial
};

// t with its dimensions in the order `order`, row-major.
template <class T> std::vector<T> pack(const Tensor &t, const Shape &order) {
  const Shape own = rowMajor(t.shape);
  Shape shape, strides;
  for (int64_t d : order) {
    shape.push_back(t.shape[d]);
    strides.push_back(own[d]);
  }
  std::vector<Word> words(t.count());
  copyStrided(shape, words.data(), 0, rowMajor(shape), t.words(), 0, strides);
  std::vector<T> out(words.size());
  std::transform(words.begin(), words.end(), out.begin(), [](Word w) { return std::bit_cast<T>(w); });
  return out;
}

// For each spatial dimension, output position and tap: the input position, or -1.
std::vector<std::vector<int64_t>> meetings(const Sizes &s, const Window &w) {
  std::vector<std::vector<int64_t>> table(s.input.size());
  for (size_t d = 0; d < s.input.size(); ++d)
    for (int64_t o = 0; o < s.output[d]; ++o)
      for (int64_t k = 0; k < s.kernel[d]; ++k) {
        const int64_t tap = w.reversal[d] ? s.kernel[d] - 1 - k : k;
        const int64_t at = o * w.strides[d] + tap * w.kernelDilation[d] - w.low[d];
        const int64_t i = at / w.inputDilation[d];
        table[d].push_back(at >= 0 && at % w.inputDilation[d] == 0 && i < s.input[d] ? i : -1);
      }
  return table;
}

template <class T>
void convolve(const Sizes &s, const Window &w, const std::vector<T> &in, const std::vector<T> &kernel, T *out) {
  const auto table = meetings(s, w);
  const size_t rank = s.input.size();
  const int64_t taps = countOf(s.kernel), positions = countOf(s.output), places = countOf(s.input);
  const Shape inputStrides = rowMajor(s.input);
  const int64_t batches = s.batch / s.batchGroups; // of the output
  std::vector<int64_t> source(taps);               // input position of each tap, or -1
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t t = 0; t < taps; ++t) {
      int64_t at = 0, restP = p, restT = t;
      for (size_t d = rank; d-- > 0 && at >= 0; restP /= s.output[d], restT /= s.kernel[d]) {
        const int64_t i = table[d][restP % s.output[d] * s.kernel[d] + restT % s.kernel[d]];
        at = i < 0 ? -1 : at + i * inputStrides[d];
      }
      source[t] = at;
    }
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t g = 0; g < std::max(s.groups, s.batchGroups); ++g) {
        // Feature groups split the channels of the input, batch groups its batch; both split the outputs.
        const int64_t batch = s.batchGroups > 1 ? g * batches + b : b, channel = s.groups > 1 ? g * s.groupChannels : 0;
        T *sum = out + (b * positions + p) * s.outputs + g * s.groupOutputs;
        for (int64_t t = 0; t < taps; ++t) {
          if (source[t] < 0)
            continue;
          const T *x = in.data() + (batch * places + source[t]) * s.channels + channel;
          const T *k = kernel.data() + t * s.groupChannels * s.outputs + g * s.groupOutputs;
          for (int64_t c = 0; c < s.groupChannels; ++c, k += s.outputs) {
            const T v = x[c];
            for (int64_t o = 0; o < s.groupOutputs; ++o)
              sum[o] += v * k[o];
          }
        }
      }
  }
}

template <class T>
void run(Call &c, const Sizes &s, const Window &w, const Shape &inOrder, const Shape &kernelOrder, Word *packed) {
  const std::vector<T> in = pack<T>(c.tensor(0), inOrder), kernel = pack<T>(c.tensor(1), kernelOrder);
  std::vector<T> out(static_cast<size_t>(s.batch / s.batchGroups * countOf(s.output) * s.outputs));
  convolve<T>(s, w, in, kernel, out.data());
  std::transform(out.begin(), out.end(), packed, [](T x) { return std::bit_cast<Word>(x); });
}

void convolution(Call &c) {
  const auto field = [&](const char *name) { return c.intsOr("dimension_numbers." + std::string(name), 0, 0); };
  const auto one = [&](const char *name) { return c.integerOr("dimension_numbers." + std::string(name), 0); };
  const Shape inSpatial = field("input_spatial_dimensions"), kernelSpatial = field("kernel_spatial_dimensions"),
              outSpatial = field("output_spatial_dimensions");
  const Tensor &in = c.tensor(0), &kernel = c.tensor(1);
  Tensor out = c.fresh(0);
  const size_t rank = inSpatial.size();
  const Shape padding = c.intsOr("padding", 2 * rank, 0);
  Window w{c.intsOr("window_strides", rank, 1),
           {},
           c.intsOr("lhs_dilation", rank, 1),
           c.intsOr("rhs_dilation", rank, 1),
           c.intsOr("window_reversal", rank, 0)};
  for (size_t d = 0; d < rank; ++d)
    w.low.push_back(padding[2 * d]);
  Sizes s{};
  s.batch = in.shape[one("input_batch_dimension")];
  s.channels = in.shape[one("input_feature_dimension")];
  s.groupChannels = kernel.shape[one("kernel_input_feature_dimension")];
  s.outputs = kernel.shape[one("kernel_output_feature_dimension")];
  s.groups = c.integerOr("feature_group_count", 1);
  s.batchGroups = c.integerOr("batch_group_count", 1);
  if (s.groups < 1 || s.batchGroups < 1 || (s.groups > 1 && s.batchGroups > 1) || s.groupChannels * s.groups != s.channels ||
      s.batch % s.batchGroups || s.outputs % std::max(s.groups, s.batchGroups))
    c.fail("groups that do not divide the sizes");
  s.groupOutputs = s.outputs / std::max(s.groups, s.batchGroups);
  Shape inOrder{one("input_batch_dimension")}, kernelOrder, outOrder{one("output_batch_dimension")}, outShape;
  for (size_t d = 0; d < rank; ++d) {
    s.input.push_back(in.shape[inSpatial[d]]);
    s.kernel.push_back(kernel.shape[kernelSpatial[d]]);
    s.output.push_back(out.shape[outSpatial[d]]);
    inOrder.push_back(inSpatial[d]);
    kernelOrder.push_back(kernelSpatial[d]);
    outOrder.push_back(outSpatial[d]);
  }
  inOrder.push_back(one("input_feature_dimension"));
  kernelOrder.push_back(one("kernel_input_feature_dimension"));
  kernelOrder.push_back(one("kernel_output_feature_dimension"));
  outOrder.push_back(one("output_feature_dimension"));
  std::vector<Word> packed(out.count());
  if (s.batch / s.batchGroups * countOf(s.output) * s.outputs != out.count())
    c.fail("the result has another number of elements than the convolution");
  const bool floats = isFloat(in.element);
  floats ? run<double>(c, s, w, inOrder, kernelOrder, packed.data())
         : run<Word>(c, s, w, inOrder, kernelOrder, packed.data());
  if (floats != isFloat(out.element)) {
    if (floats)
      c.fail("a convolution of floats with a result of integers");
    for (Word &x : packed)
      x = asWord(static_cast<double>(asInt(x)));
  }
  // Back to the dimensions of the result.
  const Shape own = rowMajor(out.shape);
  Shape strides;
  for (int64_t d : outOrder) {
    outShape.push_back(out.shape[d]);
    strides.push_back(own[d]);
  }
  copyStrided(outShape, out.own(), 0, strides, packed.data(), 0, rowMajor(outShape));
  settle(out.element, c.inDouble, out.own(), out.count());
  c.set(0, std::move(out));
}

constexpr Rule kRules[] = {{"stablehlo.convolution", convolution}};

} // namespace

std::span<const Rule> convolutionRules() { return kRules; }

} // namespace glia::interp
