// What the compiler made of a graph, for reading: the simplified graph, which operations are in which group, and each distinct
// kernel as text (`glia compile --dump`).
#pragma once
#include "Form/Region.h"

#include <set>
#include <string>

namespace glia::emit {

class GraphDump {
public:
  explicit GraphDump(std::string folder); // empty: nothing is written. Throws Error DUMP-WRITE
  void graph(mlir::Operation *module);    // graph.mlir
  bool wanted() const { return !folder.empty(); }
  void kernel(nisa::Kernel &k); // NAME.nisa
  void kernel(const std::string &name, const std::string &text);
  void group(const Group &g, std::string_view kernel);
  void region(const Region &r, std::string_view kernel); // its groups are one kernel
  void finish();                                         // groups.txt

private:
  std::string folder, groups;
  size_t count = 0;
  std::set<std::string, std::less<>> seen;    // kernels
  std::string named(std::string_view kernel); // with whether it has been seen before
  void operations(const Group &g);
  void write(const std::string &name, const std::string &text) const;
};

} // namespace glia::emit
