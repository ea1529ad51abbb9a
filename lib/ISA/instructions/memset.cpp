// Fills a tensor with one value. Integers that fp32 cannot hold are given as their bits.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace glia {

enum { DST, VALUE, BITS };

// rule MEMSET-VALUE: the value has the type of the destination: no fractions and nothing out of range in an integer.
static void check(Check &c) {
  const DType t = c.operand(DST).dtype();
  const float v = c.number(VALUE);
  if (c.integer(BITS) && (isFloat(t) || v != 0))
    c.fail("MEMSET-VALUE", BITS,
           isFloat(t) ? format("`bits` is for integer types and the destination is %s", std::string(name(t)).c_str())
                      : "both `value` and `bits` are given",
           format("%d", c.integer(BITS)), "0");
  if (isFloat(t))
    return;
  const int width = 8 * sizeOf(t);
  const double lo = info(t).isSigned ? -std::ldexp(1.0, width - 1) : 0,
               end = std::ldexp(1.0, info(t).isSigned ? width - 1 : width);
  if (!(std::trunc(v) == v && v >= lo && v < end))
    c.fail("MEMSET-VALUE", VALUE, format("%g is no value of type %s", v, std::string(name(t)).c_str()), format("%g", v),
           format("an integer from %.0f to %.0f", lo, end - 1));
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const int size = sizeOf(dst.dtype);
  std::byte element[8] = {};
  const float v = x.number(VALUE);
  if (const int64_t bits = x.integer(BITS); bits && isInteger(dst.dtype))
    std::memcpy(element, &bits, static_cast<size_t>(size));
  else
    fromF32(dst.dtype, v, element);
  for (int p = 0; p < dst.partitions; ++p) {
    std::byte *out = x.writeRaw(DST, p);
    const int64_t bytes = dst.elements * size;
    if (bytes > 0) {
      std::memcpy(out, element, static_cast<size_t>(size));
      for (int64_t done = size; done < bytes; done *= 2) // double what is there
        std::memcpy(out + done, out, static_cast<size_t>(std::min(done, bytes - done)));
    }
    x.commitRaw(DST, p);
  }
}

INSTRUCTION(memset, "Every element of dst = value.") {
  def.source("nki.isa API reference, memset; cost: the reference of SDK 2.26; GpSimd assumed equal; the slot `bits` is ours")
      .engines({Engine::Vector, Engine::GpSimd})
      .flow(Flow::None)
      .slot("dst", SlotKind::Out, "what is filled")
      .slot("value", SlotKind::Float, "the value, rounded to a float type; an integer for integer types")
      .orElse(0.0f)
      .slot("bits", SlotKind::Int, "integer types: the value, when fp32 cannot hold it (narrow types keep the low bits)")
      .orElse(0);
  def.rules({"MEMSET-VALUE"}).check(check).execute(execute).cost([](const CostQuery &q) {
    const DType t = q.dtype(DST);
    const bool half = q.engine == Engine::Vector && (t == DType::BF16 || t == DType::F16) && q.number(VALUE) == 0;
    return streamCost(q, half ? q.elements(DST) / 2 : q.elements(DST), {DST});
  });
}

} // namespace glia
