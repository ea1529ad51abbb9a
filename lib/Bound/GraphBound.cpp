// What the operations of a graph need at least. Each operation is looked at with its neighbours only: what an instruction can do in
// passing (a scale, a bias, a rounding, a sum along the way) is free beside an operation that has to run over the elements anyway.
#include "glia/Bound/GraphBound.h"
#include "Graph/Analysis/IndexCondition.h"
#include "glia/CodeGen/ScheduleBound.h"
#include "glia/Graph/FunctionCall.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace glia {

namespace {

enum class Kind : uint8_t {
  Nothing,    // moves, renames, or is not counted
  Passing,    // one tensor and numbers: free beside an operation that runs over the elements
  Binary,     // two tensors
  Function,   // a table of the Scalar engine
  Root,       // a function that Vector computes as well
  Reciprocal, // eight times slower on Vector
  Quotient,   // a reciprocal and a product
  Reduction,
  Window,
  Recurrence, // two tensors and the state
  Product,
  Convolution,
  Kernel, // written by hand
};

const llvm::StringMap<Kind> &kinds() {
  static const llvm::StringMap<Kind> all = [] {
    llvm::StringMap<Kind> m;
    for (const char *n :
         {"add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "compare", "select", "power", "remainder",
          "clamp", "shift_left", "shift_right_logical", "shift_right_arithmetic", "atan2"})
      m[n] = Kind::Binary;
    for (const char *n : {"exponential", "log", "tanh", "logistic", "erf", "sine", "cosine", "tan", "atan", "log_plus_one",
                          "exponential_minus_one", "cbrt"})
      m[n] = Kind::Function;
    for (const char *n : {"sqrt", "rsqrt", "square"})
      m[n] = Kind::Root;
    for (const char *n : {"negate", "abs", "sign", "not", "convert", "is_finite", "floor", "ceil", "round_nearest_even",
                          "round_nearest_afz", "popcnt", "count_leading_zeros", "reduce_precision"})
      m[n] = Kind::Passing;
    m["divide"] = Kind::Quotient;
    m["reduce"] = Kind::Reduction;
    m["reduce_window"] = Kind::Window;
    m["dot_general"] = m["dot"] = Kind::Product;
    m["convolution"] = Kind::Convolution;
    m["custom_call"] = Kind::Kernel;
    return m;
  }();
  return all;
}

constexpr double kNo = ElementWork::kCannot;

mlir::RankedTensorType typeOf(mlir::Value v) { return llvm::dyn_cast<mlir::RankedTensorType>(v.getType()); }
double countOf(mlir::Value v) { return typeOf(v) ? static_cast<double>(typeOf(v).getNumElements()) : 0; }
double bitsOf(mlir::Value v) {
  mlir::Type t = typeOf(v).getElementType();
  if (auto c = llvm::dyn_cast<mlir::ComplexType>(t))
    return 2 * c.getElementType().getIntOrFloatBitWidth();
  return t.isIntOrFloat() ? std::max(8u, t.getIntOrFloatBitWidth()) : 0;
}
double bytesOf(mlir::Value v) { return typeOf(v) ? countOf(v) * bitsOf(v) / 8 : 0; }
llvm::StringRef nameOf(mlir::Operation *op) { return op->getName().stripDialect(); }

// What a reshape is made of.
mlir::Value behind(mlir::Value v) {
  while (mlir::Operation *op = v.getDefiningOp()) {
    if (nameOf(op) != "reshape" && nameOf(op) != "optimization_barrier" && nameOf(op) != "bitcast_convert")
      break;
    v = op->getOperand(nameOf(op) == "optimization_barrier" ? llvm::cast<mlir::OpResult>(v).getResultNumber() : 0);
  }
  return v;
}

// A constant that is one number, or something smaller that is repeated: an operand that needs no second stream.
bool repeats(mlir::Value v) {
  mlir::Operation *op = behind(v).getDefiningOp();
  if (!op)
    return false;
  if (nameOf(op) == "broadcast_in_dim" || nameOf(op) == "iota")
    return true;
  auto constant = llvm::dyn_cast<graph::ConstantOp>(op);
  return constant && constant.getValue().isSplat();
}

Kind kindOf(mlir::Operation *op) {
  const auto it = kinds().find(nameOf(op));
  if (it == kinds().end() || op->getNumResults() == 0)
    return Kind::Nothing;
  const Kind k = it->second;
  if (k == Kind::Kernel) {
    const llvm::StringRef target = llvm::cast<graph::CustomCallOp>(op).getCallTargetName();
    if (target.starts_with(graph::kFunctionCall))
      return Kind::Function;
    return target == "glia.nki" ? k : target == "glia.recurrence" ? Kind::Recurrence : Kind::Nothing;
  }
  if (k == Kind::Quotient) {
    if (repeats(op->getOperand(1)))
      return Kind::Passing;
    return repeats(op->getOperand(0)) ? Kind::Reciprocal : k;
  }
  if (k != Kind::Binary)
    return k;
  llvm::SmallVector<mlir::Value, 3> streams;
  for (mlir::Value v : op->getOperands())
    if (!repeats(v) && !llvm::is_contained(streams, behind(v)))
      streams.push_back(behind(v));
  return streams.size() >= 2 ? k : Kind::Passing;
}

bool runsOverElements(Kind k) {
  return k == Kind::Binary || k == Kind::Function || k == Kind::Root || k == Kind::Reciprocal || k == Kind::Quotient ||
         k == Kind::Kernel || k == Kind::Window || k == Kind::Recurrence;
}

class GraphWork {
public:
  GraphWork(const Target &t, int cores) : target(t), cores(cores), work(t) {}

