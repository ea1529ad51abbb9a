// Single changes that make a graph smaller. Each says whether there was anything to change; whether the graph is still legal is for others
// to find out.
#pragma once
#include "glia/Graph/Graph.h"

#include <vector>

namespace glia::reduce {

mlir::func::FuncOp mainOf(mlir::ModuleOp module);

// All operations but terminators and functions, in the order of the text; those of regions behind the one they are in.
std::vector<mlir::Operation *> operationsOf(mlir::ModuleOp module);

// Without operations and functions that nothing uses, and arguments of `main` that nothing uses if `arguments`.
void tidy(mlir::ModuleOp module, bool arguments);

// Without results `from` to `to` of main; one stays.
bool dropResults(mlir::ModuleOp module, size_t from, size_t to);

enum class Where : uint8_t {
  Main,  // operations of `main`, with all that is in them
  Inner, // of regions and other functions
};
std::vector<mlir::Operation *> operationsIn(mlir::ModuleOp module, Where where);

// Without operations `from` to `to` of operationsIn, constants excepted; of inner ones only neighbours. What others need of them becomes an argument of `main`, or zeros where
// that cannot be. Results that they give are gone; what they themselves need are results if `frontier`, or if there would be no result.
bool cut(mlir::ModuleOp module, Where where, size_t from, size_t to, bool frontier);

bool constantToArgument(mlir::ModuleOp module, size_t at);
bool replaceByOperand(mlir::ModuleOp module, size_t at,
                      size_t choice); // the choice-th that has the type; of several results, each by its own
bool takeRegion(mlir::ModuleOp module, size_t at, size_t choice); // a branch; the body of a loop, once
bool dropCarried(mlir::ModuleOp module, size_t at, size_t value); // a value that a loop carries, and nobody behind it reads
bool mergeArguments(mlir::ModuleOp module, size_t argument, size_t into);
bool constantToSplat(mlir::ModuleOp module, size_t at);
bool inlineAll(mlir::ModuleOp module);
bool dropAttributes(mlir::ModuleOp module); // of functions and the module, and what nothing here reads

// ---- what changes are made of

mlir::Operation *operationAt(mlir::ModuleOp module, size_t at); // of operationsOf; null if there is none
bool isConstant(mlir::Operation *op);
bool isFlow(mlir::Operation *op); // a loop or a branch
bool seesArguments(mlir::Operation *op,
                   mlir::func::FuncOp main); // whether an argument of `main` can be read where it stands
mlir::Value addArgument(mlir::func::FuncOp f, mlir::Type type);
// The results of `main` become `values`; arguments say by number which result takes their place.
void setResults(mlir::func::FuncOp f, llvm::ArrayRef<mlir::Value> values);

} // namespace glia::reduce
