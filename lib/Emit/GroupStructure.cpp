// The text that is equal for groups that give the same kernel.
#include "glia/Emit/Family.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>

namespace glia::emit {

std::string structureOf(const Group &g) {
  std::string out;
  llvm::raw_string_ostream s(out);
  llvm::DenseMap<mlir::Value, size_t> numbers;
  for (mlir::Value v : g.inputs) {
    numbers.try_emplace(v, numbers.size());
    s << v.getType() << ";";
  }
  mlir::OpPrintingFlags flags;
  flags.useLocalScope();
  for (mlir::Operation *op : g.ops) {
    s << op->getName() << "(";
    for (mlir::Value v : op->getOperands())
      if (const auto it = numbers.find(v); it != numbers.end())
        s << it->second << ",";
      else if (const std::optional<double> splat = splatOf(v)) // written into the kernel
        s << "#" << llvm::utohexstr(std::bit_cast<uint64_t>(*splat)) << v.getType() << ",";
      else
        s << "?,";
    s << ")" << op->getAttrDictionary() << ":";
    for (mlir::Value v : op->getResults()) {
      numbers.try_emplace(v, numbers.size());
      s << v.getType() << ",";
    }
    for (mlir::Region &r : op->getRegions())
      for (mlir::Block &b : r)
        for (mlir::Operation &inner : b)
          inner.print(s, flags);
    s << "\n";
  }
  for (mlir::Value v : g.outputs)
    s << numbers.lookup(v) << " ";
  return out;
}

} // namespace glia::emit
