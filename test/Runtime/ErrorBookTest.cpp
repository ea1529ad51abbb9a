// Every code that glia can print can be explained, and nothing is explained that it cannot print.
#include "glia/Runtime/Docs.h"
#include "glia/Runtime/ErrorBook.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/RuleBook.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace glia;

namespace {

std::string fileText(const std::filesystem::path &path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

bool isCodeChar(char c) {
  return std::isupper(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c));
}

// Literals like "GRAPH-MEMORY", and single words where an error is thrown or a violation reported.
void codesOf(const std::string &text, const std::string &file, std::map<std::string, std::string> &codes) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const char quote = text[i];
    if ((quote != '"' && quote != '\'') || !std::isupper(static_cast<unsigned char>(text[i + 1])))
      continue;
    size_t end = i + 1;
    bool hyphen = false;
    for (; end < text.size() && (isCodeChar(text[end]) || (text[end] == '-' && isCodeChar(text[end + 1]))); ++end)
      hyphen |= text[end] == '-';
    if (end >= text.size() || text[end] != quote)
      continue;
    const std::string_view before = std::string_view(text).substr(0, i);
    if (hyphen || before.ends_with(" Error(") || before.ends_with(" fail("))
      codes.emplace(text.substr(i + 1, end - i - 1), file);
    i = end;
  }
}

// From the code to a file that has it.
std::map<std::string, std::string> codesOfTheSources() {
  std::map<std::string, std::string> codes;
  for (const char *folder : {"lib", "include", "tools/glia", "python"})
    for (const auto &f : std::filesystem::recursive_directory_iterator(std::filesystem::path(GLIA_SOURCE_DIR) / folder))
      if (const auto ending = f.path().extension(); ending == ".cpp" || ending == ".h" || ending == ".py")
        codesOf(fileText(f.path()), f.path().string(), codes);
  return codes;
}

} // namespace

TEST(ErrorBook, EveryCodeIsExplained) {
  const std::map<std::string, std::string> codes = codesOfTheSources();
  EXPECT_GT(codes.size(), 200u);
  for (const auto &[code, file] : codes)
    EXPECT_TRUE(findRule(code) || findError(code))
        << file << " has the code " << code << ", which neither rules/ nor errors/ explains";
  for (const ErrorEntry &e : allErrors())
    EXPECT_TRUE(codes.contains(e.code)) << "errors/ explains " << e.code << ", which nothing reports";
}

TEST(ErrorBook, EntriesAreWhole) {
  std::map<std::string, int> seen;
  for (const ErrorEntry &e : allErrors()) {
    EXPECT_EQ(findRule(e.code), nullptr) << e.code << " is a rule";
    EXPECT_EQ(seen[e.code]++, 0) << e.code << " is explained twice";
    EXPECT_TRUE(e.meaning.ends_with('.') && e.advice.ends_with('.')) << e.code;
    const std::string text = explain(e.code);
    EXPECT_NE(text.find(e.meaning), std::string::npos);
    EXPECT_NE(text.find(e.advice), std::string::npos);
  }
}

TEST(ErrorBook, AnUnknownCodeIsAnError) {
  try {
    explain("GRAPH-MEMORIE");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RULE-UNKNOWN");
    EXPECT_NE(e.diagnostics()[0].advice.find("GRAPH-MEMORY"), std::string::npos);
  }
}

TEST(GeneratedDocs, ErrorsAreUpToDate) {
  EXPECT_TRUE(fileText(GLIA_SOURCE_DIR "/docs/errors.md") == errorsMarkdown())
      << "run: build/bin/glia explain --markdown > docs/errors.md";
}

TEST(ErrorBook, CallsOfNkiAreExplainedElsewhere) {
  try {
    explain("nl.softmax");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RULE-UNKNOWN");
    EXPECT_NE(e.diagnostics()[0].advice.find("python -m glia explain nl.softmax"), std::string::npos);
  }
}
