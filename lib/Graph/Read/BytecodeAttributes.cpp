#include "BytecodeAttributes.h"
#include "Accept.h"
#include "EntryReader.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace glia::graph {

// MLIR follows attributes in attributes by recursion, and a part that is reached often is seen as often.
static constexpr uint32_t kDeepestEntry = 1000;
static constexpr uint64_t kHeaviestEntry = uint64_t(1) << 22;

AttributeTable::AttributeTable(const BytecodeFile &f, MLIRContext *c)
    : file(f), context(c), slots(f.attributes.size() + f.types.size()) {}

size_t AttributeTable::slotOf(const ByteCursor &at, bool isType, uint64_t index) const {
  if (index >= (isType ? file.types : file.attributes).size())
    at.fail(format("there is no %s %llu", isType ? "type" : "attribute", static_cast<unsigned long long>(index)));
  return index + (isType ? file.attributes.size() : 0);
}

Attribute AttributeTable::attribute(const ByteCursor &at, uint64_t index) {
  const size_t slot = slotOf(at, false, index);
  resolve(slot);
  return slots[slot].attribute;
}

Type AttributeTable::type(const ByteCursor &at, uint64_t index) {
  const size_t slot = slotOf(at, true, index);
  resolve(slot);
  return slots[slot].type;
}

Location AttributeTable::location(ByteCursor &at) {
  auto location = dyn_cast<LocationAttr>(attribute(at));
  if (!location)
    at.fail("a location is expected");
  return location;
}

// Without recursion: the parts of an entry come before it on the stack.
void AttributeTable::resolve(size_t first) {
  if (slots[first].ready())
    return;
  SmallVector<size_t> stack{first};
  while (!stack.empty()) {
    const size_t now = stack.back();
    Slot &slot = slots[now];
    if (slot.ready()) {
      stack.pop_back();
      continue;
    }
    const size_t attributes = file.attributes.size();
    const BytecodeFile::Entry &entry = now < attributes ? file.attributes[now] : file.types[now - attributes];
    EntryReader reader(*this, entry);
    const Attribute a = now < attributes ? reader.readAttribute() : Attribute();
    const Type t = now < attributes ? Type() : reader.readType();
    if (!reader.missing.empty()) {
      if (slot.open)
        entry.data.fail("an attribute or type is a part of itself");
      slot.open = true;
      stack.append(reader.missing.begin(), reader.missing.end());
      continue;
    }
    slot.attribute = a;
    slot.type = t;
    slot.depth = reader.depth + 1;
    slot.weight = reader.weight + 1;
    if (slot.depth > kDeepestEntry || slot.weight > kHeaviestEntry)
      entry.data.fail(format("attributes or types are nested more than %u deep, or have more than %llu parts", kDeepestEntry,
                             static_cast<unsigned long long>(kHeaviestEntry)));
    stack.pop_back();
  }
}

// ---- one entry --------------------------------------------------------------------------------------------------------------

Attribute EntryReader::readAttribute() {
  Attribute made;
  if (!entry.custom) {
    made = parseAttribute(textForm(), context);
  } else {
    const uint64_t code = in.varint();
    made = entry.dialect == "vhlo"      ? vhloAttribute(code)
           : entry.dialect == "builtin" ? builtinAttribute(code)
           : entry.dialect == "sdy"     ? shardingAttribute(code)
                                        : Attribute();
  }
  if (!made && !waiting())
    in.fail("an attribute of the dialect `" + std::string(entry.dialect) + "` cannot be read");
  if (made && !in.done())
    in.fail("bytes are left behind an attribute");
  return made;
}

Type EntryReader::readType() {
  Type made;
  if (!entry.custom) {
    made = parseType(textForm(), context);
  } else {
    const uint64_t code = in.varint();
    made = entry.dialect == "vhlo" ? vhloType(code) : entry.dialect == "builtin" ? builtinType(code) : Type();
  }
  if (!made && !waiting())
    in.fail("a type of the dialect `" + std::string(entry.dialect) + "` cannot be read");
  if (made && !in.done())
    in.fail("bytes are left behind a type");
  return made;
}

