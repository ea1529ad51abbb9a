#include "Replay.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/Timing.h"

namespace glia::debug {

Replay::Replay(const Program &p, TensorData data, RunOptions options)
    : program(p), inputs(std::move(data)), asked(options), held(std::make_unique<Held>(Held{viewsOf(inputs), options})) {
  if (const int ranks = ranksOf(p); ranks > 1)
    throw Error("RANK-COUNT", format("the debugger follows one rank, and the program is for %d", ranks),
                "Compile it for one rank, or use `glia run`.");
  sim::checkInputs(p, held->views);
  restart();
}

void Replay::restart() {
  strict = std::make_unique<sim::Strict>(program, held->views, held->options);
  taken = 0;
  history.clear();
  pause.reset();
  over = false;
  seen.clear();
}

bool Replay::advance() {
  if (over)
    return false;
  seen.clear();
  reached = false;
  if (pause ? strict->advanceTo(*pause) : strict->advance())
    return took(), true;
  over = !pause || !strict->so().ok();
  reached = !over;
  pause.reset();
  return false;
}

void Replay::took() {
  ++taken;
  if (chosen)
    history.push_back(strict->taken().who);
}

void Replay::fix() {
  if (history.size() > fixed.size())
    fixed = history;
  held->options.schedule = &fixed;
}

Replay Replay::again() const {
  RunOptions options = asked;
  if (chosen)
    options.schedule = &history; // of this one, which stays as it is meanwhile
  return Replay(program, inputs, options);
}

void Replay::pauseAt(double ns) {
  TimingOptions timing;
  timing.inputs = &inputs;
  timing.timeline = true;
  timing.stop = asked.stop;
  const TimingResult predicted = simulateTime(program, timing);
  const size_t engines = strict->engineStates().size();
  pause.emplace();
  pause->instructions.resize(engines);
  pause->transfers.resize(program.queues.size());
  for (const TimelineEvent &e : predicted.timeline) {
    if (e.lane < engines)
      pause->instructions[e.lane] += e.start < ns;
    else if (e.lane - engines < pause->transfers.size())
      pause->transfers[e.lane - engines] += e.end <= ns;
  }
  if (chosen)
    return;
  Replay same = again(); // what was taken so far
  same.chosen = chosen = true;
  same.goTo(taken);
  history = std::move(same.history);
}

void Replay::goTo(uint64_t step) {
  if (step < taken || (over && step <= taken)) {
    if (chosen)
      fix();
    restart();
  }
  while (taken < step && advance())
    if (taken % kStepsPerQuestion == 0 && asked.stop && asked.stop())
      throw Interrupted();
}

void Replay::record(bool on) {
  if (on)
    held->options.onTouch = [this](const Decoded &d, int slot, int row, int64_t byte, int64_t bytes, bool write) {
      note(d, slot, row, byte, bytes, write);
    };
  else
    held->options.onTouch = nullptr;
}

void Replay::note(const Decoded &d, int slot, int row, int64_t byte, int64_t bytes, bool write) {
  const Access &a = d.values[static_cast<size_t>(slot)].access;
  seen.push_back({{static_cast<uint8_t>(d.core), d.engine, d.index},
                  program.patterns[a.pattern].dtype,
                  strict->memoryNow().place(a.object, d.core).memory,
                  row,
                  byte,
                  bytes,
                  write,
                  d.def->slots[static_cast<size_t>(slot)].name,
                  a.object});
}

} // namespace glia::debug
