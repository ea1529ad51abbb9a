#include "glia/ISA/Accumulator.h"

namespace glia {

const EnumNames &reduceCmdNames() {
  static constexpr std::string_view kNames[] = {"idle", "reset", "reduce", "reset_reduce", "load_reduce"};
  static const EnumNames names{"reduce_cmd", kNames};
  return names;
}

bool accumulatorDefined(ReduceCmd cmd, Engine engine, bool before, bool data, bool init) {
  switch (cmd) {
  case ReduceCmd::Idle: return before && engine != Engine::Vector;
  case ReduceCmd::Reset: return true;
  case ReduceCmd::Reduce: return before && data;
  case ReduceCmd::ResetReduce: return data;
  case ReduceCmd::LoadReduce: return init && data;
  }
  return false;
}

float accumulate(Exec &x, ReduceCmd cmd, AluOp op, const Region &data, int p, const float *row, int64_t n, float init) {
  float &reg = x.state->accumulator[(data.firstPartition + p) % kLanes];
  if (cmd == ReduceCmd::Reset || cmd == ReduceCmd::ResetReduce)
    reg = reduceIdentity(op);
  if (cmd == ReduceCmd::LoadReduce)
    reg = init;
  if (cmd == ReduceCmd::Reduce || cmd == ReduceCmd::ResetReduce || cmd == ReduceCmd::LoadReduce)
    reg = alu(op, reg, reduceRow(op, row, n));
  return reg;
}

} // namespace glia
