#include "InstructionText.h"
#include "AccessText.h"
#include "Literal.h"
#include "ParseScope.h"
#include "Slots.h"
#include "glia/Support/Text.h"

#include <climits>

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

// Attributes that have their own words in the text.
static constexpr StringRef kOwn[] = {"slots", "engine", "name", "chain", "id", "after", "waits", "updates"};

// A slot that has to be there: everything but optional tensors, what has a default, and what is assigned later.
static bool isRequired(const Slot &s) {
  switch (s.kind) {
  case SlotKind::OptIn:
  case SlotKind::OptOut:
  case SlotKind::OptScalar:
  case SlotKind::Queue:
  case SlotKind::Label: return false;
  default: return !s.hasDefault;
  }
}

// ---- parsing ----------------------------------------------------------------------------------------------------------------

namespace {

class InstructionParser {
public:
  InstructionParser(OpAsmParser &p, OperationState &state, const InstrDef &def)
      : p(p), state(state), def(def), values(def.slots.size()), given(def.slots.size()) {}
  ParseResult run();

private:
  OpAsmParser &p;
  OperationState &state;
  const InstrDef &def;
  std::vector<SlotValue> values;
  std::vector<bool> given;
  std::optional<Engine> engine;

  Builder &builder() { return p.getBuilder(); }
  bool atSlot() const;
  ParseResult slot();
  ParseResult value(const Slot &s, SlotValue &v);
  ParseResult choice(const Slot &s, SlotValue &v);
  ParseResult integer(const Slot &s, int64_t lo, int64_t hi, SlotValue &v);
  ParseResult list(const Slot &s, SlotValue &v);
  ParseResult reg(const Slot &s, SlotValue &v);
  ParseResult clauses();
  ParseResult engineClause();
  ParseResult number(StringRef attribute);
  ParseResult semaphore(int64_t &out);
  ParseResult waits();
  ParseResult updates();
  ParseResult after();
  std::string what(const Slot &s) const { return ("`" + text(s.name) + "` of " + text(def.name)).str(); }
};

// A word with `=` behind it. Anything else that follows an instruction is one of its clauses or the next op.
bool InstructionParser::atSlot() const {
  const char *c = p.getCurrentLocation().getPointer();
  if (!isalpha(static_cast<unsigned char>(*c)) && *c != '_')
    return false;
  while (isalnum(static_cast<unsigned char>(*c)) || *c == '_')
    ++c;
  while (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r')
    ++c;
  return *c == '=';
}

ParseResult InstructionParser::slot() {
  const SMLoc at = p.getCurrentLocation();
  StringRef word;
  if (p.parseKeyword(&word) || p.parseEqual())
    return failure();
  const int i = def.slot({word.data(), word.size()});
  if (i < 0) {
    std::vector<std::string_view> known;
    std::string all;
    for (const Slot &s : def.slots) {
      known.push_back(s.name);
      all += " " + std::string(s.name);
    }
    const std::string guess = didYouMean({word.data(), word.size()}, known);
    return p.emitError(at) << text(def.name) << " has no slot `" << word << "`. " << guess << (guess.empty() ? "" : " ")
                           << "Slots:" << all;
  }
  if (given[i])
    return p.emitError(at) << what(def.slots[i]) << " is given twice";
  given[i] = true;
  return value(def.slots[i], values[i]);
}

ParseResult InstructionParser::choice(const Slot &s, SlotValue &v) {
  const SMLoc at = p.getCurrentLocation();
  std::string word;
  if (p.parseOptionalKeywordOrString(&word))
    return p.emitError(at) << "expected a choice for " << what(s);
  const int i = s.names->find(word);
  if (i < 0) {
    std::string all;
    for (std::string_view n : s.names->names)
      all += " " + std::string(n);
    return p.emitError(at) << what(s) << " cannot be `" << printable(word) << "`. Choices:" << all;
  }
  v = SlotValue::of(static_cast<int32_t>(i));
  return success();
}

ParseResult InstructionParser::integer(const Slot &s, int64_t lo, int64_t hi, SlotValue &v) {
  int64_t n = 0;
  if (parseIntegerIn(p, what(s), lo, hi, n))
    return failure();
  v = SlotValue::of(static_cast<int32_t>(n));
  return success();
}

ParseResult InstructionParser::list(const Slot &s, SlotValue &v) {
  v.kind = SlotValue::Ints;
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t n = 0;
    const SMLoc at = p.getCurrentLocation();
    if (parseIntegerIn(p, what(s), INT_MIN, INT_MAX, n))
      return failure();
    if (v.list.size() == 4096)
      return p.emitError(at) << "a list has at most 4096 entries";
    v.list.push_back(static_cast<int32_t>(n));
    return success();
  });
}

