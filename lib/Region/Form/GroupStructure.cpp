// The text that is equal for groups that give the same kernel.
#include "glia/Lower/Family.h"
#include "glia/Graph/Graph.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>

namespace glia::emit {

namespace {

class Structure {
public:
  explicit Structure(llvm::raw_ostream &s) : s(s) {}

  void name(mlir::Value v) {
    numbers.try_emplace(v, numbers.size());
    s << v.getType() << ",";
  }
  size_t numberOf(mlir::Value v) const { return numbers.lookup(v); }

  // What of a value may be written into the kernel; false if nothing is known of it.
  bool number(mlir::Value v) {
    mlir::Operation *maker = v.getDefiningOp();
    if (const std::optional<double> splat = splatOf(v))
      s << "#" << llvm::utohexstr(std::bit_cast<uint64_t>(*splat)) << v.getType() << ",";
    else if (maker && opName(maker) == "constant") {
      for (uint8_t byte : graph::constantBytes(llvm::cast<mlir::ElementsAttr>(maker->getAttr("value"))))
        s << llvm::hexdigit(byte >> 4) << llvm::hexdigit(byte & 15);
      s << v.getType() << ",";
    } else
      return false;
    return true;
  }

  void describe(mlir::Operation *op) {
    s << op->getName() << "(";
    for (mlir::Value v : op->getOperands())
      if (const auto it = numbers.find(v); it != numbers.end())
        s << it->second << ",";
      else if (!number(v))
        s << "?,";
    s << ")" << op->getAttrDictionary() << ":";
    for (mlir::Value v : op->getResults())
      name(v);
    for (mlir::Region &r : op->getRegions())
      for (mlir::Block &b : r) {
        s << "{";
        for (mlir::BlockArgument a : b.getArguments())
          name(a);
        for (mlir::Operation &inner : b)
          describe(&inner);
        s << "}";
      }
    s << "\n";
  }

private:
  llvm::raw_ostream &s;
  llvm::DenseMap<mlir::Value, size_t> numbers;
};

} // namespace

std::string structureOf(const Group &g) {
  std::string out;
  llvm::raw_string_ostream s(out);
  Structure structure(s);
  if (g.over)
    s << "over " << *g.over << ":";
  for (const auto &[input, output] : g.inPlace)
    s << "in place " << input << " " << output << ":";
  // A body of a loop or a branch knows the numbers that it reads from outside, though they are tensors to the whole.
  const bool bodies =
      llvm::any_of(g.ops, [](mlir::Operation *op) { return mlir::isa<graph::WhileOp, graph::CaseOp, graph::IfOp>(op); });
  for (mlir::Value v : g.inputs) {
    structure.name(v);
    if (bodies)
      structure.number(v);
  }
  for (mlir::Operation *op : g.ops)
    structure.describe(op);
  for (mlir::Value v : g.outputs)
    s << structure.numberOf(v) << " ";
  return out;
}

} // namespace glia::emit
