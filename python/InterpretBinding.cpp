// The reference interpreter for Python: text of a graph and arrays in, arrays out. glia.interpret is the public form.
#include "Bindings.h"
#include "GraphBytes.h"
#include "glia/Check/CheckGraph.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Graph/Partition.h"
#include "glia/Graph/Read.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace glia {

namespace {

using Array = std::tuple<std::string, std::vector<int64_t>, nb::bytes>; // element type, shape, data
using Watcher = std::function<void(std::string, std::string, unsigned, Array)>;

HostTensor hostTensorOf(const Array &a) {
  const auto &[type, shape, data] = a;
  const bool pairs = type.starts_with("complex<");
  const std::optional<Element> e = parseElement(pairs ? type.substr(8, 3) : type);
  if (!e)
    throw Error("GRAPH-ARGUMENT", "`" + type + "` is no element type of graphs");
  HostTensor h{*e, shape, {}, pairs};
  if (pairs)
    h.shape.push_back(2);
  const auto *first = reinterpret_cast<const decltype(h.bytes)::value_type *>(data.c_str());
  h.bytes.assign(first, first + data.size());
  return h;
}

Array arrayOf(const HostTensor &h) {
  const std::string name(info(h.element).name);
  const std::vector<int64_t> shape(h.shape.begin(), h.shape.end() - (h.pairs ? 1 : 0));
  return {h.pairs ? "complex<" + name + ">" : name, shape,
          nb::bytes(reinterpret_cast<const char *>(h.bytes.data()), h.bytes.size())};
}

std::vector<Array> interpretBytes(const GraphBytes &graph, const std::vector<Array> &inputs, const std::string &function,
                                  std::string_view file, bool inDouble, uint64_t shaken,
                                  const std::optional<Watcher> &watcher) {
  std::vector<HostTensor> in, out;
  for (const Array &a : inputs)
    in.push_back(hostTensorOf(a));
  InterpretOptions options;
  options.inDouble = inDouble;
  options.shaken = shaken;
  options.onCustomCall = emit::evaluateKernelCall;
  if (watcher)
    options.onValue = [&](mlir::Operation *op, unsigned result, const HostTensor &value) {
      std::string place;
      llvm::raw_string_ostream(place) << op->getLoc();
      const nb::gil_scoped_acquire acquire;
      (*watcher)(op->getName().getStringRef().str(), place, result, arrayOf(value));
    };
  const std::string_view bytes = bytesOf(graph);
  out = withoutLock([&] {
    graph::Graph g = graph::readGraph(bytes, file);
    const std::string name = function.empty() ? g.main().getSymName().str() : function;
    return interpret(*g.module, name, std::move(in), options);
  });
  std::vector<Array> results;
  for (const HostTensor &h : out)
    results.push_back(arrayOf(h));
  return results;
}

// For tests of the partitioner. Of each argument and result: its whole shape, that of a part, the first index of each rank's part, and the
// sharding as XLA writes it.
nb::tuple partitionBytes(const GraphBytes &graph, std::string_view file, bool strict) {
  PartitionedGraph made;
  std::string text;
  const std::string_view bytes = bytesOf(graph);
  {
    const nb::gil_scoped_release release;
    graph::Graph g = graph::readGraph(bytes, file);
    PartitionOptions options;
    options.strict = strict;
    made = partitionGraph(*g.module, options);
    text = g.text();
  }
  const auto list = [](const std::vector<Placement> &all) {
    nb::list out;
    for (const Placement &p : all)
      out.append(nb::make_tuple(p.globalShape, p.localShape, p.start, p.hlo));
    return out;
  };
  return nb::make_tuple(text, made.ranks, list(made.arguments), list(made.results), made.warnings);
}

std::vector<std::vector<Array>> interpretRanksBytes(const GraphBytes &graph, const std::vector<std::vector<Array>> &inputs,
                                                    std::string_view file) {
  std::vector<std::vector<HostTensor>> in, out;
  for (const std::vector<Array> &rank : inputs) {
    in.emplace_back();
    for (const Array &a : rank)
      in.back().push_back(hostTensorOf(a));
  }
  InterpretOptions options;
  options.onCustomCall = emit::evaluateKernelCall;
  const std::string_view bytes = bytesOf(graph);
  {
    const nb::gil_scoped_release release;
    graph::Graph g = graph::readGraph(bytes, file);
    out = interpretRanks(*g.module, g.main().getSymName().str(), std::move(in), options);
  }
  std::vector<std::vector<Array>> results;
  for (const std::vector<HostTensor> &rank : out) {
    results.emplace_back();
    for (const HostTensor &h : rank)
      results.back().push_back(arrayOf(h));
  }
  return results;
}

// A compiled graph against the reference: what is wrong, the numbers of operations, groups and kernels, and per result its error and
// the reference's own, against f64.
nb::tuple checkBytes(const GraphBytes &graph, const std::vector<Array> &inputs, const std::string &target,
                     std::string_view file, int cores, const std::string &autoCast) {
  std::vector<HostTensor> in;
  for (const Array &a : inputs)
    in.push_back(hostTensorOf(a));
  const std::string_view bytes = bytesOf(graph);
  GraphOptions options;
  options.target = target;
  options.cores = cores;
  const GraphCheck r = withoutLock([&] {
    graph::Graph g = graph::readGraph(bytes, file);
    graph::roundProducts(*g.module, autoCast);
    return checkGraph(*g.module, std::move(in), options);
  });
  nb::list wrong, errors;
  for (const Diagnostic &d : r.wrong)
    wrong.append(nb::cast(d));
  for (const CheckedResult &c : r.results)
    errors.append(nb::make_tuple(c.error, c.reference));
  return nb::make_tuple(wrong, r.operations, r.groups, r.kernels, errors, r.ranks);
}

} // namespace

void bindInterpret(nb::module_ &m) {
  m.def("interpret", &interpretBytes, "graph"_a, "inputs"_a, "function"_a = "", "file"_a = "<graph>", "in_double"_a = false,
        "shaken"_a = 0, "watcher"_a = nb::none(),
        "inputs and results: (element type, shape, bytes); watcher(operation, place, result, value) sees every value.");
  m.def("partition_graph", &partitionBytes, "graph"_a, "file"_a = "<graph>", "strict"_a = false,
        "Divides a graph among its ranks: (text, ranks, arguments, results, warnings).");
  m.def("interpret_ranks", &interpretRanksBytes, "graph"_a, "inputs"_a, "file"_a = "<graph>",
        "The same graph on several ranks, inputs and results by rank, as in interpret.");
  m.def(
      "check_graph", &checkBytes, "graph"_a, "inputs"_a, "target"_a, "file"_a = "<graph>", "cores"_a = 1, "auto_cast"_a = "",
      "Compares a compiled graph with the reference, group by group: (what is wrong, operations, groups, kernels, errors).");
}

} // namespace glia
