#include "Accept.h"
#include "CollectiveCalls.h"
#include "Refused.h"
#include "Sharding.h"
#include "TupleCalls.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace glia::graph {

bool nestedTooDeeply(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > kDeepest)
        return true;
    } else if (c == ')' || c == ']' || c == '}') {
      depth -= depth > 0;
    } else if (c == '>') {
      depth -= depth > 0 && i && text[i - 1] != '-'; // not the head of an arrow
    }
  }
  return false;
}

namespace {
// What MLIR says, in glia's form.
class Messages {
public:
  Messages(std::string_view t, std::string_view f) : text(t.data(), t.size()), file(f.data(), f.size()) {
    lines.push_back(0);
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n')
        lines.push_back(i + 1);
  }
  void add(mlir::Diagnostic &d);
  void add(StringRef code, Location at, const Twine &message);
  std::vector<glia::Diagnostic> found;

private:
  StringRef text, file;
  std::vector<size_t> lines; // where each begins
};
} // namespace

static StringRef codeOf(StringRef message) {
  static constexpr std::pair<StringLiteral, StringLiteral> codes[] = {
      {kQuantised, "GRAPH-QUANTISED"}, {kSparse, "GRAPH-SPARSE"}, {"unknown operation '", "GRAPH-OPERATION"}};
  for (auto [words, code] : codes)
    if (message.contains(words))
      return code;
  return "GRAPH-SYNTAX";
}

// MLIR's own words speak of dialects and of what else it tried.
static std::string plain(StringRef m) {
  if (m.starts_with("Dialect `") || (m.starts_with("custom op '") && m.contains("is unknown")))
    return "unknown operation '" + m.split("op '").second.split('\'').first.str() + "'";
  if (m.consume_front("custom op '")) // the place says it already
    m = m.split("' ").second;
  return m.str();
}

void Messages::add(mlir::Diagnostic &d) {
  if (d.getSeverity() != DiagnosticSeverity::Error)
    return;
  const std::string message = d.str();
  const std::string words = plain(message);
  add(codeOf(words), d.getLocation(), words);
  for (auto &note : d.getNotes()) {
    const std::string text = note.str(); // MLIR also lists what it would have accepted
    if (!StringRef(text).starts_with("Registered dialects"))
      found.back().notes.push_back(text);
  }
}

// With the line of the text and a caret below its column; an op may also carry the line of the program that made it.
void Messages::add(StringRef code, Location location, const Twine &message) {
  glia::Diagnostic out;
  out.code = code;
  out.message = message.str();
  if (auto at = location->findInstanceOf<FileLineColRange>()) {
    out.place = {at.getFilename().str(), at.getStartLine(), at.getStartColumn()};
    if (at.getFilename() == file && at.getStartLine() >= 1 && at.getStartLine() <= lines.size()) {
      const StringRef line = text.substr(lines[at.getStartLine() - 1]).take_until([](char c) { return c == '\n'; });
      const size_t column = at.getStartColumn() ? at.getStartColumn() - 1 : 0;
      const size_t from = column > 100 ? column - 100 : 0; // constants make long lines
      out.notes.push_back(line.substr(from, 160).str());
      if (at.getStartColumn())
        out.notes.push_back(std::string(column - from, ' ') + "^");
    }
  } else {
    out.place.file = file;
  }
  found.push_back(std::move(out));
}

Graph accept(std::string_view text, std::string_view file, ModuleReader read) {
  Graph g;
  g.context = makeContext();
  Messages messages(text, file);
  bool sound = false;
  {
    ScopedDiagnosticHandler handler(g.context.get(), [&](mlir::Diagnostic &d) {
      messages.add(d);
      return success();
    });
    g.module = read(g.context.get());
    if (g.module) {
      auto report = [&](StringRef code, Location at, const Twine &message) { messages.add(code, at, message); };
      if (!hasPartitions(*g.module))
        dropShardings(*g.module);
      refuseByName(*g.module, report);
      writeCollectiveCalls(*g.module);
      if (messages.found.empty() && succeeded(verify(*g.module))) {
        checkCalls(*g.module, report);
        splitTupleCalls(*g.module);
        sound = true;
      }
    }
  }
  if (!sound || !messages.found.empty())
    throw Error(messages.found.empty()
                    ? std::vector<glia::Diagnostic>{{"GRAPH-SYNTAX", "the file cannot be parsed", {std::string(file)}}}
                    : std::move(messages.found));
  return g;
}

} // namespace glia::graph
