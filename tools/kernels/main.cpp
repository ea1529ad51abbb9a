// glia-kernels N [SEED]: makes N random kernels and holds what the compiler makes of each against the sequential executor.
// glia-kernels --only I [SEED]: kernel I of that seed alone, with what is said of it.
// A kernel that fails is made smaller and written to kernel-SEED-I.nisa. Ends with the instructions that never occurred.
#include "Generate.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Reduce/CompareKernel.h"
#include "glia/Reduce/ReduceKernel.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace glia;
using namespace glia::kernels;
using reduce::KernelVerdict;

namespace {

constexpr int kEnoughForAll = 300; // kernels after which every instruction must have occurred
constexpr int kAttempts = 400;     // to make a failing kernel smaller
constexpr double kSeconds = 600;   // likewise
constexpr int kMostShrunk = 5;

struct Statistics {
  std::map<std::string, std::set<std::string_view>> used; // by target
  uint64_t instructions = 0, loops = 0, twoCores = 0, spilled = 0, spills = 0;
  void count(const std::string &target, nisa::Kernel &k) {
    twoCores += k.op().cores() == 2;
    k.op().walk([&](mlir::Operation *op) {
      if (nisa::Instr i(op); i) {
        used[target].insert(i.def().name);
        ++instructions;
      }
      loops += llvm::isa<nisa::LoopOp, nisa::WhileOp>(op);
    });
  }
};

// The compiler's own, and those that a sequential kernel has no use for.
bool writtenByAuthors(const InstrDef &d) { return d.unit != Unit::Control && d.name != "act_table_load" && d.name != "nop"; }

int tellUnused(const std::vector<std::shared_ptr<const Target>> &targets, Statistics &s, int kernels) {
  size_t all = 0, seen = 0;
  for (const auto &t : targets)
    for (const InstrDef *d : allInstructions()) {
      if (!writtenByAuthors(*d) || !(d->feature.empty() || t->has(d->feature)))
        continue;
      ++all;
      if (s.used[t->name].count(d->name))
        ++seen;
      else if (kernels >= kEnoughForAll)
        std::printf("NEVER USED on %s: %s\n", t->name.c_str(), std::string(d->name).c_str());
    }
  std::printf("%zu of %zu instructions of the targets occur%s\n", seen, all,
              kernels >= kEnoughForAll ? " (must be all)" : "");
  return kernels < kEnoughForAll || seen == all ? 0 : 1;
}

// As small as it can be and fail in the same way.
std::string smallest(Generated &g, const KernelVerdict &verdict) {
  const bool whole = reduce::selfContained(g.kernel, g.inputs);
  const auto failsToo = [&](const std::string &text) {
    nisa::Kernel k = nisa::parseKernel(text, "kernel.nisa");
    const TensorData inputs = reduce::inputsIn(k, g.inputs);
    return (!whole || reduce::selfContained(k, inputs)) && reduce::compareKernel(k, inputs).same(verdict);
  };
  reduce::Search search(g.kernel.text(), failsToo, reduce::sizeOfKernel, {.seconds = kSeconds, .tries = kAttempts});
  reduce::reduceKernel(search);
  return search.smallest();
}

} // namespace

int main(int argc, char **argv) {
  const bool only = argc > 2 && std::string_view(argv[1]) == "--only";
  auto number = [&](int at, uint64_t otherwise) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise; };
  const int first = only ? static_cast<int>(number(2, 0)) : 0;
  const int end = only ? first + 1 : static_cast<int>(number(1, 300));
  const uint64_t seed = number(only ? 3 : 2, 1);
  std::vector<std::shared_ptr<const Target>> targets;
  for (const std::string &name : builtinTargets())
    targets.push_back(loadTarget(name));
  Statistics statistics;
  std::map<std::string, int> failures;
  int bad = 0;
  for (int i = first; i < end; ++i) {
    const auto &target = targets[static_cast<size_t>(i) % targets.size()];
    Random random(seed * 1'000'003u + static_cast<uint64_t>(i));
    Generated g;
    KernelVerdict v;
    try {
      g = generate(target, random);
      statistics.count(target->name, g.kernel);
      if (only)
        std::ofstream(format("kernel-%llu-%d-all.nisa", (unsigned long long)seed, i)) << g.kernel.text();
      v = reduce::compareKernel(g.kernel, g.inputs);
    } catch (const Error &e) {
      v = {"generate", e.diagnostics().empty() ? "" : e.diagnostics()[0].code, e.what()};
    }
    statistics.spilled += v.spilled > 0;
    statistics.spills += static_cast<uint64_t>(v.spilled);
    if (v.ok())
      continue;
    ++bad;
    ++failures[v.kind + " " + v.code];
    std::printf("FAILED: kernel %d of seed %llu for %s: %s\n%s\n", i, (unsigned long long)seed, target->name.c_str(),
                v.kind.c_str(), v.detail.c_str());
    if (v.kind == "generate" || (!only && failures[v.kind + " " + v.code] > kMostShrunk))
      continue;
    const std::string file = format("kernel-%llu-%d.nisa", (unsigned long long)seed, i);
    std::ofstream(file) << smallest(g, v);
    std::printf("written to %s\n", file.c_str());
    std::fflush(stdout);
  }
  std::printf("%d kernels (%llu with two cores), %llu instructions, %llu loops; %llu spill %llu tensors\n", end - first,
              (unsigned long long)statistics.twoCores, (unsigned long long)statistics.instructions,
              (unsigned long long)statistics.loops, (unsigned long long)statistics.spilled,
              (unsigned long long)statistics.spills);
  for (const auto &[what, n] : failures)
    std::printf("%6d  %s\n", n, what.c_str());
  const int missing = tellUnused(targets, statistics, end - first);
  std::printf("refused, faulting or different from the executor: %d (must be 0)\n", bad);
  return bad == 0 && missing == 0 ? 0 : 1;
}
