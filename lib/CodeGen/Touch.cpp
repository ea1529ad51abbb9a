#include "Touch.h"
#include "glia/CodeGen/Passes.h"

#include <algorithm>

namespace glia::codegen {

static bool hullsMeet(const Area &a, const Area &b) {
  return a.last > b.first && b.last > a.first && a.hi > b.lo && b.hi > a.lo;
}

static bool areasMeet(const Area &a, const Area &b) {
  if (!hullsMeet(a, b))
    return false;
  if (a.dense && b.dense)
    return true;
  // Rows at the same distance: compare the columns they occupy.
  const int64_t stride = a.rowStride ? a.rowStride : b.rowStride;
  auto columns = [stride](const Area &t, int64_t &from, int64_t &to) {
    from = ((t.lo % stride) + stride) % stride;
    to = from + (t.rowStride ? t.rowBytes : t.hi - t.lo);
    return (t.rowStride == stride || t.dense) && to <= stride;
  };
  int64_t af, at, bf, bt;
  if (stride <= 0 || !columns(a, af, at) || !columns(b, bf, bt))
    return true;
  return af < bt && bf < at;
}

bool mayMeet(const Touch &a, const Touch &b) {
  // A tile in the place of another one waits for whoever reads around that place, too: it costs an instruction at most, and the verifier
  // takes strided reads coarsely.
  if (a.tile != b.tile)
    return a.space == b.space && hullsMeet(a, b);
  if (a.space != b.space || a.object != b.object || !areasMeet(a, b))
    return false;
  return a.moves.empty() || a.moves != b.moves || areasMeet(a.beside, b.beside);
}

bool covers(const Touch &a, const Touch &b) {
  return a.dense && a.space == b.space && a.object == b.object && a.first <= b.first && a.last >= b.last && a.lo <= b.lo &&
         a.hi >= b.hi;
}

static int64_t bytesOf(nisa::TensorType t) { // HBM: all; on chip: of a partition
  int64_t n = sizeOf(t.getDtype());
  for (size_t i = t.getSpace() == Space::Hbm ? 0 : 1; i < t.getShape().size(); ++i)
    n *= t.getShape()[i];
  return n;
}

// The whole tensor.
static Touch wholeTouch(mlir::Value tensor) {
  const auto type = llvm::cast<nisa::TensorType>(tensor.getType());
  Touch t;
  t.space = type.getSpace();
  t.hi = bytesOf(type);
  if (t.space == Space::Hbm) {
    t.object = tensor.getAsOpaquePointer();
    return t;
  }
  auto alloc = tensor.getDefiningOp<nisa::AllocOp>();
  t.first = alloc.getAt() ? static_cast<int32_t>((*alloc.getAt())[0]) : 0;
  t.last = t.first + static_cast<int32_t>(type.getShape()[0]);
  t.lo = alloc.getAt() ? (*alloc.getAt())[1] : 0;
  t.hi += t.lo;
  return t;
}

// The bytes that an access touches, if registers add nothing to its address; `t` is its whole tensor.
static Area areaOf(const Touch &whole, nisa::AccessAttr a) {
  Area t = whole;
  const int64_t size = sizeOf(a.getDtype());
  int64_t lo = t.lo + a.getByteOffset(), hi = lo + size;
  // Contiguous from the innermost dimension outwards, then at most one stride above it is described exactly.
  int64_t run = size, rowStride = 0, rowBytes = 0;
  bool regular = true;
  for (size_t k = a.getDims().size(); k >= 2; k -= 2) {
    const int64_t stride = a.getDims()[k - 2] * size, count = a.getDims()[k - 1];
    if (stride < 0)
      lo += stride * (count - 1);
    else
      hi += stride * (count - 1);
    if (count == 1 || stride == 0)
      continue;
    if (rowStride == 0 && stride == run)
      run *= count;
    else if (rowStride == 0 && stride > run)
      rowStride = stride, rowBytes = run, run = stride * count;
    else if (rowStride != 0 && stride > 0 && stride % rowStride == 0)
      ; // more rows on the same grid
    else
      regular = false;
  }
  t.lo = lo;
  t.hi = hi;
  t.dense = regular && rowStride == 0;
  if (regular && rowStride) {
    t.rowStride = rowStride;
    t.rowBytes = rowBytes;
  }
  if (whole.space != Space::Hbm) {
    t.first += a.getPartition();
    t.last = t.first + a.getPartitions();
  }
  return t;
}

static bool writesRegister(nisa::Instr i, mlir::Value reg) {
  for (size_t k = 0; k < i.def().slots.size(); ++k)
    if (i.def().slots[k].kind == SlotKind::RegOut && i.reg(static_cast<int>(k)) == reg)
      return true;
  return false;
}

bool Touches::steady(mlir::Value reg) {
  const auto [it, fresh] = known.try_emplace(reg, false);
  if (!fresh)
    return it->second;
  const bool counter = llvm::isa<mlir::BlockArgument>(reg);
  int written = 0; // by engines, each of which has a register of its own
  for (mlir::Operation *user : reg.getUsers()) {
    const nisa::Instr i{user};
    if (!i || !writesRegister(i, reg))
      continue;
    const int engine = 1 << static_cast<int>(i.engine().value_or(Engine::Sync));
    if (counter || (written & engine) || !llvm::isa<nisa::CoreOp>(user->getParentOp()))
      return false;
    written |= engine;
  }
  return it->second = true;
}

Touch Touches::touchOf(nisa::Instr i, nisa::AccessAttr a, bool indexed) {
  Touch t = wholeTouch(i->getOperand(a.getBase()));
  if (!wholeTiles)
    wholeTiles = i->getParentOfType<nisa::KernelOp>()->hasAttr(kWholeTiles);
  if (*wholeTiles && t.space != Space::Hbm)
    t.tile = i->getOperand(a.getBase()).getAsOpaquePointer();
  if (indexed)
    return t;
  const Area area = areaOf(t, a);
  if (a.getTerms().empty()) {
    static_cast<Area &>(t) = area;
    return t;
  }
  for (size_t k = 0; k + 2 < a.getTerms().size(); k += 3) {
    const mlir::Value reg = i->getOperand(static_cast<unsigned>(a.getTerms()[k]));
    if (!steady(reg)) {
      t.moves.clear();
      return t;
    }
    t.moves.push_back({reg.getAsOpaquePointer(), a.getTerms()[k + 1], a.getTerms()[k + 2] != 0});
  }
  t.beside = area;
  return t;
}

// A barrier publishes what was written to shared memory before it, and what comes after sees what the other core has written.
static void addSharedTensors(nisa::Instr i, std::vector<Touch> &out) {
  auto kernel = i->getParentOfType<nisa::KernelOp>();
  for (auto op : kernel.getBody().getOps<nisa::TensorOp>()) {
    if (op.getIsPrivate() || op.getKind() == "constant")
      continue;
    Touch t = wholeTouch(op.getTensor());
    t.write = true;
    t.dense = false;
    out.push_back(t);
  }
}

void Touches::add(nisa::Instr i, std::vector<Touch> &out) {
  const InstrDef &d = i.def();
  if (d.unit == Unit::Barrier)
    addSharedTensors(i, out);
  for (size_t k = 0; k < d.slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    const nisa::AccessAttr a = i.access(slot);
    if (!a)
      continue;
    const int index = d.slot(std::string(d.slots[k].name) + "_index");
    Touch t = touchOf(i, a, index >= 0 && i.access(index));
    if (i.reads(slot)) {
      t.write = false;
      out.push_back(t);
    }
    if (i.writes(slot)) {
      t.write = true;
      // Rows that an index or a register chooses may be left alone.
      t.dense = t.dense && a.getTerms().empty() && !(index >= 0 && i.access(index));
      out.push_back(t);
    }
  }
}

} // namespace glia::codegen
