// From a module in memory, however it was read, to a graph that every later step can trust.
#pragma once
#include "Checks.h"
#include "glia/Graph/Parse.h"
#include "glia/Support/Diagnostic.h"

#include <optional>

namespace glia::graph {

// MLIR's parser descends into brackets by recursion, as deep as the text asks for. No graph needs more than this.
inline constexpr size_t kDeepest = 400;
bool nestedTooDeeply(std::string_view text);

// Reads a module in the graph's context. What it emits as an error of MLIR is reported, and what it returns is checked.
using ModuleReader = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext *context)>;
// `text`: what messages quote the lines of; may be empty. Throws Error with every message.
Graph accept(std::string_view text, std::string_view file, ModuleReader read);

} // namespace glia::graph
