// The graph compiler for Python: StableHLO text in, a program out. glia.jit is the public form.
#include "Bindings.h"
#include "glia/Emit/CompileGraph.h"
#include "glia/Graph/Parse.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

// The program, and what it is made of.
std::tuple<std::shared_ptr<Program>, nb::dict> compileText(std::string_view text, std::string_view file,
                                                           const std::string &target, std::string dump, int cores) {
  CompiledGraph made;
  {
    const nb::gil_scoped_release release;
    GraphOptions options;
    options.target = target;
    options.cores = cores;
    options.dump = std::move(dump);
    graph::Graph g = graph::parseGraph(text, file);
    made = compileGraph(*g.module, options);
  }
  nb::dict counts;
  counts["operations"] = made.operations;
  counts["groups"] = made.groups;
  counts["kernels"] = made.kernels;
  counts["bytes_once"] = made.bytesOnce;
  return {std::make_shared<Program>(std::move(made.program)), counts};
}

} // namespace

void bindGraph(nb::module_ &m) {
  m.def("compile_graph", &compileText, "text"_a, "file"_a, "target"_a, "dump"_a = "", "cores"_a = 1,
        "The program of @main with inputs arg0, arg1 ... and outputs result0, result1 ...; and the numbers of operations, "
        "groups and "
        "distinct kernels. dump: a folder for the simplified graph, its groups and kernels.");
}

} // namespace glia
