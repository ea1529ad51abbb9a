// Writes graph operations: what decompositions and other rewrites of a graph are made of. All new operations stand before `at` and
// have its place in the source.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

class GraphBuilder {
public:
  explicit GraphBuilder(mlir::Operation *at) : b(at), loc(at->getLoc()) {}
  using Value = mlir::Value;

  Value make(llvm::StringRef name, mlir::ValueRange operands, mlir::Type result,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {}); // "add" or "chlo.atan"
  Value unary(llvm::StringRef name, Value x) { return make(name, {x}, x.getType()); }
  Value binary(llvm::StringRef name, Value x, Value y) { return make(name, {x, y}, x.getType()); }
  Value add(Value x, Value y) { return binary("add", x, y); }
  Value subtract(Value x, Value y) { return binary("subtract", x, y); }
  Value multiply(Value x, Value y) { return binary("multiply", x, y); }
  Value divide(Value x, Value y) { return binary("divide", x, y); }
  Value number(double value, Value like); // everywhere, in the type and shape of `like`
  Value number(double value, mlir::RankedTensorType type);
  Value constant(mlir::DenseElementsAttr value);
  Value compare(graph::ComparisonDirection how, Value x, Value y);
  Value compareTotal(graph::ComparisonDirection how, Value x,
                     Value y); // floats in total order: -0 below +0, NaN at the ends
  Value select(Value where, Value x, Value y) { return make("select", {where, x, y}, x.getType()); }
  Value convert(Value x, mlir::Type element); // x itself if it has that type
  Value bitcast(Value x, mlir::Type element); // of the same width
  Value iota(mlir::RankedTensorType type, int64_t dim);
  Value broadcast(Value x, llvm::ArrayRef<int64_t> dims, mlir::RankedTensorType type);
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape);
  Value transpose(Value x, llvm::ArrayRef<int64_t> permutation);
  // x itself if it is all of it. Neighbours, unless steps are given.
  Value slice(Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> step = {});
  Value slice(Value x, int64_t dim, int64_t low, int64_t high); // all of the other dimensions
  Value concatenate(llvm::ArrayRef<Value> parts, int64_t dim);  // the part itself if there is one
  // Elements before, behind and between those of each dimension; fewer where a number is negative.
  Value pad(Value x, Value with, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
            llvm::ArrayRef<int64_t> between = {});
  Value reduce(llvm::StringRef op, Value x, Value start, llvm::ArrayRef<int64_t> dims);

  mlir::OpBuilder b;
  mlir::Location loc;
};

// The operations of the function and of the loops and branches in it, in program order; not those of the bodies of reductions and the
// like, which are scalar.
std::vector<mlir::Operation *> programOps(mlir::func::FuncOp main);

mlir::RankedTensorType typeOf(mlir::Value v);
mlir::Type elementOf(mlir::Value v);
mlir::RankedTensorType withElement(mlir::Value v, mlir::Type element);

} // namespace glia::emit
