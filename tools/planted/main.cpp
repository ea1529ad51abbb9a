// glia-planted [N [SEED [FILE]]]: would anybody notice if the verifier were wrong? Chooses each fault that plant.py planted into this
// program's copy of the verifier (or those in one FILE), and holds its verdicts against programs of which something else says whether they
// are right (Corpus.h; N drawn of each kind). Prints which oracle notices which fault, and the faults that none does.
#include "Corpus.h"
#include "Planted.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace glia;
using namespace glia::planted;

namespace {

struct Fault {
  const char *file;
  int line;
  const char *what, *text;
};
const Fault kFaults[] = {
#include "Faults.inc"
};

struct Seen { // of one fault
  bool matters = false;
  bool by[kOracleCount] = {};
  bool crash = false;   // or it does not come back
  char first[200] = ""; // what was said first
  bool unsound = false; // a wrong program is proved
  bool noticed() const {
    return crash || std::any_of(std::begin(by), std::end(by), [](bool b) { return b; });
  }
};

// In the child: each oracle until it complains.
void ask(const std::vector<Case> &cases, Seen &seen) {
  for (const Case &c : cases) {
    bool &noticed = seen.by[static_cast<int>(c.oracle)];
    if (noticed && (seen.unsound || c.proved))
      continue;
    const std::string text = complaint(c);
    if (text.empty())
      continue;
    noticed = true;
    seen.unsound |= !c.proved && text.ends_with(": proved");
    if (!seen.first[0])
      std::snprintf(seen.first, sizeof seen.first, "%s", text.c_str());
  }
  seen.matters = matters;
}

// A process of its own: a fault may crash, or never end.
Seen seenWith(int fault, const std::vector<Case> &cases) {
  int pipes[2];
  if (pipe(pipes) != 0)
    throw Error("TOOL-PIPE", "no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30}; // nor may it take all there is
    setrlimit(RLIMIT_AS, &memory);
    if (!std::freopen("/dev/null", "w", stderr))
      _exit(1);
    chosen = fault;
    Seen seen;
    try {
      ask(cases, seen);
    } catch (const std::exception &e) {
      seen.crash = true;
      std::snprintf(seen.first, sizeof seen.first, "%s", e.what());
    }
    const bool sent = write(pipes[1], &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen);
    _exit(sent ? 0 : 1);
  }
  close(pipes[1]);
  Seen seen;
  const bool got = read(pipes[0], &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen);
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!got) {
    seen = {};
    seen.crash = seen.matters = true;
    std::snprintf(seen.first, sizeof seen.first,
                  WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "does not end" : "crashes");
  }
  return seen;
}

// Faults that are no faults, with the reason: FILE | WHAT | TEXT | why.
std::map<std::string, std::string> argued() {
  std::map<std::string, std::string> out;
  std::ifstream in(GLIA_SOURCE_DIR "/tools/planted/argued.txt");
  for (std::string line; std::getline(in, line);)
    if (const size_t at = line.rfind(" | "); !line.starts_with("#") && at != std::string::npos)
      out[line.substr(0, at)] = line.substr(at + 3);
  return out;
}

} // namespace

int main(int argc, char **argv) {
  auto number = [&](int at, uint64_t otherwise) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise; };
  const int size = static_cast<int>(number(1, 600));
  const uint64_t seed = number(2, 1);
  const std::vector<Case> cases = corpus(size, seed);
  std::map<std::string, std::pair<int, int>> sizes; // of each oracle: wrong, right
  for (const Case &c : cases)
    ++(c.proved ? sizes[kOracles[static_cast<int>(c.oracle)]].second : sizes[kOracles[static_cast<int>(c.oracle)]].first);
  for (const auto &[name, n] : sizes)
    std::printf("%-8s %5d wrong and refused, %5d right and proved\n", name.c_str(), n.first, n.second);

  auto reasons = argued();
  struct Row {
    int faults = 0, by[kOracleCount] = {}, crash = 0, unsound = 0, argued = 0, nobody = 0;
  };
  std::map<std::string, Row> rows;
  Row all;
  std::set<std::string> spoken;
  for (size_t i = 0; i < std::size(kFaults); ++i) {
    const Fault &f = kFaults[i];
    if (argc > 3 && f.file != std::string_view(argv[3]))
      continue;
    const Seen seen = seenWith(static_cast<int>(i) + 1, cases);
    const std::string key = std::string(f.file) + " | " + f.what + " | " + f.text;
    const auto why = reasons.find(key);
    spoken.insert(key);
    for (Row *row : {&rows[f.file], &all}) {
      ++row->faults;
      for (int o = 0; o < kOracleCount; ++o)
        row->by[o] += seen.by[o];
      row->crash += seen.crash;
      row->unsound += seen.unsound;
      if (!seen.noticed())
        ++(why != reasons.end() ? row->argued : row->nobody);
    }
    if (std::getenv("GLIA_PLANTED_VERBOSE") && seen.noticed())
      std::printf("noticed: %s:%d | %s | %s: %s\n", f.file, f.line, f.what, f.text, seen.first);
    if (!seen.noticed() && why == reasons.end())
      std::printf("NOBODY NOTICES%s: %s:%d | %s | %s\n", seen.matters ? "" : " (never met)", f.file, f.line, f.what, f.text);
  }
  std::printf("\n%-22s %6s", "file", "faults");
  for (const char *o : kOracles)
    std::printf(" %7s", o);
  std::printf(" %7s %7s %7s %7s\n", "crash", "unsound", "argued", "nobody");
  rows["all"] = all;
  for (const auto &[file, row] : rows) {
    std::printf("%-22s %6d", file.c_str(), row.faults);
    for (const int n : row.by)
      std::printf(" %7d", n);
    std::printf(" %7d %7d %7d %7d\n", row.crash, row.unsound, row.argued, row.nobody);
  }
  std::erase_if(reasons, [&](const auto &r) { return argc > 3 || spoken.count(r.first); });
  for (const auto &[key, why] : reasons)
    std::printf("ARGUED, AND NO SUCH FAULT: %s\n", key.c_str());
  return all.nobody == 0 && reasons.empty() ? 0 : 1;
}
