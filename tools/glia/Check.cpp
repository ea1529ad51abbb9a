#include "glia/Check/CheckGraph.h"
#include "GraphFlags.h"
#include "Tool.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Support/File.h"
#include "glia/Target/Target.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glia::tool {

void addCheck(Command app, Tool &tool) {
  struct Options {
    std::string file, target = "trn2";
    GraphFlags graph;
    uint64_t seed = 1;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("check", "Compiles a graph and compares it with the reference, group by group and as a whole");
  c.option("file", o->file, "The graph (StableHLO as text or bytecode, HloModuleProto)").required();
  c.option("--target", o->target, "Built-in target or target file; trn2 if not given");
  addGraphFlags(c, o->graph, true);
  c.option("--seed", o->seed, "Which random arguments; 1 if not given");
  c.flag("--json", o->json, "As JSON");
  c.footer("Example: glia check model.mlir --target trn1 --seed 3\nWith --auto-cast the reference rounds, too.");
  c.callback([o, &tool] {
    tool.command = [o] {
      loadTarget(o->target); // a wrong name is found before any work
      const FileBytes f = readFile(o->file);
      graph::Graph g = graph::readGraph(f.text(), o->file);
      graph::roundProducts(*g.module, o->graph.autoCast);
      GraphOptions options;
      options.target = o->target;
      setGraphOptions(o->graph, options);
      GraphCheck check;
      {
        Progress progress("checking");
        check = checkGraph(*g.module, randomInputs(g.main(), o->seed), options);
      }
      if (!check.ok())
        throw Error(check.wrong);
      if (o->json) {
        nlohmann::ordered_json results = nlohmann::ordered_json::array();
        for (const CheckedResult &r : check.results)
          results.push_back({{"error", r.error}, {"reference_error", r.reference}});
        write(asText({{"ok", true},
                      {"ranks", check.ranks},
                      {"operations", check.operations},
                      {"groups", check.groups},
                      {"kernels", check.kernels},
                      {"results", results}}));
        return 0;
      }
      if (check.ranks > 1)
        write(format("the results of %d ranks equal the reference; no group was compared alone\n", check.ranks));
      else
        write(format("%zu operations, %zu groups, %zu kernels: each equals the reference\n", check.operations, check.groups,
                     check.kernels));
      for (size_t i = 0; i < check.results.size(); ++i)
        write(format("result %zu: relative error %.2g against f64; the reference in its own types %.2g\n", i,
                     check.results[i].error, check.results[i].reference));
      return 0;
    };
  });
}

} // namespace glia::tool
