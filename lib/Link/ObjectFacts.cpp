#include "ObjectFacts.h"
#include "glia/CodeGen/Contract.h"
#include "glia/ISA/Control.h"
#include "glia/Link/Link.h"
#include "glia/Program/Decode.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Footprint.h"

#include <algorithm>

namespace glia {

std::string kernelName(const Program &object) {
  for (const ContractItem &c : object.contract)
    if (c.key == "kernel")
      return c.value;
  for (const InstrOrigin &o : object.origins)
    if (o.kernel)
      return object.strings[o.kernel];
  return "kernel";
}

} // namespace glia

namespace glia::link {

std::string placeOf(const Program &p, const Instr &i) {
  const InstrOrigin &o = p.origins[i.origin];
  std::string out(p.opcodes[i.opcode]->name);
  if (o.line)
    out += " at " + p.strings[o.file] + ":" + std::to_string(o.line);
  return out;
}

namespace {

class Reader {
public:
  Reader(const Program &p, ObjectFacts &f) : p(p), f(f) {}

  void run() {
    const size_t n = p.semaphores.size();
    producers.assign(n, 0);
    waiters.assign(n, 0);
    transfers.assign(n, false);
    net.resize(n);
    f.queueOwner.assign(p.queues.size(), -1);
    f.engines.resize(p.cores);
    f.uses.resize(p.cores);
    for (uint32_t c = 0; c < p.cores; ++c) {
      std::vector<TensorUse> uses(p.tensors.size());
      for (int e = 0; e < kNumEngines; ++e)
        readStream(static_cast<int>(c), static_cast<Engine>(e), uses);
      for (uint32_t t = 0; t < uses.size(); ++t)
        if (uses[t].engines) {
          uses[t].tensor = t;
          f.uses[c].push_back(uses[t]);
        }
    }
    for (size_t s = 0; s < n; ++s) {
      const bool single = !transfers[s] && (producers[s] & (producers[s] - 1)) == 0;
      f.semaphores.push_back({p.semaphores[s].core, single ? producers[s] : 0, waiters[s], p.semaphores[s].initial});
    }
    for (const Allocation &a : p.allocations) {
      int64_t &most = f.bytes[a.space == Space::Psum];
      most = std::max(most, a.byteOffset + a.bytesPerPartition());
      f.ticks = std::max(f.ticks, a.liveTo == UINT32_MAX ? a.liveFrom + 1 : a.liveTo);
    }
  }

  // Between calls a semaphore is as it was before: then a second call finds what the first one found.
  void requireBalance() const {
    for (size_t s = 0; s < net.size(); ++s)
      for (const auto &[path, n] : net[s])
        if (n != 0)
          throw Error(
              "LINK-SEMAPHORES",
              format("kernel `%s` leaves semaphore `%s` %lld higher than it found it%s, so that it can be called only once",
                     f.kernel.c_str(), p.semaphores[s].name.c_str(), (long long)n,
                     path.empty() ? "" : " in each iteration of a loop"),
              "Let every wait consume, and wait for everything that is added.");
  }

private:
  const Program &p;
  ObjectFacts &f;
  std::vector<uint32_t> producers, waiters;
  std::vector<bool> transfers;
  std::vector<std::map<std::string, int64_t>> net; // by semaphore and by the loops of unknown count around
  Decoded d;

  struct Frame {
    uint32_t begin;
    double times;
    std::string path;
  };

