#include "glia/Check/CheckGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Reduce/ReduceGraph.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Verify/VerifyRanks.h"

namespace glia::reduce {

namespace {
graph::Graph parsed(const std::string &text, std::string_view rounded) {
  graph::Graph g = graph::parseGraph(text, "graph.mlir");
  graph::roundProducts(*g.module, rounded);
  return g;
}
} // namespace

Outcome judgeCompiled(const std::string &text, const GraphOptions &options, std::string_view rounded) {
  graph::Graph g = parsed(text, rounded);
  const CompiledGraph compiled = compileGraph(*g.module, options);
  return outcomeOf(withCompilerFaults(verifyRanks(compiled.program).diagnostics, compiled.program,
                                      compiled.written ? CompiledFrom::Kernel : CompiledFrom::Graph));
}

Outcome judgeChecked(const std::string &text, const GraphOptions &options, uint64_t seed, std::string_view rounded) {
  graph::Graph g = parsed(text, rounded);
  return outcomeOf(checkGraph(*g.module, randomInputs(g.main(), seed), options).wrong);
}

} // namespace glia::reduce
