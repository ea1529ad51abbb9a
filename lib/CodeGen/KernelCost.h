// How long instructions take, from the machine's own cost formulas; for scheduling.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/ISA/Cost.h"

namespace glia::codegen {

struct Duration {
  double busy = 0;     // the engine can issue its next instruction after this
  double latency = 0;  // results can be used after this
  double lead = 0;     // an instruction on the same engine that walks the same elements can use them after this; 0: no
  double setup = 0;    // before the start, after the operands are there; hidden behind the instruction before
  double reload = 0;   // behind the start of the instruction before
  uint16_t tile = 0;   // parts of the Tensor engine's array; 0: all
  double issue = 0;    // with a tile: another can start on other parts after this
  double part = 1;     // of the engine that is taken
  double transfer = 0; // DMA: how long the data move, alone
  double share = 0;    // DMA: the part of all DMA engines that is taken meanwhile
};

// Bytes of the longest run of adjacent elements.
double runBytes(nisa::AccessAttr a);

Duration durationOf(nisa::Instr i, const Target &target, Engine e);

// What the busiest engine, or all DMA engines, have to do, once every instruction has its engine: ns. Loops whose count is data count once.
double workOf(mlir::Block &block, const Target &target);

} // namespace glia::codegen
