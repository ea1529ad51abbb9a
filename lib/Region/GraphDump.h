// What the compiler made of a graph, for reading: the simplified graph, which operations are in which group, and each distinct
// kernel as text (`glia compile --dump`).
#pragma once
#include "glia/Lower/Family.h"

#include <string>

namespace glia::emit {

class GraphDump {
public:
  explicit GraphDump(std::string folder); // empty: nothing is written. Throws Error DUMP-WRITE
  void graph(mlir::Operation *module);    // graph.mlir
  void kernel(nisa::Kernel &k);           // NAME.nisa
  void group(const Group &g, std::string_view kernel, bool first);
  void finish(); // groups.txt

private:
  std::string folder, groups;
  size_t count = 0;
  void write(const std::string &name, const std::string &text) const;
};

} // namespace glia::emit
