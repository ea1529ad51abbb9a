#include "glia/Runtime/Profile.h"

#include "glia/ISA/Instruction.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/Remarks.h"
#include "glia/Runtime/ProgramBound.h"
#include "glia/Sim/RankTopology.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glia {

std::string describeInstruction(const Program &p, int core, Engine e, uint32_t index) {
  const Instr &in = p.stream(core, e).instrs[index];
  const InstrOrigin &o = p.origins[in.origin];
  std::string s = format("core %d %s #%u %s", core, std::string(name(e)).c_str(), index,
                         std::string(p.opcodes[in.opcode]->name).c_str());
  const std::string &kernel = p.strings[o.kernel], &file = p.strings[o.file];
  std::string from = kernel;
  if (!file.empty())
    from += (from.empty() ? "" : ", ") + file + (o.line ? ":" + std::to_string(o.line) : "");
  return from.empty() ? s : s + " (" + from + ")";
}

static std::string time(double ns) {
  return ns < 1e3   ? format("%.0f ns", ns)
         : ns < 1e6 ? format("%.2f us", ns / 1e3)
         : ns < 1e9 ? format("%.3f ms", ns / 1e6)
                    : format("%.3f s", ns / 1e9);
}

static std::string size(double bytes) {
  return bytes < 1e3   ? format("%.0f B", bytes)
         : bytes < 1e6 ? format("%.1f kB", bytes / 1e3)
         : bytes < 1e9 ? format("%.2f MB", bytes / 1e6)
                       : format("%.3f GB", bytes / 1e9);
}

// "1.04x its busiest part (core 0 tensor, 11.52 ms), 2.31x what the graph needs at least (dma, 5.18 ms)"
static std::string boundText(const Program &p, const TimingResult &r) {
  const ProgramBound b = programBound(p, r);
  if (b.busiest <= 0)
    return "";
  std::string s = format("%.2fx its busiest part (%s, %s)", r.total / b.busiest, b.part.c_str(), time(b.busiest).c_str());
  if (b.least > 0)
    s += format(", %.2fx what the graph needs at least (%s, %s)", r.total / b.least, b.limit.c_str(), time(b.least).c_str());
  return s + "\n";
}

// "one of 8 ranks, whose exchanges take what they take on trn2.48xlarge (assumed ...)"
static std::string rankText(const Program &p) {
  const int ranks = ranksOf(p);
  if (ranks == 1)
    return "";
  const bool said =
      std::any_of(p.contract.begin(), p.contract.end(), [](const ContractItem &c) { return c.key == kTopologyKey; });
  const std::shared_ptr<const Topology> t = topologyOf(p);
  std::string s = format("one of %d ranks, whose exchanges take what they take on %s", ranks, t->name.c_str());
  if (t->instances > 1)
    s += format(" x %d", t->instances);
  return s + (said ? "" : " (assumed: --topology names another)") + "; no exchange is part of the least time\n";
}

static std::vector<std::string> remarksOf(const Program &p) {
  std::vector<std::string> out;
  for (const ContractItem &c : p.contract)
    if (c.key == kRemarkKey)
      out.push_back(c.value);
  return out;
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

std::string profileText(const Program &p, const TimingResult &r) {
  const double total = r.total > 0 ? r.total : 1;
  std::string s = format("%s on %s, %llu instructions (launch, not included: about %s)\n", time(r.total).c_str(),
                         titleOf(*p.target).c_str(), (unsigned long long)r.instructions, time(r.launch).c_str());
  s += boundText(p, r);
  s += rankText(p);
  s += remarkText(p);
  s += "\nengine or queue                       busy     share  instructions       bytes\n";
  for (const LaneUse &l : r.lanes)
    if (l.instructions)
      s += format("  %-28s %12s  %6.1f %%  %12llu  %10s\n", l.name.c_str(), time(l.busy).c_str(), 100 * l.busy / total,
                  (unsigned long long)l.instructions, l.bytes ? size(static_cast<double>(l.bytes)).c_str() : "");
  double dma = 0;
  for (const LaneUse &l : r.lanes)
    dma += static_cast<double>(l.bytes);
  const double hbm = static_cast<double>(r.hbmBytesRead + r.hbmBytesWritten);
  s += format("\nDMA  %s, %.1f GB/s on average\nHBM  %s read, %s written, %.1f GB/s on average (of %.0f)\n",
              size(dma).c_str(), dma / total, size(static_cast<double>(r.hbmBytesRead)).c_str(),
              size(static_cast<double>(r.hbmBytesWritten)).c_str(), hbm / total, p.target->number("hbm.bytes_per_ns"));
  if (!r.longestStalls.empty()) {
    s += "\nlongest stalls\n";
    for (size_t i = 0; i < r.longestStalls.size() && i < 10; ++i) {
      const Stall &x = r.longestStalls[i];
      s += format("  %10s%s  %s\n              waited for %s\n", time(x.length).c_str(),
                  x.count > 1 ? format(" in %llu times", (unsigned long long)x.count).c_str() : "",
                  describeInstruction(p, x.core, x.engine, x.index).c_str(), x.reason.c_str());
    }
  }
  s += format("\nThe time rests on documented parameters for %.0f %%, on figures read from published profiles for %.0f %%, "
              "on assumptions for %.0f %%",
              100 * r.documented, 100 * r.derived, 100 * r.assumed);
  for (size_t i = 0; i < r.assumedParameters.size(); ++i)
    s += (i ? ", " : ": ") + r.assumedParameters[i];
  return s + ".\n";
}

std::string profileJson(const Program &p, const TimingResult &r) {
  nlohmann::ordered_json j;
  j["target"] = p.target->name;
  if (const std::string title = titleOf(*p.target); title != p.target->name)
    j["target_title"] = title;
  j["total_ns"] = r.total;
  j["launch_ns"] = r.launch;
  j["instructions"] = r.instructions;
  const ProgramBound b = programBound(p, r);
  j["busiest"] = {{"part", b.part}, {"ns", b.busiest}};
  if (b.least > 0)
    j["least"] = {{"by", b.limit}, {"ns", b.least}};
  if (const std::vector<std::string> remarks = remarksOf(p); !remarks.empty())
    j["compiler"] = remarks;
  j["hbm_bytes_read"] = r.hbmBytesRead;
  j["hbm_bytes_written"] = r.hbmBytesWritten;
  j["origins"] = {{"documented", r.documented}, {"derived", r.derived}, {"assumed", r.assumed}};
  j["assumed_parameters"] = r.assumedParameters;
  j["lanes"] = nlohmann::ordered_json::array();
  for (const LaneUse &l : r.lanes)
    j["lanes"].push_back({{"name", l.name}, {"busy_ns", l.busy}, {"instructions", l.instructions}, {"bytes", l.bytes}});
  j["stalls"] = nlohmann::ordered_json::array();
  for (const Stall &x : r.longestStalls)
    j["stalls"].push_back({{"instruction", describeInstruction(p, x.core, x.engine, x.index)},
                           {"start_ns", x.start},
                           {"length_ns", x.length},
                           {"count", x.count},
                           {"reason", x.reason}});
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace glia
