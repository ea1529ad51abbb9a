// Strict mode: one step at a time in an order that the seed picks, with shadow state that finds what the ordering model
// (docs/ordering.md) forbids. The first fault ends the run.
#pragma once
#include "Definedness.h"
#include "Machine.h"
#include "Shadow.h"
#include "glia/Support/Random.h"

#include <deque>
#include <map>
#include <set>

namespace glia::sim {

class Strict final : public Machine, private AccessRecorder {
public:
  Strict(const Program &p, const TensorViews &inputs, const RunOptions &options);
  RunResult run();

  // ---- one step at a time (StrictStep.cpp)
  struct Taken { // the last step
    enum Kind : uint8_t { Wait, Instruction, Part } kind = Wait;
    ScheduleStep who;
    InstrId id;
    bool last = false; // Part: the transfer is complete
  };
  struct Flight { // a transfer that is under way
    std::string queue;
    std::vector<InstrId> issuers;
    int left = 0;                               // parts to do
    int waits = 0;                              // transfers before it in its queue
    std::vector<std::pair<int, Region>> writes; // memory, and where in it
  };
  struct Pause {                                   // how far engines and queues may go
    std::vector<uint32_t> instructions, transfers; // by engine, by queue
  };
  // False: the run has ended, and `so` is its result.
  bool advance();
  // False: nothing can move before the pause, or a fault has ended the run.
  bool advanceTo(const Pause &p);
  const RunResult &so() const { return result; }
  const Taken &taken() const { return lastTaken; }
  const std::vector<StreamState> &engineStates() const { return streams; }
  bool canMove(int stream) { return canStep(streams[stream]); }
  // What an engine that cannot move waits for.
  std::string standing(int stream) const;
  int32_t semaphoreNow(int semaphore) const { return semaphores[semaphore].value; }
  std::vector<Flight> flights() const;
  const Memory &memoryNow() const { return memory; }
  bool isDefined(int memoryIndex, int row, int64_t lo, int64_t bytes) const;
  bool isDefinedRegister(int stream, int reg) const { return engines[stream].regs >> reg & 1; }

private:
  // What one side of a transfer does. A DMA has one side, an exchange two.
  struct Transfer {
    std::vector<Prepared> sides;
    Clock clock;          // what its issuer knew
    uint32_t number = 0;  // in its queue, from 1
    int left = 0;         // parts to do
    uint64_t moved = 0;   // parts whose data have moved before their turn
    SharedBytes received; // a collective: what this rank gets
    // An indexed transfer inside one tensor: which of its elements touched which bytes.
    std::optional<Shadow> own;
    std::map<int64_t, uint32_t> stretches; // by where their element 0 would be: numbers from 1
  };
  struct TransferQueue { // a DMA queue or a pipe
    uint16_t component = 0;
    std::deque<Transfer> inFlight;
    uint64_t popped = 0, issued = 0;
    std::vector<uint64_t> next;       // by part: the transfer it does next
    std::array<int, 2> owner{-1, -1}; // engine that issues to it, by core parity
  };
  // The event that is being checked: an instruction, or a transfer.
  struct Event {
    const Prepared *x = nullptr;
    uint16_t component = 0;
    uint32_t time = 0;
    const Clock *clock = nullptr;
    bool transfer = false;
    Transfer *under = nullptr; // the transfer whose part is executed ...
    int part = 0;              // ... and which part
  };

  // ---- scheduling (Strict.cpp, StrictSteer.cpp)
  Random random;
  std::vector<Clock> clocks; // by stream
  std::vector<SemaphoreClock> semaphores;
  std::vector<TransferQueue> queues;                                                 // DMA queues, then pipes
  std::map<int, int> pipeQueue;                                                      // pipe -> index in `queues`
  std::map<int, std::array<std::deque<std::pair<Prepared, Clock>>, 2>> waitingSides; // pipe -> by core parity
  std::vector<uint32_t> active; // queue * parts + part, for parts that have something to do
  std::map<std::string_view, std::map<int, uint64_t>> arrivals;
  std::optional<InstrId> held;
  size_t turn = 0, partTurn = 0;
  std::vector<uint32_t> ready;

