#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Reduce/ReduceGraph.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Verify/VerifyRanks.h"

namespace glia::reduce {

Outcome judgeCompiled(const std::string &text, const GraphOptions &options) {
  graph::Graph g = graph::parseGraph(text, "graph.mlir");
  const CompiledGraph compiled = compileGraph(*g.module, options);
  return outcomeOf(withCompilerFaults(verifyRanks(compiled.program).diagnostics, compiled.program,
                                      compiled.written ? CompiledFrom::Kernel : CompiledFrom::Graph));
}

Outcome judgeChecked(const std::string &text, const GraphOptions &options, uint64_t seed) {
  graph::Graph g = graph::parseGraph(text, "graph.mlir");
  return outcomeOf(checkGraph(*g.module, randomInputs(g.main(), seed), options).wrong);
}

} // namespace glia::reduce
