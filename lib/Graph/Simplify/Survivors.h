// Which values of a simplified graph were in the graph before it was simplified, and what they are there.
#pragma once
#include "glia/Region/CompileGraph.h"
#include "glia/Interpret/Interpret.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace glia::emit {

class Survivors {
public:
  // To be called after each rewrite, before anybody else changes the function. Operations carry a number on the way.
  void after(std::string_view rewrite, mlir::func::FuncOp main);

  // Was in the graph before it was simplified; what it reads may have changed.
  bool contains(mlir::Operation *op) const { return survived.contains(op); }

  // The values of the graph before it was simplified, of those `wanted` that were in it with the same type.
  llvm::DenseMap<mlir::Value, HostTensor> evaluate(const llvm::DenseSet<mlir::Value> &wanted, std::vector<HostTensor> inputs,
                                                   InterpretOptions options) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> before;                  // without calls, not yet simplified
  std::vector<mlir::Operation *> olds, news;                 // by number: in `before`, and in what is simplified
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> kept; // from old to new
  llvm::DenseSet<mlir::Operation *> survived;                // the new ones of these
};

} // namespace glia::emit
