#include "glia/Support/DiskCache.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/File.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace glia {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'g', 'l', 'i', 'a', 'k', 'e', 'p', '1'};
constexpr std::string_view kEnding = ".kept";

struct Header { // then the key, then the value
  char magic[8];
  uint64_t key, value; // bytes
  uint64_t checksum;   // of all behind it
};

std::span<const std::byte> bytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

struct Entry {
  fs::path path;
  int64_t bytes;
  fs::file_time_type used;
};

// Others come and go meanwhile.
std::vector<Entry> entriesIn(const std::string &folder) {
  std::vector<Entry> out;
  std::error_code e;
  for (fs::recursive_directory_iterator at(folder, e), end; !e && at != end; at.increment(e)) {
    std::error_code gone;
    if (at->path().extension() != kEnding || !at->is_regular_file(gone))
      continue;
    const auto bytes = static_cast<int64_t>(at->file_size(gone));
    const fs::file_time_type used = gone ? fs::file_time_type() : at->last_write_time(gone);
    if (!gone)
      out.push_back({at->path(), bytes, used});
  }
  return out;
}

DiskCache::Contents sumOf(const std::vector<Entry> &entries) {
  DiskCache::Contents out;
  for (const Entry &x : entries) {
    ++out.entries;
    out.bytes += x.bytes;
  }
  return out;
}

} // namespace

std::optional<DiskCache> DiskCache::ofUser() {
  if (const std::string folder = variable("GLIA_CACHE"); !folder.empty())
    return folder == "off" ? std::nullopt : std::optional<DiskCache>(folder);
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty())
    return DiskCache(caches + "/glia");
  if (const std::string home = variable("HOME"); !home.empty())
    return DiskCache(home + "/.cache/glia");
  return std::nullopt;
}

std::string DiskCache::fileOf(std::string_view key) const {
  const uint64_t first = checksum64(bytesOf(key), 1), second = checksum64(bytesOf(key), 2);
  const std::string name = format("%016llx%016llx", (unsigned long long)first, (unsigned long long)second);
  return folder + "/" + name.substr(0, 2) + "/" + name.substr(2) + std::string(kEnding);
}

std::optional<std::vector<std::byte>> DiskCache::get(std::string_view key) const {
  const std::string path = fileOf(key);
  std::error_code e;
  if (!fs::is_regular_file(path, e))
    return std::nullopt;
  FileBytes file;
  try {
    file = readFile(path);
  } catch (const Error &) {
    return std::nullopt;
  }
  Header h;
  if (file.bytes.size() < sizeof h)
    return std::nullopt;
  std::memcpy(&h, file.bytes.data(), sizeof h);
  const std::span<const std::byte> rest = file.bytes.subspan(sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.key != key.size() || rest.size() < h.key ||
      h.value != rest.size() - h.key || h.checksum != checksum64(rest) ||
      std::memcmp(rest.data(), key.data(), key.size()) != 0)
    return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), e); // it was used
  return std::vector<std::byte>(rest.begin() + static_cast<long>(h.key), rest.end());
}

void DiskCache::put(std::string_view key, std::span<const std::byte> value) const {
  constexpr unsigned kLooks = 256; // new ones, until somebody looks how much there is
  const std::string path = fileOf(key);
  std::vector<std::byte> all(sizeof(Header));
  const std::span<const std::byte> text = bytesOf(key);
  all.insert(all.end(), text.begin(), text.end());
  all.insert(all.end(), value.begin(), value.end());
  Header h{{}, key.size(), value.size(), checksum64(std::span(all).subspan(sizeof(Header)))};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(all.data(), &h, sizeof h);
  std::error_code e;
  if (fs::create_directories(folder, e))
    ::chmod(folder.c_str(), S_IRWXU);
  fs::create_directory(fs::path(path).parent_path(), e);
  try {
    writeFile(path, all);
  } catch (const Error &) {
    return;
  }
  static std::atomic<unsigned> written = 0;
  if (written++ % kLooks == 0)
    trim(kMost);
}

DiskCache::Contents DiskCache::contents() const { return sumOf(entriesIn(folder)); }

DiskCache::Contents DiskCache::clear() const {
  Contents out;
  for (const Entry &x : entriesIn(folder)) {
    std::error_code e;
    if (fs::remove(x.path, e)) {
      ++out.entries;
      out.bytes += x.bytes;
    }
  }
  return out;
}

void DiskCache::trim(int64_t most) const {
  std::vector<Entry> all = entriesIn(folder);
  int64_t bytes = sumOf(all).bytes;
  if (bytes <= most)
    return;
  std::sort(all.begin(), all.end(), [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &x : all) {
    if (bytes <= most / 4 * 3)
      return;
    std::error_code e;
    if (fs::remove(x.path, e))
      bytes -= x.bytes;
  }
}

} // namespace glia
