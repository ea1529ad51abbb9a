#include "glia/Profile/Proposals.h"
#include "Touched.h"

#include "glia/ISA/Collective.h"
#include "glia/ISA/Runs.h"
#include "glia/Profile/ProgramBound.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

namespace glia {

namespace {

constexpr double kWorthwhile = 0.01; // of the total: less is not mentioned
constexpr double kLoadedAgain = 1.5; // a tensor of which so many times its size is read
constexpr double kSmall = 32 * 1024; // bytes: a transfer takes longer to start than to move them
constexpr uint64_t kManyTransfers = 8;
const char *const kRun = "the run", *const kTransfers = "transfers"; // what a proposal may be about, besides engines

// One instruction of the program as this file looks at it.
struct Node {
  InstrPlace at;
  const InstrDef *def = nullptr;
  double busy = 0, transfer = 0; // ns in the whole run
  int64_t bytes = 0;             // moved
  uint64_t count = 0;            // times it was executed
  double first = 0, last = 0;    // ns: start of the first time, end of the last
  double critical = 0;           // ns of the critical path, with what follows it
};

// Who writes and who reads a tile.
struct Users {
  size_t writers = 0, readers = 0;
  uint32_t writer = 0;                                   // one of them
  size_t byActivation = 0, byMatmul = 0, byAddition = 0; // of the writers
  size_t activations = 0, maxima = 0;                    // of the readers: as their data
  double lastWrite = 0;                                  // ns
};

// How often a tensor is read, and how long that takes.
struct Reads {
  int64_t bytes = 0;
  double transfer = 0; // ns
  uint32_t first = 0;  // by whom
};

class Finder {
public:
  Finder(const Program &p, const TimingResult &r, const std::vector<PathStep> &path)
      : p(p), r(r), users(p.allocations.size()), reads(p.tensors.size()) {
    count(path);
    for (uint32_t i = 0; i < nodes.size(); ++i)
      note(i);
  }
  std::vector<Proposal> find(const std::vector<WaitUse> &waits) {
    for (uint32_t i = 0; i < nodes.size(); ++i)
      fourPasses(i);
    if (!ofGraph()) { // what is the author's to choose
      for (uint32_t i = 0; i < nodes.size(); ++i) {
        intoActivation(i);
        sumOfActivation(i);
        sumInPsum(i);
      }
      madeAgain();
      loadedAgain();
      smallTransfers();
      shortRuns();
    }
    std::vector<Proposal> out;
    for (auto &[key, x] : found)
      if (x.time >= kWorthwhile * r.total)
        out.push_back(std::move(x));
    for (const WaitUse &w : waits)
      if (w.kind == WaitKind::Reuse && w.gain >= kWorthwhile * r.total)
        out.push_back(proposal(w.at, format("%d places for `%s`: it is waited for", std::max(w.copies, 2), w.tile.c_str()),
                               kRun, w.gain));
    const std::string first = busiest();
    std::sort(out.begin(), out.end(), [&](const Proposal &a, const Proposal &b) {
      const bool x = a.about == first || a.about == kRun, y = b.about == first || b.about == kRun;
      return std::tie(y, b.time, a.place, a.text) < std::tie(x, a.time, b.place, b.text);
    });
    return out;
  }

private:
  const Program &p;
  const TimingResult &r;
  std::vector<Node> nodes;
  std::vector<Users> users;                                   // by allocation
  std::vector<Reads> reads;                                   // by tensor
  std::map<std::pair<uint32_t, std::string>, Proposal> found; // by origin and text
  Decoded d;

  void count(const std::vector<PathStep> &path) {
    std::map<InstrPlace, uint32_t> known;
    const uint32_t engines = p.cores * kNumEngines;
    for (const TimelineEvent &e : r.timeline) {
      const auto [it, fresh] = known.try_emplace(instructionOf(e), static_cast<uint32_t>(nodes.size()));
      if (fresh) {
        nodes.push_back({it->first});
        nodes.back().def = p.opcodes[instr(p, it->first).opcode];
        nodes.back().first = e.start;
      }
      Node &n = nodes[it->second];
      n.last = std::max(n.last, e.end);
      if (e.lane < engines) {
        n.busy += e.end - e.start;
        ++n.count;
      } else {
        n.transfer += e.end - e.start;
        n.bytes += e.bytes;
      }
    }
    for (const PathStep &step : path)
      nodes[known.at(instructionOf(r.timeline[step.event]))].critical += step.work + step.latency;
  }

