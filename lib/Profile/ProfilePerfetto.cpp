// A Perfetto trace, written by hand: the format is protocol buffers, and slices, flows and counters need only these few fields of
// perfetto/trace/trace_packet.proto and its neighbours.
#include "glia/Profile/Profile.h"

#include "glia/ISA/Instruction.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>

namespace glia {

namespace {

class Message {
public:
  std::string bytes;
  void varint(int field, uint64_t v) { key(field, 0), raw(v); }
  void fixed64(int field, uint64_t v) {
    key(field, 1);
    for (int i = 0; i < 8; ++i)
      bytes.push_back(static_cast<char>(v >> (8 * i)));
  }
  void text(int field, std::string_view v) { key(field, 2), raw(v.size()), bytes.append(v); }
  void message(int field, const Message &m) { text(field, m.bytes); }

private:
  void key(int field, int wire) { raw(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire)); }
  void raw(uint64_t v) {
    for (; v >= 0x80; v >>= 7)
      bytes.push_back(static_cast<char>(v | 0x80));
    bytes.push_back(static_cast<char>(v));
  }
};

// Field numbers of the Perfetto messages used.
enum Packet { kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kSequenceFlags = 13, kTrackDescriptor = 60 };
enum Track { kTrackUuid = 1, kTrackName = 2, kTrackParent = 5, kTrackCounter = 8 };
enum Event { kAnnotation = 4, kType = 9, kNameId = 10, kEventTrack = 11, kCounterValue = 30, kFlow = 47, kFlowEnd = 48 };
enum Annotation { kAnnotationUint = 3, kAnnotationText = 6, kAnnotationName = 10 };
enum Type { kSliceBegin = 1, kSliceEnd = 2, kCounter = 4 };
enum { kEventNames = 2, kIid = 1, kIidName = 2, kStateCleared = 1, kNeedsState = 2, kCounterUnit = 3, kCounterUnitName = 6, kBytes = 3 };

constexpr uint64_t kOnlySequence = 1, kCoreTracks = 1'000'000, kCounterTracks = 2'000'000, kRankTrack = 3'000'000;

// Something that happens at a moment: a slice begins or ends, a counter changes.
struct Edge {
  double time = 0;
  Type type = kSliceBegin;
  uint32_t of = 0; // an event of the timeline, or a counter: memories, then links
  int64_t value = 0;
  // Slices of one track must not overlap: ends before beginnings.
  int rank() const { return type == kSliceEnd ? 0 : type == kSliceBegin ? 1 : 2; }
};

class Trace {
public:
  Trace(const Program &p, const Profile &x) : p(p), r(x.time), memory(x.memory), links(x.links), leads(r.timeline.size()) {
    for (uint32_t i = 0; i < r.timeline.size(); ++i)
      if (flows(i))
        leads[r.timeline[i].after] = true;
  }
  std::string write() {
    tracks();
    names();
    for (const Edge &e : edges())
      edge(e);
    return trace.bytes;
  }

private:
  const Program &p;
  const TimingResult &r;
  const std::vector<MemoryUse> &memory;
  const std::vector<LinkUse> &links;
  std::vector<bool> leads; // to something on another track, by event
  Message trace;

  void packet(Message &m) {
    m.varint(kSequence, kOnlySequence);
    trace.message(1, m);
  }
  // Whether an event started because something on another track was over.
  bool flows(uint32_t i) const {
    const TimelineEvent &e = r.timeline[i];
    return e.after < r.timeline.size() && r.timeline[e.after].lane != e.lane && visible(e) && visible(r.timeline[e.after]);
  }
  static bool visible(const TimelineEvent &e) { return e.end > e.start; } // a target may make an instruction free

  enum class Counts { Nothing, Bytes, Percent };
  void track(uint64_t id, const std::string &name, uint64_t parent, Counts counts) {
    Message d, m;
    d.varint(kTrackUuid, id);
    d.text(kTrackName, name);
    if (parent)
      d.varint(kTrackParent, parent);
    if (counts != Counts::Nothing) {
      Message c;
      counts == Counts::Bytes ? c.varint(kCounterUnit, kBytes) : c.text(kCounterUnitName, "%");
      d.message(kTrackCounter, c);
    }
    m.message(kTrackDescriptor, d);
    packet(m);
  }

