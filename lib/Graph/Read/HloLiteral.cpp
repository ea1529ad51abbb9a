#include "HloLiteral.h"

using namespace mlir;

namespace glia::graph::hlo {

Type elementType(int64_t primitive, MLIRContext *c) {
  const auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(c, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (primitive) {
    // clang-format off
  case PRED: return integer(1);
  case 2: return integer(8);
  case 3: return integer(16);
  case 4: return integer(32);
  case 5: return integer(64);
  case 6: return integer(8, true);
  case 7: return integer(16, true);
  case 8: return integer(32, true);
  case 9: return integer(64, true);
  case 10: return Float16Type::get(c);
  case 11: return Float32Type::get(c);
  case 12: return Float64Type::get(c);
  case 15: return ComplexType::get(Float32Type::get(c));
  case 16: return BFloat16Type::get(c);
  case 18: return ComplexType::get(Float64Type::get(c));
  case 19: return Float8E5M2Type::get(c);
  case 20: return Float8E4M3FNType::get(c);
  case 21: return integer(4);
  case 22: return integer(4, true);
  case 23: return Float8E4M3B11FNUZType::get(c);
  case 24: return Float8E5M2FNUZType::get(c);
  case 25: return Float8E4M3FNUZType::get(c);
  case 26: return integer(2);
  case 27: return integer(2, true);
  case 28: return Float8E4M3Type::get(c);
  case 29: return Float8E3M4Type::get(c);
  case 32: return Float4E2M1FNType::get(c);
  case 33: return Float8E8M0FNUType::get(c);
  default: return {};
    // clang-format on
  }
}

Type typeOf(const Shape &shape, MLIRContext *context, const ByteCursor &at) {
  if (shape.element == TOKEN)
    return TokenType::get(context);
  if (shape.dynamic)
    at.fail("GRAPH-DYNAMIC", "a value has a dynamic shape, and only static shapes are supported", "");
  const Type e = elementType(shape.element, context);
  if (!e)
    at.fail("HLO-UNSUPPORTED",
            format("values of the primitive type %lld are not supported", static_cast<long long>(shape.element)),
            "Use arrays of the types that StableHLO has.");
  return RankedTensorType::get(shape.dims, e);
}

// The field of a LiteralProto that has the elements of a type.
static uint32_t fieldOf(int64_t primitive) {
  switch (primitive) {
    // clang-format off
  case PRED: return 2;
  case 2: return 15;
  case 3: return 17;
  case 4: return 4;
  case 5: return 5;
  case 6: return 3;
  case 7: return 16;
  case 8: return 6;
  case 9: return 7;
  case 10: return 11;
  case 11: return 8;
  case 12: return 9;
  case 15: return 12;
  case 16: return 13;
  default: return static_cast<uint32_t>(primitive); // the others have the type's number
    // clang-format on
  }
}

// Bits that one element takes in the file where elements are packed, else 0.
static unsigned packedBits(Type e) {
  const unsigned bits = e.isIntOrFloat() ? e.getIntOrFloatBitWidth() : 8;
  return bits == 2 || bits == 4 ? bits : 0;
}

// The elements in the file's order, little-endian, each of its own size.
static std::string elementBytes(ByteCursor literal, uint32_t field, Type e, uint64_t n, uint64_t size) {
  std::string out;
  const bool varints = field == 2 || (field >= 4 && field <= 7);
  forEach(literal, [&](const Field &f) {
    if (f.number != field)
      return;
    if (varints) {
      SmallVector<int64_t> values;
      f.appendTo(values);
      if (values.size() > n)
        f.data.fail("a literal has more elements than its shape");
      for (const int64_t v : values)
        out.append(reinterpret_cast<const char *>(&v), size); // little-endian hosts only, as all of glia
    } else if (f.wire == Wire::Four || f.wire == Wire::Eight) {
      out.append(reinterpret_cast<const char *>(&f.value), f.wire == Wire::Four ? 4 : 8);
    } else {
      out.append(f.text());
    }
  });
  if (const unsigned bits = packedBits(e); bits && out.size() == (n * bits + 7) / 8 && n) {
    const unsigned perByte = 8 / bits;
    std::string unpacked(n, 0);
    for (uint64_t i = 0; i < n; ++i) {
      const auto shift = bits * (perByte - 1 - i % perByte);
      unpacked[i] = static_cast<char>(static_cast<uint8_t>(out[i / perByte]) >> shift & ((1 << bits) - 1));
    }
    out = unpacked;
  }
  return out;
}

// From the order of a layout to row-major.
static std::string reordered(const std::string &bytes, const Shape &shape, uint64_t size) {
  std::string out(bytes.size(), 0);
  const size_t rank = shape.dims.size();
  SmallVector<uint64_t> stride(rank); // of each dimension in row-major order
  uint64_t step = 1;
  for (size_t d = rank; d-- > 0;) {
    stride[d] = step;
    step *= static_cast<uint64_t>(shape.dims[d]);
  }
  SmallVector<int64_t> index(rank, 0);
  uint64_t to = 0;
  for (size_t from = 0; from < bytes.size(); from += size) {
    std::memcpy(out.data() + to * size, bytes.data() + from, size);
    for (const int64_t d : shape.minorToMajor) {
      to += stride[d];
      if (++index[d] < shape.dims[d])
        break;
      to -= stride[d] * static_cast<uint64_t>(shape.dims[d]);
      index[d] = 0;
    }
  }
  return out;
}

static void checkLayout(const Shape &shape, const ByteCursor &at) {
  llvm::SmallBitVector seen(static_cast<unsigned>(shape.dims.size()));
  for (const int64_t d : shape.minorToMajor) {
    if (d < 0 || d >= static_cast<int64_t>(shape.dims.size()) || seen.test(static_cast<unsigned>(d)))
      at.fail("a layout is no permutation of the dimensions");
    seen.set(static_cast<unsigned>(d));
  }
}

DenseElementsAttr readLiteral(ByteCursor literal, MLIRContext *context) {
  std::optional<Shape> shape;
  forEach(literal, [&](const Field &f) {
    if (f.number == 1)
      shape = readShape(f.message());
  });
  if (!shape)
    literal.fail("a literal has no shape");
  const auto type = dyn_cast<RankedTensorType>(typeOf(*shape, context, literal));
  if (!type)
    literal.fail("a literal has no elements");
  checkLayout(*shape, literal);
  uint64_t n = 1;
  for (const int64_t d : shape->dims)
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(d), &n) || n > (uint64_t(1) << 40))
      literal.fail("a constant has more than 2^40 elements");
  const Type e = type.getElementType();
  const auto complex = dyn_cast<ComplexType>(e);
  const uint64_t bits = complex ? 2 * complex.getElementType().getIntOrFloatBitWidth() : e.getIntOrFloatBitWidth();
  const uint64_t size = (bits + 7) / 8;
  std::string bytes = elementBytes(literal, fieldOf(shape->element), e, n, size);
  if (bytes.size() != n * size)
    literal.fail(format("a literal has %zu bytes, and its shape needs %llu", bytes.size(),
                        static_cast<unsigned long long>(n * size)));
  const bool equal = n > 1 && std::string_view(bytes).substr(size) == std::string_view(bytes).substr(0, bytes.size() - size);
  if (equal)
    bytes.resize(size);
  else if (!shape->rowMajor())
    bytes = reordered(bytes, *shape, size);
  if (e.isInteger(1)) {
    SmallVector<bool> values;
    for (const char b : bytes)
      values.push_back(b != 0);
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes.data(), bytes.size()));
}

std::vector<ByteCursor> literalParts(ByteCursor literal) {
  std::vector<ByteCursor> parts;
  bool tuple = false;
  forEach(literal, [&](const Field &f) {
    if (f.number == 1)
      tuple = readShape(f.message()).isTuple();
    else if (f.number == 10)
      parts.push_back(f.message());
  });
  if (!tuple)
    return {literal};
  return parts;
}

} // namespace glia::graph::hlo
