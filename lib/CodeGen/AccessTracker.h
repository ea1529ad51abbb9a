// Who touched what last: finds the earlier instructions that a new one conflicts with. Memory is cut into granules so that the
// cost does not grow with the length of the program.
#pragma once
#include "Touch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <map>

namespace glia::codegen {

class AccessTracker {
public:
  // Calls `found` for every recorded instruction that conflicts with `t` (some more than once).
  void conflicts(const Touch &t, llvm::function_ref<void(uint32_t)> found) const;
  // Records `t` for an instruction. A write that covers earlier records replaces them: who conflicts with them conflicts with it.
  void record(const Touch &t, uint32_t instruction);

private:
  struct Record {
    Touch touch;
    uint32_t instruction;
  };
  struct Granule {
    std::vector<Record> reads, writes;
    void conflicts(const Touch &t, llvm::function_ref<void(uint32_t)> found) const;
    void forget(const Touch &t, uint32_t instruction, int64_t lo, int64_t hi); // of [lo, hi), which is its own
    void add(const Touch &t, uint32_t instruction) { (t.write ? writes : reads).push_back({t, instruction}); }
  };
  // A tensor in HBM may be touched in small pieces, in rows far apart, or somewhere within all of it: each touch is in granules of a
  // size of which it needs few.
  static constexpr int64_t kChipGranule = 1024, kSmallest = 65536, kFactor = 16, kFew = 8;
  using Levels = std::array<std::map<int64_t, Granule>, 6>;
  std::array<std::vector<Granule>, 2> chip; // SBUF, PSUM
  llvm::DenseMap<const void *, Levels> hbm;
};

} // namespace glia::codegen
