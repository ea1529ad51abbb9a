// Before the walk: who uses which semaphore, which loops are walked, which components there are.
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>

namespace glia::flow {

void Walk::scan() {
  const int cores = static_cast<int>(program.cores);
  uses.resize(program.semaphores.size());
  numbersValues = coresShareWrites();
  std::map<std::string, std::set<int>> members;
  std::map<std::pair<int, std::string>, int> barrierUsers;
  for (int c = 0; c < cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &s = program.stream(c, static_cast<Engine>(e));
      const uint32_t bit = 1u << (c * kNumEngines + e);
      for (uint32_t i = 0; i < s.instrs.size(); ++i) {
        const Instr &in = s.instrs[i];
        const InstrDef &def = *program.opcodes[in.opcode];
        for (int k = 0; k < in.numWaits + in.numUpdates; ++k) {
          const SyncOp &op = s.syncs[in.sync + k];
          SemaphoreUse &u = uses[op.semaphore];
          if (op.kind == SyncKind::Add) {
            u.producerEngines |= bit;
            u.dmaProducer |= def.unit == Unit::Dma || def.unit == Unit::Exchange;
          } else if (op.kind == SyncKind::WaitGe || op.kind == SyncKind::WaitGeConsume) {
            u.waiters |= bit;
            u.consumers |= op.kind == SyncKind::WaitGeConsume ? bit : 0;
          } else {
            fail("SYNC-FORM", whoIs(c, static_cast<Engine>(e), i), -1,
                 "it subtracts from or overwrites semaphore `" + program.semaphores[op.semaphore].name +
                     "` when it completes");
          }
        }
        if (def.unit == Unit::Barrier) {
          decode(program, c, static_cast<Engine>(e), i, scratch);
          const std::string &barrier = program.strings[scratch.values[def.slot("name")].integer];
          barrierNumbers.emplace(barrier, barrierNumbers.size());
          if (barrierUsers.emplace(std::pair(c, barrier), e).first->second != e)
            fail("BARRIER-PAIR", whoIs(c, static_cast<Engine>(e), i), -1,
                 "two engines of one core are at barrier `" + barrier + "`");
        }
        if (def.unit == Unit::Exchange) {
          decode(program, c, static_cast<Engine>(e), i, scratch);
          const int pipe = scratch.values[def.slot("pipe")].integer;
          pipeComp.emplace(pipe, 0);
        }
        if (beginsLoop(def)) {
          decode(program, c, static_cast<Engine>(e), i, scratch);
          const std::string &group = program.strings[scratch.values[def.slot("group")].integer];
          if (!group.empty())
            members[group].insert(c * kNumEngines + e);
        }
      }
    }
  for (const auto &[group, who] : members)
    groups.emplace(group, Group{static_cast<uint32_t>(groups.size()), static_cast<int>(who.size())});
  for (size_t s = 0; s < uses.size(); ++s)
    if ((uses[s].consumers & (uses[s].consumers - 1)) != 0 || (uses[s].consumers && uses[s].waiters != uses[s].consumers))
      reporter.failProgram("SYNC-CONSUMER", "semaphore `" + program.semaphores[s].name +
                                                "` is consumed by one engine and waited on by another");

  chooseWalkedLoops();
  numberComponents();
  state.numbers.assign(components, 0);
  state.lastEvent.assign(components, 0);
  state.semaphores.resize(program.semaphores.size());
  for (size_t s = 0; s < state.semaphores.size(); ++s)
    state.semaphores[s].reset(program.semaphores[s].initial, uses[s].single(), components);
  state.engines.resize(cores * kNumEngines);
  recent.resize(state.engines.size());
  for (int c = 0; c < cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      EngineWalk &w = state.engines[c * kNumEngines + e];
      w.core = c;
      w.engine = static_cast<Engine>(e);
      w.number = w.stream = static_cast<uint32_t>(c * kNumEngines + e);
      w.knows.reset(components);
    }
  state.chip.resize(cores);
  state.hbm.resize(program.tensors.size());
  for (size_t t = 0; t < state.hbm.size(); ++t)
    state.hbm[t].resize(program.tensors[t].shared ? 1 : cores);
  for (size_t t = 0; t < state.hbm.size(); ++t)
    if (!program.tensors[t].from.empty()) // it begins as an input: defined, and nobody wrote it
      state.hbm[t][0].own().visit(0, program.tensors[t].bytes(), 1, [](Cell &c) { c.defined = true; });
}

// Loops with an immediate count are walked one iteration at a time as long as the whole program stays below the bound;
// the longest ones are summarised first.
void Walk::chooseWalkedLoops() {
  constexpr int64_t kBound = 4'000'000;
  std::set<int64_t> counts;
  auto total = [&](int64_t limit) {
    double sum = 0;
    for (uint32_t c = 0; c < program.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e) {
        const Stream &s = program.stream(static_cast<int>(c), static_cast<Engine>(e));
        std::vector<double> factor{1};
        for (uint32_t i = 0; i < s.instrs.size(); ++i) {
          const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
          sum += factor.back();
          if (beginsLoop(def)) {
            decode(program, static_cast<int>(c), static_cast<Engine>(e), i, scratch);
            const int count = def.slot("count");
            const bool fixed = count >= 0 && scratch.values[count].kind == Value::Int;
            const int64_t n = fixed ? std::max<int64_t>(scratch.values[count].integer, 0) : 8;
            counts.insert(n);
            factor.push_back(factor.back() * static_cast<double>(n <= limit ? n : 8));
          } else if (endsLoop(def) && factor.size() > 1) {
            factor.pop_back();
          }
        }
      }
    return sum;
  };
  largestWalkedCount = 8; // counts from registers are taken as this, whatever they are
  if (total(INT64_MAX) <= kBound) {
    if (!counts.empty())
      largestWalkedCount = std::max(largestWalkedCount, *counts.rbegin());
    return;
  }
  const std::set<int64_t> candidates = counts;
  for (int64_t n : candidates)
    if (n > largestWalkedCount && total(n) <= kBound)
      largestWalkedCount = n;
}

// Engines and queues, each with a component of its own for what it does in a loop that may be proved by an invariant: who knows of
// what was done there need not know of what was done before. Where there are many such loops they share.
void Walk::numberComponents() {
  constexpr size_t kMostPerEngine = 32;
  const uint32_t engines = program.cores * kNumEngines;
  components = engines + program.queues.size();
  for (auto &[pipe, comp] : pipeComp)
    comp = static_cast<uint32_t>(components++);
  for (uint32_t e = 0; e < engines; ++e)
    ownerOf.push_back(e);
  ownerOf.resize(components, UINT32_MAX);
  queueStreams.resize(program.queues.size());
  for (uint32_t number = 0; number < engines; ++number) {
    const int core = static_cast<int>(number) / kNumEngines;
    const Engine engine = static_cast<Engine>(number % kNumEngines);
    const Stream &s = program.stream(core, engine);
    std::vector<uint32_t> around{number}, own; // streams of the loops around, and all of this engine
    size_t loops = 0;
    for (uint32_t i = 0; i < s.instrs.size(); ++i) {
      const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
      if (beginsLoop(def)) {
        decode(program, core, engine, i, scratch);
        const int count = def.slot("count");
        const bool walked =
            count >= 0 && scratch.values[count].kind == Value::Int && scratch.values[count].integer <= largestWalkedCount;
        if (walked) {
          around.push_back(around.back());
          continue;
        }
        if (own.size() < kMostPerEngine) {
          own.push_back(static_cast<uint32_t>(components++));
          ownerOf.push_back(number);
        }
        around.push_back(own[loops++ % own.size()]);
        loopStreams[whoIs(core, engine, i)] = around.back();
      } else if (endsLoop(def) && around.size() > 1) {
        around.pop_back();
      } else if (def.unit == Unit::Dma && around.back() != number) {
        decode(program, core, engine, i, scratch);
        auto &streams = queueStreams[static_cast<size_t>(scratch.values[def.slot("queue")].integer)];
        if (streams.emplace(around.back(), static_cast<uint32_t>(components)).second) {
          ++components;
          ownerOf.push_back(UINT32_MAX);
        }
      }
    }
  }
}

// The component of a transfer: its queue, in the loop that its engine is in.
uint32_t Walk::queueStream(int queue, uint32_t stream) const {
  const auto &streams = queueStreams[static_cast<size_t>(queue)];
  const auto it = streams.find(stream);
  return it == streams.end() ? program.cores * kNumEngines + static_cast<uint32_t>(queue) : it->second;
}

} // namespace glia::flow