  uint16_t streamIndex(const StreamState &s) const {
    return static_cast<uint16_t>(s.core * kNumEngines + static_cast<int>(s.engine));
  }
  void loop();
  bool pickAny() { return (options.schedule && pickGiven()) || pick(false) || pick(true); }
  bool pickGiven();
  // Of transfers of one queue, data may move in any order (D4): a later one's before those of the one whose turn it is. `ahead` 0: the
  // first that has not moved.
  bool moveAhead(uint32_t queueAndPart, int ahead);
  size_t given = 0; // steps of the schedule that were taken
  Taken lastTaken;
  const Pause *pause = nullptr;
  void requireEnded();
  bool canStep(StreamState &s);
  bool isHeld(const StreamState &s) const;
  bool isHeldPart(uint32_t a) const;
  bool pick(bool withHeld);
  bool pickSteered(bool withHeld);
  struct Steering {                      // who goes first while it can; the seed decides
    std::vector<int64_t> engines, parts; // priority by stream, by queue and part
    int64_t lowest = 0;
    int64_t stretch = 0; // steps between changes, about
  } steering;
  void steer();
  void step(StreamState &s);
  void stepPart(size_t at);
  void instruction(StreamState &s);
  void issue(StreamState &s, const Prepared &x);
  void issueExchange(StreamState &s, const Prepared &x);
  void enqueue(TransferQueue &q, Transfer t);
  bool sharesMemory(const Prepared &x) const;
  void barrierDone(StreamState &s);
  void fire(const Prepared &x, const Clock &clock);
  Fault stuck();

  // ---- accesses (StrictAccess.cpp)
  std::vector<Shadow> shadows; // by memory
  Definedness definedness;
  std::vector<EngineDefined> engines;         // by stream
  std::vector<std::vector<ByteRect>> foreign; // by slot of the event
  Event event;
  std::vector<bool> readOnlyUsed;
  struct Extent {
    int64_t lo, hi;
  };
  std::vector<Extent> extents;                       // by slot: bytes from the operand's start
  std::vector<std::vector<uint8_t>> touchedElements; // indexed transfers: by slot, elements read and not yet written
  size_t touchedWritten = 0;
  int64_t touchedBefore = 0; // elements of this part before those

  void access(const Event &e, const std::vector<Exec::Operand> &operands);
  void accessRegion(int slot, const Region &r, bool write);
  bool storesTheSame(const Conflict &c, int slot);
  void touched(int slot, const Region &r, int partition, int64_t byteInRow, int64_t bytes, bool write) override;
  void touchedTwice(int slot, const Region &r, int64_t lo, int64_t bytes, int64_t element, bool write);
  void touchedIndexed(int slot, const Region &r, int row, int64_t lo, int64_t bytes, bool write);
  void executeRecorded(const Event &e, std::vector<Exec::Operand> &operands, int part, int ofParts);
  void race(const Conflict &c, int slot, const Region &r, bool write);
  Touch touchOf(const Region &r) const;
  std::string objectBytes(const Region &r, const ByteRect &w) const;

  // ---- rules that need state (StrictRules.cpp, StrictRange.cpp)
  std::vector<std::set<int>> loadedSets; // by core
  struct Serial {
    uint32_t time = 0;
    InstrId by;
  };
  std::vector<std::array<std::array<Serial, kNumEngines>, 2>> lastTouch; // [core][sbuf, psum][engine]
  std::array<bool, 2> concurrent{};                                      // sbuf: Vector and GpSimd, psum: Vector and Scalar
  void beforeRegisters(const StreamState &s, const Prepared &x) override;
  void checkRange(const Prepared &x);
  void countTables(const StreamState &s, const Prepared &x);
  void checkSerial(const StreamState &s, const Prepared &x);
  void checkOutputs();
  void account();
};

} // namespace glia::sim
