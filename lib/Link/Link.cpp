// Writes the program: call by call, engine by engine, the object's instructions with the order between calls added.
#include "glia/Link/Link.h"
#include "Order.h"
#include "Template.h"
#include "glia/Program/Encoding.h"
#include "glia/Program/Remarks.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <unordered_map>

namespace glia {

using namespace link;

namespace {

class Writer {
public:
  explicit Writer(Composition composition)
      : c(std::move(composition)), b(c.target, static_cast<int>(c.cores)), layout(c, b), maker(c, layout, b),
        order(c, layout, b.program()), resident(c.cores), ends(c.cores) {
    nop = maker.opcode(findInstruction("nop"));
  }

  Program run() {
    reserve();
    for (uint32_t n = 0; n < c.calls.size(); ++n)
      write(n);
    for (uint32_t core = 0; core < c.cores; ++core)
      finishSync(static_cast<int>(core));
    return b.finish();
  }

private:
  Composition c;
  Builder b;
  Layout layout;
  TemplateMaker maker;
  Order order;
  std::map<std::pair<uint32_t, int>, Template> templates;
  std::unordered_map<std::string, std::vector<uint32_t>> origins; // object and label -> the program's number of each origin
  std::vector<std::string> resident;                              // activation set, per core; "": none or not known
  uint16_t nop = 0;
  std::vector<uint32_t> index, before; // of an object's instructions in the program; with what is put before them
  uint32_t ownOrigin = 0;              // of what the linker adds to this call

  // A program of many calls is large: its streams are not copied while they grow.
  void reserve() {
    std::vector<size_t> times(c.objects.size());
    for (const Call &call : c.calls)
      ++times[call.object];
    for (uint32_t core = 0; core < c.cores; ++core)
      for (int e = 0; e < kNumEngines; ++e) {
        size_t instrs = 0, words = 0, syncs = 0;
        for (size_t o = 0; o < c.objects.size(); ++o)
          if (const Program &p = *c.objects[o].program; core < p.cores) {
            const Stream &s = p.stream(static_cast<int>(core), static_cast<Engine>(e));
            instrs += times[o] * (s.instrs.size() + 2);
            words += times[o] * s.words.size();
            syncs += times[o] * (s.syncs.size() + 12);
          }
        Stream &s = b.program().stream(static_cast<int>(core), static_cast<Engine>(e));
        s.instrs.edit().reserve(instrs);
        s.words.edit().reserve(words);
        s.syncs.edit().reserve(syncs);
      }
  }

  void write(uint32_t n) {
    const Call &call = c.calls[n];
    auto [it, fresh] = templates.try_emplace({call.object, call.slot});
    if (fresh)
      it->second = maker.make(call.object, call.slot);
    const std::vector<uint32_t> &origin = originsOf(call);
    const std::vector<CoreStart> starts = order.next(n, call.object, call.slot, layout);
    for (uint32_t core = 0; core < c.cores; ++core) {
      const int k = static_cast<int>(core);
      const CoreStart &start = starts[core];
      Stream &sync = b.program().stream(k, Engine::Sync);
      const ObjectFacts &facts = c.objects[call.object].facts;
      const bool here = core < it->second.parts.size();
      const EngineFacts *s = here ? &facts.engines[core][static_cast<int>(Engine::Sync)] : nullptr;
      uint32_t late = s ? s->late : 0;
      if (!start.later.empty() && start.later.back().first >= late)
        late = s->size;
      // The first loads of this call go before the last stores of the one before, if they do not need its results.
      const bool mayGoAhead = here && !start.barrier && start.level < ends[core].number;
      const std::vector<bool> first = mayGoAhead ? goAhead(*s, start) : std::vector<bool>();
      const bool ahead = !first.empty();
      if (!ahead && (here || start.barrier))
        finishSync(k);
      if (start.barrier)
        barrier(sync, start, n);
      if (!here)
        continue;
      // A kernel that loads nothing has all of Sync's work after its turn: its waits stand alone.
      const bool carry = start.signals.empty() && s->firstCarries && late > 0 && (!ahead || first[0]);
      if (!carry && (!start.waits.empty() || !start.signals.empty()))
        put(sync, {nop, 0, 0, 0, 0, ownOrigin}, {}, start.waits, {}, start.signals);
      for (int e = 0; e < kNumEngines; ++e) {
        const EngineFacts &f = facts.engines[core][e];
        if (!f.size)
          continue;
        Work work{&call, n, k, static_cast<Engine>(e), &it->second.parts[core][e], &f, &start, carry, &origin, ownOrigin};
        if (static_cast<Engine>(e) != Engine::Sync) {
          part(work, 0, f.size);
          continue;
        }
        if (ahead) {
          for (uint32_t i = 0; i < first.size(); ++i)
            if (first[i])
              part(work, i, i + 1);
          finishSync(k);
          for (uint32_t i = 0; i < first.size(); ++i)
            if (!first[i])
              part(work, i, i + 1);
        }
        part(work, static_cast<uint32_t>(first.size()), late);
        if (late < f.size)
          ends[core] = {static_cast<int>(n), work, late};
      }
    }
  }

