// The assembler: one line after the other, declarations here, instructions in AsmInstruction.cpp. An error ends its line only.
#include "glia/Program/Assembler.h"
#include "AsmConstant.h"
#include "AsmInstruction.h"
#include "glia/Support/RefusedTypes.h"
#include "glia/Support/Text.h"

#include <algorithm>
#include <climits>

namespace glia {

namespace {

constexpr size_t kMostErrors = 50;
constexpr int kMostCores = 64;

class Assembler {
public:
  Assembler(std::string_view file, std::shared_ptr<const Target> target)
      : file(file), targetGiven(target != nullptr), b(std::move(target)), instructions(b, names) {}

  Program run(std::string_view text);

private:
  std::string file;
  bool targetGiven, targetSeen = false, coresSeen = false, ownPlace = true;
  Builder b;
  AsmNames names;
  AsmInstruction instructions;
  std::string locKernel, locOperation, locFile;
  std::vector<Diagnostic> errors;

  Program &p() { return b.program(); }
  void line(AsmCursor &c);
  void instruction(AsmCursor &c, const std::string &first, size_t at);
  void directive(AsmCursor &c);
  void location(AsmCursor &c);
  void target(AsmCursor &c);
  void cores(AsmCursor &c);
  void tensor(AsmCursor &c, TensorKind kind);
  void allocation(AsmCursor &c, Space space);
  void semaphore(AsmCursor &c);
  void queue(AsmCursor &c);
  void symbol(AsmCursor &c);
  void relocation(AsmCursor &c);
  void input(AsmCursor &c) { tensor(c, TensorKind::Input); }
  void output(AsmCursor &c) { tensor(c, TensorKind::Output); }
  void constant(AsmCursor &c) { tensor(c, TensorKind::Constant); }
  void scratch(AsmCursor &c) { tensor(c, TensorKind::Scratch); }
  void sbuf(AsmCursor &c) { allocation(c, Space::Sbuf); }
  void psum(AsmCursor &c) { allocation(c, Space::Psum); }

  int core(AsmCursor &c) { return static_cast<int>(c.integerIn("the core", 0, p().cores - 1)); }
  void typeAndShape(AsmCursor &c, DType &t, std::vector<int64_t> &shape, const std::string &object, bool onChip);
  ObjectRef objectWithCore(AsmCursor &c);

