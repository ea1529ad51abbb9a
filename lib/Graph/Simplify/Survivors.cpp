#include "Survivors.h"
#include "SimplifyGraph.h"

namespace glia::emit {

static constexpr llvm::StringLiteral kNumber = "glia.number";

void Survivors::after(std::string_view rewrite, mlir::func::FuncOp main) {
  if (rewrite == kInlined) {
    before = main->getParentOfType<mlir::ModuleOp>().clone();
    const auto collect = [](mlir::func::FuncOp f, std::vector<mlir::Operation *> &to) {
      for (mlir::Operation &op : f.getBody().front().without_terminator())
        to.push_back(&op);
    };
    collect(before->lookupSymbol<mlir::func::FuncOp>(main.getSymName()), olds);
    collect(main, news);
    mlir::Builder b(main.getContext());
    for (size_t i = 0; i < news.size(); ++i)
      news[i]->setAttr(kNumber, b.getI64IntegerAttr(static_cast<int64_t>(i)));
  }
  if (rewrite == kRewritten)
    main.walk([&](mlir::Operation *op) {
      const auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(op->removeAttr(kNumber));
      if (!number)
        return;
      const auto i = static_cast<size_t>(number.getInt());
      if (op != news[i]) // somebody copied the attributes
        return;
      kept[olds[i]] = op;
    });
  // The rewrites behind that one make nothing new, and what they erase did not survive.
  llvm::DenseSet<mlir::Operation *> there;
  main.walk([&](mlir::Operation *op) { there.insert(op); });
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> left;
  survived.clear();
  for (const auto &[old, op] : kept)
    if (there.contains(op)) {
      left[old] = op;
      survived.insert(op);
    }
  kept = std::move(left);
}

llvm::DenseMap<mlir::Value, HostTensor> Survivors::evaluate(const llvm::DenseSet<mlir::Value> &wanted,
                                                            std::vector<HostTensor> inputs, InterpretOptions options) const {
  llvm::DenseMap<mlir::Value, HostTensor> out;
  options.onValue = [&](mlir::Operation *old, unsigned i, const HostTensor &t) {
    mlir::Operation *op = kept.lookup(old);
    if (op && wanted.contains(op->getResult(i)) && op->getResult(i).getType() == old->getResult(i).getType())
      out[op->getResult(i)] = t;
  };
  interpret(*before, "main", std::move(inputs), options);
  return out;
}

} // namespace glia::emit
