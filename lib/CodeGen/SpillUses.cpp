#include "SpillUses.h"
#include "KernelCost.h"
#include "SpillPieces.h"

#include <algorithm>

namespace glia::codegen {

namespace {

constexpr size_t kMostSources = 8; // that are repeated; more are stored together
constexpr double kSlowLoad = 2;    // times as long as one without strides: stored and brought back in one piece

class Collector {
public:
  Collector(const std::vector<PlannedTensor *> &tensors, const Target &target) : tensors(tensors), target(target) {
    for (uint32_t n = 0; n < tensors.size(); ++n)
      numbers[tensors[n]->life.op.getTensor()] = n;
    depth.resize(tensors.size());
  }

  void block(mlir::Block &b) {
    frames.emplace_back();
    for (mlir::Operation &op : b) {
      frames.back() = {&op, next++};
      if (auto alloc = llvm::dyn_cast<nisa::AllocOp>(op)) {
        if (const auto it = numbers.find(alloc.getTensor()); it != numbers.end())
          depth[it->second] = frames.size() - 1;
      } else if (const nisa::Instr i{&op}) {
        instruction(i);
      }
      for (mlir::Region &r : op.getRegions())
        for (mlir::Block &inner : r)
          block(inner);
      ++next;
    }
    frames.pop_back();
  }

private:
  struct Frame {
    mlir::Operation *op;
    uint32_t place;
  };
  const std::vector<PlannedTensor *> &tensors;
  const Target &target;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  std::vector<size_t> depth;
  std::vector<Frame> frames;
  llvm::DenseMap<mlir::Value, bool> readOnly; // tensors in HBM
  uint32_t next = 0;

  void instruction(nisa::Instr i) {
    for (mlir::OpOperand &o : i->getOpOperands()) {
      const auto it = numbers.find(o.get());
      if (it == numbers.end())
        continue;
      PlannedTensor &x = *tensors[it->second];
      const Frame &f = frames[depth[it->second]];
      const bool first = x.uses.empty() || x.uses.back().place != f.place;
      if (first)
        x.uses.push_back({f.place, f.op});
      const auto use = static_cast<uint32_t>(x.uses.size() - 1);
      x.operands.push_back({&o, use});
      access(i, x, use, f.op == i.operation());
    }
  }

  void access(nisa::Instr i, PlannedTensor &x, uint32_t use, bool direct) {
    bool writes = false, reads = false, replaces = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (i.tensor(slot) != x.life.op.getTensor())
        continue;
      reads |= i.reads(slot);
      x.delicate |= i.is("reg_load") || llvm::StringRef(i.def().slots[k].name).ends_with("index");
      if (!i.writes(slot))
        continue;
      writes = true;
      if (direct && i.access(slot).getTerms().empty() && i.access(slot).getPartitions() == x.life.partitions) {
        const Write w = writeOf(i, slot, x.life.op);
        replaces |= w.sure && w.where.contains(wholeOf(x.life.op));
      }
    }
    if (!writes)
      return;
    x.uses[use].writes = true;
    x.uses[use].replaces = replaces && !reads;
    if (!x.unchanged(use))
      return;
    if (direct && x.sources.size() < kMostSources && canRepeat(i))
      x.sources.push_back({i.operation(), use});
    else
      x.changed = use;
  }

  // It makes the same bytes whenever it is executed: a constant, or a transfer from HBM that nobody writes.
  bool canRepeat(nisa::Instr i) {
    if (!i.access(0).getTerms().empty())
      return false;
    if (i.is("memset") || i.is("iota"))
      return i->getNumOperands() == 1;
    if (!i.is("dma_copy") || !i.access(1).getTerms().empty())
      return false;
    for (const char *index : {"dst_index", "src_index"})
      if (i.access(i.def().slot(index)))
        return false;
    auto source = i.tensor(1).getDefiningOp<nisa::TensorOp>();
    if (!source || (source.getKind() != "input" && source.getKind() != "constant"))
      return false;
    const auto [it, fresh] = readOnly.try_emplace(i.tensor(1), true);
    if (fresh)
      for (mlir::OpOperand &o : i.tensor(1).getUses()) {
        const nisa::Instr user(o.getOwner());
        for (size_t k = 0; user && k < user.def().slots.size(); ++k)
          it->second &= user.tensor(static_cast<int>(k)) != o.get() || !user.writes(static_cast<int>(k));
      }
    const Duration d = durationOf(i, target, i.engine().value_or(Engine::Sync));
    const nisa::AccessAttr a = i.access(0);
    const double bytes = static_cast<double>(a.elements() * sizeOf(a.getDtype()));
    const double plain = bytes / (target.number("dma.bytes_per_ns") * d.share * std::max(target.dmaEngines, 1));
    return it->second && d.transfer <= kSlowLoad * plain + target.number("dma.fixed_latency");
  }
};

} // namespace

void findUses(nisa::CoreOp core, const std::vector<PlannedTensor *> &tensors, const Target &target) {
  for (PlannedTensor *t : tensors)
    t->changed = UINT32_MAX;
  Collector(tensors, target).block(core.getBody().front());
}

} // namespace glia::codegen
