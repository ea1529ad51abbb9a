#include "Literal.h"
#include "glia/Numerics/Convert.h"
#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/RefusedTypes.h"
#include "glia/Support/Text.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

// ---- numbers ----------------------------------------------------------------------------------------------------------------

static uint32_t bitsOf(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return bits;
}

std::string numberText(float v) {
  const uint32_t bits = bitsOf(v);
  if (std::isnan(v))
    return bits == 0x7FC00000u ? "nan" : format("0x%08x", bits);
  if (std::isinf(v))
    return v < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string out(buffer, error == std::errc() ? end : buffer);
  if (out.find('.') == std::string::npos) // the parser wants a point before an exponent
    out.insert(std::min(out.find('e'), out.size()), ".0");
  // The parser reads a double and rounds it: rarely that rounds twice.
  return bitsOf(static_cast<float>(std::strtod(out.c_str(), nullptr))) == bits ? out : format("0x%08x", bits);
}

bool nextIs(AsmParser &p, char c) { return *p.getCurrentLocation().getPointer() == c; }

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool nextIsNumber(AsmParser &p) {
  const char *at = p.getCurrentLocation().getPointer();
  auto isWord = [&](StringRef w) { return StringRef(at, strnlen(at, w.size() + 1)).take_front(w.size()) == w; };
  return isDigit(*at) || *at == '-' || isWord("inf") || isWord("nan");
}

ParseResult parseNumber(AsmParser &p, StringRef what, float &out) {
  const SMLoc at = p.getCurrentLocation();
  const bool negative = succeeded(p.parseOptionalMinus());
  const char *next = p.getCurrentLocation().getPointer();
  if (succeeded(p.parseOptionalKeyword("inf"))) {
    out = INFINITY;
  } else if (!negative && succeeded(p.parseOptionalKeyword("nan"))) {
    const uint32_t bits = 0x7FC00000u;
    std::memcpy(&out, &bits, 4);
  } else if (!isDigit(*next)) {
    return p.emitError(at) << "expected a number for " << what;
  } else if (next[0] == '0' && next[1] == 'x') { // as everywhere in MLIR: the bits
    int64_t bits = 0;
    if (p.parseInteger(bits))
      return failure();
    if (negative || bits < 0 || bits > UINT32_MAX)
      return p.emitError(at) << "the bits of a number are 0x0 to 0xffffffff";
    const auto b = static_cast<uint32_t>(bits);
    std::memcpy(&out, &b, 4);
  } else {
    const char *end = next;
    while (isDigit(*end))
      ++end;
    double v = 0;
    if (*end == '.') {
      if (p.parseFloat(v))
        return failure();
    } else {
      int64_t whole = 0;
      if (p.parseInteger(whole))
        return failure();
      v = static_cast<double>(whole);
    }
    out = std::fabs(v) > 3.5e38 ? INFINITY : static_cast<float>(v);
    if (std::isinf(out))
      return p.emitError(at) << what << " does not fit fp32; write inf for infinity";
  }
  if (negative)
    out = -out;
  return success();
}

ParseResult parseIntegerIn(AsmParser &p, StringRef what, int64_t lo, int64_t hi, int64_t &out) {
  const SMLoc at = p.getCurrentLocation();
  const OptionalParseResult r = p.parseOptionalInteger(out);
  if (!r.has_value())
    return p.emitError(at) << "expected a whole number for " << what;
  if (*r)
    return failure();
  if (out < lo || out > hi)
    return p.emitError(at) << what << " is " << out << " and must be " << lo << " to " << hi;
  return success();
}

// ---- types ------------------------------------------------------------------------------------------------------------------

StringRef spaceName(Space s) { return s == Space::Sbuf ? "sbuf" : s == Space::Psum ? "psum" : "hbm"; }

ParseResult parseElementType(AsmParser &p, DType &out) {
  StringRef word;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseOptionalKeyword(&word))
    return p.emitError(at) << "expected an element type such as f32 or bf16";
  const std::string_view w(word.data(), word.size());
  const std::optional<DType> t = parseDType(w);
  if (t) {
    out = *t;
    return success();
  }
  if (const std::string_view why = refusedDType(w); !why.empty())
    return p.emitError(at) << "the type `" << word << "` is not implemented: " << text(why);
  std::string all;
  for (int i = 0; i < kNumDTypes; ++i)
    all += " " + std::string(name(static_cast<DType>(i)));
  return p.emitError(at) << "`" << printable(w) << "` is no element type; there are" << all;
}

