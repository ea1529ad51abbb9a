// Reads program files. Nothing in the bytes is trusted: sizes are checked before they are used, and checkStructure has the
// last word. The instruction arrays are not copied, they are looked at where they are.
#include "Bytes.h"
#include "ContainerFormat.h"
#include "glia/ISA/Instruction.h"
#include "glia/Program/Container.h"
#include "glia/Program/Decode.h"
#include "glia/Program/View.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"

namespace glia {

namespace {

constexpr const char *kDamaged = "The file is damaged or was not written by glia; make it again.";

class Reader {
public:
  explicit Reader(std::span<const std::byte> file) : file(file) {}
  Program read();

private:
  std::span<const std::byte> file;
  SectionEntry table[kNumSections];
  Program p;

  void header();
  std::span<const std::byte> bytes(Section s) const {
    const SectionEntry &e = table[static_cast<uint32_t>(s) - 1];
    return file.subspan(e.offset, e.bytes);
  }
  void target();
  void opcodes();
  void tensors();
  void allocations();
  void semaphoresAndQueues();
  void patterns();
  void stringsAndOrigins();
  void streams();
  void linking();
};

[[noreturn]] void bad(const char *code, const std::string &what, const char *advice = kDamaged) {
  throw Error(code, what, advice);
}

void Reader::header() {
  if (!looksLikeContainer(file))
    bad("CONTAINER-MAGIC", "this is not a glia program", "Programs are made with `glia asm`.");
  ContainerHeader h;
  if (file.size() < sizeof h + sizeof table)
    bad("CONTAINER-SIZE", "the file has " + std::to_string(file.size()) + " bytes and is too short for a header");
  std::memcpy(&h, file.data(), sizeof h);
  if (h.version != kContainerVersion)
    bad("CONTAINER-VERSION",
        format("the file has version %u of the format and this glia reads version %u", h.version, kContainerVersion),
        "Make the program again with this glia.");
  if (h.fileBytes != file.size())
    bad("CONTAINER-SIZE",
        format("the file has %zu bytes and should have %llu", file.size(), (unsigned long long)h.fileBytes));
  if (h.checksum != checksum64(file.subspan(sizeof h), checksum64(file.first(offsetof(ContainerHeader, checksum)))))
    bad("CONTAINER-CHECKSUM", "the checksum of the file is wrong");
  if (h.sections != kNumSections)
    bad("CONTAINER-STRUCTURE", format("the file has %u sections and should have %u", h.sections, kNumSections));
  std::memcpy(table, file.data() + sizeof h, sizeof table);
  uint64_t at = alignUp(sizeof h + sizeof table);
  for (uint32_t i = 0; i < kNumSections; ++i) {
    const SectionEntry &e = table[i];
    if (e.id != i + 1 || e.reserved || e.offset != at || e.bytes > file.size() - at)
      bad("CONTAINER-STRUCTURE", format("entry %u of the section table is wrong", i));
    at = alignUp(at + e.bytes);
    if (at > file.size())
      bad("CONTAINER-STRUCTURE", format("section %u reaches beyond the file", i + 1));
  }
  if (at != file.size())
    bad("CONTAINER-STRUCTURE", "the file goes on behind its last section");
}

void Reader::target() {
  auto raw = bytes(Section::Target);
  const std::string_view text(reinterpret_cast<const char *>(raw.data()), raw.size());
  for (const BuiltinFile &f : builtinTargetFiles())
    if (f.text == text) {
      p.target = loadTarget(f.name);
      return;
    }
  p.target = parseTarget(text, "the target in the program file");
}

void Reader::opcodes() {
  ByteReader r(bytes(Section::Opcodes), "opcodes");
  for (uint32_t n = r.count(4); n--;) {
    const std::string name = r.text();
    const InstrDef *d = findInstruction(name);
    if (!d)
      bad("ISA-UNKNOWN", "the program uses an instruction `" + printable(name) + "` that this glia does not have",
          "Use a newer glia.");
    p.opcodes.push_back(d);
  }
  r.end();
}

std::vector<int64_t> shape(ByteReader &r, const std::string &name, DType t, bool onChip) {
  std::vector<int64_t> dims(r.get<uint8_t>());
  for (int64_t &d : dims)
    d = r.get<int64_t>();
  if (const std::string problem = shapeProblem(dims, t, onChip); !problem.empty())
    r.fail("has an object `" + printable(name) + "` that " + problem);
  return dims;
}

void Reader::tensors() {
  ByteReader r(bytes(Section::Tensors), "tensors");
  std::span<const std::byte> constants = bytes(Section::Constants);
  for (uint32_t n = r.count(26); n--;) {
    Tensor t;
    t.name = r.text();
    t.dtype = r.choice<DType>(kNumDTypes);
    const auto kind = r.choice<uint8_t>(5);
    t.kind = kind == kOutputFromInput ? TensorKind::Output : static_cast<TensorKind>(kind);
    t.shared = r.flag();
    t.uniqueRows = r.flag();
    t.hasRange = r.flag();
    t.rangeLo = r.get<int64_t>();
    t.rangeHi = r.get<int64_t>();
    t.shape = shape(r, t.name, t.dtype, false);
    if (kind == kOutputFromInput) {
      t.from = r.text();
      if (t.from.empty())
        r.fail("has an output `" + printable(t.name) + "` that begins as an input without a name");
    }
    if (t.kind == TensorKind::Constant) {
      const uint64_t size = static_cast<uint64_t>(t.bytes());
      if (size > constants.size())
        r.fail("has a constant `" + printable(t.name) + "` without data");
      t.data.assign(constants.begin(), constants.begin() + static_cast<ptrdiff_t>(size));
      constants = constants.subspan(size);
    }
    p.tensors.push_back(std::move(t));
  }
  r.end();
  if (!constants.empty())
    r.fail("leaves data of constants over");
}

void Reader::allocations() {
  ByteReader r(bytes(Section::Allocations), "allocations");
  for (uint32_t n = r.count(28); n--;) {
    Allocation a;
    a.name = r.text();
    a.space = r.choice<Space>(2);
    a.core = r.get<uint8_t>();
    a.dtype = r.choice<DType>(kNumDTypes);
    a.partition = r.get<int32_t>();
    a.byteOffset = r.get<int64_t>();
    a.liveFrom = r.get<uint32_t>();
    a.liveTo = r.get<uint32_t>();
    a.shape = shape(r, a.name, a.dtype, true);
    p.allocations.push_back(std::move(a));
  }
  r.end();
}

void Reader::semaphoresAndQueues() {
  ByteReader r(bytes(Section::Semaphores), "semaphores");
  for (uint32_t n = r.count(9); n--;) {
    Semaphore s;
    s.name = r.text();
    s.core = r.get<uint8_t>();
    s.initial = r.get<int32_t>();
    p.semaphores.push_back(std::move(s));
  }
  r.end();
  ByteReader q(bytes(Section::Queues), "queues");
  for (uint32_t n = q.count(5); n--;) {
    Queue x;
    x.name = q.text();
    x.core = q.get<uint8_t>();
    p.queues.push_back(std::move(x));
  }
  q.end();
}

void Reader::patterns() {
  ByteReader r(bytes(Section::Patterns), "patterns");
  for (uint32_t n = r.count(5); n--;) {
    Pattern x;
    x.dtype = r.choice<DType>(kNumDTypes);
    x.rank = r.choice<uint8_t>(kMaxDims + 1);
    x.numDynamic = r.choice<uint8_t>(kMaxDynamicTerms + 1);
    x.partitions = r.get<uint16_t>();
    for (int i = 0; i < x.rank; ++i) {
      x.dims[i].stride = r.get<int32_t>();
      x.dims[i].count = r.get<uint32_t>();
    }
    for (int i = 0; i < x.numDynamic; ++i) {
      x.dynamic[i].reg = r.get<uint8_t>();
      x.dynamic[i].partition = r.flag();
      x.dynamic[i].scale = r.get<int64_t>();
    }
    p.patterns.push_back(x);
  }
  r.end();
}

void Reader::stringsAndOrigins() {
  ByteReader r(bytes(Section::Strings), "strings");
  p.strings.clear();
  const uint32_t n = r.count(4);
  p.strings.reserve(n);
  for (uint32_t i = 0; i < n; ++i)
    p.strings.push_back(r.text());
  r.end();
  auto raw = bytes(Section::Origins);
  if (raw.size() % sizeof(InstrOrigin))
    bad("CONTAINER-STRUCTURE", "section origins has an odd size");
  p.origins.resize(raw.size() / sizeof(InstrOrigin));
  if (!raw.empty())
    std::memcpy(p.origins.data(), raw.data(), raw.size());
}

template <class T> void lookAt(PodArray<T> &array, std::span<const std::byte> &from, uint64_t n) {
  if (n > from.size() / sizeof(T))
    bad("CONTAINER-STRUCTURE", "a stream is longer than its section");
  if (n)
    array.look({reinterpret_cast<const T *>(from.data()), static_cast<size_t>(n)});
  from = from.subspan(n * sizeof(T));
}

void Reader::streams() {
  ByteReader r(bytes(Section::Streams), "streams");
  p.cores = r.get<uint32_t>();
  if (p.cores < 1 || p.cores > 64 || r.get<uint32_t>() != static_cast<uint32_t>(kNumEngines))
    r.fail("has a wrong number of cores or engines");
  p.streams.resize(p.cores);
  auto instrs = bytes(Section::Instructions), words = bytes(Section::Words), syncs = bytes(Section::Syncs);
  for (auto &core : p.streams)
    for (Stream &s : core) {
      lookAt(s.instrs, instrs, r.get<uint64_t>());
      lookAt(s.words, words, r.get<uint64_t>());
      lookAt(s.syncs, syncs, r.get<uint64_t>());
    }
  r.end();
  if (!instrs.empty() || !words.empty() || !syncs.empty())
    r.fail("does not cover all instructions");
}

void Reader::linking() {
  auto object = [](ByteReader &r) {
    ObjectRef o;
    o.kind = r.choice<ObjectKind>(2);
    o.index = r.get<uint32_t>();
    return o;
  };
  ByteReader symbols(bytes(Section::Symbols), "symbols");
  for (uint32_t n = symbols.count(10); n--;) {
    Symbol s;
    s.name = symbols.text();
    s.object = object(symbols);
    s.defined = symbols.flag();
    p.symbols.push_back(std::move(s));
  }
  symbols.end();
  ByteReader relocations(bytes(Section::Relocations), "relocations");
  for (uint32_t n = relocations.count(9); n--;) {
    Relocation r;
    r.symbol = relocations.get<uint32_t>();
    r.object = object(relocations);
    p.relocations.push_back(r);
  }
  relocations.end();
  ByteReader contract(bytes(Section::Contract), "contract");
  for (uint32_t n = contract.count(8); n--;) {
    ContractItem c;
    c.key = contract.text();
    c.value = contract.text();
    p.contract.push_back(std::move(c));
  }
  contract.end();
}

Program Reader::read() {
  header();
  target();
  opcodes();
  tensors();
  allocations();
  semaphoresAndQueues();
  patterns();
  stringsAndOrigins();
  streams();
  linking();
  checkStructure(p);
  return std::move(p);
}

} // namespace

bool looksLikeContainer(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

Program loadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  if (!owner || reinterpret_cast<uintptr_t>(bytes.data()) % 8) { // the arrays need their alignment
    auto copy = std::make_shared<std::vector<uint64_t>>((bytes.size() + 7) / 8);
    if (!bytes.empty())
      std::memcpy(copy->data(), bytes.data(), bytes.size());
    bytes = {reinterpret_cast<const std::byte *>(copy->data()), bytes.size()};
    owner = copy;
  }
  Program p = Reader(bytes).read();
  p.mapping = std::move(owner);
  return p;
}

Program load(const std::string &path) {
  FileBytes f = readFile(path);
  try {
    return loadBytes(f.bytes, f.owner);
  } catch (const Error &e) {
    std::vector<Diagnostic> ds = e.diagnostics();
    for (Diagnostic &d : ds)
      if (d.place.file.empty())
        d.place.file = path;
    throw Error(std::move(ds));
  }
}

} // namespace glia
