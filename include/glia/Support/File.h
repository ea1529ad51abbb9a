// Reading and writing whole files. A file is written completely or not at all.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace glia {

// The bytes of a file: mapped if it is a regular file, read if it is a pipe. Valid as long as `owner` lives.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string_view text() const { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }
};
FileBytes readFile(const std::string &path); // throws Error FILE-READ

// To a temporary file in the same folder first, which is renamed at the end: no partial file is ever left at `path`.
// Devices and pipes are written directly.
void writeFile(const std::string &path, std::span<const std::byte> bytes); // throws Error FILE-WRITE
void writeFile(const std::string &path, std::string_view text);

} // namespace glia
