#include "glia/Dialect/Kernel.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace glia::nisa {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<NisaDialect>();
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false); // messages say what is wrong and where; the whole op is no help
  return context;
}

KernelOp Kernel::op() { return *module->getOps<KernelOp>().begin(); }

std::string Kernel::text() {
  std::string out;
  llvm::raw_string_ostream stream(out);
  op()->print(stream);
  out += '\n';
  return out;
}

Kernel Kernel::clone() {
  // Attributes are unique in their context, so the copy lives in the same one.
  Kernel k;
  k.module = OwningOpRef<ModuleOp>(module->clone());
  k.fingerprint = fingerprint;
  return k;
}

void setSchedule(KernelOp kernel, std::string_view schedule) {
  if (schedule == "best")
    kernel.removeScheduleAttr();
  else if (schedule == "as_written")
    kernel.setSchedule("as_written");
  else
    throw Error("KERNEL-SCHEDULE", format("there is no schedule `%s`", printable(schedule).c_str()),
                "Say best, which is what a kernel gets that says nothing, or as_written.");
}

static std::string hashOf(std::string_view s) {
  uint64_t a = 0xCBF29CE484222325u, b = 0x9E3779B97F4A7C15u;
  for (unsigned char c : s) {
    a = (a ^ c) * 0x100000001B3u;
    b = (b + c) * 0xFF51AFD7ED558CCDu;
    b ^= b >> 29;
  }
  return format("%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
}

// MLIR's parser descends into brackets by recursion, as deep as the text asks for. No kernel needs more than this.
static constexpr size_t kDeepest = 200;

static bool nestedTooDeeply(std::string_view text) {
  std::string open;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      open += c;
      if (open.size() > kDeepest)
        return true;
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      // A `<` may stand alone (loop %i < 4 {...}), every other bracket closes what it opened.
      const char mate = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
      while (c != '>' && !open.empty() && open.back() == '<')
        open.pop_back();
      if (!open.empty() && open.back() == mate)
        open.pop_back();
      if (c == '}' && !open.empty() && open.back() == '<')
        open.pop_back();
    }
  }
  return false;
}

// One message of the parser, with the line of the text and a caret below its column.
static glia::Diagnostic convert(mlir::Diagnostic &d, std::string_view text, std::string_view file) {
  glia::Diagnostic out;
  out.code = "NISA-SYNTAX";
  const std::string message = d.str();
  StringRef m = message;
  if (m.consume_front("custom op '")) // MLIR's introduction: the place says it already
    m = m.split("' ").second;
  out.message = m.str();
  if (auto at = d.getLocation()->findInstanceOf<FileLineColLoc>()) {
    out.place = {at.getFilename().str(), at.getLine(), at.getColumn()};
    if (at.getFilename() == StringRef(file.data(), file.size())) { // not the Python line that an op may carry
      SmallVector<StringRef> lines;
      StringRef(text.data(), text.size()).split(lines, '\n');
      if (at.getLine() >= 1 && at.getLine() <= lines.size()) {
        const StringRef line = lines[at.getLine() - 1].take_front(160);
        out.notes.push_back(line.str());
        if (at.getColumn() >= 1 && at.getColumn() <= line.size() + 1)
          out.notes.push_back(std::string(at.getColumn() - 1, ' ') + "^");
      }
    }
  }
  for (auto &note : d.getNotes())
    out.notes.push_back(note.str());
  out.advice = "docs/nisa.md shows how kernels are written.";
  return out;
}

Kernel parseKernel(std::string_view text, std::string_view file) {
  if (text.starts_with("ML\xefR")) // MLIR would go on to read its binary form, which nothing here writes
    throw Error("NISA-SYNTAX", "the file is MLIR bytecode, and a kernel is text", "", {std::string(file)});
  if (nestedTooDeeply(text))
    throw Error("NISA-SYNTAX", format("brackets are nested more than %zu deep", kDeepest), "", {std::string(file)});
  Kernel k;
  k.context = makeContext();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(text.data(), text.size()), StringRef(file.data(), file.size())),
      SMLoc());
  std::vector<glia::Diagnostic> found;
  {
    ScopedDiagnosticHandler handler(k.context.get(), [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == DiagnosticSeverity::Error)
        found.push_back(convert(d, text, file));
      return success();
    });
    k.module = parseSourceFile<ModuleOp>(sources, k.context.get());
  }
  if (!k.module)
    throw Error(found.empty() ? std::vector<glia::Diagnostic>{{"NISA-SYNTAX", "the file cannot be parsed"}} : found);
  auto kernels = k.module->getOps<KernelOp>();
  if (std::distance(kernels.begin(), kernels.end()) != 1)
    throw Error("NISA-SYNTAX",
                format("%s holds %d kernels, and one is expected", std::string(file).c_str(),
                       (int)std::distance(kernels.begin(), kernels.end())),
                "Put each kernel into a file of its own.");
  k.fingerprint = hashOf(text);
  return k;
}

} // namespace glia::nisa
