#include "FileKind.h"
#include "glia/Support/Diagnostic.h"
#ifdef GLIA_COMPILER
#include "glia/Graph/Read.h"
#include "glia/Program/Container.h"
#endif

namespace glia::tool {

void refuseScript(const std::string &path) {
  if (path.ends_with(".py"))
    throw Error("PROGRAM-FILE", path + " is a script of Python, not a program",
                "`python -m glia run`, check, profile, compare and debug take scripts.");
}

#ifdef GLIA_COMPILER
FileKind kindOf(const std::string &path, const FileBytes &f) {
  refuseScript(path);
  const auto has = [&](std::string_view word) { return f.text().find(word) != std::string_view::npos; };
  if (looksLikeContainer(f.bytes) || path.ends_with(".gasm") || path.ends_with(".glia"))
    return FileKind::Program;
  if (path.ends_with(".mlir") || graph::formOf(f.text()) != graph::GraphForm::Text)
    return FileKind::Graph;
  if (path.ends_with(".nisa") || has("nisa.kernel"))
    return FileKind::Kernel;
  return has("func") ? FileKind::Graph : FileKind::Program;
}
#else
FileKind kindOf(const std::string &, const FileBytes &) { return FileKind::Program; }
#endif

} // namespace glia::tool