  Least run(mlir::func::FuncOp main) {
    mlir::Block &body = main.getBody().front();
    for (mlir::Operation &op : body)
      if (nameOf(&op) == "select")
        chosen(&op);
    for (mlir::Operation &op : llvm::reverse(body))
      neededBy(&op);
    for (mlir::Operation &op : body)
      one(&op);
    memory(body);
    out.elements = work.spread(out.engines) / cores;
    const double rate = target.number("cost.tensor_ramp_rate");
    out.tensor /= cores;
    out.tensor += std::min(target.number("cost.tensor_ramp_time"), out.tensor / rate) * (1 - rate);
    return out;
  }

private:
  const Target &target;
  const int cores;
  ElementWork work;
  Least out;
  double kernelTransfers = 0;
  llvm::DenseMap<mlir::Operation *, double> share; // of its elements that are needed; nothing: all
  llvm::DenseMap<mlir::Value, double> ready;       // ns, on the path; nothing for what is an argument

  double shareOf(mlir::Operation *op) const {
    const auto it = share.find(op);
    return it == share.end() ? 1 : it->second;
  }
  void need(mlir::Operation *op, double part) { share[op] = std::min(shareOf(op), part); }

  // Elements that are chosen by their place, or else are one number: the others need not be computed, neither before nor behind.
  void chosen(mlir::Operation *op) {
    llvm::SetVector<mlir::Operation *> counts;
    const mlir::Value result = op->getResult(0);
    if (!repeats(op->getOperand(2)) || typeOf(op->getOperand(0)).getShape() != typeOf(result).getShape())
      return;
    const auto conditions = emit::conditionsOf(op->getOperand(0), counts);
    const auto part = conditions ? emit::shareOf(*conditions, typeOf(result).getShape().vec()) : std::nullopt;
    if (!part)
      return;
    need(op, *part);
    mlir::Value v = op->getOperand(1);
    while (mlir::Operation *from = v.hasOneUse() ? v.getDefiningOp() : nullptr) {
      need(from, *part);
      if (kindOf(from) == Kind::Product || from->getNumOperands() == 0)
        break;
      v = from->getOperand(repeats(from->getOperand(0)) && from->getNumOperands() > 1 ? 1 : 0);
      if (countOf(v) != countOf(result))
        break;
    }
    behindChoice(result, *part);
  }

