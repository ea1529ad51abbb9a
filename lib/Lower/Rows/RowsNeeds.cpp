#include "RowsNeeds.h"

namespace glia::emit {

static bool isFloatValue(mlir::Value v) {
  const std::optional<DType> t = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
  return !t || isFloat(*t);
}

int64_t bytesBetween(mlir::Operation *op) {
  struct Needs {
    llvm::StringLiteral name;
    int64_t ofIntegers, ofFloats;
  };
  static constexpr int64_t kUsual = 14;
  static constexpr Needs kNeeds[] = {{"add", 6, 2},
                                     {"subtract", 6, 2},
                                     {"multiply", 12, 2},
                                     {"maximum", 2, 2},
                                     {"minimum", 2, 2},
                                     {"negate", 6, 2},
                                     {"exponential", 2, 2},
                                     {"broadcast_in_dim", 2, 2},
                                     {"reshape", 2, 2},
                                     {"select", 2, 2},
                                     {"compare", 6, 2},
                                     {"and", 2, 2},
                                     {"or", 2, 2},
                                     {"xor", 2, 2},
                                     {"not", 2, 2},
                                     {"shift_left", 2, 2},
                                     {"shift_right_logical", 2, 2},
                                     {"bitcast_convert", 2, 2},
                                     {"abs", 6, 2},
                                     {"divide", 40, 14},
                                     {"remainder", 40, 50},
                                     {"power", 40, 14},
                                     {"popcnt", 16, 0},
                                     {"count_leading_zeros", 16, 0},
                                     {"atan", 0, 28},
                                     {"floor", 0, 26},
                                     {"ceil", 0, 26},
                                     {"round_nearest_even", 0, 26},
                                     {"round_nearest_afz", 0, 26},
                                     {"convert", 2, 26}};
  if (op->getNumOperands() == 0)
    return 2;
  const bool floats = isFloatValue(op->getOperand(opName(op) == "select" ? 1 : 0));
  if (opName(op) == "convert" && isFloatValue(op->getResult(0)))
    return 2;
  for (const Needs &n : kNeeds)
    if (n.name == opName(op))
      return floats ? n.ofFloats : n.ofIntegers;
  return kUsual;
}

} // namespace glia::emit
