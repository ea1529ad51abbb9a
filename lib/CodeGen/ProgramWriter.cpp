#include "glia/CodeGen/ProgramWriter.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/StringMap.h"

namespace glia {

using nisa::SlotValue;

static TensorKind kindOf(llvm::StringRef s) {
  return s == "input"      ? TensorKind::Input
         : s == "output"   ? TensorKind::Output
         : s == "constant" ? TensorKind::Constant
                           : TensorKind::Scratch;
}

ProgramWriter::ProgramWriter(nisa::KernelOp kernel, std::shared_ptr<const Target> target)
    : b(std::move(target), static_cast<int>(kernel.cores())), name(kernel.getSymName().str()) {
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
    declare(t);
  for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
    llvm::StringMap<int> used; // names are unique per core in a program; the next number to try for each
    core.walk([&](nisa::AllocOp op) {
      declare(op, static_cast<int>(core.getNumber()));
      Allocation &a = b.program().allocations.back();
      const std::string base = a.name;
      while (!used.try_emplace(a.name, 1).second)
        a.name = base + "." + std::to_string(used[base]++);
    });
  }
}

void ProgramWriter::declare(nisa::TensorOp op) {
  const nisa::TensorType type = op.getTensor().getType();
  Tensor t;
  t.name = op.getLabel().str();
  t.dtype = type.getDtype();
  t.shape.assign(type.getShape().begin(), type.getShape().end());
  t.kind = kindOf(op.getKind());
  t.shared = !op.getIsPrivate();
  t.uniqueRows = op.getUnique();
  t.hasRange = op.getRange().has_value();
  if (op.getRange()) {
    t.rangeLo = (*op.getRange())[0];
    t.rangeHi = (*op.getRange())[1];
  }
  if (op.getData()) {
    const auto *bytes = reinterpret_cast<const std::byte *>(op.getData()->data());
    t.data.assign(bytes, bytes + op.getData()->size());
  }
  objects[op.getTensor()] = b.tensor(std::move(t));
}

void ProgramWriter::declare(nisa::AllocOp op, int core) {
  const nisa::TensorType type = op.getTensor().getType();
  Allocation a;
  a.name = op.getLabel().str();
  a.space = type.getSpace();
  a.core = static_cast<uint8_t>(core);
  a.dtype = type.getDtype();
  a.shape.assign(type.getShape().begin(), type.getShape().end());
  if (op.getAt()) {
    a.partition = static_cast<int32_t>((*op.getAt())[0]);
    a.byteOffset = (*op.getAt())[1];
  }
  if (op.getLive()) {
    a.liveFrom = static_cast<uint32_t>((*op.getLive())[0]);
    a.liveTo = static_cast<uint32_t>((*op.getLive())[1]);
  }
  objects[op.getTensor()] = b.allocation(std::move(a));
}

void ProgramWriter::origin(mlir::Location loc) {
  const nisa::Origin o = nisa::originOf(loc);
  b.origin(name, o.operation, o.file, o.line);
}

void ProgramWriter::emit(nisa::Instr i, int core, Engine e, RegisterOf registerOf, llvm::ArrayRef<SyncOp> waits,
                         llvm::ArrayRef<SyncOp> updates, int queue) {
  origin(i->getLoc());
  Emit out = b.emit(core, e, i.def().name);
  for (size_t k = 0; k < i.def().slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    Value x;
    if (i.def().slots[k].kind == SlotKind::Queue) {
      x.kind = Value::Int;
      x.integer = queue;
      out.value(slot, x);
      continue;
    }
    const SlotValue v = i.value(slot);
    std::vector<uint32_t> list;
    switch (v.kind) {
    case SlotValue::Absent: break;
    case SlotValue::Tensor: {
      Pattern p = llvm::cast<nisa::AccessAttr>(i.slot(slot)).pattern();
      for (int t = 0; t < p.numDynamic; ++t)
        p.dynamic[t].reg = static_cast<uint8_t>(registerOf(v.tensor.terms[t].reg));
      x.kind = Value::Tensor;
      x.access = b.view(object(v.tensor.tensor), p, v.tensor.byteOffset, v.tensor.partition);
      break;
    }
    case SlotValue::Float:
      x.kind = Value::Float;
      x.number = v.number;
      break;
    case SlotValue::Int:
      x.kind = Value::Int;
      x.integer = v.integer;
      break;
    case SlotValue::Register:
      x.kind = Value::Register;
      x.integer = registerOf(v.reg);
      break;
    case SlotValue::Ints:
      x.kind = Value::Ints;
      list.assign(v.list.begin(), v.list.end());
      x.list = list;
      break;
    case SlotValue::Text:
      x.kind = Value::Text;
      x.integer = static_cast<int32_t>(b.internString(v.text));
      break;
    }
    out.value(slot, x);
  }
  for (const SyncOp &w : waits)
    out.when(w.semaphore, w.value, w.kind == SyncKind::WaitGeConsume);
  for (const SyncOp &u : updates)
    out.then(u.semaphore, u.value);
  out.done();
}

} // namespace glia
