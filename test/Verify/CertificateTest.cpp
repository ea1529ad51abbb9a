// Certificates prove what they were written for, and no bytes prove a program that is wrong.
#include "glia/Verify/Certificate.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/File.h"
#include "glia/Support/Random.h"
#include "glia/Target/Target.h"
#include "glia/Verify/Flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace glia;

namespace {

using Bytes = std::vector<std::byte>;

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

Bytes headerFor(const Program &p) {
  Bytes out(16);
  const uint64_t sum = checksum64(toBytes(p));
  std::memcpy(out.data(), "GLIAPRF4", 8);
  std::memcpy(out.data() + 8, &sum, 8);
  return out;
}

Bytes with(Bytes header, const Bytes &hints) {
  header.insert(header.end(), hints.begin(), hints.end());
  return header;
}

// What the search says of the loops of a program, right or wrong.
Bytes hintsOf(const Program &p) {
  VerifyOptions options;
  Reporter reporter(p, options);
  VerifyResult result;
  Bytes hints;
  checkFlow(p, options, reporter, result, &hints);
  return hints;
}

Bytes encoded(const std::vector<uint64_t> &numbers) {
  Bytes out;
  for (uint64_t v : numbers) {
    for (; v >= 128; v >>= 7)
      out.push_back(static_cast<std::byte>(v | 128));
    out.push_back(static_cast<std::byte>(v));
  }
  return out;
}

// The whole numbers of a certificate, some of them others.
Bytes forged(const Bytes &hints, Random &random) {
  std::vector<uint64_t> numbers;
  uint64_t u = 0;
  unsigned shift = 0;
  for (std::byte b : hints) {
    u |= (static_cast<uint64_t>(b) & 127) << shift;
    shift += 7;
    if (static_cast<unsigned>(b) < 128) {
      numbers.push_back(u);
      u = shift = 0;
    }
  }
  for (int64_t k = 1 + random.below(4); k-- && !numbers.empty();) {
    const int64_t at = random.below(static_cast<int64_t>(numbers.size()));
    uint64_t &number = numbers[static_cast<size_t>(at)];
    switch (random.below(5)) {
    case 0: number += 2; break;
    case 1: number = number < 2 ? 0 : number - 2; break;
    case 2: number = static_cast<uint64_t>(random.below(64)); break;
    case 3: numbers.erase(numbers.begin() + at); break;
    default: numbers.insert(numbers.begin() + at, static_cast<uint64_t>(random.below(16))); break;
    }
  }
  return encoded(numbers);
}

// Whether a certificate proves the program; everything else it can do is to be refused.
bool proves(const Program &p, const Bytes &certificate) {
  VerifyOptions options;
  options.requireProved = true; // some attacks are programs that trap
  try {
    return verifyWith(p, certificate, options).ok();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics().front().code.rfind("CERTIFICATE-", 0), 0u) << e.what();
    return false;
  }
}

std::string codeOf(const Program &p, const Bytes &certificate) {
  try {
    verifyWith(p, certificate);
    return "";
  } catch (const Error &e) {
    return e.diagnostics().front().code;
  }
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

Bytes numbers(std::initializer_list<int64_t> values) {
  std::vector<uint64_t> out;
  for (int64_t v : values) // the sign is in the lowest bit
    out.push_back(v < 0 ? static_cast<uint64_t>(-v) * 2 - 1 : static_cast<uint64_t>(v) * 2);
  return encoded(out);
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
