// Which tensors and registers a text has defined so far. MLIR's parser wants the type of an operand where it is used; the
// text form leaves it out there, because the definition above has said it already.
#pragma once
#include "glia/Dialect/Nisa.h"

#include <string_view>
#include <vector>

namespace glia::nisa {

// One for each region while it is parsed; nested like the regions.
class ParseScope {
public:
  explicit ParseScope(bool isolated = false); // isolated: names outside are not seen
  ~ParseScope();
  ParseScope(const ParseScope &) = delete;
  ParseScope &operator=(const ParseScope &) = delete;

  static bool inside(); // a kernel in text form is being parsed
  static bool tooDeep();
  static void define(llvm::StringRef name, mlir::Type type); // names without the `%`
  static mlir::Type lookUp(llvm::StringRef name);            // null if unknown
  static std::vector<std::string_view> names();

private:
  ParseScope *outer;
  unsigned depth;
  bool isolated;
  llvm::StringMap<mlir::Type> types;
};

// Parses `%name` and resolves it. The type is checked by the caller.
mlir::ParseResult parseDefined(mlir::OpAsmParser &p, mlir::Value &out);

} // namespace glia::nisa
