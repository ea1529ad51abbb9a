// How far a computed tensor is from the reference: the local rule of docs/numerics.md.
#pragma once
#include "glia/Interpret/Interpret.h"

#include <span>
#include <string>

namespace glia::emit {

// How close a value has to be.
enum class Closeness : uint8_t {
  Exact,    // bit for bit (any NaN equals any NaN of a float that was computed)
  Number,   // the same, but zeros may have either sign: largest and smallest ones of a set
  Rounding, // a float that went through operations that round
  Chain,    // the same, several of them: sums may be larger than what is made of them
  Decided,  // an integer or a truth value that hangs on such a float: near a border it may fall on the other side
};

struct Difference {
  size_t wrong = 0, elements = 0; // how many are too far
  size_t first = 0;               // the first of them
  double got = 0, want = 0;       // there
  double error = 0;               // relative L2 against the evaluation in f64; exact ones: the share of wrong elements
  double reference = 0;           // the same of the reference itself
  bool ok() const { return wrong == 0; }
};

// `want`: the reference in its own types. `ideal`: the same evaluated in f64, for Rounding; may be null.
// Rounding: an element may be off by 32 roundings of its own size and the tensor's (root mean square), or by 8 times what the
// reference itself is off from f64 anywhere. Chain: 128 of fp32, which is what sums are made in.
// `shaken`: evaluations in f64 of inputs that are off by a rounding of f32; an element may also be off by 8 times what that alone
// changes anywhere (a long sum that comes out near zero).
Difference compareTensors(const HostTensor &got, const HostTensor &want, const HostTensor *ideal, Closeness rule,
                          std::span<const HostTensor> shaken = {});

// The least and the largest floats that this takes.
std::pair<HostTensor, HostTensor> takenFloats(const HostTensor &want, const HostTensor &ideal, Closeness rule,
                                              std::span<const HostTensor> shaken);
// Integers that grow or shrink with a float: they have to lie between those of two others.
Difference compareBetween(const HostTensor &got, const HostTensor &want, const HostTensor &one, const HostTensor &other);

// A result of a whole program: many operations that round, in groups other than the reference's. `shaken`: evaluations in f64 with every
// value that is computed off by some roundings of its type. An element may be off as a Chain's, and by twice what the shaking changes
// anywhere; what the evaluations do not agree about (an integer, a truth value, whether it is finite) may be anything. Where they are seen
// to disagree about some integers, as many others, at most one of a hundred, may be on such a border too.
Difference compareResults(const HostTensor &got, const HostTensor &want, const HostTensor &ideal,
                          std::span<const HostTensor> shaken = {});

// "[3, 5]": the index of an element that is known by its number in row-major order.
std::string indexText(std::span<const int64_t> shape, size_t element);

// Relative L2 distance from `ideal`; elements that are not finite in either are left out.
double relativeError(const HostTensor &t, const HostTensor &ideal);

} // namespace glia::emit
