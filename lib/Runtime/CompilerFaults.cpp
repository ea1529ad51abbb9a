#include "glia/Runtime/CompilerFaults.h"

#include <algorithm>
#include <map>

namespace glia {

namespace {

constexpr std::string_view kOther = "the other: core ";

// Barriers and messages between cores are the author's; what happens inside of one core is not.
bool isBetweenCores(const Diagnostic &d) {
  for (const std::string &n : d.notes)
    if (n.starts_with(kOther)) {
      const std::string number = n.substr(kOther.size(), n.find(' ', kOther.size()) - kOther.size());
      return d.context.find("core " + number + " ") == std::string::npos;
    }
  return true;
}

// Of a kernel: rules on what only the compiler writes.
bool isCompilers(const Diagnostic &d, int cores) {
  static constexpr std::string_view kAlways[] = {"SYNC-AMBIGUOUS", "SYNC-CONSUMER", "SYNC-FORM",       "SYNC-RANGE",
                                                 "LOOP-BALANCE",   "LOOP-FORM",     "LOOP-GROUP",      "CONTROL-FORM",
                                                 "QUEUE-OWNER",    "QUEUE-COUNT",   "SEMAPHORE-COUNT", "ACT-TABLE-RESIDENT"},
                                    kOrder[] = {"RACE", "LOOP-ORDER", "SYNC-DEADLOCK"};
  const auto isOne = [&](auto &list) { return std::find(std::begin(list), std::end(list), d.code) != std::end(list); };
  return isOne(kAlways) || (isOne(kOrder) && (cores < 2 || !isBetweenCores(d)));
}

} // namespace

std::vector<Diagnostic> withCompilerFaults(std::vector<Diagnostic> found, const Program &p, CompiledFrom from) {
  const bool graph = from == CompiledFrom::Graph;
  struct Told {
    size_t at;
    int more = 0;
  };
  std::map<std::string, Told> told; // of each rule: one fault is told once, however many instructions it reaches
  std::vector<Diagnostic> out;
  for (Diagnostic &d : found) {
    if (!graph && !isCompilers(d, p.cores)) {
      out.push_back(std::move(d));
      continue;
    }
    if (const auto [it, fresh] = told.emplace(d.code, Told{out.size()}); !fresh) {
      ++it->second.more;
      continue;
    }
    d.notes.insert(d.notes.begin(), d.code + ": " + d.message);
    d.advice = format("Please report it with the %s; `glia explain %s` says what the rule is.",
                      graph ? "graph (`glia check` names the operations)" : "kernel", d.code.c_str());
    d.message =
        format("glia compiled this %s to a program that its own verifier refuses (%s): this is a fault of glia's, not of "
               "your program",
               graph ? "graph" : "kernel", d.code.c_str());
    d.code = graph ? "GRAPH-INTERNAL" : "INTERNAL";
    out.push_back(std::move(d));
  }
  for (const auto &[code, t] : told)
    if (t.more)
      out[t.at].notes.push_back(format("and at %d more instructions", t.more));
  return out;
}

} // namespace glia