  // Which of the opening transfers of Sync need nothing of the calls before; empty if none. One does not overtake another on its queue:
  // that the earlier one is complete may have been concluded from the later one (D3).
  static std::vector<bool> goAhead(const EngineFacts &sync, const CoreStart &start) {
    std::vector<bool> out;
    std::vector<uint32_t> held;
    auto has = [](const std::vector<uint32_t> &list, uint32_t x) {
      return std::find(list.begin(), list.end(), x) != list.end();
    };
    bool any = false;
    for (const EngineFacts::Opening &o : sync.openings) {
      const bool free = !has(held, o.queue) && std::none_of(o.tensors.begin(), o.tensors.end(),
                                                            [&](uint32_t t) { return has(start.dependent, t); });
      if (!free)
        held.push_back(o.queue);
      out.push_back(free);
      any |= free;
    }
    return any ? out : std::vector<bool>();
  }

  struct Work { // one engine's part of a call
    const Call *call = nullptr;
    uint32_t n = 0;
    int core = 0;
    Engine engine = Engine::Sync;
    const Part *part = nullptr;
    const EngineFacts *facts = nullptr;
    const CoreStart *start = nullptr; // not after the call's turn
    bool carry = false;
    const std::vector<uint32_t> *origin = nullptr;
    uint32_t ownOrigin = 0;
  };
  struct End { // what Sync has still to do for a call
    int number = -1;
    Work work;
    uint32_t from = 0;
  };
  std::vector<End> ends; // [core]

  void finishSync(int core) {
    if (ends[core].number < 0)
      return;
    End end = ends[core];
    ends[core] = End();
    end.work.start = nullptr;
    part(end.work, end.from, end.work.facts->size);
  }

  const std::vector<uint32_t> &originsOf(const Call &call) {
    const Program &p = *c.objects[call.object].program;
    std::vector<uint32_t> &out = origins[std::to_string(call.object) + ":" + call.label];
    std::vector<InstrOrigin> &table = b.program().origins;
    if (out.empty()) {
      const uint32_t kernel = b.internString(call.label);
      for (const InstrOrigin &o : p.origins) {
        out.push_back(o == InstrOrigin{} ? 0 : static_cast<uint32_t>(table.size()));
        if (out.back())
          table.push_back({kernel, b.internString(p.strings[o.operation]), b.internString(p.strings[o.file]), o.line});
      }
      out.push_back(static_cast<uint32_t>(table.size()));
      table.push_back({kernel, b.internString("link"), 0, 0});
    }
    ownOrigin = out.back();
    return out;
  }

  // One more instruction of a stream.
  static void put(Stream &s, Instr in, std::span<const uint32_t> words, std::span<const SyncOp> extraWaits,
                  std::span<const SyncOp> syncs, std::span<const SyncOp> extraUpdates) {
    std::vector<uint32_t> &w = s.words.edit();
    std::vector<SyncOp> &o = s.syncs.edit();
    const size_t waits = in.numWaits;
    in.words = static_cast<uint32_t>(w.size());
    in.sync = static_cast<uint32_t>(o.size());
    w.insert(w.end(), words.begin(), words.end());
    o.insert(o.end(), extraWaits.begin(), extraWaits.end());
    o.insert(o.end(), syncs.begin(), syncs.end());
    o.insert(o.end(), extraUpdates.begin(), extraUpdates.end());
    in.numWaits = static_cast<uint8_t>(waits + extraWaits.size());
    in.numUpdates = static_cast<uint8_t>(syncs.size() - waits + extraUpdates.size());
    s.instrs.push_back(in);
  }

  // Both cores meet, after each has seen the end of the call whose data the other one needs. Its name says what it keeps apart, and is
  // made once for both.
  void barrier(Stream &sync, const CoreStart &start, uint32_t n) {
    const uint32_t name = b.internString(format("call %d %s | call %u %s", start.barrierAfter,
                                                c.calls[start.barrierAfter].label.c_str(), n, c.calls[n].label.c_str()));
    put(sync, {maker.opcode(findInstruction("core_barrier")), 0, 0, 0, 0, ownOrigin}, std::span(&name, 1), *start.barrier,
        {}, {});
  }

