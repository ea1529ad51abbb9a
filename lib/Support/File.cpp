#include "glia/Support/File.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace glia {

namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

[[noreturn]] void cannot(const char *code, const char *verb, const std::string &path, int error) {
  throw Error(code, std::string("cannot ") + verb + " `" + printable(path, 200) + "`: " + std::strerror(error),
              error == ENOSPC ? "Make room on the disk, or write to another one." : "");
}

void writeAll(int fd, std::span<const std::byte> bytes, const std::string &path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      cannot("FILE-WRITE", "write", path, n < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void closeChecked(Descriptor &d, const std::string &path) { // some file systems report a full disk here
  const int fd = d.fd;
  d.fd = -1;
  if (::close(fd) != 0)
    cannot("FILE-WRITE", "write", path, errno);
}

struct TemporaryFile { // gone unless it was kept
  std::string path;
  bool kept = false;
  ~TemporaryFile() {
    if (!kept)
      ::unlink(path.c_str());
  }
};

} // namespace

FileBytes readFile(const std::string &path) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat st;
  if (d.fd < 0 || ::fstat(d.fd, &st) != 0)
    cannot("FILE-READ", "read", path, errno);
  if (S_ISDIR(st.st_mode))
    cannot("FILE-READ", "read", path, EISDIR);
  if (S_ISREG(st.st_mode) && st.st_size > 0) {
    const size_t size = static_cast<size_t>(st.st_size);
    int flags = MAP_PRIVATE;
#ifdef MAP_POPULATE
    flags |= MAP_POPULATE; // everything is read at once anyway: the checksum
#endif
    void *at = ::mmap(nullptr, size, PROT_READ, flags, d.fd, 0);
    if (at == MAP_FAILED)
      cannot("FILE-READ", "map", path, errno);
    std::shared_ptr<const void> owner(at, [size](const void *p) { ::munmap(const_cast<void *>(p), size); });
    return {{static_cast<const std::byte *>(at), size}, std::move(owner)};
  }
  auto buffer = std::make_shared<std::vector<std::byte>>();
  for (std::vector<std::byte> chunk(1 << 16);;) {
    const ssize_t n = ::read(d.fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      cannot("FILE-READ", "read", path, errno);
    if (n == 0)
      break;
    buffer->insert(buffer->end(), chunk.begin(), chunk.begin() + n);
  }
  return {{buffer->data(), buffer->size()}, buffer};
}

void writeFile(const std::string &path, std::span<const std::byte> bytes) {
  struct stat st;
  std::string real = path;
  if (::stat(path.c_str(), &st) == 0) {
    if (!S_ISREG(st.st_mode)) {
      Descriptor d{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
      if (d.fd < 0)
        cannot("FILE-WRITE", "write", path, errno);
      writeAll(d.fd, bytes, path);
      return closeChecked(d, path);
    }
    if (::access(path.c_str(), W_OK) != 0) // renaming would go around the file's own permission
      cannot("FILE-WRITE", "write", path, errno);
    if (char *resolved = ::realpath(path.c_str(), nullptr)) { // keep a symbolic link, replace what it points to
      real = resolved;
      std::free(resolved);
    }
  }
  static std::atomic<int> counter = 0;
  TemporaryFile temporary{real + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(counter++)};
  Descriptor d{::open(temporary.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (d.fd < 0) {
    temporary.kept = true; // it is not ours
    cannot("FILE-WRITE", "write", path, errno);
  }
  writeAll(d.fd, bytes, path);
  closeChecked(d, path);
  if (::rename(temporary.path.c_str(), real.c_str()) != 0)
    cannot("FILE-WRITE", "write", path, errno);
  temporary.kept = true;
}

void writeFile(const std::string &path, std::string_view text) {
  writeFile(path, std::span(reinterpret_cast<const std::byte *>(text.data()), text.size()));
}

} // namespace glia
