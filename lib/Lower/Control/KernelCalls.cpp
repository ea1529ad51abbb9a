// Reads, checks, compiles and evaluates the kernels that a graph calls. Their family has groups of one call each; nothing is emitted,
// because the kernel is written already.
#include "glia/Lower/KernelCalls.h"
#include "Lower/Families.h"
#include "Graph/Analysis/Refusal.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Execute.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace glia::emit {

namespace {

constexpr llvm::StringLiteral kTarget = "glia.nki";
constexpr std::string_view kFile = "<kernel of a custom call>"; // where its text has no places of its own

llvm::StringRef kernelText(mlir::Operation *op) {
  const auto text = op->getAttrOfType<mlir::StringAttr>("backend_config");
  return text ? text.getValue() : llvm::StringRef();
}

std::string describe(llvm::StringRef type, llvm::ArrayRef<int64_t> shape) {
  std::string s = type.str() + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

Diagnostic problem(mlir::Operation *op, std::string message, std::string advice) {
  return refusalAt(op->getLoc(), "GRAPH-KERNEL", std::move(message), std::move(advice));
}

Diagnostic withoutKernel(mlir::Operation *op) {
  return problem(op, "a call of @glia.nki without a kernel", "Its backend_config is a string: the IR of the kernel.");
}

std::vector<nisa::TensorOp> tensorsOf(nisa::Kernel &k, llvm::StringRef kind) {
  std::vector<nisa::TensorOp> out;
  for (nisa::TensorOp t : k.op().getBody().getOps<nisa::TensorOp>())
    if (t.getKind() == kind)
      out.push_back(t);
  return out;
}

// The values of a call against the tensors of its kernel. A scalar is a tensor of one element.
void compare(mlir::Operation *op, nisa::Kernel &k, llvm::StringRef kind, mlir::ValueRange values, const char *what,
             std::vector<Diagnostic> &problems) {
  std::vector<nisa::TensorOp> tensors = tensorsOf(k, kind);
  const std::string kernel = "kernel `" + k.op().getSymName().str() + "`";
  if (tensors.size() != values.size()) {
    problems.push_back(problem(op,
                               format("%s has %zu %ss, and its call %zu %ss", kernel.c_str(), tensors.size(),
                                      kind.str().c_str(), static_cast<size_t>(values.size()), what),
                               "Operands and results stand in the order in which the kernel declares its tensors."));
    return;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(values[i].getType());
    const std::optional<DType> d = type ? machineType(type.getElementType()) : std::nullopt;
    const auto wanted = llvm::cast<nisa::TensorType>(tensors[i].getType());
    int64_t elements = 1;
    for (int64_t n : wanted.getShape())
      elements *= n;
    if (d == wanted.getDtype() && type.getNumElements() == elements)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << values[i].getType();
    problems.push_back(problem(op,
                               format("%s %zu of %s is %s, and its tensor `%s` is %s", what, i, kernel.c_str(), text.c_str(),
                                      tensors[i].getLabel().str().c_str(),
                                      describe(std::string(name(wanted.getDtype())), wanted.getShape()).c_str()),
                               "Types must be equal, and so must the numbers of elements."));
  }
}

class KernelFamily final : public Family {
public:
  std::string_view name() const override { return "kernel"; }
  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (!isKernelCall(op))
      return std::nullopt;
    if (!llvm::isa<mlir::func::FuncOp>(op->getParentOp())) // those become one kernel, and kernels do not call kernels
      return "a kernel in a loop or a branch that depends on data";
    return "";
  }
  void emit(KernelBuilder &, const Group &, std::span<const Tile>, std::span<const Tile>) const override {
    throw std::logic_error("the kernel of a call is written already");
  }
};

} // namespace

const Family &kernelFamily() {
  static const KernelFamily family;
  return family;
}

bool isKernelCall(mlir::Operation *op) {
  if (opName(op) != "custom_call")
    return false;
  const auto name = op->getAttrOfType<mlir::StringAttr>("call_target_name");
  return name && name.getValue() == kTarget;
}

