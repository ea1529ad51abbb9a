#include "glia/Verify/Certificate.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Verify/Flow.h"
#include "glia/Verify/StaticRules.h"

#include <cstring>

namespace glia {

namespace {

constexpr char kMagic[8] = {'G', 'L', 'I', 'A', 'P', 'R', 'F', '4'};

struct Header {
  char magic[8];
  uint64_t program; // checksum of the canonical program with its target
};

// Tables in their one order: hints name patterns by their numbers.
struct Canonical {
  explicit Canonical(const Program &p) : program(canonical(p)), sum(checksum64(canonicalToBytes(program))) {}
  Program program;
  uint64_t sum;
};

} // namespace

VerifyResult certify(const Program &p, std::vector<std::byte> &certificate, const VerifyOptions &options) {
  const Canonical c(p);
  VerifyResult result;
  result.instructions = p.instructionCount();
  Reporter reporter(c.program, options);
  checkStatic(c.program, reporter);
  std::vector<std::byte> hints;
  if (!reporter.broken())
    checkFlow(c.program, options, reporter, result, &hints);
  result.diagnostics = reporter.take();
  if (!result.ok())
    return result;
  Header h{{}, c.sum};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  certificate.resize(sizeof h);
  std::memcpy(certificate.data(), &h, sizeof h);
  certificate.insert(certificate.end(), hints.begin(), hints.end());
  return result;
}

VerifyResult verifyWith(const Program &p, std::span<const std::byte> certificate, const VerifyOptions &options) {
  Header h;
  if (certificate.size() >= sizeof h)
    std::memcpy(&h, certificate.data(), sizeof h);
  if (certificate.size() < sizeof h || std::memcmp(h.magic, kMagic, sizeof kMagic) != 0)
    throw Error("CERTIFICATE-FORMAT", "this is no certificate, or one of another version of glia",
                "Write one with `glia verify PROGRAM --certificate FILE`.");
  const Canonical c(p);
  if (h.program != c.sum)
    throw Error("CERTIFICATE-OTHER", "the certificate was written for another program, or for another target",
                "Write one for this program and target with `glia verify PROGRAM --certificate FILE`.");
  VerifyResult result;
  result.instructions = p.instructionCount();
  Reporter statics(c.program, options);
  checkStatic(c.program, statics);
  if (statics.broken()) { // no certificate is needed to know that
    result.diagnostics = statics.take();
    return result;
  }
  VerifyOptions one = options;
  one.maxDiagnostics = 1;
  Reporter reporter(c.program, one);
  checkFlowWith(c.program, certificate.subspan(sizeof h), options, reporter, result);
  if (const std::vector<Diagnostic> found = reporter.take(); !found.empty()) {
    Diagnostic d;
    d.code = "CERTIFICATE-FAILS";
    d.message = "the certificate does not prove the program";
    d.place = found[0].place;
    d.context = found[0].context;
    d.notes.push_back("with it: " + found[0].code + ": " + found[0].message);
    d.advice = "Verify without it: that says whether the program is wrong or the certificate.";
    throw Error(std::move(d));
  }
  return result;
}

} // namespace glia
