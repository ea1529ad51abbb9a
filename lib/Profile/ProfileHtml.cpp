// The timeline page: the template is lib/Profile/page/profile.html; this file adds the data.
#include "glia/Profile/Profile.h"

#include "glia/ISA/Instruction.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Title.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace glia {

namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMaxBars = 400000; // beyond this, neighbours of a lane are drawn as one bar

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

struct Bars { // one lane: times in tenths of a nanosecond, starts as differences
  Json starts = Json::array(), lengths = Json::array(), labels = Json::array(), indices = Json::array();
  int64_t last = 0;
};

} // namespace

std::string profileHtml(const Program &p, const Profile &x) {
  const TimingResult &r = x.time;
  const size_t group = r.timeline.size() / kMaxBars + 1;
  std::vector<std::vector<uint32_t>> byLane(r.lanes.size());
  for (uint32_t i = 0; i < r.timeline.size(); ++i)
    byLane[r.timeline[i].lane].push_back(i);

  Json lanes = Json::array(), labels = Json::array();
  std::map<std::pair<uint16_t, uint32_t>, size_t> known;
  auto label = [&](const TimelineEvent &e) {
    const Instr &in = p.stream(e.core, e.engine).instrs[e.index];
    auto [it, fresh] = known.try_emplace({in.opcode, in.origin}, labels.size());
    if (fresh) {
      const InstrOrigin &o = p.origins[in.origin];
      labels.push_back({p.opcodes[in.opcode]->name, p.strings[o.kernel], p.strings[o.operation], p.strings[o.file], o.line});
    }
    return it->second;
  };
  size_t events = 0;
  for (size_t lane = 0; lane < byLane.size(); ++lane) {
    if (!r.lanes[lane].instructions)
      continue;
    std::vector<uint32_t> &list = byLane[lane];
    std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return r.timeline[a].start != r.timeline[b].start ? r.timeline[a].start < r.timeline[b].start : a < b;
    });
    Bars b;
    for (size_t i = 0; i < list.size(); i += group) {
      const TimelineEvent &first = r.timeline[list[i]], &last = r.timeline[list[std::min(i + group, list.size()) - 1]];
      const int64_t start = static_cast<int64_t>(first.start * 10 + 0.5), end = static_cast<int64_t>(last.end * 10 + 0.5);
      b.starts.push_back(start - b.last);
      b.lengths.push_back(std::max<int64_t>(end - start, 1));
      b.labels.push_back(label(first));
      b.indices.push_back(first.index);
      b.last = start;
      ++events;
    }
    lanes.push_back({{"name", r.lanes[lane].name},
                     {"busy", r.lanes[lane].busy},
                     {"count", r.lanes[lane].instructions},
                     {"starts", std::move(b.starts)},
                     {"lengths", std::move(b.lengths)},
                     {"labels", std::move(b.labels)},
                     {"indices", std::move(b.indices)}});
  }
  const Json data = {{"total", r.total}, {"group", group}, {"labels", std::move(labels)}, {"lanes", std::move(lanes)}};

  std::string page;
  for (const BuiltinFile &f : builtinPageFiles())
    if (f.name == "profile")
      page = f.text;
  auto fill = [&page](std::string_view mark, const std::string &text) {
    if (const size_t at = page.find(mark); at != std::string::npos)
      page.replace(at, mark.size(), text);
  };
  fill("@TITLE@", escape(titleOf(*p.target) + ": " + std::to_string(events) + " bars"));
  fill("@SUMMARY@", escape(profileText(p, x)));
  fill("@DATA@", embed(data));
  return page;
}

} // namespace glia
