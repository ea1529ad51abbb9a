#include "glia/Profile/Profile.h"

#include "glia/Profile/ProgramBound.h"
#include "glia/Program/Remarks.h"
#include "glia/Target/Title.h"

#include <nlohmann/json.hpp>

namespace glia {

using Json = nlohmann::ordered_json;

static Json placesJson(const std::vector<PlaceUse> &all) {
  Json out = Json::array();
  for (const PlaceUse &u : all) {
    Json j = {{"name", u.name}};
    if (u.line)
      j["file"] = u.file, j["line"] = u.line;
    j["critical_ns"] = u.critical;
    for (int e = 0; e < kNumEngines; ++e)
      j[std::string(name(static_cast<Engine>(e))) + "_ns"] = u.busy[static_cast<size_t>(e)];
    j["transfers_ns"] = u.transfers;
    j["bytes"] = u.bytes;
    j["instructions"] = u.instructions;
    out.push_back(std::move(j));
  }
  return out;
}

static Json waitsJson(const Program &p, const std::vector<WaitUse> &all) {
  Json out = Json::array();
  for (const WaitUse &w : all) {
    Json j = {{"kind", name(w.kind)},  {"instruction", describeInstruction(p, w.at)},
              {"gain_ns", w.gain},     {"critical_ns", w.critical},
              {"length_ns", w.length}, {"count", w.count}};
    if (!w.tile.empty())
      j["tile"] = w.tile;
    if (w.known)
      j["for"] = describeInstruction(p, w.by);
    if (w.copies)
      j["copies"] = w.copies;
    out.push_back(std::move(j));
  }
  return out;
}

static Json memoryJson(const std::vector<MemoryUse> &all) {
  Json out = Json::array();
  for (const MemoryUse &m : all) {
    Json peak = Json::array();
    for (const TileUse &t : m.inPeak)
      peak.push_back({{"tile", t.name}, {"bytes", t.bytes}, {"from_ns", t.from}, {"to_ns", t.to}});
    out.push_back({{"memory", name(m.space)},
                   {"core", m.core},
                   {"capacity_bytes", m.capacity},
                   {"peak_bytes", m.peak},
                   {"peak_at_ns", m.peakAt},
                   {"in_peak", std::move(peak)}});
  }
  return out;
}

static Json rooflineJson(const Roofline &r) {
  Json out = {{"bytes_per_second", r.bytesPerSecond}, {"roofs", Json::array()}, {"points", Json::array()}};
  for (const Roof &x : r.roofs)
    out["roofs"].push_back({{"name", x.name}, {"operations_per_second", x.perSecond}});
  for (const RooflinePoint &x : r.points)
    out["points"].push_back({{"name", x.name}, {"operations", x.operations}, {"bytes", x.bytes}, {"ns", x.time}});
  return out;
}

std::string profileJson(const Program &p, const Profile &x) {
  const TimingResult &r = x.time;
  Json j;
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
  j["lanes"] = Json::array();
  for (const LaneUse &l : r.lanes)
    j["lanes"].push_back({{"name", l.name}, {"busy_ns", l.busy}, {"instructions", l.instructions}, {"bytes", l.bytes}});
  j["stalls"] = Json::array();
  for (const Stall &s : r.longestStalls)
    j["stalls"].push_back({{"instruction", describeInstruction(p, {s.core, s.engine, s.index})},
                           {"start_ns", s.start},
                           {"length_ns", s.length},
                           {"count", s.count},
                           {"reason", s.reason}});
  if (!r.timeline.empty()) {
    j["lines"] = placesJson(x.lines);
    j["operations"] = placesJson(x.operations);
    j["kernels"] = placesJson(x.kernels);
    j["waits"] = waitsJson(p, x.waits);
    j["memory"] = memoryJson(x.memory);
    j["proposals"] = Json::array();
    for (const Proposal &a : x.proposals)
      j["proposals"].push_back({{"place", a.place}, {"text", a.text}, {"about", a.about}, {"ns", a.time}});
    j["roofline"] = rooflineJson(x.roofline);
    for (const LinkUse &l : x.links)
      j["links"].push_back({{"name", l.name}, {"busy_ns", l.busy}, {"most", l.most}});
  }
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace glia
