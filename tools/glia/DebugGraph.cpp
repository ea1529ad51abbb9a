#include "DebugGraph.h"
#include "DebugPrompt.h"
#include "GraphInputs.h"
#include "glia/Debug/GraphDebugger.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Lower/KernelCalls.h"

namespace glia::tool {

int debugGraph(const FileBytes &f, const std::string &file, const std::string &function,
               const std::vector<std::string> &inputs, const std::string &script, const std::string &autoCast) {
  graph::Graph g = graph::readGraph(f.text(), file);
  graph::roundProducts(*g.module, autoCast);
  mlir::func::FuncOp main = functionOf(g, function);
  Prompt prompt("(glia operations) ", script);
  GraphDebugger debugger(*g.module, main.getSymName().str(), readArguments(main, inputs), emit::evaluateKernelCall,
                         interruptPressed, [](std::string_view text) { write(text); });
  return session(debugger, prompt);
}

} // namespace glia::tool
