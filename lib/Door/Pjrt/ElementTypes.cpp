#include "ElementTypes.h"
#include "Failure.h"

#include "mlir/IR/BuiltinTypes.h"

namespace glia::pjrt {

int64_t bytesPerElement(ElementType t) {
  switch (t) {
  case ElementType::S16:
  case ElementType::U16:
  case ElementType::F16:
  case ElementType::BF16: return 2;
  case ElementType::S32:
  case ElementType::U32:
  case ElementType::F32: return 4;
  case ElementType::S64:
  case ElementType::U64:
  case ElementType::F64:
  case ElementType::C64: return 8;
  case ElementType::C128: return 16;
  case ElementType::Invalid:
  case ElementType::Token: break;
  default:
    if (t > ElementType::Invalid && t <= ElementType::F4E2M1FN)
      return 1;
  }
  throw failure(Code::InvalidArgument, "PJRT-TYPE", format("a buffer has the element type %d", static_cast<int>(t)),
                "Use a type that NumPy or ml_dtypes has.");
}

int64_t bytesOf(ElementType t, std::span<const int64_t> dims) {
  int64_t bytes = bytesPerElement(t);
  for (int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes))
      throw failure(Code::InvalidArgument, "PJRT-TYPE", "a buffer has a shape that no memory holds", "Use smaller arrays.");
  return bytes;
}

ElementType elementTypeOf(mlir::Type t) {
  if (const auto i = mlir::dyn_cast<mlir::IntegerType>(t)) {
    const bool u = i.isUnsigned();
    switch (i.getWidth()) {
    case 1: return ElementType::Pred;
    case 2: return u ? ElementType::U2 : ElementType::S2;
    case 4: return u ? ElementType::U4 : ElementType::S4;
    case 8: return u ? ElementType::U8 : ElementType::S8;
    case 16: return u ? ElementType::U16 : ElementType::S16;
    case 32: return u ? ElementType::U32 : ElementType::S32;
    case 64: return u ? ElementType::U64 : ElementType::S64;
    default: return ElementType::Invalid;
    }
  }
  if (const auto c = mlir::dyn_cast<mlir::ComplexType>(t))
    return c.getElementType().isF32() ? ElementType::C64 : ElementType::C128;
  if (t.isF16())
    return ElementType::F16;
  if (t.isBF16())
    return ElementType::BF16;
  if (t.isF32())
    return ElementType::F32;
  if (t.isF64())
    return ElementType::F64;
  if (mlir::isa<mlir::Float8E5M2Type>(t))
    return ElementType::F8E5M2;
  if (mlir::isa<mlir::Float8E4M3FNType>(t))
    return ElementType::F8E4M3FN;
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(t))
    return ElementType::F8E4M3B11FNUZ;
  if (mlir::isa<mlir::Float8E5M2FNUZType>(t))
    return ElementType::F8E5M2FNUZ;
  if (mlir::isa<mlir::Float8E4M3FNUZType>(t))
    return ElementType::F8E4M3FNUZ;
  if (mlir::isa<mlir::Float8E4M3Type>(t))
    return ElementType::F8E4M3;
  if (mlir::isa<mlir::Float8E3M4Type>(t))
    return ElementType::F8E3M4;
  if (mlir::isa<mlir::Float8E8M0FNUType>(t))
    return ElementType::F8E8M0FNU;
  if (mlir::isa<mlir::Float4E2M1FNType>(t))
    return ElementType::F4E2M1FN;
  return ElementType::Invalid;
}

} // namespace glia::pjrt
