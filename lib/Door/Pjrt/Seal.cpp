#include "Seal.h"
#include "glia/Support/BuildId.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace glia::pjrt {

namespace {

constexpr size_t kBytes = 32, kBlock = 64; // of a hash, and of what it takes at a time
using Digest = std::array<uint8_t, kBytes>;

std::filesystem::path keyFile() { // empty: the user has no place for one
  const auto folder = [](const char *name) -> std::filesystem::path {
    const char *text = std::getenv(name);
    return text && *text == '/' ? text : "";
  };
  std::filesystem::path state = folder("XDG_STATE_HOME");
  if (state.empty() && !folder("HOME").empty())
    state = folder("HOME") / ".local/state";
  return state.empty() ? state : state / "glia/seal.key";
}

// A key that others could read or could have written is none.
std::optional<Digest> readKey(const std::filesystem::path &path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0)
    return std::nullopt;
  struct stat about{};
  Digest key{};
  const bool own = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() && !(about.st_mode & 077);
  const bool whole = own && about.st_size == kBytes && read(file, key.data(), kBytes) == ssize_t{kBytes};
  close(file);
  return whole ? std::optional(key) : std::nullopt;
}

// Several processes may come at once: the first one's key is that of all.
void makeKey(const std::filesystem::path &path) {
  std::error_code wrong;
  std::filesystem::create_directories(path.parent_path(), wrong);
  Digest key;
  if (getrandom(key.data(), kBytes, 0) != ssize_t{kBytes})
    return;
  std::string own = path.string() + ".XXXXXX";
  const int file = mkstemp(own.data()); // for its owner only
  if (file < 0)
    return;
  const bool whole = write(file, key.data(), kBytes) == ssize_t{kBytes};
  close(file);
  if (whole)
    link(own.c_str(), path.c_str());
  unlink(own.c_str());
}

llvm::ArrayRef<uint8_t> bytesIn(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// HMAC (RFC 2104) of the build and the bytes.
Digest codeOf(const Digest &key, std::string_view build, std::string_view bytes) {
  const auto padded = [&](uint8_t with) {
    std::array<uint8_t, kBlock> out;
    out.fill(with);
    for (size_t i = 0; i < kBytes; ++i)
      out[i] ^= key[i];
    return out;
  };
  llvm::SHA256 inner, outer;
  inner.update(padded(0x36));
  inner.update(bytesIn(build));
  inner.update(bytesIn(std::string_view("\0", 1)));
  inner.update(bytesIn(bytes));
  outer.update(padded(0x5c));
  outer.update(inner.final());
  return outer.final();
}

} // namespace

std::string sealOf(std::string_view bytes) {
  const std::string build = buildId();
  const std::filesystem::path path = keyFile();
  if (build.empty() || path.empty())
    return "";
  std::optional<Digest> key = readKey(path);
  if (!key) {
    makeKey(path);
    key = readKey(path);
  }
  if (!key)
    return "";
  const Digest code = codeOf(*key, build, bytes);
  return {code.begin(), code.end()};
}

bool isSealed(std::string_view bytes, std::string_view seal) {
  const std::string build = buildId();
  const std::optional<Digest> key = seal.size() == kBytes && !build.empty() ? readKey(keyFile()) : std::nullopt;
  if (!key)
    return false;
  const Digest code = codeOf(*key, build, bytes);
  uint8_t different = 0; // all of it, always: how long it takes says nothing
  for (size_t i = 0; i < kBytes; ++i)
    different |= static_cast<uint8_t>(code[i] ^ static_cast<uint8_t>(seal[i]));
  return different == 0;
}

} // namespace glia::pjrt