  void readStream(int core, Engine engine, std::vector<TensorUse> &uses) {
    const Stream &s = p.stream(core, engine);
    EngineFacts &facts = f.engines[core][static_cast<int>(engine)];
    facts.size = static_cast<uint32_t>(s.instrs.size());
    facts.outermost.resize(s.instrs.size());
    std::vector<Frame> loops;
    uint32_t branch = 0, branchUntil = 0;
    struct Last {
      uint32_t index;
      bool looped, waited;
    };
    std::map<uint32_t, Last> lastOnQueue, lastOnPipe;
    for (uint32_t i = 0; i < s.instrs.size(); ++i) {
      const Instr &in = s.instrs[i];
      decode(p, core, engine, i, d);
      const InstrDef &def = *d.def;
      const bool skipped = i < branchUntil;
      facts.outermost[i] = !loops.empty() ? loops.front().begin : skipped ? branch : i;
      if (endsLoop(def) && !loops.empty())
        loops.pop_back();
      count(loops, engine);
      touches(i, facts, uses);
      const bool looped = !loops.empty();
      if (i == 0)
        facts.firstCarries = def.unit != Unit::Control && def.unit != Unit::Barrier && in.numWaits < 200;
      if (i + 1 == s.instrs.size())
        facts.markOnLast =
            (def.unit == Unit::Compute || def.unit == Unit::Register) && !looped && !skipped && in.numUpdates < 200;
      if (def.unit == Unit::Dma) {
        const uint32_t q = static_cast<uint32_t>(d.values[def.slot("queue")].integer);
        f.queueOwner[q] = static_cast<int>(engine);
        lastOnQueue[q] = {i, looped, in.numUpdates > 0};
      } else if (def.unit == Unit::Exchange) {
        const int pipe = d.values[def.slot("pipe")].integer;
        f.pipeOwner.try_emplace(pipe, std::array<int, 2>{-1, -1}).first->second[core & 1] = static_cast<int>(engine);
        lastOnPipe[static_cast<uint32_t>(pipe)] = {i, looped, in.numUpdates > 0};
      } else if (def.name == "act_table_load") {
        const std::string &set = p.strings[d.values[0].integer];
        f.tables.emplace(set, placeOf(p, in));
        if (facts.leaves.empty() && !looped && !skipped) {
          facts.firstLoad = i;
          facts.firstSet = set;
        }
        facts.leaves = looped || skipped ? "?" : set;
      } else if (beginsLoop(def)) {
        const Value n = isWhile(def) ? Value() : d.values[def.slot("count")];
        const bool immediate = n.kind == Value::Int;
        Frame frame{i, loops.empty() ? 1 : loops.back().times, loops.empty() ? "" : loops.back().path};
        f.unknownLoops |= !immediate;
        if (immediate)
          frame.times *= std::max(n.integer, 0);
        else
          frame.path += "/" + p.strings[d.values[def.slot("group")].integer];
        loops.push_back(frame);
      } else if (def.name == "branch") {
        if (!skipped)
          branch = i;
        branchUntil = std::max(branchUntil, static_cast<uint32_t>(d.values[def.slot("target")].integer));
      }
    }
    findEnds(s, facts, core, engine);
    for (const auto &[q, last] : lastOnQueue) {
      if (!last.waited && !last.looped)
        facts.completed.push_back(last.index);
      else if (!last.waited)
        facts.fences.push_back(q);
    }
    for (const auto &[pipe, last] : lastOnPipe)
      if (!last.waited && !last.looped)
        facts.completed.push_back(last.index);
    std::sort(facts.completed.begin(), facts.completed.end());
  }

  // The next call may begin between the last time that this one waits and what came before it.
  void findEnds(const Stream &s, EngineFacts &facts, int core, Engine engine) {
    auto unit = [&](uint32_t i) { return p.opcodes[s.instrs[i].opcode]->unit; };
    while (facts.early < facts.size && unit(facts.early) == Unit::Dma && !s.instrs[facts.early].numWaits) {
      decode(p, core, engine, facts.early++, d);
      EngineFacts::Opening o{static_cast<uint32_t>(d.values[d.def->slot("queue")].integer), {}};
      for (const Value &v : d.values)
        if (v.kind == Value::Tensor && v.access.object.kind == ObjectKind::Tensor)
          o.tensors.push_back(v.access.object.index);
      facts.openings.push_back(std::move(o));
    }
    facts.late = facts.size;
    for (uint32_t i = facts.size; i-- > facts.early;) {
      if (facts.outermost[i] != i || (unit(i) != Unit::Dma && unit(i) != Unit::Register))
        return;
      if (s.instrs[i].numWaits) {
        facts.late = i;
        return;
      }
    }
  }

