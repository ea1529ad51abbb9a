// The page of a profile: lib/Profile/page holds what is the same for all; this file adds the data.
#include "glia/Profile/Profile.h"

#include "glia/ISA/Instruction.h"
#include "glia/Profile/ProgramBound.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

namespace glia {

namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMaxBars = 400000;       // beyond this, neighbours of a lane are drawn as one bar
constexpr size_t kMaxRows = 2000;         // of a table
constexpr size_t kMaxPoints = 2000;       // of a curve
constexpr size_t kMaxSource = 200'000;    // bytes of one file
constexpr size_t kMaxSources = 1'000'000; // of all
constexpr uint32_t kNoBar = UINT32_MAX;

// `</script>` and the like must not end the script: `<` appears only as an escape.
std::string embed(const Json &j) {
  const std::string text = j.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (char c : text)
    c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string escape(std::string_view s) {
  std::string out;
  for (char c : s)
    c == '<' ? out += "&lt;" : c == '>' ? out += "&gt;" : c == '&' ? out += "&amp;" : out += c;
  return out;
}

int64_t tenths(double ns) { return static_cast<int64_t>(ns * 10 + 0.5); }

// Instructions that look alike share a label.
class Labels {
public:
  explicit Labels(const Program &p) : p(p) {}
  size_t of(const TimelineEvent &e) {
    const Instr &in = instr(p, instructionOf(e));
    auto [it, fresh] = known.try_emplace({in.opcode, in.origin}, all.size());
    if (fresh) {
      const InstrOrigin &o = p.origins[in.origin];
      all.push_back({p.opcodes[in.opcode]->name, p.strings[o.kernel], p.strings[o.operation], p.strings[o.file], o.line});
    }
    return it->second;
  }
  Json all = Json::array();

private:
  const Program &p;
  std::map<std::pair<uint16_t, uint32_t>, size_t> known;
};

// Bars of all lanes: times in tenths of a nanosecond, starts as differences.
class Bars {
public:
  Bars(const Program &p, const Profile &x)
      : r(x.time), group(r.timeline.size() / kMaxBars + 1), labels(p), byLane(r.lanes.size()),
        barOf(r.timeline.size(), kNoBar), rowOf(r.lanes.size()), critical(r.timeline.size()) {
    for (const PathStep &s : x.path)
      critical[s.event] = true;
    for (uint32_t i = 0; i < r.timeline.size(); ++i)
      byLane[r.timeline[i].lane].push_back(i);
    for (size_t lane = 0, row = 0; lane < byLane.size(); ++lane) {
      std::vector<uint32_t> &list = byLane[lane];
      std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
        return r.timeline[a].start != r.timeline[b].start ? r.timeline[a].start < r.timeline[b].start : a < b;
      });
      for (size_t i = 0; i < list.size(); ++i)
        barOf[list[i]] = static_cast<uint32_t>(i / group);
      rowOf[lane] = row;
      row += r.lanes[lane].instructions > 0;
    }
  }
  Json lanes() {
    Json out = Json::array();
    for (size_t lane = 0; lane < byLane.size(); ++lane)
      if (r.lanes[lane].instructions)
        out.push_back(laneOf(lane));
    return out;
  }
  const TimingResult &r;
  const size_t group;
  Labels labels;
  size_t count = 0;

private:
  std::vector<std::vector<uint32_t>> byLane;
  std::vector<uint32_t> barOf; // by event
  std::vector<size_t> rowOf;   // by lane
  std::vector<bool> critical;

  Json laneOf(size_t lane) {
    const std::vector<uint32_t> &list = byLane[lane];
    Json starts = Json::array(), lengths = Json::array(), texts = Json::array(), indices = Json::array();
    Json onPath = Json::array(), afterRow = Json::array(), afterBar = Json::array();
    int64_t last = 0;
    for (size_t i = 0; i < list.size(); i += group) {
      const size_t end = std::min(i + group, list.size());
      const TimelineEvent &first = r.timeline[list[i]], &behind = r.timeline[list[end - 1]];
      const int64_t start = tenths(first.start);
      starts.push_back(start - last);
      lengths.push_back(std::max<int64_t>(tenths(behind.end) - start, 1));
      texts.push_back(labels.of(first));
      indices.push_back(first.index);
      if (std::any_of(list.begin() + static_cast<ptrdiff_t>(i), list.begin() + static_cast<ptrdiff_t>(end),
                      [&](uint32_t e) { return critical[e]; }))
        onPath.push_back(i / group);
      if (group == 1) {
        const bool known = first.after < r.timeline.size();
        afterRow.push_back(known ? static_cast<int64_t>(rowOf[r.timeline[first.after].lane]) : -1);
        afterBar.push_back(known ? static_cast<int64_t>(barOf[first.after]) : 0);
      }
      last = start;
      ++count;
    }
    const LaneUse &use = r.lanes[lane];
    return {{"name", use.name},   {"busy", use.busy},     {"count", use.instructions}, {"bytes", use.bytes},
            {"starts", starts},   {"lengths", lengths},   {"labels", texts},           {"indices", indices},
            {"critical", onPath}, {"afterRow", afterRow}, {"afterBar", afterBar}};
  }
};

Json placesJson(const std::vector<PlaceUse> &all) {
  Json out = Json::array();
  for (size_t i = 0; i < all.size() && i < kMaxRows; ++i) {
    const PlaceUse &u = all[i];
    out.push_back({u.name, u.file, u.line, u.critical, u.busy[0], u.busy[1], u.busy[2], u.busy[3], u.busy[4], u.transfers,
                   u.bytes, u.instructions});
  }
  return out;
}

