#include "UnrollLoops.h"
#include "glia/Lower/Family.h"

#include "mlir/IR/IRMapping.h"

#include <map>

namespace glia::emit {

namespace {

constexpr int64_t kMostIterations = 10'000, kMostOperations = 200'000;
// In a longer loop the counter is no part of the code: what depends on it is the same kernel in each iteration and reads the number.
constexpr int64_t kCounterInCode = 16;

// Scalar integers that are known while a loop is followed.
class Known {
public:
  void set(mlir::Value v, int64_t n) { values[v] = n; }
  void forget() { values.clear(); }

  std::optional<int64_t> of(mlir::Value v) {
    if (const auto it = values.find(v); it != values.end())
      return it->second;
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
    const auto element = type ? llvm::dyn_cast<mlir::IntegerType>(type.getElementType()) : mlir::IntegerType();
    mlir::Operation *op = v.getDefiningOp();
    if (!element || !op || type.getNumElements() != 1)
      return std::nullopt;
    std::optional<int64_t> n = compute(op, element);
    if (n)
      values[v] = *n;
    return n;
  }

private:
  llvm::DenseMap<mlir::Value, int64_t> values;

  static int64_t wrapped(int64_t n, mlir::IntegerType t) {
    const unsigned bits = t.getWidth();
    if (bits >= 64)
      return n;
    const uint64_t low = static_cast<uint64_t>(n) & ((uint64_t{1} << bits) - 1);
    const bool negative = !t.isUnsigned() && bits > 1 && (low >> (bits - 1));
    return static_cast<int64_t>(negative ? low | ~((uint64_t{1} << bits) - 1) : low);
  }

  std::optional<int64_t> compute(mlir::Operation *op, mlir::IntegerType type) {
    const llvm::StringRef name = opName(op);
    if (name == "constant") {
      const auto value = llvm::dyn_cast<mlir::DenseElementsAttr>(op->getAttr("value"));
      if (!value)
        return std::nullopt;
      const llvm::APInt n = *value.value_begin<llvm::APInt>();
      return type.isUnsigned() || type.getWidth() == 1 ? static_cast<int64_t>(n.getZExtValue()) : n.getSExtValue();
    }
    if (op->getNumRegions() > 0 || op->getNumOperands() == 0 || op->getNumOperands() > 3)
      return std::nullopt;
    int64_t x[3] = {0, 0, 0};
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      const std::optional<int64_t> n = of(op->getOperand(i));
      if (!n)
        return std::nullopt;
      x[i] = *n;
    }
    using Compute = int64_t (*)(int64_t, int64_t, int64_t);
    static const std::map<llvm::StringRef, Compute> table = {
        {"add", [](int64_t a, int64_t b,
                   int64_t) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }},
        {"subtract", [](int64_t a, int64_t b,
                        int64_t) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }},
        {"multiply", [](int64_t a, int64_t b,
                        int64_t) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }},
        {"maximum", [](int64_t a, int64_t b, int64_t) { return std::max(a, b); }},
        {"minimum", [](int64_t a, int64_t b, int64_t) { return std::min(a, b); }},
        {"and", [](int64_t a, int64_t b, int64_t) { return a & b; }},
        {"or", [](int64_t a, int64_t b, int64_t) { return a | b; }},
        {"xor", [](int64_t a, int64_t b, int64_t) { return a ^ b; }},
        {"not", [](int64_t a, int64_t, int64_t) { return ~a; }},
        {"negate", [](int64_t a, int64_t, int64_t) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }},
        {"select", [](int64_t p, int64_t a, int64_t b) { return p ? a : b; }},
        {"reshape", [](int64_t a, int64_t, int64_t) { return a; }},
    };
    if (name == "convert") {
      const int64_t n = type.getWidth() == 1 ? x[0] != 0 : x[0];
      return wrapped(n, type);
    }
    if (auto compare = llvm::dyn_cast<graph::CompareOp>(op)) {
      const auto operand = llvm::cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(op->getOperand(0).getType()));
      if (operand.isUnsigned() && operand.getWidth() == 64)
        return std::nullopt;
      switch (compare.getComparisonDirection()) {
      case graph::ComparisonDirection::EQ: return x[0] == x[1];
      case graph::ComparisonDirection::NE: return x[0] != x[1];
      case graph::ComparisonDirection::LT: return x[0] < x[1];
      case graph::ComparisonDirection::LE: return x[0] <= x[1];
      case graph::ComparisonDirection::GT: return x[0] > x[1];
      case graph::ComparisonDirection::GE: return x[0] >= x[1];
      }
    }
    const auto it = table.find(name);
    if (it == table.end())
      return std::nullopt;
    return wrapped(it->second(x[0], x[1], x[2]), type);
  }
};

