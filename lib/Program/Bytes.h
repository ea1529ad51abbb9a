// Writing and reading plain values one after the other, for the small sections of the container.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace glia {

class ByteWriter {
public:
  std::vector<std::byte> bytes;

  template <class T> void put(T v) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    raw(&v, sizeof v);
  }
  void text(std::string_view s) {
    put(static_cast<uint32_t>(s.size()));
    raw(s.data(), s.size());
  }
  void raw(const void *p, size_t n) {
    const std::byte *b = static_cast<const std::byte *>(p);
    bytes.insert(bytes.end(), b, b + n);
  }
};

class ByteReader {
public:
  ByteReader(std::span<const std::byte> bytes, const char *section) : left(bytes), section(section) {}

  template <class T> T get() {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  template <class E> E choice(int numValues) { // an enumeration stored as one byte
    const uint8_t v = get<uint8_t>();
    if (v >= numValues)
      fail("has an unknown choice " + std::to_string(v));
    return static_cast<E>(v);
  }
  bool flag() { return choice<uint8_t>(2) != 0; }
  std::string text() {
    auto t = take(get<uint32_t>());
    return {reinterpret_cast<const char *>(t.data()), t.size()};
  }
  // A number of records, each of at least `least` bytes: what cannot be there is refused before memory is taken for it.
  uint32_t count(size_t least) {
    const uint32_t n = get<uint32_t>();
    if (n > left.size() / least)
      fail("says it has " + std::to_string(n) + " records and is too short for them");
    return n;
  }
  void end() {
    if (!left.empty())
      fail("has " + std::to_string(left.size()) + " bytes too many");
  }
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("CONTAINER-STRUCTURE", std::string("section ") + section + " " + what,
                "The file is damaged or was not written by glia; make it again.");
  }

private:
  std::span<const std::byte> left;
  const char *section;

  std::span<const std::byte> take(size_t n) {
    if (n > left.size())
      fail("ends too early");
    auto out = left.first(n);
    left = left.subspan(n);
    return out;
  }
};

} // namespace glia
