// An MLIR operation as the rules see it. Everything of the interpreter that knows MLIR is here, in Evaluator and in Bodies.
#pragma once
#include "Interpret/Call.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace glia::interp {

// What is looked up once per evaluation.
struct Caches {
  llvm::DenseMap<mlir::Type, Element> elements;
  llvm::DenseMap<mlir::Operation *, Tensor> constants;
};

[[noreturn]] void failAt(mlir::Operation *op, std::string_view code, std::string message, std::string advice);
TensorType typeOf(mlir::Type type, mlir::Operation *op,
                  Caches &caches); // fails for what has no static shape or known element

template <class Base> class ViewOf : public Base {
public:
  ViewOf(mlir::Operation *op, Caches &caches, bool inDouble) : op(op), caches(caches) { this->inDouble = inDouble; }
  std::string_view name() const override {
    return {op->getName().getStringRef().data(), op->getName().getStringRef().size()};
  }
  size_t operandCount() const override { return op->getNumOperands(); }
  size_t resultCount() const override { return op->getNumResults(); }
  TensorType operandType(size_t i) const override { return typeOf(op->getOperand(i).getType(), op, caches); }
  TensorType resultType(size_t i) const override { return typeOf(op->getResult(i).getType(), op, caches); }
  std::optional<Shape> ints(std::string_view attribute) const override;
  std::optional<std::string> text(std::string_view attribute) const override;
  std::optional<double> number(std::string_view attribute) const override;
  std::optional<Tensor> elements(std::string_view attribute) const override;
  [[noreturn]] void failAs(std::string_view code, std::string message, std::string advice) const override {
    failAt(op, code, std::move(message), std::move(advice));
  }

protected:
  mlir::Operation *op;
  Caches &caches;
};

using PlainView = ViewOf<OpView>;

} // namespace glia::interp
