#include "glia/Region/CompileGraph.h"
#include "Region/Place/CheckMemory.h"
#include "WriteKernel.h"
#include "Region/Place/Donation.h"
#include "Region/Form/DelayGroups.h"
#include "Region/Form/Region.h"
#include "Region/Form/FormGroups.h"
#include "GraphDump.h"
#include "Objects.h"
#include "Graph/Decompose/CollectiveCall.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Graph/Decompose/NumberRanks.h"
#include "Region/Place/PlanTensors.h"
#include "Region/Place/RankParts.h"
#include "Lower/Rows/RowsPlan.h"
#include "Graph/Simplify/SimplifyGraph.h"
#include "glia/Bound/GraphBound.h"
#include "glia/CodeGen/Compile.h"
#include "glia/Program/RankContract.h"
#include "glia/Lower/Family.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Link/Link.h"
#include "glia/Profile/ProgramBound.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Topology.h"

#include <map>
#include <utility>

namespace glia {

using namespace emit;

namespace {

constexpr int64_t kShareOfExchanges = 16; // of HBM: for what exchanges between ranks were the last to read

class GraphCompiler {
public:
  explicit GraphCompiler(const GraphOptions &options)
      : options(options), target(loadTarget(options.target)),
        topology(options.topology.empty() ? nullptr : loadTopology(options.topology, {.lnc = options.cores})),
        dump(options.dump), written(options.target), objects(options, dump),
        plan(target->integer("memory.hbm_bytes") / kShareOfExchanges) {}

  CompiledGraph run(mlir::ModuleOp module) {
    CompiledGraph out;
    if (rankCounts(module).ranks() > 1) {
      begin("partition");
      out.parts = partitionGraph(module, {.strict = options.strictSharding});
    }
    begin("simplify");
    simplify(module);
    dump.graph(module);
    begin("group");
    mlir::Block &body = main.getBody().front();
    out.operations = body.getOperations().size() - 1;
    std::vector<Group> groups = formGroups(body, *target, written);
    out.groups = groups.size();
    out.least = leastTime(main, *target, options.cores);
    checkMemory(body, groups, *target);
    declareArguments();
    declareResults();
    const std::vector<Donation> donations = donationsOf(main);
    delayGroups(groups);
    orderForDonations(groups, main, donations);
    planLifetimes(groups);
    writeOver(groups);
    donate(groups, donations);
    callAll(groups);
    copyResults();
    if (calls.empty())
      callNothing();
    dump.finish();
    llvm::DenseSet<const Program *> distinct;
    for (const LinkCall &c : calls)
      distinct.insert(c.object.get());
    out.kernels = distinct.size();
    out.calls = calls.size();
    out.choices = objects.choices();
    out.written = written.compiled() > 0;
    for (const Tensor &t : tensors)
      if (t.kind != TensorKind::Scratch)
        bytesOnce += static_cast<uint64_t>(t.bytes()) * (t.from.empty() ? 1 : 2);
    out.bytesOnce = bytesOnce;
    begin("link");
    out.program = linkProgram(target, std::move(tensors), calls);
    out.program.contract.push_back({std::string(kLeastTime), format("%.1f", out.least.total())});
    out.program.contract.push_back({std::string(kLeastReason), out.least.reason()});
    sayRanks(out.program, out.parts);
    return out;
  }

  Least bound(mlir::ModuleOp module) {
    simplify(module);
    if (std::vector<Diagnostic> wrong = written.check(main.getBody().front()); !wrong.empty())
      throw Error(std::move(wrong));
    return leastTime(main, *target, options.cores);
  }

private:
  mlir::func::FuncOp main;
  const GraphOptions &options;
  std::shared_ptr<const Target> target; // a wrong name is found before any work
  std::shared_ptr<const Topology> topology;
  GraphDump dump;
  KernelCalls written; // kernels that the graph brings along
  std::vector<Tensor> tensors;
  std::vector<LinkCall> calls;
  Objects objects;
  llvm::DenseMap<mlir::Value, std::string> names; // the program's tensor that holds a value
  uint64_t bytesOnce = 0;
  TensorPlan plan;                                         // of scratch tensors
  std::vector<std::pair<mlir::Value, std::string>> copies; // results that are stored elsewhere too

  void simplify(mlir::ModuleOp module) {
    if (options.cores < 1 || options.cores > std::min(2, target->maxCores))
      throw Error("GRAPH-CORES",
                  format("a graph is to run on %d cores, and %s has %d", options.cores, target->name.c_str(),
                         std::min(2, target->maxCores)),
                  "Use one core, or a target whose cores work in pairs.");
    if (options.effort < 0 || options.effort > 2)
      throw Error("GRAPH-EFFORT", format("an effort of %d", options.effort),
                  "0: every group is a kernel of its own; 1: groups become one where that is faster; 2: more is tried.");
    main = simplifyGraph(module, options.onRewrite);
  }

