#include "glia/Emit/CompileGraph.h"
#include "CheckMemory.h"
#include "CompileGroup.h"
#include "GraphDump.h"
#include "GraphFacts.h"
#include "PlanTensors.h"
#include "RowsPlan.h"
#include "SimplifyGraph.h"
#include "glia/CodeGen/Compile.h"
#include "glia/Emit/Family.h"
#include "glia/Emit/KernelCalls.h"
#include "glia/Link/Link.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/TypeFeatures.h"
#include "glia/Target/WhoHas.h"

#include <map>

namespace glia {

using namespace emit;

namespace {

class GraphCompiler {
public:
  explicit GraphCompiler(const GraphOptions &options)
      : options(options), target(loadTarget(options.target)), dump(options.dump), written(options.target) {}

  CompiledGraph run(mlir::ModuleOp module) {
    if (options.cores < 1 || options.cores > std::min(2, target->maxCores))
      throw Error("GRAPH-CORES",
                  format("a graph is to run on %d cores, and %s has %d", options.cores, target->name.c_str(),
                         std::min(2, target->maxCores)),
                  "Use one core, or a target whose cores work in pairs.");
    CompiledGraph out;
    begin("simplify");
    main = simplifyGraph(module);
    dump.graph(module);
    begin("group");
    mlir::Block &body = main.getBody().front();
    out.operations = body.getOperations().size() - 1;
    std::vector<Group> groups = formGroups(body);
    out.groups = groups.size();
    checkMemory(body, groups, *target);
    declareArguments();
    declareResults();
    planLifetimes(groups);
    writeOver(groups);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (options.progress)
        options.progress("kernels", i, groups.size());
      call(groups[i]);
      plan.finish(i);
    }
    copyResults();
    if (calls.empty())
      callNothing();
    dump.finish();
    out.kernels = objects.size() + written.compiled();
    for (const Tensor &t : tensors)
      if (t.kind != TensorKind::Scratch)
        bytesOnce += static_cast<uint64_t>(t.bytes());
    out.bytesOnce = bytesOnce;
    begin("link");
    out.program = linkProgram(target, std::move(tensors), calls);
    return out;
  }

private:
  mlir::func::FuncOp main;
  const GraphOptions &options;
  std::shared_ptr<const Target> target; // a wrong name is found before any work
  GraphDump dump;
  KernelCalls written; // kernels that the graph brings along
  std::vector<Tensor> tensors;
  std::vector<LinkCall> calls;
  std::map<std::string, std::shared_ptr<const Program>> objects; // by structure
  llvm::DenseMap<mlir::Value, std::string> names;                // the program's tensor that holds a value
  uint64_t bytesOnce = 0;
  TensorPlan plan;                                         // of scratch tensors
  std::vector<std::pair<mlir::Value, std::string>> copies; // results that are stored elsewhere too

  void begin(std::string_view phase) {
    if (options.progress)
      options.progress(phase, 0, 1);
  }

  // Element types that this generation does not compute on. Converting computes.
  void refuseTypes(mlir::Block &body, std::vector<Diagnostic> &problems) const {
    const auto missing = [&](mlir::Type t) -> std::string_view {
      const std::optional<DType> d = machineType(mlir::getElementTypeOrSelf(t));
      for (const TypeFeature &f : kTypeFeatures)
        if (d == f.type && !target->has(f.feature))
          return f.feature;
      return {};
    };
    body.walk([&](mlir::Operation *op) {
      const llvm::StringRef name = opName(op);
      if (!isPointwise(name) && name != "dot_general" && name != "convolution" && name != "reduce")
        return;
      std::vector<mlir::Type> types(op->operand_type_begin(), op->operand_type_end());
      types.insert(types.end(), op->result_type_begin(), op->result_type_end());
      for (mlir::Type t : types) {
        const std::string_view needs = missing(t);
        if (needs.empty())
          continue;
        const nisa::Origin o = nisa::originOf(op->getLoc());
        Diagnostic out;
        out.code = "GRAPH-TYPE";
        llvm::raw_string_ostream(out.message)
            << op->getName() << " computes on " << t << ", which " << target->name << " does not" << whoHas(needs);
        out.advice = "Use another type here.";
        out.place = {o.file, o.line, 0};
        problems.push_back(std::move(out));
        break;
      }
    });
  }

