// The named fields of an attribute: `<a = 1, b = [2, 3]>`, in any order, a comma after the last one allowed.
#pragma once
#include "mlir/IR/OpImplementation.h"

namespace glia::graph {

using Dims = llvm::SmallVector<int64_t>;

struct Field {
  llvm::StringRef name;
  Dims *dims = nullptr;
  int64_t *number = nullptr;
  llvm::function_ref<mlir::ParseResult()> parse = nullptr; // what is neither
  bool seen = false;
};

mlir::ParseResult parseDims(mlir::AsmParser &p, Dims &dims);                            // [0, 1]
mlir::ParseResult parseFields(mlir::AsmParser &p, llvm::MutableArrayRef<Field> fields); // up to and without `>`
void printDims(mlir::AsmPrinter &p, llvm::ArrayRef<int64_t> dims);

// Prints fields, with commas between those that are there.
class FieldPrinter {
public:
  explicit FieldPrinter(mlir::AsmPrinter &printer) : p(printer) {}
  mlir::AsmPrinter &begin(llvm::StringRef name) {
    p << (first ? "" : ", ") << name << " = ";
    first = false;
    return p;
  }
  void dims(llvm::StringRef name, llvm::ArrayRef<int64_t> value, bool always = false) {
    if (always || !value.empty())
      printDims(begin(name), value);
  }
  void number(llvm::StringRef name, int64_t value, bool always = false) {
    if (always || value)
      begin(name) << value;
  }

private:
  mlir::AsmPrinter &p;
  bool first = true;
};

} // namespace glia::graph
