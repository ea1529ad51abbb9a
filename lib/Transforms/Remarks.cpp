#include "Remarks.h"

#include "llvm/ADT/SmallVector.h"

namespace glia {

void addRemark(nisa::KernelOp kernel, const std::string &text) {
  mlir::Builder b(kernel.getContext());
  llvm::SmallVector<mlir::Attribute> all;
  if (auto before = kernel->getAttrOfType<mlir::ArrayAttr>(kRemarks))
    all.append(before.begin(), before.end());
  all.push_back(b.getStringAttr(text));
  kernel->setAttr(kRemarks, b.getArrayAttr(all));
}

std::string counted(size_t n, const char *what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string listOf(const llvm::SetVector<llvm::StringRef> &names) {
  constexpr size_t kMost = 4;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    out += (i ? ", " : "") + names[i].str();
  if (names.size() > kMost)
    out += " and " + std::to_string(names.size() - kMost) + " more";
  return out;
}

} // namespace glia
