#include "Values.h"
#include "Conditions.h"
#include "Names.h"
#include "Slices.h"
#include "glia/Program/View.h"
#include "glia/Runtime/ElementValue.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <cmath>

namespace glia::debug {

namespace {

[[noreturn]] void bad(std::string message, std::string advice = {}) {
  throw Error("DEBUG-VALUE", std::move(message), std::move(advice));
}

} // namespace

void Values::unknown(std::string_view text) const {
  if (semaphore(text) >= 0)
    bad("`" + printable(text) + "` is a semaphore, and a tensor or tile is needed",
        "A condition may be about it: break vector#3 if " + printable(text) + " >= 16.");
  std::vector<std::string_view> known;
  for (const Tensor &t : program.tensors)
    known.push_back(t.name);
  for (const Allocation &a : program.allocations)
    known.push_back(a.name);
  for (const Semaphore &s : program.semaphores)
    known.push_back(s.name);
  bad("there is nothing called `" + printable(text) + "`",
      didYouMean(text, known, "Name a tensor, a tile, a semaphore, a register (r3, core0.vector.r3), sbuf or psum."));
}

int Values::semaphore(std::string_view text) const {
  for (size_t i = 0; i < program.semaphores.size(); ++i)
    if (text == program.semaphores[i].name ||
        text == format("core%d.", program.semaphores[i].core) + program.semaphores[i].name)
      return static_cast<int>(i);
  return -1;
}

std::optional<std::string> Values::registerText(std::string_view text, int stream, double *value) {
  const size_t dot = text.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? text : text.substr(dot + 1);
  const std::optional<uint64_t> number = last.starts_with("r") ? parseCount(last.substr(1)) : std::nullopt;
  if (!number || *number >= replay.machine().engineStates()[0].state.regs.size())
    return {};
  if (dot != std::string_view::npos) {
    const std::optional<int> named = parseStream(program, text.substr(0, dot));
    if (!named)
      return {};
    stream = *named;
  }
  const int32_t v = replay.machine().engineStates()[static_cast<size_t>(stream)].state.regs[*number];
  const bool defined = replay.machine().isDefinedRegister(stream, static_cast<int>(*number));
  if (value)
    *value = v;
  return streamName(stream) + format(".r%llu: ", (unsigned long long)*number) + (defined ? std::to_string(v) : "undefined");
}

std::optional<ObjectRef> Values::object(std::string_view name, int core) const {
  for (size_t i = 0; i < program.allocations.size(); ++i)
    if (program.allocations[i].name == name && program.allocations[i].core == core)
      return ObjectRef{ObjectKind::Allocation, static_cast<uint32_t>(i)};
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].name == name)
      return ObjectRef{ObjectKind::Tensor, static_cast<uint32_t>(i)};
  return {};
}

Elements Values::elements(std::string_view text) {
  text = trimmed(text);
  std::string_view type;
  if (const size_t as = text.find(" as "); as != std::string_view::npos) {
    type = trimmed(text.substr(as + 4));
    text = trimmed(text.substr(0, as));
  }
  const size_t bracket = std::min(text.find('['), text.size());
  std::string_view name = trimmed(text.substr(0, bracket));
  const std::string_view slices = trimmed(text.substr(bracket)), whole = name;
  int core = 0;
  if (name.starts_with("core") && name.find('.') != std::string_view::npos) {
    const std::optional<uint64_t> given = parseCount(name.substr(4, name.find('.') - 4));
    if (given && *given < program.cores) {
      core = static_cast<int>(*given);
      name.remove_prefix(name.find('.') + 1);
    }
  }
  if (name == "sbuf" || name == "psum")
    return ofMemory(name == "sbuf" ? Space::Sbuf : Space::Psum, core, slices, type);
  std::optional<ObjectRef> o = object(name, core);
  if (!o) { // of the only core that has it
    for (core = 0; core < static_cast<int>(program.cores) && !o; ++core)
      o = object(name, core);
    --core;
  }
  if (!o)
    unknown(whole);
  if (!type.empty())
    bad("`as` is for stretches of a memory: sbuf[0:4, 1024:1088] as bf16");
  return ofObject(*o, core, slices, whole);
}

Elements Values::ofObject(ObjectRef o, int core, std::string_view slices, std::string_view name) {
  const bool onChip = o.kind == ObjectKind::Allocation;
  const std::vector<int64_t> &shape = onChip ? program.allocations[o.index].shape : program.tensors[o.index].shape;
  const sim::Place &place = replay.machine().memoryNow().place(o, core);
  Elements out;
  out.object = o;
  out.dtype = onChip ? program.allocations[o.index].dtype : program.tensors[o.index].dtype;
  const std::vector<Range> ranges = rangesOf(slices, shape);
  for (const Range &r : ranges)
    if (!r.single)
      out.shape.push_back(r.count());
  out.title = std::string(name) + std::string(slices) + ": " + std::string(glia::name(out.dtype)) + shapeText(out.shape) +
              (onChip ? format(" in %s, partition %d, byte %lld", std::string(glia::name(place.space)).c_str(),
                               place.firstPartition, (long long)place.start)
                      : " in hbm");
  const int64_t size = sizeOf(out.dtype);
  forEachIndex(ranges, [&](const std::vector<int64_t> &index) {
    int64_t at = 0;
    for (size_t d = onChip ? 1 : 0; d < ranges.size(); ++d)
      at = at * shape[d] + index[d];
    const int row = onChip ? place.firstPartition + static_cast<int>(index[0]) : 0;
    const int64_t byte = place.start + at * size;
    out.list.push_back({place.base + row * place.pitch + byte, place.memory, row, byte});
  });
  return out;
}

