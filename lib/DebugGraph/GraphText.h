// A graph as people read it: operations as MLIR prints them, names of values, and the lines they come from.
#pragma once
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>

namespace glia::debug {

class GraphText {
public:
  explicit GraphText(mlir::ModuleOp module);
  const std::string &
  text(mlir::Operation *op);       // "%5 = stablehlo.add %3, %4 : tensor<4xf32>"; of one with regions the first line
  std::string name(mlir::Value v); // "%5", "%5#1", "%arg0"
  // What a name means among the arguments and results of a block; null: nothing. Also what a front end called an argument.
  mlir::Value find(mlir::Block *block, std::string_view name);
  static SourcePlace placeOf(mlir::Operation *op);
  static bool isSource(const SourcePlace &p);       // of the program that made the graph; else a line of the graph itself
  std::string line(const SourcePlace &p);           // "f.py:9", followed by what is written there if the file can be read
  static std::string function(mlir::Operation *op); // "@main"

private:
  mlir::AsmState state;
  llvm::DenseMap<mlir::Operation *, std::string> texts;
  llvm::DenseMap<mlir::Block *, llvm::StringMap<mlir::Value>> names;
  std::map<std::string, std::vector<std::string>> files;
};

std::string typeText(mlir::Type t);

} // namespace glia::debug
