#include "Plant.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Reduce/ReduceGraph.h"

#include <algorithm>

namespace glia::graphs {

const std::vector<Fault> &plantedFaults() {
  static const std::vector<Fault> all = {
      {"tensor_tensor", "op", "add", "subtract"},  {"tensor_tensor", "op", "multiply", "add"},
      {"tensor_tensor", "op", "subtract", "add"},  {"tensor_tensor", "op", "max", "min"},
      {"tensor_scalar", "op0", "multiply", "add"}, {"tensor_scalar", "op0", "add", "subtract"},
      {"tensor_scalar", "op0", "max", "min"},      {"scalar_tensor_tensor", "op1", "add", "subtract"},
      {"activation", "fn", "exp", "tanh"},         {"activation", "fn", "tanh", "exp"},
      {"tensor_reduce", "op", "add", "max"},       {"tensor_reduce", "op", "max", "min"},
      {"nc_matmul", nullptr, nullptr, nullptr},    {"tensor_copy", nullptr, nullptr, nullptr},
      {"select", nullptr, nullptr, nullptr},       {"tensor_copy_predicated", nullptr, nullptr, nullptr},
  };
  return all;
}

std::string Fault::name() const {
  return wrong ? format("%s %s=%s for %s", instruction, slot, wrong, right) : std::string(instruction) + " left out";
}

void Fault::plant(nisa::Kernel &kernel) const {
  std::vector<nisa::Instr> met;
  kernel.op().walk([&](mlir::Operation *op) {
    if (nisa::Instr i(op); i && i.is(instruction))
      met.push_back(i);
  });
  for (nisa::Instr i : met) {
    if (!wrong) {
      i->erase();
      continue;
    }
    const auto &names = i.def().slots[static_cast<size_t>(i.def().slot(slot))].names->names;
    const auto number = [&](std::string_view name) {
      return static_cast<int32_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    if (i.integer(slot) == number(right))
      i.setInteger(slot, number(wrong));
  }
}

Reduced reducePlanted(const std::string &text, const std::string &target, const Fault &fault, double seconds) {
  GraphOptions options;
  options.target = target;
  const auto judge = [&](bool planted) {
    return [=](const std::string &t) {
      GraphOptions o = options;
      if (planted)
        o.onKernel = [&](nisa::Kernel &k) { fault.plant(k); };
      return reduce::judgeChecked(t, o, 1);
    };
  };
  Reduced out;
  const reduce::Patience patience{.seconds = 20};
  if (!reduce::judgeApart(judge(false), text, patience).empty())
    return out; // refused, or wrong without it
  reduce::Trials trials;
  trials.judge = judge(true);
  trials.patience = patience;
  trials.fails(text);
  if (trials.last.empty())
    return out;
  trials.keep.code = trials.last[0].code;
  const auto failsToo = [&](const std::string &t) { return trials.fails(t); };
  reduce::Search search(text, failsToo, reduce::sizeOfGraph, {.seconds = seconds});
  out.keeps = trials.keep.code;
  out.before = search.size().parts;
  reduce::reduceGraph(search, reduce::Bodies::Kept);
  out.after = search.size().parts;
  out.bytes = search.size().bytes;
  out.seconds = search.elapsed();
  out.tries = search.tries();
  out.text = search.smallest();
  out.failsStill = failsToo(out.text);
  return out;
}

} // namespace glia::graphs
