// The element types of graphs as the interpreter knows them, and their storage. It has a table and conversions of its own so that
// a mistake in the numerics of the machine cannot hide in the reference.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glia {

enum class Element : uint8_t {
  Pred,
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F4E2M1FN,
  F6E2M3FN,
  F6E3M2FN,
  F8E3M4,
  F8E4M3,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E4M3B11FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  BF16,
  F16,
  F32,
  F64,
  Token,     // orders effects; no elements
  Tuple,     // of other values
  Complex64, // two tensors, of real and of imaginary parts; outside of the interpreter one of [..., 2]
  Complex128,
};

struct ElementInfo {
  enum Kind : uint8_t { Pred, Signed, Unsigned, Float, None };
  // What the top of the range of a float encodes: Ieee infinities and NaNs; Nan one NaN, no infinity; NanAtMinusZero likewise, and
  // there is no minus zero; Finite neither.
  enum Specials : uint8_t { Ieee, Nan, NanAtMinusZero, Finite };
  std::string_view name; // as in the text of a graph, "f8E4M3FN", but "ui8" and "i8"
  Kind kind;
  uint8_t bits, bytes; // width of the type; bytes per element in a HostTensor
  uint8_t exponentBits = 0, mantissaBits = 0;
  int16_t bias = 0;
  Specials specials = Ieee;
  double largest = 0; // finite value
};
const ElementInfo &info(Element e);
std::optional<Element> parseElement(std::string_view name);
inline bool isFloat(Element e) { return info(e).kind == ElementInfo::Float; }
inline bool isComplex(Element e) { return e == Element::Complex64 || e == Element::Complex128; }
inline Element partOf(Element e) {
  return e == Element::Complex64 ? Element::F32 : e == Element::Complex128 ? Element::F64 : e;
}

// Nearest value of the type, ties to even; beyond the largest: infinity, or NaN where there is none, or the largest where neither is.
double roundTo(const ElementInfo &t, double x);

// One element as a 64-bit word: the bits of a double for floats, a sign- or zero-extended integer otherwise.
using Word = uint64_t;
void decode(Element e, const std::byte *bytes, Word *words, size_t count);
void encode(Element e, const Word *words, std::byte *bytes, size_t count);
double numberOf(Element e, Word w);    // 64-bit integers rounded
std::string textOf(Element e, Word w); // "0.5", "-3", "nan"

} // namespace glia
