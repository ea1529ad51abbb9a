// The rule book against the verifier: each rule's bad program is refused by exactly that rule, each good one verifies.
// The programs are the ones of the rule files.
#include "glia/ISA/Instruction.h"
#include "glia/Program/Assembler.h"
#include "glia/Runtime/Docs.h"
#include "glia/Verify/RuleBook.h"
#include "glia/Verify/Verify.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

using namespace glia;

static std::string renderAll(const std::vector<Diagnostic> &list) {
  std::string out;
  for (const Diagnostic &d : list)
    out += render(d) + "\n";
  return out;
}

static std::string fileText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// What a user gets who assembles and verifies: errors of both count.
static std::vector<Diagnostic> judge(const Rule &r, const std::string &text) {
  VerifyOptions options;
  options.requireProved = r.requireProved;
  try {
    return verify(assemble(text, r.id + ".gasm", loadTarget(r.target)), options).diagnostics;
  } catch (const Error &e) {
    return e.diagnostics();
  }
}

class RuleTest : public testing::TestWithParam<size_t> {};

TEST_P(RuleTest, BadIsRefusedByThisRule) {
  const Rule &r = allRules()[GetParam()];
  const std::vector<Diagnostic> found = judge(r, r.bad);
  ASSERT_FALSE(found.empty()) << r.bad;
  for (const Diagnostic &d : found) {
    EXPECT_EQ(d.code, r.id) << renderAll(found) << r.bad;
    EXPECT_FALSE(d.message.empty());
    EXPECT_EQ(d.advice, r.advice);
  }
}

TEST_P(RuleTest, GoodVerifies) {
  const Rule &r = allRules()[GetParam()];
  EXPECT_EQ(renderAll(judge(r, r.good)), "") << r.good;
}

TEST_P(RuleTest, SaysEverything) {
  const Rule &r = allRules()[GetParam()];
  EXPECT_NE(r.bad, r.good);
  EXPECT_TRUE(r.sentence.ends_with(".")) << r.sentence;
  EXPECT_NE(explain(r.id).find(r.advice), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Book, RuleTest, testing::Range(size_t{0}, allRules().size()),
                         [](const testing::TestParamInfo<size_t> &i) {
                           std::string name = allRules()[i.param].id;
                           for (char &c : name)
                             if (c == '-')
                               c = '_';
                           return name;
                         });

TEST(RuleBook, InstructionsNameRulesOfTheBook) {
  for (const InstrDef *d : allInstructions())
    for (std::string_view id : d->rules)
      EXPECT_NE(findRule(id), nullptr) << d->name << " names " << id;
}

// Every rule that the code reports has its file.
TEST(RuleBook, SourcesNameRulesOfTheBook) {
  const std::regex report("fail(Program)?\\(\"([A-Z0-9-]+)\"");
  size_t found = 0;
  for (const char *folder : {"/lib/Verify", "/lib/ISA"})
    for (const auto &file : std::filesystem::recursive_directory_iterator(std::string(GLIA_SOURCE_DIR) + folder)) {
      if (file.path().extension() != ".cpp")
        continue;
      const std::string text = fileText(file.path());
      for (std::sregex_iterator it(text.begin(), text.end(), report), end; it != end; ++it, ++found)
        EXPECT_NE(findRule((*it)[2].str()), nullptr) << file.path() << " reports " << (*it)[2];
    }
  EXPECT_GT(found, 50u);
}

TEST(RuleBook, StatementsNameRulesOfTheBook) {
  for (const Statement &s : allStatements()) {
    EXPECT_NE(s.rules.empty(), s.reason.empty()) << s.text;
    for (const std::string &id : s.rules)
      EXPECT_NE(findRule(id), nullptr) << s.text << ": " << id;
  }
}

TEST(RuleBook, UnknownRule) {
  EXPECT_EQ(findRule("NO-SUCH-RULE"), nullptr);
  EXPECT_THROW(explain("NO-SUCH-RULE"), Error);
}

TEST(GeneratedDocs, RulesAreUpToDate) {
  EXPECT_TRUE(fileText(GLIA_SOURCE_DIR "/docs/rules.md") == rulesMarkdown())
      << "run: build/bin/glia rules --markdown > docs/rules.md";
}

TEST(GeneratedDocs, InstructionsAreUpToDate) {
  EXPECT_TRUE(fileText(GLIA_SOURCE_DIR "/docs/isa.md") == isaMarkdown())
      << "run: build/bin/glia isa --markdown > docs/isa.md";
}