  bool ofGraph() const {
    return std::any_of(p.contract.begin(), p.contract.end(), [](const ContractItem &c) { return c.key == kLeastTime; });
  }

  // The engine that is at work longest, if there is one that the run waits for most of its time; else transfers.
  std::string busiest() const {
    const auto most = std::max_element(r.lanes.begin(), r.lanes.begin() + p.cores * kNumEngines,
                                       [](const LaneUse &a, const LaneUse &b) { return a.busy < b.busy; });
    return most->busy > r.total / 2 ? std::string(name(static_cast<Engine>((most - r.lanes.begin()) % kNumEngines)))
                                    : kTransfers;
  }

  const Decoded &decoded(uint32_t i) {
    decode(p, nodes[i].at.core, nodes[i].at.engine, nodes[i].at.index, d);
    return d;
  }

  void note(uint32_t i) {
    const bool activation = is(i, "activation"), addition = adds(i), maximum = takesMaximum(i);
    const bool product = is(i, "nc_matmul") && !transposes(i);
    const int data = activation || maximum ? tile(i, "data") : -1;
    for (const Touched &t : touched(decoded(i))) {
      if (t.object.kind == ObjectKind::Tensor) {
        if (!t.written && nodes[i].bytes && !isCollective(*d.def))
          noteRead(reads[t.object.index], i);
        continue;
      }
      Users &u = users[t.object.index];
      if (t.written) {
        ++u.writers;
        u.writer = i;
        u.byActivation += activation;
        u.byMatmul += product;
        u.byAddition += addition;
        u.lastWrite = std::max(u.lastWrite, nodes[i].last);
      }
      if (t.read) {
        ++u.readers;
        u.activations += activation && data == static_cast<int>(t.object.index);
        u.maxima += maximum;
      }
    }
  }
  void noteRead(Reads &x, uint32_t i) {
    if (!x.bytes)
      x.first = i;
    x.bytes += nodes[i].bytes;
    x.transfer += nodes[i].transfer;
  }

  Proposal proposal(const InstrPlace &at, std::string text, std::string about, double time) const {
    const InstrOrigin &o = p.origins[instr(p, at).origin];
    return {placeOf(p, at), p.strings[o.file], o.line, std::move(text), std::move(about), time};
  }
  void propose(const InstrPlace &at, const std::string &text, const std::string &about, double time) {
    const auto [it, fresh] = found.try_emplace({instr(p, at).origin, text});
    if (fresh)
      it->second = proposal(at, text, about, 0);
    it->second.time += time;
  }

  bool is(uint32_t i, std::string_view name) const { return nodes[i].def->name == name; }
  std::string choice(uint32_t i, std::string_view slot) {
    const int s = decoded(i).def->slot(slot);
    return std::string(
        d.def->slots[static_cast<size_t>(s)].names->names[static_cast<size_t>(d.values[static_cast<size_t>(s)].integer)]);
  }
  // The tile in a slot; -1: none.
  int tile(uint32_t i, std::string_view slot) {
    const int s = decoded(i).def->slot(slot);
    if (s < 0 || d.values[static_cast<size_t>(s)].kind != Value::Tensor)
      return -1;
    const ObjectRef o = d.values[static_cast<size_t>(s)].access.object;
    return o.kind == ObjectKind::Allocation ? static_cast<int>(o.index) : -1;
  }
  std::string engine(uint32_t i) const { return std::string(name(nodes[i].at.engine)); }

