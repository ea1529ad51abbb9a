#include "KernelCost.h"

#include <algorithm>

namespace glia::codegen {

namespace {

// An instruction as the cost formulas see it.
class KernelCostQuery : public CostQuery {
public:
  KernelCostQuery(nisa::Instr i, const Target &t, Engine e) : CostQuery(i.def(), t, e), i(i) {
    patterns.resize(i.def().slots.size());
    for (size_t k = 0; k < patterns.size(); ++k)
      if (const nisa::AccessAttr a = i.access(static_cast<int>(k)))
        patterns[k] = a.pattern();
  }
  bool has(int slot) const override { return static_cast<bool>(i.access(slot)); }
  const Pattern &pattern(int slot) const override { return patterns[slot]; }
  Space space(int slot) const override {
    const mlir::Value v = i.tensor(slot);
    return v ? llvm::cast<nisa::TensorType>(v.getType()).getSpace() : Space::Sbuf;
  }
  int32_t integer(int slot) const override { return i.integer(slot); }
  float number(int slot) const override { return i.value(slot).number; }

private:
  nisa::Instr i;
  std::vector<Pattern> patterns;
};

} // namespace

Duration durationOf(nisa::Instr i, const Target &target, Engine e) {
  const KernelCostQuery query(i, target, e);
  const Cost c = i.def().cost(query);
  Duration d{c.busy, std::max(c.latency, c.busy), 0};
  if (i.def().unit == Unit::Compute && c.setup > 0)
    d.latency += c.setup;
  if (i.def().unit == Unit::Dma || i.def().unit == Unit::Exchange) {
    const nisa::AccessAttr dst = i.access(0), src = i.access(1);
    const int64_t bytes = dst.elements() * sizeOf(dst.getDtype());
    const int rows = dst.getPartitions() ? dst.getPartitions() : src && src.getPartitions() ? src.getPartitions() : 128;
    const double engines = std::clamp(rows / target.number("dma.rows_per_engine"), 1.0, target.number("dma.engines"));
    d.transfer = static_cast<double>(bytes) / (engines * target.number("dma.bytes_per_ns"));
    d.latency = target.number("dma.fixed_latency") + d.transfer + target.number("dma.completion_latency");
  }
  return d;
}

} // namespace glia::codegen
