#include "glia/Verify/Certificate.h"
#include "EachRank.h"
#include "HintBytes.h"
#include "glia/Program/Container.h"
#include "glia/Program/RankContract.h"
#include "glia/Support/Checksum.h"
#include "glia/Verify/Flow.h"
#include "glia/Verify/StaticRules.h"

#include <cstring>

namespace glia {

namespace {

constexpr char kMagic[8] = {'G', 'L', 'I', 'A', 'P', 'R', 'F', '5'};

constexpr std::string_view kFails = "CERTIFICATE-FAILS";

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

// Proves it, and says what was found of its loops.
VerifyResult search(const Program &p, std::vector<std::byte> &hints, const VerifyOptions &options) {
  VerifyResult result;
  result.instructions = p.instructionCount();
  Reporter reporter(p, options);
  checkStatic(p, reporter);
  if (!reporter.broken())
    checkFlow(p, options, reporter, result, &hints);
  result.diagnostics = reporter.take();
  return result;
}

// Proves it with that. What is wrong with the program whatever the hints say is told as it is.
VerifyResult check(const Program &p, std::span<const std::byte> hints, const VerifyOptions &options) {
  VerifyResult result;
  result.instructions = p.instructionCount();
  Reporter statics(p, options);
  checkStatic(p, statics);
  if (statics.broken()) {
    result.diagnostics = statics.take();
    return result;
  }
  VerifyOptions one = options;
  one.maxDiagnostics = 1;
  Reporter reporter(p, one);
  checkFlowWith(p, hints, options, reporter, result);
  if (const std::vector<Diagnostic> found = reporter.take(); !found.empty()) {
    Diagnostic &d = result.diagnostics.emplace_back();
    d.code = kFails;
    d.message = "the certificate does not prove the program";
    d.place = found[0].place;
    d.context = found[0].context;
    d.notes.push_back("with it: " + found[0].code + ": " + found[0].message);
    d.advice = "Verify without it: that says whether the program is wrong or the certificate.";
  }
  return result;
}

} // namespace

// After the header 0 and what was found of the program, or the number of its ranks and for each of them how many bytes follow that were
// found of the program with that number.
VerifyResult certify(const Program &p, std::vector<std::byte> &certificate, const VerifyOptions &options) {
  VerifyResult result;
  result.diagnostics = checkContract(p);
  if (!result.ok())
    return result;
  const Canonical c(p);
  flow::HintWriter out;
  std::vector<std::byte> hints;
  auto put = [&](int64_t number) {
    out.put(number);
    out.bytes.insert(out.bytes.end(), hints.begin(), hints.end());
  };
  result = search(c.program, hints, options);
  if (result.ok()) {
    put(0);
  } else if (asksForRank(c.program)) {
    out.put(ranksOf(c.program));
    result = proveEachRank(c.program, [&](const Program &one) {
      VerifyResult r = search(one, hints, options);
      put(static_cast<int64_t>(hints.size()));
      return r;
    });
  }
  if (!result.ok())
    return result;
  Header h{{}, c.sum};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  certificate.resize(sizeof h);
  std::memcpy(certificate.data(), &h, sizeof h);
  certificate.insert(certificate.end(), out.bytes.begin(), out.bytes.end());
  return result;
}

VerifyResult verifyWith(const Program &p, std::span<const std::byte> certificate, const VerifyOptions &options) {
  Header h;
  if (certificate.size() >= sizeof h)
    std::memcpy(&h, certificate.data(), sizeof h);
  if (certificate.size() < sizeof h || std::memcmp(h.magic, kMagic, sizeof kMagic) != 0)
    throw Error("CERTIFICATE-FORMAT", "this is no certificate, or one of another version of glia",
                "Write one with `glia verify PROGRAM --certificate FILE`.");
  VerifyResult result;
  result.diagnostics = checkContract(p);
  if (!result.ok()) // no certificate is needed to know that
    return result;
  const Canonical c(p);
  if (h.program != c.sum)
    throw Error("CERTIFICATE-OTHER", "the certificate was written for another program, or for another target",
                "Write one for this program and target with `glia verify PROGRAM --certificate FILE`.");
  flow::HintReader in(certificate.subspan(sizeof h));
  if (const int64_t ranks = in.get(0, kMostRanks); !ranks) {
    result = check(c.program, in.rest(), options);
  } else {
    if (!asksForRank(c.program) || ranks != ranksOf(c.program))
      in.fail(format("has proofs of %lld ranks, and the program is not for each of so many", (long long)ranks));
    result = proveEachRank(c.program, [&](const Program &one) { return check(one, in.take(in.count()), options); });
    if (result.ok() && !in.atEnd())
      in.fail("says more than there are ranks");
  }
  if (!result.ok() && result.diagnostics[0].code == kFails)
    throw Error(std::move(result.diagnostics[0]));
  return result;
}

} // namespace glia
