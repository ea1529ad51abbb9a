// The bytes of certificates, right and forged.
#pragma once
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Random.h"
#include "glia/Verify/Certificate.h"
#include "glia/Verify/Flow.h"

#include <gtest/gtest.h>

#include <cstring>

namespace glia {

using Bytes = std::vector<std::byte>;

inline Bytes headerFor(const Program &p) {
  Bytes out(16);
  const uint64_t sum = checksum64(toBytes(p));
  std::memcpy(out.data(), "GLIAPRF5", 8);
  std::memcpy(out.data() + 8, &sum, 8);
  return out;
}

// A certificate for all ranks at once.
inline Bytes with(Bytes header, const Bytes &hints) {
  header.push_back(std::byte{0});
  header.insert(header.end(), hints.begin(), hints.end());
  return header;
}

// What the search says of the loops of a program, right or wrong.
inline Bytes hintsOf(const Program &p) {
  VerifyOptions options;
  Reporter reporter(p, options);
  VerifyResult result;
  Bytes hints;
  checkFlow(p, options, reporter, result, &hints);
  return hints;
}

inline Bytes encoded(const std::vector<uint64_t> &numbers) {
  Bytes out;
  for (uint64_t v : numbers) {
    for (; v >= 128; v >>= 7)
      out.push_back(static_cast<std::byte>(v | 128));
    out.push_back(static_cast<std::byte>(v));
  }
  return out;
}

inline Bytes numbers(std::initializer_list<int64_t> values) {
  std::vector<uint64_t> out;
  for (int64_t v : values) // the sign is in the lowest bit
    out.push_back(v < 0 ? static_cast<uint64_t>(-v) * 2 - 1 : static_cast<uint64_t>(v) * 2);
  return encoded(out);
}

// The whole numbers of a certificate, some of them others.
inline Bytes forged(const Bytes &hints, Random &random) {
  std::vector<uint64_t> numbers;
  uint64_t u = 0;
  unsigned shift = 0;
  for (std::byte b : hints) {
    u |= (static_cast<uint64_t>(b) & 127) << shift;
    shift += 7;
    if (static_cast<unsigned>(b) < 128) {
      numbers.push_back(u);
      u = shift = 0;
    }
  }
  for (int64_t k = 1 + random.below(4); k-- && !numbers.empty();) {
    const int64_t at = random.below(static_cast<int64_t>(numbers.size()));
    uint64_t &number = numbers[static_cast<size_t>(at)];
    switch (random.below(5)) {
    case 0: number += 2; break;
    case 1: number = number < 2 ? 0 : number - 2; break;
    case 2: number = static_cast<uint64_t>(random.below(64)); break;
    case 3: numbers.erase(numbers.begin() + at); break;
    default: numbers.insert(numbers.begin() + at, static_cast<uint64_t>(random.below(16))); break;
    }
  }
  return encoded(numbers);
}

// Whether a certificate proves the program; everything else it can do is to be refused.
inline bool proves(const Program &p, const Bytes &certificate) {
  VerifyOptions options;
  options.requireProved = true; // some attacks are programs that trap
  try {
    return verifyWith(p, certificate, options).ok();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics().front().code.rfind("CERTIFICATE-", 0), 0u) << e.what();
    return false;
  }
}

inline std::string codeOf(const Program &p, const Bytes &certificate) {
  try {
    verifyWith(p, certificate);
    return "";
  } catch (const Error &e) {
    return e.diagnostics().front().code;
  }
}

} // namespace glia
