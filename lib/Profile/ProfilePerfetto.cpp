// A Perfetto trace, written by hand: the format is protocol buffers, and a trace of slices needs only these few fields of
// perfetto/trace/trace_packet.proto and its neighbours.
#include "glia/Profile/Profile.h"

#include "glia/ISA/Instruction.h"

#include <algorithm>
#include <map>

namespace glia {

namespace {

class Message {
public:
  std::string bytes;
  void varint(int field, uint64_t v) { key(field, 0), raw(v); }
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
enum Track { kTrackUuid = 1, kTrackName = 2, kTrackParent = 5 };
enum Event { kAnnotation = 4, kType = 9, kNameId = 10, kEventTrack = 11 };
enum Annotation { kAnnotationUint = 3, kAnnotationText = 6, kAnnotationName = 10 };
enum { kSliceBegin = 1, kSliceEnd = 2, kEventNames = 2, kIid = 1, kIidName = 2, kStateCleared = 1, kNeedsState = 2 };

} // namespace

std::string profilePerfetto(const Program &p, const Profile &x) {
  const TimingResult &r = x.time;
  Message trace;
  auto packet = [&](const Message &m) { trace.message(1, m); };
  const uint64_t sequence = 1;

  // One track per core, below it one per engine and queue that did something.
  for (uint32_t c = 0; c < p.cores; ++c) {
    Message d, m;
    d.varint(kTrackUuid, 1000000 + c);
    d.text(kTrackName, "core " + std::to_string(c));
    m.message(kTrackDescriptor, d);
    m.varint(kSequence, sequence);
    packet(m);
  }
  for (size_t lane = 0; lane < r.lanes.size(); ++lane) {
    if (!r.lanes[lane].instructions)
      continue;
    const size_t engines = p.cores * kNumEngines;
    const uint32_t core = lane < engines ? static_cast<uint32_t>(lane / kNumEngines) : p.queues[lane - engines].core;
    Message d, m;
    d.varint(kTrackUuid, lane + 1);
    d.text(kTrackName, r.lanes[lane].name);
    d.varint(kTrackParent, 1000000 + core);
    m.message(kTrackDescriptor, d);
    m.varint(kSequence, sequence);
    packet(m);
  }
  Message names;
  for (size_t i = 0; i < p.opcodes.size(); ++i) {
    Message n;
    n.varint(kIid, i + 1);
    n.text(kIidName, p.opcodes[i]->name);
    names.message(kEventNames, n);
  }
  Message first;
  first.varint(kSequence, sequence);
  first.varint(kSequenceFlags, kStateCleared);
  first.message(kInterned, names);
  packet(first);

  // Slices of one track must not overlap and must come in order: sort by time, ends before beginnings.
  struct Edge {
    double time;
    bool begin;
    uint32_t event;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * r.timeline.size());
  for (uint32_t i = 0; i < r.timeline.size(); ++i) {
    if (r.timeline[i].end <= r.timeline[i].start)
      continue; // a target may make an instruction free: nothing to see
    edges.push_back({r.timeline[i].start, true, i});
    edges.push_back({r.timeline[i].end, false, i});
  }
  std::sort(edges.begin(), edges.end(), [&](const Edge &a, const Edge &b) {
    return a.time != b.time ? a.time < b.time : a.begin != b.begin ? b.begin : a.event < b.event;
  });
  for (const Edge &edge : edges) {
    const TimelineEvent &e = r.timeline[edge.event];
    Message t, m;
    t.varint(kType, edge.begin ? kSliceBegin : kSliceEnd);
    t.varint(kEventTrack, e.lane + 1);
    if (edge.begin) {
      const Instr &in = p.stream(e.core, e.engine).instrs[e.index];
      t.varint(kNameId, in.opcode + 1u);
      auto annotate = [&](std::string_view name, std::string_view value) {
        if (value.empty())
          return;
        Message a;
        a.text(kAnnotationName, name);
        a.text(kAnnotationText, value);
        t.message(kAnnotation, a);
      };
      Message index;
      index.text(kAnnotationName, "instruction");
      index.varint(kAnnotationUint, e.index);
      t.message(kAnnotation, index);
      const InstrOrigin &o = p.origins[in.origin];
      annotate("kernel", p.strings[o.kernel]);
      annotate("operation", p.strings[o.operation]);
      if (!p.strings[o.file].empty())
        annotate("source", p.strings[o.file] + ":" + std::to_string(o.line));
    }
    m.varint(kTimestamp, static_cast<uint64_t>(edge.time + 0.5));
    m.varint(kSequence, sequence);
    m.varint(kSequenceFlags, kNeedsState);
    m.message(kTrackEvent, t);
    packet(m);
  }
  return trace.bytes;
}

} // namespace glia
