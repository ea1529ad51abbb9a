// A kernel in memory: its IR with the context it lives in.
#pragma once
#include "glia/Dialect/Nisa.h"

#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace glia::nisa {

// A context that knows the dialect. Single-threaded: kernels are small and the same bytes must come out every time.
std::unique_ptr<mlir::MLIRContext> makeContext();

struct Kernel {
  std::unique_ptr<mlir::MLIRContext> context; // outlives the module
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string fingerprint; // hex; equal for equal IR, target and compiler
  KernelOp op();           // the one kernel of the module
  std::string text();
  Kernel clone(); // a copy to be compiled, while the original stays as it was traced
};

// "best" or "as_written". Throws Error KERNEL-SCHEDULE.
void setSchedule(KernelOp kernel, std::string_view schedule);

// Reads the text form. Throws Error NISA-SYNTAX with every message of the parser, each with its place and a caret.
Kernel parseKernel(std::string_view text, std::string_view file);

} // namespace glia::nisa
