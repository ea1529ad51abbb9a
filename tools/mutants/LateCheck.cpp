#include "glia/Runtime/RandomInputs.h"
#include "Late.h"
#include "Mutate.h"
#include "Outcome.h"
#include "glia/Program/Assembler.h"
#include "glia/Verify/Certificate.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

namespace glia::mutants {

namespace {

struct Row {
  int made = 0, verified = 0, broken = 0, refused = 0, shownWrong = 0;
};

} // namespace

int checkLate(int programs, uint64_t seed) {
  std::map<std::string, Row> rows;
  int broken = 0, made = 0;
  for (int i = 0; made < programs; ++i) {
    Random random(seed * 1'000'003u + static_cast<uint64_t>(i));
    const Late late = lateProgram(random);
    Program p = assemble(late.text, late.kind + ".gasm");
    std::string change;
    if (random.chance(30)) {
      std::optional<Mutant> m = mutate(p, random);
      if (!m)
        continue;
      p = std::move(m->program);
      change = ", " + m->change;
    }
    ++made;
    Row &row = rows[late.kind];
    ++row.made;
    std::vector<std::byte> certificate;
    VerifyOptions options;
    options.requireProved = late.requireProved;
    const VerifyResult v = certify(p, certificate, options);
    std::string wrong = whatGoesWrong(p, random, v.ok() ? 4 : 8, late.requireProved);
    if (v.ok())
      try {
        verifyWith(p, certificate, options);
      } catch (const Error &e) {
        wrong += render(e.diagnostics().front());
      }
    if (v.ok()) {
      ++row.verified;
      if (wrong.empty())
        continue;
      ++row.broken;
      ++broken;
      std::printf("VERIFIED BUT WRONG: %s, number %d of seed %llu%s: %s (late-%d.gasm)\n", late.kind.c_str(), i,
                  static_cast<unsigned long long>(seed), change.c_str(), wrong.c_str(), broken);
      std::ofstream(format("late-%d.gasm", broken)) << "; " << late.kind << change << ": " << wrong << "\n"
                                                    << disassemble(p);
      continue;
    }
    ++row.refused;
    row.shownWrong += !wrong.empty();
    if (std::getenv("GLIA_MUTANTS_VERBOSE"))
      std::printf("%s: %s%s: %s\n", wrong.empty() ? "harmless" : wrong.c_str(), late.kind.c_str(), change.c_str(),
                  render(v.diagnostics[0]).c_str());
  }
  std::printf("%-12s %6s %9s %10s %8s %12s\n", "kind", "made", "verified", "but wrong", "refused", "shown wrong");
  Row all;
  for (const auto &[kind, row] : rows) {
    std::printf("%-12s %6d %9d %10d %8d %12d\n", kind.c_str(), row.made, row.verified, row.broken, row.refused,
                row.shownWrong);
    all.verified += row.verified;
    all.refused += row.refused;
    all.shownWrong += row.shownWrong;
  }
  std::printf("\nprograms that go wrong late, if they do: %d, verified %d\nverified but wrong %d (must be 0)\nrefused and "
              "shown wrong: "
              "%d of %d (%.0f %%)\n",
              made, all.verified, broken, all.shownWrong, all.refused,
              all.refused ? 100.0 * all.shownWrong / all.refused : 100.0);
  return broken == 0 ? 0 : 1;
}

} // namespace glia::mutants
