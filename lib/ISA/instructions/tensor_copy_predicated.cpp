// Copies elements where a predicate holds and leaves the others alone; so the destination is read as well.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Convert.h"

#include <cstring>

namespace glia {

enum { DST, SRC, PREDICATE, REVERSE };

static void check(Check &c) {
  c.sameShape({DST, PREDICATE});
  if (!c.operand(SRC).immediate)
    c.sameShape({DST, SRC});
  c.sameType(DST, SRC);
  c.types(PREDICATE, {DType::U8, DType::U16, DType::U32});
  c.onePsumInput(SRC, PREDICATE);
}

// `step` 0 repeats one source element. Predicate elements are zero or not.
template <class T>
static void select(const int32_t *predicate, bool reverse, const std::byte *src, int step, std::byte *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if ((predicate[i] != 0) != reverse)
      std::memcpy(dst + i * static_cast<int64_t>(sizeof(T)), src + i * step, sizeof(T));
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const bool immediate = x.operands[SRC].immediate, reverse = x.integer(REVERSE);
  const int size = sizeOf(dst.dtype), step = immediate ? 0 : size;
  std::byte number[8] = {};
  if (immediate)
    fromF32(dst.dtype, x.number(SRC), number);
  for (int p = 0; p < dst.partitions; ++p) {
    const int32_t *predicate = x.readBits(PREDICATE, p);
    const std::byte *src = immediate ? number : x.readRaw(SRC, p), *old = x.readRaw(DST, p);
    std::byte *out = x.writeRaw(DST, p);
    if (out != old)
      std::memcpy(out, old, static_cast<size_t>(dst.elements * size));
    switch (size) {
    case 1: select<uint8_t>(predicate, reverse, src, step, out, dst.elements); break;
    case 2: select<uint16_t>(predicate, reverse, src, step, out, dst.elements); break;
    case 4: select<uint32_t>(predicate, reverse, src, step, out, dst.elements); break;
    default: select<uint64_t>(predicate, reverse, src, step, out, dst.elements); break;
    }
    x.commitRaw(DST, p);
  }
}

INSTRUCTION(tensor_copy_predicated, "dst = src where the predicate is not zero; elsewhere dst keeps its value.") {
  def.source("nki.isa API reference, tensor_copy_predicated; cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::InOut, "what is changed")
      .slot("src", SlotKind::Scalar, "a tensor of the shape and type of dst, or a number")
      .slot("predicate", SlotKind::In, "u8, u16 or u32")
      .slot("reverse", SlotKind::Flag, "1: copy where the predicate is zero")
      .orElse(0);
  def.rules({"SAME-SHAPE", "OPERAND-DTYPE", "ONE-PSUM-INPUT"}).check(check).execute(execute).cost([](const CostQuery &q) {
    const double n = q.elements(DST);
    const bool psum = q.space(PREDICATE) == Space::Psum || (q.has(SRC) && q.space(SRC) == Space::Psum);
    return streamCost(q, psum || !q.has(SRC) ? n : 2 * n, {DST, SRC, PREDICATE});
  });
}

} // namespace glia
