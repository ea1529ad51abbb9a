#include "glia/CodeGen/Contract.h"
#include "Contract.h"
#include "Transforms/Remarks.h"
#include "glia/ISA/Instruction.h"
#include "glia/Program/Decode.h"
#include "glia/Program/Remarks.h"

#include <algorithm>
#include <map>
#include <set>

namespace glia {

// Feature -> the first instruction that needs it, with its line.
static std::map<std::string, std::string> neededFeatures(const Program &p) {
  std::map<std::string, std::string> out;
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e)
      for (const Instr &i : p.stream(static_cast<int>(c), static_cast<Engine>(e)).instrs) {
        const InstrDef &d = *p.opcodes[i.opcode];
        auto add = [&](std::string_view feature) {
          const InstrOrigin &o = p.origins[i.origin];
          out.try_emplace(std::string(feature),
                          std::string(d.name) +
                              (o.line ? " at " + p.strings[o.file] + ":" + std::to_string(o.line) : std::string()));
        };
        if (!d.feature.empty())
          add(d.feature);
        for (const EngineNeed &n : d.engineNeeds)
          if (n.engine == static_cast<Engine>(e))
            add(n.feature);
      }
  return out;
}

std::vector<ContractItem> describeContract(const Program &p, std::string_view kernel) {
  std::vector<ContractItem> out;
  auto say = [&out](std::string key, std::string value) { out.push_back({std::move(key), std::move(value)}); };
  say("kernel", std::string(kernel));
  say("target", p.target->name);
  say("cores", std::to_string(p.cores));
  for (uint32_t c = 0; c < p.cores; ++c) {
    const std::string core = "core" + std::to_string(c) + ".";
    int64_t high[2] = {0, 0}, low[2] = {INT64_MAX, INT64_MAX};
    for (const Allocation &a : p.allocations)
      if (a.core == c) {
        const int s = a.space == Space::Psum;
        low[s] = std::min(low[s], a.byteOffset);
        high[s] = std::max(high[s], a.byteOffset + a.bytesPerPartition());
      }
    say(core + "sbuf", high[0] ? std::to_string(low[0]) + ".." + std::to_string(high[0]) : "none");
    say(core + "psum", high[1] ? std::to_string(low[1]) + ".." + std::to_string(high[1]) : "none");
    auto count = [c](const auto &list) {
      return std::count_if(list.begin(), list.end(), [c](const auto &x) { return x.core == c; });
    };
    say(core + "semaphores", std::to_string(count(p.semaphores)));
    say(core + "queues", std::to_string(count(p.queues)));
    // Activation tables: what it loads and what it leaves. It finds none.
    std::set<std::string> sets;
    std::string leaves = "unchanged";
    Decoded d;
    const Stream &scalar = p.stream(static_cast<int>(c), Engine::Scalar);
    for (uint32_t i = 0; i < scalar.instrs.size(); ++i) {
      if (p.opcodes[scalar.instrs[i].opcode]->name != "act_table_load")
        continue;
      decode(p, static_cast<int>(c), Engine::Scalar, i, d);
      leaves = p.strings[d.values[0].integer];
      sets.insert(leaves);
    }
    std::string list;
    for (const std::string &s : sets)
      list += (list.empty() ? "" : " ") + s;
    say(core + "tables", list.empty() ? "none" : list);
    say(core + "tables.leaves", leaves);
  }
  for (const auto &[feature, where] : neededFeatures(p))
    say("needs." + feature, where);
  return out;
}

void addContract(Program &p, std::string_view kernel) {
  p.contract = describeContract(p, kernel);
  for (uint32_t i = 0; i < p.tensors.size(); ++i) {
    const Tensor &t = p.tensors[i];
    if (t.kind != TensorKind::Input && t.kind != TensorKind::Output)
      continue;
    p.symbols.push_back({t.name, {ObjectKind::Tensor, i}, t.kind == TensorKind::Output});
    p.relocations.push_back({static_cast<uint32_t>(p.symbols.size() - 1), {ObjectKind::Tensor, i}});
  }
}

void codegen::addContract(Program &p, nisa::KernelOp k) {
  glia::addContract(p, llvm::StringRef(k.getSymName()));
  if (auto spills = k->getAttrOfType<mlir::ArrayAttr>("spills"))
    for (mlir::Attribute a : spills)
      p.contract.push_back({"spill", llvm::cast<mlir::StringAttr>(a).str()});
  if (auto remarks = k->getAttrOfType<mlir::ArrayAttr>(kRemarks))
    for (mlir::Attribute a : remarks)
      p.contract.push_back({std::string(kRemarkKey), llvm::cast<mlir::StringAttr>(a).str()});
}

} // namespace glia
