// After how many iterations the registers of a loop repeat, up to a fixed step: the length of a round. Found by following the registers for
// some iterations; nothing rests on it, a wrong number only proves less.
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

namespace {

constexpr int kFollowed = 72;
using Known = std::optional<int32_t>;

class Follower {
public:
  Follower(const Program &p, const EngineWalk &e, const LoopFrame &f)
      : program(p), core(e.core), engine(e.engine), frame(f) {
    for (int r = 0; r < 64; ++r)
      if (e.regs[r].isConstant() && !e.regs[r].undefined)
        regs[r] = static_cast<int32_t>(e.regs[r].lo);
  }
  // Values of every instruction that writes a register, iteration by iteration.
  std::map<uint32_t, std::vector<Known>> follow() {
    for (int i = 0; i < kFollowed; ++i) {
      if (frame.iv >= 0)
        regs[frame.iv] = i;
      else
        regs[frame.cond].reset();
      body(frame.begin + 1, frame.end);
    }
    return traces;
  }

private:
  const Program &program;
  int core;
  Engine engine;
  const LoopFrame &frame;
  std::array<Known, 64> regs{};
  std::map<uint32_t, std::vector<Known>> traces;
  Decoded d;

  Known value(std::string_view slot) {
    const Value &v = d.values[d.def->slot(slot)];
    return v.kind == Value::Register ? regs[v.integer] : Known(v.integer);
  }

  void forget(uint32_t begin, uint32_t end) { // registers written there
    for (uint32_t i = begin; i < end; ++i) {
      decode(program, core, engine, i, d);
      for (size_t k = 0; k < d.def->slots.size(); ++k)
        if (d.def->slots[k].kind == SlotKind::RegOut)
          regs[d.values[k].integer].reset();
    }
  }

  void body(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end;) {
      decode(program, core, engine, i, d);
      const std::string_view name = d.def->name;
      if (beginsLoop(*d.def)) { // once, with what its iterations change not known
        const uint32_t last = static_cast<uint32_t>(d.values[d.def->slot("end")].integer);
        forget(i, last);
        body(i + 1, last);
        forget(i, last);
        i = last + 1;
        continue;
      }
      if (name == "branch") {
        const uint32_t target = static_cast<uint32_t>(d.values[d.def->slot("target")].integer);
        const int c = d.def->slot("cond");
        const std::string_view cond = d.def->slots[c].names->names[d.values[c].integer];
        const Known a = value("a"), b = value("b");
        if (cond != "always" && !(a && b)) {
          forget(i + 1, std::min(target, end));
          i = target;
          continue;
        }
        const bool taken = branches(cond, a.value_or(0), b.value_or(0));
        i = taken ? target : i + 1;
        continue;
      }
      for (size_t k = 0; k < d.def->slots.size(); ++k)
        if (d.def->slots[k].kind == SlotKind::RegOut) {
          Known v;
          if (name == "reg_move")
            v = value("src");
          else if (name == "reg_alu")
            v = compute();
          regs[d.values[k].integer] = v;
          traces[i].push_back(v);
        }
      ++i;
    }
  }

  Known compute() {
    const Known a = value("a"), b = value("b");
    if (!a || !b)
      return std::nullopt;
    return computeRegister(static_cast<RegisterOp>(d.values[d.def->slot("op")].integer), *a, *b);
  }
};

// 0: it does not repeat so soon.
int64_t periodOfTrace(const std::vector<Known> &t) {
  if (std::any_of(t.begin(), t.end(), [](const Known &v) { return !v; }))
    return 1;
  const size_t skip = 2; // the first ones may differ
  for (size_t p = 1; p <= kLongestPeriod && skip + 2 * p < t.size(); ++p) {
    bool repeats = true;
    for (size_t i = skip; i + 2 * p < t.size() && repeats; ++i)
      repeats = int64_t{*t[i + 2 * p]} - *t[i + p] == int64_t{*t[i + p]} - *t[i];
    if (repeats)
      return static_cast<int64_t>(p);
  }
  return 0;
}

} // namespace

int64_t Walk::periodOf(const LoopRun &run) {
  int64_t period = 1;
  for (uint32_t member : run.arrived) {
    const EngineWalk &e = state.engines[member];
    for (const auto &[at, trace] : Follower(program, e, e.loops.back()).follow()) {
      const int64_t p = periodOfTrace(trace);
      if (p > 0 && std::lcm(period, p) <= kLongestPeriod)
        period = std::lcm(period, p);
    }
  }
  return period;
}

} // namespace glia::flow
