#include "Marks.h"
#include "Names.h"
#include "glia/Support/Text.h"

#include <algorithm>
#include <charconv>

namespace glia::debug {

bool overlaps(const std::vector<Element> &list, int64_t size, const Touched &t) {
  return std::any_of(list.begin(), list.end(), [&](const Element &e) {
    return e.memory == t.memory && e.row == t.row && e.byte < t.byte + t.bytes && t.byte < e.byte + size;
  });
}

namespace {

// "3.2us" in ns.
double timeOf(std::string_view text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
  double v = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), v);
  const std::string_view unit = trimmed(std::string_view(end, text.data() + text.size()));
  for (const auto &[name, scale] : kUnits)
    if (wrong == std::errc() && unit == name && v > 0)
      return v * scale;
  throw Error("DEBUG-COMMAND", "`" + printable(text) + "` is no time", "Say break time 3.2us (ns, us, ms).");
}

} // namespace

// ---- making them -----------------------------------------------------------------------------------------------------------

std::string Marks::add(Mark m) {
  m.number = ++numbers;
  m.text = format("%d: ", m.number) + m.text + (m.condition.empty() ? "" : " if " + m.condition) + (m.once ? " (once)" : "");
  marks.push_back(std::move(m));
  chooseRecording();
  return marks.back().text;
}

void Marks::chooseRecording() {
  replay.record(std::any_of(marks.begin(), marks.end(), [](const Mark &m) { return m.look || !m.written.empty(); }));
}

template <class Matches> bool Marks::match(Mark &m, Matches &&matches) const {
  const Program &p = replay.prog();
  m.at.resize(p.cores * kNumEngines);
  size_t found = 0;
  for (int stream = 0; stream < static_cast<int>(m.at.size()); ++stream) {
    const auto &instrs = p.stream(stream / kNumEngines, static_cast<Engine>(stream % kNumEngines)).instrs;
    m.at[stream].resize(instrs.size());
    for (uint32_t i = 0; i < instrs.size(); ++i)
      if (matches(stream, i, instrs[i]))
        m.at[stream][i] = true, ++found;
  }
  m.text += format(" (%zu instruction%s)", found, found == 1 ? "" : "s");
  return found;
}

Mark Marks::instructions(std::string_view where) {
  const Program &p = replay.prog();
  Mark m;
  m.text = std::string(where);
  if (const std::optional<sim::InstrId> id = parseInstr(p, where)) {
    m.text = instrName(*id);
    match(m, [&](int stream, uint32_t i, const Instr &) { return stream == streamOf(*id) && i == id->index; });
    return m;
  }
  const size_t colon = where.rfind(':');
  const std::string_view file = colon == std::string_view::npos ? "" : where.substr(0, colon);
  if (const std::optional<uint64_t> line = parseCount(where.substr(colon + 1))) {
    const bool any = match(m, [&](int, uint32_t, const Instr &in) {
      const InstrOrigin &o = p.origins[in.origin];
      const std::string &name = p.strings[o.file];
      return o.file && o.line == *line && (file.empty() || name == file || name.ends_with("/" + std::string(file)));
    });
    if (!any)
      throw Error("DEBUG-PLACE", "no instruction comes from line " + printable(where),
                  "`list` shows instructions with the lines they come from.");
    return m;
  }
  if (match(m, [&](int, uint32_t, const Instr &in) { return p.opcodes[in.opcode]->name == where; }))
    return m;
  m.at.clear();
  return m;
}

std::string Marks::addBreak(std::string_view text, bool once) {
  std::string_view where = trimmed(text), condition;
  if (const size_t at = where.find(" if "); at != std::string_view::npos) {
    condition = trimmed(where.substr(at + 4));
    where = trimmed(where.substr(0, at));
  }
  if (where.empty())
    throw Error("DEBUG-COMMAND", "break where?",
                "Say break 24, break k.py:24, break vector#12, break acc, break step 500, break time 3us.");
  if (!condition.empty())
    values.holds(condition, 0); // says what is wrong with it
  Mark m;
  std::string_view rest = where;
  if (word(rest) == "step") {
    const std::optional<uint64_t> step = parseCount(rest);
    if (!step || !*step)
      throw Error("DEBUG-COMMAND", "break step takes a number of steps");
    m.step = *step;
    m.text = std::string(where);
  } else if (rest = where; word(rest) == "time") {
    m.time = timeOf(rest);
    m.text = std::string(where);
  } else {
    m = instructions(where);
    if (m.at.empty()) {
      const Elements e = values.elements(where);
      m.written = e.list;
      m.size = sizeOf(e.dtype);
      m.text = "writes of " + std::string(where);
    }
  }
  m.once = once;
  m.condition = std::string(condition);
  return "breakpoint " + add(std::move(m));
}

