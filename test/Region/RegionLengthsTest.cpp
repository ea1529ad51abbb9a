// Where regions begin and end.
#include "glia/Region/RegionLengths.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace glia::emit;

// Stages by their letters, each with a weight of 10; capitals stand alone.
static std::vector<size_t> lengths(const std::string &text, int64_t most) {
  std::vector<Stage> stages;
  for (char c : text)
    stages.push_back({static_cast<size_t>(c), 10, c < 'a'});
  const std::vector<size_t> out = regionLengths(stages, most);
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), size_t{0}), text.size()) << text;
  return out;
}

using Lengths = std::vector<size_t>;

TEST(Regions, AsManyAsFit) {
  EXPECT_EQ(lengths("", 100), Lengths{});
  EXPECT_EQ(lengths("abcdef", 100), Lengths{6});
  EXPECT_EQ(lengths("abcdef", 40), (Lengths{4, 2}));
  EXPECT_EQ(lengths("abc", 5), (Lengths{1, 1, 1})); // one that weighs too much is one all the same
}

TEST(Regions, SomeStandAlone) {
  EXPECT_EQ(lengths("abXcdY", 100), (Lengths{2, 1, 2, 1}));
  EXPECT_EQ(lengths("XX", 100), (Lengths{1, 1}));
}

TEST(Regions, BeginAndEndWithLayers) {
  EXPECT_EQ(lengths("zabcabcabcabcy", 50), (Lengths{1, 3, 3, 3, 3, 1}));
  EXPECT_EQ(lengths("zabcabcabcabcy", 70), (Lengths{1, 6, 6, 1}));   // two layers each
  EXPECT_EQ(lengths("abcabcabcabcabc", 100), (Lengths{9, 6}));       // three at most: as even as it goes
  EXPECT_EQ(lengths("aaabaaabaaabaaab", 40), (Lengths{4, 4, 4, 4})); // not the repetition within
  EXPECT_EQ(lengths("zabcabcy", 100), Lengths{8});                   // all of it is one region
  EXPECT_EQ(lengths("abXabXabXabX", 60), (Lengths{2, 1, 2, 1, 2, 1, 2, 1}));
}
