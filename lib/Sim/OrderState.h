// A state of the machine as a value, for the search of every-order mode: bytes with what is known of them, engines,
// semaphores, transfers under way.
#pragma once
#include "Definedness.h"
#include "Machine.h"

#include <deque>

namespace glia::sim {

// Transfers come in two parts here, each of which adds half of what the sixteen add together: enough to see one part before
// another.
inline constexpr int kOrderParts = 2;

// What is known of a byte.
struct ByteTag {
  uint16_t defined : 1 = 0;
  uint16_t matmul : 1 = 0; // last written by the Tensor engine
  uint16_t owner : 14 = 0; // 1 + the object it was last written through; 0: never written
  friend bool operator==(const ByteTag &, const ByteTag &) = default;
};
inline constexpr uint32_t kMostOwners = (1u << 14) - 1;

// Memory that a program can change, cut to what its objects cover: rows of bytes, one after the other in an image.
class Windows {
public:
  Windows(const Program &p, const Memory &memory);
  // Where a byte is in the image; -1 for memory that never changes. Bytes of a row that an object covers follow each other.
  int64_t at(int memory, int row, int64_t byte) const;
  size_t size() const { return bytes; }
  // The memory that a stretch of the image stands for, or more where it goes over several rows.
  struct Stretch {
    int memory, firstRow, endRow;
    int64_t lo, hi;
  };
  Stretch stretch(int64_t at, int64_t n) const;
  void copyOut(std::vector<std::byte> &image) const;      // from the simulated memory
  void copyIn(const std::vector<std::byte> &image) const; // into it
  struct Window {
    int memory, firstRow, rows;
    int64_t lo, hi; // bytes of each row
    size_t start;   // of its first row in the image
    std::byte *base;
    int64_t pitch;
  };
  const std::vector<Window> &all() const { return windows; }

private:
  std::vector<Window> windows;
  std::vector<std::vector<int>> byMemory;
  size_t bytes = 0;
};

struct OrderStream {
  uint32_t pc = 0;
  int waited = 0;
  uint64_t barrier = 0;
  EngineState state;
  EngineDefined defined;
  std::vector<StreamState::Loop> loops;
};

struct OrderPiece { // bytes on their way
  int64_t at;       // in the image
  std::vector<std::byte> bytes;
  std::vector<ByteTag> tags;
};

struct OrderTransfer {
  enum Phase : uint8_t { Issued, Read, Written };
  struct Part {
    std::array<Phase, 2> phase{}; // by side
    std::array<std::vector<OrderPiece>, 2> pieces;
    bool complete = false;
  };
  std::vector<std::shared_ptr<const Prepared>> sides; // one, of an exchange two
  std::array<Part, kOrderParts> parts;
  uint32_t number = 0; // in its queue, from 1
  bool complete() const { return parts[0].complete && parts[1].complete; }
};

struct OrderQueue { // a DMA queue, or a pipe
  std::deque<OrderTransfer> inFlight;
  uint32_t issued = 0;
  std::array<int, 2> owner{-1, -1};                                   // engine that issues to it, by core parity
  std::array<std::deque<std::shared_ptr<const Prepared>>, 2> waiting; // pipes: sides without a partner, by core parity
};

struct OrderState {
  std::vector<std::byte> bytes;
  std::vector<ByteTag> tags;
  std::vector<OrderStream> streams;
  std::vector<int32_t> semaphores;
  std::vector<OrderQueue> queues;
  std::map<std::pair<std::string_view, int>, uint64_t> arrivals; // barriers reached, by name and core
};

using StateKey = std::array<uint64_t, 2>;
StateKey keyOf(const OrderState &s);

} // namespace glia::sim
