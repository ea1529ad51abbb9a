// glia-mutants N [SEED]: changes valid programs N times and holds the verifier and the strict simulator against each other.
// glia-mutants --late N [SEED]: programs with long loops that go wrong late, if they do (Late.h).
// glia-mutants --valid N [SEED]: generates N valid programs and checks that they are (Valid.h).
// A mutant that verifies must not fault and must give the same bytes under every seed. Prints a table by rule.
#include "glia/Runtime/RandomInputs.h"
#include "Late.h"
#include "Mutate.h"
#include "Outcome.h"
#include "Start.h"
#include "Valid.h"
#include "glia/Program/Assembler.h"
#include "glia/Runtime/FootprintCheck.h"
#include "glia/Verify/Verify.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace glia;
using namespace glia::mutants;

namespace {

// Fast mode takes one order, also where the program leaves the order open: threads must not show.
bool sameWithThreads(const Program &p, const TensorData &inputs) {
  RunOptions o;
  o.maxSteps = 200'000;
  o.threads = 1;
  const RunResult one = runChecked(p, inputs, o);
  o.threads = 3;
  const RunResult three = runChecked(p, inputs, o);
  const auto text = [](const std::optional<Diagnostic> &d) { return d ? render(*d) : std::string(); };
  return text(one.fault) == text(three.fault) && text(one.trap) == text(three.trap) && one.printed == three.printed &&
         one.instructions == three.instructions && one.outputs == three.outputs;
}

// Rules whose refusals strict mode is expected to confirm, most of the time.
bool confirmable(const std::string &rule) {
  static const std::set<std::string> kRules = {
      "RACE",           "UNDEFINED-OUTPUT", "OUTPUT-UNWRITTEN", "UNDEFINED-ADDRESS", "UNDEFINED-CONTROL",
      "OPERAND-BOUNDS", "SYNC-DEADLOCK"};
  return kRules.count(rule) != 0;
}

struct Row {
  int refused = 0, shownWrong = 0;
};

} // namespace

int main(int argc, char **argv) {
  auto number = [&](int at, uint64_t otherwise) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise; };
  if (argc > 1 && std::string_view(argv[1]) == "--valid")
    return checkValid(static_cast<int>(number(2, 200)), number(3, 1));
  const int wanted = static_cast<int>(number(1, 300));
  Random random(number(2, 1));
  const int seedsForVerified = 8, seedsForRefused = 50;
  try {
    if (argc > 1 && std::string_view(argv[1]) == "--late")
      return checkLate(static_cast<int>(number(2, 300)), number(3, 1));
    const std::vector<Start> seeds = smallPrograms();
    if (seeds.empty()) {
      std::fprintf(stderr, "glia-mutants: no valid program to start from\n");
      return 1;
    }
    std::map<std::string, Row> rows;
    int made = 0, verified = 0, broken = 0, endless = 0, threadsShow = 0;
    int generated = 0;
    while (made < wanted) {
      const Start fresh = random.chance(50) ? generatedProgram(random) : Start{};
      generated += !fresh.name.empty();
      const Start &start = fresh.name.empty() ? random.pick(seeds) : fresh;
      std::optional<Mutant> m = mutate(start.program, random);
      if (!m)
        continue;
      ++made;
      const VerifyResult v = verify(m->program);
      Random forInputs(random.next());
      const TensorData inputs = randomInputs(m->program, forInputs);
      if (!sameWithThreads(m->program, inputs)) {
        ++threadsShow;
        std::printf("THREADS SHOW: %s, %s\n", start.name.c_str(), m->change.c_str());
        std::ofstream(format("threads-%d.gasm", threadsShow)) << disassemble(m->program);
      }
      if (v.ok()) {
        ++verified;
        Outcome first;
        for (int s = 0; s < seedsForVerified + kSteeredSeeds; ++s) {
          const Outcome o = outcome(m->program, inputs, s, s >= seedsForVerified);
          if (s == 0)
            first = o;
          if (o.fault.empty() && o.result == first.result)
            continue;
          if (o.fault == "SIM-STEPS" && first.fault == o.fault) { // that a `while` ends is not proved (L8)
            ++endless;
            break;
          }
          ++broken;
          std::printf("VERIFIED BUT WRONG: %s, %s: %s under seed %d\n", start.name.c_str(), m->change.c_str(),
                      o.fault.empty() ? "other bytes" : o.fault.c_str(), s);
          std::ofstream(format("mutant-%d.gasm", broken)) << disassemble(m->program);
          break;
        }
        continue;
      }
      bool wrong = false;
      Outcome first;
      for (int s = -kSteeredSeeds; s < seedsForRefused && !wrong; ++s) {
        const Outcome o = outcome(m->program, inputs, s < 0 ? s + kSteeredSeeds : s, s < 0);
        if (s == -kSteeredSeeds)
          first = o;
        wrong = !o.fault.empty() || o.result != first.result || o.result.starts_with("trap");
      }
      Row &row = rows[v.diagnostics[0].code];
      ++row.refused;
      row.shownWrong += wrong;
      if (!wrong && std::getenv("GLIA_MUTANTS_VERBOSE"))
        std::printf("harmless: %s, %s: %s\n", start.name.c_str(), m->change.c_str(), render(v.diagnostics[0]).c_str());
    }

    int confirmableRefused = 0, confirmed = 0;
    std::printf("%-24s %8s %12s %9s\n", "first rule broken", "refused", "shown wrong", "harmless");
    for (const auto &[rule, row] : rows) {
      std::printf("%-24s %8d %12d %9d\n", rule.c_str(), row.refused, row.shownWrong, row.refused - row.shownWrong);
      if (confirmable(rule)) {
        confirmableRefused += row.refused;
        confirmed += row.shownWrong;
      }
    }
    const double share = 100.0 * verified / made, rate = confirmableRefused ? 100.0 * confirmed / confirmableRefused : 100;
    std::printf(
        "\nmutants %d from %zu programs and %d generated ones\nverified %d (%.0f %%, at least 20 %%), %d of them repeat for "
        "ever\n"
        "verified but wrong %d (must be 0)\n"
        "other results with three threads %d (must be 0)\n"
        "refused for races, definedness or bounds and shown wrong within %d seeds: %d of %d (%.0f %%, at least 80 %%)\n",
        made, seeds.size(), generated, verified, share, endless, broken, threadsShow, seedsForRefused, confirmed,
        confirmableRefused, rate);
    return broken == 0 && threadsShow == 0 && share >= 20 && rate >= 80 ? 0 : 1;
  } catch (const Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
