#include "AllocateRegisters.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <set>
#include <vector>

namespace glia::codegen {

namespace {

struct Interval {
  uint32_t from = UINT32_MAX, to = 0;
};

class RegisterAllocator {
public:
  RegisterAllocator(nisa::CoreOp core, const Target &t) : core(core), target(t) {}

  RegisterNumbers run() {
    number(core.getBody().front());
    RegisterNumbers out;
    for (int e = 0; e < kNumEngines; ++e) {
      std::vector<std::pair<Interval, void *>> list;
      for (const auto &[key, interval] : intervals)
        if (key.second == e)
          list.push_back({interval, key.first});
      std::sort(list.begin(), list.end(), [this](const auto &a, const auto &b) {
        return a.first.from != b.first.from ? a.first.from < b.first.from : ordinal.at(a.second) < ordinal.at(b.second);
      });
      std::set<int> free;
      for (int r = 0; r < target.registers; ++r)
        free.insert(r);
      std::multimap<uint32_t, int> live; // by end
      for (const auto &[interval, reg] : list) {
        while (!live.empty() && live.begin()->first < interval.from) {
          free.insert(live.begin()->second);
          live.erase(live.begin());
        }
        if (free.empty())
          throw Error("KERNEL-REGISTERS",
                      format("the kernel keeps more than %d registers alive at once on the %s engine", target.registers,
                             std::string(name(static_cast<Engine>(e))).c_str()),
                      "Load registers where they are used, or keep values in SBUF.");
        const int r = *free.begin();
        free.erase(free.begin());
        live.insert({interval.to, r});
        out[{reg, e}] = r;
      }
    }
    return out;
  }

private:
  nisa::CoreOp core;
  const Target &target;
  uint32_t next = 0;
  std::map<std::pair<void *, int>, Interval> intervals;
  std::map<void *, uint32_t> ordinal; // the order of first use, the same on every run
  struct Loop {
    uint32_t begin;
    mlir::Block *body;
    std::vector<std::pair<mlir::Value, int>> used;
  };
  std::vector<Loop> loops;

  void touch(mlir::Value v, int e) {
    ordinal.try_emplace(v.getAsOpaquePointer(), static_cast<uint32_t>(ordinal.size()));
    Interval &i = intervals[{v.getAsOpaquePointer(), e}];
    i.from = std::min(i.from, next);
    i.to = std::max(i.to, next);
    for (Loop &l : loops)
      l.used.push_back({v, e});
  }

  void number(mlir::Block &block) {
    for (mlir::Operation &op : block) {
      ++next;
      if (nisa::Instr i{&op}) {
        for (mlir::Value v : op.getOperands())
          if (llvm::isa<nisa::RegType>(v.getType()))
            touch(v, static_cast<int>(i.engine().value_or(Engine::Sync)));
      } else if (auto engines = op.getAttrOfType<mlir::DenseI32ArrayAttr>("engines")) {
        for (int32_t e : engines.asArrayRef()) {
          for (mlir::Value v : op.getOperands())
            touch(v, e);
          for (mlir::Value v : op.getRegion(0).getArguments())
            touch(v, e);
        }
        loops.push_back({next, &op.getRegion(0).front(), {}});
        for (int32_t e : engines.asArrayRef())
          for (mlir::Value v : op.getRegion(0).getArguments())
            loops.back().used.push_back({v, e});
        number(op.getRegion(0).front());
        ++next;
        // The next iteration finds what this one has left: what is used inside lives through the loop, unless it is a register of the
        // body's own, which each iteration writes before it reads it.
        for (auto [v, e] : loops.back().used) {
          const bool counts = llvm::is_contained(op.getRegion(0).getArguments(), v);
          if (!counts && op.getRegion(0).isAncestor(v.getParentRegion()))
            continue;
          Interval &i = intervals[{v.getAsOpaquePointer(), e}];
          i.from = std::min(i.from, loops.back().begin);
          i.to = std::max(i.to, next);
        }
        loops.pop_back();
      }
    }
  }
};

} // namespace

RegisterNumbers allocateRegisters(nisa::CoreOp core, const Target &target) { return RegisterAllocator(core, target).run(); }

} // namespace glia::codegen
