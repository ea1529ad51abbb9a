// A graph in memory: its IR with the context it lives in.
#pragma once
#include "glia/Graph/Graph.h"

#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace glia::graph {

// A context that knows the dialects of graphs. Single-threaded: the same bytes must come out every time.
std::unique_ptr<mlir::MLIRContext> makeContext();

struct Graph {
  std::unique_ptr<mlir::MLIRContext> context; // outlives the module
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main(); // @main, else the only public function; throws Error GRAPH-MAIN when there is none
  std::string text();        // reads back as the same graph
};

// Reads the text form. Throws Error with every message, each with its place and a caret:
//   GRAPH-SYNTAX     the text is malformed, or types do not fit
//   GRAPH-OPERATION  an operation is unknown
//   GRAPH-DYNAMIC    dynamic shapes        GRAPH-QUANTISED  quantised types
//   GRAPH-SPARSE     sparse encodings      GRAPH-RECURSION  functions that call themselves
//   GRAPH-SIZE       a tensor that no memory can hold
Graph parseGraph(std::string_view text, std::string_view file);

} // namespace glia::graph
