// The door: host tensors in, host tensors out.
#include "glia/Interpret/Interpret.h"

#include "Interpret/Complex.h"
#include "Interpret/Evaluator.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace glia {

using namespace interp;

namespace {

std::string describe(Element e, const Shape &shape) {
  std::string s = "tensor<";
  for (int64_t n : shape)
    s += std::to_string(n) + "x";
  return s + std::string(info(e).name) + ">";
}

class Arguments {
public:
  Arguments(mlir::Operation *function, Evaluator &evaluator, std::vector<HostTensor> inputs)
      : function(function), evaluator(evaluator), inputs(std::move(inputs)) {}

  Datum bind(mlir::Type type) {
    Datum d;
    if (auto tuple = mlir::dyn_cast<mlir::TupleType>(type)) {
      d.tensor.element = Element::Tuple;
      for (const mlir::Type t : tuple.getTypes())
        d.parts.push_back(bind(t));
      return d;
    }
    TensorType want = typeOf(type, function, evaluator.caches);
    const Element declared = want.element;
    if (isComplex(declared)) { // pairs
      want.element = partOf(declared);
      want.shape.push_back(2);
    }
    if (want.element == Element::Token)
      return d;
    if (next >= inputs.size())
      wrong("there are fewer inputs than arguments");
    const HostTensor &h = inputs[next++];
    // In double an input may also be given in double.
    const bool fits =
        h.element == want.element || (evaluator.options.inDouble && h.element == Element::F64 && isFloat(want.element));
    if (!fits || h.shape != want.shape)
      wrong("argument " + std::to_string(next - 1) + " is " + describe(want.element, want.shape) + ", but the input is " +
            describe(h.element, h.shape));
    d.tensor = Tensor(want.element, want.shape);
    if (h.bytes.size() != static_cast<size_t>(d.tensor.count()) * info(h.element).bytes)
      wrong("input " + std::to_string(next - 1) + " has another number of bytes than its shape");
    decode(h.element, h.bytes.data(), d.tensor.own(), d.tensor.count());
    if (isComplex(declared))
      return fromPairs(declared, d.tensor);
    return d;
  }
  void finish() {
    if (next != inputs.size())
      wrong("there are more inputs than arguments");
  }

private:
  [[noreturn]] void wrong(const std::string &message) { failAt(function, "GRAPH-ARGUMENT", message, ""); }
  mlir::Operation *function;
  Evaluator &evaluator;
  std::vector<HostTensor> inputs;
  size_t next = 0;
};

void flatten(const Datum &d, bool inDouble, std::vector<HostTensor> &to) {
  if (d.tensor.element == Element::Tuple)
    for (const Datum &p : d.parts)
      flatten(p, inDouble, to);
  if (d.tensor.element != Element::Token && d.tensor.element != Element::Tuple)
    to.push_back(hostTensor(d, inDouble));
}

mlir::FunctionOpInterface findFunction(mlir::ModuleOp module, std::string_view name) {
  auto f = mlir::dyn_cast_or_null<mlir::FunctionOpInterface>(
      mlir::SymbolTable::lookupSymbolIn(module, llvm::StringRef(name.data(), name.size())));
  if (!f)
    throw Error("GRAPH-FUNCTION", "there is no function @" + std::string(name) + " in the module");
  return f;
}

std::vector<HostTensor> evaluate(Evaluator &evaluator, mlir::FunctionOpInterface f, std::vector<HostTensor> inputs) {
  Arguments arguments(f, evaluator, std::move(inputs));
  std::vector<Datum> values;
  for (const mlir::Type t : f.getArgumentTypes())
    values.push_back(arguments.bind(t));
  arguments.finish();
  std::vector<HostTensor> results;
  for (const Datum &d : evaluator.callFunction(f, f.getName().str(), std::move(values)))
    flatten(d, evaluator.options.inDouble, results);
  return results;
}

int64_t declared(mlir::ModuleOp module, llvm::StringRef attribute, int64_t otherwise) {
  const auto count = module->getAttrOfType<mlir::IntegerAttr>(attribute);
  return count ? std::max<int64_t>(count.getInt(), 1) : otherwise;
}

} // namespace

std::vector<HostTensor> interpret(mlir::ModuleOp module, std::string_view function, std::vector<HostTensor> inputs,
                                  const InterpretOptions &options) {
  Ranks alone(1, 1);
  Evaluator evaluator(module, options, alone, 0);
  return evaluate(evaluator, findFunction(module, function), std::move(inputs));
}

std::vector<std::vector<HostTensor>> interpretRanks(mlir::ModuleOp module, std::string_view function,
                                                    std::vector<std::vector<HostTensor>> inputsByRank,
                                                    const InterpretOptions &options) {
  const auto given = static_cast<int64_t>(inputsByRank.size());
  const int64_t replicas = declared(module, "mhlo.num_replicas", 1);
  Ranks ranks(replicas, declared(module, "mhlo.num_partitions", std::max<int64_t>(given / replicas, 1)));
  if (ranks.count() != given)
    throw Error("GRAPH-ARGUMENT",
                format("the graph is for %lld ranks (%lld replicas of %lld partitions), and there are inputs for %lld",
                       static_cast<long long>(ranks.count()), static_cast<long long>(replicas),
                       static_cast<long long>(ranks.partitions), static_cast<long long>(given)),
                "Give one list of inputs for each rank.");
  mlir::FunctionOpInterface f = findFunction(module, function);
  std::vector<std::vector<HostTensor>> results(inputsByRank.size());
  ranks.run([&](int64_t rank) {
    Evaluator evaluator(module, options, ranks, rank);
    const auto at = static_cast<size_t>(rank);
    results[at] = evaluate(evaluator, f, std::move(inputsByRank[at]));
  });
  return results;
}

} // namespace glia
