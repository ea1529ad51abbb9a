#include "GraphMarks.h"
#include "Debug/Names.h"
#include "glia/Support/Text.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <set>

namespace glia::debug {

GraphMarks::GraphMarks(mlir::ModuleOp module, GraphReplay &replay, GraphText &text, GraphValues &values)
    : module(module), replay(replay), text(text), values(values) {
  replay.onResults = [this](mlir::Operation &op, const std::vector<interp::Datum> &made) { results(op, made); };
}

// ---- making them -----------------------------------------------------------------------------------------------------------

std::string GraphMarks::add(GraphMark m) {
  m.number = ++numbers;
  m.text = format("%d: ", m.number) + m.text + (m.condition.empty() ? "" : " if " + m.condition) + (m.once ? " (once)" : "");
  marks.push_back(std::move(m));
  return marks.back().text;
}

// The operations of a line, or of a name.
GraphMark GraphMarks::operations(std::string_view where) {
  GraphMark m;
  m.text = std::string(where);
  std::set<std::string> names, files;
  const size_t colon = where.rfind(':');
  const std::string file(colon == std::string_view::npos ? "" : where.substr(0, colon));
  const std::optional<uint64_t> line = parseCount(where.substr(colon + 1));
  const std::string here = file.empty() && replay.at() ? GraphText::placeOf(replay.at()).file : "";
  module.walk([&](mlir::Operation *op) {
    if (llvm::isa<mlir::ModuleOp, mlir::FunctionOpInterface>(op))
      return;
    const SourcePlace p = GraphText::placeOf(op);
    const std::string whole = op->getName().getStringRef().str(), brief = op->getName().stripDialect().str();
    files.insert(p.file);
    names.insert(brief);
    const bool inFile = file.empty() ? p.file == here : p.file == file || p.file.ends_with("/" + file);
    if (line ? inFile && p.line == *line : where == whole || where == brief)
      m.at.insert(op);
  });
  if (m.at.empty() && line)
    throw Error("DEBUG-PLACE", "no operation comes from line " + printable(where),
                "`list` shows operations with the lines they come from.");
  if (m.at.empty()) {
    std::vector<std::string_view> known(names.begin(), names.end());
    throw Error(
        "DEBUG-PLACE", "there is no line, operation or value `" + printable(where) + "` in this graph",
        didYouMean(where, known, "Say break 24, break f.py:24, break add, break @function, break %5, break step 500."));
  }
  m.text += format(" (%zu operation%s)", static_cast<size_t>(m.at.size()), m.at.size() == 1 ? "" : "s");
  return m;
}

std::string GraphMarks::addBreak(std::string_view given, bool once) {
  std::string_view where = trimmed(given), condition;
  if (const size_t at = where.find(" if "); at != std::string_view::npos) {
    condition = trimmed(where.substr(at + 4));
    where = trimmed(where.substr(0, at));
  }
  if (where.empty())
    throw Error("DEBUG-COMMAND", "break where?",
                "Say break 24, break f.py:24, break add, break @function, break %5, break step 500.");
  GraphMark m;
  std::string_view rest = where;
  if (word(rest) == "step") {
    m.step = parseCount(rest);
    if (!m.step)
      throw Error("DEBUG-COMMAND", "break step takes a number of steps");
    m.text = std::string(where);
  } else if (where.starts_with("%")) {
    m.made = values.named(where);
    if (!llvm::isa<mlir::OpResult>(m.made))
      throw Error("DEBUG-PLACE", "`" + printable(where) + "` is an argument, which no operation makes");
    m.text = "after " + text.text(llvm::cast<mlir::OpResult>(m.made).getOwner());
  } else if (where.starts_with("@")) {
    auto f = llvm::dyn_cast_or_null<mlir::FunctionOpInterface>(
        mlir::SymbolTable::lookupSymbolIn(module, llvm::StringRef(where.data() + 1, where.size() - 1)));
    if (!f || f.isExternal())
      throw Error("DEBUG-PLACE", "there is no function " + printable(where) + " with a body in this graph");
    m.at.insert(&f.getFunctionBody().front().front());
    m.text = std::string(where);
  } else {
    m = operations(where);
  }
  if (!condition.empty())
    values.check(condition, m.made ? m.made.getDefiningOp() : m.at.empty() ? nullptr : *m.at.begin());
  m.once = once;
  m.condition = std::string(condition);
  return "breakpoint " + add(std::move(m));
}

std::string GraphMarks::addWatch(std::string_view given) {
  GraphMark m;
  m.text = std::string(given);
  m.look = lookOf(given, [&](std::string_view number) { return values.number(number); });
  if (!m.look)
    throw Error("DEBUG-COMMAND", "watch what?", "Say watch nan, inf, denormal, saturation, or range LOW HIGH.");
  return "watch " + add(std::move(m));
}

void GraphMarks::remove(std::string_view number) {
  if (number.empty())
    return marks.clear();
  const std::optional<uint64_t> n = parseCount(number);
  if (!n || !std::erase_if(marks, [&](const GraphMark &m) { return static_cast<uint64_t>(m.number) == *n; }))
    throw Error("DEBUG-PLACE", "there is no breakpoint " + printable(number), "`info breakpoints` lists them.");
}

std::string GraphMarks::list() const {
  std::string out;
  for (const GraphMark &m : marks)
    out += (out.empty() ? "" : "\n") + m.text;
  return out.empty() ? "no breakpoints" : out;
}

// ---- stopping --------------------------------------------------------------------------------------------------------------

// Constants are what they are: the least number that a maximum begins with is no accident.
void GraphMarks::results(mlir::Operation &op, const std::vector<interp::Datum> &made) {
  for (const GraphMark &m : marks) {
    if (m.made && m.made.getDefiningOp() == &op)
      seen.push_back({m.number, "`" + text.name(m.made) + "` is made by " + text.text(&op)});
    if (!m.look || op.getName().stripDialect() == "constant")
      continue;
    for (unsigned i = 0; i < made.size(); ++i)
      if (const std::string what = GraphValues::found(m.look, made[i]); !what.empty()) {
        seen.push_back({m.number, what + " of " + text.name(op.getResult(i)) + ": " + text.text(&op)});
        break;
      }
  }
}

// A condition about values that cannot be named here, or are not there yet, is not true.
bool GraphMarks::accept(const GraphMark &m) {
  if (m.condition.empty())
    return true;
  try {
    return values.holds(m.condition);
  } catch (const Error &e) {
    return false;
  }
}

std::string GraphMarks::reason(bool asks) {
  const std::vector<Seen> now = std::exchange(seen, {});
  for (const GraphMark &m : marks) {
    const auto hit = std::find_if(now.begin(), now.end(), [&](const Seen &s) { return s.number == m.number; });
    const bool here = m.at.contains(replay.at()) || (m.step && *m.step == replay.steps()) || hit != now.end();
    if (!here || !accept(m))
      continue;
    const std::string why =
        format("%s %d", m.look ? "watch" : "breakpoint", m.number) + (hit != now.end() ? ": " + hit->what : "");
    if (m.once && !asks)
      remove(std::to_string(m.number));
    return why;
  }
  return {};
}

} // namespace glia::debug
