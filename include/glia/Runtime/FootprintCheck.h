// Holds what strict mode saw against what the verifier believes: each instruction may touch only the bytes that its
// operands' patterns name, and writes all of those it is said to write. One wrong definition then cannot fool both.
#pragma once
#include "glia/Program/Decode.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/Footprint.h"

#include <map>
#include <optional>
#include <tuple>

namespace glia {

class FootprintCheck {
public:
  explicit FootprintCheck(const Program &p) : program(p) {}
  // For RunOptions::onTouch.
  void touched(const Decoded &d, int slot, int partition, int64_t byte, int64_t bytes, bool write);
  // The first disagreement; ask after the run.
  std::optional<Diagnostic> disagreement() const;

private:
  struct Known {
    bool exact = false; // the address is fixed: runs say what may be touched
    int firstPartition = 0, lastPartition = 0;
    std::vector<ByteRun> runs;
    bool mustWriteAll = false;
    int64_t bytes = 0; // in all partitions
    int64_t written = 0;
  };
  const Program &program;
  std::map<std::tuple<int, Engine, uint32_t, int>, Known> known; // core, engine, instruction, slot
  std::optional<Diagnostic> first;
  Known &lookUp(const Decoded &d, int slot);
  Diagnostic report(int core, Engine e, uint32_t index, int slot, const std::string &what) const;
};

// Runs a program; strict runs are held against the verifier's footprints too (fault FOOTPRINT).
RunResult runChecked(const Program &p, const TensorData &inputs, RunOptions options = {});

} // namespace glia
