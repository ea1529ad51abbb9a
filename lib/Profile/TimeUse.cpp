#include "glia/Profile/TimeUse.h"

#include "glia/ISA/Instruction.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

namespace glia {

std::vector<PathStep> criticalPath(const TimingResult &r) {
  std::vector<PathStep> path;
  double next = r.total;
  for (uint32_t i = r.last; i < r.timeline.size(); i = r.timeline[i].after) {
    const TimelineEvent &e = r.timeline[i];
    const double end = std::clamp(e.end, e.start, std::max(next, e.start));
    path.push_back({i, end - e.start, std::max(next - end, 0.0)});
    next = e.start;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

// Files below the current folder are called as one would call them there.
static std::string fileLine(const std::string &file, uint32_t line) {
  std::error_code none;
  const std::string here = std::filesystem::current_path(none).string() + "/";
  const std::string shown = file.starts_with(here) ? file.substr(here.size()) : file;
  return line ? format("%s:%u", shown.c_str(), line) : shown;
}

std::string placeOf(const Program &p, const InstrPlace &x) {
  const Instr &in = instr(p, x);
  const InstrOrigin &o = p.origins[in.origin];
  if (const std::string &file = p.strings[o.file]; !file.empty())
    return fileLine(file, o.line);
  for (const uint32_t s : {o.operation, o.kernel})
    if (!p.strings[s].empty())
      return p.strings[s];
  return format("core %d %s #%u %s", x.core, std::string(name(x.engine)).c_str(), x.index,
                std::string(p.opcodes[in.opcode]->name).c_str());
}

std::string sourceLine(const std::string &file, uint32_t line) {
  std::ifstream in(file);
  std::string text;
  for (uint32_t i = 0; i < line; ++i)
    if (!std::getline(in, text))
      return "";
  std::string out;
  for (const char c : line ? text : std::string()) // columns of an assembly file are no columns here
    if (c != ' ' && c != '\t' && c != '\r')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  if (out.ends_with(' '))
    out.pop_back();
  return out;
}

namespace {

// The operation of a kernel is what its author wrote there; that of a graph has a name.
std::string statementOf(const std::string &operation) {
  return operation.starts_with("jit(") || operation.find('(') == std::string::npos ? "" : operation;
}

// Places by number: origins that differ only in what the grouping does not ask for are one.
class Places {
public:
  Places(const Program &p, Grouping by) : p(p), by(by), ofOrigin(p.origins.size(), kNone) {}
  PlaceUse &at(const InstrPlace &x) {
    const uint32_t origin = instr(p, x).origin;
    if (ofOrigin[origin] == kNone)
      ofOrigin[origin] = find(p.origins[origin]);
    return uses[ofOrigin[origin]];
  }
  std::vector<PlaceUse> uses;

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  const Program &p;
  Grouping by;
  std::vector<uint32_t> ofOrigin;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;

  uint32_t find(const InstrOrigin &o) {
    const uint32_t text = by == Grouping::Line ? o.file : by == Grouping::Operation ? o.operation : o.kernel;
    const uint32_t line = by == Grouping::Line ? o.line : 0;
    const auto [it, fresh] = known.try_emplace({text, line}, static_cast<uint32_t>(uses.size()));
    if (fresh) {
      PlaceUse &u = uses.emplace_back();
      u.name = line ? fileLine(p.strings[text], line) : p.strings[text];
      if (by == Grouping::Line)
        u.file = p.strings[text], u.line = line, u.text = statementOf(p.strings[o.operation]);
    }
    return it->second;
  }
};

} // namespace

std::vector<PlaceUse> timeUse(const Program &p, const TimingResult &r, const std::vector<PathStep> &path, Grouping by) {
  Places places(p, by);
  const uint32_t engines = p.cores * kNumEngines;
  for (const TimelineEvent &e : r.timeline) {
    PlaceUse &u = places.at(instructionOf(e));
    if (e.lane < engines) {
      u.busy[static_cast<size_t>(e.engine)] += e.end - e.start;
      ++u.instructions;
    } else {
      u.transfers += e.end - e.start;
      u.bytes += e.bytes;
    }
  }
  for (const PathStep &s : path)
    places.at(instructionOf(r.timeline[s.event])).critical += s.work + s.latency;
  std::sort(places.uses.begin(), places.uses.end(), [](const PlaceUse &a, const PlaceUse &b) {
    return a.critical != b.critical ? a.critical > b.critical
                                    : std::tie(a.file, a.line, a.name) < std::tie(b.file, b.line, b.name);
  });
  return std::move(places.uses);
}

} // namespace glia
