#include "ParseScope.h"
#include "glia/Support/Text.h"

#include <algorithm>

using namespace mlir;

namespace glia::nisa {

static constexpr unsigned kDeepest = 64;   // regions in regions
static thread_local ParseScope *innermost; // a parser does all its work on one thread

ParseScope::ParseScope(bool isolated) : outer(innermost), depth(outer ? outer->depth + 1 : 0), isolated(isolated) {
  innermost = this;
}

ParseScope::~ParseScope() { innermost = outer; }

bool ParseScope::inside() { return innermost; }

bool ParseScope::tooDeep() { return innermost && innermost->depth > kDeepest; }

void ParseScope::define(StringRef name, Type type) {
  if (innermost && !name.empty())
    innermost->types[name] = type;
}

Type ParseScope::lookUp(StringRef name) {
  for (const ParseScope *s = innermost; s; s = s->isolated ? nullptr : s->outer)
    if (Type t = s->types.lookup(name))
      return t;
  return {};
}

std::vector<std::string_view> ParseScope::names() {
  std::vector<std::string_view> out;
  for (const ParseScope *s = innermost; s; s = s->isolated ? nullptr : s->outer)
    for (const auto &entry : s->types)
      out.emplace_back(entry.getKey().data(), entry.getKey().size());
  std::sort(out.begin(), out.end()); // a hash table has no order to rely on
  return out;
}

ParseResult parseDefined(OpAsmParser &p, Value &out) {
  OpAsmParser::UnresolvedOperand operand;
  if (p.parseOperand(operand, /*allowResultNumber=*/false))
    return failure();
  const StringRef name = operand.name.drop_front();
  const Type type = ParseScope::lookUp(name);
  if (!type) {
    if (!ParseScope::inside())
      return p.emitError(operand.location)
             << "the short form of an instruction stands in a nisa.kernel that is in short form too";
    const std::string guess = didYouMean({name.data(), name.size()}, ParseScope::names());
    return p.emitError(operand.location) << "there is no tensor or register `%" << name << "` here"
                                         << (guess.empty() ? "" : ". ") << guess;
  }
  SmallVector<Value, 1> resolved;
  if (p.resolveOperand(operand, type, resolved))
    return failure();
  out = resolved[0];
  return success();
}

} // namespace glia::nisa
