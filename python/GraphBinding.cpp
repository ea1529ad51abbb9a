// The graph compiler for Python: a graph in, a program out. glia.jit is the public form.
#include "Bindings.h"
#include "GraphBytes.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Graph/Read.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

nb::dict partsOf(const Least &b) {
  nb::dict out;
  out["total"] = b.total();
  out["reason"] = b.reason();
  out["tensor"] = b.tensor;
  out["elements"] = b.elements;
  out["dma"] = b.transfers;
  out["hbm"] = b.hbm;
  out["path"] = b.path;
  return out;
}

// As many equal ranks, of a module that does not say it.
void setReplicas(mlir::ModuleOp module, int64_t replicas) {
  if (replicas > 1 && !module->hasAttr("mhlo.num_replicas"))
    module->setAttr("mhlo.num_replicas",
                    mlir::Builder(module.getContext()).getI32IntegerAttr(static_cast<int32_t>(replicas)));
}

// The program, and what it is made of.
std::tuple<std::shared_ptr<Program>, nb::dict> compileBytes(const GraphBytes &graph, std::string_view file,
                                                            const std::string &target, std::string dump, int cores,
                                                            int effort, std::string topology, bool strictSharding,
                                                            int replicas, const std::string &autoCast) {
  const std::string_view bytes = bytesOf(graph);
  GraphOptions options;
  options.target = target;
  options.cores = cores;
  options.effort = effort;
  options.dump = std::move(dump);
  options.topology = std::move(topology);
  options.strictSharding = strictSharding;
  options.keep = true;
  CompiledGraph made = withoutLock([&] {
    graph::Graph g = graph::readGraph(bytes, file);
    setReplicas(*g.module, replicas);
    graph::roundProducts(*g.module, autoCast);
    return compileGraph(*g.module, options);
  });
  nb::dict counts;
  counts["operations"] = made.operations;
  counts["groups"] = made.groups;
  counts["kernels"] = made.kernels;
  counts["calls"] = made.calls;
  nb::list choices;
  for (const RegionChoice &c : made.choices) {
    nb::dict tried, choice;
    for (const RegionChoice::Way &w : c.tried)
      tried[w.name.c_str()] = w.time;
    choice["kernel"] = c.kernel;
    choice["groups"] = c.groups;
    choice["tried"] = tried;
    choice["taken"] = c.tried[c.taken].name;
    choices.append(choice);
  }
  counts["choices"] = choices;
  counts["bytes_once"] = made.bytesOnce;
  counts["least"] = partsOf(made.least);
  nb::list warnings;
  for (const std::string &w : made.parts.warnings)
    warnings.append(w);
  counts["warnings"] = warnings;
  return {std::make_shared<Program>(std::move(made.program)), counts};
}

std::string textOf(const GraphBytes &graph, std::string_view file, bool locations) {
  const std::string_view bytes = bytesOf(graph);
  const nb::gil_scoped_release release;
  graph::Graph g = graph::readGraph(bytes, file);
  std::string out;
  llvm::raw_string_ostream stream(out);
  g.module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(locations));
  return out;
}

size_t operationsOf(const GraphBytes &graph, std::string_view file) {
  const std::string_view bytes = bytesOf(graph);
  const nb::gil_scoped_release release;
  graph::Graph g = graph::readGraph(bytes, file);
  size_t count = 0;
  g.module->walk([&](mlir::Operation *) { ++count; });
  return count;
}

} // namespace

void bindGraph(nb::module_ &m) {
  m.def("compile_graph", &compileBytes, "graph"_a, "file"_a, "target"_a, "dump"_a = "", "cores"_a = 1, "effort"_a = 1,
        "topology"_a = "", "strict_sharding"_a = false, "replicas"_a = 1, "auto_cast"_a = "",
        "The program of @main with inputs arg0, arg1 ... and outputs result0, result1 ...; and the numbers of operations, "
        "groups and "
        "distinct kernels. dump: a folder for the simplified graph, its groups and kernels. replicas: of a "
        "module that does not say it; more than one have arguments and results of their own. auto_cast: bf16 or f16, to "
        "which operands of f32 products are "
        "rounded.");
  m.def("graph_text", &textOf, "graph"_a, "file"_a = "<graph>", "locations"_a = false, "The text of a graph of any form.");
  m.def("graph_operations", &operationsOf, "graph"_a, "file"_a = "<graph>",
        "How many operations a graph of any form has, functions and the module among them.");
}

} // namespace glia
