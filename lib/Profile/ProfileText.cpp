#include "glia/Profile/Profile.h"

#include "glia/Profile/ProgramBound.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/Remarks.h"
#include "glia/Sim/RankTopology.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <algorithm>

namespace glia {

// "1.04x its busiest part (core 0 tensor, 11.52 ms), 2.31x what the graph needs at least (dma, 5.18 ms)"
static std::string boundText(const Program &p, const TimingResult &r) {
  const ProgramBound b = programBound(p, r);
  if (b.busiest <= 0)
    return "";
  std::string s =
      format("%.2fx its busiest part (%s, %s)", r.total / b.busiest, b.part.c_str(), timeText(b.busiest).c_str());
  if (b.least > 0)
    s += format(", %.2fx what the graph needs at least (%s, %s)", r.total / b.least, b.limit.c_str(),
                timeText(b.least).c_str());
  return s + "\n";
}

// "12 exchanges take 210.00 us, of which the run waits for 180.00 us", and what they ask of links, EFA and HBM
static std::string exchangesText(const Program &p, const Profile &x) {
  std::vector<std::pair<double, double>> spans;
  double all = 0, exposed = 0, until = 0;
  for (const TimelineEvent &e : x.time.timeline)
    if (isExchange(p, e))
      spans.emplace_back(e.start, e.end);
  const size_t count = spans.size();
  std::sort(spans.begin(), spans.end());
  for (const auto &[start, end] : spans) { // those at the same time count once
    all += std::max(end - std::max(start, until), 0.0);
    until = std::max(until, end);
  }
  for (const PathStep &s : x.path)
    if (isExchange(p, x.time.timeline[s.event]))
      exposed += s.work;
  std::string s;
  if (count)
    s = format("%zu exchange%s %s, of which the run waits for %s\n", count, count == 1 ? " takes" : "s take",
               timeText(all).c_str(), timeText(exposed).c_str());
  for (const LinkUse &l : x.links)
    s += format("  %-20s %5.1f %% of the run at full rate, at most %.0f %% of it at a time\n", l.name.c_str(),
                100 * l.busy / x.time.total, 100 * l.most);
  return s;
}

// "one of 8 ranks, whose exchanges take what they take on trn2.48xlarge (assumed ...)"
static std::string rankText(const Program &p, const Profile &x) {
  const int ranks = ranksOf(p);
  if (ranks == 1)
    return "";
  const bool said =
      std::any_of(p.contract.begin(), p.contract.end(), [](const ContractItem &c) { return c.key == kTopologyKey; });
  const std::shared_ptr<const Topology> t = topologyOf(p);
  std::string s = format("one of %d ranks, whose exchanges take what they take on %s", ranks, t->name.c_str());
  if (t->instances > 1)
    s += format(" x %d", t->instances);
  return s + (said ? "" : " (assumed: --topology names another)") + "; no exchange is part of the least time\n" +
         exchangesText(p, x);
}

// What the compiler did, some of it.
static std::string remarkText(const Program &p) {
  constexpr size_t kMost = 12;
  const std::vector<std::string> all = remarksOf(p);
  std::string s;
  for (size_t i = 0; i < all.size() && i < kMost; ++i)
    s += (i ? "  " : "\nthe compiler\n  ") + all[i] + "\n";
  return all.size() > kMost ? s + format("  and %zu more (--json lists them)\n", all.size() - kMost) : s;
}

// "the critical path: tensor 41 %, transfers 30 %, latency of 40 transfers 22 %, of engines 7 %"
static std::string pathText(const Program &p, const Profile &x) {
  if (x.path.empty())
    return "";
  std::array<double, kNumEngines + 3> parts = {}; // engines, transfers, latency behind transfers, behind engines
  enum { TRANSFERS = kNumEngines, BEHIND_TRANSFERS, BEHIND_ENGINES };
  std::array<size_t, kNumEngines + 3> count = {};
  auto add = [&](size_t part, double ns) {
    parts[part] += ns;
    ++count[part];
  };
  for (const PathStep &s : x.path) {
    const TimelineEvent &e = x.time.timeline[s.event];
    const bool transfer = e.lane >= p.cores * kNumEngines;
    add(transfer ? TRANSFERS : static_cast<size_t>(e.engine), s.work);
    if (s.latency > 0)
      add(transfer ? BEHIND_TRANSFERS : BEHIND_ENGINES, s.latency);
  }
  std::vector<std::pair<double, std::string>> shown;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] >= 0.005 * x.time.total)
      shown.push_back({parts[i], i < kNumEngines         ? std::string(name(static_cast<Engine>(i)))
                                 : i == TRANSFERS        ? format("%zu transfers", count[i])
                                 : i == BEHIND_TRANSFERS ? format("what follows %zu transfers", count[i])
                                                         : format("what follows %zu instructions", count[i])});
  std::sort(shown.rbegin(), shown.rend());
  std::string s = "critical path: ";
  for (size_t i = 0; i < shown.size(); ++i)
    s += format("%s%s %.0f %%", i ? ", " : "", shown[i].second.c_str(), 100 * shown[i].first / x.time.total);
  return s + "\n";
}