  void behindChoice(mlir::Value v, double part) {
    for (mlir::Operation *user : v.getUsers()) {
      if (user->getNumResults() == 0 || shareOf(user) <= part)
        continue;
      const Kind k = kindOf(user);
      need(user, part);
      if (k != Kind::Product && k != Kind::Reduction && countOf(user->getResult(0)) == countOf(v))
        behindChoice(user->getResult(0), part);
    }
  }

  // What is only combined, element by element, with elements that are not all needed is not needed there either: of a product of two masked
  // tensors as little as of one.
  void neededBy(mlir::Operation *op) {
    if (op->getNumResults() != 1 || op->use_empty() ||
        !(runsOverElements(kindOf(op)) || kindOf(op) == Kind::Passing || kindOf(op) == Kind::Product))
      return;
    double most = 0;
    for (mlir::Operation *user : op->getResult(0).getUsers()) {
      const Kind k = user->getNumResults() == 1 ? kindOf(user) : Kind::Kernel;
      const bool each =
          k == Kind::Reduction || ((k == Kind::Binary || k == Kind::Quotient || k == Kind::Passing || k == Kind::Nothing) &&
                                   countOf(user->getResult(0)) == countOf(op->getResult(0)));
      most = std::max(most, each ? shareOf(user) : 1);
    }
    if (most < 1)
      need(op, most);
  }

  bool narrow(mlir::Operation *op) const {
    for (mlir::Value v : op->getOperands())
      if (typeOf(v) && (!typeOf(v).getElementType().isFloat() || bitsOf(v) != 16))
        return false;
    return bitsOf(op->getResult(0)) == 16;
  }

  // An instruction that runs over the same elements can do it in passing.
  static bool isPassed(mlir::Operation *op) {
    for (mlir::Value v : op->getOperands())
      if (mlir::Operation *from = behind(v).getDefiningOp())
        if (const Kind k = kindOf(from); runsOverElements(k) || k == Kind::Product || k == Kind::Convolution)
          return true;
    return readByWork(op);
  }

  static bool readByWork(mlir::Operation *op) {
    for (mlir::Operation *user : op->getResult(0).getUsers())
      if (const Kind k = kindOf(user); runsOverElements(k) || k == Kind::Reduction)
        return true;
    return false;
  }

  void one(mlir::Operation *op) {
    const Kind k = kindOf(op);
    if (k == Kind::Nothing)
      return path(op, 0);
    const double n = countOf(op->getResult(0)) * (k == Kind::Reduction ? 1 : shareOf(op));
    const double best = target.has("vector_perf_modes") && narrow(op) ? 0.25 : 1;
    switch (k) {
    case Kind::Binary: binary(op, n); break;
    case Kind::Quotient:
      work.add(n, {8, 1, kNo});
      binary(op, n);
      break;
    case Kind::Reciprocal: work.add(n, {8, 1, kNo}); break;
    case Kind::Function: work.add(n, {kNo, 1, kNo}); break;
    case Kind::Root: work.add(n, {1, 1, kNo}); break;
    case Kind::Passing: // two of them in one instruction
      if (!isPassed(op))
        work.add(n / 2, {best, target.has("scalar_perf_modes") && best < 1 ? 0.5 : 1, 1});
      break;
    case Kind::Reduction: reduction(op); break;
    case Kind::Window: work.add(n, {1, kNo, 1}); break;
    case Kind::Recurrence: work.add(n, {2, kNo, 4}); break; // a product and a sum
    case Kind::Product:
    case Kind::Convolution:
      out.tensor += k == Kind::Product ? product(op) * shareOf(op) : convolution(op);
      if (!readByWork(op)) // its sums leave PSUM
        work.add(n, {1, 1, kNo});
      return path(op, target.number("cost.tensor_latency"));
    case Kind::Kernel: return kernel(op);
    case Kind::Nothing: break;
    }
    path(op, k == Kind::Passing ? 0
                                : std::min({target.number("cost.vector_latency"), target.number("cost.scalar_latency"),
                                            target.number("cost.gpsimd_latency")}));
  }

