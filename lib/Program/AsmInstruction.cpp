#include "AsmInstruction.h"
#include "glia/ISA/Control.h"
#include "glia/Support/RefusedTypes.h"
#include "glia/Support/Text.h"

#include <climits>

namespace glia {

static std::vector<std::string_view> slotNames(const InstrDef &d) {
  std::vector<std::string_view> out;
  for (const Slot &s : d.slots)
    out.push_back(s.name);
  return out;
}

static std::string str(std::string_view s) { return std::string(s); }

// ---- labels and loops -------------------------------------------------------------------------------------

void AsmInstruction::pendingLabel(std::string name, SourcePlace place) {
  waiting.emplace_back(std::move(name), std::move(place));
}

void AsmInstruction::bindLabel(const AsmCursor &, int core, Engine e, const std::string &name, SourcePlace place) {
  if (!streams[{core, e}].labels.emplace(name, b.nextIndex(core, e)).second)
    throw Error("ASM-NAME", "there is already a label `" + printable(name) + "` in this stream", "Give it another name.",
                std::move(place));
}

void AsmInstruction::finish(std::vector<Diagnostic> &errors) {
  auto report = [&errors](const char *code, std::string message, std::string advice, const SourcePlace &place) {
    errors.push_back({code, std::move(message), place, {}, {}, {}, std::move(advice), {}, Severity::Error});
  };
  for (auto &[label, place] : waiting)
    report("ASM-SYNTAX", "no instruction follows label `" + printable(label) + "`",
           "To place a label at the end of a stream write its engine in front: `vector " + printable(label) + ":`.", place);
  for (const Use &u : uses) {
    const StreamState &s = streams[{u.core, u.engine}];
    auto it = s.labels.find(u.label);
    if (it != s.labels.end()) {
      b.patchLabel(u.core, u.engine, u.index, it->second);
      continue;
    }
    std::vector<std::string_view> known;
    for (auto &entry : s.labels)
      known.push_back(entry.first);
    report("ASM-NAME", "there is no label `" + printable(u.label) + "` in the stream of this engine",
           didYouMean(u.label, known, "A label belongs to the engine of the instruction that follows it."), u.place);
  }
  for (auto &[key, s] : streams)
    for (const auto &loop : s.loops)
      if (!loop.explicitEnd)
        report("ASM-SYNTAX", "this loop has no end_loop on its engine", "Add `" + str(name(key.second)) + " end_loop`.",
               loop.place);
}

// ---- operands ----------------------------------------------------------------------------------------------

int AsmInstruction::parseRegister(AsmCursor &c) {
  const size_t at = c.place();
  const std::string w = str(c.word());
  const int most = b.program().target ? b.program().target->registers : 64;
  int n = -1;
  if (w.size() >= 2 && w.size() <= 3 && w[0] == 'r' && w.find_first_not_of("0123456789", 1) == std::string::npos)
    n = std::stoi(w.substr(1));
  if (n < 0)
    c.fail("ASM-OPERAND", "expected a register, found `" + printable(w) + "`", "Registers are written r0, r1 ...", at);
  if (n >= most)
    c.fail("ASM-OPERAND", format("there is no register r%d", n), format("The target has r0 to r%d.", most - 1), at);
  return n;
}

int AsmInstruction::parseChoice(AsmCursor &c, const InstrDef &def, const Slot &slot) {
  const size_t at = c.place();
  const std::string w = c.peek() == '"' ? c.textLiteral("a choice") : c.name("a choice");
  const int v = slot.names->find(w);
  if (v >= 0)
    return v;
  std::string all;
  for (std::string_view n : slot.names->names)
    all += (all.empty() ? "" : " ") + str(n);
  std::vector<std::string_view> known(slot.names->names.begin(), slot.names->names.end());
  const std::string guess = didYouMean(w, known);
  c.fail("ASM-OPERAND",
         format("`%s` of %s cannot be `%s`", str(slot.name).c_str(), str(def.name).c_str(), printable(w).c_str()),
         (guess.empty() ? "" : guess + " ") + "Choices: " + all + ".", at);
}

// {32+64 | 128 | 2x256, 1x128}; in HBM nothing stands before the first bar.
View AsmInstruction::parseBraces(AsmCursor &c, bool onChip) {
  View v;
  if (onChip) {
    const size_t at = c.place();
    const int64_t first = c.decimal("the first partition");
    c.expect('+', "between the first partition and their number");
    const int64_t lanes = c.decimal("the number of partitions");
    if (first < INT_MIN || first > INT_MAX || lanes < 1 || lanes > 128)
      c.fail("ASM-OPERAND",
             format("%lld+%lld is no range of partitions; at most 128 fit an operand", (long long)first, (long long)lanes),
             "", at);
    v.partition = static_cast<int32_t>(first);
    v.pattern.partitions = static_cast<uint16_t>(lanes);
  }
  c.expect('|', onChip ? "after the partitions" : "before the byte offset (tensors in HBM have no partitions)");
  const size_t at = c.place();
  v.byteOffset = c.decimal("the byte offset");
  if (onChip ? v.byteOffset < INT_MIN || v.byteOffset > INT_MAX : v.byteOffset < 0)
    c.fail("ASM-OPERAND", format("byte offset %lld is outside any memory", (long long)v.byteOffset), "", at);
  c.expect('|', "after the byte offset");
  const int most = onChip ? 4 : kMaxDims;
  int64_t total = 1;
  do {
    const size_t dimAt = c.place();
    const int64_t stride = c.decimal("a stride");
    c.expect('x', "between a stride and its count");
    const int64_t count = c.decimal("a count");
    if (v.pattern.rank == most)
      c.fail("ASM-OPERAND", format("at most %d dimensions fit this operand", most), "", dimAt);
    if (stride < INT_MIN || stride > INT_MAX || count < 1 || count > UINT32_MAX ||
        __builtin_mul_overflow(total, count, &total) || total > (int64_t{1} << 40))
      c.fail("ASM-OPERAND", format("%lldx%lld is no dimension that fits an operand", (long long)stride, (long long)count),
             "A stride has 32 bits, counts are at least 1, and an operand has at most 2^40 elements.", dimAt);
    v.pattern.dims[v.pattern.rank++] = {static_cast<int32_t>(stride), static_cast<uint32_t>(count)};
  } while (c.eat(','));
  c.expect('}', "after the dimensions");
  return v;
}

static std::vector<Slice> parseSlices(AsmCursor &c, const std::vector<int64_t> &shape) {
  std::vector<Slice> out;
  do {
    const size_t at = c.place();
    if (out.size() == shape.size())
      c.fail("ASM-OPERAND", format("more slices than the %zu dimensions of the object", shape.size()), "", at);
    Slice s{0, shape[out.size()], 1};
    const bool hasStart = c.peek() != ':';
    if (hasStart)
      s.start = c.integer("the start of a slice");
    if (c.eat(':')) {
      if (c.peek() != ':' && c.peek() != ',' && c.peek() != ']')
        s.stop = c.integer("the end of a slice");
      if (c.eat(':'))
        s.step = c.integer("the step of a slice");
    } else {
      s.stop = s.start == INT64_MAX ? s.start : s.start + 1;
    }
    out.push_back(s);
  } while (c.eat(','));
  c.expect(']', "after the slices");
  return out;
}

Access AsmInstruction::parseAccess(AsmCursor &c, int core) {
  const size_t at = c.place();
  const std::string objectName = c.name("a tensor or allocation");
  const ObjectRef object = names.object(core, objectName, c, at);
  const bool chip = object.kind == ObjectKind::Allocation;
  const Program &p = b.program();
  const std::vector<int64_t> &shape = chip ? p.allocations[object.index].shape : p.tensors[object.index].shape;
  const DType own = chip ? p.allocations[object.index].dtype : p.tensors[object.index].dtype;
  DType t = own;
  if (c.eat(':')) {
    const size_t typeAt = c.place();
    const std::string w = str(c.word());
    auto parsed = parseDType(w);
    if (const std::string_view why = refusedDType(w); !why.empty())
      c.fail("ISA-REFUSED", "the type `" + w + "` is not implemented: " + str(why), "", typeAt);
    if (!parsed)
      c.fail("ASM-OPERAND", "`" + printable(w) + "` is no element type", "", typeAt);
    t = *parsed;
  }
  View v;
  if (c.eat('{')) {
    v = parseBraces(c, chip);
  } else {
    if (sizeOf(t) != sizeOf(own))
      c.fail("ASM-OPERAND",
             format("`%s` has elements of %d bytes and %s has %d", printable(objectName).c_str(), sizeOf(own),
                    str(name(t)).c_str(), sizeOf(t)),
             "Between types of different size write the pattern explicitly: t:bf16{0+128 | 0 | 1x512}.", at);
    std::vector<Slice> slices;
    if (c.eat('['))
      slices = parseSlices(c, shape);
    try {
      v = makeView(objectName, shape, own, chip, std::move(slices));
    } catch (const Error &e) {
      c.fail("ASM-OPERAND", e.diagnostics()[0].message, e.diagnostics()[0].advice, at);
    }
  }
  v.pattern.dtype = t;
  while (c.eat('+')) {
    const size_t termAt = c.place();
    if (v.pattern.numDynamic == kMaxDynamicTerms)
      c.fail("ASM-OPERAND", format("an operand takes at most %d registers", kMaxDynamicTerms), "", termAt);
    DynamicTerm term;
    term.reg = static_cast<uint8_t>(parseRegister(c));
    c.expect('*', "between a register and its scale");
    term.scale = c.decimal("the scale of a register");
    term.partition = c.eat(std::string_view("p")); // not the next operand's name
    if (term.partition && !chip)
      c.fail("ASM-OPERAND", "a tensor in HBM has no partitions", "Scale the register in bytes, without `p`.", termAt);
    v.pattern.dynamic[v.pattern.numDynamic++] = term;
  }
  return b.view(object, v.pattern, v.byteOffset, v.partition);
}

Value AsmInstruction::parseValue(AsmCursor &c, int core, Engine e, const InstrDef &def, const Slot &slot,
                                 std::vector<uint32_t> &list) {
  const std::string what = "`" + str(slot.name) + "`";
  Value v;
  auto integer = [&](int64_t lo, int64_t hi) {
    v.kind = Value::Int;
    v.integer = static_cast<int32_t>(c.integerIn(what.c_str(), lo, hi));
  };
  switch (slot.kind) {
  case SlotKind::Scalar:
  case SlotKind::OptScalar:
  case SlotKind::Float:
    if (slot.kind == SlotKind::Float || c.peekNumber()) {
      v.kind = Value::Float;
      v.number = c.number("a number");
      break;
    }
    [[fallthrough]];
  case SlotKind::In:
  case SlotKind::Out:
  case SlotKind::InOut:
  case SlotKind::OptIn:
  case SlotKind::OptOut:
    v.kind = Value::Tensor;
    v.access = parseAccess(c, core);
    break;
  case SlotKind::Enum:
    v.kind = Value::Int;
    v.integer = parseChoice(c, def, slot);
    break;
  case SlotKind::Flag: integer(0, 1); break;
  case SlotKind::Small: integer(0, 255); break;
  case SlotKind::Int: integer(INT_MIN, INT_MAX); break;
  case SlotKind::RegOrInt:
    if (c.peekNumber()) {
      integer(INT_MIN, INT_MAX);
      break;
    }
    [[fallthrough]];
  case SlotKind::RegOut:
  case SlotKind::RegIn:
    v.kind = Value::Register;
    v.integer = parseRegister(c);
    break;
  case SlotKind::Ints:
    v.kind = Value::Ints;
    c.expect('[', "before a list");
    if (!c.eat(']')) {
      do {
        list.push_back(static_cast<uint32_t>(c.integerIn("an entry of the list", INT_MIN, INT_MAX)));
        if (list.size() > 4096)
          c.fail("ASM-OPERAND", "a list has at most 4096 entries");
      } while (c.eat(','));
      c.expect(']', "after a list");
    }
    v.list = list;
    break;
  case SlotKind::Text:
    v.kind = Value::Text;
    v.integer = static_cast<int32_t>(b.internString(c.textLiteral("text")));
    break;
  case SlotKind::Label: {
    const size_t at = c.place();
    v.kind = Value::Int;
    usesOfLine.push_back({core, e, b.nextIndex(core, e), c.name("a label"), c.sourcePlace(at)});
    break;
  }
  case SlotKind::Queue: {
    const size_t at = c.place();
    v.kind = Value::Int;
    v.integer = static_cast<int32_t>(AsmNames::find(names.queues, core, c.name("a queue"), "queue", c, at));
    break;
  }
  }
  return v;
}

// ---- the line -----------------------------------------------------------------------------------------------

void AsmInstruction::parseWaits(AsmCursor &c, int core, Emit &e) {
  int n = 0;
  do {
    const size_t at = c.place();
    if (++n > 255)
      c.fail("ASM-OPERAND", "an instruction takes at most 255 waits", "", at);
    const uint32_t s = AsmNames::find(names.semaphores, core, c.name("a semaphore"), "semaphore", c, at);
    if (!c.eat(">="))
      c.fail("ASM-SYNTAX", "expected `>=` after the semaphore, found " + c.rest(),
             "A wait is written `when S >= 2` or `when S >= 2 consume`.");
    const int32_t v = static_cast<int32_t>(c.integerIn("the value waited for", 0, INT_MAX));
    e.when(static_cast<int>(s), v, c.eat("consume"));
  } while (c.eat("and"));
}

void AsmInstruction::parseUpdates(AsmCursor &c, int core, Emit &e) {
  int n = 0;
  do {
    const size_t at = c.place();
    if (++n > 255)
      c.fail("ASM-OPERAND", "an instruction takes at most 255 updates", "", at);
    const uint32_t s = AsmNames::find(names.semaphores, core, c.name("a semaphore"), "semaphore", c, at);
    SyncOp op;
    op.semaphore = static_cast<uint16_t>(s);
    if (c.eat("+="))
      op.kind = SyncKind::Add;
    else if (c.eat("-="))
      op.kind = SyncKind::Sub;
    else if (c.eat("="))
      op.kind = SyncKind::Write;
    else
      c.fail("ASM-SYNTAX", "expected `+=`, `-=` or `=` after the semaphore, found " + c.rest(),
             "An update is written `then S += 1`.");
    op.value = static_cast<int32_t>(c.integerIn("the value of an update", 0, INT_MAX));
    e.sync(op);
  } while (c.eat("and"));
}

void AsmInstruction::parse(AsmCursor &c, int core, Engine e) {
  const size_t at = c.place();
  const std::string mnemonic = c.name("an instruction");
  if (c.eat(':')) {
    bindLabel(c, core, e, mnemonic, c.sourcePlace(at));
    return c.expectEnd();
  }
  const InstrDef *def = findInstruction(mnemonic);
  if (!def) {
    const std::string_view why = refusedInstruction(mnemonic);
    if (!why.empty())
      c.fail("ISA-REFUSED", "`" + mnemonic + "` is not implemented: " + str(why), "", at);
    std::vector<std::string_view> known;
    for (const InstrDef *d : allInstructions())
      known.push_back(d->name);
    c.fail("ISA-UNKNOWN", "there is no instruction `" + printable(mnemonic) + "`",
           didYouMean(mnemonic, known, "`glia isa` lists the instructions."), at);
  }

  for (auto &[label, place] : std::exchange(waiting, {}))
    bindLabel(c, core, e, label, place);
  const uint32_t index = b.nextIndex(core, e);
  usesOfLine.clear();
  Emit emit = b.emit(core, e, mnemonic);
  std::vector<bool> given(def->slots.size());
  while (!c.atEnd()) {
    const size_t slotAt = c.place();
    const std::string slotName = c.name("an operand, `when` or `then`");
    if (!c.eat('=')) {
      c.moveTo(slotAt);
      break;
    }
    const int i = def->slot(slotName);
    if (i < 0)
      c.fail("ASM-OPERAND", "`" + mnemonic + "` has no operand `" + printable(slotName) + "`",
             didYouMean(slotName, slotNames(*def), "`glia isa " + mnemonic + "` lists its operands."), slotAt);
    if (given[i])
      c.fail("ASM-OPERAND", "operand `" + slotName + "` is given twice", "", slotAt);
    given[i] = true;
    std::vector<uint32_t> list;
    emit.value(i, parseValue(c, core, e, *def, def->slots[i], list));
  }
  if (c.eat("when"))
    parseWaits(c, core, emit);
  if (c.eat("then"))
    parseUpdates(c, core, emit);
  if (!c.atEnd())
    c.fail("ASM-SYNTAX", "unexpected " + c.rest(),
           "An instruction is written: engine name operand=value ... when S >= n then S += n.");

  StreamState &stream = streams[{core, e}];
  const bool loop = beginsLoop(*def), endLoop = endsLoop(*def);
  const int label = loop ? def->slot("end") : endLoop ? def->slot("begin") : -1;
  const bool labelGiven = label >= 0 && given[label];
  if (endLoop && stream.loops.empty() && !labelGiven)
    c.fail("ASM-SYNTAX", "this end_loop has no loop or while on its engine", "Each engine has its own loop and end_loop.",
           at);
  if (label >= 0 && !labelGiven) {
    Value later; // of a loop: patched when its end is known
    later.kind = Value::Int;
    later.integer = endLoop ? static_cast<int32_t>(stream.loops.back().index) : 0;
    emit.value(label, later);
  }
  emit.done(); // throws if an operand is missing: then there is no loop either
  if (loop)
    stream.loops.push_back({index, labelGiven, c.sourcePlace(at)});
  if (endLoop && !stream.loops.empty()) {
    const auto begun = stream.loops.back();
    stream.loops.pop_back();
    if (!begun.explicitEnd)
      b.patchLabel(core, e, begun.index, index);
  }
  uses.insert(uses.end(), usesOfLine.begin(), usesOfLine.end());
}

} // namespace glia
