#include "glia/Program/Container.h"
#include "ProgramText.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Builder.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace glia;
namespace fs = std::filesystem;

static std::vector<std::byte> everything() { return toBytes(assemble(test::kEverything, "everything.gasm")); }

static std::string codeOf(std::span<const std::byte> bytes) {
  try {
    loadBytes(bytes);
  } catch (const Error &e) {
    return e.diagnostics().at(0).code;
  }
  return "";
}

// Damage with a right checksum, as somebody hostile would do it.
static void reseal(std::vector<std::byte> &file) {
  const std::span<const std::byte> all(file);
  const uint64_t sum = checksum64(all.subspan(32), checksum64(all.first(24)));
  std::memcpy(file.data() + 24, &sum, 8);
}

TEST(Container, SavedAndLoadedIsTheSame) {
  const Program p = assemble(test::kEverything, "everything.gasm");
  const std::string path = testing::TempDir() + "glia-container-test.glia";
  save(p, path);
  const Program q = load(path);
  EXPECT_EQ(disassemble(q), disassemble(p));
  EXPECT_EQ(toBytes(q), toBytes(p));
  EXPECT_EQ(q.target->name, "trn2");
  EXPECT_TRUE(isCanonical(q));
  fs::remove(path);
}

TEST(Container, AUsersTargetTravels) {
  std::string text = loadTarget("trn2")->text;
  const size_t at = text.find("\"trn2\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 6, "\"mine\"");
  const Program p =
      assemble("sbuf t : f32[1, 1] @ 0\nvector memset dst=t value=1\n", "t.gasm", parseTarget(text, "mine.toml"));
  const Program q = loadBytes(toBytes(p));
  EXPECT_EQ(q.target->name, "mine");
  EXPECT_EQ(q.target->text, text);
}

TEST(Container, EveryTruncationIsRefused) {
  const auto file = everything();
  for (size_t n = 0; n < file.size(); n += n < 600 || n + 600 > file.size() ? 1 : 97)
    EXPECT_NE(codeOf(std::span(file).first(n)), "") << n;
}

TEST(Container, EveryFlippedByteIsRefused) {
  auto file = everything();
  for (size_t i = 0; i < file.size(); i += i < 600 ? 1 : 61) {
    file[i] ^= std::byte{0x10};
    EXPECT_NE(codeOf(file), "") << i;
    file[i] ^= std::byte{0x10};
  }
  EXPECT_EQ(codeOf(file), "");
}

TEST(Container, ResealedDamageNeverCrashes) {
  const auto good = everything();
  uint64_t state = 7;
  auto random = [&state] {
    return state = state * 6364136223846793005u + 1442695040888963407u, static_cast<uint32_t>(state >> 33);
  };
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    auto file = good;
    for (int k = 0; k < 1 + round % 3; ++k) {
      // The sections behind the target's text, in which most bytes are structure.
      const size_t i = round % 4 == 0 ? 32 + random() % 408 : file.size() - 1 - random() % 3000;
      file[i] = static_cast<std::byte>(random());
    }
    reseal(file);
    try {
      const Program p = loadBytes(file);
      ++accepted;
      EXPECT_EQ(disassemble(assemble(disassemble(p), "t", p.target)), disassemble(p)) << round;
    } catch (const Error &) {
    }
  }
  EXPECT_GT(accepted, 0); // names and immediates may be anything
}

TEST(Container, ErrorsSayWhatIsWrong) {
  auto file = everything();
  EXPECT_EQ(codeOf({}), "CONTAINER-MAGIC");
  auto version = file;
  version[8] = std::byte{2};
  EXPECT_EQ(codeOf(version), "CONTAINER-VERSION");
  auto longer = file;
  longer.resize(file.size() + 8);
  EXPECT_EQ(codeOf(longer), "CONTAINER-SIZE");
  file.back() ^= std::byte{1};
  EXPECT_EQ(codeOf(file), "CONTAINER-CHECKSUM");
}

TEST(Container, NamesAreUnique) {
  Builder b(loadTarget("trn2"));
  b.input("x", DType::F32, {1});
  b.sbuf("x", DType::F32, {1, 1}, 0, 0);
  EXPECT_THROW(b.finish(), Error);
}

TEST(File, NothingIsLeftWhenWritingFails) {
  const std::string folder = testing::TempDir() + "glia-file-test";
  fs::create_directory(folder);
  EXPECT_THROW(writeFile(folder + "/missing/x", "text"), Error);
  EXPECT_THROW(writeFile(folder, "text"), Error);
  EXPECT_TRUE(fs::is_empty(folder));
  writeFile(folder + "/x", "one");
  writeFile(folder + "/x", "two");
  EXPECT_EQ(readFile(folder + "/x").text(), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  if (fs::exists("/dev/full")) {
    EXPECT_THROW(writeFile("/dev/full", "text"), Error);
  }
  EXPECT_THROW(readFile(folder), Error);
  EXPECT_THROW(readFile(folder + "/missing"), Error);
  fs::remove_all(folder);
}

TEST(Checksum, DependsOnEveryByteAndOnTheLength) {
  std::vector<std::byte> data(100);
  const uint64_t empty = checksum64({});
  std::vector<uint64_t> seen{empty};
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = std::byte{0x80};
    seen.push_back(checksum64(data));
    data[i] = std::byte{0};
    seen.push_back(checksum64(std::span(data).first(i + 1)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}
