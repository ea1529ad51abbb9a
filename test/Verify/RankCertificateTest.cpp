// Programs that are proved for each rank by itself have certificates, with what was found for each.
#include "CertificateBytes.h"
#include "glia/Program/Assembler.h"
#include "glia/Verify/VerifyRanks.h"

#include <algorithm>

using namespace glia;

namespace {

const std::string kAsks = ".contract \"rank.input\" \"rank\"\n";

// Each of four ranks writes the two rows of its output that the tables name for it, before a loop of unknown count and after it.
Program rows(const std::string &second, const std::string &more = kAsks) {
  return canonical(assemble("target trn2\ninput x : f32[1, 4]\ninput n : i32[1] range 0 50\ninput rank : i32[1] range 0 3\n"
                            "output y : f32[2, 4]\nconst a : i32[4] = [0, 1, 0, 1]\nconst b : i32[4] = [" +
                                second +
                                "]\nsbuf t : f32[1, 4] @ 0\nqueue q\nqueue l\nsemaphore s\nsemaphore f\n"
                                ".contract \"ranks\" \"4\"\n" +
                                more +
                                "sync reg_load dst=r0 src=rank\n"
                                "sync reg_load dst=r1 src=a{ | 0 | 1x1} + r0*4\n"
                                "sync reg_load dst=r2 src=b{ | 0 | 1x1} + r0*4\n"
                                "sync reg_load dst=r3 src=n\n"
                                "sync dma_copy dst=y{ | 0 | 1x4} + r1*16 src=x queue=q dge=hwdge then s += 16\n"
                                "sync loop iv=r4 count=r3 group=\"g\"\n"
                                "sync dma_copy dst=t src=x queue=l dge=hwdge then f += 16\n"
                                "sync nop when f >= 16 consume\n"
                                "sync end_loop\n"
                                "sync dma_copy dst=y{ | 0 | 1x4} + r2*16 src=x queue=q dge=hwdge when s >= 16 consume\n",
                            "rows.gasm"));
}

const std::string kRight = "1, 0, 1, 0", kWrong = "1, 0, 0, 0"; // rank 2 writes one row twice

struct Parts { // of a certificate for each rank
  uint64_t ranks = 0;
  std::vector<Bytes> hints;
};

Parts partsOf(const Bytes &certificate) {
  size_t at = 16;
  auto number = [&] {
    uint64_t u = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto b = static_cast<uint64_t>(certificate.at(at++));
      u |= (b & 127) << shift;
      if (b < 128)
        return u / 2;
    }
  };
  Parts out;
  out.ranks = number();
  while (at < certificate.size()) {
    const uint64_t n = number();
    out.hints.emplace_back(certificate.begin() + static_cast<ptrdiff_t>(at),
                           certificate.begin() + static_cast<ptrdiff_t>(at + n));
    at += n;
  }
  return out;
}

Bytes joined(const Program &p, const Parts &parts) {
  Bytes out = headerFor(p);
  auto put = [&out](const Bytes &more) { out.insert(out.end(), more.begin(), more.end()); };
  put(numbers({static_cast<int64_t>(parts.ranks)}));
  for (const Bytes &h : parts.hints) {
    put(numbers({static_cast<int64_t>(h.size())}));
    put(h);
  }
  return out;
}

Bytes certificateOf(const Program &p) {
  Bytes out;
  const VerifyResult r = certify(p, out);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : render(r.diagnostics[0]));
  return out;
}

TEST(RankCertificate, ProvesEachRank) {
  const Program p = rows(kRight);
  ASSERT_FALSE(verify(p).ok()); // not as long as the rank may be any
  ASSERT_TRUE(verifyRanks(p).ok());
  const Bytes certificate = certificateOf(p);
  const VerifyResult with = verifyWith(p, certificate);
  EXPECT_TRUE(with.ok());
  EXPECT_EQ(with.loopsByInvariant, 1u);
  EXPECT_EQ(with.dynamicAccesses.size(), verifyRanks(p).dynamicAccesses.size());
  const Parts parts = partsOf(certificate);
  EXPECT_EQ(parts.ranks, 4u);
  EXPECT_EQ(parts.hints.size(), 4u);
  EXPECT_EQ(joined(p, parts), certificate);
}

