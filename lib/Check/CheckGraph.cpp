#include "glia/Check/CheckGraph.h"
#include "CheckProgram.h"
#include "CompareTensors.h"
#include "FloatBits.h"
#include "Region/CompileGroup.h"
#include "Region/WriteKernel.h"
#include "Region/Form/ExtractGroup.h"
#include "Region/Form/FormGroups.h"
#include "Reference.h"
#include "Graph/Decompose/NumberRanks.h"
#include "Graph/Simplify/SimplifyGraph.h"
#include "Graph/Simplify/Survivors.h"
#include "glia/Graph/Graph.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Random.h"
#include "glia/Verify/Verify.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>
#include <numbers>

namespace glia {

using namespace emit;

namespace {

// Operations on floats that docs/numerics.md calls exact: one rounding at most, the same one everywhere.
bool isExact(mlir::Operation *op) {
  static const llvm::StringSet<> names = {"add",
                                          "subtract",
                                          "multiply",
                                          "negate",
                                          "abs",
                                          "square",
                                          "maximum",
                                          "minimum",
                                          "clamp",
                                          "floor",
                                          "ceil",
                                          "round_nearest_even",
                                          "compare",
                                          "select",
                                          "is_finite",
                                          "round_nearest_afz",
                                          "and",
                                          "or",
                                          "xor",
                                          "not",
                                          "iota",
                                          "reshape",
                                          "broadcast_in_dim",
                                          "broadcast",
                                          "transpose",
                                          "slice",
                                          "pad",
                                          "concatenate",
                                          "reverse",
                                          "dynamic_slice",
                                          "gather",
                                          "dynamic_update_slice",
                                          "constant",
                                          "top_k",
                                          "select_and_scatter",
                                          "bitcast_convert",
                                          "optimization_barrier"};
  const auto isReal = [](mlir::Type t) { return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(t)); };
  const bool real = llvm::any_of(op->getResultTypes(), isReal);
  const llvm::StringRef name = opName(op);
  if (isKernelCall(op)) // its instructions one after the other give the same bits
    return true;
  if (name == "convert") // from an integer: rounded twice on the way to a narrow float
    return !real || isReal(op->getOperand(0).getType());
  if (name == "reduce" || name == "reduce_window" || name == "scatter" || name == "select_and_scatter") {
    bool sums = false;
    op->getRegions().back().walk([&](mlir::Operation *inner) {
      const llvm::StringRef n = opName(inner);
      sums |= n != "maximum" && n != "minimum" && n != "return" && n != "compare" && n != "select";
    });
    return !real || !sums;
  }
  return names.contains(name) || (!real && llvm::none_of(op->getOperandTypes(), isReal));
}

// Of +0 and -0 the machine's maximum and minimum give the second operand, and an arg-max the one that its order meets.
bool choosesZeros(mlir::Operation *op) {
  const auto chooses = [](mlir::Operation *inner) {
    const llvm::StringRef name = opName(inner);
    return name == "maximum" || name == "minimum" || name == "clamp";
  };
  bool found = opName(op) == "reduce" && op->getNumResults() > 1;
  op->walk([&](mlir::Operation *inner) { found |= chooses(inner); });
  return found;
}

std::optional<Element> elementOf(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << mlir::getElementTypeOrSelf(type);
  return parseElement(name);
}

std::string listOf(const Group &g) {
  llvm::SetVector<llvm::StringRef> names;
  for (mlir::Operation *op : g.ops)
    if (!isAlias(op))
      names.insert(opName(op));
  std::string out;
  for (llvm::StringRef n : names)
    out += (out.empty() ? "" : ", ") + n.str();
  return out;
}

std::string number(double x) { return format("%.9g", x); }

constexpr int kTimes = 4; // that something is shaken

// The longest sum of the operations: of products, over dimensions or over a window.
double longestSum(const Group &g) {
  int64_t most = 1;
  for (mlir::Operation *op : g.ops) {
    const auto elements = [&](unsigned operand) { return std::max<int64_t>(elementsOf(op->getOperand(operand)), 1); };
    const int64_t results = op->getNumResults() ? std::max<int64_t>(elementsOf(op->getResult(0)), 1) : 1;
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
      int64_t depth = 1;
      for (int64_t d : dot.getDotDimensionNumbers().getLhsContractingDimensions())
        depth *= shapeOf(op->getOperand(0))[static_cast<size_t>(d)];
      most = std::max(most, depth);
    } else if (opName(op) == "reduce") {
      most = std::max(most, elements(0) / results);
    } else if (opName(op) == "convolution") { // at most: positions of the kernel times channels
      most = std::max(most, elements(1));
    } else if (auto window = op->getAttrOfType<mlir::DenseI64ArrayAttr>("window_dimensions")) {
      int64_t taps = 1;
      for (int64_t n : window.asArrayRef())
        taps *= n;
      most = std::max(most, taps);
    } else if (opName(op) == "scatter") { // all updates may meet in one place
      most = std::max(most, elements(op->getNumOperands() - 1));
    }
  }
  return static_cast<double>(most);
}