  struct Keyword {
    std::string_view word;
    void (Assembler::*parse)(AsmCursor &);
  };
  static constexpr Keyword kKeywords[] = {
      {"target", &Assembler::target}, {"cores", &Assembler::cores},    {"input", &Assembler::input},
      {"output", &Assembler::output}, {"const", &Assembler::constant}, {"scratch", &Assembler::scratch},
      {"sbuf", &Assembler::sbuf},     {"psum", &Assembler::psum},      {"semaphore", &Assembler::semaphore},
      {"queue", &Assembler::queue},
  };
};

// ---- declarations -----------------------------------------------------------------------------------------------

void Assembler::target(AsmCursor &c) {
  const size_t at = c.place();
  const std::string name = c.peek() == '"' ? c.textLiteral("a target file") : c.name("a target");
  c.expectEnd();
  if (targetSeen)
    c.fail("ASM-SYNTAX", "the target is named twice", "", at);
  targetSeen = true;
  if (targetGiven)
    return; // the caller's choice wins
  try {
    p().target = loadTarget(name);
  } catch (const Error &e) {
    for (Diagnostic d : e.diagnostics()) {
      if (d.place.file.empty())
        d.place = c.sourcePlace(at);
      errors.push_back(std::move(d));
    }
  }
}

void Assembler::cores(AsmCursor &c) {
  const size_t at = c.place();
  const int64_t n = c.integerIn("the number of cores", 1, kMostCores);
  c.expectEnd();
  if (coresSeen || !p().allocations.empty() || !p().semaphores.empty() || !p().queues.empty() || p().instructionCount())
    c.fail("ASM-SYNTAX", "`cores` stands once, before everything that belongs to a core", "", at);
  coresSeen = true;
  p().cores = static_cast<uint32_t>(n);
  p().streams.resize(n);
}

void Assembler::typeAndShape(AsmCursor &c, DType &t, std::vector<int64_t> &shape, const std::string &object, bool onChip) {
  c.expect(':', "between the name and the type");
  const size_t at = c.place();
  const std::string type(c.word());
  const auto parsed = parseDType(type);
  if (const std::string_view why = refusedDType(type); !why.empty())
    c.fail("ISA-REFUSED", "the type `" + type + "` is not implemented: " + std::string(why), "", at);
  if (!parsed) {
    std::vector<std::string_view> known;
    std::string all;
    for (int i = 0; i < kNumDTypes; ++i) {
      known.push_back(name(static_cast<DType>(i)));
      all += " " + std::string(known.back());
    }
    c.fail("ASM-OPERAND", "`" + printable(type) + "` is no element type", didYouMean(type, known, "Types:" + all + "."), at);
  }
  t = *parsed;
  c.expect('[', "before the shape");
  do
    shape.push_back(c.integer("a dimension"));
  while (c.eat(',') && shape.size() <= 8);
  c.expect(']', "after the shape");
  if (const std::string problem = shapeProblem(shape, t, onChip); !problem.empty())
    c.fail("ASM-OPERAND", "`" + printable(object) + "` " + problem, "", at);
}

void Assembler::tensor(AsmCursor &c, TensorKind kind) {
  const size_t at = c.place();
  Tensor t;
  t.kind = kind;
  t.name = c.name("the name of a tensor");
  typeAndShape(c, t.dtype, t.shape, t.name, false);
  if (kind == TensorKind::Constant) {
    c.expect('=', "before the values of a constant");
    t.data = parseConstant(c, t.dtype, t.elements());
  }
  while (!c.atEnd()) {
    const size_t optionAt = c.place();
    if (kind == TensorKind::Scratch && c.eat("private")) {
      t.shared = false;
    } else if (kind == TensorKind::Scratch && c.eat("shared")) {
      t.shared = true;
    } else if (kind == TensorKind::Input && c.eat("unique")) {
      t.uniqueRows = true;
    } else if (kind == TensorKind::Input && c.eat("range")) {
      t.hasRange = true;
      t.rangeLo = c.integer("the lower end of the range");
      t.rangeHi = c.integer("the upper end of the range");
      if (isFloat(t.dtype) || t.rangeLo > t.rangeHi)
        c.fail("ASM-OPERAND", "a range is `range low high`, of an integer type", "", optionAt);
    } else if (kind == TensorKind::Output && c.eat("from")) {
      t.from = c.name("the name of an input");
      names.declareInput(t.from, c, optionAt);
    } else {
      c.fail("ASM-SYNTAX", "unexpected " + c.rest(),
             "Options: `range 0 127` and `unique` for inputs, `from x` for outputs, `private` for scratch.");
    }
  }
  names.declareObject(names.tensors, AsmNames::kEveryCore, t.name, static_cast<uint32_t>(p().tensors.size()), c, at);
  b.tensor(std::move(t));
}

void Assembler::allocation(AsmCursor &c, Space space) {
  const size_t at = c.place();
  Allocation a;
  a.space = space;
  a.name = c.name("the name of an allocation");
  typeAndShape(c, a.dtype, a.shape, a.name, true);
  c.expect('@', "before the address: `@ byte` or `@ partition:byte`");
  const size_t addressAt = c.place();
  a.byteOffset = c.integer("the address");
  if (c.eat(':')) {
    if (a.byteOffset < INT_MIN || a.byteOffset > INT_MAX)
      c.fail("ASM-OPERAND", "there is no such partition", "", addressAt);
    a.partition = static_cast<int32_t>(a.byteOffset);
    a.byteOffset = c.integer("the byte address");
  }
  while (!c.atEnd()) {
    if (c.eat("core")) {
      a.core = static_cast<uint8_t>(core(c));
    } else if (c.eat("live")) {
      const int64_t from = c.decimal("the first tick"), most = UINT32_MAX;
      if (!c.eat(".."))
        c.fail("ASM-SYNTAX", "expected `..` between the ticks, found " + c.rest());
      const int64_t to = c.peekNumber() ? c.decimal("the last tick") : most;
      if (from < 0 || from > most || to < from || to > most)
        c.fail("ASM-OPERAND", "a lifetime is `live from..to`, with from <= to", "", addressAt);
      a.liveFrom = static_cast<uint32_t>(from);
      a.liveTo = static_cast<uint32_t>(to);
    } else {
      c.fail("ASM-SYNTAX", "unexpected " + c.rest(), "Options: `core 1`, `live 2..5`.");
    }
  }
  names.declareObject(names.allocations, a.core, a.name, static_cast<uint32_t>(p().allocations.size()), c, at);
  b.allocation(std::move(a));
}

void Assembler::semaphore(AsmCursor &c) {
  const size_t at = c.place();
  Semaphore s;
  s.name = c.name("the name of a semaphore");
  while (!c.atEnd()) {
    if (c.eat('='))
      s.initial = static_cast<int32_t>(c.integerIn("the initial value", 0, INT_MAX));
    else if (c.eat("core"))
      s.core = static_cast<uint8_t>(core(c));
    else
      c.fail("ASM-SYNTAX", "unexpected " + c.rest(), "Options: `= 2` for the initial value, `core 1`.");
  }
  if (p().semaphores.size() > UINT16_MAX)
    c.fail("ASM-OPERAND", "a program has at most 65536 semaphores", "", at);
  AsmNames::declare(names.semaphores, s.core, s.name, static_cast<uint32_t>(p().semaphores.size()), "semaphore", c, at);
  p().semaphores.push_back(std::move(s));
}

void Assembler::queue(AsmCursor &c) {
  const size_t at = c.place();
  Queue q;
  q.name = c.name("the name of a queue");
  if (c.eat("core"))
    q.core = static_cast<uint8_t>(core(c));
  c.expectEnd();
  AsmNames::declare(names.queues, q.core, q.name, static_cast<uint32_t>(p().queues.size()), "queue", c, at);
  p().queues.push_back(std::move(q));
}

// ---- directives ---------------------------------------------------------------------------------------------------

// .loc "kernel" "operation" "file" line    .loc line (the rest as before)    .loc (this text itself)
void Assembler::location(AsmCursor &c) {
  ownPlace = c.atEnd();
  if (ownPlace)
    return;
  if (c.peek() == '"') {
    locKernel = c.textLiteral("the kernel");
    locOperation = c.textLiteral("the operation");
    locFile = c.textLiteral("the file");
  }
  const uint32_t line = static_cast<uint32_t>(c.integerIn("the line", 0, UINT32_MAX));
  c.expectEnd();
  b.origin(locKernel, locOperation, locFile, line);
}

ObjectRef Assembler::objectWithCore(AsmCursor &c) {
  const size_t at = c.place();
  const std::string object = c.name("a tensor or allocation");
  const int k = c.eat("core") ? core(c) : 0;
  return names.object(k, object, c, at);
}

// .symbol NAME = OBJECT [core N] [undefined]
void Assembler::symbol(AsmCursor &c) {
  const size_t at = c.place();
  Symbol s;
  s.name = c.name("the name of a symbol");
  c.expect('=', "after the name of a symbol");
  s.object = objectWithCore(c);
  s.defined = !c.eat("undefined");
  c.expectEnd();
  AsmNames::declare(names.symbols, 0, s.name, static_cast<uint32_t>(p().symbols.size()), "symbol", c, at);
  p().symbols.push_back(std::move(s));
}

// .relocation SYMBOL OBJECT [core N]
void Assembler::relocation(AsmCursor &c) {
  Relocation r;
  const size_t at = c.place();
  r.symbol = AsmNames::find(names.symbols, 0, c.name("a symbol"), "symbol", c, at);
  r.object = objectWithCore(c);
  c.expectEnd();
  p().relocations.push_back(r);
}

void Assembler::directive(AsmCursor &c) {
  if (c.eat("loc"))
    return location(c);
  if (c.eat("symbol"))
    return symbol(c);
  if (c.eat("relocation"))
    return relocation(c);
  if (c.eat("contract")) {
    std::string key = c.textLiteral("the key"), value = c.textLiteral("the value");
    c.expectEnd();
    p().contract.push_back({std::move(key), std::move(value)});
    return;
  }
  c.fail("ASM-SYNTAX", "unknown directive ." + c.rest(), "Directives: .loc .symbol .relocation .contract");
}

// ---- lines -----------------------------------------------------------------------------------------------------------

void Assembler::instruction(AsmCursor &c, const std::string &first, size_t at) {
  std::string word = first;
  int k = 0;
  if (word.size() > 4 && word.size() < 8 && word.starts_with("core") &&
      word.find_first_not_of("0123456789", 4) == std::string::npos) {
    k = std::stoi(word.substr(4));
    if (k >= static_cast<int>(p().cores))
      c.fail("ASM-NAME", format("there is no core %d in a program with %u", k, p().cores),
             format("Write `cores %d` at the top.", k + 1), at);
    at = c.place();
    word = c.name("an engine");
  }
  std::vector<std::string_view> known;
  for (int e = 0; e < kNumEngines; ++e) {
    const Engine engine = static_cast<Engine>(e);
    if (word == name(engine)) {
      if (ownPlace)
        b.origin("", "", file, c.line());
      return instructions.parse(c, k, engine);
    }
    known.push_back(name(engine));
  }
  for (const Keyword &keyword : kKeywords)
    known.push_back(keyword.word);
  c.fail(
      "ASM-SYNTAX", "a line cannot start with `" + printable(word) + "`",
      didYouMean(
          word, known,
          "A line is a declaration (input, sbuf, semaphore ...), a label, or an instruction that starts with its engine."),
      at);
}

void Assembler::line(AsmCursor &c) {
  if (c.atEnd())
    return;
  const size_t at = c.place();
  if (c.eat('.'))
    return directive(c);
  const std::string first = c.name("a declaration, a label or an engine");
  if (c.eat(':')) {
    c.expectEnd();
    return instructions.pendingLabel(first, c.sourcePlace(at));
  }
  for (const Keyword &k : kKeywords)
    if (k.word == first)
      return (this->*k.parse)(c);
  instruction(c, first, at);
}

Program Assembler::run(std::string_view text) {
  uint32_t number = 0;
  while (!text.empty() && errors.size() < kMostErrors) {
    const size_t end = std::min(text.find('\n'), text.size());
    AsmCursor c(file, ++number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    try {
      line(c);
    } catch (const Error &e) {
      for (Diagnostic d : e.diagnostics()) {
        if (d.place.file.empty())
          d.place = c.sourcePlace(c.place());
        if (d.code.starts_with("BUILD-"))
          d.code = "ASM-OPERAND";
        errors.push_back(std::move(d));
      }
    }
  }
  if (errors.empty() || text.empty())
    instructions.finish(errors);
  if (!p().target && !targetSeen)
    errors.push_back({"ASM-TARGET",
                      "the text does not say which target it is for",
                      {file, 0, 0},
                      {},
                      {},
                      {},
                      "Start it with `target trn2`, or give --target.",
                      {},
                      Severity::Error});
  std::sort(errors.begin(), errors.end(), [](auto &x, auto &y) {
    return std::pair(x.place.line, x.place.column) < std::pair(y.place.line, y.place.column);
  });
  if (errors.size() > kMostErrors)
    errors.resize(kMostErrors);
  if (!errors.empty())
    throw Error(std::move(errors));
  return b.finish();
}

} // namespace

Program assemble(std::string_view text, std::string_view fileName, std::shared_ptr<const Target> target) {
  return Assembler(fileName, std::move(target)).run(text);
}

} // namespace glia