static std::string lanesText(const TimingResult &r) {
  const double total = r.total > 0 ? r.total : 1;
  std::string s = "\nengine or queue                       busy     share  instructions       bytes\n";
  for (const LaneUse &l : r.lanes)
    if (l.instructions)
      s += format("  %-28s %12s  %6.1f %%  %12llu  %10s\n", l.name.c_str(), timeText(l.busy).c_str(), 100 * l.busy / total,
                  (unsigned long long)l.instructions, l.bytes ? sizeText(static_cast<double>(l.bytes)).c_str() : "");
  return s;
}

static std::string trafficText(const Program &p, const TimingResult &r) {
  const double total = r.total > 0 ? r.total : 1;
  double dma = 0;
  for (const LaneUse &l : r.lanes)
    dma += static_cast<double>(l.bytes);
  const double hbm = static_cast<double>(r.hbmBytesRead + r.hbmBytesWritten);
  return format("\nDMA  %s, %.1f GB/s on average\nHBM  %s read, %s written, %.1f GB/s on average (of %.0f)\n",
                sizeText(dma).c_str(), dma / total, sizeText(static_cast<double>(r.hbmBytesRead)).c_str(),
                sizeText(static_cast<double>(r.hbmBytesWritten)).c_str(), hbm / total, p.target->number("hbm.bytes_per_ns"));
}

// "SBUF of core 0: 61 % at 12.30 us: acc 65.5 kB, s 16.4 kB and 3 more"
static std::string memoryText(const Profile &x) {
  constexpr size_t kMost = 4;
  std::string s;
  for (const MemoryUse &m : x.memory) {
    s += format("%s of core %d, at most %s of %s, at %s:", std::string(name(m.space)).c_str(), m.core,
                sizeText(static_cast<double>(m.peak)).c_str(), sizeText(static_cast<double>(m.capacity)).c_str(),
                timeText(m.peakAt).c_str());
    for (size_t i = 0; i < m.inPeak.size() && i < kMost; ++i)
      s += format("%s %s %s", i ? "," : "", m.inPeak[i].name.c_str(),
                  sizeText(static_cast<double>(m.inPeak[i].bytes)).c_str());
    s += m.inPeak.size() > kMost ? format(" and %zu more\n", m.inPeak.size() - kMost) : "\n";
  }
  return s;
}

static std::string lineTitle(const PlaceUse &u) {
  std::string text = sourceLine(u.file, u.line);
  if (text.empty())
    text = u.text;
  return text.empty() ? u.name.empty() ? "(no source)" : u.name : u.name + ": " + text;
}

