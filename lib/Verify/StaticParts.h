// The parts of the static rules: what is computed once per program, and the checks in their files.
#pragma once
#include "Wide.h"
#include "glia/ISA/Check.h"
#include "glia/Verify/Reporter.h"
#include "glia/Verify/StaticRules.h"

#include <cstdint>
#include <vector>

namespace glia {

struct PatternFacts {     // computed once per pattern
  int64_t elements = 0;   // per partition
  int64_t lo = 0, hi = 0; // bytes touched, relative to the start: [lo, hi)
  uint32_t maxCount = 0;
  int64_t maxStride = 0, minStride = 0; // elements, over dimensions of more than one element
  uint8_t dims = 0;                     // dimensions of more than one element, adjacent ones counted as one
  bool distinct = true;                 // no element twice
  bool aligned = true;                  // registers move the address by whole elements
  bool movesPartition = false;          // a register is part of the partition address
};
std::vector<PatternFacts> patternFacts(const Program &p);

struct ObjectFacts {
  Space space = Space::Hbm;
  int64_t bytes = 0; // per partition on chip, in all in HBM
  int64_t byteOffset = 0;
  int64_t partition = 0, partitions = 0;
  bool readOnly = false;
};

// DeclarationRules.cpp
void checkDeclarations(const Program &p, Reporter &r);

// OperandOverlap.cpp: whether two operands of one memory may share a byte. Exact for the usual patterns, on the safe
// side for others.
bool mayOverlap(const Pattern &a, const PatternFacts &fa, int64_t startA, const Pattern &b, const PatternFacts &fb,
                int64_t startB);

// Whether two operands, the second of which starts `lo` to `hi` bytes after the first, share no byte because both repeat with
// this period and their runs lie apart in it.
bool apartModulo(const Pattern &a, const Pattern &b, Wide lo, Wide hi, int64_t period);
// Whether they share a byte, run by run; operands of very many runs count as all that lies between.
bool footprintsMeet(const Pattern &a, int64_t startA, const Pattern &b, int64_t startB);

// ControlRules.cpp
void checkLoops(const Program &p, int core, Engine engine, Reporter &r);

// RankRules.cpp
void checkRanks(const Program &p, Reporter &r);

// SyncRules.cpp: semaphore operations and queues.
class SyncRules {
public:
  SyncRules(const Program &p, Reporter &r);
  void checkSyncs(const InstrDef &def, const InstrRef &at, std::span<const SyncOp> ops);
  void checkQueue(const Decoded &d);

private:
  const Program &p;
  Reporter &r;
  std::vector<int8_t> queueOwner;             // engine that issues to the queue, -1 = none yet
  std::vector<std::vector<int8_t>> pipeOwner; // [core][pipe]
};

// OperandRules.cpp: the rules that every tensor operand obeys, whatever the instruction.
class OperandRules {
public:
  OperandRules(const Program &p, Reporter &r);
  // Places the operands of `d` in memory; the result is valid until the next call.
  const std::vector<OperandInfo> &place(const Decoded &d);
  // False: an operand is where its engine cannot reach, and the rules of the instruction itself make no sense.
  bool check(const Decoded &d);

private:
  const Program &p;
  const Target &target;
  Reporter &r;
  std::vector<PatternFacts> patterns;
  std::vector<ObjectFacts> tensors, allocations;
  std::vector<OperandInfo> infos;
  // Limits of the target, read once.
  int64_t maxCount, maxStride, maxFree[2], maxDmaDims;
  std::array<bool, kNumDTypes> typeThere;
  std::array<std::string_view, kNumDTypes> typeFeature;

  const ObjectFacts &object(ObjectRef o) const {
    return o.kind == ObjectKind::Tensor ? tensors[o.index] : allocations[o.index];
  }
  bool checkOne(const Decoded &d, int slot);
  void checkBounds(const Decoded &d, int slot);
  void checkEngineOperand(const Decoded &d, int slot);
  bool checkReach(const Decoded &d, int slot);
  void checkType(const Decoded &d, int slot, bool plainMove);
  void checkPairs(const Decoded &d);
  void checkPair(const Decoded &d, int written, int other);
};

} // namespace glia
