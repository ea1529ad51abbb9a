// Reading graphs from text.
#include "glia/Graph/Parse.h"
#include "Accept.h"
#include "Booleans.h"
#include "Refused.h"
#include "Sharding.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace glia::graph {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<GraphDialect, chlo::ChloDialect, func::FuncDialect, QuantDialect, SparseDialect, ShardingDialect>();
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  // Front ends attach attributes of other dialects (sharding, say), which nothing here reads; unknown operations are refused.
  context->allowUnregisteredDialects();
  context->printOpOnDiagnostic(false); // messages say what is wrong and where; the whole op is no help
  return context;
}

func::FuncOp Graph::main() {
  if (auto f = module->lookupSymbol<func::FuncOp>("main"))
    return f;
  func::FuncOp found;
  for (auto f : module->getOps<func::FuncOp>()) {
    if (!f.isPublic() || f.isExternal())
      continue;
    if (found)
      throw Error("GRAPH-MAIN", "the graph has several public functions and none of them is @main",
                  "Name the one to be compiled @main, or make the others private.");
    found = f;
  }
  if (!found)
    throw Error("GRAPH-MAIN", "the graph has no public function", "Name the one to be compiled @main.");
  return found;
}

std::string Graph::text() {
  std::string out;
  llvm::raw_string_ostream stream(out);
  module->print(stream);
  return out;
}

Graph parseGraph(std::string_view text, std::string_view file) {
  const std::string name(file);
  if (text.starts_with("ML\xefR"))
    throw Error("GRAPH-SYNTAX", "the file is MLIR bytecode, and its text form is expected here",
                "In JAX, jax.jit(f).lower(...).as_text() gives the text.", {name});
  if (nestedTooDeeply(text))
    throw Error("GRAPH-SYNTAX", format("brackets are nested more than %zu deep", kDeepest), "", {name});
  const std::optional<std::string> packed = packBooleans(text);
  return accept(text, file, [&](MLIRContext *context) {
    const std::string_view read = packed ? *packed : text;
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(StringRef(read.data(), read.size()), name), SMLoc());
    // Verified later: what is refused by name must not be reported as a wrong type.
    return parseSourceFile<ModuleOp>(sources, ParserConfig(context, /*verifyAfterParse=*/false));
  });
}

} // namespace glia::graph