std::string EntryReader::textForm() {
  std::string text(in.zeroEnded());
  if (nestedTooDeeply(text))
    in.fail(format("brackets are nested more than %zu deep", kDeepest));
  return text;
}

void EntryReader::unknown(const char *what, uint64_t code) {
  in.fail("BYTECODE-VERSION",
          format("the %s %llu of the dialect `%s` is unknown", what, static_cast<unsigned long long>(code),
                 std::string(entry.dialect).c_str()),
          "Write the artifact for an older version of StableHLO.");
}

// ---- parts ------------------------------------------------------------------------------------------------------------------

const AttributeTable::Slot *EntryReader::part(bool isType, uint64_t index) {
  const size_t number = table.slotOf(in, isType, index);
  const AttributeTable::Slot &slot = table.slots[number];
  if (!slot.ready()) {
    missing.push_back(number);
    return nullptr;
  }
  depth = std::max(depth, slot.depth);
  weight += slot.weight;
  return &slot;
}

Attribute EntryReader::attribute(uint64_t index) {
  const AttributeTable::Slot *slot = part(false, index);
  return slot ? slot->attribute : Attribute();
}

Type EntryReader::type() {
  const AttributeTable::Slot *slot = part(true, in.varint());
  return slot ? slot->type : Type();
}

Attribute EntryReader::optionalAttribute() {
  const auto [index, there] = in.flagged();
  return there ? attribute(index) : Attribute();
}

SmallVector<Attribute> EntryReader::attributes() {
  SmallVector<Attribute> list(in.count());
  for (Attribute &a : list)
    a = attribute();
  return list;
}

SmallVector<Type> EntryReader::types() {
  SmallVector<Type> list(in.count());
  for (Type &t : list)
    t = type();
  return list;
}

SmallVector<int64_t> EntryReader::integers() {
  SmallVector<int64_t> list(in.count());
  for (int64_t &i : list)
    i = in.signedVarint();
  return list;
}

StringAttr EntryReader::string() {
  const std::string_view s = table.file.string(in);
  return StringAttr::get(context, StringRef(s.data(), s.size()));
}

APInt EntryReader::number(unsigned bits) {
  if (bits <= 8)
    return APInt(bits, in.byte(), false, /*implicitTrunc=*/true);
  if (bits <= 64)
    return APInt(bits, static_cast<uint64_t>(in.signedVarint()), false, true);
  SmallVector<uint64_t> words(in.count());
  for (uint64_t &w : words)
    w = static_cast<uint64_t>(in.signedVarint());
  return APInt(bits, words);
}

APFloat EntryReader::real(FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  return APFloat(semantics, number(APFloat::semanticsSizeInBits(semantics)));
}

// ---- what several dialects have ---------------------------------------------------------------------------------------------

Attribute EntryReader::integerAttribute() {
  const Type t = type();
  if (!t)
    return {};
  if (!t.isIntOrIndex() || (!t.isIndex() && t.getIntOrFloatBitWidth() == 0))
    in.fail("the type of an integer is expected");
  return IntegerAttr::get(t, number(t.isIndex() ? IndexType::kInternalStorageBitWidth : t.getIntOrFloatBitWidth()));
}

Attribute EntryReader::floatAttribute() {
  const Type t = type();
  if (!t)
    return {};
  auto f = dyn_cast<FloatType>(t);
  if (!f)
    in.fail("the type of a float is expected");
  return FloatAttr::get(f, real(f));
}

Attribute EntryReader::pairs() {
  SmallVector<std::pair<Attribute, Attribute>> list(in.count());
  for (auto &[name, value] : list) {
    name = attribute();
    value = attribute();
  }
  return waiting() ? Attribute() : dictionary(list);
}

