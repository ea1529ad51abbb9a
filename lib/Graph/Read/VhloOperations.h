// The operations of VHLO and how they become those of a graph.
#pragma once
#include "ByteCursor.h"
#include "glia/Graph/Graph.h"

namespace glia::graph {

struct VhloOperation {
  llvm::StringRef name; // of StableHLO, without the version
  llvm::SmallVector<llvm::StringRef> attributes;
};
// `name` with its version, as `dot_general_v2`. Null when there is none.
const VhloOperation *findVhloOperation(llvm::StringRef name);

// Attributes as the text form has them: several numbers in one attribute, symbols, arrays, no defaults. `at` is for errors.
void convertVhloAttributes(const VhloOperation &op, mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
                           const ByteCursor &at);

} // namespace glia::graph
