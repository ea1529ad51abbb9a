#include "Check.h"
#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Reduce/ReduceGraph.h"

#include <algorithm>

namespace glia::graphs {

namespace {

// Two graphs are refused for one reason if only sizes differ.
std::string withoutNumbers(const std::string &text) {
  std::string out;
  for (char c : text)
    if (c < '0' || c > '9')
      out += c;
    else if (out.empty() || out.back() != 'N')
      out += 'N';
  return out;
}

Verdict judge(const Error &e) {
  const auto refusal = [](const Diagnostic &d) { return d.code == "GRAPH-UNSUPPORTED" || d.code == "GRAPH-TYPE"; };
  const std::vector<Diagnostic> &all = e.diagnostics();
  if (!all.empty() && std::all_of(all.begin(), all.end(), refusal)) {
    std::set<std::string> reasons;
    for (const Diagnostic &d : all)
      reasons.insert(withoutNumbers(d.message));
    return {Verdict::Refused, std::move(reasons), e.what()};
  }
  return {Verdict::Internal, {all.empty() ? "?" : all[0].code}, e.what()};
}

Verdict checkHere(const std::string &text, const std::string &target) {
  try {
    graph::Graph g = graph::parseGraph(text, "graph.mlir");
    GraphOptions options;
    options.target = target;
    const GraphCheck c = checkGraph(*g.module, randomInputs(g.main(), 1), options);
    if (!c.ok()) {
      std::string all;
      for (const Diagnostic &d : c.wrong)
        all += (all.empty() ? "" : "\n") + render(d);
      return {Verdict::Wrong, {c.wrong[0].code}, all};
    }
    return {};
  } catch (const Error &e) {
    return judge(e);
  } catch (const std::exception &e) {
    return {Verdict::Internal, {"exception"}, e.what()};
  }
}

constexpr double kSeconds = 240; // for one graph
// What goes between the processes: the kind of the verdict with its detail, then the reasons.
constexpr const char *kKinds[] = {"right", "refused", "wrong", "internal"};

reduce::Outcome messageOf(const Verdict &v) {
  reduce::Outcome out = {{kKinds[v.kind], v.detail}};
  for (const std::string &r : v.reasons)
    out.push_back({"reason", r});
  return out;
}

Verdict verdictOf(const reduce::Outcome &message) {
  const auto *kind = std::find(std::begin(kKinds), std::end(kKinds), message[0].code);
  if (kind == std::end(kKinds)) // it crashed or does not end
    return {Verdict::Internal, {message[0].code}, message[0].text};
  Verdict v{static_cast<Verdict::Kind>(kind - kKinds), {}, message[0].text};
  for (size_t i = 1; i < message.size(); ++i)
    v.reasons.insert(message[i].text);
  return v;
}

} // namespace

// In a process of its own: a crash or an endless loop is a verdict like others.
Verdict check(const std::string &text, const std::string &target) {
  return verdictOf(reduce::judgeApart([&](const std::string &t) { return messageOf(checkHere(t, target)); }, text,
                                      {.seconds = kSeconds}));
}

std::string smallest(const std::string &text, const std::string &target, const Verdict &verdict, int attempts) {
  const auto failsToo = [&](const std::string &t) { return check(t, target).same(verdict); };
  reduce::Search search(text, failsToo, reduce::sizeOfGraph, {.seconds = 600, .tries = attempts});
  reduce::reduceGraph(search, reduce::Bodies::Kept);
  return search.smallest();
}

} // namespace glia::graphs
