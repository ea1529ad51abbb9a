#include "glia/Support/DiskCache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace glia;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto *at = reinterpret_cast<const std::byte *>(text.data());
  return {at, at + text.size()};
}

class DiskCacheTest : public testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto &x : fs::recursive_directory_iterator(folder))
      if (x.is_regular_file())
        out.push_back(x.path());
    return out;
  }
};

TEST_F(DiskCacheTest, WhatWasPutIsThere) {
  const DiskCache cache(folder);
  EXPECT_FALSE(cache.get("a"));
  cache.put("a", bytes("one"));
  cache.put("b", bytes(""));
  cache.put("a", bytes("two"));
  EXPECT_EQ(cache.get("a"), bytes("two"));
  EXPECT_EQ(cache.get("b"), bytes(""));
  EXPECT_FALSE(cache.get("c"));
  EXPECT_EQ(cache.contents().entries, 2u);
  EXPECT_EQ(fs::status(folder).permissions() & fs::perms::all, fs::perms::owner_all);
  EXPECT_EQ(cache.clear().entries, 2u);
  EXPECT_FALSE(cache.get("a"));
}

TEST_F(DiskCacheTest, EveryDamageIsAMiss) {
  const DiskCache cache(folder);
  cache.put("key", bytes("value of it"));
  const fs::path file = files().at(0);
  const auto size = static_cast<long>(fs::file_size(file));
  for (long at = 0; at < size; ++at) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(at);
    const char was = static_cast<char>(f.get());
    f.seekp(at);
    f.put(static_cast<char>(was ^ 1));
    f.close();
    EXPECT_FALSE(cache.get("key")) << at;
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(at).put(was);
  }
  EXPECT_EQ(cache.get("key"), bytes("value of it"));
  for (long length = 0; length < size; ++length) {
    fs::resize_file(file, static_cast<uintmax_t>(length));
    EXPECT_FALSE(cache.get("key")) << length;
  }
}

// Another key whose file has this name, as if their checksums were equal.
TEST_F(DiskCacheTest, TheWholeKeyCounts) {
  const DiskCache cache(folder);
  cache.put("one", bytes("1"));
  const fs::path one = files().at(0);
  cache.put("two", bytes("2"));
  for (const fs::path &f : files())
    if (f != one)
      fs::copy_file(one, f, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.get("one"), bytes("1"));
  EXPECT_FALSE(cache.get("two"));
}

TEST_F(DiskCacheTest, ThoseNotUsedForLongestGo) {
  const DiskCache cache(folder);
  const std::vector<std::byte> large(1000);
  for (const char *key : {"a", "b", "c", "d"})
    cache.put(key, large);
  const auto now = fs::file_time_type::clock::now();
  int hours = 1;
  for (const fs::path &f : files())
    fs::last_write_time(f, now - std::chrono::hours(hours++));
  EXPECT_TRUE(cache.get("b")); // it is the youngest now
  cache.trim(3500);
  EXPECT_EQ(cache.contents().entries, 2u);
  EXPECT_TRUE(cache.get("b"));
  cache.trim(3500); // there is no more than that
  EXPECT_EQ(cache.contents().entries, 2u);
}

TEST_F(DiskCacheTest, SeveralAtOnce) {
  const DiskCache cache(folder);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(i % 7);
        cache.put(key, bytes("value " + key));
        if (const auto got = cache.get(key))
          EXPECT_EQ(*got, bytes("value " + key));
      }
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(cache.contents().entries, 7u);
  EXPECT_EQ(files().size(), 7u); // nothing half written is left
}

TEST_F(DiskCacheTest, WhatCannotBeWrittenIsNotKept) {
  std::ofstream(folder) << "a file";
  const DiskCache cache(folder);
  cache.put("a", bytes("one"));
  EXPECT_FALSE(cache.get("a"));
  EXPECT_EQ(cache.contents().entries, 0u);
  EXPECT_EQ(cache.clear().entries, 0u);
}

} // namespace
