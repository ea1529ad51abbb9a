// A copy inside the core: the same bits if the types are equal, otherwise a conversion through fp32.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <cstring>

namespace glia {

enum { DST, SRC };

static void check(Check &c) {
  c.sameShape({DST, SRC});
  if (c.operand(DST).dtype() != c.operand(SRC).dtype())
    checkComputeTypes(c, {DST, SRC});
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST), &src = x.region(SRC);
  for (int p = 0; p < dst.partitions; ++p) {
    if (dst.dtype == src.dtype) {
      const std::byte *in = x.readRaw(SRC, p);
      std::memmove(x.writeRaw(DST, p), in, static_cast<size_t>(dst.elements * sizeOf(dst.dtype)));
      x.commitRaw(DST, p);
    } else {
      const float *in = x.readF32(SRC, p);
      float *out = x.writeF32(DST, p);
      if (in != out)
        std::memcpy(out, in, static_cast<size_t>(dst.elements) * sizeof(float));
      x.commitF32(DST, p);
    }
  }
}

INSTRUCTION(tensor_copy, "dst = src, element by element; bit exact between equal types, through fp32 otherwise.") {
  def.source("nki.isa API reference, tensor_copy; cost: the reference of SDK 2.26 and the Trainium2 architecture guide; "
             "GpSimd assumed")
      .engines({Engine::Vector, Engine::Scalar, Engine::GpSimd})
      .needsOn(Engine::Scalar, "scalar_tensor_copy")
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("src", SlotKind::In, "what is copied");
  def.rules({"SAME-SHAPE", "OPERAND-DTYPE"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return streamCost(q, q.elements(DST) / streamRate(q, SRC, DST), {DST, SRC});
  });
}

} // namespace glia
