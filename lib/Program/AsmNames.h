// What the names in an assembly text stand for. Tensors are known to every core; allocations, semaphores and queues belong
// to one core, and two cores may use the same name.
#pragma once
#include "AsmCursor.h"
#include "glia/Program/Program.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace glia {

class AsmNames {
public:
  using Table = std::map<std::pair<int, std::string>, uint32_t>; // (core, name) -> index
  static constexpr int kEveryCore = -1;

  Table tensors, allocations, semaphores, queues, symbols;

  static void declare(Table &t, int core, const std::string &name, uint32_t index, const char *what, const AsmCursor &c,
                      size_t at);
  void declareInput(const std::string &name, const AsmCursor &c,
                    size_t at); // of an output that begins as it: a name that is taken
  void declareObject(Table &t, int core, const std::string &name, uint32_t index, const AsmCursor &c, size_t at);
  ObjectRef object(int core, const std::string &name, const AsmCursor &c, size_t at) const;
  static uint32_t find(const Table &t, int core, const std::string &name, const char *what, const AsmCursor &c, size_t at);

private:
  std::set<std::string> begun;
  static const uint32_t *lookUp(const Table &t, int core, const std::string &name);
};

} // namespace glia
