// What the passes did, in words for the kernel's author: an attribute of the kernel, which the program's contract and the profile show.
#pragma once
#include "glia/Dialect/Nisa.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace glia {

inline constexpr llvm::StringLiteral kRemarks = "remarks";

void addRemark(nisa::KernelOp kernel, const std::string &text);

// "1 load", "3 loads"
std::string counted(size_t n, const char *what);

// "a, b, c and 4 more"
std::string listOf(const llvm::SetVector<llvm::StringRef> &names);

} // namespace glia
