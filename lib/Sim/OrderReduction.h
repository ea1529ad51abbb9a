// Which steps of a state have to be tried: a stubborn set. What is left out can be taken later without changing how the program
// can end. docs/every-order.md has the argument.
#pragma once
#include "OrderMachine.h"

namespace glia::sim {

class OrderReduction {
public:
  explicit OrderReduction(const OrderMachine &m);
  // Keeps of `steps`, all that can be taken in `s`, those of the smallest stubborn set found.
  void reduce(const OrderState &s, std::vector<OrderStep> &steps);

private:
  struct Area { // bytes of a memory: a range of bytes on a range of rows
    int memory, firstRow, endRow;
    int64_t lo, hi;
    bool meets(const Area &o) const {
      return memory == o.memory && lo < o.hi && o.lo < hi && firstRow < o.endRow && o.firstRow < endRow;
    }
  };
  // What a step, or all that an instruction will ever do, may use.
  struct Use {
    std::vector<Area> reads, writes;
    std::vector<int> adds, sets, waits, consumes; // semaphores
    int queue = -1;                               // issues to it
    std::string_view barrier;                     // arrives at it ...
    int barrierCore = -1;                         // ... on this core
  };
  struct Instruction {
    std::vector<Use> waits;    // one by one
    Use act;                   // doing it; of a transfer: handing it over
    Use leave;                 // a barrier
    Use read, write, complete; // a transfer: both parts together
    Use all;                   // everything
  };
  const OrderMachine &machine;
  std::vector<std::vector<Instruction>> instructions; // by stream
  std::vector<bool> mayOverflow;                      // by semaphore

  Instruction instructionAt(int stream, uint32_t index) const;
  bool dependent(const Use &a, const Use &b) const;
  Use useOf(const OrderState &s, const OrderStep &step) const;
  Area areaOf(const Region &r, int core) const;

  // ---- the set under construction
  const OrderState *state = nullptr;
  const std::vector<OrderStep> *candidates = nullptr;
  std::vector<bool> chosen; // by candidate
  std::vector<size_t> work;
  std::vector<bool> enablingStream; // by stream: what may enable its next step is in the set
  size_t count = 0;
  void choose(size_t candidate);
  void chooseStream(int stream);
  void choosePart(size_t queue, size_t transfer, int part, int side, OrderStep::Kind kind);
  void chooseAdders(int semaphore);
  void choosePartner(size_t queue, int side);
  void close(size_t candidate);
  bool future(int stream, const Use &u) const; // something that the stream may still do depends on `u`
  size_t find(const OrderStep &step) const;
  uint32_t first(size_t stream) const { // that it may still execute
    return machine.reachable(static_cast<int>(stream), state->streams[stream].pc);
  }
  const Instruction &instructionOf(InstrId id) const {
    return instructions[id.core * kNumEngines + static_cast<int>(id.engine)][id.index];
  }
};

} // namespace glia::sim