TEST(RankCertificate, OneRankThatIsWrongHasNone) {
  Bytes certificate;
  const VerifyResult r = certify(rows(kWrong), certificate);
  ASSERT_FALSE(r.ok());
  EXPECT_TRUE(certificate.empty());
  EXPECT_EQ(r.diagnostics[0].code, "OUTPUT-UNWRITTEN");
  EXPECT_EQ(r.diagnostics[0].notes.back(), "on rank 2");
}

// What was found for right ranks does not prove one that is wrong, and the refusal names it.
TEST(RankCertificate, OfAnotherProgramFailsOnTheRankThatIsWrong) {
  const Parts right = partsOf(certificateOf(rows(kRight)));
  const Program wrong = rows(kWrong);
  try {
    verifyWith(wrong, joined(wrong, right));
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics().front().code, "CERTIFICATE-FAILS");
    EXPECT_EQ(e.diagnostics().front().notes.back(), "on rank 2");
  }
  Random random(9);
  for (int k = 0; k < 500; ++k) {
    Parts parts = right;
    for (Bytes &h : parts.hints)
      if (random.below(2))
        h = forged(h, random);
    if (random.below(4) == 0)
      parts.hints.erase(parts.hints.begin() + random.below(static_cast<int64_t>(parts.hints.size())));
    if (random.below(4) == 0)
      parts.ranks = static_cast<uint64_t>(random.below(6));
    ASSERT_FALSE(proves(wrong, joined(wrong, parts))) << k;
  }
}

// None is left out, and none is added.
TEST(RankCertificate, HasEachRankOnce) {
  const Program p = rows(kRight);
  const Parts right = partsOf(certificateOf(p));
  for (const uint64_t ranks : {1, 2, 3, 5}) {
    Parts parts = right;
    parts.ranks = ranks;
    parts.hints.resize(ranks, right.hints[0]);
    EXPECT_EQ(codeOf(p, joined(p, parts)), "CERTIFICATE-FORMAT") << ranks;
  }
  Parts less = right, more = right;
  less.hints.pop_back();
  EXPECT_EQ(codeOf(p, joined(p, less)), "CERTIFICATE-FORMAT");
  more.hints.push_back(right.hints[0]);
  EXPECT_EQ(codeOf(p, joined(p, more)), "CERTIFICATE-FORMAT");
  EXPECT_FALSE(proves(p, with(headerFor(p), right.hints[0]))); // for any rank at once
  const Bytes whole = joined(p, right);
  for (size_t n = 16; n < whole.size(); ++n)
    EXPECT_EQ(codeOf(p, Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n))), "CERTIFICATE-FORMAT") << n;
}

// The number of the rank is what the machine gives only if the contract says which input it is.
TEST(RankCertificate, NeedsARankToAskFor) {
  const Parts right = partsOf(certificateOf(rows(kRight)));
  const Program any = rows(kRight, "");
  Bytes none;
  EXPECT_FALSE(certify(any, none).ok());
  EXPECT_EQ(codeOf(any, joined(any, right)), "CERTIFICATE-FORMAT");
}

// What the contract says is looked at with a certificate as it is without.
TEST(RankCertificate, DoesNotSpeakForTheContract) {
  const std::string head = "target trn2\ninput x : f32[2, 4]\noutput y : f32[2, 4]\nqueue q\n",
                    tail = "sync dma_copy dst=y src=x queue=q\n";
  const Program right = canonical(assemble(head + tail, "a.gasm"));
  const Program wrong = canonical(assemble(head + ".contract \"ranks\" \"none\"\n" + tail, "a.gasm"));
  const Bytes certificate = certificateOf(right);
  ASSERT_FALSE(verifyRanks(wrong).ok());
  Bytes none;
  EXPECT_EQ(certify(wrong, none).diagnostics.at(0).code, "RANK-COUNT");
  const Bytes hints(certificate.begin() + 17, certificate.end());
  const VerifyResult r = verifyWith(wrong, with(headerFor(wrong), hints));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diagnostics[0].code, "RANK-COUNT");
}

} // namespace