KernelCalls::Entry &KernelCalls::entry(mlir::Operation *op) {
  const llvm::StringRef text = kernelText(op);
  const auto known = kernels.find(std::string_view(text));
  if (known != kernels.end())
    return known->second;
  Entry &e = kernels[text.str()];
  try {
    e.kernel = nisa::parseKernel(text, kFile);
    e.kernel->op().setTarget(target);
    e.problems = checkKernel(*e.kernel);
    const std::string name = "kernel `" + e.kernel->op().getSymName().str() + "`";
    const std::shared_ptr<const Target> machine = loadTarget(target);
    if (const int cores = static_cast<int>(e.kernel->op().cores()); cores > machine->maxCores)
      e.problems.push_back(problem(
          op, format("%s runs on %d cores, and %s has %d", name.c_str(), cores, machine->name.c_str(), machine->maxCores),
          "Launch it on fewer cores, or compile it for a target that has them."));
    for (Diagnostic &d : e.problems)
      d.notes.push_back(name + " is compiled for " + machine->name);
  } catch (const Error &x) {
    e.problems = x.diagnostics();
  }
  return e;
}

std::vector<Diagnostic> KernelCalls::check(mlir::Block &body) {
  std::vector<Diagnostic> out;
  body.walk([&](mlir::Operation *op) {
    if (!isKernelCall(op))
      return;
    const bool first = !kernels.count(std::string_view(kernelText(op)));
    const std::vector<Diagnostic> more = problemsOf(op, first);
    out.insert(out.end(), more.begin(), more.end());
  });
  return out;
}

std::vector<Diagnostic> KernelCalls::problemsOf(mlir::Operation *op, bool ofKernel) {
  if (kernelText(op).empty())
    return {withoutKernel(op)};
  Entry &e = entry(op);
  std::vector<Diagnostic> out;
  if (ofKernel)
    out = e.problems;
  if (e.kernel) {
    compare(op, *e.kernel, "input", op->getOperands(), "operand", out);
    compare(op, *e.kernel, "output", op->getResults(), "result", out);
  }
  return out;
}

nisa::Kernel &KernelCalls::kernel(mlir::Operation *op) { return *entry(op).kernel; }

std::shared_ptr<const Program> KernelCalls::compile(mlir::Operation *op) {
  if (std::vector<Diagnostic> problems = problemsOf(op, true); !problems.empty())
    throw Error(std::move(problems));
  Entry &e = entry(op);
  std::shared_ptr<const Program> &object = objects[&e];
  if (!object)
    object = std::make_shared<Program>(compileKernel(*e.kernel, {.tryOrders = true}));
  return object;
}

std::vector<std::string> tensorNames(const Program &object, TensorKind kind) {
  std::vector<std::string> out;
  for (const Tensor &t : object.tensors)
    if (t.kind == kind)
      out.push_back(t.name);
  return out;
}

std::optional<std::vector<HostTensor>> evaluateKernelCall(mlir::Operation *op, const std::vector<HostTensor> &operands) {
  if (!isKernelCall(op))
    return std::nullopt;
  std::vector<Diagnostic> problems;
  if (kernelText(op).empty())
    throw Error(withoutKernel(op));
  nisa::Kernel k = nisa::parseKernel(kernelText(op), kFile);
  compare(op, k, "input", op->getOperands(), "operand", problems);
  compare(op, k, "output", op->getResults(), "result", problems);
  if (!problems.empty())
    throw Error(std::move(problems));
  TensorData inputs;
  std::vector<nisa::TensorOp> in = tensorsOf(k, "input"), out = tensorsOf(k, "output");
  for (size_t i = 0; i < in.size(); ++i)
    inputs[in[i].getLabel().str()] = operands[i].bytes;
  RunResult r = executeKernel(k, inputs);
  for (const std::optional<Diagnostic> &d : {r.fault, r.trap})
    if (d)
      throw Error(*d);
  std::vector<HostTensor> results;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(i).getType());
    std::string element;
    llvm::raw_string_ostream(element) << type.getElementType();
    results.push_back({*parseElement(element),
                       {type.getShape().begin(), type.getShape().end()},
                       std::move(r.outputs.at(out[i].getLabel().str()))});
  }
  return results;
}

} // namespace glia::emit
