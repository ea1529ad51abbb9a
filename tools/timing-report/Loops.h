// Opens and closes the same loop on several engines.
#pragma once
#include "glia/Program/Builder.h"

#include <string>
#include <vector>

namespace glia::validation {

class Loops {
public:
  Loops(Builder &b, int core, std::vector<Engine> engines) : b(b), core(core), engines(std::move(engines)) {}
  void open(int reg, int count, const std::string &group) {
    std::vector<uint32_t> &at = begins.emplace_back();
    for (Engine e : engines) {
      at.push_back(b.nextIndex(core, e));
      b.emit(core, e, "loop")
          .reg("iv", reg)
          .set("count", static_cast<int32_t>(count))
          .set("group", group)
          .set("end", int32_t{0});
    }
  }
  void close() {
    for (size_t i = 0; i < engines.size(); ++i) {
      const uint32_t end = b.nextIndex(core, engines[i]);
      b.emit(core, engines[i], "end_loop").set("begin", static_cast<int32_t>(begins.back()[i]));
      b.patchLabel(core, engines[i], begins.back()[i], end);
    }
    begins.pop_back();
  }

private:
  Builder &b;
  int core;
  std::vector<Engine> engines;
  std::vector<std::vector<uint32_t>> begins;
};

} // namespace glia::validation