  // A product or a sum that only activations read, or a product of which the largest element is looked for as well.
  void intoActivation(uint32_t i) {
    if (!is(i, "tensor_scalar") || choice(i, "op1") != "bypass")
      return;
    const std::string op = choice(i, "op0");
    const int out = tile(i, "dst");
    if (out < 0 || (op != "multiply" && op != "add" && op != "subtract"))
      return;
    const Users &u = users[static_cast<size_t>(out)];
    const size_t maxima = op == "multiply" ? u.maxima : 0;
    if (!u.activations || u.activations + maxima != u.readers)
      return;
    std::string text = format("activation does this %s itself, by its %s", op.c_str(), op == "multiply" ? "scale" : "bias");
    if (maxima)
      text += "; the maximum of what is not yet scaled can be scaled afterwards";
    propose(nodes[i].at, text, engine(i), nodes[i].busy);
  }

  // The sum of what an activation has just made.
  void sumOfActivation(uint32_t i) {
    if (!is(i, "tensor_reduce") || choice(i, "op") != "add")
      return;
    const int from = tile(i, "data");
    if (from < 0 || !onlyBy(from, &Users::byActivation))
      return;
    propose(nodes[i].at, "activation sums up what it writes, by its reduce_res", engine(i), nodes[i].busy);
  }

  // A product that goes out of PSUM only to be added to a sum of others.
  void sumInPsum(uint32_t i) {
    if (!adds(i))
      return;
    const int a = tile(i, "a"), b = tile(i, "b");
    for (const auto &[product, sum] : {std::pair(a, b), std::pair(b, a)}) {
      if (product < 0 || sum < 0 || !onlyBy(sum, &Users::byAddition))
        continue;
      double busy = nodes[i].busy;
      int from = product;
      if (const Users &u = users[static_cast<size_t>(from)]; u.writers == 1 && is(u.writer, "tensor_copy")) {
        busy += nodes[u.writer].busy; // by way of SBUF
        from = tile(u.writer, "src");
      }
      if (from < 0 || p.allocations[static_cast<size_t>(from)].space != Space::Psum || !onlyBy(from, &Users::byMatmul))
        continue;
      return propose(nodes[i].at, "products that are added up can stay in one tile of PSUM (nc_matmul with accumulate)",
                     engine(i), busy);
    }
  }
  bool adds(uint32_t i) { return is(i, "tensor_tensor") && choice(i, "op") == "add"; }
  bool takesMaximum(uint32_t i) { return is(i, "tensor_reduce") && choice(i, "op") == "max"; }
  // Whether a tile is written, and only by such.
  bool onlyBy(int tile, size_t Users::*such) const {
    const Users &u = users[static_cast<size_t>(tile)];
    return u.writers && u.*such == u.writers;
  }
  bool transposes(uint32_t i) { return decoded(i).values[static_cast<size_t>(d.def->slot("transpose"))].integer != 0; }

  void fourPasses(uint32_t i) {
    if (!is(i, "nc_matmul") || transposes(i))
      return;
    for (const char *slot : {"stationary", "moving"})
      if (p.patterns[d.values[static_cast<size_t>(d.def->slot(slot))].access.pattern].dtype != DType::F32)
        return;
    propose(nodes[i].at, "fp32 takes four passes of the Tensor engine: bf16 takes one, if that is exact enough", engine(i),
            0.75 * nodes[i].busy);
  }