  // Everything that cannot be lowered is said at once.
  std::vector<Group> formGroups(mlir::Block &body) {
    std::vector<Diagnostic> problems = written.check(body);
    refuseTypes(body, problems);
    try {
      std::vector<Group> groups = groupOperations(body);
      if (problems.empty())
        return groups;
    } catch (const Error &e) {
      problems.insert(problems.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
    throw Error(std::move(problems));
  }

  void declareArguments() {
    for (mlir::BlockArgument a : main.getBody().getArguments()) {
      const std::string name = "arg" + std::to_string(a.getArgNumber());
      Tensor t = tensorOf(a, name, TensorKind::Input);
      if (t.elements() > 0) // what has no elements is no part of a program
        tensors.push_back(std::move(t));
      names[a] = name;
    }
  }

  // The first use of a value as a result makes its tensor an output; further
  // ones, and results that are arguments or constants, are copied.
  void declareResults() {
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      const std::string name = "result" + std::to_string(i);
      const mlir::Value v = end->getOperand(i), root = rootOf(v);
      Tensor t = tensorOf(v, name, TensorKind::Output);
      if (t.elements() == 0)
        continue;
      tensors.push_back(std::move(t));
      const bool fresh = root.getDefiningOp() && opName(root.getDefiningOp()) != "constant" && !names.count(root);
      if (fresh)
        names[root] = name;
      else
        copies.push_back({root, name});
    }
  }

  void planLifetimes(const std::vector<Group> &groups) {
    for (size_t i = 0; i < groups.size(); ++i) {
      for (mlir::Value v : groups[i].inputs)
        plan.uses(rootOf(v), i);
      for (mlir::Value v : groups[i].outputs)
        plan.uses(rootOf(v), i);
      if (isKernelCall(groups[i].ops.front())) // it writes all its results, also those that nobody reads
        for (mlir::Value v : groups[i].ops.front()->getResults())
          if (v.use_empty())
            plan.uses(v, i);
    }
    for (const auto &[v, result] : copies)
      plan.keeps(v);
  }

  // Groups that change a part of a tensor change it where it lies, if they are the last to read it. Backwards: a chain of them that ends in
  // a result begins in the result's tensor.
  void writeOver(std::vector<Group> &groups) {
    llvm::DenseMap<mlir::Value, size_t> last;
    for (size_t i = 0; i < groups.size(); ++i)
      for (mlir::Value v : groups[i].inputs)
        last[rootOf(v)] = i;
    for (mlir::Value v : main.getBody().front().getTerminator()->getOperands())
      last[rootOf(v)] = SIZE_MAX;
    for (size_t i = groups.size(); i-- > 0;) {
      Group &g = groups[i];
      const std::optional<size_t> over = g.family->overwrites(g);
      if (!over)
        continue;
      const mlir::Value v = rootOf(g.inputs[*over]), out = g.outputs[0];
      const auto reads = [&](mlir::Value other) { return rootOf(other) == v; };
      if (!v.getDefiningOp() || opName(v.getDefiningOp()) == "constant" || last[v] != i ||
          llvm::count_if(g.inputs, reads) != 1)
        continue;
      g.over = over;
      plan.shares(v, out);
      if (const auto it = names.find(out); it != names.end())
        names[v] = std::string(it->second);
    }
  }

  const std::string &nameOf(mlir::Value v) {
    v = rootOf(v);
    auto [it, fresh] = names.try_emplace(v);
    if (!fresh)
      return it->second;
    it->second = "v" + std::to_string(names.size());
    mlir::Operation *op = v.getDefiningOp();
    Tensor t = tensorOf(v, it->second, TensorKind::Scratch);
    if (op && opName(op) == "constant") {
      t.kind = TensorKind::Constant;
      const std::vector<uint8_t> bytes = graph::constantBytes(llvm::cast<mlir::ElementsAttr>(op->getAttr("value")));
      const auto *first = reinterpret_cast<const std::byte *>(bytes.data());
      t.data.assign(first, first + bytes.size());
    } else {
      bytesOnce += 2 * static_cast<uint64_t>(t.bytes());
      std::string old = plan.take(t, calls.size());
      plan.holds(v, old.empty() ? t.name : old, t);
      if (!old.empty()) {
        it->second = std::move(old);
        return it->second;
      }
    }
    tensors.push_back(std::move(t));
    return it->second;
  }

  std::shared_ptr<const Program> compile(const Group &g) {
    std::shared_ptr<const Program> &object = objects[structureOf(g)];
    if (object) {
      dump.group(g, kernelName(*object), false);
      return object;
    }
    const std::string name = std::string(g.family->name()) + std::to_string(objects.size());
    const auto show = [&](nisa::Kernel &kernel) {
      dump.group(g, name, true);
      dump.kernel(kernel);
      if (options.onKernel)
        options.onKernel(kernel);
    };
    return object = std::make_shared<Program>(compileGroup(g, name, options.target, options.cores, show));
  }

  // A kernel that the graph brings along: its own names, in the order of operands and results.
  void callWritten(const Group &g) {
    mlir::Operation *op = g.ops.front();
    const size_t before = written.compiled();
    LinkCall c;
    c.object = written.compile(op);
    c.label = written.kernel(op).op().getSymName().str();
    const std::vector<std::string> inputs = tensorNames(*c.object, TensorKind::Input),
                                   outputs = tensorNames(*c.object, TensorKind::Output);
    for (size_t i = 0; i < inputs.size(); ++i)
      c.bind.push_back({inputs[i], nameOf(op->getOperand(i)), true});
    for (size_t i = 0; i < outputs.size(); ++i)
      c.bind.push_back({outputs[i], nameOf(op->getResult(i)), true});
    dump.group(g, c.label, written.compiled() != before);
    if (written.compiled() != before)
      dump.kernel(written.kernel(op));
    calls.push_back(std::move(c));
  }

  void call(const Group &g) {
    if (isKernelCall(g.ops.front()))
      return callWritten(g);
    LinkCall c;
    c.object = compile(g);
    c.label = std::string(g.family->name());
    if (g.over)
      names[g.outputs[0]] = std::string(nameOf(g.inputs[*g.over]));
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (elementsOf(g.inputs[i]) > 0 && g.over != i)
        c.bind.push_back({"in" + std::to_string(i), nameOf(g.inputs[i]), true});
    for (size_t i = 0; i < g.outputs.size(); ++i)
      c.bind.push_back({"out" + std::to_string(i), nameOf(g.outputs[i]), true});
    calls.push_back(std::move(c));
  }

  // A graph without results, or with results that have no elements, is a program all the same.
  void callNothing() {
    KernelBuilder k("nothing", options.target);
    nisa::Kernel kernel = k.finish();
    calls.push_back({std::make_shared<Program>(compileKernel(kernel)), "nothing", {}});
  }

  void copyResults() {
    for (const auto &[v, result] : copies) {
      const Tensor t = tensorOf(v, "", TensorKind::Scratch);
      KernelBuilder k("copy", options.target);
      const Tile in = k.input("in0", t.dtype, t.shape), out = k.output("out0", t.dtype, t.shape);
      k.copy(out, in);
      nisa::Kernel kernel = k.finish();
      LinkCall c;
      c.object = std::make_shared<Program>(compileKernel(kernel));
      c.label = "copy";
      c.bind = {{"in0", nameOf(v), true}, {"out0", result, true}};
      calls.push_back(std::move(c));
    }
  }
};

} // namespace

CompiledGraph compileGraph(mlir::ModuleOp module, const GraphOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> work(module.clone());
  return GraphCompiler(options).run(*work);
}

} // namespace glia