  void count(const std::vector<Frame> &loops, Engine engine) {
    const double times = loops.empty() ? 1 : loops.back().times;
    const std::string path = loops.empty() ? "" : loops.back().path;
    for (const SyncOp &op : d.waits) {
      waiters[op.semaphore] |= 1u << static_cast<int>(engine);
      if (op.kind == SyncKind::WaitGeConsume)
        net[op.semaphore][path] -= static_cast<int64_t>(op.value * times);
    }
    for (const SyncOp &op : d.updates) {
      producers[op.semaphore] |= 1u << static_cast<int>(engine);
      transfers[op.semaphore] = transfers[op.semaphore] || d.def->unit == Unit::Dma || d.def->unit == Unit::Exchange;
      net[op.semaphore][path] += static_cast<int64_t>(op.value * times);
    }
  }

  void touches(uint32_t index, EngineFacts &facts, std::vector<TensorUse> &uses) {
    const InstrDef &def = *d.def;
    const int flag = def.accumulateFlag.empty() ? -1 : def.slot(def.accumulateFlag);
    bool indexed = false;
    for (std::string_view slot : {"dst_index", "src_index"})
      if (const int s = def.slot(slot); s >= 0)
        indexed |= d.values[s].kind == Value::Tensor;
    for (size_t k = 0; k < def.slots.size(); ++k) {
      const Value &v = d.values[k];
      if (v.kind != Value::Tensor)
        continue;
      if (v.access.object.kind == ObjectKind::Allocation) {
        if (def.unit == Unit::Compute)
          (p.allocations[v.access.object.index].space == Space::Psum ? facts.psum : facts.sbuf) = true;
        continue;
      }
      const Pattern &pattern = p.patterns[v.access.pattern];
      TensorUse &u = uses[v.access.object.index];
      const ByteRun run = extent(pattern);
      const bool whole = indexed || pattern.numDynamic;
      const int64_t lo = whole ? 0 : v.access.byteOffset + run.lo;
      const int64_t hi = whole ? INT64_MAX : v.access.byteOffset + run.hi;
      const SlotKind kind = def.slots[k].kind;
      if (isWritten(kind))
        u.write.add(lo, hi);
      if (!isWritten(kind) || kind == SlotKind::InOut || (k == 0 && flag >= 0 && d.values[flag].integer == 1))
        u.read.add(lo, hi);
      u.engines |= 1u << static_cast<int>(d.engine);
      if (d.engine == Engine::Sync)
        u.firstOnSync = std::min(u.firstOnSync, facts.outermost[index]);
    }
  }
};

// The contract of an object says what the object does. One that was changed on the way is not believed.
void checkContract(const Program &p, const std::string &kernel) {
  if (p.contract.empty())
    return;
  for (const ContractItem &truth : describeContract(p, kernel)) {
    const auto said =
        std::find_if(p.contract.begin(), p.contract.end(), [&](const ContractItem &c) { return c.key == truth.key; });
    if (said == p.contract.end() || said->value != truth.value)
      throw Error("LINK-CONTRACT",
                  format("the contract of kernel `%s` says %s for %s, and the object has %s", kernel.c_str(),
                         said == p.contract.end() ? "nothing" : ("`" + said->value + "`").c_str(), truth.key.c_str(),
                         ("`" + truth.value + "`").c_str()),
                  "Compile the kernel again.");
  }
}

} // namespace

ObjectFacts factsOf(const Program &object, bool alone) {
  ObjectFacts f;
  f.program = &object;
  f.kernel = kernelName(object);
  checkContract(object, f.kernel);
  Reader reader(object, f);
  reader.run();
  if (!alone)
    reader.requireBalance();
  return f;
}

} // namespace glia::link