Attribute EntryReader::dictionary(ArrayRef<std::pair<Attribute, Attribute>> pairs) {
  NamedAttrList list;
  for (auto [name, value] : pairs) {
    auto s = dyn_cast<StringAttr>(name);
    if (!s || s.empty())
      in.fail("the name of an attribute is expected");
    list.append(s, value);
  }
  if (list.findDuplicate())
    in.fail("a name is twice among attributes");
  return list.getDictionary(context);
}

void EntryReader::checkShape(ArrayRef<int64_t> shape) {
  for (const int64_t d : shape)
    if (d < 0 && d != ShapedType::kDynamic)
      in.fail(format("a dimension is %lld", static_cast<long long>(d)));
}

Type EntryReader::tensorType(ArrayRef<int64_t> shape, Type element, Attribute encoding) {
  checkShape(shape);
  if (waiting())
    return {};
  if (!TensorType::isValidElementType(element))
    in.fail("a tensor has no such elements");
  return RankedTensorType::get(shape, element, encoding);
}

Type EntryReader::bufferType(ArrayRef<int64_t> shape, Type element) {
  checkShape(shape);
  if (waiting())
    return {};
  if (!BaseMemRefType::isValidElementType(element))
    in.fail("a buffer has no such elements");
  return MemRefType::get(shape, element);
}

Type EntryReader::complexType(Type element) {
  if (waiting())
    return {};
  if (!element.isIntOrFloat())
    in.fail("a complex type has no such parts");
  return ComplexType::get(element);
}

Type EntryReader::functionType() {
  const SmallVector<Type> from = types(), to = types();
  return waiting() ? Type() : FunctionType::get(context, from, to);
}

Type EntryReader::tensorType(bool encoded) {
  const Attribute encoding = encoded ? attribute() : Attribute();
  const SmallVector<int64_t> shape = integers();
  return tensorType(shape, type(), encoding);
}

Type EntryReader::tupleType() {
  const SmallVector<Type> list = types();
  return waiting() ? Type() : TupleType::get(context, list);
}

// Little-endian, row-major; one element for all when they are equal. i1 may be packed, the first element in the lowest bit.
Attribute EntryReader::denseElements(Type type, std::string_view bytes) {
  if (waiting())
    return {};
  auto t = dyn_cast<RankedTensorType>(type);
  if (!t || !t.hasStaticShape())
    in.fail("elements need a tensor of static shape");
  const Type e = t.getElementType();
  auto complex = dyn_cast<ComplexType>(e);
  const Type part = complex ? complex.getElementType() : e;
  if (!part.isIntOrIndexOrFloat())
    in.fail("a tensor of these elements has no bytes");
  uint64_t n = 1;
  for (const int64_t d : t.getShape())
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(d), &n) || n > (uint64_t(1) << 40))
      in.fail("a constant has more than 2^40 elements");
  if (e.isInteger(1)) {
    if (bytes.size() == 1 && (static_cast<uint8_t>(bytes[0]) == 0xFF || n > 8 || n < 2))
      return DenseElementsAttr::get(t, bytes[0] != 0);
    const bool packed = bytes.size() == (n + 7) / 8 && bytes.size() != n;
    if (!packed && bytes.size() != n)
      in.fail("a constant has more or fewer bytes than its type");
    SmallVector<bool> values(n);
    for (uint64_t i = 0; i < n; ++i)
      values[i] = packed ? bytes[i / 8] >> (i % 8) & 1 : bytes[i] != 0;
    return DenseElementsAttr::get(t, values);
  }
  const uint64_t bits = part.isIndex() ? 64 : part.getIntOrFloatBitWidth();
  const uint64_t size = (complex ? 2 : 1) * ((bits + 7) / 8);
  if (bytes.size() != n * size && bytes.size() != size)
    in.fail("a constant has more or fewer bytes than its type");
  return DenseElementsAttr::getFromRawBuffer(t, ArrayRef<char>(bytes.data(), bytes.size()));
}

} // namespace glia::graph