// The lines of the critical path, or where there are none, operations.
static std::string placesText(const Profile &x) {
  constexpr size_t kMost = 12;
  const bool lines = std::any_of(x.lines.begin(), x.lines.end(), [](const PlaceUse &u) { return u.line != 0; });
  const std::vector<PlaceUse> &all = lines ? x.lines : x.operations;
  if (all.empty() || (all.size() == 1 && all[0].name.empty()))
    return "";
  std::string s = format("\n%-17s %9s %9s %9s %9s %9s %9s  %s\n", "critical path", "tensor", "vector", "scalar", "gpsimd",
                         "transfers", "bytes", lines ? "line" : "operation");
  auto cell = [](double ns) { return ns > 0 ? timeText(ns) : std::string(); };
  for (size_t i = 0; i < all.size() && i < kMost && all[i].critical > 0; ++i) {
    const PlaceUse &u = all[i];
    s += format("%9s %5.1f %% %9s %9s %9s %9s %9s %9s  %s\n", timeText(u.critical).c_str(), 100 * u.critical / x.time.total,
                cell(u.busy[0]).c_str(), cell(u.busy[1]).c_str(), cell(u.busy[2]).c_str(), cell(u.busy[3]).c_str(),
                cell(u.transfers).c_str(), u.bytes ? sizeText(static_cast<double>(u.bytes)).c_str() : "",
                lineTitle(u).c_str());
  }
  return s;
}

// For a run that was timed without its timeline.
static std::string stallsText(const Program &p, const TimingResult &r) {
  constexpr size_t kMost = 10;
  std::string s;
  for (size_t i = 0; i < r.longestStalls.size() && i < kMost; ++i) {
    const Stall &x = r.longestStalls[i];
    s += format("%s  %10s%s  %s\n              waited for %s\n", i ? "" : "\nlongest stalls\n", timeText(x.length).c_str(),
                x.count > 1 ? format(" in %llu times", (unsigned long long)x.count).c_str() : "",
                describeInstruction(p, {x.core, x.engine, x.index}).c_str(), x.reason.c_str());
  }
  return s;
}

static std::string waitsText(const Program &p, const Profile &x) {
  constexpr double kSeen = 0.0005; // of the total: less would be 0.0 %
  constexpr size_t kMost = 10;
  std::string s;
  for (size_t i = 0; i < x.waits.size() && i < kMost && x.waits[i].gain > kSeen * x.time.total; ++i) {
    const WaitUse &w = x.waits[i];
    s += format("%s%9s %5.1f %%  %s (%s%s)\n", i ? "" : "\nwithout this wait the run would take less by\n",
                timeText(w.gain).c_str(), 100 * w.gain / x.time.total, describe(p, w).c_str(), timeText(w.length).c_str(),
                w.count > 1 ? format(" in %llu times", (unsigned long long)w.count).c_str() : "");
  }
  return s;
}

static std::string proposalsText(const Profile &x) {
  constexpr size_t kMost = 8;
  std::string s;
  for (size_t i = 0; i < x.proposals.size() && i < kMost; ++i) {
    const Proposal &a = x.proposals[i];
    s += format("%s%9s of %-9s  %s: %s\n", i ? "" : "\ncould be saved\n", timeText(a.time).c_str(), a.about.c_str(),
                a.place.c_str(), a.text.c_str());
  }
  return s;
}

static std::string originsText(const TimingResult &r) {
  std::string s =
      format("\nThe time rests on documented parameters for %.0f %%, on figures read from published profiles for %.0f %%, "
             "on assumptions for %.0f %%",
             100 * r.documented, 100 * r.derived, 100 * r.assumed);
  for (size_t i = 0; i < r.assumedParameters.size(); ++i)
    s += (i ? ", " : ": ") + r.assumedParameters[i];
  return s + ".\n";
}

std::string profileText(const Program &p, const Profile &x) {
  const TimingResult &r = x.time;
  return format("%s on %s, %llu instructions (launch, not included: about %s)\n", timeText(r.total).c_str(),
                titleOf(*p.target).c_str(), (unsigned long long)r.instructions, timeText(r.launch).c_str()) +
         boundText(p, r) + pathText(p, x) + rankText(p, x) + remarkText(p) + lanesText(r) + trafficText(p, r) +
         memoryText(x) + placesText(x) + (r.timeline.empty() ? stallsText(p, r) : waitsText(p, x)) + proposalsText(x) +
         originsText(r);
}

} // namespace glia
