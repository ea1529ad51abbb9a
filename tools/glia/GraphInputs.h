// The arguments of a graph from files, as `--input 0=x.npy` names them.
#pragma once
#include "glia/Graph/Read.h"
#include "glia/Interpret/Interpret.h"

#include <string>
#include <vector>

namespace glia::tool {

struct FileArgument {
  std::string name, file;
};
// Throws Error GRAPH-ARGUMENT if it is not name=file.npy.
FileArgument splitArgument(const std::string &s, const char *option);

// As NumPy writes a type; ml_dtypes arrays become raw bytes.
std::string descrOf(Element e, bool pairs = false);

// The function called so, or main. Throws Error GRAPH-FUNCTION.
mlir::func::FuncOp functionOf(graph::Graph &g, const std::string &name);
// One for each argument. Throws Error GRAPH-ARGUMENT, FILE-READ.
std::vector<HostTensor> readArguments(mlir::func::FuncOp f, const std::vector<std::string> &list);

} // namespace glia::tool