// The results, in f64, of inputs of which every float is off by up to a rounding of f32, a few times. A sum of n terms that is rounded n times
// is what inputs off by about sqrt(n) roundings give.
std::vector<std::vector<HostTensor>> shake(mlir::ModuleOp module, const std::vector<HostTensor> &inputs, size_t results,
                                           double sum) {
  std::vector<std::vector<HostTensor>> out(results);
  Random random(1);
  const double by = 0x1p-34 * std::sqrt(sum);
  for (int t = 0; t < kTimes; ++t) {
    std::vector<HostTensor> moved = inputs;
    for (HostTensor &h : moved) {
      if (!isFloat(h.element))
        continue;
      const size_t n = h.bytes.size() / info(h.element).bytes;
      std::vector<Word> words(n);
      decode(h.element, h.bytes.data(), words.data(), n);
      for (Word &w : words) // infinities stay what they are
        w = std::bit_cast<Word>(std::bit_cast<double>(w) * (1 + static_cast<double>(random.between(-1024, 1024)) * by));
      h.element = Element::F64;
      h.bytes.resize(n * sizeof(double));
      encode(Element::F64, words.data(), h.bytes.data(), n);
    }
    const std::vector<HostTensor> r = interpret(module, "main", moved, reference(true));
    for (size_t i = 0; i < results; ++i)
      out[i].push_back(r[i]);
  }
  return out;
}

// The same bytes in the types that a simplified graph has for its arguments: 64-bit integers are two words.
std::vector<HostTensor> asDeclared(std::vector<HostTensor> inputs, mlir::Block &body) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto type = llvm::cast<mlir::RankedTensorType>(body.getArgument(static_cast<unsigned>(i)).getType());
    inputs[i].element = *elementOf(type);
    inputs[i].shape.assign(type.getShape().begin(), type.getShape().end());
  }
  return inputs;
}

class Checker {
public:
  // `survivors`: what is known of the graph before it was simplified; may be null.
  explicit Checker(const GraphOptions &options, const Survivors *survivors = nullptr)
      : options(options), survivors(survivors) {}

