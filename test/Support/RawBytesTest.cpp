#include "glia/Support/RawBytes.h"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace glia;

TEST(RawBytes, BlocksOfOneSizeAreUsedAgain) {
  void *a = takeBlock(kLargeBlock);
  std::memset(a, 1, kLargeBlock);
  giveBlock(a, kLargeBlock);
  void *b = takeBlock(kLargeBlock - 1); // nearly the same size
  EXPECT_EQ(a, b);
  void *c = takeBlock(kLargeBlock);
  EXPECT_NE(b, c);
  giveBlock(b, kLargeBlock - 1);
  giveBlock(c, kLargeBlock);
}

TEST(RawBytes, WhatIsKeptIsLimited) {
  constexpr size_t kBytes = size_t{64} << 20;
  std::vector<void *> blocks(8);
  for (void *&b : blocks)
    b = takeBlock(kBytes);
  for (void *b : blocks)
    giveBlock(b, kBytes); // 512 MB, of which half is kept: the newest
  std::vector<void *> again(4);
  for (void *&b : again)
    b = takeBlock(kBytes);
  EXPECT_EQ(again, (std::vector<void *>(blocks.rbegin(), blocks.rbegin() + 4)));
  for (void *b : again)
    giveBlock(b, kBytes);
}

TEST(RawBytes, VectorsGrowAndAreOfTheirThread) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (size_t n = 1; n < 12; ++n) {
        RawBytes bytes(n << 20);
        std::memset(bytes.data(), t, bytes.size());
        RawBytes more = std::move(bytes);
        more.push_back(std::byte{9}); // grows
        for (size_t i = 0; i < n << 20; i += 4096)
          ASSERT_EQ(more[i], static_cast<std::byte>(t));
        ASSERT_EQ(more.back(), std::byte{9});
      }
    });
  for (std::thread &t : threads)
    t.join();
}

TEST(RawBytes, MoreThanThereIs) { EXPECT_THROW(takeBlock(SIZE_MAX - 5), std::bad_alloc); }
