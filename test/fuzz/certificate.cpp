// Any bytes as the certificate of a program that is wrong: none proves it. The first byte chooses the program.
#include "glia/Verify/Certificate.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/File.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace glia;

struct Wrong {
  Program program;
  std::vector<std::byte> header;
};

static std::vector<Wrong> wrongPrograms() {
  std::vector<std::string> paths;
  for (const auto &f : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/litmus/attacks"))
    paths.push_back(f.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Wrong> out;
  for (const std::string &path : paths) {
    Wrong w{canonical(assemble(readFile(path).text(), path)), std::vector<std::byte>(16)};
    const uint64_t sum = checksum64(toBytes(w.program));
    std::memcpy(w.header.data(), "GLIAPRF4", 8);
    std::memcpy(w.header.data() + 8, &sum, 8);
    out.push_back(std::move(w));
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<Wrong> all = wrongPrograms();
  if (!size)
    return 0;
  const Wrong &w = all[data[0] % all.size()];
  std::vector<std::byte> certificate = w.header;
  certificate.insert(certificate.end(), reinterpret_cast<const std::byte *>(data) + 1,
                     reinterpret_cast<const std::byte *>(data) + size);
  VerifyOptions options;
  options.requireProved = true;
  try {
    if (verifyWith(w.program, certificate, options).ok())
      std::abort();
  } catch (const Error &) {
  }
  return 0;
}
