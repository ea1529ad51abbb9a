// glia bound: the least time of a graph, a kernel or a program on a target.
#include "FileKind.h"
#include "GraphFlags.h"
#include "Tool.h"
#include "glia/Profile/ProgramBound.h"
#include "glia/Sim/Steps.h"
#include "glia/Target/Title.h"
#ifdef GLIA_COMPILER
#include "glia/CodeGen/ScheduleBound.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#endif

#include <nlohmann/json.hpp>

namespace glia::tool {

namespace {

struct Options {
  std::string file, target;
  GraphFlags graph;
  bool json = false;
};

// Rows of one part each, and the largest of them.
class Table {
public:
  Table(const Target &t, std::string of) : title(titleOf(t)), of(std::move(of)) {}
  void row(const std::string &name, double ns) {
    if (ns > 0)
      rows.emplace_back(name, ns);
  }
  void say(const std::string &key, double value) { more.emplace_back(key, value); } // to programs
  std::string remark;                                                               // to people
  std::string print(double total, const std::string &reason, bool json) const {
    if (json) {
      nlohmann::ordered_json j = {{"target", title}, {"of", of}, {"least_ns", total}, {"by", reason}};
      for (const auto &[name, ns] : rows)
        j["parts"][name] = ns;
      for (const auto &[name, value] : more)
        j[name] = value;
      return j.dump(2) + "\n";
    }
    std::string out =
        format("%s on %s takes at least %.3f us: %s\n", of.c_str(), title.c_str(), total / 1e3, reason.c_str());
    for (const auto &[name, ns] : rows)
      out += format("  %-10s %14.3f us\n", name.c_str(), ns / 1e3);
    return out + remark;
  }

private:
  std::string title, of;
  std::vector<std::pair<std::string, double>> rows, more;
};

std::string ofProgram(const Options &o) {
  const Program p = loadProgram(o.file, o.target);
  TimingOptions options;
  options.maxSteps = kDefaultMaxSteps;
  const TimingResult r = simulateTime(p, options);
  const ProgramBound b = programBound(p, r);
  Table t(*p.target, "the program");
  for (const LaneUse &l : r.lanes)
    if (!l.bytes)
      t.row(l.name, l.busy);
  t.say("predicted_ns", r.total);
  if (b.busiest > 0)
    t.say("times_above", r.total / b.busiest);
  t.remark = format("predicted: %.3f us", r.total / 1e3);
  if (b.busiest > 0)
    t.remark += format(", %.2f times that", r.total / b.busiest);
  if (b.least > 0) {
    t.say("times_above_its_graph", r.total / b.least);
    t.remark += format(", %.2f times what its graph needs at least (%s)", r.total / b.least, b.limit.c_str());
  }
  t.remark += "\n";
  return t.print(b.busiest, b.part, o.json);
}

#ifdef GLIA_COMPILER
std::string ofGraph(const Options &o, std::string_view text) {
  GraphOptions options;
  setGraphOptions(o.graph, options);
  if (!o.target.empty())
    options.target = o.target;
  const auto target = loadTarget(options.target);
  graph::Graph g = graph::readGraph(text, o.file);
  graph::roundProducts(*g.module, o.graph.autoCast);
  const Least b = boundGraph(*g.module, options);
  Table t(*target, "the graph");
  t.row("tensor", b.tensor);
  t.row("elements", b.elements);
  t.row("dma", b.transfers);
  t.row("hbm", b.hbm);
  t.row("path", b.path);
  bool loops = false;
  g.module->walk([&](graph::WhileOp) { loops = true; });
  if (loops)
    t.remark = "Loops whose count is not known, or that are not unrolled, may not run: they count for nothing.\n";
  return t.print(b.total(), b.reason(), o.json);
}

std::string ofKernel(const Options &o, std::string_view text) {
  nisa::Kernel k = nisa::parseKernel(text, o.file);
  if (!o.target.empty())
    k.op().setTarget(o.target);
  const auto target = loadTarget(k.op().getTarget().str());
  const ScheduleBound b = scheduleBound(k);
  Table t(*target, "the kernel");
  for (int e = 0; e < kNumEngines; ++e)
    t.row(std::string(name(static_cast<Engine>(e))), b.busy[e]);
  t.row("dma", b.transfers);
  t.row("path", b.path);
  t.row("around", b.around);
  return t.print(b.total(), b.reason(), o.json);
}
#endif

std::string boundOf(const Options &o) {
#ifdef GLIA_COMPILER
  const FileBytes f = readFile(o.file);
  const FileKind kind = kindOf(o.file, f);
  if (kind == FileKind::Graph)
    return ofGraph(o, f.text());
  refuseGraphFlags(o.graph, o.file, kind == FileKind::Kernel ? "a kernel" : "a program");
  if (kind == FileKind::Kernel)
    return ofKernel(o, f.text());
#endif
  return ofProgram(o);
}

} // namespace

void addBound(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("bound", "The least time that a graph, a kernel or a program can take");
  c.option("file", o->file, "A graph, the IR of a kernel (.nisa), or a program (.glia or .gasm)").required();
  c.option("--target", o->target, "Built-in target or target file; graphs: trn2 if not given");
  addGraphFlags(c, o->graph);
  c.flag("--json", o->json, "As JSON");
  c.footer("Example: glia bound model.mlir --target trn1\n"
           "A graph is measured as a whole, whatever it is compiled to; a kernel by its instructions in the best order; a "
           "program\n"
           "by its busiest engine, beside its predicted time.");
  c.callback([o, &tool] {
    tool.command = [o] {
      write(boundOf(*o));
      return 0;
    };
  });
}

} // namespace glia::tool