ParseResult InstructionParser::reg(const Slot &s, SlotValue &v) {
  const SMLoc at = p.getCurrentLocation();
  if (!nextIs(p, '%'))
    return p.emitError(at) << what(s) << " takes a register" << (s.kind == SlotKind::RegOrInt ? " or a whole number" : "")
                           << ", such as %r";
  Value r;
  if (parseDefined(p, r))
    return failure();
  if (!isa<RegType>(r.getType()))
    return p.emitError(at) << what(s) << " takes a register, and this is a tensor";
  v = SlotValue::of(r);
  return success();
}

ParseResult InstructionParser::value(const Slot &s, SlotValue &v) {
  const SMLoc at = p.getCurrentLocation();
  switch (s.kind) {
  case SlotKind::Scalar:
  case SlotKind::OptScalar:
  case SlotKind::Float:
    if (s.kind == SlotKind::Float || !nextIs(p, '%')) {
      float f = 0;
      if (parseNumber(p, what(s), f))
        return failure();
      v = SlotValue::of(f);
      return success();
    }
    [[fallthrough]];
  case SlotKind::In:
  case SlotKind::Out:
  case SlotKind::InOut:
  case SlotKind::OptIn:
  case SlotKind::OptOut:
    if (!nextIs(p, '%'))
      return p.emitError(at) << what(s) << " takes a tensor, such as %t or %t[0:64]";
    v.kind = SlotValue::Tensor;
    return parseAccess(p, what(s), v.tensor);
  case SlotKind::Enum: return choice(s, v);
  case SlotKind::Flag:
    if (def.name == "nc_matmul" && s.name == def.accumulateFlag && succeeded(p.parseOptionalKeyword("auto"))) {
      v = SlotValue::of(kAccumulateAuto);
      return success();
    }
    return integer(s, 0, 1, v);
  case SlotKind::Small: return integer(s, 0, 255, v);
  case SlotKind::Int: return integer(s, INT_MIN, INT_MAX, v);
  case SlotKind::Queue:
  case SlotKind::Label: return integer(s, 0, INT_MAX, v);
  case SlotKind::RegOrInt:
    if (nextIsNumber(p))
      return integer(s, INT_MIN, INT_MAX, v);
    [[fallthrough]];
  case SlotKind::RegIn:
  case SlotKind::RegOut: return reg(s, v);
  case SlotKind::Ints: return list(s, v);
  case SlotKind::Text:
    v.kind = SlotValue::Text;
    if (p.parseOptionalString(&v.text))
      return p.emitError(at) << what(s) << " takes text in double quotes";
    return success();
  }
  return failure();
}

ParseResult InstructionParser::engineClause() {
  const SMLoc at = p.getCurrentLocation();
  StringRef word;
  if (p.parseOptionalKeyword(&word))
    return p.emitError(at) << "expected an engine after `on`";
  std::string able;
  for (int e = 0; e < kNumEngines; ++e) {
    const auto candidate = static_cast<Engine>(e);
    if (!def.runsOn(candidate))
      continue;
    able += " " + std::string(name(candidate));
    if (word == text(name(candidate)))
      engine = candidate;
  }
  if (!engine)
    return p.emitError(at) << text(def.name) << " does not run on `" << word << "`; it runs on:" << able;
  return success();
}

