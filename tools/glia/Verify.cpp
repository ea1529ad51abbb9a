#include "Tool.h"
#include "glia/Program/Decode.h"
#include "glia/Verify/VerifyRanks.h"
#include "glia/Support/File.h"
#include "glia/Target/Title.h"
#include "glia/Verify/Certificate.h"
#include "glia/Verify/RankOrder.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace glia::tool {

static std::string counts(const Program &p, const VerifyResult &r) {
  uint64_t n[3] = {};
  for (const DynamicAccess &a : r.dynamicAccesses)
    ++n[static_cast<int>(a.proof)];
  std::string out = grouped(p.instructionCount()) + " instructions on " + titleOf(*p.target);
  if (const uint64_t loops = r.loopsWalked + r.loopsByInvariant)
    out += "; " + grouped(loops) + (loops == 1 ? " loop: " : " loops: ") + grouped(r.loopsWalked) + " walked, " +
           grouped(r.loopsByInvariant) + " by invariant";
  if (r.dynamicAccesses.empty())
    return out + ", no dynamic accesses";
  return out + "; dynamic accesses: " + grouped(n[0]) + " proved, " + grouped(n[1]) + " skip out-of-range elements, " +
         grouped(n[2]) + " may trap";
}

static constexpr const char *kProof[] = {"proved", "skips out-of-range elements", "may trap"};

static std::string json(const std::string &file, const Program &p, const VerifyResult &r) {
  nlohmann::ordered_json accesses = nlohmann::ordered_json::array();
  Decoded d;
  for (const DynamicAccess &a : r.dynamicAccesses) {
    decode(p, a.core, a.engine, a.index, d);
    const bool slot = a.slot >= 0 && a.slot < static_cast<int>(d.def->slots.size());
    accesses.push_back({{"verdict", kProof[static_cast<int>(a.proof)]},
                        {"core", a.core},
                        {"engine", name(a.engine)},
                        {"index", a.index},
                        {"instruction", d.def->name},
                        {"operand", slot ? d.def->slots[a.slot].name : ""},
                        {"why", a.why}});
  }
  return asText({{"file", file},
                 {"proved", true},
                 {"target", titleOf(*p.target)},
                 {"instructions", p.instructionCount()},
                 {"loops_walked", r.loopsWalked},
                 {"loops_by_invariant", r.loopsByInvariant},
                 {"dynamic_accesses", accesses}});
}

static std::string verdicts(const Program &p, const VerifyResult &r) {
  std::string out;
  Decoded d;
  for (const DynamicAccess &a : r.dynamicAccesses) {
    decode(p, a.core, a.engine, a.index, d);
    out += "  " + std::string(kProof[static_cast<int>(a.proof)]) + ": core " + std::to_string(a.core) + " " +
           std::string(name(a.engine)) + " instruction " + std::to_string(a.index) + " " + std::string(d.def->name);
    if (a.slot >= 0 && a.slot < static_cast<int>(d.def->slots.size()))
      out += " " + std::string(d.def->slots[a.slot].name);
    out += (a.why.empty() ? "" : " (" + a.why + ")") + "\n";
  }
  return out;
}

namespace {

struct Options {
  std::string file, target;
  std::vector<std::string> ranks, certificates, with;
  bool requireProved = false, accesses = false, json = false;
};

// `number`: of the program, among those that are different.
bool verifyOne(Tool &tool, const Options &o, const std::string &file, const Program &p, size_t number) {
  VerifyResult r;
  std::vector<std::byte> certificate;
  {
    Progress progress("verifying " + grouped(p.instructionCount()) + " instructions");
    VerifyOptions options;
    options.requireProved = o.requireProved;
    if (!o.with.empty())
      r = verifyWith(p, readFile(o.with[number]).bytes, options);
    else if (!o.certificates.empty())
      r = certify(p, certificate, options);
    else
      r = verifyRanks(p, options);
  }
  if (!r.ok()) {
    print(tool, r.diagnostics);
    return false;
  }
  if (!o.certificates.empty())
    writeFile(o.certificates[number], certificate);
  if (o.json)
    write(json(file, p, r));
  else
    write(file + ": proved; " + counts(p, r) + "\n");
  if (o.accesses && !o.json)
    write(verdicts(p, r));
  return true;
}

} // namespace

void addVerify(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("verify", "Proves a program against every rule, or prints all violations");
  c.option("file", o->file, "The program (.glia or .gasm)").required();
  c.option("--rank", o->ranks,
           "Of ranks with different programs: that of the next rank, the file's own being rank 0; may be repeated")
      .oneEach();
  c.option("--target", o->target, "Verify for this target instead of the program's own");
  c.flag("--require-proved", o->requireProved, "Refuse dynamic accesses that may trap");
  c.flag("--accesses", o->accesses, "List the verdict on each dynamic access");
  c.flag("--json", o->json, "As JSON, with every dynamic access; one object for each program");
  Option certificate = c.option("--certificate", o->certificates,
                                "Write what the proof rests on to this file; with --rank, once for each program")
                           .oneEach();
  c.option("--with", o->with,
           "Prove the program with a certificate that was written before, without a search; with --rank, once for each "
           "program")
      .oneEach()
      .excludes(certificate);
  c.footer("Example: glia verify softmax.glia --require-proved\n"
           "         glia verify softmax.glia --certificate softmax.proof; glia verify softmax.glia --with softmax.proof");
  c.callback([o, &tool] {
    tool.command = [o, &tool] {
      std::vector<std::string> files = {o->file};
      files.insert(files.end(), o->ranks.begin(), o->ranks.end());
      const size_t different = std::set<std::string>(files.begin(), files.end()).size();
      if (const size_t said = std::max(o->certificates.size(), o->with.size()); said && said != different)
        throw Error(
            "VERIFY-FILES", format("%zu certificates are named for %zu programs", said, different),
            "A certificate is of one program: name one for each file, in the order in which the files are named first.");
      std::vector<std::shared_ptr<const Program>> programs; // one for each file that is another
      std::map<std::string, std::shared_ptr<const Program>> byFile;
      for (const std::string &file : files) {
        std::shared_ptr<const Program> &p = byFile[file];
        if (!p) {
          p = std::make_shared<const Program>(loadProgram(file, o->target));
          if (!verifyOne(tool, *o, file, *p, byFile.size() - 1))
            return 1;
        }
        programs.push_back(p);
      }
      if (programs.size() == 1)
        return 0;
      std::vector<const Program *> byRank;
      for (const auto &p : programs)
        byRank.push_back(p.get());
      if (const std::vector<Diagnostic> wrong = verifyTogether(byRank); !wrong.empty()) {
        print(tool, wrong);
        return 1;
      }
      write(o->json ? asText({{"ranks", byRank.size()}, {"proved_together", true}})
                    : format("%zu ranks: proved together\n", byRank.size()));
      return 0;
    };
  });
}

} // namespace glia::tool
