// Throughput of the Vector, Scalar and GpSimd engines for element streams: the published formulas and the automatic
// performance modes, chosen by target features.
#pragma once
#include "glia/ISA/Cost.h"

#include <initializer_list>

namespace glia {

// Elements per lane and cycle of a one-input instruction (tensor_copy, tensor_scalar) from slot `in` to slot `out`: 1, 2 or 4.
double streamRate(const CostQuery &q, int in, int out);

// True if each of these slots is a 16-bit float (or an 8-bit one where the target's modes take those).
bool narrowFloats(const CostQuery &q, std::initializer_list<int> slots);

// `cycles` of a stream over these tensors: doubled if an innermost stride is too wide for the memory interface, and at least
// the dynamic floor if an address has registers in it.
Cost streamCost(const CostQuery &q, double cycles, std::initializer_list<int> slots);

// The same plus reading the accumulator out, if slot `result` is there.
Cost withReadout(const CostQuery &q, Cost cost, int result);

// The same, with no result before the whole partition has been read (reductions).
Cost atEnd(Cost cost);

} // namespace glia
