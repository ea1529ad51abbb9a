// .npz files: zip archives of .npy files. Reads stored and deflated members, writes stored ones; sizes are checked against
// the file before they are used, and every member against its CRC.
#include "glia/Runtime/Npy.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <cstring>
#include <zlib.h>

namespace glia {

namespace {

constexpr uint32_t kLocal = 0x04034B50, kCentral = 0x02014B50, kEnd = 0x06054B50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;

class Zip {
public:
  Zip(std::span<const std::byte> file, std::string_view name) : file(file), name(name) {}

  std::map<std::string, NpyArray> read() {
    std::map<std::string, NpyArray> out;
    size_t at = findEnd();
    uint32_t members = get<uint16_t>(at + 10);
    at = get<uint32_t>(at + 16);
    while (members--) {
      need(at, kCentralBytes);
      if (get<uint32_t>(at) != kCentral)
        fail("its directory is malformed");
      const uint16_t nameBytes = get<uint16_t>(at + 28);
      need(at + kCentralBytes, nameBytes);
      std::string member(reinterpret_cast<const char *>(file.data() + at + kCentralBytes), nameBytes);
      if (!member.ends_with(".npy"))
        fail("its member `" + printable(member) + "` is no .npy file");
      const std::vector<std::byte> bytes = extract(at, member);
      member.resize(member.size() - 4);
      if (!out.emplace(member, parseNpy(bytes, std::string(name) + ":" + member)).second)
        fail("it has two members `" + printable(member) + "`");
      at += kCentralBytes + nameBytes + get<uint16_t>(at + 30) + get<uint16_t>(at + 32);
    }
    return out;
  }

private:
  std::span<const std::byte> file;
  std::string_view name;

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("NPY-FORMAT", "`" + printable(name, 200) + "` is no .npz file: " + what, "Write it with numpy.savez.");
  }
  void need(size_t at, size_t n) const {
    if (at > file.size() || n > file.size() - at)
      fail("it ends too early");
  }
  template <class T> T get(size_t at) const {
    need(at, sizeof(T));
    T v;
    std::memcpy(&v, file.data() + at, sizeof v);
    return v;
  }
  size_t findEnd() const {
    for (size_t back = kEndBytes; back <= file.size() && back < kEndBytes + 65536; ++back)
      if (get<uint32_t>(file.size() - back) == kEnd)
        return file.size() - back;
    fail("it has no zip directory");
  }

  std::vector<std::byte> extract(size_t entry, const std::string &member) const {
    const uint16_t flags = get<uint16_t>(entry + 8), method = get<uint16_t>(entry + 10);
    const uint32_t crc = get<uint32_t>(entry + 16), packed = get<uint32_t>(entry + 20), size = get<uint32_t>(entry + 24);
    const uint32_t local = get<uint32_t>(entry + 42);
    if (packed == UINT32_MAX || size == UINT32_MAX || local == UINT32_MAX)
      fail("members of 4 GB and more are not read; use .npy files");
    if ((flags & 1) || (method != 0 && method != 8))
      fail("its member `" + printable(member) + "` is encrypted or compressed in a way that is not read");
    if (get<uint32_t>(local) != kLocal)
      fail("its directory points outside");
    const size_t data = size_t{local} + kLocalBytes + get<uint16_t>(size_t{local} + 26) + get<uint16_t>(size_t{local} + 28);
    need(data, packed);
    const std::span<const std::byte> in = file.subspan(data, packed);
    std::vector<std::byte> out;
    if (method == 0) {
      if (size != packed)
        fail("its directory is malformed");
      out.assign(in.begin(), in.end());
    } else {
      out = inflated(in, size);
    }
    if (crc32_z(0, reinterpret_cast<const Bytef *>(out.data()), out.size()) != crc)
      fail("its member `" + printable(member) + "` is damaged");
    return out;
  }

  std::vector<std::byte> inflated(std::span<const std::byte> in, uint32_t size) const {
    if (size / 1032 > in.size() + 1) // deflate never does better than that
      fail("it says it holds more than it can");
    std::vector<std::byte> out(size);
    z_stream z{};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
      throw std::bad_alloc();
    z.next_in = const_cast<Bytef *>(reinterpret_cast<const Bytef *>(in.data()));
    z.avail_in = static_cast<uInt>(in.size());
    z.next_out = reinterpret_cast<Bytef *>(out.data());
    z.avail_out = size;
    const int status = inflate(&z, Z_FINISH);
    const bool whole = status == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    if (!whole)
      fail("compressed data are damaged");
    return out;
  }
};

class Output {
public:
  std::vector<std::byte> bytes;
  template <class T> void put(T v) { raw(&v, sizeof v); }
  void raw(const void *p, size_t n) {
    const std::byte *b = static_cast<const std::byte *>(p);
    bytes.insert(bytes.end(), b, b + n);
  }
};

// What local and central entries have in common: version, flags, method, time, date (1980-01-01), CRC, sizes, name length.
void common(Output &o, uint32_t crc, uint32_t size, const std::string &member) {
  o.put(uint16_t{20}), o.put(uint16_t{0}), o.put(uint16_t{0}), o.put(uint16_t{0}), o.put(uint16_t{0x21});
  o.put(crc), o.put(size), o.put(size);
  o.put(static_cast<uint16_t>(member.size())), o.put(uint16_t{0});
}

} // namespace

std::map<std::string, NpyArray> parseNpz(std::span<const std::byte> bytes, std::string_view name) {
  return Zip(bytes, name).read();
}

std::vector<std::byte> formatNpz(const std::map<std::string, NpyArray> &arrays) {
  Output out, directory;
  for (const auto &[array, content] : arrays) {
    const std::string member = array + ".npy";
    const std::vector<std::byte> data = formatNpy(content);
    if (out.bytes.size() + data.size() > UINT32_MAX - 65536 || arrays.size() > 65000 || member.size() > 65535)
      throw Error("NPY-FORMAT", "the outputs do not fit an .npz file",
                  "Write each to a .npy file of its own: --output name=file.npy.");
    const uint32_t at = static_cast<uint32_t>(out.bytes.size()), size = static_cast<uint32_t>(data.size());
    const uint32_t crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()));
    out.put(kLocal);
    common(out, crc, size, member);
    out.raw(member.data(), member.size());
    out.raw(data.data(), data.size());
    directory.put(kCentral), directory.put(uint16_t{20});
    common(directory, crc, size, member);
    directory.put(uint16_t{0}), directory.put(uint16_t{0}), directory.put(uint16_t{0}), directory.put(uint32_t{0}),
        directory.put(at);
    directory.raw(member.data(), member.size());
  }
  const uint32_t start = static_cast<uint32_t>(out.bytes.size()), size = static_cast<uint32_t>(directory.bytes.size());
  out.raw(directory.bytes.data(), directory.bytes.size());
  const uint16_t n = static_cast<uint16_t>(arrays.size());
  out.put(kEnd), out.put(uint16_t{0}), out.put(uint16_t{0}), out.put(n), out.put(n), out.put(size), out.put(start),
      out.put(uint16_t{0});
  return std::move(out.bytes);
}

} // namespace glia
