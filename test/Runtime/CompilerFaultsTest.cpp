// Whose fault a broken rule is, in a program that glia compiled.
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Program/Assembler.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

namespace {

// The copy does not wait for the load.
Program racy() {
  return assemble("target trn2\ninput x : f32[128, 64]\noutput y : f32[128, 64]\nsbuf t : f32[128, 64] @ 0\nqueue q\n"
                  "semaphore s\nsync dma_copy dst=t src=x queue=q then s += 16\n"
                  "vector tensor_copy dst=t src=t\nsync dma_copy dst=y src=t queue=q\n",
                  "racy.gasm");
}

Diagnostic broken(const std::string &code, const std::string &context = "", const std::string &note = "") {
  Diagnostic d;
  d.code = code;
  d.message = "what the rule says";
  d.context = context;
  d.place = {"kernel.py", 7, 0};
  if (!note.empty())
    d.notes.push_back(note);
  return d;
}

Diagnostic told(Diagnostic d, int cores, CompiledFrom from) {
  Program p;
  p.cores = cores;
  return withCompilerFaults({std::move(d)}, p, from)[0];
}

TEST(CompilerFaults, OfAGraphEverythingIs) {
  const Program p = racy();
  const std::vector<Diagnostic> found = verify(p).diagnostics;
  ASSERT_FALSE(found.empty());
  const Diagnostic said = told(found[0], 1, CompiledFrom::Graph);
  EXPECT_EQ(said.code, "GRAPH-INTERNAL");
  EXPECT_NE(said.message.find("a fault of glia's, not of your program"), std::string::npos);
  EXPECT_EQ(said.notes.at(0), found[0].code + ": " + found[0].message);
  EXPECT_NE(said.advice.find("report"), std::string::npos);
  EXPECT_EQ(said.place.line, found[0].place.line);
  EXPECT_EQ(told(broken("UNDEFINED-OUTPUT"), 1, CompiledFrom::Graph).code, "GRAPH-INTERNAL");
}

TEST(CompilerFaults, OneThatReachesManyInstructionsIsToldOnce) {
  const std::vector<Diagnostic> said = withCompilerFaults(
      {broken("UNDEFINED-OUTPUT"), broken("RACE"), broken("UNDEFINED-OUTPUT"), broken("UNDEFINED-OUTPUT")}, Program(),
      CompiledFrom::Graph);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].notes.back(), "and at 2 more instructions");
  EXPECT_NE(said[1].message.find("(RACE)"), std::string::npos);
  EXPECT_EQ(said[1].notes.size(), 1u);
  const Program p;
  EXPECT_EQ(withCompilerFaults({broken("OUTPUT-UNWRITTEN"), broken("OUTPUT-UNWRITTEN")}, p, CompiledFrom::Kernel).size(),
            2u);
}

TEST(CompilerFaults, OfAKernelWhatItsAuthorDoesNotDecide) {
  for (const char *code : {"LOOP-FORM", "LOOP-ORDER", "LOOP-BALANCE", "SYNC-FORM", "SYNC-DEADLOCK", "RACE"}) {
    const Diagnostic d = told(broken(code), 1, CompiledFrom::Kernel);
    EXPECT_EQ(d.code, "INTERNAL") << code;
    EXPECT_EQ(d.notes.at(0), std::string(code) + ": what the rule says");
    EXPECT_EQ(d.place.file, "kernel.py");
  }
  for (const char *code : {"UNDEFINED-OUTPUT", "OUTPUT-UNWRITTEN", "DYNAMIC-UNPROVED", "SCATTER-UNIQUE", "BARRIER-PAIR"}) {
    const Diagnostic d = told(broken(code), 1, CompiledFrom::Kernel);
    EXPECT_EQ(d.code, code);
    EXPECT_EQ(d.message, "what the rule says");
  }
}

TEST(CompilerFaults, BetweenCoresTheOrderIsTheAuthors) {
  const std::string here = "core 0 vector instruction 3: tensor_copy";
  EXPECT_EQ(told(broken("RACE", here, "the other: core 1 scalar instruction 4: activation"), 2, CompiledFrom::Kernel).code,
            "RACE");
  EXPECT_EQ(told(broken("RACE", here, "the other: core 0 scalar instruction 4: activation"), 2, CompiledFrom::Kernel).code,
            "INTERNAL");
  EXPECT_EQ(told(broken("SYNC-DEADLOCK", here), 2, CompiledFrom::Kernel).code, "SYNC-DEADLOCK");
}

} // namespace
