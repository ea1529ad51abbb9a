// The bytes of a certificate: whole numbers, one after the other, seven bits a byte, the sign in the lowest bit.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glia::flow {

class HintWriter {
public:
  std::vector<std::byte> bytes;
  void put(int64_t v) {
    uint64_t u = static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63);
    for (; u >= 128; u >>= 7)
      bytes.push_back(static_cast<std::byte>(u | 128));
    bytes.push_back(static_cast<std::byte>(u));
  }
};

class HintReader {
public:
  explicit HintReader(std::span<const std::byte> bytes) : bytes(bytes) {}

  // A number from `lo` to `hi`.
  int64_t get(int64_t lo, int64_t hi) {
    uint64_t u = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == bytes.size())
        fail("ends too early");
      const auto b = static_cast<uint64_t>(bytes[at++]);
      if (shift == 63 && b > 1)
        fail("has a number that is too long");
      u |= (b & 127) << shift;
      if (b < 128)
        break;
    }
    const auto v = static_cast<int64_t>(u >> 1 ^ (0 - (u & 1)));
    if (v < lo || v > hi)
      fail(format("has the number %lld where %lld to %lld can be", (long long)v, (long long)lo, (long long)hi));
    return v;
  }
  template <class T> T get(int64_t lo, int64_t hi) { return static_cast<T>(get(lo, hi)); }
  bool flag() { return get(0, 1) != 0; }
  size_t count() {
    return static_cast<size_t>(get(0, static_cast<int64_t>(bytes.size() - at)));
  } // each takes a byte at least
  bool atEnd() const { return at == bytes.size(); }
  std::span<const std::byte> take(size_t n) {
    if (n > bytes.size() - at)
      fail("ends too early");
    at += n;
    return bytes.subspan(at - n, n);
  }
  std::span<const std::byte> rest() { return take(bytes.size() - at); }
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("CERTIFICATE-FORMAT", format("at byte %zu the certificate ", at) + what,
                "It is damaged, or was not written by this glia: make it again with `glia verify --certificate`.");
  }

private:
  std::span<const std::byte> bytes;
  size_t at = 0;
};

} // namespace glia::flow