  // Instructions [from, to) of an engine's part.
  void part(const Work &w, uint32_t from, uint32_t to) {
    const Part &part = *w.part;
    const EngineFacts &facts = *w.facts;
    Stream &out = b.program().stream(w.core, w.engine);
    const OwnSemaphores &own = layout.own[w.core];
    const bool isSync = w.engine == Engine::Sync;
    const SyncOp mark{static_cast<uint16_t>(isSync ? 0 : own.toSync[static_cast<int>(w.engine)]), SyncKind::Add, 0, 1};
    const int over = c.objects[w.call->object].aside ? own.exchanged[w.call->slot] : own.completed[w.call->slot];
    const SyncOp complete{static_cast<uint16_t>(over), SyncKind::Add, 0, c.target->dmaEngines};
    const int64_t skip = tableAlreadyThere(w.core, w.engine, facts);
    size_t completed = static_cast<size_t>(std::lower_bound(facts.completed.begin(), facts.completed.end(), from) -
                                           facts.completed.begin());
    size_t patch = 0;
    if (from && from < facts.size)
      patch = static_cast<size_t>(std::partition_point(part.patches.begin(), part.patches.end(),
                                                       [&](const Patch &x) { return x.word < part.instrs[from].words; }) -
                                  part.patches.begin());
    std::vector<SyncOp> waits, updates;
    const uint32_t size = facts.size;
    index.resize(size), before.resize(size + 1);
    for (uint32_t i = from; i < to; ++i) {
      before[i] = static_cast<uint32_t>(out.instrs.size());
      waits.clear(), updates.clear();
      if (i == 0 && !isSync)
        waits = w.start->engineWaits[static_cast<int>(w.engine)];
      if (i == 0 && isSync && w.carry)
        waits = w.start->waits;
      if (isSync && w.start)
        for (const auto &[at, more] : w.start->later)
          if (at == i)
            waits.insert(waits.end(), more.begin(), more.end());
      Instr in = part.instrs[i];
      const Unit unit = b.program().opcodes[in.opcode]->unit;
      if (!waits.empty() && (unit == Unit::Control || unit == Unit::Barrier || in.numWaits > 200)) {
        put(out, {nop, 0, 0, 0, 0, w.ownOrigin}, {}, waits, {}, {});
        waits.clear();
      }
      for (; completed < facts.completed.size() && facts.completed[completed] == i; ++completed)
        updates.push_back(complete);
      if (i + 1 == size && facts.markOnLast && !isSync)
        updates.push_back(mark);
      index[i] = static_cast<uint32_t>(out.instrs.size());
      const std::span<const SyncOp> syncs(part.syncs.data() + in.sync, in.numWaits + in.numUpdates);
      in.origin = (*w.origin)[in.origin];
      if (static_cast<int64_t>(i) == skip) {
        in.opcode = nop;
        if (!waits.empty() || !syncs.empty() || !updates.empty())
          put(out, in, {}, waits, syncs, updates);
        continue;
      }
      const uint32_t begin = part.instrs[i].words;
      const uint32_t end = i + 1 < size ? part.instrs[i + 1].words : static_cast<uint32_t>(part.words.size());
      const uint32_t base = static_cast<uint32_t>(out.words.size());
      put(out, in, {part.words.data() + begin, end - begin}, waits, syncs, updates);
      for (; patch < part.patches.size() && part.patches[patch].word < end; ++patch)
        fill(out, part.patches[patch], part.patches[patch].word - begin + base, *w.call, w.n);
    }
    before[to] = static_cast<uint32_t>(out.instrs.size());
    if (to == size) {
      for (uint32_t queue : facts.fences)
        fence(out, *w.call, queue, complete, w.ownOrigin);
      if (!facts.markOnLast && !isSync)
        put(out, {nop, 0, 0, 0, 0, w.ownOrigin}, {}, {}, {}, std::span(&mark, 1));
    }
    label(out);
  }

  struct Label {
    uint32_t word, value;
    bool branch;
  };
  std::vector<Label> labels; // of this part, to be filled in when all its instructions have their numbers

  void fill(Stream &out, const Patch &p, uint32_t word, const Call &call, uint32_t n) {
    const Program &object = *c.objects[call.object].program;
    switch (p.kind) {
    case Patch::Tensor: out.words.edit()[word] = call.tensors[p.value]; break;
    case Patch::LoopLabel:
    case Patch::BranchLabel: labels.push_back({word, p.value, p.kind == Patch::BranchLabel}); break;
    case Patch::Barrier:
      out.words.edit()[word] = b.internString(format("call %u %s: ", n, call.label.c_str()) + object.strings[p.value]);
      break;
    }
  }

