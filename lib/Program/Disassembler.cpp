// Programs as text that assembles to the same program. What the assembler fills in by itself (defaults, the two ends of a
// loop, the whole of a tensor) is left out.
#include "AsmConstant.h"
#include "glia/ISA/Control.h"
#include "AsmCursor.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Decode.h"
#include "glia/Program/View.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

namespace glia {

namespace {

std::string str(std::string_view s) { return std::string(s); }
std::string plain(std::string_view s) { return isPlainName(s) ? str(s) : quoted(s, '`'); }

// The shortest text that reads back as the same bits.
std::string number(float v) {
  if (std::isnan(v)) {
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    return bits == 0x7FC00000u ? "nan" : format("nan(0x%08x)", bits);
  }
  if (std::isinf(v))
    return v < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string out(buffer, error == std::errc() ? end : buffer);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string shape(const std::vector<int64_t> &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + "]";
}

class Printer {
public:
  explicit Printer(const Program &p) : p(p), wholeTensors(p.tensors.size()), wholeAllocations(p.allocations.size()) {}

  std::string program();
  std::string instruction(const Decoded &d, const std::map<uint32_t, std::string> *labels);

private:
  struct Whole {
    bool known = false, exists = false;
    View view;
  };
  const Program &p;
  std::vector<Whole> wholeTensors, wholeAllocations; // the view that a bare name stands for
  std::vector<int64_t> filled;
  Decoded d;

  void header(std::string &out) const;
  void objects(std::string &out) const;
  void stream(std::string &out, int core, Engine e, uint32_t &origin, bool &first);
  void findLoopEnds(int core, Engine e);
  std::string access(const Access &a);
  std::string value(const Decoded &in, size_t slot, const std::map<uint32_t, std::string> *labels);
  bool isDefault(const Decoded &in, size_t slot) const;
  const Whole &whole(ObjectRef o);
  std::string withCore(ObjectRef o) const;
};

// ---- operands --------------------------------------------------------------------------------------------------

const Printer::Whole &Printer::whole(ObjectRef o) {
  const bool chip = o.kind == ObjectKind::Allocation;
  Whole &w = (chip ? wholeAllocations : wholeTensors)[o.index];
  if (!w.known) {
    w.known = true;
    try {
      w.view = chip ? makeView("", p.allocations[o.index].shape, p.allocations[o.index].dtype, true, {})
                    : makeView("", p.tensors[o.index].shape, p.tensors[o.index].dtype, false, {});
      w.exists = true;
    } catch (const Error &) {
      w.exists = false; // too many dimensions for one operand: no bare name then
    }
  }
  return w;
}

bool sameStatic(const Pattern &a, const Pattern &b) {
  bool same = a.dtype == b.dtype && a.rank == b.rank && a.partitions == b.partitions;
  for (int i = 0; same && i < a.rank; ++i)
    same = a.dims[i] == b.dims[i];
  return same;
}

std::string Printer::access(const Access &a) {
  const Pattern &x = p.patterns[a.pattern];
  const bool chip = a.object.kind == ObjectKind::Allocation;
  const DType own = chip ? p.allocations[a.object.index].dtype : p.tensors[a.object.index].dtype;
  std::string out = plain(p.objectName(a.object));
  const Whole &w = whole(a.object);
  if (!w.exists || !sameStatic(w.view.pattern, x) || a.byteOffset != w.view.byteOffset || a.partition != w.view.partition) {
    if (x.dtype != own)
      out += ":" + str(name(x.dtype));
    out += "{" + (chip ? std::to_string(a.partition) + "+" + std::to_string(x.partitions) : "") + " | " +
           std::to_string(a.byteOffset) + " | ";
    for (int i = 0; i < x.rank; ++i)
      out += (i ? ", " : "") + std::to_string(x.dims[i].stride) + "x" + std::to_string(x.dims[i].count);
    out += "}";
  }
  for (int i = 0; i < x.numDynamic; ++i)
    out += " + r" + std::to_string(x.dynamic[i].reg) + "*" + std::to_string(x.dynamic[i].scale) +
           (x.dynamic[i].partition ? "p" : "");
  return out;
}

bool Printer::isDefault(const Decoded &in, size_t i) const {
  const Slot &s = in.def->slots[i];
  const Value &v = in.values[i];
  if (v.kind == Value::Absent)
    return true;
  if (!s.hasDefault)
    return false;
  if (s.kind == SlotKind::Float || s.kind == SlotKind::Scalar)
    return v.kind == Value::Float && std::bit_cast<uint32_t>(v.number) == std::bit_cast<uint32_t>(s.defaultFloat);
  if (s.kind == SlotKind::Ints)
    return v.list.empty();
  if (s.kind == SlotKind::Text)
    return p.strings[v.integer].empty();
  return v.kind == Value::Int && v.integer == s.defaultInt && s.kind != SlotKind::OptScalar;
}

std::string Printer::value(const Decoded &in, size_t i, const std::map<uint32_t, std::string> *labels) {
  const Slot &s = in.def->slots[i];
  const Value &v = in.values[i];
  switch (v.kind) {
  case Value::Absent: return "";
  case Value::Tensor: return access(v.access);
  case Value::Float: return number(v.number);
  case Value::Register: return "r" + std::to_string(v.integer);
  case Value::Text: return quoted(p.strings[v.integer]);
  case Value::Ints: {
    std::string out = "[";
    for (size_t k = 0; k < v.list.size(); ++k)
      out += (k ? ", " : "") + std::to_string(static_cast<int32_t>(v.list[k]));
    return out + "]";
  }
  case Value::Int: break;
  }
  if (s.kind == SlotKind::Enum) {
    const std::string_view choice = s.names->names[v.integer];
    return isPlainName(choice) ? str(choice) : quoted(choice);
  }
  if (s.kind == SlotKind::Queue)
    return plain(p.queues[v.integer].name);
  if (s.kind == SlotKind::Label)
    return labels ? labels->at(static_cast<uint32_t>(v.integer)) : "@" + std::to_string(static_cast<uint32_t>(v.integer));
  return std::to_string(v.integer);
}

std::string Printer::instruction(const Decoded &in, const std::map<uint32_t, std::string> *labels) {
  std::string out = (in.core ? "core" + std::to_string(in.core) + " " : "") + str(name(in.engine)) + " " + str(in.def->name);
  for (size_t i = 0; i < in.values.size(); ++i) {
    const bool loopEnd = labels && in.def->slots[i].kind == SlotKind::Label &&
                         filled[in.index] == static_cast<uint32_t>(in.values[i].integer);
    if (!loopEnd && !isDefault(in, i))
      out += " " + str(in.def->slots[i].name) + "=" + value(in, i, labels);
  }
  for (size_t i = 0; i < in.waits.size(); ++i)
    out += (i ? " and " : "  when ") + plain(p.semaphores[in.waits[i].semaphore].name) +
           " >= " + std::to_string(in.waits[i].value) + (in.waits[i].kind == SyncKind::WaitGeConsume ? " consume" : "");
  for (size_t i = 0; i < in.updates.size(); ++i) {
    const SyncKind k = in.updates[i].kind;
    out += (i ? " and " : "  then ") + plain(p.semaphores[in.updates[i].semaphore].name) +
           (k == SyncKind::Add   ? " += "
            : k == SyncKind::Sub ? " -= "
                                 : " = ") +
           std::to_string(in.updates[i].value);
  }
  return out;
}

// ---- the whole ---------------------------------------------------------------------------------------------------

void Printer::header(std::string &out) const {
  bool builtin = false;
  for (const BuiltinFile &f : builtinTargetFiles())
    builtin |= f.name == p.target->name && f.text == p.target->text;
  out += builtin
             ? "target " + p.target->name + "\n"
             : "; for the target `" + printable(p.target->name) + "`, which is not built in: assemble with --target FILE\n";
  if (p.cores != 1)
    out += "cores " + std::to_string(p.cores) + "\n";
}

std::string Printer::withCore(ObjectRef o) const {
  const int core = o.kind == ObjectKind::Allocation ? p.allocations[o.index].core : 0;
  return plain(p.objectName(o)) + (core ? " core " + std::to_string(core) : "");
}

void Printer::objects(std::string &out) const {
  static constexpr const char *kKinds[] = {"input", "output", "const", "scratch"};
  for (const Tensor &t : p.tensors) {
    out += str(kKinds[static_cast<int>(t.kind)]) + " " + plain(t.name) + " : " + str(name(t.dtype)) + shape(t.shape);
    if (t.kind == TensorKind::Constant)
      out += " = " + printConstant(t.dtype, t.data);
    if (!t.from.empty())
      out += " from " + plain(t.from);
    if (t.hasRange)
      out += " range " + std::to_string(t.rangeLo) + " " + std::to_string(t.rangeHi);
    out += str(t.uniqueRows ? " unique" : "") + (t.shared ? "" : " private") + "\n";
  }
  for (const Allocation &a : p.allocations) {
    out += str(a.space == Space::Sbuf ? "sbuf " : "psum ") + plain(a.name) + " : " + str(name(a.dtype)) + shape(a.shape) +
           " @ " + std::to_string(a.partition) + ":" + std::to_string(a.byteOffset);
    if (a.core)
      out += " core " + std::to_string(a.core);
    if (a.liveFrom != 0 || a.liveTo != UINT32_MAX)
      out += " live " + std::to_string(a.liveFrom) + ".." + (a.liveTo == UINT32_MAX ? "" : std::to_string(a.liveTo));
    out += "\n";
  }
  for (const Semaphore &s : p.semaphores)
    out += "semaphore " + plain(s.name) + (s.initial ? " = " + std::to_string(s.initial) : "") +
           (s.core ? " core " + std::to_string(s.core) : "") + "\n";
  for (const Queue &q : p.queues)
    out += "queue " + plain(q.name) + (q.core ? " core " + std::to_string(q.core) : "") + "\n";
  for (const Symbol &s : p.symbols)
    out += ".symbol " + plain(s.name) + " = " + withCore(s.object) + (s.defined ? "" : " undefined") + "\n";
  for (const Relocation &r : p.relocations)
    out += ".relocation " + plain(p.symbols[r.symbol].name) + " " + withCore(r.object) + "\n";
  for (const ContractItem &c : p.contract)
    out += ".contract " + quoted(c.key) + " " + quoted(c.value) + "\n";
}

// What the assembler fills in for `end` and `begin`: it pairs loop and end_loop of a stream like brackets.
void Printer::findLoopEnds(int core, Engine e) {
  const Stream &s = p.stream(core, e);
  filled.assign(s.instrs.size(), -1);
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < s.instrs.size(); ++i) {
    const InstrDef &def = *p.opcodes[s.instrs[i].opcode];
    if (beginsLoop(def)) {
      open.push_back(i);
    } else if (endsLoop(def) && !open.empty()) {
      filled[i] = open.back();
      filled[open.back()] = i;
      open.pop_back();
    }
  }
}

void Printer::stream(std::string &out, int core, Engine e, uint32_t &origin, bool &first) {
  const Stream &s = p.stream(core, e);
  if (s.instrs.empty())
    return;
  findLoopEnds(core, e);
  std::map<uint32_t, std::string> labels;
  for (uint32_t i = 0; i < s.instrs.size(); ++i) {
    const InstrDef &def = *p.opcodes[s.instrs[i].opcode];
    bool hasLabel = false;
    for (const Slot &slot : def.slots)
      hasLabel |= slot.kind == SlotKind::Label;
    if (!hasLabel)
      continue;
    decode(p, core, e, i, d);
    for (size_t k = 0; k < d.values.size(); ++k)
      if (def.slots[k].kind == SlotKind::Label && filled[i] != static_cast<uint32_t>(d.values[k].integer))
        labels.emplace(static_cast<uint32_t>(d.values[k].integer),
                       "L" + std::to_string(static_cast<uint32_t>(d.values[k].integer)));
  }
  const std::string prefix = (core ? "core" + std::to_string(core) + " " : "") + str(name(e)) + " ";
  out += "\n; core " + std::to_string(core) + ", " + str(name(e)) + ": " + std::to_string(s.instrs.size()) +
         (s.instrs.size() == 1 ? " instruction\n" : " instructions\n");
  for (uint32_t i = 0; i < s.instrs.size(); ++i) {
    const InstrOrigin &now = p.origins[s.instrs[i].origin], &last = p.origins[origin];
    auto text = [this](uint32_t index) { return quoted(p.strings[index]); };
    const bool samePlace = !first && text(now.kernel) == text(last.kernel) && text(now.operation) == text(last.operation) &&
                           text(now.file) == text(last.file);
    if (!samePlace)
      out += ".loc " + text(now.kernel) + " " + text(now.operation) + " " + text(now.file) + " " + std::to_string(now.line) +
             "\n";
    else if (now.line != last.line)
      out += ".loc " + std::to_string(now.line) + "\n";
    first = false;
    origin = s.instrs[i].origin;
    if (labels.count(i))
      out += labels[i] + ":\n";
    decode(p, core, e, i, d);
    out += instruction(d, &labels) + "\n";
  }
  if (labels.count(static_cast<uint32_t>(s.instrs.size())))
    out += prefix + labels[static_cast<uint32_t>(s.instrs.size())] + ":\n";
}

std::string Printer::program() {
  std::string out;
  header(out);
  objects(out);
  uint32_t origin = 0;
  bool first = true;
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e)
      stream(out, static_cast<int>(c), static_cast<Engine>(e), origin, first);
  return out;
}

} // namespace

std::string disassemble(const Program &p) { return Printer(p).program(); }

std::string disassemble(const Program &p, int core, Engine e, uint32_t index) {
  Decoded d;
  decode(p, core, e, index, d);
  return Printer(p).instruction(d, nullptr);
}

} // namespace glia