ParseResult InstructionParser::number(StringRef attribute) {
  int64_t n = 0;
  if (parseIntegerIn(p, ("`" + attribute + "`").str(), INT_MIN, INT_MAX, n))
    return failure();
  state.addAttribute(attribute, builder().getI32IntegerAttr(static_cast<int32_t>(n)));
  return success();
}

ParseResult InstructionParser::after() {
  SmallVector<int32_t> ids;
  if (p.parseCommaSeparatedList([&]() -> ParseResult {
        int64_t n = 0;
        if (parseIntegerIn(p, "the id of an instruction", INT_MIN, INT_MAX, n))
          return failure();
        ids.push_back(static_cast<int32_t>(n));
        return success();
      }))
    return failure();
  state.addAttribute("after", builder().getDenseI32ArrayAttr(ids));
  return success();
}

ParseResult InstructionParser::semaphore(int64_t &out) {
  const SMLoc at = p.getCurrentLocation();
  StringRef word;
  if (p.parseOptionalKeyword(&word) || !word.consume_front("s") || word.getAsInteger(10, out) || out < 0 || out > INT_MAX)
    return p.emitError(at) << "expected a semaphore: s0, s1 ...";
  return success();
}

ParseResult InstructionParser::waits() {
  SmallVector<int32_t> all;
  if (p.parseCommaSeparatedList([&]() -> ParseResult {
        int64_t s = 0, n = 0;
        if (semaphore(s) || p.parseGreater() || p.parseEqual() || parseIntegerIn(p, "the value", INT_MIN, INT_MAX, n))
          return failure();
        all.append({static_cast<int32_t>(s), static_cast<int32_t>(n), succeeded(p.parseOptionalKeyword("consume"))});
        return success();
      }))
    return failure();
  state.addAttribute("waits", builder().getDenseI32ArrayAttr(all));
  return success();
}

ParseResult InstructionParser::updates() {
  SmallVector<int32_t> all;
  if (p.parseCommaSeparatedList([&]() -> ParseResult {
        int64_t s = 0, n = 0;
        if (semaphore(s) || p.parsePlus() || p.parseEqual() || parseIntegerIn(p, "the value", INT_MIN, INT_MAX, n))
          return failure();
        all.append({static_cast<int32_t>(s), static_cast<int32_t>(n)});
        return success();
      }))
    return failure();
  state.addAttribute("updates", builder().getDenseI32ArrayAttr(all));
  return success();
}

// Each at most once, in any order.
ParseResult InstructionParser::clauses() {
  static constexpr StringRef kWords[] = {"on", "named", "chain", "id", "after", "when", "then"};
  SmallVector<StringRef> seen;
  for (;;) {
    const SMLoc at = p.getCurrentLocation();
    StringRef word;
    for (StringRef w : kWords)
      if (succeeded(p.parseOptionalKeyword(w))) {
        word = w;
        break;
      }
    if (word.empty())
      return success();
    if (llvm::is_contained(seen, word))
      return p.emitError(at) << "`" << word << "` is given twice";
    seen.push_back(word);
    ParseResult r = success();
    if (word == "on") {
      r = engineClause();
    } else if (word == "named") {
      std::string s;
      r = p.parseString(&s);
      state.addAttribute("name", builder().getStringAttr(s));
    } else {
      r = word == "after" ? after() : word == "when" ? waits() : word == "then" ? updates() : number(word);
    }
    if (r)
      return failure();
  }
}

ParseResult InstructionParser::run() {
  while (atSlot())
    if (slot())
      return failure();
  for (size_t i = 0; i < def.slots.size(); ++i)
    if (!given[i] && isRequired(def.slots[i]))
      return p.emitError(p.getNameLoc()) << what(def.slots[i]) << " is missing: " << text(def.slots[i].doc);
  if (clauses() || parseFurtherAttributes(p, state.attributes, kOwn))
    return failure();
  fillInstruction(builder(), state, def, values, engine);
  return success();
}

} // namespace

