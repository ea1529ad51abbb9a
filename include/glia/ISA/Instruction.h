// The definition of an instruction: operands, engines, target features, rules, semantics and cost, in one place.
// Each file under lib/ISA/instructions defines one. Assembler, disassembler, container check, verifier, simulator,
// timing, `glia isa --json` and the documentation are derived from these definitions.
#pragma once
#include "glia/ISA/Operand.h"
#include "glia/Support/EnumNames.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

class Check;     // ISA/Check.h: reports broken rules
class Exec;      // ISA/Exec.h: runs the semantics
class CostQuery; // ISA/Cost.h: sizes and clocks for the cost formula
struct Cost;

enum class SlotKind : uint8_t {
  In,
  Out,
  InOut, // a tensor operand: read, written, read and written (a conditional write is InOut)
  OptIn,
  OptOut, // the same, may be absent
  Scalar,
  OptScalar, // an fp32 immediate, or a tensor of one element per partition
  Float,     // fp32 immediate
  Int,       // int32 immediate
  Enum,
  Flag,
  Small, // one byte each, packed four to a word: a named choice, 0/1, 0..255
  RegOut,
  RegIn,    // a register of the issuing engine
  RegOrInt, // a register or an int32 immediate
  Ints,     // a list of int32
  Text,     // interned text
  Label,    // an instruction of the same stream
  Queue,    // a DMA queue of the same core
};

bool isTensorSlot(SlotKind k); // In Out InOut OptIn OptOut
bool isWritten(SlotKind k);    // Out InOut OptOut

struct Slot {
  std::string_view name;
  SlotKind kind;
  std::string_view doc;
  const EnumNames *names = nullptr; // Enum
  bool hasDefault = false;          // may be left out in assembly and in the builder
  int32_t defaultInt = 0;           // Enum Flag Small Int RegOrInt
  float defaultFloat = 0;           // Float
};

// How undefined bytes travel from sources to destinations; strict mode follows it element by element.
enum class Flow : uint8_t {
  None,        // no tensor result, or results that depend on no tensor
  Elementwise, // out[p][i] from in[p][i]; an input with fewer elements is used by every i
  Copy,        // k-th element of dst from k-th element of src, in row-major order over partitions and dims (DMA)
  Reduce,      // adjacent equal groups of inputs of a partition make one output of that partition
  Scan,        // out[p][i] from in[p][0..i]
  Row,         // every output of a partition from every input of that partition
  Transpose,   // out[f][p] from in[p][f]
  Shuffle,     // slots dst, src, mask (32 entries): out[32q+i] from in[32q+mask[i]]; 255 keeps out[32q+i]
  Matmul,      // slots dst, stationary, moving: out[m][n] from stationary[:, m] and moving[:, n]
  All,         // every output from every input
};

enum class Unit : uint8_t {
  Compute,  // runs on the issuing engine, completes in program order
  Register, // sequencer only
  Control,  // loop, end_loop, branch
  Dma,      // handed to a queue (slot "queue"); completes as 16 parts, each doing its share of the rows
  Exchange, // sendrecv: handed to a pipe; completes when both cores have issued it
  Barrier,  // core_barrier: blocks the engine until the peer's arrives
};

struct EngineNeed {
  Engine engine;
  std::string_view feature;
}; // "on this engine only with this feature"

struct InstrDef {
  std::string_view name;
  std::string_view summary; // one sentence
  std::string_view source;  // public source of the meaning, or "assumed: ..."
  Unit unit = Unit::Compute;
  Flow flow = Flow::Elementwise;
  uint8_t engines = 0;      // bit i = Engine i may issue it
  std::string_view feature; // target feature it needs; empty = every target
  std::vector<EngineNeed> engineNeeds;
  std::vector<Slot> slots;
  std::string_view accumulateFlag; // a Flag slot: when it is 1, slot 0 is read as well as written
  // Works with the accumulator registers of its engine: the slots "reduce_cmd", "data" and (optional) "reduce_res" and
  // "reduce_init" say how, see ISA/Accumulator.h. `reduce_res` follows the accumulator's definedness, not `flow`.
  bool accumulator = false;
  std::vector<std::string_view> rules; // ids of the rules that `check` may report (documentation, tests)
  void (*check)(Check &) = nullptr;    // rules beyond the general ones that every operand obeys
  void (*execute)(Exec &) = nullptr;   // Dma: one part, see Exec::part
  Cost (*cost)(const CostQuery &) = nullptr;

