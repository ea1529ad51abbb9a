// The attributes and types of MLIR itself.
#include "EntryReader.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace glia::graph {

namespace {
enum AttributeCode : uint64_t {
  Array,
  Dictionary,
  String,
  TypedString,
  FlatSymbol,
  Symbol,
  TypeOf,
  Unit,
  Integer,
  Float,
  CallSite,
  FileLineColumn,
  Fused,
  FusedWithMetadata,
  Name,
  UnknownPlace,
  Resource,
  DenseArray,
  DenseNumbers,
  DenseStrings,
  Sparse,
  Distinct,
  FileRange,
};
enum TypeCode : uint64_t {
  IntegerOf,
  Index,
  Function,
  Bf16,
  F16,
  F32,
  F64,
  F80,
  F128,
  Complex,
  Buffer,
  BufferInSpace,
  None,
  Tensor,
  EncodedTensor,
  Tuple,
  UnrankedBuffer,
  UnrankedBufferInSpace,
  UnrankedTensor,
};
} // namespace

static uint32_t line(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); }

Attribute EntryReader::builtinAttribute(uint64_t code) {
  switch (code) {
  case Array: {
    const SmallVector<Attribute> list = attributes();
    return waiting() ? Attribute() : ArrayAttr::get(context, list);
  }
  case Dictionary: return pairs();
  case String: return string();
  case TypedString: {
    const StringAttr s = string();
    const Type t = type();
    return waiting() ? Attribute() : StringAttr::get(s.getValue(), t);
  }
  case FlatSymbol: {
    const auto s = attributeOf<StringAttr>("a name");
    return waiting() ? Attribute() : FlatSymbolRefAttr::get(s);
  }
  case Symbol: {
    const auto s = attributeOf<StringAttr>("a name");
    SmallVector<FlatSymbolRefAttr> nested(in.count());
    for (FlatSymbolRefAttr &n : nested)
      n = attributeOf<FlatSymbolRefAttr>("a symbol");
    return waiting() ? Attribute() : SymbolRefAttr::get(s, nested);
  }
  case TypeOf: {
    const Type t = type();
    return waiting() ? Attribute() : TypeAttr::get(t);
  }
  case Unit: return UnitAttr::get(context);
  case Integer: return integerAttribute();
  case Float: return floatAttribute();
  case CallSite: {
    const auto callee = attributeOf<LocationAttr>("a location"), caller = attributeOf<LocationAttr>("a location");
    return waiting() ? Attribute() : CallSiteLoc::get(Location(callee), Location(caller));
  }
  case FileLineColumn: {
    const auto file = attributeOf<StringAttr>("a name of a file");
    const uint32_t row = line(in.varint()), column = line(in.varint());
    return waiting() ? Attribute() : FileLineColLoc::get(file, row, column);
  }
  case Fused:
  case FusedWithMetadata: {
    SmallVector<Location> places;
    for (uint64_t n = in.count(); n-- > 0;)
      if (const auto l = attributeOf<LocationAttr>("a location"))
        places.push_back(Location(l));
    const Attribute metadata = code == FusedWithMetadata ? attribute() : Attribute();
    return waiting() ? Attribute() : Attribute(FusedLoc::get(places, metadata, context)); // as the text is read
  }
  case Name: {
    const auto name = attributeOf<StringAttr>("a name");
    const auto child = attributeOf<LocationAttr>("a location");
    return waiting() ? Attribute() : NameLoc::get(name, Location(child));
  }
  case UnknownPlace: return UnknownLoc::get(context);
  case Resource: {
    const Type t = type();
    const uint64_t handle = in.varint();
    if (handle >= table.file.resources.size())
      in.fail(format("there is no resource %llu", static_cast<unsigned long long>(handle)));
    return denseElements(t, table.file.resources[handle]);
  }
  case DenseArray: {
    const Type t = type();
    const uint64_t n = in.varint();
    const std::string_view bytes = in.take(in.varint());
    if (waiting())
      return {};
    const uint64_t width = t.isIntOrFloat() ? (t.getIntOrFloatBitWidth() + 7) / 8 : 0;
    if (!width || bytes.size() % width || bytes.size() / width != n)
      in.fail("an array has more or fewer bytes than its type");
    return DenseArrayAttr::get(t, static_cast<int64_t>(n), ArrayRef<char>(bytes.data(), bytes.size()));
  }
  case DenseNumbers: {
    const Type t = type();
    return denseElements(t, in.take(in.varint()));
  }
  case FileRange: {
    const auto file = attributeOf<StringAttr>("a name of a file");
    SmallVector<uint32_t, 4> n(in.count());
    for (uint32_t &i : n)
      i = line(in.varint());
    if (n.size() > 4)
      in.fail("a range of a file has up to four numbers");
    if (waiting())
      return {};
    switch (n.size()) {
    case 0: return FileLineColRange::get(file);
    case 1: return FileLineColRange::get(file, n[0]);
    case 2: return FileLineColRange::get(file, n[0], n[1]);
    case 3: return FileLineColRange::get(file, n[0], n[1], n[2]);
    default: return FileLineColRange::get(file, n[0], n[1], n[2], n[3]);
    }
  }
  default: unknown("attribute", code);
  }
}

Type EntryReader::builtinType(uint64_t code) {
  switch (code) {
  case IntegerOf: {
    const uint64_t v = in.varint(), width = v >> 2;
    if (width > IntegerType::kMaxWidth || (v & 3) > 2)
      in.fail("there is no such integer type");
    return IntegerType::get(context, static_cast<unsigned>(width), static_cast<IntegerType::SignednessSemantics>(v & 3));
  }
  case Index: return IndexType::get(context);
  case Function: return functionType();
  case Bf16: return BFloat16Type::get(context);
  case F16: return Float16Type::get(context);
  case F32: return Float32Type::get(context);
  case F64: return Float64Type::get(context);
  case F80: return Float80Type::get(context);
  case F128: return Float128Type::get(context);
  case Complex: return complexType(type());
  case None: return NoneType::get(context);
  case Tensor: return tensorType(false);
  case EncodedTensor: return tensorType(true);
  case Tuple: return tupleType();
  default: unknown("type", code);
  }
}

} // namespace glia::graph
