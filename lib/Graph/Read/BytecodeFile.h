// The container of MLIR bytecode, versions 0 to 6: sections, strings, names, and where each attribute and type is.
#pragma once
#include "ByteCursor.h"

#include <optional>
#include <vector>

namespace glia::graph {

struct BytecodeFile {
  explicit BytecodeFile(const ByteSource &source); // throws Error BYTECODE-FORMAT, BYTECODE-VERSION

  // An attribute or a type: in an encoding of its dialect, or as text.
  struct Entry {
    std::string_view dialect;
    ByteCursor data;
    bool custom = false;
  };
  struct OperationName {
    std::string_view dialect, name;
    bool registered = true; // where it was written; properties of others are an attribute
  };

  std::string_view string(ByteCursor &at) const { return string(at, at.varint()); }
  std::string_view string(const ByteCursor &at, uint64_t index) const;

  uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings;
  std::vector<OperationName> names;
  std::vector<Entry> attributes, types;
  std::vector<ByteCursor> properties;
  std::vector<std::string_view> resources; // the bytes of each, in the order of their handles
  ByteCursor ir;

private:
  void readStrings(ByteCursor at);
  void readDialects(ByteCursor at);
  void readEntries(ByteCursor data, ByteCursor offsets);
  void readProperties(ByteCursor at);
  void readResources(ByteCursor data, ByteCursor offsets);
  std::string_view dialect(ByteCursor &at) const;

  std::vector<std::string_view> dialects;
};

// One section: its kind and its content.
std::pair<unsigned, ByteCursor> readSection(ByteCursor &at);
inline constexpr unsigned kIrSection = 4;

} // namespace glia::graph
