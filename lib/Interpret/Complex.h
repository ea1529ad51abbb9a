// Complex values while a function is evaluated: a datum of two parts, tensors of real and of imaginary parts.
#pragma once
#include "Interpret/Rules.h"

#include <complex>

namespace glia::interp {

using Complex = std::complex<double>;

Datum makeComplex(Element element, Tensor real, Tensor imaginary);
Datum fromPairs(Element element, const Tensor &pairs); // of the shape [..., 2]
Tensor toPairs(const Datum &d);

// The elements of a real or complex value, and a result made of them, rounded once.
std::vector<Complex> numbersOf(const Datum &d);
Datum datumOf(const TensorType &type, const std::vector<Complex> &numbers, bool inDouble);

// Rules of operations that have a complex operand or result. Those that only hand values on (calls, loops, tuples) need none.
const Rule *findComplexRule(std::string_view operation);
bool handsOn(std::string_view operation);

} // namespace glia::interp
