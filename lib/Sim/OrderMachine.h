// The steps of every-order mode: what can happen in a state, and the state after it.
#pragma once
#include "OrderState.h"

namespace glia::sim {

// Bytes on chip that were last written through another allocation (M3).
inline bool isForeign(ByteTag t, const Region &r) {
  return r.space != Space::Hbm && t.owner && t.owner != r.object.index + 1;
}

// A step. An engine passes a wait, does its instruction (or hands its transfer over) or leaves a barrier; a part of a transfer
// reads, writes or completes.
struct OrderStep {
  enum Kind : uint8_t { Wait, Do, Leave, Read, Write, Complete } kind = Do;
  uint8_t part = 0, side = 0;
  uint16_t stream = 0; // Wait, Do, Leave
  uint16_t queue = 0;  // Read, Write, Complete: and the transfer's place among those in flight
  uint32_t transfer = 0;
  InstrId id; // the instruction, for messages
};

class OrderMachine : public Machine, private AccessRecorder {
public:
  OrderMachine(const Program &p, const TensorViews &inputs, const RunOptions &options);

  // What each part of a transfer adds when it completes; together, what the transfer adds.
  using Shares = std::array<int, kOrderParts>;
  // The shares that have to be tried: equal ones, and very unequal ones if a wait asks for other amounts.
  std::vector<Shares> sharesToTry() const;
  void use(const Shares &s) { shares = s; }

  OrderState begin();
  // The steps that can be taken, engines first.
  void enabled(const OrderState &s, std::vector<OrderStep> &out) const;
  // Takes a step. Throws Fault or Trap.
  OrderState take(const OrderState &from, const OrderStep &step);
  // Nothing can happen any more: the outputs. Throws Fault if engines stand still or outputs are undefined.
  TensorData end(const OrderState &s);
  Diagnostic trapDiagnostic(const Trap &t) const { return diagnosticAt(program, current, t.code, t.message); }
  std::string text(const OrderStep &step) const;

  // ---- for OrderReduction
  const Program &prog() const { return program; }
  const Memory &mem() const { return memory; }
  const Resolver &res() const { return resolver; }
  Windows::Stretch stretch(int64_t at, int64_t n) const { return windows.stretch(at, n); }
  int pipeQueue(const Prepared &x) const { return pipes.at(pipeOf(x)); }
  std::span<const SyncOp> waits(const OrderState &s, int stream) const;
  static std::string_view barrier(const Prepared &x) { return barrierName(x); }
  int peer(int core) const { return peerOf(core); }
  // The first instruction that the engine may still execute when it stands at `pc`: where the outermost loop around it begins.
  uint32_t reachable(int stream, uint32_t pc) const {
    return pc < firstReachable[stream].size() ? firstReachable[stream][pc] : pc;
  }

private:
  Windows windows;
  Definedness definedness;
  std::vector<uint8_t> bits, stale;                  // by byte: undefined, as `definedness` has it now; empty: not known
  std::map<int, int> pipes;                          // pipe -> queue
  std::vector<std::vector<uint32_t>> firstReachable; // by stream
  std::vector<std::vector<std::string_view>> barrierNames; // by stream and instruction
  Shares shares{};
  OrderState now;

  void beforeRegisters(const StreamState &s, const Prepared &x) override;
  void resume(int stream);
  void load();
  void instruction(int stream, bool leave);
  void compute(int stream, Prepared &x);
  void fire(const Prepared &x);
  template <class F> void forEachByte(const Region &r, int core, F &&f) const; // f(place in the image, memory, row, byte)

  // ---- transfers (OrderTransfer.cpp)
  void issue(const Prepared &x);
  void issueExchange(const Prepared &x);
  void enqueue(OrderQueue &q, std::vector<std::shared_ptr<const Prepared>> sides);
  void readPart(OrderTransfer &t, int part, int side);
  void writePart(OrderTransfer &t, int part, int side);
  void completePart(OrderQueue &q, OrderTransfer &t, int part);
  struct Touching { // a part that is being read
    const Prepared *x = nullptr;
    int64_t first = 0;                           // element of the stretch that is being copied
    int64_t written = 0;                         // elements of it that are written
    std::vector<std::vector<uint8_t>> undefined; // by slot: elements of the stretch
    struct Run {
      int64_t at, bytes, element;
      int size;
    };
    std::vector<Run> reads, writes;                     // in memory that can change
    std::vector<std::vector<uint8_t>> writtenUndefined; // by run of `writes`
    std::vector<std::pair<int64_t, std::byte>> twice;   // a byte that is written again, and its value before
  };
  Touching touching;
  std::vector<int64_t> writer; // by byte of the image: the element that writes it; -1: none
  void touched(int slot, const Region &r, int partition, int64_t byteInRow, int64_t bytes, bool write) override;
  void touchedRead(int slot, const Region &r, int row, int64_t lo, int64_t bytes);
  void touchedWrite(const Region &r, int row, int64_t lo, int64_t bytes);
  void requireOrderless(const std::vector<std::byte> &after) const;
};

} // namespace glia::sim