  bool runsOn(Engine e) const { return engines >> static_cast<int>(e) & 1; }
  int slot(std::string_view name) const; // -1 if absent
};

// All instructions, sorted by name. `findInstruction` returns null for an unknown name.
std::span<const InstrDef *const> allInstructions();
const InstrDef *findInstruction(std::string_view name);
// Calls of nki.isa that glia knows and does not run yet, with the reason; empty if `name` is not one of them.
std::string_view refusedInstruction(std::string_view name);

// ---- writing a definition ---------------------------------------------------------------------------

struct Define {
  InstrDef &d;
  Define &source(std::string_view s) {
    d.source = s;
    return *this;
  }
  Define &engines(std::initializer_list<Engine> es) {
    for (Engine e : es)
      d.engines |= 1u << static_cast<int>(e);
    return *this;
  }
  Define &everyEngine() {
    d.engines = (1u << kNumEngines) - 1;
    return *this;
  }
  Define &accumulates(std::string_view flag) {
    d.accumulateFlag = flag;
    return *this;
  }
  Define &unit(Unit u) {
    d.unit = u;
    return *this;
  }
  Define &flow(Flow f) {
    d.flow = f;
    return *this;
  }
  Define &needs(std::string_view feature) {
    d.feature = feature;
    return *this;
  }
  Define &needsOn(Engine e, std::string_view feature) {
    d.engineNeeds.push_back({e, feature});
    return *this;
  }
  Define &slot(std::string_view name, SlotKind k, std::string_view doc) {
    d.slots.push_back({name, k, doc});
    return *this;
  }
  Define &choice(std::string_view name, const EnumNames &names, std::string_view doc) {
    d.slots.push_back({name, SlotKind::Enum, doc, &names});
    return *this;
  }
  Define &orElse(int32_t v) {
    d.slots.back().hasDefault = true;
    d.slots.back().defaultInt = v;
    return *this;
  }
  Define &orElse(float v) {
    d.slots.back().hasDefault = true;
    d.slots.back().defaultFloat = v;
    return *this;
  }
  Define &rules(std::initializer_list<std::string_view> ids) {
    d.rules.assign(ids);
    return *this;
  }
  Define &accumulates() {
    d.accumulator = true;
    return *this;
  }
  Define &check(void (*f)(Check &)) {
    d.check = f;
    return *this;
  }
  Define &execute(void (*f)(Exec &)) {
    d.execute = f;
    return *this;
  }
  Define &cost(Cost (*f)(const CostQuery &)) {
    d.cost = f;
    return *this;
  }
};

// INSTRUCTION(name, "summary") { def.engines(...)...; }   The build lists every file of the folder by its name.
#define INSTRUCTION(NAME, SUMMARY)                                                                                          \
  static void define_##NAME(::glia::Define def);                                                                            \
  const ::glia::InstrDef &instruction_##NAME() {                                                                            \
    static const ::glia::InstrDef d = [] {                                                                                  \
      ::glia::InstrDef x;                                                                                                   \
      x.name = #NAME;                                                                                                       \
      x.summary = SUMMARY;                                                                                                  \
      define_##NAME(::glia::Define{x});                                                                                     \
      return x;                                                                                                             \
    }();                                                                                                                    \
    return d;                                                                                                               \
  }                                                                                                                         \
  static void define_##NAME([[maybe_unused]] ::glia::Define def)

} // namespace glia
