// Which types graphs are made of.
#include "glia/Graph/Graph.h"

using namespace mlir;

namespace glia::graph {

static bool isInteger(Type t) {
  auto i = dyn_cast<IntegerType>(t);
  if (!i || i.isSigned())
    return false;
  const unsigned w = i.getWidth();
  return w == 2 || w == 4 || w == 8 || w == 16 || w == 32 || w == 64;
}
static bool isPred(Type t) { return t.isSignlessInteger(1); }
static bool isFloat(Type t) { return isa<FloatType>(t) && t.getIntOrFloatBitWidth() <= 64 && !isa<FloatTF32Type>(t); }
static bool isComplex(Type t) {
  auto c = dyn_cast<ComplexType>(t);
  return c && (c.getElementType().isF32() || c.getElementType().isF64());
}

bool isElement(Type t) { return isInteger(t) || isPred(t) || isFloat(t) || isComplex(t); }

// The element type of a ranked tensor of static shape, else null.
static Type element(Type type) {
  auto t = dyn_cast<RankedTensorType>(type);
  return t && t.hasStaticShape() && !t.getEncoding() ? t.getElementType() : Type();
}
template <typename Test> static bool elementIs(Type type, Test test) {
  const Type e = element(type);
  return e && test(e);
}

bool isTensor(Type t) { return elementIs(t, isElement); }
bool isIntTensor(Type t) { return elementIs(t, isInteger); }
bool isPredTensor(Type t) { return elementIs(t, isPred); }
bool isFloatTensor(Type t) { return elementIs(t, isFloat); }
bool isComplexTensor(Type t) { return elementIs(t, isComplex); }
bool isBitsTensor(Type t) { return isIntTensor(t) || isPredTensor(t); }
bool isRealTensor(Type t) { return isBitsTensor(t) || isFloatTensor(t); }
bool isFloatOrComplexTensor(Type t) { return isFloatTensor(t) || isComplexTensor(t); }
bool isNumberTensor(Type t) { return isIntTensor(t) || isFloatOrComplexTensor(t); }
bool isScalar(Type t) { return isTensor(t) && cast<RankedTensorType>(t).getRank() == 0; }
bool isIntScalar(Type t) { return isIntTensor(t) && isScalar(t); }
bool isIndexTensor(Type t) {
  return isIntTensor(t) || elementIs(t, [](Type e) { return isa<IndexType>(e); });
}

bool isValue(Type t) {
  if (auto tuple = dyn_cast<TupleType>(t))
    return llvm::all_of(tuple.getTypes(), isValue);
  if (auto future = dyn_cast<FutureType>(t))
    return llvm::all_of(future.getTypes(), isTensor);
  if (auto buffer = dyn_cast<MemRefType>(t))
    return buffer.hasStaticShape() && isElement(buffer.getElementType());
  return isTensor(t) || isIndexTensor(t) || isa<TokenType>(t);
}

} // namespace glia::graph
