// Where everything of the objects is in the program: memory, semaphores, queues, pipes, tensors.
#pragma once
#include "Compose.h"
#include "glia/Program/Builder.h"

#include <map>
#include <set>

namespace glia::link {

// Calls aside go on at the same time on queues of their own: a core has two cores beside it that drive collectives, a stream each (documented).
inline constexpr int kStreams = 2;

struct OwnSemaphores { // of the linker, on one core
  int toSync[kNumEngines] = {-1, -1, -1, -1, -1}, fromSync[kNumEngines] = {-1, -1, -1, -1, -1};
  int completed[2] = {-1, -1};        // transfers that nobody waits for, per slot
  int exchanged[kStreams] = {-1, -1}; // those of calls aside, per stream
};

class Layout {
public:
  // Decides which objects are `whole` for want of semaphores, gives the calls their slots, and declares everything in `b`.
  Layout(Composition &c, Builder &b);

  std::vector<OwnSemaphores> own;        // [core]
  std::vector<std::map<int, int>> pipes; // [object] its pipe -> the program's

  // Numbers in the program, of an object in a slot.
  int queue(uint32_t object, int slot, uint32_t n) const {
    return c.objects[object].aside ? streams[static_cast<size_t>(slot)] : queues[object][n];
  }
  int semaphore(uint32_t object, int slot, uint32_t n) const { return semaphores.at({object, slot})[n]; }
  uint32_t allocation(uint32_t object, int slot, uint32_t n) { return place(object, slot).allocations[n]; }
  uint32_t tensor(uint32_t object, int slot, uint32_t n) { return place(object, slot).tensors[n]; } // constants and scratch

  // A transfer that says nothing but that its queue is empty: from `zero` into a byte of its own.
  Access fenceTo(int slot, int queue), fenceFrom();

private:
  struct Place {
    std::vector<uint32_t> allocations, tensors;
  };
  Composition &c;
  Builder &b;
  std::map<std::pair<uint32_t, int>, std::vector<int>> semaphores;
  std::map<std::pair<uint32_t, int>, Place> places;
  std::vector<std::vector<int>> queues; // [object][its queue]
  std::vector<int> streams;             // queues of calls aside
  std::map<std::string, uint32_t> constants;
  std::set<std::string> names; // of tensors and allocations
  uint32_t tick = 0;
  int fence = -1, zero = -1;

  void shareSemaphores();
  void shareQueues();
  void sharePipes();
  void takeTurns();
  const Place &place(uint32_t object, int slot);
  uint32_t constant(const Object &o, const Tensor &t);
  std::string fresh(const std::string &stem);
};

} // namespace glia::link
