// The rules known before anything is placed: the kernel is written into a program in which every allocation lies where its
// author put it, else at partition 0 and at a round byte far from all others, and the verifier's rules on single instructions
// run on that program.
#include "Transforms/InstrFacts.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/ProgramWriter.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Transforms/ChooseEngines.h"
#include "glia/Verify/RuleBook.h"
#include "glia/Verify/StaticRules.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace mlir;

namespace glia {

namespace {

Diagnostic diagnosticOf(std::string_view code, Location loc, std::string message, std::string value = {},
                        std::string limit = {}) {
  const nisa::Origin o = nisa::originOf(loc);
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  d.place = {o.file, o.line, 0};
  d.value = std::move(value);
  d.limit = std::move(limit);
  if (const Rule *r = findRule(code))
    d.advice = r->advice;
  return d;
}

// What the dialect's own verifier says. Instructions that fail it are taken out, so that the others can be looked at.
std::vector<Diagnostic> removeMalformed(nisa::Kernel &k) {
  std::vector<Diagnostic> out;
  ScopedDiagnosticHandler handler(k.module->getContext(), [&](mlir::Diagnostic &d) {
    out.push_back(diagnosticOf("NISA-FORM", d.getLocation(), d.str()));
    out.back().advice = "Give every slot of the instruction what it takes; `glia isa NAME` lists them.";
    return success();
  });
  if (succeeded(verify(*k.module)))
    return out;
  out.clear(); // said again, of every instruction
  k.module->walk([&](Operation *op) {
    if (nisa::Instr i(op); i && failed(op->getName().verifyInvariants(op)))
      op->erase();
  });
  const bool instructionsOnly = succeeded(verify(*k.module));
  if (!instructionsOnly)
    throw Error(out.empty() ? std::vector<Diagnostic>{{"NISA-FORM", "the kernel is malformed"}} : std::move(out));
  return out;
}

class Checker {
public:
  Checker(nisa::KernelOp kernel, std::vector<Diagnostic> found)
      : kernel(kernel), target(loadTarget(std::string_view(kernel.getTarget()))), found(std::move(found)) {}

  std::vector<Diagnostic> run() {
    try {
      chooseEngines(kernel);
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): the rules say it again, with the others
    }
    ProgramWriter writer(kernel, target);
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
      const int c = static_cast<int>(core.getNumber());
      std::array<int, kNumEngines> queues{};
      for (int e = 0; e < kNumEngines; ++e) // each engine has a queue of its own
        queues[e] = writer.builder().queue(format("q%d.%d", c, e), c);
      core.walk([&](Operation *op) {
        checkpoint();
        if (auto alloc = dyn_cast<nisa::AllocOp>(op)) {
          checkAllocation(alloc);
          if (!alloc.getAt()) // apart from every other one
            writer.builder().program().allocations[writer.object(alloc.getTensor()).index].byteOffset = ++apart << 32;
        }
        if (auto loop = dyn_cast<nisa::WhileOp>(op))
          checkWhile(loop);
        if (nisa::Instr i(op); i && checkPatterns(i))
          write(writer, i, c, queues);
      });
    }
    const VerifyOptions options;
    Reporter reporter(writer.builder().program(), options);
    checkInstructions(writer.builder().program(), reporter);
    for (Diagnostic &d : reporter.take())
      found.push_back(std::move(d));
    return merged();
  }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  std::vector<Diagnostic> found;
  int64_t apart = 0; // allocations placed so far

  void write(ProgramWriter &writer, nisa::Instr i, int core, const std::array<int, kNumEngines> &queues) {
    if (!i.def().accumulateFlag.empty() && i.integer(i.def().accumulateFlag) == nisa::kAccumulateAuto)
      i.setInteger(i.def().accumulateFlag, 0);
    // Registers have no number yet: within one instruction, different registers are told apart by their operand's number.
    auto registerOf = [&](mlir::Value v) {
      const auto operands = i->getOperands();
      return static_cast<int>(std::find(operands.begin(), operands.end(), v) - operands.begin());
    };
    const Engine e = *i.engine();
    writer.emit(i, core, e, registerOf, {}, {}, queues[static_cast<int>(e)]);
  }

  void checkWhile(nisa::WhileOp loop) {
    bool set = false;
    loop.walk([&](Operation *op) {
      if (nisa::Instr i{op})
        for (size_t k = 0; k < i.def().slots.size(); ++k)
          set |= i.def().slots[k].kind == SlotKind::RegOut && i.reg(static_cast<int>(k)) == loop.getCondition();
    });
    if (set)
      return;
    found.push_back(diagnosticOf("KERNEL-WHILE", loop.getLoc(),
                                 "the body never sets the register that the loop tests: once begun, it never ends"));
    found.back().advice = "Load the register anew at the end of the body (nisa.register_load).";
  }

