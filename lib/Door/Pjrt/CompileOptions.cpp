#include "CompileOptions.h"
#include "Failure.h"

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

  bool atEnd() const { return rest.empty(); }

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

constexpr uint64_t kMostDevices = 1 << 16;

// DeviceAssignmentProto: computations (partitions) of replicas each. By rank.
void readAssignment(std::string_view assignment, CompileOptions &out) {
  std::vector<std::vector<int64_t>> byPartition;
  for (Wire a(assignment); a.next();) {
    if (a.field != 3)
      continue;
    std::vector<int64_t> &replicas = byPartition.emplace_back();
    for (Wire devices(a.bytes); devices.next();) {
      if (devices.field != 1)
        continue;
      if (devices.bytes.empty()) { // one number, or packed ones
        replicas.push_back(static_cast<int64_t>(devices.number));
        continue;
      }
      for (Wire packed(devices.bytes); !packed.atEnd();)
        replicas.push_back(static_cast<int64_t>(packed.varint()));
    }
    if (replicas.size() > kMostDevices || byPartition.size() > kMostDevices || replicas.size() != byPartition.front().size())
      damaged();
  }
  if (byPartition.empty() || byPartition.front().empty())
    return;
  out.devices.clear();
  for (size_t r = 0; r < byPartition.front().size(); ++r)
    for (const std::vector<int64_t> &replicas : byPartition)
      out.devices.push_back(replicas[r]);
}

// ExecutableBuildOptionsProto
void readBuildOptions(std::string_view bytes, CompileOptions &out) {
  const auto count = [](uint64_t n) {
    if (n > kMostDevices)
      damaged();
    return static_cast<int64_t>(n < 1 ? 1 : n);
  };
  bool assigned = false;
  for (Wire w(bytes); w.next();)
    switch (w.field) {
    case 1:
      if (static_cast<int64_t>(w.number) >= 0 && !assigned)
        out.devices = {static_cast<int64_t>(w.number)};
      break;
    case 4: out.replicas = count(w.number); break;
    case 5: out.partitions = count(w.number); break;
    case 9:
      readAssignment(w.bytes, out);
      assigned = true;
      break;
    default: break;
    }
  const auto ranks = static_cast<size_t>(out.replicas * out.partitions);
  if (!assigned && out.devices.size() != ranks)
    out.devices.clear();
  if (!out.devices.empty() && out.devices.size() != ranks)
    throw failure(Code::InvalidArgument, "PJRT-OPTIONS",
                  format("%zu devices are assigned to %zu ranks", out.devices.size(), ranks));
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
