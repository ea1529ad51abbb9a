// Which executables are believed to be proved when they are read back: those of this user and this build, as they were, and no others.
#include "../../lib/Door/Pjrt/Compiled.h"
#include "../../lib/Door/Pjrt/Seal.h"
#include "glia/Program/Assembler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace glia;
using namespace glia::pjrt;

namespace {

class Seal : public testing::Test {
protected:
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("glia-seal-test-" + std::to_string(getpid()));
  const std::filesystem::path key = folder / "glia/seal.key";
  std::string before;
  Settings settings;

  void SetUp() override {
    if (const char *text = getenv("XDG_STATE_HOME"))
      before = text;
    std::filesystem::remove_all(folder);
    setenv("XDG_STATE_HOME", folder.c_str(), 1);
    settings.target = "trn2";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    before.empty() ? unsetenv("XDG_STATE_HOME") : setenv("XDG_STATE_HOME", before.c_str(), 1);
  }

  // The bytes of an executable whose program is wrong: nothing orders its two writes.
  std::string wrong() {
    Program p = assemble("sbuf a : f32[32, 4] @ 0\nvector memset dst=a value=1.0\ngpsimd memset dst=a value=2.0\n",
                         "race.gasm", loadTarget("trn2"));
    Signature s;
    s.name = "race";
    return serialize({std::make_shared<Compiled>(s, std::move(p), "", "trn2"), {}});
  }
  std::string said(const std::string &bytes) { // when it is read back
    try {
      deserialize(bytes, settings);
      return "";
    } catch (const Error &e) {
      return e.diagnostics().front().code;
    } catch (const Failure &f) {
      return f.what();
    }
  }
};

TEST_F(Seal, WhatWasProvedIsNotProvedAgain) {
  const std::string bytes = wrong(); // as if it had been proved
  EXPECT_EQ(said(bytes), "");
  settings.proveAgain = true;
  EXPECT_EQ(said(bytes), "RACE");
}

TEST_F(Seal, KeyIsTheUsersAlone) {
  const std::string bytes = wrong();
  EXPECT_EQ(std::filesystem::status(key).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::permissions(key, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  EXPECT_EQ(said(bytes), "RACE"); // others may know it
  std::filesystem::permissions(key, std::filesystem::perms::group_read, std::filesystem::perm_options::remove);
  EXPECT_EQ(said(bytes), "");
  std::filesystem::rename(key, folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", key);
  EXPECT_EQ(said(bytes), "RACE");
  std::filesystem::remove(key);
  EXPECT_EQ(said(bytes), "RACE");
  EXPECT_FALSE(std::filesystem::exists(key)); // reading makes none
}

TEST_F(Seal, OtherKeysAndOtherBytesAreNotBelieved) {
  const std::string bytes = wrong();
  for (size_t i = 16; i < 48; ++i) { // the seal's
    std::string forged = bytes;
    forged[i] ^= 1;
    EXPECT_EQ(said(forged), "RACE");
  }
  const std::string text = "proved", seal = sealOf(text);
  EXPECT_EQ(seal.size(), 32u);
  EXPECT_TRUE(isSealed(text, seal));
  EXPECT_FALSE(isSealed("proven", seal) || isSealed(text + " ", seal) || isSealed(text, "") || isSealed(text, seal + "x"));
  std::ofstream(key, std::ios::binary) << std::string(32, 'k'); // another user's
  EXPECT_FALSE(isSealed(text, seal));
  EXPECT_EQ(said(bytes), "RACE");
  std::ofstream(key, std::ios::binary) << "short";
  EXPECT_EQ(sealOf(text), "");
}

TEST_F(Seal, WithoutAPlaceForAKeyThereIsNone) {
  const char *home = getenv("HOME");
  const std::string kept = home ? home : "";
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  const std::string bytes = wrong();
  EXPECT_EQ(said(bytes), "RACE");
  if (home)
    setenv("HOME", kept.c_str(), 1);
}

} // namespace
