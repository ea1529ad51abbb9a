// glia compile: a kernel (.nisa) or a graph (.mlir, .mlirbc, .pb) becomes a program file.
#include "FileKind.h"
#include "GraphFlags.h"
#include "InternalError.h"
#include "Source.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Program/Container.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"
#include "glia/Target/Title.h"

#include <chrono>
#include <csignal>

namespace glia::tool {

namespace {

struct Options {
  std::string file, target, output, dump, schedule;
  GraphFlags graph;
  bool explain = false;
};

// While a file is written, an interrupt waits: the file is whole or absent, and no temporary one stays.
class Uninterrupted {
public:
  Uninterrupted() {
    sigset_t all;
    sigemptyset(&all);
    for (int s : {SIGINT, SIGTERM, SIGHUP})
      sigaddset(&all, s);
    pthread_sigmask(SIG_BLOCK, &all, &before);
  }
  ~Uninterrupted() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

void saveWhole(const Program &p, const std::string &path) {
  const Uninterrupted now;
  save(p, path);
}

class PhaseTimes {
public:
  void begin(std::string_view name) {
    const auto now = std::chrono::steady_clock::now();
    if (!phases.empty())
      phases.back().second += std::chrono::duration<double>(now - since).count();
    since = now;
    if (!name.empty() && (phases.empty() || phases.back().first != name))
      phases.emplace_back(name, 0.0);
  }
  std::string text() {
    begin("");
    double sum = 0;
    std::string out;
    for (const auto &[name, seconds] : phases) {
      sum += seconds;
      out += (out.empty() ? "" : ", ") + name + format(" %.2f s", seconds);
    }
    return format("%.2f s: ", sum) + out;
  }

private:
  std::chrono::steady_clock::time_point since;
  std::vector<std::pair<std::string, double>> phases;
};

std::string costs(const CompiledGraph &g, PhaseTimes &times) {
  uint64_t bytes[4] = {}, given = 0;
  for (const Tensor &t : g.program.tensors) {
    bytes[static_cast<int>(t.kind)] += static_cast<uint64_t>(t.bytes()) * (t.shared ? 1 : g.program.cores);
    given += t.from.empty() ? 0 : static_cast<uint64_t>(t.bytes());
  }
  const auto of = [&](TensorKind k) { return grouped(bytes[static_cast<int>(k)]); };
  std::string out = "target        " + titleOf(*g.program.target) + ", " + std::to_string(g.program.cores) +
                    (g.program.cores == 1 ? " core" : " cores") +
                    (g.parts.ranks > 1 ? ", one of " + grouped(static_cast<uint64_t>(g.parts.ranks)) + " ranks\n" : "\n");
  out += "operations    " + grouped(g.operations) + "\n";
  out += "groups        " + grouped(g.groups) + " in " + grouped(g.calls) + (g.calls == 1 ? " call of " : " calls of ") +
         grouped(g.kernels) + (g.kernels == 1 ? " kernel\n" : " distinct kernels\n");
  out += "instructions  " + grouped(g.program.instructionCount()) + "\n";
  out += "HBM bytes     " + grouped(bytes[0] + bytes[1] + bytes[2] + bytes[3]) + ": inputs " + of(TensorKind::Input) +
         ", outputs " + of(TensorKind::Output) + (given ? " (" + grouped(given) + " in the place of inputs)" : "") +
         ", constants " + of(TensorKind::Constant) + ", between groups " + of(TensorKind::Scratch) + "\n";
  return out + "compile time  " + times.text() + "\n";
}

// What was tried for groups beside each other, once for those that are alike.
std::string choicesOf(const CompiledGraph &g) {
  if (g.program.cores > 1)
    return "\non two cores every group is a kernel of its own\n";
  std::string out = "\ngroups that may be one kernel, and the predicted time of each way to write them\n";
  for (const RegionChoice &c : g.choices) {
    out += "  " + c.kernel + ", " + grouped(c.groups) + " groups\n";
    for (size_t i = 0; i < c.tried.size(); ++i)
      out +=
          format("    %10.2f us  %s%s\n", c.tried[i].time / 1e3, c.tried[i].name.c_str(), i == c.taken ? "  (taken)" : "");
  }
  return g.choices.empty() ? "\nno groups that may be one kernel\n" : out;
}

int compileModel(const Options &o, std::string_view text) {
  if (!o.schedule.empty())
    throw Error("KERNEL-SCHEDULE", o.file + " is a graph, and --schedule is said of a kernel",
                "The order within a graph's kernels is the compiler's; a kernel that is called in it says its own "
                "(nki.jit(schedule=...)).");
  GraphOptions options;
  options.dump = o.dump;
  options.keep = true;
  setGraphOptions(o.graph, options);
  if (!o.target.empty())
    options.target = o.target;
  loadTarget(options.target); // a wrong name is found before any work
  PhaseTimes times;
  CompiledGraph compiled;
  {
    Progress progress("reading the graph");
    times.begin("read");
    graph::Graph g = graph::readGraph(text, o.file);
    graph::roundProducts(*g.module, o.graph.autoCast);
    options.progress = [&](std::string_view phase, size_t done, size_t all) {
      times.begin(phase);
      progress.say("compiling, " + std::string(phase) + (all > 1 ? " " + grouped(done) + " of " + grouped(all) : ""));
    };
    compiled = compileGraph(*g.module, options);
  }
  tellWarnings(compiled.parts.warnings);
  times.begin("verify");
  {
    Progress progress("verifying " + grouped(compiled.program.instructionCount()) + " instructions");
    requireProved(compiled.program, compiled.written ? CompiledFrom::Kernel : CompiledFrom::Graph);
  }
  times.begin("write");
  saveWhole(compiled.program, o.output);
  write(costs(compiled, times) + (o.explain ? choicesOf(compiled) : ""));
  return 0;
}

int compileText(const Options &o, std::string_view text) {
  refuseGraphFlags(o.graph, o.file, "a kernel");
  Progress progress("compiling");
  const Program p = programOfKernel(text, {.file = o.file, .target = o.target}, o.schedule, o.dump);
  requireProved(p, CompiledFrom::Kernel);
  saveWhole(p, o.output);
  return 0;
}

// A fault of glia's own is told with what makes its input smaller.
int compileFile(const Options &o, const FileBytes &f) {
  const auto told = [&](const std::vector<Diagnostic> &wrong) {
    ReduceOptions r;
    r.file = o.file;
    r.target = o.target;
    r.graph = o.graph;
    return Error(withSmaller(wrong, r, f));
  };
  const FileKind kind = kindOf(o.file, f);
  if (kind == FileKind::Program)
    throw Error("COMPILE-FILE", printable(o.file) + " is neither a graph nor a kernel",
                "A graph is StableHLO (text or bytecode) or an HloModuleProto, a kernel's text begins with `nisa.kernel`. "
                "Assembly becomes a program with `glia asm`; programs are verified, run and timed as they are.");
  try {
    return kind == FileKind::Kernel ? compileText(o, f.text()) : compileModel(o, f.text());
  } catch (const Error &e) {
    if (!isInternal(e.diagnostics()))
      throw;
    throw told(e.diagnostics());
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &e) {
    throw told({{.code = "INTERNAL",
                 .message = e.what(),
                 .advice = "This is a bug in glia; please report it with the command and its files."}});
  }
}

} // namespace

void addCompile(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("compile", "Compiles a graph or a kernel into a program file");
  c.option("file", o->file, "A graph (StableHLO as text or bytecode, HloModuleProto) or the IR of a kernel (.nisa)")
      .required();
  c.option("--target", o->target, "Built-in target or target file; wins over a kernel's own. Graphs: trn2 if not given");
  addGraphFlags(c, o->graph);
  c.flag("--explain", o->explain, "Of a graph. Say what was tried and what was taken").whenGiven([o] {
    o->graph.given = "--explain";
  });
  c.option("-o,--output", o->output, "The program file to write (.glia)").required();
  c.option("--schedule", o->schedule,
           "Of a kernel. best: whatever is fastest; as_written: the order of each engine is that of the text. Else the "
           "kernel's own");
  c.option("--dump", o->dump,
           "A folder: of a graph, what it is simplified to, its groups and their kernels; of a kernel, "
           "its IR after each stage");
  c.footer("Example: glia compile model.mlir --target trn1 -o model.glia\n"
           "         glia compile kernel.nisa --target trn1 -o kernel.glia --dump=stages\n"
           "A graph's arguments become the inputs arg0, arg1 ..., its results the outputs result0, result1 ...");
  c.callback([o, &tool] {
    tool.command = [o] {
      const FileBytes f = readFile(o->file);
      checkFolder(o->output);
      return compileFile(*o, f);
    };
  });
}

} // namespace glia::tool
