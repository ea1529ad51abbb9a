// From an HloModuleProto to a graph. Tuples are taken apart: a value of HLO is a list of the arrays and tokens in it.
#pragma once
#include "HloLiteral.h"
#include "HloProto.h"
#include "glia/Graph/Graph.h"

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/OwningOpRef.h"

#include <unordered_map>

namespace glia::graph::hlo {

// Places in the program that a module was made of.
class Places {
public:
  Places(const Module &m, mlir::MLIRContext *c);
  mlir::Location of(const Instruction &i);

private:
  struct Position {
    int64_t file = 0, function = 0, line = 0, column = 0;
  };
  struct Frame {
    int64_t position = 0, parent = 0;
  };
  mlir::LocationAttr ofFrame(int64_t frame);

  mlir::MLIRContext *context;
  std::vector<std::string_view> files, functions;
  std::vector<Position> positions;
  std::vector<Frame> frames;
  llvm::DenseMap<int64_t, mlir::LocationAttr> made;
};

class Reader {
public:
  Reader(const Module &m, mlir::MLIRContext *c);
  mlir::OwningOpRef<mlir::ModuleOp> read();

private:
  using Leaves = llvm::SmallVector<mlir::Value, 2>;
  struct Known {
    Leaves leaves;
    std::shared_ptr<const Shape> shape;
  };
  struct Parameter {
    std::shared_ptr<const Shape> shape;
    mlir::LocationAttr place;
  };
  // One computation that is being read into a block.
  struct Body {
    mlir::OpBuilder builder;
    llvm::ArrayRef<Known> parameters;
    std::unordered_map<uint32_t, Known> values; // numbers may be any
  };
  using Attributes = llvm::SmallVector<mlir::NamedAttribute>;

  // ---- ReadHlo.cpp ----------------------------------------------------------------------------------------------------------
  const Computation &computation(const Instruction &i, size_t which) const;
  Known readComputation(const Computation &c, mlir::Block *block, llvm::ArrayRef<Known> parameters);
  void readFunction(const Computation &c, bool entry);
  std::vector<Parameter> parametersOf(const Computation &c);
  // As arguments of a block.
  std::vector<Known> addArguments(const Computation &c, mlir::Block *block);
  mlir::FlatSymbolRefAttr functionOf(const Computation &c);
  void readAliases(mlir::func::FuncOp main, llvm::ArrayRef<Known> parameters, const Shape &root);
  Leaves readInstruction(const Instruction &i, Body &body);
  llvm::SmallVector<mlir::Type> types(const Shape &shape, const ByteCursor &at) const;
  void flatten(const Shape &shape, const ByteCursor &at, llvm::SmallVectorImpl<mlir::Type> &out) const;

  // ---- what the families of instructions use --------------------------------------------------------------------------------
  [[noreturn]] void unsupported(const Instruction &i, const std::string &why) const;
  [[noreturn]] void wrong(const Instruction &i, const std::string &why) const;
  const Known &operand(const Instruction &i, const Body &body, size_t which) const;
  mlir::Value value(const Instruction &i, const Body &body, size_t which) const; // of an array
  Leaves operands(const Instruction &i, const Body &body, size_t from = 0) const;
  void count(const Instruction &i);
  mlir::Value makeConstant(const Instruction &i, Body &body, mlir::DenseElementsAttr elements);
  mlir::Operation *make(const Instruction &i, Body &body, llvm::StringRef name, mlir::ValueRange operands,
                        const Attributes &attributes = {}, unsigned regions = 0);
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute a) const {
    return {mlir::StringAttr::get(context, name), a};
  }
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t v, unsigned bits = 64) const;
  mlir::NamedAttribute truth(llvm::StringRef name, bool v) const { return named(name, mlir::BoolAttr::get(context, v)); }
  mlir::NamedAttribute array(llvm::StringRef name, llvm::ArrayRef<int64_t> v) const {
    return named(name, mlir::DenseI64ArrayAttr::get(context, v));
  }
  mlir::Attribute matrix(llvm::ArrayRef<int64_t> v, int64_t columns) const; // i64 elements in rows
  void addPrecision(const Instruction &i, Attributes &to, bool algorithms) const;
  // A region with one argument per leaf of the computation's parameters.
  void fillRegion(const Instruction &i, mlir::Region &region, const Computation &c);

  // ---- families: whether the opcode is one of theirs ------------------------------------------------------------------------
  bool readElementwise(const Instruction &i, Body &body, Leaves &out); // HloElementwise.cpp
  bool readMovement(const Instruction &i, Body &body, Leaves &out);    // HloMovement.cpp
  bool readIndexing(const Instruction &i, Body &body, Leaves &out);
  bool readCompute(const Instruction &i, Body &body, Leaves &out); // HloCompute.cpp
  bool readControl(const Instruction &i, Body &body, Leaves &out); // HloControl.cpp
  bool readCalls(const Instruction &i, Body &body, Leaves &out);
  bool readDevices(const Instruction &i, Body &body, Leaves &out);
  Leaves readWhile(const Instruction &i, Body &body);
  Leaves readConditional(const Instruction &i, Body &body);
  Leaves readCustomCall(const Instruction &i, Body &body);
  Leaves readConvolution(const Instruction &i, Body &body);
  Leaves readRaggedDot(const Instruction &i, Body &body);
  void addReplicaGroups(const Instruction &i, Attributes &to) const;

  const Module &module;
  mlir::MLIRContext *context;
  Places places;
  mlir::OwningOpRef<mlir::ModuleOp> made;
  std::vector<Computation> computations;
  std::unordered_map<int64_t, size_t> byId;           // likewise
  llvm::DenseMap<size_t, mlir::StringAttr> functions; // names, by number of the computation
  llvm::StringMap<unsigned> names;
  std::vector<size_t> waiting; // functions to be read
  size_t operations = 0, mostOperations = 0;
  unsigned depth = 0;
};

} // namespace glia::graph::hlo
