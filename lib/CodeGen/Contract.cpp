#include "Contract.h"
#include "glia/ISA/Instruction.h"
#include "glia/Program/Decode.h"

#include <algorithm>
#include <set>

namespace glia::codegen {

void addContract(Program &p, nisa::KernelOp k) {
  auto say = [&p](std::string key, std::string value) { p.contract.push_back({std::move(key), std::move(value)}); };
  say("kernel", k.getSymName().str());
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
    // Activation tables: what it loads, what it finds, what it leaves.
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
  if (auto spills = k->getAttrOfType<mlir::ArrayAttr>("spills"))
    for (mlir::Attribute a : spills)
      say("spill", llvm::cast<mlir::StringAttr>(a).str());
  std::set<std::string> features;
  for (const InstrDef *d : p.opcodes)
    if (!d->feature.empty())
      features.insert(std::string(d->feature));
  for (const std::string &f : features)
    say("needs", f);
  for (uint32_t i = 0; i < p.tensors.size(); ++i) {
    const Tensor &t = p.tensors[i];
    if (t.kind != TensorKind::Input && t.kind != TensorKind::Output)
      continue;
    p.symbols.push_back({t.name, {ObjectKind::Tensor, i}, t.kind == TensorKind::Output});
    p.relocations.push_back({static_cast<uint32_t>(p.symbols.size() - 1), {ObjectKind::Tensor, i}});
  }
}

} // namespace glia::codegen
