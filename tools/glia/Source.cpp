#include "Source.h"
#include "FileKind.h"
#include "Tool.h"
#ifdef GLIA_COMPILER
#include "glia/CodeGen/Compile.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Verify/VerifyRanks.h"
#endif

namespace glia::tool {

bool mustBeCompiled(const Source &s) { return kindOf(s.file, readFile(s.file)) != FileKind::Program; }

#ifdef GLIA_COMPILER
void requireProved(const Program &p, CompiledFrom from) {
  if (VerifyResult r = verifyRanks(p); !r.ok())
    throw Error(withCompilerFaults(std::move(r.diagnostics), p, from));
}

void tellWarnings(const std::vector<std::string> &warnings) {
  for (const std::string &w : warnings)
    std::fprintf(stderr, "%s\n",
                 render(Diagnostic{.code = "GRAPH-SHARDING", .message = w, .severity = Severity::Warning}).c_str());
}

// A wrong one is found before any work.
static std::string targetOf(const Source &s, const std::string &own) {
  std::string out = (s.target.empty() ? own : s.target) + (s.changes.empty() ? "" : "," + s.changes);
  loadTarget(out);
  return out;
}

static Program programOfGraph(std::string_view text, const Source &s) {
  GraphOptions options;
  setGraphOptions(s.graph, options);
  options.target = targetOf(s, options.target);
  options.keep = true;
  graph::Graph g = graph::readGraph(text, s.file);
  graph::roundProducts(*g.module, s.graph.autoCast);
  CompiledGraph compiled = compileGraph(*g.module, options);
  tellWarnings(compiled.parts.warnings);
  if (s.prove)
    requireProved(compiled.program, compiled.written ? CompiledFrom::Kernel : CompiledFrom::Graph);
  return std::move(compiled.program);
}

Program programOfKernel(std::string_view text, const Source &s, const std::string &schedule, const std::string &dump) {
  nisa::Kernel k = nisa::parseKernel(text, s.file);
  k.op().setTarget(targetOf(s, k.op().getTarget().str()));
  if (!schedule.empty())
    nisa::setSchedule(k.op(), schedule);
  if (std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
    throw Error(std::move(bad));
  CompileOptions options;
  options.dump = dump;
  options.tryOrders = true;
  return compileKernel(k, options);
}

Program programOf(const Source &s) {
  const FileBytes f = readFile(s.file);
  const FileKind kind = kindOf(s.file, f);
  if (kind != FileKind::Graph)
    refuseGraphFlags(s.graph, s.file, kind == FileKind::Program ? "a program" : "a kernel");
  if (kind == FileKind::Program)
    return loadProgram(s.file, s.target);
  Progress progress("compiling");
  if (kind == FileKind::Graph)
    return programOfGraph(f.text(), s);
  Program p = programOfKernel(f.text(), s, "", "");
  if (s.prove)
    requireProved(p, CompiledFrom::Kernel);
  return p;
}
#else
Program programOf(const Source &s) { return loadProgram(s.file, s.target); }
#endif

} // namespace glia::tool
