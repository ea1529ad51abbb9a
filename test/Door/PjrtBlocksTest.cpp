#include "../../lib/Door/Pjrt/Blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace glia::pjrt;

TEST(PjrtBlocks, AreKeptForTheNextWhoWantsOne) {
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
