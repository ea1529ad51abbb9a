// Sizes, clocks and parameters for an instruction's cost formula. Times are nanoseconds.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Target/Target.h"

#include <bit>

namespace glia {

struct Cost {
  double busy = 0;    // the engine can start its next instruction after this
  double latency = 0; // results are visible and updates fire after this (>= busy unless the engine overlaps work)
  double lead = 0;    // the first element of the result is visible after this; 0 = only with the last one
  double setup = 0; // from the last wait to the work: hidden if the engine comes straight from another instruction (weights)
  double reload = 0; // from the start of the instruction before to its own: the part of the setup that is not only latency
  // Of the Tensor engine's array, 4 x 4 parts: those that it takes; 0: all. With a tile, the next one may start on other parts after `issue`.
  uint16_t tile = 0;
  double issue = 0;
  double share() const { return tile ? std::popcount(tile) / 16.0 : 1; } // of the engine
};

class CostQuery {
public:
  const InstrDef &def;
  const Target &target;
  const Engine engine;
  CostQuery(const InstrDef &d, const Target &t, Engine e) : def(d), target(t), engine(e) {}
  virtual ~CostQuery() = default;
  virtual bool has(int slot) const = 0; // a tensor is there (an immediate is not one)
  virtual const Pattern &pattern(int slot) const = 0;
  virtual Space space(int slot) const = 0;
  virtual int32_t integer(int slot) const = 0; // Enum Flag Small Int
  virtual float number(int slot) const = 0;    // Float, Scalar immediates

  double elements(int slot) const { return static_cast<double>(pattern(slot).elementsPerPartition()); }
  DType dtype(int slot) const { return pattern(slot).dtype; }
  double param(std::string_view key) const { return target.number(key); }
  double clock() const; // GHz of the issuing engine
  // Cost of a pipelined engine: `cycles` of work, at least the issue floor, plus the engine's fixed latency.
  Cost pipelined(double cycles) const;
  // Cost of a program on GpSimd: the start is not hidden behind the instruction before.
  Cost serial(double cycles) const;
  // Cost of an instruction that only the sequencer handles (registers, branches, nop).
  Cost sequencer() const;
};

} // namespace glia