  void begin(std::string_view phase) {
    if (options.progress)
      options.progress(phase, 0, 1);
  }

  void declareArguments() {
    for (mlir::BlockArgument a : main.getBody().getArguments()) {
      const std::string name = "arg" + std::to_string(a.getArgNumber());
      Tensor t = tensorOf(a, name, TensorKind::Input);
      if (main.getArgAttr(a.getArgNumber(), kRankArgument)) {
        t.hasRange = true;
        t.rangeHi = rankCounts(main->getParentOfType<mlir::ModuleOp>()).ranks() - 1;
      }
      if (t.elements() > 0) // what has no elements is no part of a program
        tensors.push_back(std::move(t));
      names[a] = name;
    }
  }

  static void sayParts(Program &p, const std::string &name, const Placement &place, int ranks) {
    const int input = p.findInput(name), tensor = input >= 0 ? input : p.findTensor(name);
    if (tensor >= 0 && !place.start.empty()) // else each rank's own
      p.contract.push_back(
          {partsKey(name), textOf(emit::partsOf(place, p.tensors[static_cast<size_t>(tensor)].shape, ranks))});
  }

  void sayRanks(Program &p, const PartitionedGraph &parts) {
    if (parts.ranks == 1)
      return;
    if (topology)
      p.contract.push_back({std::string(kTopologyKey), topology->text});
    p.contract.push_back({std::string(kRanksKey), std::to_string(parts.ranks)});
    for (size_t i = 0; i < parts.arguments.size(); ++i)
      sayParts(p, "arg" + std::to_string(i), parts.arguments[i], parts.ranks);
    for (size_t i = 0; i < parts.results.size(); ++i)
      sayParts(p, "result" + std::to_string(i), parts.results[i], parts.ranks);
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      if (main.getArgAttr(i, kRankArgument))
        p.contract.push_back({std::string(kRankInputKey), "arg" + std::to_string(i)});
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

  // Of each value, the last group that reads it; SIZE_MAX: it is a result.
  llvm::DenseMap<mlir::Value, size_t> lastReaders(std::span<const Group> groups) {
    llvm::DenseMap<mlir::Value, size_t> last;
    for (size_t i = 0; i < groups.size(); ++i)
      for (mlir::Value v : groups[i].inputs)
        last[rootOf(v)] = i;
    for (mlir::Value v : main.getBody().front().getTerminator()->getOperands())
      last[rootOf(v)] = SIZE_MAX;
    return last;
  }

  // Groups that change a part of a tensor change it where it lies, if they are the last to read it. Backwards: a chain of them that ends in
  // a result begins in the result's tensor.
  void writeOver(std::vector<Group> &groups) {
    llvm::DenseMap<mlir::Value, size_t> last = lastReaders(groups);
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

  // A result takes the place of an argument that was given away for it, if nobody reads the argument afterwards. Its first writer may read
  // it too, if it can work in place.
  void donate(std::vector<Group> &groups, const std::vector<Donation> &donations) {
    if (donations.empty())
      return;
    llvm::DenseMap<mlir::Value, std::vector<std::pair<size_t, size_t>>> readers; // arguments: groups, and which inputs
    llvm::StringMap<std::pair<size_t, size_t>> writers; // results: the first group, and which output
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t n = 0; n < groups[i].inputs.size(); ++n)
        readers[rootOf(groups[i].inputs[n])].push_back({i, n});
      for (size_t n = 0; n < groups[i].outputs.size(); ++n)
        if (const auto it = names.find(rootOf(groups[i].outputs[n])); it != names.end())
          writers.try_emplace(it->second, i, n);
    }
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (const Donation &d : donations) {
      const mlir::Value argument = main.getArgument(d.argument);
      const std::string result = "result" + std::to_string(d.result);
      const auto writer = writers.find(result);
      if (writer == writers.end() || names.lookup(rootOf(end->getOperand(d.result))) != result ||
          llvm::any_of(copies, [&](const auto &c) { return c.first == argument; }))
        continue;
      const auto [group, output] = writer->second;
      Group &g = groups[group];
      const std::vector<std::pair<size_t, size_t>> read = readers.lookup(argument);
      const auto unfit = [&](const auto &r) { return r.first > group || isKernelCall(groups[r.first].ops.front()); };
      const auto here = llvm::count_if(read, [&](const auto &r) { return r.first == group; });
      if (llvm::any_of(read, unfit) || here > 1)
        continue;
      if (here == 1 && g.family->overwrites(g) == read.back().second)
        g.over = read.back().second;
      else if (here == 1 && !g.over)
        g.inPlace.push_back({read.back().second, output});
      else if (here == 1)
        continue;
      share(result, argument);
    }
  }

