#include "ConvolutionResult.h"
#include "Depthwise.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>

namespace glia::emit {

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Where groups of the batch are, features are what the sums run over: they are the images here, and the batch is their channels.
Tile imagesOf(const Tile &t) { return t.permuted({1, 0, 2, 3}); }

// Input rows that so many rows of the kernel need.
int64_t heightOf(const ConvolutionAxis &a, int64_t kernel) {
  return (kernel - 1) * a.kernelDilation + (a.output - 1) * a.stride + 1;
}

class Gradient {
public:
  Gradient(KernelBuilder &k, const DepthwiseGradientPlan &p, ConvolutionResult &to) : k(k), p(p), c(p.c), to(to) {
    if (k.target().has("vector_gpsimd_concurrent")) // Vector multiplies with PSUM in one cycle, GpSimd with SBUF in two
      gpSimdShare =
          k.target().number("clock.gpsimd") / (k.target().number("clock.gpsimd") + 2 * k.target().number("clock.vector"));
  }

  void run() {
    for (const Span &groups : spansOf(p.groups, 128))
      sumsOf(groups);
  }

private:
  KernelBuilder &k;
  const DepthwiseGradientPlan &p;
  const Convolution &c;
  ConvolutionResult &to;
  double gpSimdShare = 0, due = 0;

  // [channel][output][row][column]; beside: one channel each.
  std::vector<int64_t> shapeOfSums() const { return {p.inputs / p.beside, p.outputs, c.axis[0].output, c.axis[1].output}; }

  void sumsOf(Span groups) {
    // Their part of all tensors.
    Tile input = imagesOf(c.input), kernel = imagesOf(c.kernel);
    input = input.part(1, groups.from * p.inputs, groups.count * p.inputs);
    kernel = kernel.part(1, groups.from * p.outputs, groups.count * p.outputs);
    Tile sums;
    for (int64_t n = 0; n < p.images; n += p.imagesAtOnce) {
      const int64_t images = std::min(p.imagesAtOnce, p.images - n);
      for (const Span &rows : spansOf(c.axis[0].kernel, p.tileRows)) {
        const Tile part = sumsOfTile(input.part(0, n, images), kernel.part(0, n, images), images, groups.count, rows);
        if (n == 0 && rows.from == 0)
          sums = part;
        else
          k.tensor(sums.rows(0, part.partitions), sums.rows(0, part.partitions), part, "add");
      }
    }
    sums = overImages(sums, std::min(p.imagesAtOnce, p.images), groups.count);
    const ChannelRows rows{.groups = p.groups, .first = groups.from, .count = groups.count};
    const ImagePart whole{{0, c.axis[0].output}, {0, c.axis[1].output}, 0};
    for (int64_t i = 0; i < p.inputs / p.beside; ++i) {
      Tile result = sums.index(0, i);
      if (c.result.dtype != DType::F32) {
        result = k.sbuf(c.result.dtype, groups.count, result.shape());
        k.move(result, sums.index(0, i));
      }
      to.putRows(result, rows, whole, p.lying, i);
    }
  }

  // The images lie on other partitions: side by side they can be added up.
  Tile overImages(const Tile &sums, int64_t images, int64_t groups) {
    if (images == 1)
      return sums;
    const int64_t n = sums.elements();
    const Tile beside = k.sbuf(DType::F32, groups, {images, n});
    for (int64_t i = 0; i < images; ++i) {
      Tile from = sums.rows(i * groups, groups);
      from.dims = {{1, n}};
      k.copy(beside.index(0, i), from);
    }
    const Tile out = k.sbuf(DType::F32, groups, shapeOfSums());
    k.reduce(out, beside.permuted({1, 0}), "add");
    return out;
  }

  // Of some rows of the kernel.
  Tile sumsOfTile(const Tile &input, const Tile &kernel, int64_t images, int64_t groups, Span rows) {
    const ConvolutionAxis &y = c.axis[0], &x = c.axis[1];
    const ChannelRows all{.images = images, .groups = groups, .count = images * groups};
    const ImagePart in{cut({rows.from * y.kernelDilation - y.low, heightOf(y, rows.count)}, y.input),
                       cut({-x.low, heightOf(x, x.kernel)}, x.input), 0};
    const std::vector<Span> blocks = spansOf(rows.count, std::max<int64_t>(kDepthwiseBlock / (p.beside * x.kernel), 1));
    std::vector<int64_t> shape = shapeOfSums();
    shape.push_back(static_cast<int64_t>(blocks.size()));
    const Tile parts = k.sbuf(DType::F32, all.partitions(), shape);
    k.fill(parts, 0);
    if (in.y.count && in.x.count) {
      const Tile a = loadImages(k, input, all, in), b = loadImages(k, kernel, all, {rows, {0, x.kernel}, 0});
      for (size_t n = 0; n < blocks.size(); ++n)
        for (int64_t o = 0; o < p.outputs; o += p.beside)
          sumsOfBlock(parts.index(4, static_cast<int64_t>(n)).part(1, o, p.beside), a, b.part(0, o, p.beside), in, rows.from,
                      blocks[n]);
    }
    if (blocks.size() == 1)
      return parts.index(4, 0);
    const Tile sums = k.sbuf(DType::F32, all.partitions(), shapeOfSums());
    k.reduce(sums, parts, "add");
    return sums;
  }

