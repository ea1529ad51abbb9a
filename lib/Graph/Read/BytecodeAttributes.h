// The attributes and types of a bytecode file as those of a graph: VHLO's and Shardy's become what the text form would have given.
#pragma once
#include "BytecodeFile.h"
#include "glia/Graph/Graph.h"

namespace glia::graph {

class AttributeTable {
public:
  AttributeTable(const BytecodeFile &f, mlir::MLIRContext *c);

  // Never null. `at` is where the number was read.
  mlir::Attribute attribute(const ByteCursor &at, uint64_t index);
  mlir::Attribute attribute(ByteCursor &at) { return attribute(at, at.varint()); }
  mlir::Type type(const ByteCursor &at, uint64_t index);
  mlir::Type type(ByteCursor &at) { return type(at, at.varint()); }
  mlir::Location location(ByteCursor &at);

private:
  friend class EntryReader;
  struct Slot {
    mlir::Attribute attribute;
    mlir::Type type;
    bool open = false;   // its parts are being read
    uint32_t depth = 0;  // of parts in parts
    uint64_t weight = 0; // of all parts, each as often as it is reached
    bool ready() const { return attribute || type; }
  };
  size_t slotOf(const ByteCursor &at, bool isType, uint64_t index) const;
  void resolve(size_t slot);

  const BytecodeFile &file;
  mlir::MLIRContext *context;
  std::vector<Slot> slots; // attributes, then types
};

} // namespace glia::graph
