// Operations that make tensors or move their elements; words are copied whatever they mean.
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

// Reads the result from the operand: result[i] = operand[base + i . strides].
void readStrided(Call &c, int64_t base, const Shape &strides) {
  Tensor out = c.fresh(0);
  copyStrided(out.shape, out.own(), 0, rowMajor(out.shape), c.tensor(0).words(), base, strides);
  c.set(0, std::move(out));
}

void constant(Call &c) {
  std::optional<Tensor> value = c.elements("value");
  if (!value)
    c.fail("a constant without a value");
  c.set(0, std::move(*value));
}

void iota(Call &c) {
  Tensor out = c.fresh(0);
  const auto d = static_cast<size_t>(c.integerOr("iota_dimension", 0));
  if (d >= out.shape.size())
    c.fail("iota_dimension is not a dimension of the result");
  const int64_t stride = rowMajor(out.shape)[d], size = out.shape[d];
  Word *w = out.own();
  for (int64_t i = 0, n = out.count(); i < n; ++i) {
    const int64_t v = i / stride % size;
    w[i] = isFloat(out.element) ? asWord(static_cast<double>(v)) : static_cast<Word>(v);
  }
  settle(out.element, c.inDouble, w, out.count());
  c.set(0, std::move(out));
}

void reshape(Call &c) {
  const TensorType t = c.resultType(0);
  c.set(0, c.tensor(0).as(t.element, t.shape));
}

void broadcastTo(Call &c, const Shape &dims) {
  const Tensor &in = c.tensor(0);
  const Shape own = rowMajor(in.shape);
  Shape strides(c.resultType(0).shape.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (in.shape[d] != 1)
      strides[dims[d]] = own[d];
  readStrided(c, 0, strides);
}
void broadcastInDim(Call &c) { broadcastTo(c, c.intsOr("broadcast_dimensions", 0, 0)); }
void broadcast(Call &c) {
  Shape dims(c.tensor(0).shape.size());
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d] = static_cast<int64_t>(c.resultType(0).shape.size() - dims.size() + d);
  broadcastTo(c, dims);
}

void transpose(Call &c) {
  const Shape own = rowMajor(c.tensor(0).shape), p = c.intsOr("permutation", 0, 0);
  Shape strides(p.size());
  for (size_t d = 0; d < p.size(); ++d)
    strides[d] = own[p[d]];
  readStrided(c, 0, strides);
}

void slice(Call &c) {
  const Tensor &in = c.tensor(0);
  const Shape own = rowMajor(in.shape), start = c.intsOr("start_indices", in.shape.size(), 0),
              step = c.intsOr("strides", in.shape.size(), 1);
  Shape strides(own.size());
  int64_t base = 0;
  for (size_t d = 0; d < own.size(); ++d) {
    base += start[d] * own[d];
    strides[d] = step[d] * own[d];
  }
  readStrided(c, base, strides);
}

void reverse(Call &c) {
  const Tensor &in = c.tensor(0);
  Shape strides = rowMajor(in.shape);
  int64_t base = 0;
  for (int64_t d : c.intsOr("dimensions", 0, 0)) {
    base += (in.shape[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  readStrided(c, base, strides);
}

void concatenate(Call &c) {
  Tensor out = c.fresh(0);
  const Shape strides = rowMajor(out.shape);
  const int64_t d = c.integerOr("dimension", 0);
  int64_t base = 0;
  for (const Datum &x : c.operands) {
    const Tensor &in = x.tensor;
    copyStrided(in.shape, out.own(), base, strides, in.words(), 0, rowMajor(in.shape));
    base += in.shape[d] * strides[d];
  }
  c.set(0, std::move(out));
}

// Negative edges cut; elements land `interior + 1` apart.
void pad(Call &c) {
  const Tensor &in = c.tensor(0);
  Tensor out = c.fresh(0);
  std::fill_n(out.own(), out.count(), c.tensor(1).at(0));
  const size_t rank = in.shape.size();
  const Shape low = c.intsOr("edge_padding_low", rank, 0), interior = c.intsOr("interior_padding", rank, 0);
  const Shape from = rowMajor(in.shape), to = rowMajor(out.shape);
  Shape count(rank), toStrides(rank);
  int64_t base = 0, fromBase = 0;
  for (size_t d = 0; d < rank; ++d) { // the elements first .. last of this dimension stay
    const int64_t apart = interior[d] + 1;
    const int64_t first = low[d] >= 0 ? 0 : (-low[d] + apart - 1) / apart;
    const int64_t room = out.shape[d] - 1 - low[d]; // of the last position that exists
    const int64_t last = room < 0 ? -1 : std::min(in.shape[d] - 1, room / apart);
    count[d] = std::max<int64_t>(0, last - first + 1);
    base += (low[d] + first * apart) * to[d];
    fromBase += first * from[d];
    toStrides[d] = apart * to[d];
  }
  if (countOf(count) > 0)
    copyStrided(count, out.own(), base, toStrides, in.words(), fromBase, from);
  c.set(0, std::move(out));
}

// The bits of the declared types, also when values are evaluated in double.
void bitcastConvert(Call &c) {
  const Tensor &in = c.tensor(0);
  Tensor out = c.fresh(0);
  const ElementInfo &from = info(in.element), &to = info(out.element);
  std::vector<Word> typed(in.words(), in.words() + in.count());
  settle(in.element, false, typed.data(), in.count());
  if (from.bits == to.bits || (from.bits >= 8 && to.bits >= 8)) {
    std::vector<std::byte> bytes(static_cast<size_t>(in.count()) * from.bytes);
    encode(in.element, typed.data(), bytes.data(), in.count());
    decode(out.element, bytes.data(), out.own(), out.count());
  } else { // parts of a byte, the lowest first
    std::vector<std::byte> bytes(static_cast<size_t>(in.count()) * from.bytes),
        wide(static_cast<size_t>(out.count()) * to.bytes);
    encode(in.element, typed.data(), bytes.data(), in.count());
    const int64_t bits = in.count() * from.bits;
    for (int64_t b = 0; b < bits; ++b) {
      const int64_t f = b / from.bits * from.bytes * 8 + b % from.bits, t = b / to.bits * to.bytes * 8 + b % to.bits;
      if (static_cast<int>(bytes[f / 8]) >> f % 8 & 1)
        wide[t / 8] |= std::byte{1} << t % 8;
    }
    decode(out.element, wide.data(), out.own(), out.count());
  }
  c.set(0, std::move(out));
}

void getDimensionSize(Call &c) {
  const auto d = static_cast<size_t>(c.integerOr("dimension", 0));
  if (d >= c.tensor(0).shape.size())
    c.fail("no such dimension");
  c.set(0, Tensor::scalar(c.resultType(0).element, static_cast<Word>(c.tensor(0).shape[d])));
}

constexpr Rule kRules[] = {
    {"stablehlo.constant", constant},
    {"chlo.constant", constant},
    {"stablehlo.iota", iota},
    {"stablehlo.reshape", reshape},
    {"stablehlo.broadcast_in_dim", broadcastInDim},
    {"stablehlo.broadcast", broadcast},
    {"stablehlo.transpose", transpose},
    {"stablehlo.slice", slice},
    {"stablehlo.reverse", reverse},
    {"stablehlo.concatenate", concatenate},
    {"stablehlo.pad", pad},
    {"stablehlo.bitcast_convert", bitcastConvert},
    {"stablehlo.get_dimension_size", getDimensionSize},
};

} // namespace

std::span<const Rule> movementRules() { return kRules; }

} // namespace glia::interp