ParseResult parseTensor(AsmParser &p, Space space, TensorType &out) {
  DType dtype;
  SmallVector<int64_t> shape;
  const SMLoc at = p.getCurrentLocation();
  if (parseElementType(p, dtype) ||
      p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return p.parseInteger(shape.emplace_back()); }))
    return failure();
  const std::string problem = shapeProblem({shape.begin(), shape.end()}, dtype, space != Space::Hbm);
  if (!problem.empty())
    return p.emitError(at) << "the tensor " << problem;
  out = TensorType::get(p.getContext(), space, dtype, shape);
  return success();
}

void printTensor(AsmPrinter &p, TensorType t) {
  p << text(glia::name(t.getDtype())) << "[";
  llvm::interleaveComma(t.getShape(), p);
  p << "]";
}

// ---- constants --------------------------------------------------------------------------------------------------------------

static ParseResult parseHex(AsmParser &p, SmallVectorImpl<int8_t> &out) {
  std::string digits;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseString(&digits))
    return failure();
  if (digits.size() % 2)
    return p.emitError(at) << "bytes are two hex digits each, and there are " << digits.size() << " digits";
  for (size_t i = 0; i < digits.size(); i += 2) {
    const unsigned high = llvm::hexDigitValue(digits[i]), low = llvm::hexDigitValue(digits[i + 1]);
    if (high > 15 || low > 15)
      return p.emitError(at) << "character " << i << " is no hex digit";
    out.push_back(static_cast<int8_t>(high * 16 + low));
  }
  return success();
}

static ParseResult parseElement(AsmParser &p, DType t, SmallVectorImpl<int8_t> &out) {
  int8_t element[8] = {};
  if (isInteger(t)) {
    const int bits = 8 * sizeOf(t);
    const int64_t hi = bits == 64 ? INT64_MAX : info(t).isSigned ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    int64_t v = 0;
    if (parseIntegerIn(p, "a value", info(t).isSigned ? -hi - 1 : 0, hi, v))
      return failure();
    std::memcpy(element, &v, sizeof v);
  } else {
    float v = 0;
    if (parseNumber(p, "a value", v))
      return failure();
    fromF32(t, v, element);
  }
  out.append(element, element + sizeOf(t));
  return success();
}

ParseResult parseConstant(AsmParser &p, TensorType type, SmallVectorImpl<int8_t> &out) {
  const SMLoc at = p.getCurrentLocation();
  if (succeeded(p.parseOptionalKeyword("hex"))) {
    if (parseHex(p, out))
      return failure();
  } else if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parseElement(p, type.getDtype(), out); })) {
    return failure();
  }
  int64_t need = sizeOf(type.getDtype());
  for (int64_t d : type.getShape())
    need *= d;
  if (static_cast<int64_t>(out.size()) != need)
    return p.emitError(at) << "the values make " << out.size() << " bytes and the tensor has " << need;
  return success();
}

void printConstant(AsmPrinter &p, TensorType type, ArrayRef<int8_t> data) {
  const DType t = type.getDtype();
  const size_t size = sizeOf(t);
  if (data.size() <= 64 * size && data.size() % size == 0 && (t == DType::F32 || (isInteger(t) && t != DType::U64))) {
    p << "[";
    for (size_t i = 0; i < data.size(); i += size) {
      p << (i ? ", " : "");
      if (t == DType::F32) {
        float v;
        std::memcpy(&v, data.data() + i, 4);
        p << numberText(v);
        continue;
      }
      uint64_t v = 0;
      for (size_t k = 0; k < size; ++k)
        v |= uint64_t{static_cast<uint8_t>(data[i + k])} << (8 * k);
      if (info(t).isSigned && size < 8 && v >> (8 * size - 1))
        v |= ~uint64_t{0} << (8 * size);
      p << static_cast<int64_t>(v);
    }
    p << "]";
    return;
  }
  std::string digits;
  digits.reserve(2 * data.size());
  for (int8_t x : data)
    for (int shift : {4, 0})
      digits += "0123456789abcdef"[static_cast<uint8_t>(x) >> shift & 15];
  p << "hex\"" << digits << "\"";
}

} // namespace glia::nisa
