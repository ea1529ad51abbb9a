#include "glia/Verify/RankOrder.h"
#include "glia/Program/RankContract.h"
#include "glia/ISA/Control.h"
#include "glia/Verify/Reporter.h"

#include <algorithm>
#include <map>
#include <memory>

namespace glia {

namespace {

constexpr size_t kMost = 4'000'000; // meetings of one program

struct Step {
  const Collective *what;
  uint32_t index; // in the stream
};

// What one program exchanges, in its order. Loops have counts that are written (COLLECTIVE-LOOP).
class Steps {
public:
  explicit Steps(const Program &p) : p(p) {
    if (std::none_of(p.opcodes.begin(), p.opcodes.end(), [](const InstrDef *d) { return isCollective(*d); }))
      return;
    const Stream &s = p.stream(0, Engine::GpSimd);
    walk(0, static_cast<uint32_t>(s.instrs.size()));
  }
  std::vector<Step> all;

private:
  const Program &p;
  std::map<uint32_t, std::unique_ptr<Collective>> said; // by instruction

  void walk(uint32_t from, uint32_t to) {
    const Stream &s = p.stream(0, Engine::GpSimd);
    Decoded d;
    for (uint32_t i = from; i < to; ++i) {
      const InstrDef &def = *p.opcodes[s.instrs[i].opcode];
      if (beginsLoop(def)) {
        decode(p, 0, Engine::GpSimd, i, d);
        const auto end = static_cast<uint32_t>(d.values[static_cast<size_t>(def.slot("end"))].integer);
        const int count = def.slot("count");
        const size_t before = all.size();
        walk(i + 1, end);
        const std::vector<Step> body(all.begin() + static_cast<ptrdiff_t>(before), all.end());
        const int64_t times = count < 0 ? 1 : d.values[static_cast<size_t>(count)].integer;
        all.resize(before);
        for (int64_t n = 0; n < times && !body.empty(); ++n) {
          if (all.size() + body.size() > kMost)
            throw Error("RANK-LENGTH", format("a program exchanges more than %zu times with other ranks", kMost),
                        "Make its loops shorter, or let all ranks run one program.");
          all.insert(all.end(), body.begin(), body.end());
        }
        i = end;
      } else if (isCollective(def)) {
        std::unique_ptr<Collective> &c = said[i];
        if (!c) {
          decode(p, 0, Engine::GpSimd, i, d);
          c = std::make_unique<Collective>(collectiveOf(p, d));
        }
        all.push_back({c.get(), i});
      }
    }
  }
};

class Ranks {
public:
  explicit Ranks(std::span<const Program *const> byRank) : programs(byRank), at(byRank.size()) {
    for (const Program *p : byRank)
      if (!steps.contains(p))
        steps.emplace(p, std::make_unique<Steps>(*p));
  }

  // Every rank waits at its next exchange; groups whose members wait for each other go on.
  std::vector<Diagnostic> run() {
    for (size_t r = 0; r < programs.size(); ++r)
      if (const int n = ranksOf(*programs[r]); static_cast<size_t>(n) != programs.size())
        return {
            Error("RANK-COUNT", format("the program of rank %zu is for %d ranks, and there are %zu", r, n, programs.size()))
                .diagnostics()
                .front()};
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < programs.size(); ++r)
        while (const Step *s = next(r)) {
          const std::vector<int> members = s->what->members(static_cast<int>(r));
          if (!all(members, [&](size_t m) { return next(m) && next(m)->what->members(static_cast<int>(m)) == members; }))
            break;
          for (const int m : members)
            if (*next(static_cast<size_t>(m))->what != *s->what)
              return {mismatch(r, static_cast<size_t>(m))};
          for (const int m : members)
            ++at[static_cast<size_t>(m)];
          moved = true;
        }
    }
    for (size_t r = 0; r < programs.size(); ++r)
      if (next(r))
        return {stuck(r)};
    return {};
  }

private:
  std::span<const Program *const> programs;
  std::map<const Program *, std::unique_ptr<Steps>> steps;
  std::vector<size_t> at; // by rank: how many exchanges lie behind it

  template <class F> static bool all(const std::vector<int> &members, F f) {
    return std::all_of(members.begin(), members.end(), [&](int m) { return f(static_cast<size_t>(m)); });
  }

  const Step *next(size_t rank) const {
    const std::vector<Step> &mine = steps.at(programs[rank])->all;
    return at[rank] < mine.size() ? &mine[at[rank]] : nullptr;
  }

  std::string describe(size_t rank) const {
    VerifyOptions options;
    const Step *s = next(rank);
    if (!s)
      return format("rank %zu has ended", rank);
    return format("rank %zu is at %s (%s)", rank, s->what->text().c_str(),
                  Reporter(*programs[rank], options).describe({0, Engine::GpSimd, s->index}).c_str());
  }

  Diagnostic mismatch(size_t a, size_t b) const {
    Diagnostic d = Error("RANK-MISMATCH",
                         format("ranks %zu and %zu of a group exchange different things", std::min(a, b), std::max(a, b)),
                         "The ranks of a group exchange the same in the same order.")
                       .diagnostics()
                       .front();
    d.notes = {describe(std::min(a, b)), describe(std::max(a, b))};
    return d;
  }

  // From rank to rank along those that are waited for: a rank that has ended, or a circle.
  Diagnostic stuck(size_t rank) const {
    std::vector<size_t> way;
    while (next(rank) && std::find(way.begin(), way.end(), rank) == way.end()) {
      way.push_back(rank);
      const std::vector<int> members = next(rank)->what->members(static_cast<int>(rank));
      for (const int m : members) {
        const Step *theirs = next(static_cast<size_t>(m));
        if (!theirs || theirs->what->members(m) != members) {
          rank = static_cast<size_t>(m);
          break;
        }
      }
    }
    const bool circle = next(rank) != nullptr;
    Diagnostic d = Error("RANK-DEADLOCK",
                         circle ? "ranks wait for each other in a circle"
                                : format("rank %zu waits for one that never comes", way.back()),
                         "The ranks of a group exchange the same in the same order.")
                       .diagnostics()
                       .front();
    const auto first = circle ? std::find(way.begin(), way.end(), rank) : way.end() - 1;
    for (auto it = first; it != way.end(); ++it)
      d.notes.push_back(describe(*it));
    if (!circle)
      d.notes.push_back(describe(rank));
    return d;
  }
};

} // namespace

std::vector<Diagnostic> verifyTogether(std::span<const Program *const> byRank) {
  const bool alike = std::all_of(byRank.begin(), byRank.end(), [&](const Program *p) { return p == byRank.front(); });
  if (byRank.empty() || (alike && static_cast<size_t>(ranksOf(*byRank.front())) == byRank.size()))
    return {};
  return Ranks(byRank).run();
}

} // namespace glia
