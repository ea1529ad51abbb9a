// Reading bytes that may be anything: every step is checked, and an error names the byte.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace glia::graph {

// The file that is read, and the words for what is wrong with it.
struct ByteSource {
  std::string_view bytes;
  std::string file;
  std::string code;   // of errors in the form
  std::string advice; // likewise
};

// A range of the file. Never reads outside of it.
class ByteCursor {
public:
  ByteCursor() = default;
  explicit ByteCursor(const ByteSource &s) : source(&s), at(0), end(s.bytes.size()) {}

  bool done() const { return at == end; }
  size_t left() const { return end - at; }
  size_t offset() const { return at; }

  [[noreturn]] void fail(const std::string &message) const { fail(source->code, message, source->advice); }
  [[noreturn]] void fail(const std::string &code, const std::string &message, const std::string &advice) const {
    throw Error(code, message + format(" (byte %zu)", at), advice, {source->file});
  }

  std::string_view take(uint64_t n) {
    if (n > left())
      fail(format("%llu bytes are expected and %zu are left", static_cast<unsigned long long>(n), left()));
    at += n;
    return source->bytes.substr(at - n, n);
  }
  // The next n bytes as a range of their own.
  ByteCursor part(uint64_t n) {
    ByteCursor p = *this;
    take(n);
    p.end = at;
    return p;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  // Up to a zero byte, which is read over.
  std::string_view zeroEnded() {
    const size_t zero = source->bytes.substr(0, end).find('\0', at);
    if (zero == std::string_view::npos)
      fail("a text has no end");
    const std::string_view s = take(zero - at);
    take(1);
    return s;
  }
  // Over padding, up to a multiple of n, counted from the beginning of the file.
  void align(uint64_t n) {
    if (n == 0 || !std::has_single_bit(n) || n > (uint64_t(1) << 32))
      fail("an alignment is no power of two");
    take((n - at % n) % n);
  }

  // ---- MLIR bytecode: the number of zero bits at the bottom of the first byte is the number of bytes that follow ------------
  uint64_t varint() {
    const uint8_t first = byte();
    if (first & 1)
      return first >> 1;
    const unsigned more = first ? static_cast<unsigned>(std::countr_zero(first)) : 8;
    const std::string_view rest = take(more);
    uint64_t value = 0;
    for (unsigned i = more; i-- > 0;)
      value = value << 8 | static_cast<uint8_t>(rest[i]);
    return more == 8 ? value : (value << 8 | first) >> (more + 1);
  }
  int64_t signedVarint() {
    const uint64_t v = varint();
    return static_cast<int64_t>(v >> 1 ^ (0 - (v & 1)));
  }
  // A number with a flag in its lowest bit.
  std::pair<uint64_t, bool> flagged() {
    const uint64_t v = varint();
    return {v >> 1, v & 1};
  }
  // How many of something follow, of which each takes at least one byte.
  uint64_t count() {
    const uint64_t n = varint();
    if (n > left())
      fail(format("%llu elements are announced and %zu bytes are left", static_cast<unsigned long long>(n), left()));
    return n;
  }

  // ---- protocol buffers: seven bits per byte, the lowest first --------------------------------------------------------------
  uint64_t leb128() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t b = byte();
      value |= static_cast<uint64_t>(b & 127) << shift;
      if (!(b & 128))
        return value;
    }
    fail("a number has more than ten bytes");
  }
  template <typename T> T fixed() {
    const std::string_view bytes = take(sizeof(T));
    T value;
    std::memcpy(&value, bytes.begin(), bytes.size());
    return value;
  }

private:
  const ByteSource *source = nullptr;
  size_t at = 0, end = 0;
};

} // namespace glia::graph
