// glia-tiny N [SEED]: makes N tiny programs, right and nearly right, and holds the verifier against every order of each of them
// for every input in range. One that verifies has one outcome and no fault, for every input.
// glia-tiny --orders N [SEED]: does the search leave nothing out? Compares its outcomes with those of a search of all states.
#include "Tiny.h"
#include "glia/Program/Assembler.h"
#include "glia/Sim/EveryOrder.h"
#include "glia/Verify/Verify.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

using namespace glia;

namespace {

std::string outcomeText(const OrderResult &r) {
  for (const OrderOutcome &o : r.outcomes)
    if (o.fault)
      return o.fault->code + ": " + o.fault->message;
  return format("%llu outcomes", static_cast<unsigned long long>(r.different));
}

// What is wrong with a program, for some input in range, in some order: empty if nothing is. Throws Error for too many states.
std::string wrongInSomeOrder(const Program &p, bool wholeMemory, uint64_t &states) {
  OrderOptions o;
  o.untilWrong = true;
  o.wholeMemory = wholeMemory;
  for (const TensorData &inputs : tiny::everyInput(p)) {
    const OrderResult r = runEveryOrder(p, inputs, o);
    states += r.states;
    if (!r.ok())
      return outcomeText(r);
  }
  return {};
}

struct Refused {
  int all = 0, unseen = 0, harmless = 0; // the outputs are always the same; every byte is
};

int againstVerifier(int wanted, uint64_t seed) {
  int verified = 0, bad = 0, large = 0, malformed = 0;
  std::map<std::string, Refused> rules; // for order
  uint64_t states = 0;
  for (int i = 0; i < wanted; ++i) {
    Random random(seed * 1'000'003 + static_cast<uint64_t>(i));
    const std::string text = tiny::next(random).text();
    Program p;
    try {
      p = assemble(text, "tiny.gasm");
    } catch (const Error &e) {
      ++malformed;
      if (std::getenv("GLIA_TINY_VERBOSE"))
        std::printf("no program: %s\n", e.what());
      continue;
    }
    const VerifyResult v = verify(p);
    verified += v.ok();
    if (!v.ok() && !tiny::aboutOrder(v.diagnostics))
      continue;
    std::string wrong, seen;
    try {
      wrong = seen = wrongInSomeOrder(p, true, states);
      if (!v.ok() && !wrong.empty())
        seen = wrongInSomeOrder(p, false, states);
    } catch (const Error &) {
      ++large;
      continue;
    }
    if (v.ok()) {
      if (wrong.empty())
        continue;
      ++bad;
      const std::string file = format("tiny-%d.gasm", bad);
      std::ofstream(file) << "; seed " << seed << ", number " << i << ": " << wrong << "\n" << text;
      std::printf("VERIFIED BUT WRONG (%s): %s\n%s\n", file.c_str(), wrong.c_str(), text.c_str());
      continue;
    }
    Refused &rule = rules[v.diagnostics[0].code];
    ++rule.all;
    rule.unseen += seen.empty();
    rule.harmless += wrong.empty();
    if (wrong.empty() && std::getenv("GLIA_TINY_VERBOSE"))
      std::printf("harmless: %s\n%s\n", render(v.diagnostics[0]).c_str(), text.c_str());
  }
  Refused sum;
  std::printf("%-24s %8s %9s %14s\n", "first rule broken", "refused", "harmless", "but for memory");
  for (const auto &[rule, n] : rules) {
    std::printf("%-24s %8d %9d %14d\n", rule.c_str(), n.all, n.harmless, n.unseen - n.harmless);
    sum = {sum.all + n.all, sum.unseen + n.unseen, sum.harmless + n.harmless};
  }
  const auto share = [&](int n) { return sum.all ? 100.0 * n / sum.all : 0.0; };
  std::printf(
      "\ntiny programs %d, %d of them no programs, %d with too many states; %llu states\nverified %d\n"
      "verified but wrong %d (must be 0)\nrefused for their order and harmless for every input: %d of %d (%.0f %%); %.0f %% "
      "more leave other bytes in memory, but not in an output\n",
      wanted, malformed, large, static_cast<unsigned long long>(states), verified, bad, sum.harmless, sum.all,
      share(sum.harmless), share(sum.unseen - sum.harmless));
  return bad == 0 ? 0 : 1;
}

// What a search finds, as a set: outputs, and that something goes wrong.
std::set<std::string> outcomes(const OrderResult &r) {
  std::set<std::string> out;
  for (const OrderOutcome &o : r.outcomes) {
    std::string text = o.fault ? "fault" : o.trap ? "trap" : "";
    for (const auto &[name, bytes] : o.outputs)
      text.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    out.insert(text);
  }
  return out;
}

int reducedAgainstAll(int wanted, uint64_t seed) {
  int compared = 0, large = 0, different = 0, several = 0;
  uint64_t few = 0, all = 0;
  for (int i = 0; i < wanted; ++i) {
    Random random(seed * 1'000'003 + static_cast<uint64_t>(i));
    const std::string text = tiny::next(random).text();
    try {
      const Program p = assemble(text, "tiny.gasm");
      const std::vector<TensorData> inputs = tiny::everyInput(p);
      const TensorData &input = inputs[random.below(static_cast<int64_t>(inputs.size()))];
      OrderOptions o;
      o.maxStates = 5'000;
      const OrderResult reduced = runEveryOrder(p, input, o);
      o.reduce = false;
      const OrderResult full = runEveryOrder(p, input, o);
      if (full.different > OrderResult::kMostOutcomes)
        continue;
      ++compared;
      few += reduced.states;
      all += full.states;
      several += full.different > 1;
      // A path ends at its first fault: behind one, the reduced search need not find what else could end well.
      const bool same = full.faults ? reduced.faults > 0 : outcomes(full) == outcomes(reduced);
      if (!same) {
        ++different;
        std::printf("OTHER OUTCOMES: seed %llu, number %d: %llu and %llu\n%s\n", static_cast<unsigned long long>(seed), i,
                    static_cast<unsigned long long>(reduced.different), static_cast<unsigned long long>(full.different),
                    text.c_str());
      }
    } catch (const Error &) {
      ++large;
    }
  }
  std::printf(
      "compared %d, %d of them with several outcomes; %d are no programs or have too many states\nstates %llu of %llu\n"
      "with other outcomes %d (must be 0)\n",
      compared, several, large, static_cast<unsigned long long>(few), static_cast<unsigned long long>(all), different);
  return different == 0 && compared > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const bool orders = argc > 1 && std::string_view(argv[1]) == "--orders";
  const int first = orders ? 2 : 1;
  auto number = [&](int at, uint64_t otherwise) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise; };
  const int wanted = static_cast<int>(number(first, 300));
  const uint64_t seed = number(first + 1, 1);
  try {
    return orders ? reducedAgainstAll(wanted, seed) : againstVerifier(wanted, seed);
  } catch (const Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