  // `to` is [channel][beside][row][column]; `row` is the kernel's row that the tile begins with.
  void sumsOfBlock(const Tile &to, const Tile &input, const Tile &kernel, const ImagePart &in, int64_t row, Span block) {
    const ConvolutionAxis &y = c.axis[0], &x = c.axis[1];
    const Tile lying = kernel.part(1, block.from, block.count);
    Tile inPsum;
    for (int64_t i = 0; i < p.inputs; i += p.beside)
      for (int64_t u = 0; u < y.output; ++u)
        for (int64_t v = 0; v < x.output; ++v) {
          const int64_t top = u * y.stride - y.low, left = v * x.stride - x.low;
          const Span r = reached(top, y.kernelDilation, {row + block.from, block.count}, y.input),
                     s = reached(left, x.kernelDilation, {0, x.kernel}, x.input);
          if (!r.count || !s.count)
            continue;
          const Tile shifted = input.part(0, i, p.beside)
                                   .part(1, top + r.from * y.kernelDilation - in.y.from, r.count, y.kernelDilation)
                                   .part(2, left + s.from * x.kernelDilation - in.x.from, s.count, x.kernelDilation);
          due += gpSimdShare;
          const bool elsewhere = due >= 1;
          due -= elsewhere ? 1 : 0;
          if (!elsewhere && inPsum.handle < 0) {
            inPsum = k.psum(kernel.partitions, lying.shape());
            k.move(inPsum, lying);
          }
          const Tile factor =
              (elsewhere ? lying : inPsum).part(1, r.from - row - block.from, r.count).part(2, s.from, s.count);
          const Tile product = k.sbuf(DType::F32, kernel.partitions, factor.shape());
          k.emit("tensor_tensor",
                 {k.operand(product), k.operand(shifted), k.operand(factor),
                  nisa::SlotValue::of(static_cast<int32_t>(AluOp::Multiply))},
                 static_cast<int>(elsewhere ? Engine::GpSimd : Engine::Vector));
          k.reduce(to.index(0, i).index(1, u).index(1, v), product, "add");
        }
  }
};

} // namespace

std::optional<DepthwiseGradientPlan> planDepthwiseGradient(const Convolution &given, int64_t sbufBytes) {
  constexpr int64_t kBetween = 12 * kDepthwiseBlock * 4; // products on their way
  constexpr int64_t kMostSums = 16384;                   // bytes of one output of all blocks and channels
  DepthwiseGradientPlan p;
  p.lying = isLying(given);
  p.c = p.lying ? uprightOf(given) : given;
  const Convolution &c = p.c;
  for (const ConvolutionAxis &a : c.axis)
    if (a.inputDilation != 1 || a.reverse)
      return std::nullopt;
  if (c.batchGroups == 1 || c.axis[1].kernel > kDepthwiseBlock)
    return std::nullopt;
  p.images = c.input.dims[1].count;
  p.groups = c.batchGroups;
  p.inputs = c.result.dims[0].count;
  p.outputs = c.kernel.dims[0].count / p.groups;
  if (std::max(p.inputs, p.outputs) > kDepthwiseChannels)
    return std::nullopt;
  if (p.inputs == 1 && p.outputs == 1) {
    p.beside = p.inputs = p.outputs = groupsBeside(1, p.groups, c.axis[0].kernel * c.axis[1].kernel);
    p.groups /= p.beside;
  }
  p.imagesAtOnce = std::min(p.images, std::max<int64_t>(128 / spansOf(p.groups, 128)[0].count, 1));
  if (p.inputs * p.outputs / p.beside * c.axis[0].output * c.axis[1].output * 4 > kMostSums)
    return std::nullopt;
  const int64_t room = (sbufBytes - kBetween) / 2;
  const auto fits = [&](int64_t rows) {
    const int64_t height = std::min(heightOf(c.axis[0], rows), c.axis[0].input),
                  width = std::min(heightOf(c.axis[1], c.axis[1].kernel), c.axis[1].input);
    return p.inputs * height * width * sizeOf(c.input.dtype) +
               p.outputs * rows * c.axis[1].kernel * sizeOf(c.kernel.dtype) <=
           room / 2;
  };
  if (!fits(1))
    return std::nullopt;
  p.tileRows = 1;
  while (p.tileRows < c.axis[0].kernel && fits(p.tileRows + 1))
    ++p.tileRows;
  return p;
}

double costOf(const DepthwiseGradientPlan &p) {
  constexpr double kElement = 0.8, kInstruction = 150, kStart = 5000; // ns; an element of an output, shared by the engines
  const double passes = static_cast<double>(ceilDiv(p.groups, 128) * ceilDiv(p.images, p.imagesAtOnce)) *
                        static_cast<double>(p.inputs * p.outputs / (p.beside * p.beside));
  const double positions = static_cast<double>(p.beside * p.c.axis[0].kernel * p.c.axis[1].kernel),
               outputs = static_cast<double>(p.c.axis[0].output * p.c.axis[1].output);
  return passes * outputs * (positions * kElement + kInstruction) + kStart;
}

void emitDepthwiseGradient(KernelBuilder &k, const DepthwiseGradientPlan &p, ConvolutionResult &result) {
  Gradient(k, p, result).run();
}

} // namespace glia::emit
