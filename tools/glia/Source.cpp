#include "Source.h"
#include "Tool.h"
#include "glia/Program/Container.h"
#include "glia/Support/File.h"
#ifdef GLIA_COMPILER
#include "glia/CodeGen/Compile.h"
#include "glia/Graph/Read.h"
#include "glia/Region/CompileGraph.h"
#endif

namespace glia::tool {

#ifdef GLIA_COMPILER
// The end of a name decides; another name is looked into.
bool mustBeCompiled(const Source &s) {
  for (const char *end : {".glia", ".gasm"})
    if (s.file.ends_with(end))
      return false;
  const FileBytes f = readFile(s.file);
  if (looksLikeContainer(f.bytes))
    return false;
  for (const char *end : {".mlir", ".nisa"})
    if (s.file.ends_with(end))
      return true;
  if (graph::formOf(f.text()) != graph::GraphForm::Text)
    return true;
  for (const char *word : {"nisa.kernel", "func.func", "stablehlo."})
    if (f.text().find(word) != std::string_view::npos)
      return true;
  return false; // assembly
}

// A wrong one is found before any work.
static std::string targetOf(const Source &s, const std::string &own) {
  std::string out = (s.target.empty() ? own : s.target) + (s.changes.empty() ? "" : "," + s.changes);
  loadTarget(out);
  return out;
}

static Program programOfGraph(std::string_view text, const Source &s) {
  GraphOptions options;
  options.cores = s.cores;
  options.effort = s.effort;
  options.target = targetOf(s, options.target);
  graph::Graph g = graph::readGraph(text, s.file);
  return compileGraph(*g.module, options).program;
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
  if (!mustBeCompiled(s))
    return loadProgram(s.file, s.target);
  const FileBytes f = readFile(s.file);
  Progress progress("compiling");
  return isGraph(s.file, f.text()) ? programOfGraph(f.text(), s) : programOfKernel(f.text(), s, "", "");
}
#else
bool mustBeCompiled(const Source &) { return false; }
Program programOf(const Source &s) { return loadProgram(s.file, s.target); }
#endif

} // namespace glia::tool
