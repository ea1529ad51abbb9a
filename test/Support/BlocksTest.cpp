#include "glia/Support/RawBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>

using namespace glia;

TEST(Blocks, AreKeptForTheNextWhoWantsOne) {
  constexpr size_t kBytes = (size_t{5} << 20) + 3;
  std::byte *const first = takeBlock(kBytes, Fill::Zero);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  std::fill(first, first + kBytes, std::byte{7});
  giveBlock(first, kBytes);
  EXPECT_GE(keptBytes(), kBytes);
  std::byte *const second = takeBlock(kBytes - 2, Fill::Zero); // the same one, without what was in it
  EXPECT_EQ(second, first);
  EXPECT_EQ(std::count(second, second + kBytes - 2, std::byte{}), static_cast<ptrdiff_t>(kBytes - 2));
  giveBlock(second, kBytes - 2);
  for (const size_t bytes : {kMostKept, kMostKept + 1, size_t{1}}) {
    giveBlock(takeBlock(bytes, Fill::None), bytes);
    EXPECT_LE(keptBytes(), kMostKept);
  }
}

TEST(Blocks, MoreThanThereIs) { EXPECT_THROW(takeBlock(SIZE_MAX - 5, Fill::None), std::bad_alloc); }

TEST(Blocks, VectorsInThemGrowAndAreOfTheirThread) {
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
