#include "ConstantElements.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/APFloat.h"

#include <bit>

namespace glia::emit {

namespace {

constexpr int64_t kMostElements = 65536;

double toDouble(llvm::APFloat f) {
  bool lost;
  f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return f.convertToDouble();
}
llvm::APFloat fromDouble(mlir::Type t, double v) {
  llvm::APFloat f(v);
  bool lost;
  f.convert(llvm::cast<mlir::FloatType>(t).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return f;
}
llvm::APInt toBits(mlir::Type t, int64_t v) {
  return llvm::APInt(64, static_cast<uint64_t>(v)).zextOrTrunc(llvm::cast<mlir::IntegerType>(t).getWidth());
}

bool equal(const Number &a, const Number &b) {
  return a.i == b.i && std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

} // namespace

bool isFloatType(mlir::Type t) { return llvm::isa<mlir::FloatType>(t); }
bool isNumberType(mlir::Type t) { return isFloatType(t) || llvm::isa<mlir::IntegerType>(t); }
bool isUnsignedType(mlir::Type t) {
  const auto i = llvm::dyn_cast<mlir::IntegerType>(t);
  return i && (i.isUnsigned() || i.getWidth() == 1);
}

Number wrapped(mlir::Type t, Number n) {
  if (t.isF32() && n.f == n.f) {
    n.f = static_cast<float>(n.f);
    return n;
  }
  if (isFloatType(t)) {
    n.f = toDouble(fromDouble(t, n.f));
    return n;
  }
  const llvm::APInt bits = toBits(t, n.i);
  n.i = isUnsignedType(t) ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue();
  return n;
}

std::optional<Elements> elementsOf(mlir::Operation *op) {
  if (!op || op->getNumResults() != 1 || !llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  Elements out;
  out.type = typeOf(op->getResult(0));
  const mlir::Type t = out.type.getElementType();
  if (!isNumberType(t))
    return std::nullopt;
  const int64_t count = out.type.getNumElements();
  if (auto iota = llvm::dyn_cast<graph::IotaOp>(op)) {
    if (count > kMostElements || count == 0)
      return std::nullopt;
    int64_t inner = 1;
    for (int64_t d = static_cast<int64_t>(iota.getIotaDimension()) + 1; d < out.type.getRank(); ++d)
      inner *= out.type.getDimSize(d);
    const int64_t n = out.type.getDimSize(static_cast<int64_t>(iota.getIotaDimension()));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = i / inner % n;
      out.values.push_back(wrapped(t, isFloatType(t) ? Number{0, static_cast<double>(place)} : Number{place, 0}));
    }
    return out;
  }
  const auto value =
      opName(op) == "constant" ? llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value")) : nullptr;
  if (!value || count == 0 || (!value.isSplat() && count > kMostElements))
    return std::nullopt;
  const auto add = [&](auto range) {
    for (const auto &x : range) {
      Number n;
      if constexpr (std::is_same_v<std::decay_t<decltype(x)>, llvm::APFloat>)
        n.f = toDouble(x);
      else
        n.i = isUnsignedType(t) ? static_cast<int64_t>(x.getZExtValue()) : x.getSExtValue();
      out.values.push_back(n);
      if (value.isSplat())
        break;
    }
  };
  out.values.reserve(static_cast<size_t>(value.isSplat() ? 1 : count));
  if (t.isF32()) {
    for (float x : value.getValues<float>()) {
      out.values.push_back({0, x == x ? x : toDouble(llvm::APFloat(x))});
      if (value.isSplat())
        break;
    }
  } else if (isFloatType(t)) {
    add(value.getValues<llvm::APFloat>());
  } else {
    add(value.getValues<llvm::APInt>());
  }
  return out;
}

bool isConstant(mlir::Operation *op) { return op && (llvm::isa<graph::IotaOp>(op) || opName(op) == "constant"); }

mlir::DenseElementsAttr attributeOf(const Elements &e) {
  const mlir::Type t = e.type.getElementType();
  bool one = true;
  for (const Number &n : e.values)
    one &= equal(n, e.values[0]);
  const size_t count = one ? 1 : e.values.size();
  if (t.isF32() && llvm::none_of(e.values, [](const Number &n) { return n.f != n.f; })) {
    std::vector<float> out;
    out.reserve(count);
    for (size_t i = 0; i < count; ++i)
      out.push_back(static_cast<float>(e.values[i].f));
    return mlir::DenseElementsAttr::get(e.type, llvm::ArrayRef<float>(out));
  }
  if (isFloatType(t)) {
    std::vector<llvm::APFloat> out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(fromDouble(t, e.values[i].f));
    return mlir::DenseElementsAttr::get(e.type, out);
  }
  std::vector<llvm::APInt> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(toBits(t, e.values[i].i));
  return mlir::DenseElementsAttr::get(e.type, out);
}

} // namespace glia::emit
