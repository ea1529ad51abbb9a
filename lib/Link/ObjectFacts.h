// What the linker has to know about an object: found once per object, by looking at its instructions.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Program/Program.h"

#include <array>
#include <climits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace glia::link {

struct Hull { // bytes of a tensor
  int64_t lo = INT64_MAX, hi = 0;
  bool empty() const { return lo >= hi; }
  void add(int64_t from, int64_t to) {
    lo = std::min(lo, from);
    hi = std::max(hi, to);
  }
  bool meets(const Hull &o) const { return lo < o.hi && o.lo < hi; }
};

struct TensorUse { // of one tensor by one core
  uint32_t tensor = 0;
  Hull read, write;
  uint8_t engines = 0;               // that touch it
  uint32_t firstOnSync = UINT32_MAX; // where the Sync engine can be made to wait before it does
};

// What a semaphore is used for. Objects share one in a program only if they use it alike: who adds decides what a wait proves (S4,
// S5), and one engine waits (S3).
struct SemaphoreClass {
  uint8_t core = 0;
  uint32_t producer = 0; // bit of the engine, 0: a transfer, or several engines
  uint32_t waiters = 0;
  int32_t initial = 0;
  friend auto operator<=>(const SemaphoreClass &, const SemaphoreClass &) = default;
};

struct EngineFacts { // one engine's part of an object
  uint32_t size = 0;
  bool markOnLast = false;   // its last instruction can say that the part is over
  bool firstCarries = false; // its first instruction can wait
  // Of Sync: instructions before `early` are transfers that wait for nothing; those from `late` on only end the call.
  uint32_t early = 0, late = 0;
  struct Opening {
    uint32_t queue = 0;
    std::vector<uint32_t> tensors; // of the object
  };
  std::vector<Opening> openings;   // the instructions before `early`
  bool sbuf = false, psum = false; // compute instructions that touch it (M1, M2)
  std::vector<uint32_t> completed; // transfers that nobody waits for and that are the last on their queue or pipe
  std::vector<uint32_t> fences;    // queues whose last transfer is in a loop and nobody waits for it
  std::vector<uint32_t> outermost; // per instruction: itself, or the loop or branch it is in
  int64_t firstLoad = -1;          // a table load that can be left out if `firstSet` is resident
  std::string firstSet, leaves;    // "": unchanged, "?": not known
};

struct ObjectFacts {
  const Program *program = nullptr;
  std::string kernel;
  std::vector<std::array<EngineFacts, kNumEngines>> engines; // [core]
  std::vector<std::vector<TensorUse>> uses;                  // [core]
  std::vector<SemaphoreClass> semaphores;
  std::vector<int> queueOwner;                 // engine, -1: nobody
  std::map<int, std::array<int, 2>> pipeOwner; // pipe -> engine per core, -1: nobody
  std::map<std::string, std::string> tables;   // activation sets that it loads -> where
  int64_t bytes[2] = {0, 0};                   // SBUF and PSUM per partition, the most of a core
  uint32_t ticks = 0;
  bool unknownLoops = false; // with a count that is known only when it runs
};

// Throws Error LINK-SEMAPHORES, LINK-CONTRACT. `alone`: the only call of its program, which asks for less.
ObjectFacts factsOf(const Program &object, bool alone);

// "`scan` (k.py:12, tensor_tensor)" for messages.
std::string placeOf(const Program &p, const Instr &i);

} // namespace glia::link
