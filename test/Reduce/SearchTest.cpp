// The search itself, and the processes in which candidates are judged.
#include "glia/Reduce/Search.h"
#include "glia/Reduce/Outcome.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace glia;
using namespace glia::reduce;

namespace {

std::string numbered(int n) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += "line " + std::to_string(i) + "\n";
  return out;
}

TEST(Search, FindsTheLinesThatMatter) {
  int asked = 0;
  const auto both = [&](const std::string &t) {
    ++asked;
    return t.find("line 17\n") != std::string::npos && t.find("line 80\n") != std::string::npos;
  };
  Search search(numbered(100), both, sizeOfLines, {});
  reduceLines(search);
  EXPECT_EQ(search.smallest(), "line 17\nline 80\n");
  EXPECT_LT(asked, 60);
  EXPECT_EQ(asked, search.tries());
}

TEST(Search, EndsWithItsTriesAndWhenItIsTold) {
  const auto any = [](const std::string &) { return true; };
  Search few(numbered(1000), any, sizeOfLines, {.tries = 2});
  reduceLines(few);
  EXPECT_EQ(few.tries(), 2);
  EXPECT_TRUE(few.spent());
  bool stop = false;
  Search told(numbered(100), [&](const std::string &) { return stop = true; }, sizeOfLines, {.stop = [&] { return stop; }});
  reduceLines(told);
  EXPECT_EQ(told.tries(), 1);
}

TEST(Trial, CrashesAndEndlessLoopsAreOutcomes) {
  const Outcome crash = judgeApart(
      [](const std::string &) -> Outcome {
        std::raise(SIGKILL);
        return {};
      },
      "", {.seconds = 20});
  ASSERT_EQ(crash.size(), 1u);
  EXPECT_EQ(crash[0].code, kCrash);
  const Outcome endless = judgeApart(
      [](const std::string &) -> Outcome {
        for (;;)
          ::pause();
      },
      "", {.seconds = 0.2});
  ASSERT_EQ(endless.size(), 1u);
  EXPECT_EQ(endless[0].code, kEndless);
  const Outcome error =
      judgeApart([](const std::string &t) -> Outcome { throw Error("GRAPH-MAIN", t); }, std::string(100'000, 'x'), {});
  ASSERT_EQ(error.size(), 1u);
  EXPECT_EQ(error[0].code, "GRAPH-MAIN");
  EXPECT_GT(error[0].text.size(), 100'000u);
  EXPECT_TRUE(judgeApart([](const std::string &) { return Outcome(); }, "", {}).empty());
}

TEST(Trial, LeavesNoFilesBehind) {
  const std::filesystem::path here = std::filesystem::current_path();
  const Outcome where = judgeApart(
      [](const std::string &) -> Outcome {
        std::ofstream("left-behind") << "x";
        return {{"X", std::filesystem::current_path().string()}};
      },
      "", {});
  ASSERT_EQ(where.size(), 1u);
  EXPECT_NE(where[0].text, here.string());
  EXPECT_FALSE(std::filesystem::exists(where[0].text));
  EXPECT_FALSE(std::filesystem::exists(here / "left-behind"));
}

TEST(Trial, ACommandGetsAFile) {
  EXPECT_TRUE(
      succeeds("test \"$(cat {})\" = 'some text' && case {} in *.mlir) ;; *) exit 1;; esac", "some text", ".mlir", {}));
  EXPECT_FALSE(succeeds("false {}", "", "", {}));
  EXPECT_FALSE(succeeds("sleep 100 # {}", "", "", {.seconds = 0.2}));
  EXPECT_FALSE(succeeds("kill -9 $$ # {}", "", "", {}));
}

TEST(Keep, SaysWhatItIs) {
  EXPECT_EQ(parseKeep("RACE").code, "RACE");
  EXPECT_EQ(parseKeep("RACE:`t`").containing, "`t`");
  EXPECT_EQ(parseKeep("GRAPH-DIFFERS").code, kMismatch);
  EXPECT_EQ(parseKeep("RACE {}").command, "RACE {}");
  for (const char *wrong : {"", "RAZE", "{", "race", "python x.py", ":", "RACE-"})
    EXPECT_THROW(parseKeep(wrong), Error) << wrong;
}

// Of what the compiler is at fault for, the rule counts as well.
TEST(Keep, KnowsTheRuleBehindAnInternalError) {
  const Outcome o = outcomeOf({{.code = "GRAPH-INTERNAL", .message = "m", .notes = {"MATMUL-SHAPE: too wide"}}});
  EXPECT_TRUE(parseKeep("MATMUL-SHAPE").in(o));
  EXPECT_TRUE(parseKeep("GRAPH-INTERNAL:too wide").in(o));
  EXPECT_FALSE(parseKeep("RACE").in(o));
  EXPECT_FALSE(parseKeep("GRAPH-INTERNAL:too narrow").in(o));
}

} // namespace