  // Instructions of one line that make the same from the same tiles, which nothing changes in between.
  void madeAgain() {
    using Key = std::tuple<uint32_t, const InstrDef *, std::vector<std::array<int64_t, 5>>>; // origin, instruction, operands
    std::map<Key, std::pair<InstrPlace, std::vector<double>>> same;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      decoded(i);
      std::vector<std::array<int64_t, 5>> operands;
      bool known = d.def->unit == Unit::Compute;
      for (size_t s = 0; s < d.values.size() && known; ++s) {
        const Value &v = d.values[s];
        const SlotKind kind = d.def->slots[s].kind;
        if (kind == SlotKind::Out || kind == SlotKind::OptOut)
          continue;
        if (v.kind == Value::Tensor) {
          const ObjectRef o = v.access.object;
          known = o.kind == ObjectKind::Allocation && !isWritten(kind) && !p.patterns[v.access.pattern].numDynamic &&
                  users[o.index].lastWrite <= nodes[i].first;
          operands.push_back({o.index, v.access.pattern, v.access.byteOffset, v.access.partition, v.kind});
        } else {
          operands.push_back({v.integer, std::bit_cast<int32_t>(v.number), 0, 0, v.kind});
        }
      }
      if (known && std::any_of(operands.begin(), operands.end(), [](const auto &o) { return o[4] == Value::Tensor; })) {
        auto &[at, busy] = same[{instr(p, nodes[i].at).origin, d.def, std::move(operands)}];
        at = nodes[i].at;
        busy.push_back(nodes[i].busy);
      }
    }
    std::map<uint32_t, std::tuple<InstrPlace, double, size_t>>
        lines; // by origin: where, what all but the first took, how often at most
    for (const auto &[key, x] : same)
      if (const auto &[at, busy] = x; busy.size() > 1) {
        auto &[first, time, times] = lines[std::get<0>(key)];
        first = at;
        time += std::accumulate(busy.begin() + 1, busy.end(), 0.0);
        times = std::max(times, busy.size());
      }
    for (const auto &[origin, x] : lines) {
      const auto &[at, time, times] = x;
      propose(at, format("this makes the same from the same tiles, %zu times: make it once, before the loop", times),
              std::string(name(at.engine)), time);
    }
  }

  void loadedAgain() {
    for (size_t t = 0; t < reads.size(); ++t) {
      const double times =
          static_cast<double>(reads[t].bytes) / static_cast<double>(std::max<int64_t>(p.tensors[t].bytes(), 1));
      if (times >= kLoadedAgain && p.tensors[t].kind != TensorKind::Scratch)
        propose(nodes[reads[t].first].at,
                format("`%s` is read %.1f times: keep it in SBUF, or let more work follow each load",
                       p.tensors[t].name.c_str(), times),
                kTransfers, reads[t].transfer * (1 - 1 / times));
    }
  }

  void smallTransfers() {
    struct Sum {
      InstrPlace at;
      uint64_t count = 0;
      int64_t bytes = 0;
      double critical = 0; // ns
    };
    std::map<uint32_t, Sum> lines; // by origin
    for (const Node &n : nodes)
      if (n.bytes) {
        Sum &s = lines[instr(p, n.at).origin];
        s.at = n.at;
        s.count += n.count;
        s.bytes += n.bytes;
        s.critical += n.critical;
      }
    for (const auto &[origin, s] : lines)
      if (const double each = static_cast<double>(s.bytes) / static_cast<double>(s.count);
          s.count >= kManyTransfers && each < kSmall)
        propose(s.at,
                format("%llu transfers of %.0f bytes: fewer and larger ones move as much in less time",
                       (unsigned long long)s.count, each),
                kRun, s.critical);
  }

  // The tensor in HBM whose bytes a copy takes in the shortest runs, and how long those are.
  std::pair<uint32_t, int64_t> shortest(uint32_t i) {
    std::pair<uint32_t, int64_t> out = {0, INT64_MAX};
    const Decoded &d = decoded(i);
    for (const Value &v : d.values)
      if (v.kind == Value::Tensor && v.access.object.kind == ObjectKind::Tensor)
        if (const int64_t run = runBytes(p.patterns[v.access.pattern]); run < out.second)
          out = {v.access.object.index, run};
    return out;
  }

  void shortRuns() {
    const double worth = p.target->number("dma.descriptor_floor") * p.target->number("dma.bytes_per_ns");
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].bytes && nodes[i].def->name == "dma_copy")
        if (const auto [tensor, run] = shortest(i); static_cast<double>(run) < worth / 2)
          propose(
              nodes[i].at,
              format("`%s` is taken in runs of %lld bytes, a descriptor for each: move it as it lies, in runs of %.0f or "
                     "more, and turn it on chip or with dma_transpose",
                     p.tensors[tensor].name.c_str(), (long long)run, worth),
              kRun, nodes[i].critical * (1 - static_cast<double>(run) / worth));
  }
};

} // namespace

std::vector<Proposal> proposals(const Program &p, const TimingResult &r, const std::vector<PathStep> &path,
                                const std::vector<WaitUse> &waits) {
  return Finder(p, r, path).find(waits);
}

} // namespace glia
