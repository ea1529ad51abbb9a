// The accumulator registers: one fp32 number per lane in the Scalar engine (activation) and in the Vector engine (shared by
// range_select and tensor_scalar_reduce). They outlive an instruction, so the verifier and strict mode follow whether they
// are defined, with the same function.
// A lane is the absolute partition of the slot "data" (assumed). At the start of a program the registers are undefined.
#pragma once
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Alu.h"

namespace glia {

enum class ReduceCmd : uint8_t {
  Idle,        // leave the registers alone. Vector: the hardware may clobber them, so they count as undefined afterwards
  Reset,       // set them to the identity of the reduction, ignore the data
  Reduce,      // reduce the data onto them
  ResetReduce, // reset, then reduce
  LoadReduce,  // load them from the slot "reduce_init", then reduce
};
const EnumNames &reduceCmdNames(); // "idle" "reset" "reduce" "reset_reduce" "load_reduce"

// Whether a lane is defined after `cmd`: before = was it so far, data = all inputs of the lane are, init = its "reduce_init" is.
bool accumulatorDefined(ReduceCmd cmd, Engine engine, bool before, bool data, bool init);

// Applies `cmd` to the register of `data`'s partition p, given the row that was computed. Returns the new value.
float accumulate(Exec &x, ReduceCmd cmd, AluOp op, const Region &data, int p, const float *row, int64_t n, float init);

} // namespace glia