  // One track per core, below it one per engine and queue that did something, and one per memory. One for what lies between ranks.
  void tracks() {
    for (uint32_t c = 0; c < p.cores; ++c)
      track(kCoreTracks + c, "core " + std::to_string(c), 0, Counts::Nothing);
    const size_t engines = p.cores * kNumEngines;
    for (size_t lane = 0; lane < r.lanes.size(); ++lane)
      if (r.lanes[lane].instructions)
        track(lane + 1, r.lanes[lane].name,
              kCoreTracks + (lane < engines ? static_cast<uint32_t>(lane / kNumEngines) : p.queues[lane - engines].core),
              Counts::Nothing);
    for (size_t i = 0; i < memory.size(); ++i)
      track(kCounterTracks + i, format("%s of core %d", std::string(name(memory[i].space)).c_str(), memory[i].core),
            kCoreTracks + static_cast<uint32_t>(memory[i].core), Counts::Bytes);
    if (!links.empty())
      track(kRankTrack, "between ranks", 0, Counts::Nothing);
    for (size_t i = 0; i < links.size(); ++i)
      track(kCounterTracks + memory.size() + i, links[i].name, kRankTrack, Counts::Percent);
  }

  void names() {
    Message names, first;
    for (size_t i = 0; i < p.opcodes.size(); ++i) {
      Message n;
      n.varint(kIid, i + 1);
      n.text(kIidName, p.opcodes[i]->name);
      names.message(kEventNames, n);
    }
    first.varint(kSequenceFlags, kStateCleared);
    first.message(kInterned, names);
    packet(first);
  }

  std::vector<Edge> edges() const {
    std::vector<Edge> all;
    all.reserve(2 * r.timeline.size());
    for (uint32_t i = 0; i < r.timeline.size(); ++i)
      if (visible(r.timeline[i])) {
        all.push_back({r.timeline[i].start, kSliceBegin, i});
        all.push_back({r.timeline[i].end, kSliceEnd, i});
      }
    for (uint32_t i = 0; i < memory.size(); ++i)
      for (const auto &[time, bytes] : bytesOverTime(memory[i]))
        all.push_back({time, kCounter, i, bytes});
    for (uint32_t i = 0; i < links.size(); ++i)
      for (const auto &[time, share] : links[i].shares)
        all.push_back({time, kCounter, static_cast<uint32_t>(memory.size()) + i, static_cast<int64_t>(100 * share + 0.5)});
    std::sort(all.begin(), all.end(), [](const Edge &a, const Edge &b) {
      return a.time != b.time ? a.time < b.time : a.rank() != b.rank() ? a.rank() < b.rank() : a.of < b.of;
    });
    return all;
  }

  static void annotate(Message &t, std::string_view name, std::string_view value) {
    if (value.empty())
      return;
    Message a;
    a.text(kAnnotationName, name);
    a.text(kAnnotationText, value);
    t.message(kAnnotation, a);
  }

  void edge(const Edge &x) {
    Message t, m;
    t.varint(kType, x.type);
    if (x.type == kCounter) {
      t.varint(kEventTrack, kCounterTracks + x.of);
      t.varint(kCounterValue, static_cast<uint64_t>(x.value));
    } else {
      t.varint(kEventTrack, r.timeline[x.of].lane + 1);
      if (x.type == kSliceBegin)
        begin(t, x.of);
    }
    m.varint(kTimestamp, static_cast<uint64_t>(x.time + 0.5));
    m.varint(kSequenceFlags, kNeedsState);
    m.message(kTrackEvent, t);
    packet(m);
  }

  void begin(Message &t, uint32_t i) {
    const TimelineEvent &e = r.timeline[i];
    const Instr &in = instr(p, instructionOf(e));
    t.varint(kNameId, in.opcode + 1u);
    Message index;
    index.text(kAnnotationName, "instruction");
    index.varint(kAnnotationUint, e.index);
    t.message(kAnnotation, index);
    const InstrOrigin &o = p.origins[in.origin];
    annotate(t, "kernel", p.strings[o.kernel]);
    annotate(t, "operation", p.strings[o.operation]);
    if (!p.strings[o.file].empty())
      annotate(t, "source", p.strings[o.file] + ":" + std::to_string(o.line));
    // An arrow has the number of the event that it begins with.
    if (leads[i])
      t.fixed64(kFlow, i + 1);
    if (flows(i))
      t.fixed64(kFlowEnd, e.after + 1);
  }
};

} // namespace

std::string profilePerfetto(const Program &p, const Profile &x) { return Trace(p, x).write(); }

} // namespace glia