  void run(mlir::ModuleOp module, mlir::func::FuncOp main, const std::vector<HostTensor> &whole, GraphCheck &out) {
    mlir::Block &body = main.getBody().front();
    const std::vector<HostTensor> inputs = asDeclared(whole, body);
    KernelCalls written(options.target);
    const std::vector<Group> groups = formGroups(body, *loadTarget(options.target), written);
    llvm::DenseSet<mlir::Value> wanted;
    for (const Group &g : groups) {
      wanted.insert(g.inputs.begin(), g.inputs.end());
      wanted.insert(g.outputs.begin(), g.outputs.end());
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      values[body.getArgument(static_cast<unsigned>(i))] = inputs[i];
    if (survivors)
      given = survivors->evaluate(wanted, whole, reference(false));
    InterpretOptions interpreting = reference(false);
    interpreting.onValue = [&](mlir::Operation *op, unsigned i, const HostTensor &t) {
      if (wanted.contains(op->getResult(i)))
        values[op->getResult(i)] = t;
    };
    interpret(module, std::string(main.getSymName()), inputs, interpreting);
    out.groups = groups.size();
    for (size_t i = 0; i < groups.size(); ++i) {
      if (options.progress)
        options.progress("groups", i, groups.size());
      check(groups[i], i, out);
      out.operations += groups[i].ops.size();
    }
    out.kernels = objects.size();
  }

private:
  struct Object {
    Program program;
    std::vector<Diagnostic> refused;
  };
  const GraphOptions &options;
  const Survivors *survivors;
  llvm::DenseMap<mlir::Value, HostTensor> values; // of the simplified graph
  llvm::DenseMap<mlir::Value, HostTensor> given;  // of the graph as it was given, where they are the same
  std::map<std::string, Object> objects;

  const Object &objectOf(const Group &g) {
    auto [it, fresh] = objects.try_emplace(structureOf(g));
    if (fresh) {
      it->second.program = compileGroup(g, std::string(g.family->name()) + std::to_string(objects.size() - 1),
                                        options.target, options.cores, options.onKernel);
      it->second.refused = withCompilerFaults(verify(it->second.program).diagnostics, it->second.program,
                                              isKernelCall(g.ops.front()) ? CompiledFrom::Kernel : CompiledFrom::Graph);
    }
    return it->second;
  }

  // What the results of the group rest on, inside it.
  static Closeness closenessOf(const Group &g, mlir::Value v) {
    llvm::SetVector<mlir::Operation *> behind;
    behind.insert(v.getDefiningOp());
    const bool real = llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType()));
    size_t rounding = 0;
    bool anyZero = false;
    for (size_t i = 0; i < behind.size(); ++i) {
      rounding += !isExact(behind[i]);
      anyZero |= real && choosesZeros(behind[i]);
      for (mlir::Value o : behind[i]->getOperands())
        if (mlir::Operation *op = o.getDefiningOp(); op && g.contains(op))
          behind.insert(op);
    }
    if (rounding == 0)
      return anyZero ? Closeness::Number : Closeness::Exact;
    if (!real)
      return Closeness::Decided;
    return rounding == 1 ? Closeness::Rounding : Closeness::Chain;
  }

  // What an operation that was given reads, as it was: constants may have been computed in another order.
  bool isAsGiven(const Group &g, mlir::Value v) const {
    mlir::Operation *op = v.getDefiningOp();
    if (!op || given.contains(v) || g.contains(op))
      return true;
    return survivors->contains(op) && llvm::all_of(op->getOperands(), [&](mlir::Value o) { return isAsGiven(g, o); });
  }

  // A group is compared with the graph as it was given if all that it reads and writes is there; else with the simplified graph.
  const llvm::DenseMap<mlir::Value, HostTensor> &referenceOf(const Group &g) const {
    const auto there = [&](mlir::Value v) { return !v.getDefiningOp() || given.contains(v); };
    const auto unchanged = [&](mlir::Operation *op) {
      return !survivors->contains(op) || llvm::all_of(op->getOperands(), [&](mlir::Value v) { return isAsGiven(g, v); });
    };
    return survivors && llvm::all_of(g.inputs, there) && llvm::all_of(g.outputs, there) && llvm::all_of(g.ops, unchanged)
               ? given
               : values;
  }

  void check(const Group &g, size_t index, GraphCheck &out) {
    const Object &object = objectOf(g);
    const std::string name = format("group %zu (%s: %s)", index, std::string(g.family->name()).c_str(), listOf(g).c_str());
    if (!object.refused.empty()) {
      for (Diagnostic d : object.refused) {
        d.notes.push_back("the compiled " + name + " breaks this rule");
        out.wrong.push_back(std::move(d));
      }
      return;
    }
    const llvm::DenseMap<mlir::Value, HostTensor> &from = referenceOf(g);
    const auto at = [&](mlir::Value v) -> const HostTensor & { return (v.getDefiningOp() ? from : values).at(v); };
    TensorData data;
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < g.inputs.size(); ++i) {
      inputs.push_back(at(g.inputs[i]));
      if (!inputs.back().bytes.empty())
        data["in" + std::to_string(i)] = inputs.back().bytes;
    }
    const RunResult r = glia::run(object.program, data);
    if (!r.ok()) {
      Diagnostic d = r.fault ? *r.fault : *r.trap;
      d.notes.push_back("in the compiled " + name);
      out.wrong.push_back(std::move(d));
      return;
    }
    mlir::OwningOpRef<mlir::ModuleOp> alone = extractGroup(g);
    const std::vector<HostTensor> ideal = interpret(*alone, "main", inputs, reference(true));
    std::vector<std::vector<HostTensor>> shaken; // by output
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      const HostTensor &want = at(g.outputs[i]);
      const HostTensor got{want.element, want.shape, r.outputs.at("out" + std::to_string(i))};
      const Closeness rule = closenessOf(g, g.outputs[i]);
      Difference d = compareTensors(got, want, &ideal[i], rule);
      if (!d.ok() && (rule == Closeness::Rounding || rule == Closeness::Chain)) {
        if (shaken.empty())
          shaken = shake(*alone, inputs, ideal.size(), longestSum(g));
        d = compareTensors(got, want, &ideal[i], rule, shaken[i]);
      }
      if (const std::optional<FloatBits> bits = d.ok() ? std::nullopt : floatBitsOf(g, g.outputs[i]))
        d = compareBits(g, *bits, inputs, got, want);
      if (!d.ok()) {
        out.wrong.push_back(describe(g, name, i, d));
        if (g.ops.size() > 1)
          checkOperations(*alone, inputs, out.wrong.back());
        return;
      }
    }
  }

  // The bits of a rounded float are as near as the float may be.
  static Difference compareBits(const Group &g, const FloatBits &bits, const std::vector<HostTensor> &inputs,
                                const HostTensor &got, const HostTensor &want) {
    mlir::OwningOpRef<mlir::ModuleOp> before = extractGroup(bits.before), behind = extractGroup(bits.behind);
    const HostTensor number = interpret(*before, "main", inputs, reference(false))[0],
                     ideal = interpret(*before, "main", inputs, reference(true))[0];
    const std::vector<HostTensor> shaken = shake(*before, inputs, 1, longestSum(g))[0];
    const auto [least, largest] = takenFloats(number, ideal, closenessOf(g, bits.number), shaken);
    const auto made = [&](const HostTensor &of) {
      std::vector<HostTensor> all = inputs;
      all.push_back(of);
      return interpret(*behind, "main", all, reference(false))[0];
    };
    return compareBetween(got, want, made(least), made(largest));
  }

  static Diagnostic describe(const Group &g, const std::string &name, size_t i, const Difference &d) {
    mlir::Operation *op = g.outputs[i].getDefiningOp();
    const nisa::Origin o = nisa::originOf(op->getLoc());
    Diagnostic out;
    out.code = "GRAPH-DIFFERS";
    out.message = format("%s differs from the reference in %zu of %zu elements of the result of %s", name.c_str(), d.wrong,
                         d.elements, op->getName().getStringRef().str().c_str());
    out.place = {o.file, o.line, 0};
    out.value = number(d.got);
    out.limit = number(d.want);
    out.notes.push_back(format("the first is element %s: %s, the reference has %s",
                               indexText(shapeOf(g.outputs[i]), d.first).c_str(), out.value.c_str(), out.limit.c_str()));
    out.notes.push_back(format("relative error %.2g against f64; the reference's own is %.2g", d.error, d.reference));
    out.advice = "This is a mistake of the compiler: report the group, `--dump` writes it as a graph of its own.";
    return out;
  }

  // The operations of a group, each alone, on the reference's values.
  void checkOperations(mlir::ModuleOp group, const std::vector<HostTensor> &inputs, Diagnostic &whole) {
    llvm::DenseMap<mlir::Value, HostTensor> inside;
    auto main = group.lookupSymbol<mlir::func::FuncOp>("main");
    mlir::Block &body = main.getBody().front();
    for (size_t i = 0; i < inputs.size(); ++i)
      inside[body.getArgument(static_cast<unsigned>(i))] = inputs[i];
    InterpretOptions interpreting = reference(false);
    interpreting.onValue = [&](mlir::Operation *op, unsigned i, const HostTensor &t) { inside[op->getResult(i)] = t; };
    interpret(group, "main", inputs, interpreting);
    for (mlir::Operation &op : body.without_terminator()) {
      if (opName(&op) == "constant" || isAlias(&op))
        continue;
      Group one{nullptr, {&op}, {}, {op.result_begin(), op.result_end()}};
      std::vector<HostTensor> arguments;
      for (mlir::Value v : op.getOperands())
        if (!splatOf(v) && !llvm::is_contained(one.inputs, v)) {
          one.inputs.push_back(v);
          arguments.push_back(inside.at(v));
        }
      mlir::OwningOpRef<mlir::ModuleOp> alone = extractGroup(one);
      GraphCheck inner;
      try {
        Checker(options).run(*alone, alone->lookupSymbol<mlir::func::FuncOp>("main"), arguments, inner);
      } catch (const Error &) {
        continue; // it cannot stand alone
      }
      if (inner.ok())
        continue;
      const nisa::Origin o = nisa::originOf(op.getLoc());
      whole.place = {o.file, o.line, 0};
      whole.notes.push_back(op.getName().getStringRef().str() + " alone differs too: " + inner.wrong[0].notes[0]);
      return;
    }
    whole.notes.push_back("each of its operations alone is right");
  }
};

} // namespace