Json waitsJson(const Program &p, const std::vector<WaitUse> &all) {
  Json out = Json::array();
  for (size_t i = 0; i < all.size() && i < kMaxRows; ++i) {
    const WaitUse &w = all[i];
    const InstrOrigin &o = p.origins[instr(p, w.at).origin];
    out.push_back({w.gain, w.length, w.count, describe(p, w), p.strings[o.file], o.line});
  }
  return out;
}

Json proposalsJson(const std::vector<Proposal> &all) {
  Json out = Json::array();
  for (size_t i = 0; i < all.size() && i < kMaxRows; ++i)
    out.push_back({all[i].time, all[i].about, all[i].place, all[i].text, all[i].file, all[i].line});
  return out;
}

// Of several changes that are drawn as one, the highest.
Json curve(const MemoryUse &m) {
  const std::vector<std::pair<double, int64_t>> all = bytesOverTime(m);
  const size_t step = all.size() / kMaxPoints + 1;
  Json points = Json::array();
  for (size_t i = 0; i < all.size(); i += step) {
    const size_t end = std::min(i + step, all.size());
    int64_t most = all[end - 1].second;
    for (size_t k = i; k < end && end < all.size(); ++k)
      most = std::max(most, all[k].second);
    points.push_back({tenths(all[i].first), most});
  }
  return points;
}

Json memoryJson(const std::vector<MemoryUse> &all) {
  Json out = Json::array();
  for (const MemoryUse &m : all) {
    Json peak = Json::array();
    for (size_t i = 0; i < m.inPeak.size() && i < kMaxRows; ++i)
      peak.push_back({m.inPeak[i].name, m.inPeak[i].bytes, m.inPeak[i].from, m.inPeak[i].to});
    out.push_back({{"name", format("%s of core %d", std::string(name(m.space)).c_str(), m.core)},
                   {"capacity", m.capacity},
                   {"peak", m.peak},
                   {"peakAt", m.peakAt},
                   {"inPeak", std::move(peak)},
                   {"points", curve(m)}});
  }
  return out;
}

// As shares of the rate, in thousandths.
Json linksJson(const std::vector<LinkUse> &all) {
  Json out = Json::array();
  for (const LinkUse &l : all) {
    Json points = Json::array();
    const size_t step = l.shares.size() / kMaxPoints + 1;
    for (size_t i = 0; i < l.shares.size(); i += step)
      points.push_back({tenths(l.shares[i].first), std::lround(1000 * l.shares[i].second)});
    out.push_back({{"name", l.name}, {"capacity", 1000}, {"peak", std::lround(1000 * l.most)}, {"points", std::move(points)}});
  }
  return out;
}

// The files that lines come from, as far as they can be read.
Json sourcesJson(const std::vector<PlaceUse> &lines) {
  Json out = Json::object();
  size_t all = 0;
  for (const PlaceUse &u : lines) {
    if (u.line == 0 || out.contains(u.file))
      continue;
    std::ifstream in(u.file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (text.empty() || text.size() > kMaxSource || all + text.size() > kMaxSources)
      continue;
    all += text.size();
    out[u.file] = text;
  }
  return out;
}

// What each part of the machine needs at least for what this program does.
Json boundsJson(const Program &p, const TimingResult &r) {
  const ProgramBound b = programBound(p, r);
  Json out = Json::array();
  for (const auto &[name, ns] : b.parts)
    out.push_back({name, ns});
  if (b.least > 0)
    out.push_back({"the graph: " + b.limit, b.least});
  return out;
}

// Roofs, slope and points as [name, numbers...].
Json rooflineJson(const Roofline &r) {
  Json roofs = Json::array(), points = Json::array();
  for (const Roof &x : r.roofs)
    roofs.push_back({x.name, x.perSecond});
  for (const RooflinePoint &x : r.points)
    points.push_back({x.name, x.operations, x.bytes, x.time});
  return {{"roofs", std::move(roofs)}, {"slope", r.bytesPerSecond}, {"points", std::move(points)}};
}

void fill(std::string &page, std::string_view mark, const std::string &text) {
  if (const size_t at = page.find(mark); at != std::string::npos)
    page.replace(at, mark.size(), text);
}

} // namespace

std::string profileHtml(const Program &p, const Profile &x) {
  Bars bars(p, x);
  Json lanes = bars.lanes();
  const Json data = {{"summary", profileText(p, x)},
                     {"total", x.time.total},
                     {"group", bars.group},
                     {"labels", std::move(bars.labels.all)},
                     {"lanes", std::move(lanes)},
                     {"lines", placesJson(x.lines)},
                     {"operations", placesJson(x.operations)},
                     {"waits", waitsJson(p, x.waits)},
                     {"memory", memoryJson(x.memory)},
                     {"links", linksJson(x.links)},
                     {"proposals", proposalsJson(x.proposals)},
                     {"bounds", boundsJson(p, x.time)},
                     {"roofline", rooflineJson(x.roofline)},
                     {"sources", sourcesJson(x.lines)}};
  std::map<std::string_view, std::string_view> files;
  for (const BuiltinFile &f : builtinPageFiles())
    files[f.name] = f.text;
  std::string page(files["shell"]);
  fill(page, "@STYLE@", std::string(files["style"]));
  fill(page, "@CHART@", std::string(files["chart"]));
  fill(page, "@ROOFLINE@", std::string(files["roofline"]));
  fill(page, "@PANELS@", std::string(files["panels"]));
  fill(page, "@DATA@", embed(data));
  fill(page, "@TITLE@", escape(titleOf(*p.target) + ": " + timeText(x.time.total))); // the first such mark is the page's own
  return page;
}

} // namespace glia
