#include "Names.h"
#include "glia/Program/Assembler.h"

#include <charconv>

namespace glia::debug {

std::string streamName(int stream) {
  return format("core%d.%s", stream / kNumEngines, std::string(name(static_cast<Engine>(stream % kNumEngines))).c_str());
}

std::string instrName(sim::InstrId id) { return streamName(streamOf(id)) + format("#%u", id.index); }

std::string placeOf(const Program &p, uint32_t origin) {
  const InstrOrigin &o = p.origins[origin];
  if (!o.file)
    return {};
  const std::string &file = p.strings[o.file];
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(o.line);
}

std::string instrText(const Program &p, sim::InstrId id) {
  const std::string place = placeOf(p, p.stream(id.core, id.engine).instrs[id.index].origin);
  std::string text = disassemble(p, id.core, id.engine, id.index);
  text.erase(0, text.find(' ') + 1); // the engine, which is named before it
  return instrName(id) + "  " + text + (place.empty() ? "" : "  (" + place + ")");
}

std::optional<int> parseStream(const Program &p, std::string_view text) {
  for (int stream = 0; stream < static_cast<int>(p.cores) * kNumEngines; ++stream)
    if (text == streamName(stream) || (stream < kNumEngines && text == name(static_cast<Engine>(stream))))
      return stream;
  return {};
}

std::optional<sim::InstrId> parseInstr(const Program &p, std::string_view text) {
  const size_t at = text.find('#');
  if (at == std::string_view::npos)
    return {};
  const std::optional<int> stream = parseStream(p, text.substr(0, at));
  const std::optional<uint64_t> index = parseCount(text.substr(at + 1));
  if (!stream || !index)
    return {};
  const int core = *stream / kNumEngines;
  const Engine e = static_cast<Engine>(*stream % kNumEngines);
  if (*index >= p.stream(core, e).instrs.size())
    throw Error("DEBUG-PLACE",
                format("%s has %zu instructions", streamName(*stream).c_str(), p.stream(core, e).instrs.size()),
                "They are counted from 0.");
  return sim::InstrId{static_cast<uint8_t>(core), e, static_cast<uint32_t>(*index)};
}

std::optional<uint64_t> parseCount(std::string_view text) {
  uint64_t n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || wrong != std::errc() || end != text.data() + text.size())
    return {};
  return n;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::string_view word(std::string_view &text) {
  text = trimmed(text);
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view out = text.substr(0, end);
  text = trimmed(text.substr(end));
  return out;
}

} // namespace glia::debug
