#include "BytecodeFile.h"

#include <array>

namespace glia::graph {

namespace {
enum Section : unsigned {
  Strings,
  Dialects,
  Entries,
  EntryOffsets,
  Ir,
  Resources,
  ResourceOffsets,
  DialectVersions,
  Properties
};
constexpr unsigned kSections = 9;
constexpr std::string_view kSectionNames[kSections] = {
    "strings",    "dialects",  "attributes and types", "offsets of attributes and types",
    "operations", "resources", "resource offsets",     "dialect versions",
    "properties"};
constexpr uint64_t kNewest = 6;
} // namespace

static_assert(Ir == kIrSection);

std::pair<unsigned, ByteCursor> readSection(ByteCursor &at) {
  const uint8_t head = at.byte();
  const uint64_t size = at.varint();
  if (head & 128)
    at.align(at.varint());
  const unsigned kind = head & 127;
  if (kind >= kSections)
    at.fail(format("there is no kind of section %u", kind));
  return {kind, at.part(size)};
}

BytecodeFile::BytecodeFile(const ByteSource &source) {
  ByteCursor at(source);
  if (at.take(std::min<size_t>(4, at.left())) != "ML\xefR")
    at.fail("the file does not begin as MLIR bytecode does");
  version = at.varint();
  if (version > kNewest)
    at.fail("BYTECODE-VERSION",
            format("the file is of version %llu of MLIR bytecode, and versions 0 to %llu are read",
                   static_cast<unsigned long long>(version), static_cast<unsigned long long>(kNewest)),
            "Write the artifact for an older version of StableHLO.");
  producer = at.zeroEnded();
  std::array<std::optional<ByteCursor>, kSections> sections;
  while (!at.done()) {
    const auto [kind, data] = readSection(at);
    if (sections[kind])
      at.fail("the section of " + std::string(kSectionNames[kind]) + " is there twice");
    sections[kind] = data;
  }
  const auto need = [&](Section s) {
    if (!sections[s])
      at.fail("the section of " + std::string(kSectionNames[s]) + " is missing");
    return *sections[s];
  };
  readStrings(need(Strings));
  readDialects(need(Dialects));
  readEntries(need(Entries), need(EntryOffsets));
  if (sections[Properties])
    readProperties(*sections[Properties]);
  if (sections[Resources] || sections[ResourceOffsets])
    readResources(need(Resources), need(ResourceOffsets));
  ir = need(Ir);
}

// The sizes first, of the last string first; then the strings, each with a zero at its end.
void BytecodeFile::readStrings(ByteCursor at) {
  std::vector<uint64_t> sizes(at.count());
  for (uint64_t &size : sizes) {
    size = at.varint();
    if (size == 0)
      at.fail("a string has no end");
  }
  strings.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string_view s = at.take(sizes[sizes.size() - 1 - i]);
    strings[i] = s.substr(0, s.size() - 1);
  }
  if (!at.done())
    at.fail("bytes are left behind the strings");
}

std::string_view BytecodeFile::string(const ByteCursor &at, uint64_t index) const {
  if (index >= strings.size())
    at.fail(format("there is no string %llu", static_cast<unsigned long long>(index)));
  return strings[index];
}

std::string_view BytecodeFile::dialect(ByteCursor &at) const {
  const uint64_t index = at.varint();
  if (index >= dialects.size())
    at.fail(format("there is no dialect %llu", static_cast<unsigned long long>(index)));
  return dialects[index];
}

void BytecodeFile::readDialects(ByteCursor at) {
  dialects.resize(at.count());
  for (std::string_view &name : dialects) {
    if (version == 0) {
      name = string(at);
      continue;
    }
    const auto [index, versioned] = at.flagged();
    name = string(at, index);
    if (versioned && readSection(at).first != DialectVersions)
      at.fail("the version of a dialect is expected");
  }
  if (version >= 4)
    at.varint(); // how many names there are in all
  while (!at.done()) {
    const std::string_view group = dialect(at);
    for (uint64_t n = at.count(); n-- > 0;) {
      const auto [index, registered] = version >= 5 ? at.flagged() : std::pair(at.varint(), true);
      names.push_back({group, string(at, index), registered});
    }
  }
}

void BytecodeFile::readEntries(ByteCursor data, ByteCursor offsets) {
  const uint64_t counts[] = {offsets.varint(), offsets.varint()};
  std::vector<Entry> *tables[] = {&attributes, &types};
  for (int i = 0; i < 2; ++i)
    while (tables[i]->size() < counts[i]) {
      const std::string_view group = dialect(offsets);
      uint64_t n = offsets.count();
      if (n > counts[i] - tables[i]->size())
        offsets.fail("there are more attributes or types than are announced");
      while (n-- > 0) {
        const auto [size, custom] = offsets.flagged();
        tables[i]->push_back({group, data.part(size), custom});
      }
    }
  if (!offsets.done() || !data.done())
    offsets.fail("bytes are left behind the attributes and types");
}

void BytecodeFile::readProperties(ByteCursor at) {
  for (uint64_t n = at.count(); n-- > 0;)
    properties.push_back(at.part(at.varint()));
  if (!at.done())
    at.fail("bytes are left behind the properties");
}

// Groups of other tools first, which nothing here reads; then those of dialects, whose order is that of the handles.
void BytecodeFile::readResources(ByteCursor data, ByteCursor offsets) {
  constexpr uint8_t kBlob = 0;
  for (uint64_t foreign = offsets.count(); !offsets.done() || foreign;) {
    const bool ours = foreign == 0;
    if (ours) {
      dialect(offsets);
    } else {
      string(offsets);
      --foreign;
    }
    for (uint64_t n = offsets.count(); n-- > 0;) {
      string(offsets);
      const uint64_t size = offsets.varint();
      const uint8_t kind = offsets.byte();
      ByteCursor value = data.part(size);
      std::string_view bytes;
      if (kind == kBlob && size) {
        const uint64_t alignment = value.varint(), length = value.varint();
        value.align(alignment);
        bytes = value.take(length);
      }
      if (ours)
        resources.push_back(bytes);
    }
  }
}

} // namespace glia::graph
