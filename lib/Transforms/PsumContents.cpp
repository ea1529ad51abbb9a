#include "PsumContents.h"
#include "InstrFacts.h"

using namespace mlir;

namespace glia::nisa {

// The number of a memset is kept on the op while the pass runs: copies of the op, as peeling makes them, share it.
static constexpr llvm::StringLiteral kNumber = "zero_fill";

Touched PsumContents::whole(mlir::Value tensor) {
  const auto t = cast<TensorType>(tensor.getType());
  int64_t bytes = sizeOf(t.getDtype());
  for (int64_t d : t.getShape().drop_front())
    bytes *= d;
  return {0, static_cast<int32_t>(t.getShape()[0]), {{0, bytes}}};
}

void PsumContents::enter(CoreOp core) {
  struct Placed {
    mlir::Value tensor;
    Address at;
    Touched size;
  };
  std::vector<Placed> all;
  core.walk([&](AllocOp a) {
    if (isPsum(a.getTensor()) && a.getAt())
      all.push_back({a.getTensor(), addressOf(a.getTensor()), whole(a.getTensor())});
  });
  for (const Placed &a : all)
    for (const Placed &b : all)
      if (a.tensor != b.tensor && a.at.partition < b.at.partition + b.size.partitions &&
          b.at.partition < a.at.partition + a.size.partitions && a.at.byte < b.at.byte + b.size.runs[0].hi &&
          b.at.byte < a.at.byte + a.size.runs[0].hi)
        shared.insert(a.tensor);
}

int PsumContents::numberOf(mlir::Value tensor) {
  return numbers.try_emplace(tensor, static_cast<int>(numbers.size())).first->second;
}

static PsumState emptyState(mlir::Value tensor) {
  const Touched t = PsumContents::whole(tensor);
  return {t.partitions, t.runs[0].hi};
}

void PsumContents::allocate(PsumStates &s, mlir::Value tensor) { s[numberOf(tensor)] = emptyState(tensor); }

PsumState &PsumContents::held(PsumStates &s, mlir::Value tensor) {
  auto [it, fresh] = s.try_emplace(numberOf(tensor));
  if (fresh)
    it->second = emptyState(tensor);
  return it->second;
}

std::optional<Touched> PsumContents::touched(Instr i, int slot) const {
  AccessAttr a = i.access(slot);
  const auto terms = a.getTerms();
  if (!terms.empty()) {
    const auto window = windows.find(i.tensor(slot));
    if (window == windows.end() || terms.size() != 3 || i->getOperand(static_cast<unsigned>(terms[0])) != window->second)
      return std::nullopt;
  }
  return touchedBy(a.pattern(), a.getPartition(), a.getByteOffset());
}

PsumStates PsumContents::usedIn(Operation *loop, const PsumStates &s) {
  PsumStates out;
  loop->walk([&](Operation *x) {
    for (mlir::Value v : x->getOperands())
      if (isa<TensorType>(v.getType()) && isPsum(v))
        if (const auto it = s.find(numberOf(v)); it != s.end())
          out.insert(*it);
  });
  return out;
}

void PsumContents::read(const Box &b) {
  if (b.held == Held::Zero && b.memset >= 0)
    needed[b.memset] = true;
}

void PsumContents::reads(Instr i, int slot, PsumStates &s) {
  const std::optional<Touched> t = touched(i, slot);
  held(s, i.tensor(slot)).visit(t ? *t : whole(i.tensor(slot)), [&](const Box &b) { read(b); });
}

void PsumContents::writes(Instr i, int slot, PsumState &s) {
  const std::optional<Touched> t = touched(i, slot);
  if (i.is("memset") && i.integer("bits") == 0 && i.value(i.def().slot("value")).number == 0) {
    const int id = memsetNumber(i);
    return change(s, i.tensor(slot), t, [&](Box &b) { b.held = Held::Zero, b.memset = id; });
  }
  const bool tensorEngine = i.engine() == Engine::Tensor || i.def().engines == 1u << static_cast<int>(Engine::Tensor);
  change(s, i.tensor(slot), t, [&](Box &b) {
    b.held = afterWrite(b.held, tensorEngine ? Writer::TensorEngine : Writer::Other);
    b.memset = -1;
  });
}

int PsumContents::memsetNumber(Instr i) {
  if (auto a = i->getAttrOfType<IntegerAttr>(kNumber))
    return static_cast<int>(a.getInt());
  const int number = static_cast<int>(needed.size());
  i->setAttr(kNumber, Builder(i->getContext()).getI32IntegerAttr(number));
  // One that other instructions are ordered after, or whose bytes are seen through another tensor, stays.
  needed.push_back(i->hasAttr("id") || shared.contains(i.tensor(0)));
  return number;
}

void PsumContents::join(PsumState &s, const PsumState &other) {
  s.join(other, [&](const Box &b) { read(b); });
}

void PsumContents::eraseUnread(KernelOp kernel) {
  kernel.walk([&](Operation *op) {
    auto a = op->getAttrOfType<IntegerAttr>(kNumber);
    if (!a)
      return;
    if (needed[static_cast<size_t>(a.getInt())])
      op->removeAttr(kNumber);
    else
      op->erase();
  });
}

} // namespace glia::nisa
