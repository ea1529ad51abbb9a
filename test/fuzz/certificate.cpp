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

// Of two ranks the second leaves a part of its output as it was.
static constexpr const char *kRanks = R"(target trn2
input x : f32[1, 4]
input n : i32[1] range 0 50
input rank : i32[1] range 0 1
output y : f32[2, 4]
const other : i32[2] = [1, 1]
sbuf t : f32[1, 4] @ 0
queue q
queue l
semaphore s
semaphore f
.contract "ranks" "2"
.contract "rank.input" "rank"
sync reg_load dst=r0 src=rank
sync reg_load dst=r1 src=other{ | 0 | 1x1} + r0*4
sync reg_load dst=r3 src=n
sync dma_copy dst=y{ | 0 | 1x4} + r0*16 src=x queue=q dge=hwdge then s += 16
sync loop iv=r4 count=r3 group="g"
sync dma_copy dst=t src=x queue=l dge=hwdge then f += 16
sync nop when f >= 16 consume
sync end_loop
sync dma_copy dst=y{ | 0 | 1x4} + r1*16 src=x queue=q dge=hwdge when s >= 16 consume
)";

static std::vector<Wrong> wrongPrograms() {
  std::vector<std::string> paths;
  for (const auto &f : std::filesystem::directory_iterator(GLIA_SOURCE_DIR "/test/litmus/attacks"))
    paths.push_back(f.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts = {kRanks};
  for (const std::string &path : paths)
    texts.emplace_back(readFile(path).text());
  std::vector<Wrong> out;
  for (const std::string &text : texts) {
    Wrong w{canonical(assemble(text, "wrong.gasm")), std::vector<std::byte>(16)};
    const uint64_t sum = checksum64(toBytes(w.program));
    std::memcpy(w.header.data(), "GLIAPRF5", 8);
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
