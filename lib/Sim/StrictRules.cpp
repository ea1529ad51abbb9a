// Rules of strict mode that need its state: activation tables, engines that share a memory, outputs.
#include "Rules.h"
#include "Strict.h"

namespace glia::sim {

void Strict::beforeRegisters(const StreamState &s, const Prepared &x) {
  requireRegisters(program, s, x, engines[streamIndex(s)]);
}

void Strict::countTables(const StreamState &s, const Prepared &x) {
  if (x.d.def->name != "act_table_load")
    return;
  std::set<int> &sets = loadedSets[s.core];
  sets.insert(s.state.activationSet);
  const int max = program.target->maxActivationSets;
  if (static_cast<int>(sets.size()) > max)
    faultAt(program, x.id, "ACT-TABLE-COUNT", format("the program loads more than %d activation sets", max), {},
            std::to_string(sets.size()), std::to_string(max));
}

// M1 and M2: two engines that the target does not let work on a memory at the same time must be ordered, whatever they touch.
void Strict::checkSerial(const StreamState &s, const Prepared &x) {
  struct Pair {
    Space space;
    Engine a, b;
  };
  static constexpr Pair kPairs[] = {{Space::Sbuf, Engine::Vector, Engine::GpSimd},
                                    {Space::Psum, Engine::Vector, Engine::Scalar}};
  if (x.d.def->unit != Unit::Compute)
    return;
  for (const Pair &pair : kPairs) {
    if ((s.engine != pair.a && s.engine != pair.b) || concurrent[static_cast<int>(pair.space)])
      continue;
    bool touches = false;
    for (const Value &v : x.d.values)
      touches |= v.kind == Value::Tensor && program.space(v.access.object) == pair.space;
    if (!touches)
      continue;
    const Engine peer = s.engine == pair.a ? pair.b : pair.a;
    auto &last = lastTouch[s.core][static_cast<int>(pair.space)];
    const Serial &other = last[static_cast<int>(peer)];
    const Clock &clock = clocks[streamIndex(s)];
    if (other.time > clock[s.core * kNumEngines + static_cast<int>(peer)])
      faultAt(program, x.id, "ENGINE-SERIAL",
              format("%s and %s both touch %s and are not ordered", describe(program, x.id, false).c_str(),
                     describe(program, other.by, false).c_str(), std::string(name(pair.space)).c_str()),
              {"the other instruction: " + describe(program, other.by)});
    last[static_cast<int>(s.engine)] = {clock[streamIndex(s)], x.id};
  }
}

void Strict::checkOutputs() {
  for (uint32_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor &t = program.tensors[i];
    if (t.kind != TensorKind::Output)
      continue;
    const int m = memory.place({ObjectKind::Tensor, i}, 0).memory;
    const int64_t at = definedness.firstUndefined(m);
    if (at < 0)
      continue;
    const Touch *w = shadows[m].lastWrite(0, at);
    undefinedOutput(program, t, at / sizeOf(t.dtype), w != nullptr, w ? &w->by : nullptr);
  }
}

// For the bound on shadow memory.
void Strict::account() {
  result.shadowBytes = definedness.memory();
  for (size_t m = 0; m < shadows.size(); ++m) {
    result.shadowBytes += shadows[m].memory();
    result.bytesTouched += readOnlyUsed[m] ? memory.memories[m].bytes : shadows[m].bytesTouched();
  }
  for (const SemaphoreClock &s : semaphores)
    result.shadowBytes += s.memory();
}

} // namespace glia::sim