  // What a machine pattern cannot say cannot be written into a program.
  bool checkPatterns(nisa::Instr i) {
    bool fine = true;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      nisa::AccessAttr a = i.access(static_cast<int>(k));
      if (!a || (nisa::isRepresentable(a) && a.getPartitions() <= target->partitions))
        continue;
      fine = false;
      const std::string operand = format("`%s` (%s)", nisa::labelOf(i.tensor(static_cast<int>(k))).str().c_str(),
                                         std::string(i.def().slots[k].name).c_str());
      const size_t rank = a.getDims().size() / 2, most = a.getPartitions() ? 4 : kMaxDims;
      if (a.getPartitions() > target->partitions)
        found.push_back(diagnosticOf(
            "OPERAND-BOUNDS", i->getLoc(),
            format("%s takes %d partitions, and there are %d", operand.c_str(), a.getPartitions(), target->partitions),
            std::to_string(a.getPartitions()), std::to_string(target->partitions)));
      else if (rank < 1 || rank > most)
        found.push_back(diagnosticOf("PATTERN-FIELDS", i->getLoc(),
                                     format("%s has %zu free dimensions, a pattern in %s has 1 to %zu", operand.c_str(),
                                            rank, a.getPartitions() ? "SBUF or PSUM" : "HBM", most),
                                     std::to_string(rank), std::to_string(most)));
      else
        found.push_back(diagnosticOf("PATTERN-FIELDS", i->getLoc(),
                                     format("the address of %s has %zu registers in it, and at most %d are added",
                                            operand.c_str(), a.getTerms().size() / 3, kMaxDynamicTerms),
                                     std::to_string(a.getTerms().size() / 3), std::to_string(kMaxDynamicTerms)));
    }
    return fine;
  }

  // Each allocation for itself: that it can lie in its memory at all, and where its author wants it.
  void checkAllocation(nisa::AllocOp op) {
    const nisa::TensorType t = op.getTensor().getType();
    const bool psum = t.getSpace() == Space::Psum;
    const std::string label = op.getLabel().str(), where = psum ? "PSUM" : "SBUF";
    const int64_t capacity = psum ? target->psumBytes : target->sbufBytes;
    const nisa::Address at = nisa::addressOf(op.getTensor());
    int64_t bytes = sizeOf(t.getDtype());
    for (int64_t d : t.getShape().drop_front())
      bytes *= d;
    const int64_t lastPartition = at.partition + t.getShape()[0], lastByte = at.byte + bytes;
    if (at.partition < 0 || lastPartition > target->partitions)
      found.push_back(diagnosticOf("ALLOC-BOUNDS", op.getLoc(),
                                   format("`%s` takes partitions %d to %lld of %s, which has %d", label.c_str(),
                                          at.partition, (long long)lastPartition - 1, where.c_str(), target->partitions),
                                   std::to_string(lastPartition), std::to_string(target->partitions)));
    else if (at.byte < 0 || lastByte > capacity)
      found.push_back(diagnosticOf("ALLOC-BOUNDS", op.getLoc(),
                                   format("`%s` takes bytes %lld to %lld of a partition of %s, which has %lld usable bytes",
                                          label.c_str(), (long long)at.byte, (long long)lastByte - 1, where.c_str(),
                                          (long long)capacity),
                                   std::to_string(lastByte), std::to_string(capacity)));
    const int64_t align =
        std::max<int64_t>(target->integer(psum ? "memory.psum_align" : "memory.sbuf_align"), sizeOf(t.getDtype()));
    if (at.byte % align)
      found.push_back(diagnosticOf(
          "ALLOC-ALIGN", op.getLoc(),
          format("`%s` starts at byte %lld of a partition of %s; %s there starts at a multiple of %lld", label.c_str(),
                 (long long)at.byte, where.c_str(), std::string(name(t.getDtype())).c_str(), (long long)align),
          std::to_string(at.byte), "a multiple of " + std::to_string(align)));
  }

  // In the order of the source, each thing said once although a line may have made many instructions.
  std::vector<Diagnostic> merged() {
    std::vector<size_t> order(found.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tie(found[a].place.file, found[a].place.line, a) < std::tie(found[b].place.file, found[b].place.line, b);
    });
    std::vector<Diagnostic> out;
    std::map<std::tuple<std::string, std::string, std::string, uint32_t>, std::pair<size_t, int>> seen;
    for (size_t i : order) {
      Diagnostic &d = found[i];
      auto [it, fresh] = seen.try_emplace({d.code, d.message, d.place.file, d.place.line}, out.size(), 0);
      if (fresh)
        out.push_back(std::move(d));
      else
        ++it->second.second;
    }
    for (const auto &[key, at] : seen)
      if (at.second)
        out[at.first].notes.push_back(format("%d more instructions of this line break the same rule", at.second));
    return out;
  }
};

} // namespace

std::vector<Diagnostic> checkKernel(nisa::Kernel &k) {
  nisa::Kernel copy = k.clone();
  try {
    std::vector<Diagnostic> bad = removeMalformed(copy);
    return Checker(copy.op(), std::move(bad)).run();
  } catch (const Error &e) {
    return e.diagnostics();
  }
}

} // namespace glia
