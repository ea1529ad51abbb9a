#include "EmitProgram.h"
#include "AllocateRegisters.h"
#include "glia/CodeGen/ProgramWriter.h"
#include "glia/Support/Diagnostic.h"

#include <map>
#include <set>

namespace glia::codegen {

namespace {

class CoreEmitter {
public:
  CoreEmitter(ProgramWriter &w, nisa::CoreOp core, const Target &target)
      : w(w), core(core), number(static_cast<int>(core.getNumber())), registers(allocateRegisters(core, target)) {}

  void run() {
    if (auto names = core->getAttrOfType<mlir::ArrayAttr>("semaphores"))
      for (mlir::Attribute n : names)
        semaphores.push_back(w.builder().semaphore(llvm::cast<mlir::StringAttr>(n).str(), 0, number));
    if (auto count = core->getAttrOfType<mlir::IntegerAttr>("queues"))
      for (int q = 0; q < count.getInt(); ++q)
        queues.push_back(w.builder().queue("q" + std::to_string(q), number));
    emit(core.getBody().front());
  }

private:
  ProgramWriter &w;
  nisa::CoreOp core;
  int number;
  RegisterNumbers registers;
  std::vector<int> semaphores, queues;
  std::map<std::string, int> meetings; // loops so far, by where they meet

  int registerOf(mlir::Value v, int engine) const { return registers.at({v.getAsOpaquePointer(), engine}); }

  void emit(mlir::Block &block) {
    for (mlir::Operation &op : block) {
      if (nisa::Instr i{&op})
        emit(i);
      else if (llvm::isa<nisa::LoopOp, nisa::WhileOp>(op))
        emitLoop(&op);
    }
  }

  void emit(nisa::Instr i) {
    const Engine e = *i.engine();
    llvm::SmallVector<SyncOp> waits, updates;
    if (auto list = i->getAttrOfType<mlir::DenseI32ArrayAttr>("waits"))
      for (int k = 0; k < list.size(); k += 3)
        waits.push_back({static_cast<uint16_t>(semaphores[list[k]]),
                         list[k + 2] ? SyncKind::WaitGeConsume : SyncKind::WaitGe, 0, list[k + 1]});
    if (auto list = i->getAttrOfType<mlir::DenseI32ArrayAttr>("updates"))
      for (int k = 0; k < list.size(); k += 2)
        updates.push_back({static_cast<uint16_t>(semaphores[list[k]]), SyncKind::Add, 0, list[k + 1]});
    const int slot = i.def().slot("queue");
    const int queue = slot < 0 ? 0 : queues[i.integer(slot)]; // the core's own of this number
    w.emit(i, number, e, [&](mlir::Value v) { return registerOf(v, static_cast<int>(e)); }, waits, updates, queue);
  }

  void emitLoop(mlir::Operation *loop) {
    auto engines = loop->getAttrOfType<mlir::DenseI32ArrayAttr>("engines");
    if (!engines)
      return; // nothing in it
    std::string group = loop->getAttrOfType<mlir::StringAttr>("group").str();
    // Loops in which the cores meet are one group, named by where they meet: how many other loops a core has is its own affair.
    std::set<std::string> meets;
    loop->walk([&](mlir::Operation *op) {
      nisa::Instr i{op};
      if (i && i.def().unit == Unit::Barrier)
        meets.insert("barrier " + llvm::cast<mlir::StringAttr>(i.slot("name")).str());
      else if (i && i.def().unit == Unit::Exchange)
        meets.insert("pipe " + std::to_string(i.integer("pipe")));
    });
    if (meets.empty()) {
      group = "core" + std::to_string(number) + "." + group;
    } else {
      group = "meet";
      for (const std::string &m : meets)
        group += " " + m;
      group += " " + std::to_string(meetings[group]++);
    }
    w.origin(loop->getLoc());
    std::vector<uint32_t> begins;
    for (int32_t n : engines.asArrayRef()) {
      const Engine e = static_cast<Engine>(n);
      begins.push_back(w.builder().nextIndex(number, e));
      auto counted = llvm::dyn_cast<nisa::LoopOp>(loop);
      Emit out = w.builder().emit(number, e, counted ? "loop" : "while");
      if (counted)
        out.reg("iv", registerOf(counted.iterator(), n));
      if (!counted)
        out.reg("cond", registerOf(llvm::cast<nisa::WhileOp>(loop).getCondition(), n));
      else if (counted.getCount())
        out.set("count", static_cast<int32_t>(*counted.getCount()));
      else
        out.reg("count", registerOf(counted.getCountRegister(), n));
      out.set("group", group).set("end", int32_t{0});
      out.done();
    }
    emit(loop->getRegion(0).front());
    w.origin(loop->getLoc());
    for (size_t k = 0; k < begins.size(); ++k) {
      const Engine e = static_cast<Engine>(engines[k]);
      const uint32_t end = w.builder().nextIndex(number, e);
      w.builder().emit(number, e, "end_loop").set("begin", static_cast<int32_t>(begins[k])).done();
      w.builder().patchLabel(number, e, begins[k], end);
    }
  }
};

} // namespace

Program emitProgram(nisa::KernelOp k, const std::shared_ptr<const Target> &target) {
  ProgramWriter writer(k, target);
  for (auto core : k.getBody().getOps<nisa::CoreOp>())
    CoreEmitter(writer, core, *target).run();
  return writer.builder().finish();
}

} // namespace glia::codegen
