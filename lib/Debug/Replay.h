// A run in strict mode that can be taken forwards and, since every run is the same, back: by running again from its start.
#pragma once
#include "Sim/Strict.h"

namespace glia::debug {

struct Touched { // bytes that a step read or wrote
  sim::InstrId by;
  DType dtype = DType::F32;
  int memory = 0, row = 0; // of sim::Memory
  int64_t byte = 0, bytes = 0;
  bool write = false;
  std::string_view slot;
  ObjectRef object;
};

class Replay {
public:
  Replay(const Program &p, TensorData inputs, RunOptions options);
  const Program &prog() const { return program; }
  sim::Strict &machine() { return *strict; }
  uint64_t steps() const { return taken; }
  bool ended() const { return over; }
  bool advance(); // one step; false: the run has ended
  // From now on `advance` goes no further than the predicted run is at a time in ns: what has begun by then is done, and transfers that
  // are complete by then are. Throws Error as simulateTime does.
  void pauseAt(double ns);
  // It has come there; then the pause is over.
  bool paused() const { return reached; }
  // Throws Interrupted if it is told to stop on the way; then it is somewhere before.
  void goTo(uint64_t step);
  // From now on, what each step touches is in `touched`.
  void record(bool on);
  const std::vector<Touched> &touched() const { return seen; }
  // The same run from its start, on its own.
  Replay again() const;

private:
  const Program &program;
  TensorData inputs;
  const RunOptions asked; // as the caller gave them
  struct Held {           // does not move
    TensorViews views;
    RunOptions options;
  };
  std::unique_ptr<Held> held;
  std::unique_ptr<sim::Strict> strict;
  uint64_t taken = 0;
  bool over = false, reached = false;
  std::optional<sim::Strict::Pause> pause;
  std::vector<Touched> seen;
  // Once somebody other than the seed has chosen steps, those that were taken are kept, and the way back takes them again.
  std::vector<ScheduleStep> history, fixed;
  bool chosen = false;
  void fix();
  void restart();
  void took();
  void note(const Decoded &d, int slot, int row, int64_t byte, int64_t bytes, bool write);
};

} // namespace glia::debug
