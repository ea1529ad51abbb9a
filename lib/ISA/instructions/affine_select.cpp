#include "glia/ISA/Affine.h"
#include "glia/ISA/Cost.h"
#include "glia/Numerics/Convert.h"

#include <cstring>

namespace glia {

enum { DST, ON_TRUE, PATTERN, ON_FALSE, CMP, OFFSET, CHANNEL_MULTIPLIER };

static const EnumNames &comparisons() {
  static constexpr std::string_view kNames[] = {"equal", "not_equal", "greater_equal", "greater"};
  static constexpr EnumNames kEnum{"affine_compare", kNames};
  return kEnum;
}

static bool holds(int cmp, int32_t v) {
  switch (cmp) {
  case 0: return v == 0;
  case 1: return v != 0;
  case 2: return v >= 0;
  default: return v > 0;
  }
}

static void executeSelect(Exec &x) {
  const Region &dst = x.region(DST);
  const std::vector<int32_t> row = affineRow(x, PATTERN, x.integer(OFFSET));
  const int cmp = x.integer(CMP), size = sizeOf(dst.dtype);
  std::byte other[8];
  fromF32(dst.dtype, x.number(ON_FALSE), other);
  for (int p = 0; p < dst.partitions; ++p) {
    const int32_t base = wrapMul(x.integer(CHANNEL_MULTIPLIER), p);
    if (dst.dtype == x.region(ON_TRUE).dtype) {
      const std::byte *in = x.readRaw(ON_TRUE, p);
      std::byte *out = x.writeRaw(DST, p);
      for (int64_t i = 0; i < dst.elements; ++i)
        std::memmove(out + i * size, holds(cmp, wrapAdd(base, row[i])) ? in + i * size : other, size);
      x.commitRaw(DST, p);
    } else {
      const float *in = x.readF32(ON_TRUE, p);
      float *out = x.writeF32(DST, p);
      for (int64_t i = 0; i < dst.elements; ++i)
        out[i] = holds(cmp, wrapAdd(base, row[i])) ? in[i] : x.number(ON_FALSE);
      x.commitF32(DST, p);
    }
  }
}

INSTRUCTION(affine_select, "dst = on_true where offset + p * channel_multiplier + pattern compares with 0, else on_false.") {
  def.source("nki.isa API reference, affine_select; KLR Operators.lean for the comparisons")
      .engines({Engine::GpSimd})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result in SBUF")
      .slot("on_true", SlotKind::In,
            "taken where the comparison holds, in SBUF; copied bit by bit if its type is dst's, else cast through fp32")
      .slot("pattern", SlotKind::Ints, "step and count of each dimension, slowest first: at most 4 pairs")
      .slot("on_false", SlotKind::Float, "fp32 value taken where it does not, cast to dst's type")
      .choice("cmp", comparisons(), "the affine value is ... 0 (int32)")
      .orElse(0)
      .slot("offset", SlotKind::Int, "added to every affine value")
      .orElse(0)
      .slot("channel_multiplier", SlotKind::Int, "added once per partition, counted from dst's first")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "SAME-SHAPE", "IOTA-PATTERN"}).check([](Check &c) {
    c.in(DST, {Space::Sbuf});
    c.in(ON_TRUE, {Space::Sbuf});
    c.sameShape({DST, ON_TRUE});
    checkAffine(c, PATTERN, DST);
  });
  def.execute(executeSelect);
  def.cost([](const CostQuery &q) { return q.serial(q.elements(DST)); });
}

} // namespace glia
