// Certificates prove what they were written for, and no bytes prove a program that is wrong.
#include "CertificateBytes.h"
#include "glia/Program/Assembler.h"
#include "glia/Support/File.h"
#include "glia/Target/Target.h"

#include <algorithm>
#include <filesystem>

using namespace glia;

namespace {

std::vector<std::filesystem::path> programs(const std::string &folder) {
  std::vector<std::filesystem::path> out;
  for (const auto &f : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/litmus/" + folder))
    if (f.path().extension() == ".gasm")
      out.push_back(f.path());
  std::sort(out.begin(), out.end());
  return out;
}

Program load(const std::filesystem::path &path) {
  return assemble(std::string(readFile(path.string()).text()), path.filename().string());
}

TEST(Certificate, ProvesWhatIsProvedWithoutOne) {
  size_t loops = 0;
  for (const char *folder : {"", "schedules"})
    for (const auto &path : programs(folder)) {
      const Program p = load(path);
      Bytes certificate;
      const VerifyResult without = certify(p, certificate);
      EXPECT_EQ(without.ok(), verify(p).ok()) << path;
      EXPECT_EQ(certificate.empty(), !without.ok()) << path;
      if (!without.ok())
        continue;
      const VerifyResult with = verifyWith(p, certificate);
      EXPECT_TRUE(with.ok()) << path;
      EXPECT_EQ(with.loopsByInvariant, without.loopsByInvariant) << path;
      EXPECT_EQ(with.loopsWalked, without.loopsWalked) << path;
      EXPECT_EQ(with.dynamicAccesses.size(), without.dynamicAccesses.size()) << path;
      loops += with.loopsByInvariant;
    }
  EXPECT_GT(loops, 20u);
}

TEST(Certificate, IsTheProgramsOwn) {
  const Program a = load(GLIA_SOURCE_DIR "/test/litmus/schedules/c01_triple_buffer_dynamic.gasm");
  const Program b = load(GLIA_SOURCE_DIR "/test/litmus/schedules/d02_carried_pointer.gasm");
  Bytes certificate;
  ASSERT_TRUE(certify(a, certificate).ok());
  EXPECT_EQ(codeOf(a, certificate), "");
  EXPECT_EQ(codeOf(b, certificate), "CERTIFICATE-OTHER");
  Program other = a;
  other.target = loadTarget("trn3");
  EXPECT_EQ(codeOf(other, certificate), "CERTIFICATE-OTHER");
  // It travels with the program in either form.
  EXPECT_TRUE(verifyWith(loadBytes(toBytes(a)), certificate).ok());
}

TEST(Certificate, OfOtherBytesIsRefused) {
  const Program p = load(GLIA_SOURCE_DIR "/test/litmus/schedules/c01_triple_buffer_dynamic.gasm");
  Bytes certificate;
  ASSERT_TRUE(certify(p, certificate).ok());
  for (size_t n = 0; n < certificate.size(); ++n)
    EXPECT_EQ(codeOf(p, Bytes(certificate.begin(), certificate.begin() + static_cast<int64_t>(n))), "CERTIFICATE-FORMAT")
        << n;
  Bytes longer = certificate;
  longer.push_back(std::byte{0});
  EXPECT_EQ(codeOf(p, longer), "CERTIFICATE-FORMAT");
  Bytes another = certificate;
  another[0] = std::byte{'g'};
  EXPECT_EQ(codeOf(p, another), "CERTIFICATE-FORMAT");
}

// A head that is stronger than what holds in every round: the round that is walked from it does not end with it.
TEST(Certificate, ThatClaimsTooMuchFails) {
  const Program p = load(GLIA_SOURCE_DIR "/test/litmus/schedules/c01_triple_buffer_dynamic.gasm");
  Bytes certificate;
  ASSERT_TRUE(certify(p, certificate).ok());
  // Everything as it was before the loop: lengths, takes and weakenings of 0.
  Bytes nothing = headerFor(p);
  nothing.insert(nothing.end(), certificate.size() - 16, std::byte{0});
  EXPECT_NE(codeOf(p, nothing), "");
}

TEST(Certificate, NoneProvesAWrongProgram) {
  Random random(7);
  size_t tried = 0;
  for (const auto &path : programs("attacks")) {
    const Program p = canonical(load(path));
    const Bytes header = headerFor(p), hints = hintsOf(p);
    for (int k = 0; k < 60; ++k, ++tried) {
      ASSERT_FALSE(proves(p, with(header, k ? forged(hints, random) : hints))) << path << ", forgery " << k;
    }
  }
  EXPECT_GT(tried, 1000u);
}

TEST(Certificate, ForgeriesOfRightOnesAreProofsOrRefused) {
  Random random(8);
  size_t refused = 0;
  for (const auto &path : programs("schedules")) {
    const Program p = canonical(load(path));
    const Bytes header = headerFor(p), hints = hintsOf(p);
    for (int k = 0; k < 40; ++k)
      refused += !proves(p, with(header, forged(hints, random)));
  }
  EXPECT_GT(refused, 100u);
}

// ---- tiles -----------------------------------------------------------------------------------------------------------

// Four tiles of y, each stored from a tile of its own over a queue of its own: nothing orders the stores. `first` to `last`: the columns of the
// second tile, which are 8 to 16 if all is right.
Program tiled(int first, int last, const std::string &more = "") {
  std::string text = "target trn2\ninput x : f32[4, 16]\noutput y : f32[8, 16]\n" + more;
  std::string streams;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    const int lo = i == 1 ? first : i % 2 * 8, hi = i == 1 ? last : i % 2 * 8 + 8;
    const std::string width = std::to_string(hi - lo), rows = i < 2 ? "0:4" : "4:8";
    text += "sbuf t" + n + " : f32[4, 16] @ " + std::to_string(64 * i) + "\nqueue l" + n + "\nqueue s" + n +
            "\nsemaphore f" + n + "\n";
    streams += "sync dma_copy dst=t" + n + " src=x queue=l" + n + " then f" + n + " += 16\n";
    streams += "scalar dma_copy dst=y[" + rows + ", " + std::to_string(lo) + ":" + std::to_string(hi) + "] src=t" + n +
               "[0:4, 0:" + width + "] queue=s" + n + " when f" + n + " >= 16\n";
  }
  return assemble(text + streams, "tiles.gasm");
}

// The exact walk, with this layout of the only output.
Bytes tiles(const Program &p, int64_t tensor, int64_t pitch, int64_t height, int64_t width) {
  return with(headerFor(p), numbers({0, tensor, pitch, height, width, -1}));
}

TEST(Certificate, TilesProveWhatBytesProve) {
  const Program right = canonical(tiled(8, 16)), race = canonical(tiled(7, 16)), gap = canonical(tiled(9, 16));
  ASSERT_TRUE(verify(right).ok());
  ASSERT_FALSE(verify(race).ok());
  ASSERT_FALSE(verify(gap).ok());
  constexpr int64_t kBytes = 8 * 16 * 4;
  size_t fit = 0;
  for (int64_t pitch = 1; pitch <= kBytes; ++pitch)
    for (int64_t height = 1; height <= 8; ++height)
      for (int64_t width = 1; width <= 64; ++width) {
        const bool divides = pitch % width == 0 && kBytes % (pitch * height) == 0;
        if (!divides && pitch > 4)
          continue;
        ASSERT_EQ(codeOf(right, tiles(right, 1, pitch, height, width)), divides ? "" : "CERTIFICATE-FORMAT")
            << pitch << " " << height << " " << width;
        ASSERT_FALSE(proves(race, tiles(race, 1, pitch, height, width))) << pitch << " " << height << " " << width;
        ASSERT_FALSE(proves(gap, tiles(gap, 1, pitch, height, width))) << pitch << " " << height << " " << width;
        fit += divides;
      }
  EXPECT_GT(fit, 100u);
  EXPECT_EQ(codeOf(right, tiles(right, 2, 64, 4, 32)), "CERTIFICATE-FORMAT"); // there are two tensors
}

// Where registers or indices move an access, its bytes are compared, not their numbers.
TEST(Certificate, TilesOfWhatMovesAreRefused) {
  const std::string head = "target trn2\ninput n : i32[1] range 0 1\ninput x : f32[4, 16]\noutput y : f32[8, 16] from "
                           "y0\nsbuf t : f32[4, 16] @ 0\n"
                           "queue l\nqueue s\nsemaphore f\nsync dma_copy dst=t src=x queue=l then f += 16\n";
  const Program moved = canonical(assemble(
      head +
          "scalar reg_load dst=r1 src=n\nscalar dma_copy dst=y[0:4, 0:16] + r1*256 src=t queue=s dge=hwdge when f >= 16\n",
      "moved.gasm"));
  ASSERT_TRUE(verify(moved).ok());
  EXPECT_TRUE(proves(moved, with(headerFor(moved), numbers({0, -1}))));
  EXPECT_EQ(codeOf(moved, tiles(moved, 2, 64, 4, 32)), "CERTIFICATE-FAILS");
  const Program chosen =
      canonical(assemble("target trn2\ninput x : f32[32, 16]\noutput y : f32[32, 16]\nsbuf t : f32[32, 16] @ 0\nsbuf idx : "
                         "i32[32, 1] @ 64\nqueue l\n"
                         "queue z\nqueue s\nsemaphore f\nsemaphore g\nsync dma_copy dst=t src=x queue=l then f += 16\nsync "
                         "dma_copy dst=y src=x queue=z then g += 16\n"
                         "gpsimd iota dst=idx pattern=[1, 1] channel_multiplier=1\n"
                         "gpsimd dma_copy dst=y src=t dst_index=idx queue=s dge=swdge when f >= 16 and g >= 16\n",
                         "chosen.gasm"));
  ASSERT_TRUE(verify(chosen).ok());
  EXPECT_TRUE(proves(chosen, with(headerFor(chosen), numbers({0, -1}))));
  EXPECT_EQ(codeOf(chosen, tiles(chosen, 1, 64, 4, 32)), "CERTIFICATE-FAILS");
}

// What is reached in tiles is said to be: the certificate carries a layout.
TEST(Certificate, SaysTiles) {
  std::string text = "target trn2\ninput x : f32[64, 64]\noutput y : f32[128, 128]\nqueue l\n";
  std::string streams;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i), rows = i < 2 ? "0:64" : "64:128", columns = i % 2 ? "64:128" : "0:64";
    text += "sbuf t" + n + " : f32[64, 64] @ " + std::to_string(256 * i) + "\nsemaphore f" + n + "\nqueue s" + n + "\n";
    streams += "sync dma_copy dst=t" + n + " src=x queue=l then f" + n + " += 16\nscalar dma_copy dst=y[" + rows + ", " +
               columns + "] src=t" + n + " queue=s" + n + " when f" + n + " >= 16\n";
  }
  const Program p = canonical(assemble(text + streams, "tiles.gasm"));
  EXPECT_EQ(hintsOf(p), numbers({1, 1, 512, 64, 256, -1}));
  EXPECT_TRUE(proves(p, with(headerFor(p), hintsOf(p))));
}

} // namespace
