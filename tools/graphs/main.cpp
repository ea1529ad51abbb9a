// glia-graphs N [SEED]: makes N random graphs, compiles each for one of the targets in turn and holds it against the reference.
// glia-graphs --only I [SEED]: graph I of that seed alone, with what is said of it.
// glia-graphs --print I [SEED]: its text.
// Before these: --family NAME: one kind of operation is drawn much more often; --without NAME,NAME: some are not drawn; --changed
// KEY=VALUE: the targets are changed so, as in `--target trn2,KEY=VALUE`: with a tenth of SBUF small graphs become large ones.
// glia-graphs --shrink FILE TARGET: makes a failing graph smaller; the text goes to the output.
// glia-graphs --reduce N [SEED [LEAST]]: N random graphs of LEAST (60) or more operations, each with a fault planted in the emitters that
// matters to it, are made smaller as `glia reduce` does, and the sizes are printed.
// A graph that fails is made smaller and written to graph-SEED-I.mlir. Ends with what was refused, by reason.
#include "Check.h"
#include "Generate.h"
#include "Plant.h"
#include "glia/Reduce/ReduceGraph.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"
#include "glia/Target/Target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

using namespace glia;
using namespace glia::graphs;

namespace {

constexpr int kAttempts = 300; // to make a failing graph smaller
constexpr int kMostShrunk = 3; // of one kind
constexpr double kMust = 0.95; // of the graphs compile

std::string graphOf(uint64_t seed, int i, const Choice &choice) {
  Random random(seed * 1'000'003u + static_cast<uint64_t>(i));
  return generate(random, choice);
}

int shrinkFile(const std::string &file, const std::string &target) {
  const FileBytes bytes = readFile(file);
  const std::string text(bytes.text());
  const Verdict v = check(text, target);
  std::fprintf(stderr, "%s\n", v.kind == Verdict::Right ? "nothing is wrong with it" : v.detail.c_str());
  if (v.kind == Verdict::Right)
    return 1;
  std::fputs(smallest(text, target, v, kAttempts).c_str(), stdout);
  return 0;
}

struct Run {
  int first, end;
  uint64_t seed;
  Choice choice;
  std::string changed; // of the targets
  bool only;
};

int run(const Run &o) {
  static const char *const kinds[] = {"right", "refused", "WRONG", "INTERNAL ERROR"};
  const std::vector<std::string> targets = builtinTargets();
  int count[4] = {};
  std::map<std::string, int> reasons, shrunk;
  for (int i = o.first; i < o.end; ++i) {
    const std::string target = targets[static_cast<size_t>(i) % targets.size()] + o.changed;
    const std::string text = graphOf(o.seed, i, o.choice);
    const Verdict v = check(text, target);
    ++count[v.kind];
    if (v.kind == Verdict::Right) {
      if (o.only)
        std::printf("right on %s\n", target.c_str());
      continue;
    }
    for (const std::string &reason : v.reasons)
      ++reasons[std::string(kinds[v.kind]) + ": " + reason];
    if (v.kind == Verdict::Refused && !o.only)
      continue;
    std::printf("%s: graph %d of seed %llu on %s\n%s\n", kinds[v.kind], i, (unsigned long long)o.seed, target.c_str(),
                v.detail.c_str());
    const std::string file = format("graph-%llu-%d.mlir", (unsigned long long)o.seed, i);
    const bool small =
        v.kind != Verdict::Refused && !v.reasons.count("GRAPH-SYNTAX") && ++shrunk[*v.reasons.begin()] <= kMostShrunk;
    std::string note = "// " + target + ": " + v.detail;
    for (size_t at = note.find('\n'); at != std::string::npos; at = note.find('\n', at + 1))
      note.insert(at + 1, "// ");
    std::ofstream(file) << note << "\n" << (small ? smallest(text, target, v, kAttempts) : text);
    std::printf("written to %s\n", file.c_str());
    std::fflush(stdout);
  }
  for (const auto &[what, n] : reasons)
    std::printf("%6d  %s\n", n, what.c_str());
  const int all = o.end - o.first, bad = count[Verdict::Wrong] + count[Verdict::Internal];
  const int compiled = all - count[Verdict::Refused];
  std::printf("%d graphs: %d right, %d refused (at most %.0f %% may be), %d wrong, %d internal errors (must be 0)\n", all,
              count[Verdict::Right], count[Verdict::Refused], 100 * (1 - kMust), count[Verdict::Wrong],
              count[Verdict::Internal]);
  return bad == 0 && (o.only || compiled >= kMust * all) ? 0 : 1;
}

constexpr size_t kSmall = 8; // operations
constexpr double kReduceSeconds = 60;

int reduceMany(int wanted, uint64_t seed, size_t least) {
  int small = 0, done = 0;
  const std::vector<std::string> targets = builtinTargets();
  for (int i = 0; done < wanted; ++i) {
    const std::string text = graphOf(seed, i, {});
    if (reduce::sizeOfGraph(text).parts < least)
      continue;
    const std::string &target = targets[static_cast<size_t>(i) % targets.size()];
    for (size_t k = 0; k < plantedFaults().size(); ++k) { // the first that matters, another one for each graph
      const Fault &fault = plantedFaults()[(static_cast<size_t>(i) + k) % plantedFaults().size()];
      const Reduced r = reducePlanted(text, target, fault, kReduceSeconds);
      if (r.keeps.empty())
        continue;
      const bool good = r.failsStill && r.after <= kSmall && r.after <= r.before;
      std::printf("graph %d on %s, %s: %s, %zu operations became %zu after %d tries in %.1f s%s\n", i, target.c_str(),
                  fault.name().c_str(), r.keeps.c_str(), r.before, r.after, r.tries, r.seconds,
                  !r.failsStill ? ", AND IT NO LONGER FAILS"
                  : good        ? ""
                                : ", NOT SMALL");
      if (!good)
        std::fputs(r.text.c_str(), stdout);
      std::fflush(stdout);
      small += good;
      ++done;
      break;
    }
  }
  std::printf("%d of %d graphs are at most %zu operations and fail as before\n", small, done, kSmall);
  return small == done ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto word = [&](size_t i) { return i < words.size() ? words[i] : std::string(); };
  const auto number = [&](size_t i, uint64_t otherwise) {
    return i < words.size() ? std::strtoull(words[i].c_str(), nullptr, 10) : otherwise;
  };
  try {
    if (word(0) == "--shrink")
      return shrinkFile(word(1), words.size() > 2 ? word(2) : "trn2");
    Choice choice;
    std::string changed;
    while (word(0) == "--family" || word(0) == "--without" || word(0) == "--changed") {
      const std::string names = word(1);
      if (word(0) == "--family")
        choice.family = names;
      else if (word(0) == "--changed")
        changed += "," + names;
      else
        for (size_t from = 0; from <= names.size();) {
          const size_t to = std::min(names.find(',', from), names.size());
          choice.without.push_back(names.substr(from, to - from));
          from = to + 1;
        }
      words.erase(words.begin(), words.begin() + std::min<long>(2, static_cast<long>(words.size())));
    }
    const std::vector<std::string_view> &names = familyNames();
    if (!choice.family.empty() && std::find(names.begin(), names.end(), choice.family) == names.end()) {
      for (std::string_view n : names)
        std::fprintf(stderr, "%.*s\n", static_cast<int>(n.size()), n.data());
      return 2;
    }
    if (word(0) == "--print") {
      std::fputs(graphOf(number(2, 1), static_cast<int>(number(1, 0)), choice).c_str(), stdout);
      return 0;
    }
    if (word(0) == "--reduce")
      return reduceMany(static_cast<int>(number(1, 10)), number(2, 1), number(3, 60));
    const bool only = word(0) == "--only";
    const auto first = static_cast<int>(only ? number(1, 0) : 0);
    const auto end = static_cast<int>(only ? first + 1 : number(0, 200));
    return run({first, end, number(only ? 2 : 1, 1), choice, changed, only});
  } catch (const Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