  void binary(mlir::Operation *op, double n) {
    const auto t = typeOf(op->getOperand(op->getNumOperands() - 1)).getElementType();
    if (t.isInteger() && t.getIntOrFloatBitWidth() == 32 && nameOf(op) != "and" && nameOf(op) != "or" &&
        nameOf(op) != "xor" && nameOf(op) != "select")
      return work.add(n, {kNo, kNo, 2}); // exact on GpSimd only
    work.add(n, {1, kNo, 2});            // one stream from PSUM, or both of 16 bits
  }

  void reduction(mlir::Operation *op) {
    const unsigned inputs = op->getNumOperands() / 2;
    for (unsigned i = 0; i < inputs; ++i) {
      mlir::Operation *from = behind(op->getOperand(i)).getDefiningOp();
      if (const Kind k = from ? kindOf(from) : Kind::Nothing; !runsOverElements(k) && k != Kind::Passing)
        work.add(countOf(op->getOperand(i)) * shareOf(op), {1, 1, 1});
    }
  }

  double passes(mlir::Operation *op) const {
    double most = 0;
    for (mlir::Value v : {op->getOperand(0), op->getOperand(1)})
      most = std::max(most, bitsOf(v));
    if (most > 16)
      return target.number("cost.fp32_passes");
    return most <= 8 && target.has("double_row") ? 0.5 : 1;
  }

  // Whole tiles of the array; a last one that is small shares it with others where it can be cut.
  double tiles(double size, std::string_view least) const {
    const double grain = target.has("tile_32") ? 32 : target.number(least), whole = target.partitions;
    const double rest = std::fmod(size, whole);
    return std::floor(size / whole) + std::ceil(rest / grain) * grain / whole;
  }

  double product(mlir::Operation *op) const {
    const auto left = typeOf(op->getOperand(0)).getShape(), right = typeOf(op->getOperand(1)).getShape();
    double batch = 1, depth = 1, rows = 1, columns = 1;
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
      const auto d = dot.getDotDimensionNumbers();
      for (int64_t i : d.getLhsBatchingDimensions())
        batch *= static_cast<double>(left[static_cast<size_t>(i)]);
      for (int64_t i : d.getLhsContractingDimensions())
        depth *= static_cast<double>(left[static_cast<size_t>(i)]);
    } else if (!left.empty()) {
      depth = static_cast<double>(left.back());
    }
    for (int64_t s : left)
      rows *= static_cast<double>(s);
    for (int64_t s : right)
      columns *= static_cast<double>(s);
    if (batch * depth * rows * columns == 0)
      return 0;
    rows /= batch * depth;
    columns /= batch * depth;
    const double deep = tiles(depth, "limit.tile_row_min");
    const double cycles =
        std::min(tiles(rows, "limit.tile_column_min") * columns, tiles(columns, "limit.tile_column_min") * rows);
    return batch * deep * cycles * passes(op) / target.number("clock.tensor");
  }

