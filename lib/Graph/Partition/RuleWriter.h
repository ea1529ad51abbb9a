// Writes the rule of an operation, letter by letter.
#pragma once
#include "Rule.h"

namespace glia::partition {

inline int64_t sizeAt(mlir::Value v, int64_t d) {
  return llvm::cast<mlir::RankedTensorType>(v.getType()).getDimSize(static_cast<unsigned>(d));
}

// Writes the letters of an operation.
class Writer {
public:
  explicit Writer(mlir::Operation *o) : op(o) {
    for (const mlir::Value v : op->getOperands())
      rule.tensors.emplace_back(static_cast<size_t>(rankOf(v.getType())));
    for (const mlir::Value v : op->getResults())
      rule.tensors.emplace_back(static_cast<size_t>(rankOf(v.getType())));
  }
  mlir::Operation *op;
  Rule rule;

  size_t result(size_t i = 0) const { return op->getNumOperands() + i; }
  // A letter for dimensions of one size in several tensors.
  struct At {
    size_t tensor;
    int64_t dim;
  };
  void letter(std::initializer_list<At> places, int64_t size, Letter::Kind kind = Letter::Pass) {
    if (size == 1)
      return;
    const int l = rule.add(size, kind);
    for (const At &p : places)
      put(p, l);
  }
  void put(At p, int l) { rule.tensors[p.tensor][static_cast<size_t>(p.dim)].push_back(l); }
  // Every dimension that has no letter yet is needed whole.
  Rule finish(bool easy = false) {
    for (size_t t = 0; t < rule.tensors.size(); ++t) {
      const mlir::Value v = t < op->getNumOperands() ? op->getOperand(static_cast<unsigned>(t))
                                                     : op->getResult(static_cast<unsigned>(t - op->getNumOperands()));
      for (size_t d = 0; d < rule.tensors[t].size(); ++d)
        if (const int64_t size = sizeAt(v, static_cast<int64_t>(d)); rule.tensors[t][d].empty() && size != 1)
          rule.tensors[t][d].push_back(rule.add(size, Letter::Whole));
    }
    rule.easy = easy;
    return std::move(rule);
  }
};

} // namespace glia::partition
