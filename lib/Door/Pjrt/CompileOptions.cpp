#include "CompileOptions.h"
#include "Failure.h"

#include <optional>

namespace glia::pjrt {

namespace {

[[noreturn]] void damaged() {
  throw failure(Code::InvalidArgument, "PJRT-OPTIONS", "the options of a compilation cannot be read",
                "The framework and the plugin speak different versions of the interface.");
}

// A message in protobuf's wire format: numbered fields, each a number or bytes.
class Wire {
public:
  explicit Wire(std::string_view bytes) : rest(bytes) {}

  uint32_t field = 0;
  uint64_t number = 0;    // of a field that is one
  std::string_view bytes; // of a field that has some

  bool next() {
    if (rest.empty())
      return false;
    const uint64_t key = varint();
    field = static_cast<uint32_t>(key >> 3);
    number = 0;
    bytes = {};
    switch (key & 7) {
    case 0: number = varint(); break;
    case 1: take(8); break;
    case 2: bytes = take(varint()); break;
    case 5: take(4); break;
    default: damaged();
    }
    return true;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
    damaged();
  }

private:
  std::string_view rest;
  std::string_view take(uint64_t count) {
    if (count > rest.size())
      damaged();
    const std::string_view out = rest.substr(0, count);
    rest.remove_prefix(count);
    return out;
  }
};

// DeviceAssignmentProto: the device of the first replica of the first computation.
std::optional<int64_t> firstDevice(std::string_view assignment) {
  for (Wire a(assignment); a.next();)
    if (a.field == 3)
      for (Wire devices(a.bytes); devices.next();)
        if (devices.field == 1) // one number, or packed ones
          return static_cast<int64_t>(devices.bytes.empty() ? devices.number : Wire(devices.bytes).varint());
  return std::nullopt;
}

void requireOne(const char *what, uint64_t count) {
  if (count > 1)
    throw failure(
        Code::Unimplemented, "PJRT-PARTITIONS",
        format("a program is to run on %llu devices at once (%s)", (unsigned long long)count, what),
        "A program runs on one device here. Place arrays on single devices (jax.device_put(x, device)) and call the "
        "function once for each.");
}

// ExecutableBuildOptionsProto
void readBuildOptions(std::string_view bytes, CompileOptions &out) {
  for (Wire w(bytes); w.next();)
    switch (w.field) {
    case 1:
      if (static_cast<int64_t>(w.number) >= 0)
        out.device = static_cast<int64_t>(w.number);
      break;
    case 4: requireOne("num_replicas", w.number); break;
    case 5: requireOne("num_partitions", w.number); break;
    case 9: out.device = firstDevice(w.bytes).value_or(out.device); break;
    default: break;
    }
}

std::string overrideName(std::string_view entry) {
  for (Wire w(entry); w.next();)
    if (w.field == 1)
      return std::string(w.bytes);
  return "";
}

} // namespace

CompileOptions readCompileOptions(std::string_view bytes) {
  CompileOptions out;
  for (Wire w(bytes); w.next();)
    switch (w.field) {
    case 3: readBuildOptions(w.bytes, out); break;
    case 4: out.portable = w.number != 0; break;
    case 7:
      throw failure(Code::InvalidArgument, "PJRT-OPTIONS",
                    "the compiler option `" + overrideName(w.bytes) + "` has no meaning for glia",
                    "Leave it out; the environment variables of docs/jax.md are the options there are.");
    default: break;
    }
  return out;
}

} // namespace glia::pjrt
