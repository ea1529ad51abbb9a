// Who touched what last: finds the earlier instructions that a new one conflicts with. Memory is cut into granules so that the
// cost does not grow with the length of the program.
#pragma once
#include "Touch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

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
  };
  static constexpr int64_t kChipGranule = 1024, kHbmGranule = 65536;
  llvm::DenseMap<std::pair<const void *, int64_t>, Granule> granules;
  template <class F> static void eachGranule(const Touch &t, F f);
};

} // namespace glia::codegen