  void callAll(std::span<const Group> groups) {
    const llvm::DenseMap<mlir::Value, size_t> lastRead = lastReaders(groups);
    begin("kernels"); // where regions begin depends on the groups' kernels
    size_t done = 0;
    const std::vector<size_t> lengths = objects.regionLengths(groups);
    for (size_t i = 0; i < lengths.size(); done += lengths[i++]) {
      if (options.progress)
        options.progress("kernels", done, groups.size());
      callTogether(groups, done, lengths[i], lastRead);
    }
  }

  // Groups [from, from + n) as one region, or as two that are tried likewise, or each alone.
  void callTogether(std::span<const Group> groups, size_t from, size_t n,
                    const llvm::DenseMap<mlir::Value, size_t> &lastRead) {
    const std::span<const Group> now = groups.subspan(from, n);
    if (n == 1 || !callRegion(regionOf(now, [&](mlir::Value v) { return lastRead.lookup(v) >= from + n; }))) {
      if (const size_t first = objects.isLong(now) ? middleOf(now) : 0) {
        callTogether(groups, from, first, lastRead);
        return callTogether(groups, from + first, n - first, lastRead);
      }
      for (const Group &g : now)
        call(g);
    }
    for (size_t i = from; i < from + n; ++i)
      plan.finish(i, calls.size() - 1, isCollectiveCall(groups[i].ops.front()));
  }

  // False: its groups are better off alone.
  bool callRegion(emit::Region r) {
    for (size_t o = 0; o < r.outputs.size(); ++o) // a result in the place of an argument
      if (const auto it = names.find(r.outputs[o]); it != names.end())
        for (size_t i = 0; i < r.inputs.size(); ++i)
          if (const auto other = names.find(r.inputs[i]); other != names.end() && other->second == it->second)
            r.inPlace.push_back({i, o});
    LinkCall c{objects.of(r), "region", {}};
    if (!c.object)
      return false;
    dump.region(r, kernelName(*c.object));
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (c.object->findTensor(inputName(i)) >= 0)
        c.bind.push_back({inputName(i), nameOf(r.inputs[i]), true});
    for (size_t i = 0; i < r.outputs.size(); ++i)
      c.bind.push_back({outputName(i), nameOf(r.outputs[i]), true});
    calls.push_back(std::move(c));
    return true;
  }

  Tensor &tensorNamed(const std::string &name) {
    return *llvm::find_if(tensors, [&](const Tensor &t) { return t.name == name; });
  }

  void share(const std::string &result, mlir::Value argument) {
    const std::string name = names[argument];
    llvm::erase_if(tensors, [&](const Tensor &t) { return t.name == name; });
    tensorNamed(result).from = name;
    names[argument] = result;
  }

  // The kernel cannot work in place after all. So far, everybody read the argument.
  void unshare(mlir::Value argument) {
    const std::string result = names[argument];
    std::string name = std::exchange(tensorNamed(result).from, "");
    tensors.insert(tensors.begin(), tensorOf(argument, name, TensorKind::Input));
    for (LinkCall &c : calls)
      for (Binding &b : c.bind)
        if (b.tensor == result)
          b.tensor = name;
    names[argument] = std::move(name);
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
    dump.group(g, c.label);
    if (written.compiled() != before)
      dump.kernel(written.kernel(op));
    calls.push_back(std::move(c));
  }

  void call(const Group &g) {
    if (isKernelCall(g.ops.front()))
      return callWritten(g);
    LinkCall c;
    c.object = objects.of(g);
    dump.group(g, kernelName(*c.object));
    c.label = std::string(g.family->name());
    if (g.over)
      names[g.outputs[0]] = std::string(nameOf(g.inputs[*g.over]));
    const auto isRead = [&](size_t i) { return c.object->findTensor(inputName(i)) >= 0; };
    for (const auto &[input, output] : g.inPlace)
      if (isRead(input))
        unshare(rootOf(g.inputs[input]));
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (isRead(i))
        c.bind.push_back({inputName(i), nameOf(g.inputs[i]), true});
    for (size_t i = 0; i < g.outputs.size(); ++i)
      c.bind.push_back({outputName(i), nameOf(g.outputs[i]), true});
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

Least boundGraph(mlir::ModuleOp module, const GraphOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> work(module.clone());
  return GraphCompiler(options).bound(*work);
}

} // namespace glia
