#include "glia/ISA/Affine.h"
#include "glia/ISA/Cost.h"

#include <cstring>

namespace glia {

enum { DST, PATTERN, OFFSET, CHANNEL_MULTIPLIER };

INSTRUCTION(iota, "dst[p, i] = offset + p * channel_multiplier + the pattern's i-th value, in wrapping int32, then cast.") {
  def.source("nki.isa API reference, iota; u32 takes the bits, floats and narrower integers are cast through fp32 (assumed)")
      .engines({Engine::GpSimd})
      .flow(Flow::None)
      .slot("dst", SlotKind::Out, "result in SBUF, any type of up to 32 bits")
      .slot("pattern", SlotKind::Ints, "step and count of each dimension, slowest first: at most 4 pairs")
      .slot("offset", SlotKind::Int, "added to every value")
      .orElse(0)
      .slot("channel_multiplier", SlotKind::Int, "added once per partition, counted from dst's first")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "IOTA-PATTERN"}).check([](Check &c) {
    c.in(DST, {Space::Sbuf});
    c.types(DST, {DType::F32, DType::TF32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E4M3FN, DType::F8E5M2,
                  DType::F8E3M4, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32});
    checkAffine(c, PATTERN, DST);
  });
  def.execute([](Exec &x) {
    const Region &dst = x.region(DST);
    const std::vector<int32_t> row = affineRow(x, PATTERN, x.integer(OFFSET));
    const bool exact = dst.dtype == DType::I32 || dst.dtype == DType::U32;
    for (int p = 0; p < dst.partitions; ++p) {
      const int32_t base = wrapMul(x.integer(CHANNEL_MULTIPLIER), p);
      if (exact) {
        int32_t *out = x.writeI32(DST, p);
        for (int64_t i = 0; i < dst.elements; ++i)
          out[i] = wrapAdd(base, row[i]);
        x.commitI32(DST, p);
      } else {
        float *out = x.writeF32(DST, p);
        for (int64_t i = 0; i < dst.elements; ++i)
          out[i] = static_cast<float>(wrapAdd(base, row[i]));
        x.commitF32(DST, p);
      }
    }
  });
  def.cost([](const CostQuery &q) { return q.serial(q.elements(DST)); });
}

} // namespace glia
