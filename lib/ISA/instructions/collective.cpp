#include "glia/ISA/Collective.h"
#include "glia/ISA/Transfer.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { DST, SRC, QUEUE, KIND, OP, RANKS, WIDTH, GROUPS };

static void checkCollective(Check &c) {
  if (c.core() != 0)
    c.fail("COLLECTIVE-CORE", DST, "only core 0 speaks to other ranks", format("%d", c.core()), "0");
  for (const int slot : {DST, SRC})
    c.in(slot, {Space::Hbm, Space::Sbuf});
  c.sameType(DST, SRC);
  const OperandInfo &dst = c.operand(DST), &src = c.operand(SRC);
  Collective x;
  x.kind = static_cast<CollectiveKind>(c.integer(KIND));
  x.op = static_cast<CollectiveOp>(c.integer(OP));
  x.dtype = src.dtype();
  x.elements = src.pattern->elements();
  x.ranks = c.integer(RANKS);
  x.width = c.integer(WIDTH);
  for (const uint32_t r : c.list(GROUPS))
    x.groups.push_back(static_cast<int32_t>(r));
  if (const std::string fault = faultOf(x); !fault.empty())
    return c.fail("COLLECTIVE-GROUPS", GROUPS, fault, {}, "every rank once");
  const int64_t want = x.resultElements(x.members(0).size()), have = dst.pattern->elements();
  if (have != want)
    c.fail("COLLECTIVE-SHAPE", DST,
           format("`%s` gives each rank %lld elements and the destination has %lld", x.text().c_str(), (long long)want,
                  (long long)have),
           format("%lld", (long long)have), format("%lld", (long long)want));
}

// The simulators let the ranks meet, and call `execute` with what this rank gets in the place of `src`.
INSTRUCTION(collective, "Ranks exchange tensors: each gets in dst what the kind makes of everybody's src.") {
  def.source("nki.collectives API reference; engine, order and matching chosen (docs/ordering.md, R1 to R4)")
      .engines({Engine::GpSimd})
      .unit(Unit::Dma)
      .flow(Flow::All)
      .slot("dst", SlotKind::Out, "what this rank gets, in HBM or SBUF, elements in row-major order")
      .slot("src", SlotKind::In, "what this rank gives, with dst's type")
      .slot("queue", SlotKind::Queue, "DMA queue")
      .choice(
          "kind", collectiveKindNames(),
          "all_reduce, all_gather (results one behind the other), reduce_scatter, all_to_all, permute (no source: zeros), "
          "broadcast (from the first of the group)")
      .choice("op", collectiveOpNames(), "how elements are combined: all_reduce, reduce_scatter")
      .orElse(0)
      .slot("ranks", SlotKind::Int, "how many ranks the program is for")
      .slot("width", SlotKind::Int, "ranks in a group; permute: 2")
      .slot("groups", SlotKind::Ints,
            "the ranks, group after group, short groups filled up with -1; permute: pairs of who gives and who gets");
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "COLLECTIVE-CORE", "COLLECTIVE-GROUPS", "COLLECTIVE-SHAPE"})
      .check(checkCollective);
  def.execute([](Exec &x) {
    const Region &dst = x.region(DST), &src = x.region(SRC);
    const Share share = shareOf(x, transferRows(dst, src), dst.elements * dst.partitions);
    copyElements(x, DST, dst, share.begin, SRC, src, share.begin, share.end - share.begin);
  });
  def.cost(issueCost);
}

} // namespace glia
