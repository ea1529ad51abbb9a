// An executable in bytes: a magic number, a seal, a checksum of what follows, then the signature, the module and the program's container.
// Numbers are 64 bits, little-endian; texts and lists begin with their length.
#include "Compiled.h"
#include "Seal.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/Container.h"
#include "glia/Support/Checksum.h"
#include "glia/Verify/VerifyRanks.h"

#include <cstring>

namespace glia::pjrt {

namespace {

constexpr std::string_view kMagic = "GLIAEXE4";

std::span<const std::byte> bytesIn(std::string_view text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

class Writer {
public:
  std::string out;
  void number(uint64_t n) {
    for (int i = 0; i < 8; ++i)
      out += static_cast<char>(n >> (8 * i));
  }
  void text(std::string_view t) {
    number(t.size());
    out += t;
  }
  void specs(const std::vector<ArraySpec> &list) {
    number(list.size());
    for (const ArraySpec &s : list) {
      number(static_cast<uint64_t>(s.type));
      number(s.dims.size());
      for (int64_t d : s.dims)
        number(static_cast<uint64_t>(d));
      text(s.tensor);
      number(static_cast<uint64_t>(s.memory));
    }
  }
};

[[noreturn]] void bad(const std::string &what) {
  throw failure(Code::DataLoss, "PJRT-SERIALIZED", "a serialized executable " + what, "Compile the function again.");
}

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  uint64_t number() {
    uint64_t n = 0;
    for (int i = 0; const char c : take(8))
      n |= uint64_t{static_cast<uint8_t>(c)} << (8 * i++);
    return n;
  }
  std::string_view text() { return take(number()); }
  std::vector<ArraySpec> specs() {
    std::vector<ArraySpec> out(count());
    for (ArraySpec &s : out) {
      s.type = static_cast<ElementType>(number());
      s.dims.resize(count());
      for (int64_t &d : s.dims)
        d = static_cast<int64_t>(number());
      s.tensor = text();
      s.memory = number() ? MemoryKind::Host : MemoryKind::Device;
    }
    return out;
  }
  std::string_view remaining() const { return rest; }
  size_t count() { // of things that take at least a number each
    const uint64_t n = number();
    if (n > rest.size() / 8)
      bad("is cut off");
    return n;
  }

private:
  std::string_view rest;
  std::string_view take(uint64_t n) {
    if (n > rest.size())
      bad("is cut off");
    const std::string_view out = rest.substr(0, n);
    rest.remove_prefix(n);
    return out;
  }
};

} // namespace

std::string serialize(const Kept &kept) {
  const Compiled &c = *kept.compiled;
  Writer w;
  w.number(kept.devices.size());
  for (const int64_t d : kept.devices)
    w.number(static_cast<uint64_t>(d));
  w.text(c.signature.name);
  w.specs(c.signature.arguments);
  w.specs(c.signature.results);
  w.number(c.signature.donated.size());
  for (const bool d : c.signature.donated)
    w.number(d);
  uint64_t flops;
  std::memcpy(&flops, &c.signature.flops, sizeof flops);
  w.number(flops);
  w.number(static_cast<uint64_t>(c.signature.replicas));
  w.number(static_cast<uint64_t>(c.signature.partitions));
  w.text(c.signature.description);
  w.text(c.target);
  w.text(c.module);
  const std::vector<std::byte> program = toBytes(c.program);
  w.text({reinterpret_cast<const char *>(program.data()), program.size()});
  Writer head;
  head.out = kMagic;
  head.text(sealOf(w.out)); // what is compiled was proved
  head.number(checksum64(bytesIn(w.out)));
  return head.out + w.out;
}

Kept deserialize(std::string_view bytes, const Settings &settings) {
  if (!bytes.starts_with(kMagic))
    bad("does not begin like one");
  Reader head(bytes.substr(kMagic.size()));
  const std::string_view seal = head.text();
  const uint64_t sum = head.number();
  const std::string_view body = head.remaining();
  if (checksum64(bytesIn(body)) != sum)
    bad("is not as it was written");
  Reader r(body);
  Kept out;
  out.devices.resize(r.count());
  for (int64_t &d : out.devices)
    d = static_cast<int64_t>(r.number());
  Signature s;
  s.name = r.text();
  s.arguments = r.specs();
  s.results = r.specs();
  s.donated.resize(r.count());
  for (size_t i = 0; i < s.donated.size(); ++i)
    s.donated[i] = r.number() != 0;
  const uint64_t flops = r.number();
  std::memcpy(&s.flops, &flops, sizeof flops);
  s.replicas = static_cast<int64_t>(r.number());
  s.partitions = static_cast<int64_t>(r.number());
  s.description = r.text();
  const std::string target(r.text()), module(r.text());
  Program p = loadBytes(bytesIn(r.text()));
  if (p.target->text != loadTarget(settings.target)->text)
    throw failure(Code::InvalidArgument, "PJRT-SERIALIZED",
                  "a serialized executable is for " + target + " and the devices are " + settings.target,
                  "Set GLIA_TARGET to what it was compiled for, or compile the function again.");
  if (settings.proveAgain || !isSealed(body, seal))
    if (VerifyResult v = verifyRanks(p); !v.ok())
      throw Error(std::move(v.diagnostics));
  if (s.replicas < 1 || s.partitions < 1 || s.replicas > kMostRanks || s.partitions > kMostRanks || s.ranks() != ranksOf(p))
    bad("is for another number of devices than its program");
  checkSignature(s, p);
  out.compiled = std::make_shared<Compiled>(std::move(s), std::move(p), module, target);
  return out;
}

} // namespace glia::pjrt
