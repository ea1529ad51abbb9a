// Bytes that were computed before, kept in a folder, each under a text that says everything they depend on. What is damaged, half written or
// cannot be read is not there; what cannot be written is not kept. Nothing here fails.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

class DiskCache {
public:
  explicit DiskCache(std::string folder) : folder(std::move(folder)) {}
  // The user's: GLIA_CACHE is a folder, or "off"; else it is `glia` in XDG_CACHE_HOME or in ~/.cache. nullopt: there is none.
  static std::optional<DiskCache> ofUser();

  std::optional<std::vector<std::byte>> get(std::string_view key) const;
  // Those that were not used for longest make room once there is more than kMost.
  void put(std::string_view key, std::span<const std::byte> value) const;

  struct Contents {
    size_t entries = 0;
    int64_t bytes = 0;
  };
  Contents contents() const;
  Contents clear() const; // what was removed

  const std::string &path() const { return folder; }
  static constexpr int64_t kMost = int64_t{1} << 30;
  void trim(int64_t most) const; // to three quarters of it, if there is more

private:
  std::string folder;
  std::string fileOf(std::string_view key) const;
};

} // namespace glia
