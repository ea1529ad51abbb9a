#include "ReduceForm.h"
#include "FileKind.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Reduce/ReduceProgram.h"
#ifdef GLIA_COMPILER
#include "glia/Dialect/Kernel.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Reduce/ReduceGraph.h"
#include "glia/Reduce/ReduceKernel.h"
#endif

#include <filesystem>

namespace glia::tool {

using namespace reduce;
using Options = ReduceOptions;
using Form = ReduceForm;

namespace {

// Whether less order can be another reason for the same thing. Of a command nobody knows.
bool speaksOfOrder(const Keep &keep) {
  return !keep.command.empty() || keep.code == "RACE" || keep.code.starts_with("SYNC-") || keep.code.starts_with("LOOP-");
}

Form programForm(const Options &o, const Keep &keep) {
  if (keep.code == kMismatch)
    throw Error("REDUCE-KEEP",
                "`mismatch` is for graphs and kernels, and " + o.file + " is a program, which has no reference",
                "Give the code of a rule, or a command with {} that exits with 0 when the program is wrong.");
  const Program p = loadProgram(o.file, o.target);
  const std::shared_ptr<const Target> target = p.target;
  return {disassemble(p),
          "instruction",
          ".gasm",
          [=](const std::string &text) { return judgeProgram(text, target); },
          [=](const std::string &text) { return sizeOfProgram(text, target); },
          [=](Search &search) { reduceProgram(search, target, speaksOfOrder(keep)); },
          target};
}

#ifdef GLIA_COMPILER
// A folder of its own is where candidates are tried: a file is named from the root.
std::string fromAnywhere(const std::string &name) {
  return std::filesystem::exists(name) ? std::filesystem::absolute(name).string() : name;
}

Form graphForm(const Options &o, const Keep &keep, std::string_view bytes) {
  GraphOptions options;
  setGraphOptions(o.graph, options);
  options.target = o.target.empty() ? options.target : fromAnywhere(o.target);
  options.topology = fromAnywhere(options.topology);
  const bool check = keep.code == kMismatch;
  graph::Graph g = graph::readGraph(bytes, o.file);
  g.main(); // what has none cannot be compiled
  const std::string text = g.text();
  graph::roundProducts(*g.module, o.graph.autoCast); // a wrong type is found before any work
  return {text,
          "operation",
          ".mlir",
          [=, seed = o.seed, rounded = o.graph.autoCast](const std::string &t) {
            return check ? judgeChecked(t, options, seed, rounded) : judgeCompiled(t, options, rounded);
          },
          sizeOfGraph,
          [=](Search &search) { reduceGraph(search, check ? Bodies::Kept : Bodies::Any); },
          {}};
}

Form kernelForm(const Options &o, const Keep &keep, std::string_view text) {
  const std::string target = o.target.empty() ? "" : fromAnywhere(o.target);
  const bool compare = keep.code == kMismatch;
  return {nisa::parseKernel(text, o.file).text(),
          "instruction",
          ".nisa",
          [=, seed = o.seed](const std::string &t) {
            return compare ? judgeComparedKernel(t, target, seed) : judgeCompiledKernel(t, target);
          },
          sizeOfKernel,
          reduceKernel,
          {}};
}

Form formOf(const Options &o, const Keep &keep, const FileBytes &f) {
  switch (kindOf(o.file, f)) {
  case FileKind::Program: return programForm(o, keep);
  case FileKind::Graph: return graphForm(o, keep, f.text());
  default: return kernelForm(o, keep, f.text());
  }
}

// A text that cannot be read is judged by its reader.
Judge readerOf(const Options &o, const FileBytes &f) {
  const FileKind kind = kindOf(o.file, f);
  if (kind == FileKind::Program)
    return [o](const std::string &text) {
      assemble(text, o.file, o.target.empty() ? nullptr : loadTarget(o.target));
      return Outcome();
    };
  if (kind == FileKind::Graph)
    return [](const std::string &text) {
      graph::parseGraph(text, "graph.mlir").main();
      return Outcome();
    };
  return [](const std::string &text) {
    nisa::parseKernel(text, "kernel.nisa");
    return Outcome();
  };
}
#else
Form formOf(const Options &o, const Keep &keep, const FileBytes &) { return programForm(o, keep); }
Judge readerOf(const Options &o, const FileBytes &) {
  return [o](const std::string &text) {
    assemble(text, o.file, o.target.empty() ? nullptr : loadTarget(o.target));
    return Outcome();
  };
}
#endif

} // namespace

Form readForm(const Options &o, const Keep &keep, const FileBytes &f) {
  if (const FileKind kind = kindOf(o.file, f); kind != FileKind::Graph)
    refuseGraphFlags(o.graph, o.file, kind == FileKind::Program ? "a program" : "a kernel");
  try {
    return formOf(o, keep, f);
  } catch (const Error &e) {
    const bool text = f.text().find('\0') == std::string_view::npos;
    if (!text || e.diagnostics()[0].code.starts_with("REDUCE") || e.diagnostics()[0].code == "GRAPH-CAST" ||
        (keep.command.empty() && !keep.in(outcomeOf(e.diagnostics()))))
      throw;
  }
  return {std::string(f.text()), "line", std::filesystem::path(o.file).extension(), readerOf(o, f), sizeOfLines,
          reduceLines,           {}};
}

std::string counted(size_t n, const char *unit) { return grouped(n) + " " + unit + (n == 1 ? "" : "s"); }

} // namespace glia::tool
