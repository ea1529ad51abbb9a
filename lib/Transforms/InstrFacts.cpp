#include "InstrFacts.h"
#include "glia/Verify/StaticRules.h"

using namespace mlir;

namespace glia::nisa {

bool isRepresentable(AccessAttr a) {
  const size_t rank = a.getDims().size() / 2;
  return rank >= 1 && rank <= (a.getPartitions() ? 4 : static_cast<size_t>(kMaxDims)) &&
         a.getTerms().size() / 3 <= static_cast<size_t>(kMaxDynamicTerms);
}

StringRef labelOf(mlir::Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto alloc = dyn_cast_or_null<AllocOp>(op))
    return alloc.getLabel();
  auto t = dyn_cast_or_null<TensorOp>(op);
  return t ? t.getLabel() : StringRef();
}

Address addressOf(mlir::Value tensor) {
  auto alloc = tensor.getDefiningOp<AllocOp>();
  if (!alloc || !alloc.getAt())
    return {};
  return {static_cast<int32_t>((*alloc.getAt())[0]), (*alloc.getAt())[1]};
}

TensorOperand allocateNumbers(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, AccessAttr like, int64_t count) {
  const auto type =
      TensorType::get(b.getContext(), Space::Sbuf, DType::F32, {like.getPartition() + like.getPartitions(), count});
  TensorOperand out;
  out.tensor = AllocOp::create(b, loc, type, b.getStringAttr(name), mlir::DenseI64ArrayAttr(), mlir::UnitAttr(),
                               mlir::DenseI64ArrayAttr())
                   .getTensor();
  out.partition = like.getPartition();
  out.partitions = like.getPartitions();
  out.dims = {1, count};
  return out;
}

// Slot `slot` is all of the tensor.
static bool isAll(Instr i, int slot, mlir::Value tensor) {
  const auto type = cast<TensorType>(tensor.getType());
  int64_t bytes = sizeOf(type.getDtype());
  for (int64_t n : type.getShape().drop_front())
    bytes *= n;
  const int index = i.def().slot(std::string(i.def().slots[static_cast<size_t>(slot)].name) + "_index");
  const AccessAttr a = i.access(slot);
  return !(index >= 0 && i.access(index)) && a.getPartition() == 0 && a.getPartitions() == type.getShape()[0] &&
         a.getByteOffset() == 0 && a.getTerms().empty() && a.pattern().contiguous() &&
         a.elementsPerPartition() * sizeOf(a.getDtype()) == bytes;
}

static bool leavesRowsAlone(Instr i) {
  const int oob = i.def().slot("oob");
  return oob >= 0 && i.integer(oob) != 0;
}

bool writesAll(Instr i, mlir::Value tensor) {
  if (leavesRowsAlone(i))
    return false;
  bool all = false;
  for (int k = 0; k < static_cast<int>(i.def().slots.size()); ++k) {
    if (i.tensor(k) != tensor)
      continue;
    if (i.reads(k))
      return false;
    all |= i.writes(k) && isAll(i, k, tensor);
  }
  return all;
}

bool rewritesAll(Instr i, mlir::Value tensor) {
  if (leavesRowsAlone(i))
    return false;
  AccessAttr written;
  std::vector<AccessAttr> read;
  for (int k = 0; k < static_cast<int>(i.def().slots.size()); ++k) {
    if (i.tensor(k) != tensor)
      continue;
    if (i.reads(k) == i.writes(k) || (i.writes(k) && (written || !isAll(i, k, tensor))))
      return false;
    if (i.writes(k))
      written = i.access(k);
    else
      read.push_back(i.access(k));
  }
  return written && !read.empty() && llvm::all_of(read, [&](AccessAttr a) {
           return a.getDtype() == written.getDtype() && a.getPartition() == written.getPartition() &&
                  a.getPartitions() == written.getPartitions() && a.getByteOffset() == 0 && a.getTerms().empty() &&
                  a.getDims() == written.getDims();
         });
}

static float numberIn(Attribute a) {
  auto f = dyn_cast<FloatAttr>(a);
  return f ? static_cast<float>(f.getValueAsDouble()) : 0;
}

TrialCheck::TrialCheck(Instr i, const Target &t, Engine e, int cores)
    : Check(i.def(), t, e, cores), i(i), infos(i.def().slots.size()), patterns(i.def().slots.size()) {
  for (size_t k = 0; k < infos.size(); ++k) {
    const Slot &slot = i.def().slots[k];
    OperandInfo &o = infos[k];
    const Attribute a = i.slot(static_cast<int>(k));
    if (auto f = dyn_cast<FloatAttr>(a); f && (slot.kind == SlotKind::Scalar || slot.kind == SlotKind::OptScalar)) {
      o.present = o.immediate = true;
      o.number = numberIn(f);
    }
    auto access = dyn_cast<AccessAttr>(a);
    if (!access)
      continue;
    if (!isRepresentable(access)) {
      broken = true;
      continue;
    }
    const mlir::Value tensor = i.tensor(static_cast<int>(k));
    const auto type = cast<TensorType>(tensor.getType());
    const Address at = addressOf(tensor);
    patterns[k] = access.pattern();
    o.present = true;
    o.pattern = &patterns[k];
    o.space = type.getSpace();
    o.partition = at.partition + access.getPartition();
    o.byteOffset = at.byte + access.getByteOffset();
    o.object = {o.onChip() ? ObjectKind::Allocation : ObjectKind::Tensor, static_cast<uint32_t>(k)};
    o.objectName = {labelOf(tensor).data(), labelOf(tensor).size()};
    o.objectBytes = sizeOf(type.getDtype());
    for (size_t d = o.onChip() ? 1 : 0; d < type.getShape().size(); ++d)
      o.objectBytes *= type.getShape()[d];
    o.objectPartitions = o.onChip() ? static_cast<int32_t>(type.getShape()[0]) : 1;
    if (def.unit == Unit::Compute && !engineReaches(engine, o.space, isWritten(slot.kind)))
      broken = true;
  }
}

bool TrialCheck::passes() {
  if (!broken && def.check)
    def.check(*this);
  return !broken;
}

int32_t TrialCheck::integer(int slot) const {
  if (slot == assumedSlot)
    return assumed;
  const int32_t v = i.integer(slot);
  // Auto accumulation overwrites at first, and that is what the rules may take it for.
  return def.slots[slot].name == def.accumulateFlag && v == kAccumulateAuto ? 0 : v;
}

float TrialCheck::number(int slot) const { return numberIn(i.slot(slot)); }

std::span<const uint32_t> TrialCheck::list(int slot) const {
  auto l = dyn_cast<DenseI32ArrayAttr>(i.slot(slot));
  if (!l)
    return {};
  return {reinterpret_cast<const uint32_t *>(l.asArrayRef().data()), l.size() > 0 ? static_cast<size_t>(l.size()) : 0};
}

std::string_view TrialCheck::text(int slot) const {
  auto s = dyn_cast<StringAttr>(i.slot(slot));
  return s ? std::string_view(s.getValue().data(), s.getValue().size()) : std::string_view();
}

float InstrCost::number(int slot) const { return numberIn(i.slot(slot)); }

} // namespace glia::nisa