std::string Marks::addWatch(std::string_view text) {
  std::string_view rest = text;
  const std::string_view what = word(rest);
  Mark m;
  m.text = std::string(text);
  m.look = lookOf(text, [&](std::string_view number) { return values.number(number, 0); });
  if (what == "write" && !rest.empty()) {
    const Elements e = values.elements(rest);
    m.written = e.list;
    m.size = sizeOf(e.dtype);
  }
  if (!m.look && m.written.empty())
    throw Error("DEBUG-COMMAND", "watch what?", "Say watch nan, inf, denormal, saturation, range LOW HIGH, or write X.");
  return "watch " + add(std::move(m));
}

void Marks::remove(std::string_view number) {
  if (number.empty()) {
    marks.clear();
  } else {
    const std::optional<uint64_t> n = parseCount(number);
    if (!n || !std::erase_if(marks, [&](const Mark &m) { return static_cast<uint64_t>(m.number) == *n; }))
      throw Error("DEBUG-PLACE", "there is no breakpoint " + printable(number), "`info breakpoints` lists them.");
  }
  chooseRecording();
}

std::string Marks::list() const {
  std::string out;
  for (const Mark &m : marks)
    out += (out.empty() ? "" : "\n") + m.text;
  return out.empty() ? "no breakpoints" : out;
}

// ---- stopping --------------------------------------------------------------------------------------------------------------

bool Marks::accept(const Mark &m, int stream) { return m.condition.empty() || values.holds(m.condition, stream); }

std::string Marks::arrived(int stream, int &about) {
  const sim::StreamState &s = replay.machine().engineStates()[static_cast<size_t>(stream)];
  for (const Mark &m : marks)
    if (!s.ended() && !m.at.empty() && m.at[static_cast<size_t>(stream)][s.pc] && accept(m, stream)) {
      about = stream;
      const std::string text = format("breakpoint %d", m.number);
      if (m.once)
        remove(std::to_string(m.number));
      return text;
    }
  return {};
}

std::string Marks::atStart(int &stream) {
  for (int s = 0; s < static_cast<int>(replay.machine().engineStates().size()); ++s)
    if (std::string text = arrived(s, stream); !text.empty())
      return text;
  return {};
}

std::optional<double> Marks::nextTime() const {
  std::optional<double> out;
  for (const Mark &m : marks)
    if (m.time > 0 && !m.passed && (!out || m.time < *out))
      out = m.time;
  return out;
}

std::string Marks::atTime() {
  const std::optional<double> now = nextTime();
  for (Mark &m : marks)
    if (now && m.time == *now && !m.passed) {
      m.passed = true;
      return format("breakpoint %d: %g us of the predicted run", m.number, *now / 1000);
    }
  return {};
}

void Marks::goneBack() {
  for (Mark &m : marks)
    m.passed = false;
}

std::string Marks::reason(int &stream) {
  if (marks.empty())
    return {};
  const sim::Strict::Taken &t = replay.machine().taken();
  if (t.kind == sim::Strict::Taken::Instruction) {
    if (std::string text = arrived(static_cast<int>(t.who.who), stream); !text.empty())
      return text;
    const Program &p = replay.prog();
    if (p.opcodes[p.stream(t.id.core, t.id.engine).instrs[t.id.index].opcode]->unit ==
        Unit::Barrier) // the other one leaves, too
      if (std::string text = atStart(stream); !text.empty())
        return text;
  }
  for (const Mark &m : marks)
    if (m.step && m.step == replay.steps() && accept(m, stream)) {
      const std::string text = format("breakpoint %d", m.number);
      if (m.once)
        remove(std::to_string(m.number));
      return text;
    }
  return replay.touched().empty() ? std::string() : touched(stream);
}

std::string Marks::touched(int &about) {
  for (const Touched &t : replay.touched())
    for (const Mark &m : marks) {
      if (!t.write || (!m.look && m.written.empty()))
        continue;
      std::string text = m.look ? found(m, t)
                         : overlaps(m.written, m.size, t)
                             ? "`" + replay.prog().objectName(t.object) + "` is written by " + instrText(replay.prog(), t.by)
                             : "";
      if (text.empty() || !accept(m, streamOf(t.by)))
        continue;
      about = streamOf(t.by);
      text = format("%s %d: ", m.look ? "watch" : "breakpoint", m.number) + text;
      if (m.once)
        remove(std::to_string(m.number));
      return text;
    }
  return {};
}

// What a watch is about among elements that were written; empty: nothing.
std::string Marks::found(const Mark &m, const Touched &t) const {
  const sim::Place &place = replay.machine().memoryNow().place(t.object, t.by.core);
  const int64_t size = sizeOf(t.dtype);
  const ElementLimits limits = limitsOf(t.dtype);
  const std::byte *at = place.base + t.row * place.pitch + t.byte;
  for (int64_t i = 0; i + size <= t.bytes; i += size) {
    const double v = elementValue(t.dtype, at + i);
    if (m.look.finds(v, limits))
      return format("%s in `%s`, partition %d, byte %lld: ", elementText(t.dtype, at + i).c_str(),
                    replay.prog().objectName(t.object).c_str(), t.row - place.firstPartition,
                    (long long)(t.byte + i - place.start)) +
             instrText(replay.prog(), t.by);
  }
  return {};
}

} // namespace glia::debug
