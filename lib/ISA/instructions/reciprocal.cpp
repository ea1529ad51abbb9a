// 1/x in fp32 on the Vector engine: slower and more precise than the Scalar engine's activation.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, DATA };

INSTRUCTION(reciprocal, "dst = 1 / data, element by element, correctly rounded fp32.") {
  def.source("nki.isa API reference, reciprocal; cost: the reference of SDK 2.26; correct rounding: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "input");
  def.rules({"SAME-SHAPE", "OPERAND-DTYPE"}).check([](Check &c) {
    c.sameShape({DST, DATA});
    checkComputeTypes(c, {DST, DATA});
  });
  def.execute([](Exec &x) {
    const Region &dst = x.region(DST);
    for (int p = 0; p < dst.partitions; ++p) {
      const float *in = x.readF32(DATA, p);
      aluRowScalar(AluOp::Reciprocal, in, 0, false, x.writeF32(DST, p), dst.elements);
      x.commitF32(DST, p);
    }
  });
  def.cost([](const CostQuery &q) { return streamCost(q, 8 * q.elements(DST), {DST, DATA}); });
}

} // namespace glia
