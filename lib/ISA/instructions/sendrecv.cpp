#include "glia/ISA/Transfer.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { DST, SRC, PIPE, ENGINE };
enum { DMA, GPSIMD_DMA };

static const EnumNames &exchangeEngines() {
  static constexpr std::string_view kNames[] = {"dma", "gpsimd_dma"};
  static constexpr EnumNames kEnum{"dma_engine", kNames};
  return kEnum;
}

static void checkSendRecv(Check &c) {
  if (c.cores != 2)
    c.fail("LNC2-CORES", DST, "an exchange needs two cores", format("%d", c.cores), "2");
  c.in(DST, {Space::Sbuf});
  c.in(SRC, {Space::Sbuf});
  c.sameType(DST, SRC);
  const OperandInfo &d = c.operand(DST);
  if (!d.onChip() || !c.operand(SRC).onChip())
    return;
  c.sameShape({DST, SRC});
  if (c.integer(ENGINE) != GPSIMD_DMA)
    return;
  if (!c.target.has("gpsimd_dma"))
    return c.fail("SENDRECV-GPSIMD", ENGINE, "the target's GpSimd has no DMA of its own", "gpsimd_dma", "dma");
  if (c.engine != Engine::GpSimd)
    c.fail("SENDRECV-GPSIMD", ENGINE, "GpSimd itself starts its DMA", std::string(name(c.engine)), "gpsimd");
  const int size = sizeOf(d.dtype());
  const int64_t most = c.target.integer(size == 1   ? "limit.sendrecv_bytes_8"
                                        : size == 2 ? "limit.sendrecv_bytes_16"
                                                    : "limit.sendrecv_bytes_32");
  c.within(DST, "the number of bytes per partition through GpSimd", d.elements() * size, 1, most);
}

// The simulator calls `execute` once per core, with this core's dst and the other core's src.
INSTRUCTION(sendrecv, "Two cores exchange tiles: each core's dst gets the other core's src.") {
  def.source("nki.isa API reference, sendrecv; pairing by pipe and count chosen (docs/ordering.md, C2)")
      .everyEngine()
      .needs("lnc2")
      .unit(Unit::Exchange)
      .flow(Flow::Copy)
      .slot("dst", SlotKind::Out, "where the other core's data go, in SBUF")
      .slot("src", SlotKind::In, "what the other core gets, in SBUF, with dst's shape and type")
      .slot("pipe", SlotKind::Small, "the n-th exchange on a pipe of one core meets the n-th on that pipe of the other")
      .orElse(0)
      .choice("engine", exchangeEngines(), "dma, or gpsimd_dma for small tiles, issued by GpSimd")
      .orElse(DMA);
  def.rules({"LNC2-CORES", "OPERAND-MEMORY", "OPERAND-DTYPE", "SAME-SHAPE", "OPERAND-LIMIT", "SENDRECV-GPSIMD"})
      .check(checkSendRecv);
  def.execute([](Exec &x) {
    const Region &dst = x.region(DST), &src = x.region(SRC);
    const Share share = shareOf(x, dst.partitions, dst.elements * dst.partitions);
    copyElements(x, DST, dst, share.begin, SRC, src, share.begin, share.end - share.begin);
  });
  def.cost(issueCost);
}

} // namespace glia
