#include "Valid.h"
#include "Generate.h"
#include "glia/Runtime/RandomInputs.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Runtime/FootprintCheck.h"
#include "glia/Verify/Verify.h"

#include <cstdio>
#include <fstream>
#include <set>

namespace glia::mutants {

namespace {

constexpr int kSeeds = 8, kThreads = 3;
constexpr int kEnoughForAll = 500; // programs after which every instruction must have occurred

std::string runOnce(const Program &p, const TensorData &inputs, bool strict, uint64_t seed, TensorData &outputs,
                    int threads = 1) {
  RunOptions o;
  o.threads = threads;
  o.strict = strict;
  o.seed = seed;
  o.maxSteps = 2'000'000;
  RunResult r = runChecked(p, inputs, o);
  outputs = std::move(r.outputs);
  return r.fault ? "fault\n" + render(*r.fault) : r.trap ? "trap\n" + render(*r.trap) : "";
}

// What is wrong with a program, or nothing.
std::string problem(const Program &p, Random &random) {
  const VerifyResult v = verify(p);
  if (!v.ok()) {
    std::string text = "refused";
    for (const Diagnostic &d : v.diagnostics)
      text += "\n" + render(d);
    return text;
  }
  const TensorData inputs = randomInputs(p, random);
  TensorData fast, strict;
  if (std::string bad = runOnce(p, inputs, false, 0, fast); !bad.empty())
    return "fast mode: " + bad;
  TensorData threaded;
  if (std::string bad = runOnce(p, inputs, false, 0, threaded, kThreads); !bad.empty())
    return format("fast mode, %d threads: ", kThreads) + bad;
  if (threaded != fast)
    return format("fast mode: other bytes with %d threads", kThreads);
  for (int s = 0; s < kSeeds; ++s) {
    if (std::string bad = runOnce(p, inputs, true, static_cast<uint64_t>(s), strict); !bad.empty())
      return format("strict mode, seed %d: ", s) + bad;
    for (const auto &[name, bytes] : fast)
      if (strict[name] != bytes)
        return format("strict mode, seed %d: other bytes in `%s` than in fast mode", s, name.c_str());
  }
  const std::vector<std::byte> bytes = toBytes(p);
  if (toBytes(loadBytes(bytes)) != bytes)
    return "the container of the loaded program has other bytes";
  try {
    if (toBytes(assemble(disassemble(p), "generated", p.target)) != bytes)
      return "the assembled text gives another container";
  } catch (const Error &e) {
    return std::string("its text does not assemble: ") + e.what();
  }
  return "";
}

bool has(const Target &t, const InstrDef &d) { return d.feature.empty() || t.has(d.feature); }

} // namespace

int checkValid(int programs, uint64_t seed) {
  std::vector<std::shared_ptr<const Target>> targets;
  for (const std::string &name : builtinTargets())
    targets.push_back(loadTarget(name));
  std::map<std::string, std::set<std::string_view>> used;
  int bad = 0;
  uint64_t instructions = 0;
  for (int i = 0; i < programs; ++i) {
    const auto &target = targets[static_cast<size_t>(i) % targets.size()];
    Random random(seed * 1'000'003u + static_cast<uint64_t>(i));
    std::string what;
    Program p;
    try {
      p = generate(target, random);
      what = problem(p, random);
    } catch (const Error &e) {
      what = std::string("not generated: ") + e.what();
    }
    instructions += p.instructionCount();
    for (const InstrDef *d : p.opcodes)
      used[target->name].insert(d->name);
    if (what.empty())
      continue;
    ++bad;
    std::printf("INVALID: program %d of seed %llu for %s: %s\n", i, static_cast<unsigned long long>(seed),
                target->name.c_str(), what.c_str());
    if (p.instructionCount())
      std::ofstream(format("valid-%d.gasm", i)) << disassemble(p);
  }
  size_t covered = 0, all = 0;
  for (const auto &target : targets)
    for (const InstrDef *d : allInstructions()) {
      if (!has(*target, *d))
        continue;
      ++all;
      if (used[target->name].count(d->name))
        ++covered;
      else if (programs >= kEnoughForAll)
        std::printf("NEVER USED on %s: %s\n", target->name.c_str(), std::string(d->name).c_str());
    }
  std::printf("generated %d programs, %llu instructions; %zu of %zu instructions of the targets occur%s\n"
              "refused, faulting, or different in text, container or order: %d (must be 0)\n",
              programs, static_cast<unsigned long long>(instructions), covered, all,
              programs >= kEnoughForAll ? " (must be all)" : "", bad);
  return bad == 0 && (covered == all || programs < kEnoughForAll) ? 0 : 1;
}

} // namespace glia::mutants
