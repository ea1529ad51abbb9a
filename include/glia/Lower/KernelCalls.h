// Kernels that somebody wrote by hand, called in a graph: `stablehlo.custom_call @glia.nki` whose backend_config is the kernel's IR as
// text (docs/nisa.md). Operand i is the kernel's input i, result i its output i, in the order in which the kernel declares them.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/Operation.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace glia::emit {

bool isKernelCall(mlir::Operation *op);

// The kernels of one graph, for one target: each distinct text is read and compiled once.
class KernelCalls {
public:
  explicit KernelCalls(std::string target) : target(std::move(target)) {}
  // Everything that is wrong with the calls in a block and in the regions of its operations: text that is no kernel, operands and results
  // that do not fit it, instructions that the target does not have.
  std::vector<Diagnostic> check(mlir::Block &body);
  nisa::Kernel &kernel(mlir::Operation *op);                   // of a call that was checked
  std::shared_ptr<const Program> compile(mlir::Operation *op); // throws Error with what check finds
  size_t compiled() const { return objects.size(); }

private:
  struct Entry {
    std::optional<nisa::Kernel> kernel;
    std::vector<Diagnostic> problems;
  };
  std::string target;
  std::map<std::string, Entry, std::less<>> kernels; // by text
  std::map<const Entry *, std::shared_ptr<const Program>> objects;
  Entry &entry(mlir::Operation *op);
  std::vector<Diagnostic> problemsOf(mlir::Operation *op, bool ofKernel);
};

// The names of the kernel's inputs and outputs, in order.
std::vector<std::string> tensorNames(const Program &object, TensorKind kind);

// What a call gives by the sequential meaning of its kernel: for InterpretOptions::onCustomCall. nullopt: no call of a kernel.
std::optional<std::vector<HostTensor>> evaluateKernelCall(mlir::Operation *op, const std::vector<HostTensor> &operands);

} // namespace glia::emit
