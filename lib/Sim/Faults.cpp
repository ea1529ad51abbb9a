#include "Faults.h"
#include "glia/Sim/Steps.h"

#include <algorithm>

namespace glia::sim {

namespace {

struct Advice {
  std::string_view code, text;
};

// One line per fault of the simulator. A fault that is what a rule forbids has the rule's name, so that `glia explain` knows it;
// SIM-... are the simulator's own, and DGE-OOB, GATHER-OOB and MATMUL-IDENTITY are traps.
constexpr Advice kAdvice[] = {
    {"RACE", "Make the later instruction wait for a semaphore that the earlier one adds to."},
    {"SCATTER-UNIQUE", "Make the indices distinct: rows of one transfer are written in no particular order."},
    {"OPERAND-OVERLAP", "Let the destination be the source itself (same start, type and pattern) or keep clear of it."},
    {"UNDEFINED-OUTPUT", "Write the bytes before they are used, or keep the result of computing on them out of outputs."},
    {"UNDEFINED-ADDRESS", "Write the register or the indices before they are used as addresses."},
    {"UNDEFINED-CONTROL", "Write the register before a branch or a loop depends on it."},
    {"OPERAND-BOUNDS", "Keep the operand inside the object it names; `glia verify` shows the address it can have."},
    {"SYNC-DEADLOCK",
     "Count what is added to each semaphore against what is waited for; barriers and exchanges need a partner."},
    {"BARRIER-PAIR", "Every barrier needs one of the same name on the other core, in the same order."},
    {"SIM-STEPS", kStepsAdvice},
    {"SIM-RANGE",
     "Keep the argument inside the range that docs/numerics.md gives for the function; outside, the device may differ."},
    {"SIM-FOOTPRINT", "This is a mistake in glia's definition of the instruction; please report it."},
    {"DGE-OOB", "Keep the index or register in range, or let the transfer skip what is out of range (oob=skip, in NKI oob_mode=nisa.oob_mode.skip)."},
    {"GATHER-OOB", "Keep the indices below the number of elements: clamp them, or declare the range of the input."},
    {"MATMUL-IDENTITY", "Give a transpose by matmul an identity (or a permutation) as its moving operand."},
    {"READ-ONLY", "Write to a scratch or output tensor."},
    {"SYNC-RANGE", "Consume what is added, or use more semaphores."},
    {"DMA-UPDATE", "A DMA adds one per part: write its update as `+= 16`."},
    {"ACT-TABLE-RESIDENT", "Issue act_table_load for the function's set on the same engine first."},
    {"ACT-TABLE-COUNT", "Use functions that share a set."},
    {"PSUM-ACCUMULATE", "Let the first matmul of the group overwrite (accumulate=0)."},
    {"TARGET-FEATURE", "Choose a target that has it (`glia targets --diff trn1 trn3`), or another instruction."},
    {"ENGINE-SERIAL",
     "Order the two engines with a semaphore: on this target they may not touch this memory at the same time."},
    {"QUEUE-OWNER", "Give each engine queues of its own."},
    {"CONTROL-FORM", "Every end_loop belongs to the loop that encloses it, and a branch jumps forward."},
};

} // namespace

std::string describe(const Program &p, InstrId at, bool place) {
  const Instr &in = p.stream(at.core, at.engine).instrs[at.index];
  std::string out = format("core %d %s instruction %u: %s", at.core, std::string(name(at.engine)).c_str(), at.index,
                           std::string(p.opcodes[in.opcode]->name).c_str());
  if (!place)
    return out;
  const InstrOrigin &o = p.origins[in.origin];
  std::string where;
  if (o.kernel)
    where = "kernel " + p.strings[o.kernel];
  if (o.file)
    where += (where.empty() ? "" : ", ") + p.strings[o.file] + ":" + std::to_string(o.line);
  return where.empty() ? out : out + " (" + where + ")";
}

Diagnostic diagnosticAt(const Program &p, InstrId at, std::string code, std::string message) {
  Diagnostic d;
  const auto *advice = std::find_if(std::begin(kAdvice), std::end(kAdvice), [&](const Advice &a) { return a.code == code; });
  d.advice = advice == std::end(kAdvice) ? "See `glia explain " + code + "`." : std::string(advice->text);
  d.code = std::move(code);
  d.message = std::move(message);
  const InstrOrigin &o = p.origins[p.stream(at.core, at.engine).instrs[at.index].origin];
  if (o.kernel)
    d.context = "kernel " + p.strings[o.kernel] + ", ";
  if (o.operation)
    d.context += "operation " + p.strings[o.operation] + ", ";
  d.context += describe(p, at, false);
  d.place = {p.strings[o.file], o.line, 0};
  return d;
}

void faultAt(const Program &p, InstrId at, std::string code, std::string message, std::vector<std::string> notes,
             std::string value, std::string limit) {
  Diagnostic d = diagnosticAt(p, at, std::move(code), std::move(message));
  d.notes = std::move(notes);
  d.value = std::move(value);
  d.limit = std::move(limit);
  throw Fault{std::move(d)};
}

} // namespace glia::sim