Elements Values::ofMemory(Space s, int core, std::string_view slices, std::string_view type) {
  const std::optional<DType> t = parseDType(type.empty() ? "u8" : type);
  if (!t)
    bad("there is no element type `" + printable(type) + "`");
  const sim::Place *place = nullptr; // any allocation of that memory knows where it begins
  for (size_t i = 0; i < program.allocations.size(); ++i)
    if (program.allocations[i].space == s && program.allocations[i].core == core)
      place = &replay.machine().memoryNow().place({ObjectKind::Allocation, static_cast<uint32_t>(i)}, core);
  if (!place)
    bad(format("core %d has nothing in %s", core, std::string(glia::name(s)).c_str()));
  const sim::MemoryInfo &info = replay.machine().memoryNow().memories[static_cast<size_t>(place->memory)];
  const std::vector<Range> ranges = rangesOf(slices, {info.rows, info.bytes});
  const int64_t size = sizeOf(*t), count = (ranges[1].stop - ranges[1].start) / size;
  if (slices.empty() || count < 1)
    bad("say which partitions and bytes: sbuf[0:4, 1024:1088] as bf16");
  Elements out{std::string(glia::name(s)) + std::string(slices) + ": " + std::string(glia::name(*t)),
               *t,
               {ranges[0].count(), count},
               {},
               {}};
  for (int64_t row = ranges[0].start; row < ranges[0].stop; row += ranges[0].step)
    for (int64_t e = 0; e < count; ++e) {
      const int64_t byte = ranges[1].start + e * size;
      out.list.push_back({place->base + row * place->pitch + byte, place->memory, static_cast<int>(row), byte});
    }
  return out;
}

double Values::number(std::string_view text, int stream) {
  text = trimmed(text);
  double v = 0;
  if (const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), v);
      wrong == std::errc() && end == text.data() + text.size())
    return v;
  if (registerText(text, stream, &v))
    return v;
  if (const int s = semaphore(text); s >= 0)
    return replay.machine().semaphoreNow(s);
  const Elements e = elements(text);
  if (e.list.size() != 1)
    bad("`" + printable(text) + "` is " + std::to_string(e.list.size()) + " elements, and one is needed");
  return elementValue(e.dtype, e.list[0].at);
}

bool Values::holds(std::string_view condition, int stream) {
  return debug::holds(condition, [&](std::string_view text) { return number(text, stream); });
}

bool Values::isObject(std::string_view name) const {
  if (name.starts_with("core") && name.find('.') != std::string_view::npos)
    name.remove_prefix(name.find('.') + 1);
  for (int core = 0; core < static_cast<int>(program.cores); ++core)
    if (object(name, core))
      return true;
  return false;
}

// A name may be that of a tile and of the semaphore that says when it is there: both are shown.
std::string Values::print(std::string_view text, int stream) {
  std::string out;
  if (const std::optional<std::string> r = registerText(text, stream, nullptr))
    out = *r;
  else if (const int s = semaphore(text); s >= 0)
    out = std::string(text) + ": " + std::to_string(replay.machine().semaphoreNow(s));
  if (out.empty())
    return show(elements(text));
  return isObject(text) ? show(elements(text)) + "\n" + (semaphore(text) >= 0 ? "semaphore " : "register ") + out : out;
}

// `?` is an element that nothing has defined, `~` one that a transfer under way writes.
std::string Values::show(const Elements &e) {
  const std::vector<sim::Strict::Flight> flights = replay.machine().flights();
  const auto awaited = [&](const Element &x) {
    for (const sim::Strict::Flight &f : flights)
      for (const auto &[memory, r] : f.writes) {
        int64_t bytes = sizeOf(r.dtype);
        for (int d = 0; d < r.rank; ++d)
          bytes += std::max<int64_t>(r.strides[d], 0) * (r.counts[d] - 1);
        if (memory == x.memory && x.row >= r.firstPartition && x.row < r.firstPartition + r.partitions &&
            x.byte >= r.start && x.byte < r.start + bytes)
          return true;
      }
    return false;
  };
  return e.title + rowsText(e.shape, static_cast<int64_t>(e.list.size()), [&](int64_t i) {
           const Element &x = e.list[static_cast<size_t>(i)];
           const bool defined = replay.machine().isDefined(x.memory, x.row, x.byte, sizeOf(e.dtype));
           return (awaited(x) ? "~" : "") + (defined ? elementText(e.dtype, x.at) : std::string("?"));
         });
}

} // namespace glia::debug
