#include "CheckMemory.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/MapVector.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

namespace glia::emit {

namespace {

double bytesOf(mlir::Value v) {
  const auto t = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  const std::optional<DType> d = t ? machineType(t.getElementType()) : std::nullopt;
  double n = d ? sizeOf(*d) : 0;
  if (t)
    for (int64_t size : t.getShape())
      n *= static_cast<double>(size);
  return n;
}

struct Life {
  size_t from = 0, to = 0; // groups; to: the last that uses it
};

std::string line(mlir::Value v) {
  std::string type;
  llvm::raw_string_ostream(type) << v.getType();
  std::string what = v.getDefiningOp() ? v.getDefiningOp()->getName().getStringRef().str()
                                       : "argument " + std::to_string(llvm::cast<mlir::BlockArgument>(v).getArgNumber());
  const nisa::Origin o = nisa::originOf(v.getLoc());
  if (!o.file.empty())
    what += " at " + o.file + ":" + std::to_string(o.line);
  return format("%.2f GiB: %s, %s", bytesOf(v) / 0x1p30, type.c_str(), what.c_str());
}

} // namespace

void checkMemory(mlir::Block &body, const std::vector<Group> &groups, const Target &target) {
  llvm::MapVector<mlir::Value, Life> lives;
  const size_t end = groups.size();
  for (mlir::BlockArgument a : body.getArguments())
    lives[a] = {0, end};
  const auto use = [&](mlir::Value v, size_t at) {
    const mlir::Value root = rootOf(v);
    const bool constant = root.getDefiningOp() && opName(root.getDefiningOp()) == "constant";
    Life &life = lives.insert({root, {constant ? 0 : at, at}}).first->second;
    life.to = constant ? end : std::max(life.to, at);
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    for (mlir::Value v : groups[i].inputs)
      use(v, i);
    for (mlir::Value v : groups[i].outputs)
      use(v, i);
  }
  for (mlir::Value v : body.getTerminator()->getOperands())
    use(v, end);

  std::vector<double> change(end + 2, 0.0);
  for (const auto &[v, life] : lives) {
    change[life.from] += bytesOf(v);
    change[life.to + 1] -= bytesOf(v);
  }
  double now = 0, most = 0;
  size_t where = 0;
  for (size_t i = 0; i <= end; ++i) {
    now += change[i];
    if (now > most) {
      most = now;
      where = i;
    }
  }
  const auto room = static_cast<double>(target.integer("memory.hbm_bytes"));
  if (most <= room)
    return;
  std::vector<std::pair<double, size_t>> order; // the largest first, then as they come
  std::vector<mlir::Value> live;
  for (const auto &[v, life] : lives)
    if (life.from <= where && where <= life.to) {
      order.emplace_back(-bytesOf(v), live.size());
      live.push_back(v);
    }
  std::sort(order.begin(), order.end());
  Diagnostic d;
  d.code = "GRAPH-MEMORY";
  d.message = format("%.2f GiB of tensors are live at a time, and %s has %.2f GiB of HBM for them", most / 0x1p30,
                     target.name.c_str(), room / 0x1p30);
  d.value = format("%.0f", most);
  d.limit = format("%.0f", room);
  if (where < end) {
    const nisa::Origin o = nisa::originOf(groups[where].ops.back()->getLoc());
    d.place = {o.file, o.line, 0};
  }
  for (size_t i = 0; i < std::min<size_t>(8, live.size()); ++i)
    d.notes.push_back(line(live[order[i].second]));
  if (live.size() > 8)
    d.notes.push_back(format("and %zu smaller ones", live.size() - 8));
  d.advice = "Use smaller batches or narrower types, recompute what is kept, or split the model.";
  throw Error(std::move(d));
}

} // namespace glia::emit
