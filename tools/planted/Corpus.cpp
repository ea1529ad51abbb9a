#include "Corpus.h"
#include "../mutants/Generate.h"
#include "../mutants/Late.h"
#include "../mutants/Mutate.h"
#include "../mutants/Outcome.h"
#include "../mutants/Start.h"
#include "../tiny/Tiny.h"
#include "glia/Program/Assembler.h"
#include "glia/Sim/EveryOrder.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace glia::planted {

namespace {

using Cases = std::vector<Case>;

std::optional<Program> assembled(const std::string &text, const std::string &name, const std::string &target = {}) {
  try {
    return target.empty() ? assemble(text, name) : assemble(text, name, loadTarget(target));
  } catch (const Error &) { // no program: no business of the verifier
    return std::nullopt;
  }
}

void addRules(Cases &out) {
  for (const Rule &r : allRules())
    for (const bool good : {false, true})
      if (auto p = assembled(good ? r.good : r.bad, r.id + ".gasm", r.target)) {
        Case c{Oracle::Rules, r.id, std::move(*p), {}, good, {}};
        c.options.requireProved = r.requireProved;
        if (!good)
          c.codes = {r.id};
        out.push_back(std::move(c));
      }
}

std::vector<std::string> head(const std::string &text, const std::string &key) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("; " + key + ": "))
      out.push_back(line.substr(key.size() + 4));
  return out;
}

// Files of a folder: what each must be follows from where it is and from its head.
void addFiles(Cases &out, const std::string &folder, bool refused) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/litmus/" + folder))
    if (entry.path().extension() == ".gasm")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto &file : files) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    Case c{Oracle::Litmus, file.stem().string(), assemble(text.str(), file.filename().string()), {}, false, {}};
    c.codes = head(text.str(), "refused");
    c.proved = !refused && c.codes.empty();
    for (const std::string &flags : head(text.str(), "flags"))
      c.options.requireProved |= flags.find("--require-proved") != std::string::npos;
    out.push_back(std::move(c));
  }
}

// In every order and for every input right: 1, wrong: 0; nothing if there are too many.
std::optional<bool> alwaysRight(const Program &p) {
  for (const TensorData &inputs : tiny::everyInput(p)) {
    OrderOptions o;
    o.untilWrong = o.wholeMemory = true;
    try {
      if (!runEveryOrder(p, inputs, o).ok())
        return false;
    } catch (const Error &) {
      return std::nullopt;
    }
  }
  return true;
}

// Drawn programs: a wrong one must be refused. A right one that is proved today must be proved.
void addDrawn(Cases &out, Oracle oracle, std::string name, Program p, const VerifyResult &v, std::optional<bool> right,
              const VerifyOptions &options = {}) {
  if (right && *right == v.ok())
    out.push_back({oracle, std::move(name), std::move(p), options, *right, {}});
}

void addTiny(Cases &out, int size, uint64_t seed) {
  for (int i = 0; i < size; ++i) {
    Random random(seed * 1'000'003 + static_cast<uint64_t>(i));
    auto p = assembled(tiny::next(random).text(), "tiny.gasm");
    if (!p)
      continue;
    const VerifyResult v = verify(*p);
    if (v.ok() || tiny::aboutOrder(v.diagnostics)) {
      const auto right = alwaysRight(*p);
      addDrawn(out, Oracle::Orders, format("tiny %d", i), std::move(*p), v, right);
    }
  }
}

void addLate(Cases &out, int size, uint64_t seed) {
  for (int i = 0; i < size; ++i) {
    Random random(seed * 1'000'003u + static_cast<uint64_t>(i));
    const mutants::Late late = mutants::lateProgram(random);
    Program p = assemble(late.text, late.kind + ".gasm");
    if (random.chance(50))
      if (auto m = mutants::mutate(p, random))
        p = std::move(m->program);
    VerifyOptions options;
    options.requireProved = late.requireProved;
    const VerifyResult v = verify(p, options);
    const bool right = mutants::whatGoesWrong(p, random, 6, late.requireProved).empty();
    addDrawn(out, Oracle::Late, format("late %d %s", i, late.kind.c_str()), std::move(p), v, right, options);
  }
}

void addMutants(Cases &out, int size, uint64_t seed) {
  const auto starts = mutants::smallPrograms();
  Random random(seed);
  for (int i = 0; i < size; ++i) {
    const mutants::Start start = random.chance(30) ? mutants::generatedProgram(random) : random.pick(starts);
    auto m = mutants::mutate(start.program, random);
    if (!m)
      continue;
    const VerifyResult v = verify(m->program);
    const bool right = mutants::whatGoesWrong(m->program, random, 8).empty();
    addDrawn(out, Oracle::Mutants, format("mutant %d of %s: %s", i, start.name.c_str(), m->change.c_str()),
             std::move(m->program), v, right);
  }
}

void addValid(Cases &out, int size, uint64_t seed) {
  const auto targets = builtinTargets();
  for (int i = 0; i < size; ++i) {
    Random random(seed * 7'919 + static_cast<uint64_t>(i));
    out.push_back({Oracle::Valid,
                   format("valid %d", i),
                   mutants::generate(loadTarget(targets[i % targets.size()]), random),
                   {},
                   true,
                   {}});
  }
}

} // namespace

std::vector<Case> corpus(int size, uint64_t seed) {
  Cases out;
  addRules(out);
  addFiles(out, "", false);
  addFiles(out, "attacks", true);
  addFiles(out, "refused", true);
  addFiles(out, "schedules", false);
  addTiny(out, size, seed);
  addLate(out, 3 * size, seed); // of many kinds
  addMutants(out, size, seed);
  addValid(out, size / 4, seed);
  // What the verifier gets wrong without a fault says nothing about one.
  std::erase_if(out, [](const Case &c) { return !complaint(c).empty(); });
  return out;
}

std::string complaint(const Case &c) {
  const VerifyResult v = verify(c.program, c.options);
  if (c.proved)
    return v.ok() ? "" : c.name + ": refused, " + v.diagnostics.front().code;
  if (v.ok())
    return c.name + ": proved";
  for (const std::string &code : c.codes)
    if (std::none_of(v.diagnostics.begin(), v.diagnostics.end(), [&](const Diagnostic &d) { return d.code == code; }))
      return c.name + ": refused without " + code;
  return "";
}

} // namespace glia::planted