  // Products of numbers that are there, at the full rate of the array: how taps and channels lie in it is the compiler's choice.
  double convolution(mlir::Operation *op) const {
    auto conv = llvm::cast<graph::ConvolutionOp>(op);
    const auto kernel = typeOf(conv.getRhs()).getShape();
    const auto d = conv.getDimensionNumbers();
    double sums = static_cast<double>(kernel[static_cast<size_t>(d.getKernelInputFeatureDimension())]);
    const auto spatial = d.getKernelSpatialDimensions();
    for (size_t i = 0; i < spatial.size(); ++i) {
      const double taps = static_cast<double>(kernel[static_cast<size_t>(spatial[i])]);
      const double apart = conv.getLhsDilation() ? static_cast<double>((*conv.getLhsDilation())[i]) : 1;
      sums *= std::max(1.0, std::floor(taps / apart));
      // Taps that lie in the border for most outputs.
      const double in =
          static_cast<double>(typeOf(conv.getLhs()).getShape()[static_cast<size_t>(d.getInputSpatialDimensions()[i])]);
      const double outs =
          static_cast<double>(typeOf(op->getResult(0)).getShape()[static_cast<size_t>(d.getOutputSpatialDimensions()[i])]);
      if (outs > 0)
        sums *= std::min(1.0, in * taps / (outs * std::max(1.0, std::floor(taps / apart))));
    }
    const double lanes = static_cast<double>(target.partitions) * target.partitions;
    return countOf(op->getResult(0)) * sums / lanes * passes(op) / target.number("clock.tensor");
  }

  void kernel(mlir::Operation *op) {
    auto call = llvm::cast<graph::CustomCallOp>(op);
    double latency = 0;
    if (auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr())) {
      nisa::Kernel k = nisa::parseKernel(text.getValue(), "kernel");
      k.op().setTarget(target.name);
      const ScheduleBound b = scheduleBound(k);
      out.tensor += b.busy[static_cast<int>(Engine::Tensor)] * cores;
      for (Engine e : {Engine::Vector, Engine::Scalar, Engine::GpSimd})
        work.busy(e, b.busy[static_cast<int>(e)] * cores);
      kernelTransfers += b.transfers;
      latency = b.path;
    }
    path(op, latency);
  }

  void path(mlir::Operation *op, double latency) {
    double start = 0;
    for (mlir::Value v : op->getOperands())
      start = std::max(start, ready.lookup(v));
    for (mlir::Value v : op->getResults())
      ready[v] = start + latency;
    out.path = std::max(out.path, start + latency);
  }

  // An argument is read as far as somebody needs it, a result written once.
  void memory(mlir::Block &body) {
    double in = 0, back = 0;
    for (mlir::Value v : body.getArguments())
      in += std::min(bytesOf(v), neededOf(v));
    for (mlir::Operation &op : body)
      if (auto c = llvm::dyn_cast<graph::ConstantOp>(op);
          c && !c.getValue().isSplat() && !typeOf(op.getResult(0)).getElementType().isInteger(1)) // a mask may be counted
        in += bytesOf(op.getResult(0));
    for (mlir::Value v : body.getTerminator()->getOperands())
      back += bytesOf(v);
    const double engines = std::max(target.dmaEngines, 1) * cores;
    out.transfers =
        in / target.number("dma.bytes_per_ns") / engines + back / target.number("dma.store_bytes_per_ns") / engines;
    out.transfers = std::max(out.transfers, kernelTransfers);
    out.hbm = (in + back) / target.number("hbm.bytes_per_ns");
    out.path += (in > 0 ? target.number("dma.fixed_latency") : 0) + (back > 0 ? target.number("dma.fixed_latency") : 0);
  }

  static double neededOf(mlir::Value v) {
    double sum = 0;
    for (mlir::Operation *user : v.getUsers()) {
      const llvm::StringRef name = nameOf(user);
      const bool part = (name == "slice" || name == "dynamic_slice" || name == "gather") && user->getOperand(0) == v;
      if (!part && name == "reshape")
        sum += neededOf(user->getResult(0));
      else
        sum += part ? bytesOf(user->getResult(0)) : bytesOf(v);
    }
    return sum;
  }
};

} // namespace

Least leastTime(mlir::func::FuncOp main, const Target &target, int cores) { return GraphWork(target, cores).run(main); }

} // namespace glia