  void label(Stream &out) {
    for (const Label &l : labels) // what is put before an instruction is not skipped with what a branch skips
      out.words.edit()[l.word] = l.branch || l.value >= index.size() ? before[l.value] : index[l.value];
    labels.clear();
  }

  // The load that can be left out, or -1; follows what is resident.
  int64_t tableAlreadyThere(int core, Engine engine, const EngineFacts &facts) {
    if (engine != Engine::Scalar || facts.leaves.empty())
      return -1;
    const int64_t out = facts.firstLoad >= 0 && resident[core] == facts.firstSet ? facts.firstLoad : -1;
    resident[core] = facts.leaves == "?" ? "" : facts.leaves;
    return out;
  }

  void fence(Stream &out, const Call &call, uint32_t objectQueue, const SyncOp &complete, uint32_t origin) {
    const int queue = layout.queue(call.object, call.slot, objectQueue);
    const InstrDef &def = *findInstruction("dma_copy");
    std::vector<uint32_t> words;
    int packed = 0;
    for (const Slot &s : def.slots)
      packed += isPackedSlot(s.kind);
    words.resize((packed + 3) / 4);
    for (const Slot &s : def.slots) {
      if (isPackedSlot(s.kind))
        continue;
      if (s.name == "dst" || s.name == "src") {
        const Access a = s.name == "dst" ? layout.fenceTo(call.slot, queue) : layout.fenceFrom();
        words.insert(words.end(), {a.pattern, a.object.index, static_cast<uint32_t>(a.byteOffset), 0u});
      } else if (isTensorSlot(s.kind)) {
        words.push_back(kAbsentWord);
      } else {
        words.push_back(s.kind == SlotKind::Queue ? static_cast<uint32_t>(queue) : static_cast<uint32_t>(s.defaultInt));
      }
    }
    put(out, {maker.opcode(&def), 0, 0, 0, 0, origin}, words, {}, {}, std::span(&complete, 1));
  }
};

// One call: the program is the object, under the program's names.
Program alone(const Composition &c) {
  const Call &call = c.calls[0];
  Program p = *c.objects[call.object].program;
  std::vector<bool> used(c.tensors.size());
  for (uint32_t t = 0; t < p.tensors.size(); ++t)
    if (call.tensors[t] != kUnbound) {
      if (used[call.tensors[t]])
        return Writer(c).run(); // two of its inputs are one tensor
      used[call.tensors[t]] = true;
    }
  std::map<std::string, int> names;
  for (uint32_t t = 0; t < p.tensors.size(); ++t) {
    if (call.tensors[t] != kUnbound)
      p.tensors[t] = c.tensors[call.tensors[t]];
    names[p.tensors[t].name]++;
  }
  for (const Allocation &a : p.allocations)
    names[a.name]++;
  for (uint32_t t = 0; t < c.tensors.size(); ++t)
    if (!used[t]) {
      p.tensors.push_back(c.tensors[t]);
      names[c.tensors[t].name]++;
    }
  for (uint32_t t = 0; t < p.tensors.size(); ++t)
    if (t >= call.tensors.size() || call.tensors[t] == kUnbound)
      while (names[p.tensors[t].name] > 1) {
        --names[p.tensors[t].name];
        p.tensors[t].name += "_";
        ++names[p.tensors[t].name];
      }
  if (const std::string kernel = kernelName(p); call.label != kernel) {
    for (InstrOrigin &o : p.origins)
      if (p.strings[o.kernel] == kernel)
        o.kernel = static_cast<uint32_t>(p.strings.size());
    p.strings.push_back(call.label);
  }
  p.symbols.clear();
  p.relocations.clear();
  p.contract.clear();
  return p;
}

// What the compiler did to the kernels, each once.
std::vector<ContractItem> remarksOf(const Composition &c) {
  std::vector<ContractItem> out;
  for (const Object &o : c.objects)
    for (const ContractItem &item : o.program->contract)
      if (item.key == kRemarkKey)
        out.push_back({item.key, c.objects.size() == 1 ? item.value : o.name + ": " + item.value});
  return out;
}

} // namespace

Program linkProgram(std::shared_ptr<const Target> target, std::vector<Tensor> tensors, const std::vector<LinkCall> &calls) {
  Composition c = compose(std::move(target), std::move(tensors), calls);
  std::vector<ContractItem> remarks = remarksOf(c);
  Program p = c.calls.size() == 1 ? alone(c) : Writer(std::move(c)).run();
  p.contract.insert(p.contract.end(), remarks.begin(), remarks.end());
  return p;
}

} // namespace glia
