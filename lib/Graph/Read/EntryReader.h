// Reads one attribute or type of a bytecode file. Parts that are not there yet are noted, and it is read once more when they are.
#pragma once
#include "BytecodeAttributes.h"

namespace glia::graph {

class EntryReader {
public:
  EntryReader(AttributeTable &t, const BytecodeFile::Entry &e) : table(t), context(t.context), in(e.data), entry(e) {}

  // Null while parts are missing.
  mlir::Attribute readAttribute();
  mlir::Type readType();

  std::vector<size_t> missing;
  uint32_t depth = 0; // of the parts
  uint64_t weight = 0;

private:
  // ---- by dialect -----------------------------------------------------------------------------------------------------------
  mlir::Attribute builtinAttribute(uint64_t code); // BytecodeBuiltin.cpp
  mlir::Type builtinType(uint64_t code);
  mlir::Attribute vhloAttribute(uint64_t code); // BytecodeVhlo.cpp
  mlir::Type vhloType(uint64_t code);
  mlir::Attribute shardingAttribute(uint64_t code); // BytecodeSharding.cpp

  // ---- parts ----------------------------------------------------------------------------------------------------------------
  bool waiting() const { return !missing.empty(); }
  const AttributeTable::Slot *part(bool isType, uint64_t index);
  mlir::Attribute attribute() { return attribute(in.varint()); }
  mlir::Attribute attribute(uint64_t index);
  mlir::Type type();
  // Of one kind; null while it is missing.
  template <typename T> T attributeOf(const char *what) {
    const mlir::Attribute a = attribute();
    if (!a)
      return {};
    T t = llvm::dyn_cast<T>(a);
    if (!t)
      in.fail(std::string(what) + " is expected");
    return t;
  }
  mlir::Attribute optionalAttribute();
  llvm::SmallVector<mlir::Attribute> attributes();
  llvm::SmallVector<mlir::Type> types();
  llvm::SmallVector<int64_t> integers();
  mlir::StringAttr string();
  llvm::APInt number(unsigned bits);
  llvm::APFloat real(mlir::FloatType type);
  // An enum of the graph dialect.
  template <typename Attr, typename Enum> mlir::Attribute choice(std::optional<Enum> (*of)(uint32_t)) {
    const uint64_t value = in.varint();
    const std::optional<Enum> e = value <= UINT32_MAX ? of(static_cast<uint32_t>(value)) : std::nullopt;
    if (!e)
      unknown("value of an enum", value);
    return Attr::get(context, *e);
  }

  // ---- what several dialects have -------------------------------------------------------------------------------------------
  mlir::Attribute integerAttribute();
  mlir::Attribute floatAttribute();
  mlir::Attribute dictionary(llvm::ArrayRef<std::pair<mlir::Attribute, mlir::Attribute>> pairs);
  mlir::Attribute pairs();
  mlir::Attribute denseElements(mlir::Type type, std::string_view bytes);
  mlir::Type tensorType(llvm::ArrayRef<int64_t> shape, mlir::Type element, mlir::Attribute encoding);
  mlir::Type bufferType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Type complexType(mlir::Type element);
  mlir::Type functionType();
  mlir::Type tensorType(bool encoded);
  mlir::Type tupleType();
  void checkShape(llvm::ArrayRef<int64_t> shape);
  std::string textForm();
  [[noreturn]] void unknown(const char *what, uint64_t code);

  AttributeTable &table;
  mlir::MLIRContext *context;
  ByteCursor in;
  const BytecodeFile::Entry &entry;
};

} // namespace glia::graph
