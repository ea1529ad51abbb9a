// Programs of which something other than the verifier says whether they are right.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Verify/Verify.h"

#include <string>
#include <vector>

namespace glia::planted {

enum class Oracle : uint8_t { Rules, Litmus, Orders, Late, Mutants, Valid };
constexpr const char *kOracles[] = {"rules", "litmus", "orders", "late", "mutants", "valid"};
constexpr int kOracleCount = 6;

struct Case {
  Oracle oracle;
  std::string name;
  Program program;
  VerifyOptions options;
  bool proved = false;            // it must be; otherwise it must be refused
  std::vector<std::string> codes; // with these among the reasons
};

// The rule book's programs, the litmus tests, tiny programs in every order, programs that go wrong late, mutants, valid programs.
// `size`: how many are drawn of each kind that is drawn.
std::vector<Case> corpus(int size, uint64_t seed);

// What is wrong with the verdict on a case. Empty: nothing.
std::string complaint(const Case &c);

} // namespace glia::planted