std::vector<HostTensor> randomInputs(mlir::func::FuncOp main, uint64_t seed) {
  Random random(seed);
  const auto uniform = [&] { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; };
  std::vector<HostTensor> out;
  for (mlir::Type type : main.getArgumentTypes()) {
    const auto t = llvm::dyn_cast<mlir::RankedTensorType>(type);
    const auto complex = llvm::dyn_cast<mlir::ComplexType>(mlir::getElementTypeOrSelf(type));
    const std::optional<Element> e = elementOf(complex ? complex.getElementType() : type);
    if (!t || !e) {
      std::string name;
      llvm::raw_string_ostream(name) << type;
      throw Error("GRAPH-TYPE", "an argument of type " + name + " cannot be made up", "Give inputs, with --input.");
    }
    HostTensor h{*e, {t.getShape().begin(), t.getShape().end()}, {}, static_cast<bool>(complex)};
    if (complex)
      h.shape.push_back(2);
    const auto n = static_cast<size_t>(t.getNumElements()) * (complex ? 2 : 1);
    std::vector<Word> words(n);
    for (Word &w : words) {
      const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
      w = isFloat(*e)           ? std::bit_cast<Word>(roundTo(info(*e), normal))
          : *e == Element::Pred ? static_cast<Word>(random.below(2))
                                : static_cast<Word>(random.below(info(*e).bits < 8 ? 2 : 16));
    }
    h.bytes.resize(n * info(*e).bytes);
    encode(*e, words.data(), h.bytes.data(), n);
    out.push_back(std::move(h));
  }
  return out;
}

GraphCheck checkGraph(mlir::ModuleOp module, std::vector<HostTensor> inputs, const GraphOptions &options) {
  GraphCheck out;
  if (rankCounts(module).ranks() == 1) { // of several ranks no group can run alone
    mlir::OwningOpRef<mlir::ModuleOp> work(module.clone());
    Survivors survivors;
    mlir::func::FuncOp main = simplifyGraph(*work, [&](std::string_view rewrite, mlir::func::FuncOp f) {
      survivors.after(rewrite, f);
      if (options.onRewrite)
        options.onRewrite(rewrite, f);
    });
    Checker(options, &survivors).run(*work, main, inputs, out);
  }
  if (out.ok())
    checkProgram(module, inputs, options, out);
  return out;
}

} // namespace glia