using Numbers = std::vector<std::optional<int64_t>>; // of the carried values

// What is known of the carried values at the start of each iteration, and after the last one. nullopt: the number of iterations is not
// known, or too large.
std::optional<std::vector<Numbers>> follow(mlir::Operation *loop) {
  mlir::Block &cond = loop->getRegion(0).front(), &body = loop->getRegion(1).front();
  const auto cost = static_cast<int64_t>(body.getOperations().size());
  std::vector<Numbers> out;
  Known outside;
  Numbers now;
  for (mlir::Value v : loop->getOperands())
    now.push_back(outside.of(v));
  for (;;) {
    out.push_back(now);
    Known known;
    const auto bind = [&](mlir::Block &b) {
      for (size_t i = 0; i < now.size(); ++i)
        if (now[i])
          known.set(b.getArgument(static_cast<unsigned>(i)), *now[i]);
    };
    bind(cond);
    const std::optional<int64_t> again = known.of(cond.getTerminator()->getOperand(0));
    if (!again)
      return std::nullopt;
    if (!*again)
      return out;
    const auto done = static_cast<int64_t>(out.size());
    if (done > kMostIterations || done * cost > kMostOperations)
      return std::nullopt;
    bind(body);
    Numbers next;
    for (mlir::Value v : body.getTerminator()->getOperands())
      next.push_back(known.of(v));
    now = std::move(next);
  }
}

mlir::Value constantOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t n, bool inCode) {
  const auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  const auto element = llvm::cast<mlir::IntegerType>(tensor.getElementType());
  const auto value =
      mlir::DenseElementsAttr::get(tensor, llvm::APInt(element.getWidth(), static_cast<uint64_t>(n), false, true));
  mlir::Value v = graph::ConstantOp::create(b, loc, value)->getResult(0);
  if (!inCode)
    v = graph::OptimizationBarrierOp::create(b, loc, mlir::TypeRange{type}, mlir::ValueRange{v})->getResult(0);
  return v;
}

void unroll(mlir::Operation *loop, const std::vector<Numbers> &known) {
  mlir::OpBuilder b(loop);
  mlir::Block &body = loop->getRegion(1).front();
  std::vector<mlir::Value> carried(loop->operand_begin(), loop->operand_end());
  const bool inCode = static_cast<int64_t>(known.size()) - 1 <= kCounterInCode;
  const auto settle = [&](const Numbers &numbers, bool code) {
    for (size_t i = 0; i < carried.size(); ++i)
      if (numbers[i])
        carried[i] = constantOf(b, loop->getLoc(), carried[i].getType(), *numbers[i], code);
  };
  for (size_t n = 0; n + 1 < known.size(); ++n) {
    settle(known[n], inCode);
    mlir::IRMapping map;
    map.map(body.getArguments(), carried);
    for (mlir::Operation &op : body.without_terminator())
      b.clone(op, map);
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = map.lookupOrDefault(body.getTerminator()->getOperand(static_cast<unsigned>(i)));
  }
  settle(known.back(), true);
  loop->replaceAllUsesWith(carried);
  loop->erase();
}

void choose(mlir::Operation *branch, mlir::Region &taken) {
  mlir::OpBuilder b(branch);
  mlir::IRMapping map;
  for (mlir::Operation &op : taken.front().without_terminator())
    b.clone(op, map);
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value v : taken.front().getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(v));
  branch->replaceAllUsesWith(results);
  branch->erase();
}

bool resolve(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  if (name == "while") {
    const std::optional<std::vector<Numbers>> known = follow(op);
    if (known)
      unroll(op, *known);
    return known.has_value();
  }
  const std::optional<int64_t> which = Known().of(op->getOperand(0));
  if (!which)
    return false;
  const auto last = static_cast<int64_t>(op->getNumRegions()) - 1;
  const int64_t region = name == "if" ? (*which ? 0 : 1) : (*which < 0 || *which > last ? last : *which);
  choose(op, op->getRegion(static_cast<unsigned>(region)));
  return true;
}

} // namespace

void unrollLoops(mlir::func::FuncOp function) {
  for (bool again = true; again;) {
    again = false;
    std::vector<mlir::Operation *> control;
    function.walk([&](mlir::Operation *op) { // inner ones first
      if (const llvm::StringRef n = opName(op); n == "while" || n == "if" || n == "case")
        control.push_back(op);
    });
    for (mlir::Operation *op : control) {
      if (!resolve(op))
        continue;
      again = true; // the others may have been copied: look again
      break;
    }
  }
}

} // namespace glia::emit