ParseResult parseInstruction(OpAsmParser &p, OperationState &state, const InstrDef &def) {
  return InstructionParser(p, state, def).run();
}

ParseResult parseFurtherAttributes(OpAsmParser &p, NamedAttrList &out, ArrayRef<StringRef> own) {
  NamedAttrList further;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseOptionalAttrDictWithKeyword(further))
    return failure();
  for (const NamedAttribute &a : further) {
    if (llvm::is_contained(own, a.getName().getValue()))
      return p.emitError(at) << "the attribute `" << a.getName().getValue() << "` has its own form in the text";
    out.append(a);
  }
  return success();
}

// ---- printing ---------------------------------------------------------------------------------------------------------------

static void printValue(OpAsmPrinter &p, Instr i, size_t slot) {
  const Slot &s = i.def().slots[slot];
  const SlotValue v = i.value(static_cast<int>(slot));
  switch (v.kind) {
  case SlotValue::Absent: break;
  case SlotValue::Tensor: printAccess(p, v.tensor); break;
  case SlotValue::Float: p << numberText(v.number); break;
  case SlotValue::Register: p << v.reg; break;
  case SlotValue::Text: p.printString(v.text); break;
  case SlotValue::Ints:
    p << "[";
    llvm::interleaveComma(v.list, p);
    p << "]";
    break;
  case SlotValue::Int:
    if (s.kind == SlotKind::Enum)
      p.printKeywordOrString(text(s.names->names[v.integer]));
    else if (s.kind == SlotKind::Flag && v.integer == kAccumulateAuto)
      p << "auto";
    else
      p << v.integer;
  }
}

static void printClauses(OpAsmPrinter &p, Instr i) {
  if (auto e = i.engine())
    p << " on " << text(name(*e));
  if (auto n = i->getAttrOfType<StringAttr>("name")) {
    p << " named ";
    p.printString(n.getValue());
  }
  for (StringRef key : {"chain", "id"})
    if (auto v = i.attribute(key))
      p << " " << key << " " << *v;
  auto list = [&](StringRef key, StringRef word, int64_t step, auto print) {
    auto a = i->getAttrOfType<DenseI32ArrayAttr>(key);
    for (int64_t k = 0; a && k < a.size(); k += step) {
      p << (k ? ", " : (" " + word + " ").str());
      print(a.asArrayRef().slice(static_cast<size_t>(k), static_cast<size_t>(step)));
    }
  };
  list("after", "after", 1, [&](ArrayRef<int32_t> x) { p << x[0]; });
  list("waits", "when", 3, [&](ArrayRef<int32_t> x) { p << "s" << x[0] << " >= " << x[1] << (x[2] ? " consume" : ""); });
  list("updates", "then", 2, [&](ArrayRef<int32_t> x) { p << "s" << x[0] << " += " << x[1]; });
}

// A broken op, or one with something the short form cannot say.
static bool needsGenericForm(Instr i) {
  if (failed(verifyInstruction(i, /*report=*/false)))
    return true;
  if (auto e = i.engine(); e && !i.def().runsOn(*e))
    return true;
  for (StringRef key : {"after", "waits", "updates"})
    if (auto a = i->getAttrOfType<DenseI32ArrayAttr>(key); a && a.empty())
      return true;
  return false;
}

void printInstruction(Instr i, OpAsmPrinter &p, StringRef defaultDialect) {
  if (needsGenericForm(i)) {
    p.printGenericOp(i.operation());
    return;
  }
  p << (defaultDialect == "nisa" ? StringRef() : StringRef("nisa.")) << i.mnemonic();
  Builder b(i->getContext());
  for (size_t k = 0; k < i.def().slots.size(); ++k) {
    const Slot &s = i.def().slots[k];
    if (!isRequired(s) && i.slot(static_cast<int>(k)) == absentSlot(b, s))
      continue;
    p << " " << text(s.name) << "=";
    printValue(p, i, k);
  }
  printClauses(p, i);
  p.printOptionalAttrDictWithKeyword(i->getAttrs(), kOwn);
}

} // namespace glia::nisa
