#include "Check.h"
#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

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

constexpr time_t kSeconds = 120; // of the processor, for one graph
constexpr char kEnd = 0;         // between the parts of a message

std::string messageOf(const Verdict &v) {
  std::string out(1, static_cast<char>('0' + v.kind));
  out += v.detail + kEnd;
  for (const std::string &r : v.reasons)
    out += r + kEnd;
  return out + kEnd; // an empty reason: all of it arrived
}

Verdict verdictOf(const std::string &message, int status) {
  Verdict v;
  if (message.size() < 2 || message.back() != kEnd || !WIFEXITED(status))
    return {Verdict::Internal,
            {WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? "endless" : "crash"},
            format("it ended with status %d", status)};
  v.kind = static_cast<Verdict::Kind>(message[0] - '0');
  size_t at = message.find(kEnd);
  v.detail = message.substr(1, at - 1);
  for (size_t end = message.find(kEnd, ++at); end != std::string::npos && end > at; end = message.find(kEnd, at)) {
    v.reasons.insert(message.substr(at, end - at));
    at = end + 1;
  }
  return v;
}

} // namespace

// In a process of its own: a crash or an endless loop is a verdict like others.
Verdict check(const std::string &text, const std::string &target) {
  int ends[2];
  if (pipe(ends) != 0)
    throw Error("GRAPHS-PIPE", "no pipe could be made", "");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0)
    throw Error("GRAPHS-FORK", "no process could be started", "");
  if (child == 0) {
    close(ends[0]);
    const itimerval limit{{}, {kSeconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    const std::string message = messageOf(checkHere(text, target));
    for (size_t at = 0; at < message.size();) {
      const ssize_t n = write(ends[1], message.data() + at, message.size() - at);
      if (n <= 0)
        break;
      at += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char part[4096];
  for (ssize_t n = 0; (n = read(ends[0], part, sizeof part)) > 0;)
    message.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return verdictOf(message, status);
}

} // namespace glia::graphs
