#include "ExecuteMemory.h"
#include "Transforms/InstrFacts.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <queue>

namespace glia::execute {

using Wide = __int128;

Diagnostic diagnosticAt(mlir::Location loc, std::string_view code, std::string message) {
  const nisa::Origin o = nisa::originOf(loc);
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  d.place = {o.file, o.line, 0};
  d.context = o.operation.empty() ? "" : "operation " + o.operation;
  if (const Rule *r = findRule(code))
    d.advice = r->advice;
  return d;
}

void stopAt(mlir::Operation *op, std::string_view code, std::string message) {
  throw Stop{diagnosticAt(op->getLoc(), code, std::move(message))};
}

// ---- places -----------------------------------------------------------------------------------------------------------------

static int64_t bytesOf(nisa::TensorType t, size_t firstDim) {
  int64_t bytes = sizeOf(t.getDtype());
  for (int64_t d : t.getShape().drop_front(firstDim))
    bytes *= d;
  return bytes;
}

static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

std::byte *Memory::fresh(int64_t bytes) {
  return pages.emplace_back(static_cast<size_t>(std::max<int64_t>(bytes, 1))).data();
}

void Memory::clear(const Place &p) const {
  std::memset(p.base, static_cast<int>(unwritten), static_cast<size_t>(p.pitch * p.partitions));
}

Memory::Memory(nisa::KernelOp kernel, const std::shared_ptr<const Target> &target, std::optional<uint32_t> rest,
               const codegen::Looks &looks)
    : kernel(kernel), writer(kernel, target) {
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
    placeTensor(t);
  for (auto core : kernel.getBody().getOps<nisa::CoreOp>()) {
    if (rest)
      shareAllocations(core, *rest, looks);
    placeAllocations(core, *target);
  }
}

void Memory::begin(const TensorViews &inputs, std::byte nothing) {
  sim::checkInputs(writer.builder().program(), inputs);
  unwritten = nothing;
  for (const auto &[base, bytes] : whole)
    std::memset(base, static_cast<int>(unwritten), static_cast<size_t>(bytes));
  for (auto op : kernel.getBody().getOps<nisa::TensorOp>()) {
    const std::byte *from = nullptr;
    if (op.getKind() == "input" || op.getAlias())
      from = inputs.find(std::string_view(op.getAlias() ? *op.getAlias() : op.getLabel()))->second.data();
    else if (op.getData())
      from = reinterpret_cast<const std::byte *>(op.getData()->data());
    for (int core = 0; core < static_cast<int>(op.getIsPrivate() ? kernel.cores() : 1); ++core) {
      const Place &p = place(op.getTensor(), core);
      if (from)
        std::memcpy(p.base, from, static_cast<size_t>(p.bytes));
      else
        std::memset(p.base, static_cast<int>(unwritten), static_cast<size_t>(p.bytes));
    }
  }
}

void Memory::placeTensor(nisa::TensorOp op) {
  for (int core = 0; core < static_cast<int>(kernel.cores()); ++core) {
    if (core == 0 || op.getIsPrivate()) {
      Place &p = made.emplace_back();
      p.object = writer.object(op.getTensor());
      p.bytes = bytesOf(op.getTensor().getType(), 0);
      p.base = fresh(p.bytes);
    }
    places[{op.getTensor(), core}] = &made.back();
  }
}

Place &Memory::placeOf(nisa::AllocOp op, int core) {
  const nisa::TensorType type = op.getTensor().getType();
  Place &p = made.emplace_back();
  p.space = type.getSpace();
  p.object = writer.object(op.getTensor());
  p.partitions = static_cast<int32_t>(type.getShape()[0]);
  p.bytes = bytesOf(type, 1);
  p.pitch = padded(p.bytes);
  places[{op.getTensor(), core}] = &p;
  return p;
}

static bool isExchanged(nisa::AllocOp op) {
  return llvm::any_of(op.getTensor().getUsers(),
                      [](mlir::Operation *u) { return nisa::Instr(u).def().unit == Unit::Exchange; });
}

// Tiles of one shape take the memory that was used last and has rested, which is still in the host's cache. What an exchange works
// on is in use until the other core has come, which no place in the text tells.
void Memory::shareAllocations(nisa::CoreOp core, uint32_t rest, const codegen::Looks &looks) {
  struct Used {
    uint32_t to;
    std::pair<int64_t, int32_t> shape;
    std::byte *base;
    bool operator<(const Used &o) const { return to > o.to; } // the earliest on top
  };
  constexpr int64_t kRestful = 256 << 20; // bytes; where tiles take more, they do not rest
  int64_t taken = 0;
  std::priority_queue<Used> used;
  std::map<std::pair<int64_t, int32_t>, std::vector<std::byte *>> idle; // by pitch and partitions
  for (const codegen::Lifetime &l : codegen::lifetimesOf(core, looks)) {
    if (!l.first || l.kept || l.op.getAt() || isExchanged(l.op))
      continue;
    const uint64_t pause = taken < kRestful ? rest : 0;
    for (; !used.empty() && used.top().to + pause <= l.from; used.pop())
      idle[used.top().shape].push_back(used.top().base);
    Place &p = placeOf(l.op, static_cast<int>(core.getNumber()));
    const std::pair shape(p.pitch, p.partitions);
    std::vector<std::byte *> &fitting = idle[shape];
    if (fitting.empty()) {
      fitting.push_back(fresh(p.pitch * p.partitions));
      taken += p.pitch * p.partitions;
    }
    p.base = fitting.back();
    fitting.pop_back();
    used.push({l.to, shape, p.base});
    first[l.first].push_back(&p);
  }
}

void Memory::placeAllocations(nisa::CoreOp core, const Target &t) {
  const int number = static_cast<int>(core.getNumber());
  struct Chip { // the part of a memory that its author has placed tensors in
    int64_t from = INT64_MAX, to = 0;
    std::byte *base = nullptr;
  } chips[2];
  core.walk([&](nisa::AllocOp op) {
    const nisa::TensorType type = op.getTensor().getType();
    if (!op.getAt())
      return;
    Chip &c = chips[type.getSpace() == Space::Psum];
    const int64_t byte = nisa::addressOf(op.getTensor()).byte;
    c.from = std::min(c.from, byte / 64 * 64);
    c.to = std::max(c.to, byte + bytesOf(type, 1));
  });
  core.walk([&](nisa::AllocOp op) {
    if (places.contains({op.getTensor(), number}))
      return;
    Place &place = placeOf(op, number);
    if (op.getAt()) { // real storage: what its author put at one address shares it
      const nisa::Address at = nisa::addressOf(op.getTensor());
      Chip &c = chips[place.space == Space::Psum];
      place.pitch = padded(c.to - c.from);
      if (!c.base) {
        c.base = fresh(place.pitch * t.partitions);
        whole.push_back({c.base, place.pitch * t.partitions});
      }
      place.base = c.base + at.partition * place.pitch + at.byte - c.from;
      place.firstPartition = at.partition;
      place.start = at.byte;
    } else {
      place.base = fresh(place.pitch * place.partitions);
      whole.push_back({place.base, place.pitch * place.partitions});
    }
  });
}

TensorData Memory::outputs() const {
  TensorData out;
  for (auto t : nisa::KernelOp(kernel).getBody().getOps<nisa::TensorOp>())
    if (t.getKind() == "output") {
      const Place &p = place(t.getTensor(), 0);
      out[t.getLabel().str()].assign(p.base, p.base + p.bytes);
    }
  return out;
}

// ---- operands ---------------------------------------------------------------------------------------------------------------

static bool skips(const Bound &x) {
  const int oob = x.instr.def().slot("oob");
  return oob >= 0 && x.instr.def().slots[oob].names->names[x.operands[oob].integer] == "skip";
}

static void bindTensor(Bound &x, int slot, int core, const Memory &m, const Registers *registers) {
  const nisa::AccessAttr a = x.instr.access(slot);
  const Place &place = m.place(x.instr.tensor(slot), core);
  const Pattern &pattern = x.patterns[slot];
  Wide offset = a.getByteOffset(), partition = a.getPartition();
  for (size_t k = 0; k < a.getTerms().size(); k += 3) {
    const mlir::Value reg = x.instr->getOperand(static_cast<unsigned>(a.getTerms()[k]));
    (a.getTerms()[k + 2] ? partition : offset) += Wide{registers->lookup(reg)} * a.getTerms()[k + 1];
  }
  const auto [shape, lo, hi] = regionShape(pattern);
  Region &r = x.operands[slot].region;
  r = shape;
  const int64_t at = saturate(offset), lane = saturate(partition);
  const bool chip = place.space != Space::Hbm;
  const bool guarded = slot == x.indexed && at >= 0 && at <= place.bytes;
  if ((!guarded && (at + lo < 0 || at + hi > place.bytes)) ||
      (chip && (lane < 0 || lane + r.partitions > place.partitions))) {
    const std::string what = format(
        "`%s` (%s) reaches from byte %lld to %lld%s, and the tensor has %lld bytes%s",
        nisa::labelOf(x.instr.tensor(slot)).str().c_str(), std::string(x.instr.def().slots[slot].name).c_str(),
        (long long)saturate(at + lo), (long long)saturate(at + hi),
        chip ? format(" on partitions %lld to %lld", (long long)lane, (long long)(lane + r.partitions - 1)).c_str() : "",
        (long long)place.bytes, chip ? format(" on %d partitions", place.partitions).c_str() : "");
    if (!registers || x.instr.def().unit != Unit::Dma)
      stopAt(x.instr.operation(), "OPERAND-BOUNDS", what);
    if (skips(x)) {
      x.skip = true;
      return;
    }
    throw Trap{"DGE-OOB", what};
  }
  r.space = place.space;
  r.pitch = place.pitch;
  r.object = place.object;
  r.objectBytes = place.bytes;
  r.start = place.start + at;
  r.firstPartition = chip ? place.firstPartition + static_cast<int32_t>(lane) : 0;
  r.base = place.base + (chip ? lane * place.pitch : 0) + at;
  if (r.contiguous && reinterpret_cast<uintptr_t>(r.base) % static_cast<uintptr_t>(sizeOf(pattern.dtype)))
    r.contiguous = false; // the host reads misaligned elements through a copy only
}

Bound bindInstruction(nisa::Instr i, int core, const Memory &m) {
  Bound x;
  x.instr = i;
  x.engine = i.engine().value_or(Engine::Sync);
  const std::vector<Slot> &slots = i.def().slots;
  x.operands.resize(slots.size());
  x.patterns.resize(slots.size());
  for (size_t k = 0; k < slots.size(); ++k)
    if (i.def().unit == Unit::Dma && slots[k].name.ends_with("_index") && i.access(static_cast<int>(k)))
      x.indexed = i.def().slot(slots[k].name.substr(0, slots[k].name.size() - 6));
  for (size_t k = 0; k < slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    const mlir::Attribute a = i.slot(slot);
    Exec::Operand &o = x.operands[k];
    o.present = !llvm::isa<mlir::UnitAttr>(a);
    if (auto access = llvm::dyn_cast<nisa::AccessAttr>(a)) {
      x.patterns[k] = access.pattern();
      if (access.getTerms().empty())
        bindTensor(x, slot, core, m, nullptr);
      else
        x.dynamic.push_back(slot);
    } else if (auto f = llvm::dyn_cast<mlir::FloatAttr>(a)) {
      o.immediate = true;
      o.number = static_cast<float>(f.getValueAsDouble());
    } else if (auto n = llvm::dyn_cast<mlir::IntegerAttr>(a)) {
      o.integer = static_cast<int32_t>(n.getInt());
    } else if (auto r = llvm::dyn_cast<nisa::RegisterSlotAttr>(a)) {
      o.integer = static_cast<int32_t>(r.getOperand()); // within one instruction a register's number is its operand's
      if (slots[k].kind == SlotKind::RegOrInt)
        x.dynamic.push_back(slot);
    } else if (auto l = llvm::dyn_cast<mlir::DenseI32ArrayAttr>(a)) {
      o.list = {reinterpret_cast<const uint32_t *>(l.asArrayRef().data()), l.asArrayRef().size()};
    } else if (auto s = llvm::dyn_cast<mlir::StringAttr>(a)) {
      o.text = {s.getValue().data(), s.getValue().size()};
    }
  }
  return x;
}

void bindRegisters(Bound &x, int core, const Memory &m, const Registers &registers) {
  x.skip = false;
  for (int slot : x.dynamic) {
    if (const mlir::Value reg = x.instr.reg(slot))
      x.operands[slot].integer = registers.lookup(reg);
    else
      bindTensor(x, slot, core, m, &registers);
  }
}

} // namespace glia::execute
