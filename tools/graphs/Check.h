// Compiles a random graph for a target and holds it against the reference interpreter.
#pragma once
#include <set>
#include <string>

namespace glia::graphs {

struct Verdict {
  enum Kind { Right, Refused, Wrong, Internal } kind = Right;
  std::set<std::string> reasons; // refused: what for, without numbers; else the code of the first finding
  std::string detail;            // for people
  bool same(const Verdict &o) const { return kind == o.kind && reasons == o.reasons; }
};

// Right: each group equals the reference, and the whole program's results are those of the graph.
// Internal: anything that a legal graph must not cause, a kernel that does not compile among them.
Verdict check(const std::string &text, const std::string &target);

// As small as it can be and get the same verdict.
std::string smallest(const std::string &text, const std::string &target, const Verdict &verdict, int attempts);

} // namespace glia::graphs
