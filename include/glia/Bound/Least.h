// The least time that work needs on a target, whatever the compiler does with it: a yardstick that shares no code with what it
// measures. Only what no schedule can avoid counts (docs/bound.md).
#pragma once
#include "glia/ISA/Operand.h"
#include "glia/Target/Target.h"

#include <array>
#include <map>
#include <string>

namespace glia {

struct Least {          // nanoseconds, each by itself; the whole takes at least the largest
  double tensor = 0;    // the Tensor engine
  double elements = 0;  // work on elements, spread over the engines that can do it
  double transfers = 0; // all DMA engines at full rate
  double hbm = 0;       // arguments and results, touched once
  double path = 0;      // one operation after the other that it reads, latencies only
  std::string engines;  // which engines the work on elements fills: "vector", "vector and scalar"

  double total() const;
  std::string reason() const; // what the total is: "tensor", "elements on vector", "dma", "hbm", "path"
};

// Work that runs over elements, on whichever engines can do it.
class ElementWork {
public:
  static constexpr double kCannot = 1e30;
  using Cycles = std::array<double, 3>; // per element and lane: Vector, Scalar, GpSimd; kCannot where it cannot be done

  explicit ElementWork(const Target &t) : target(t) {}
  void add(double elements, const Cycles &c) { work[c] += elements; }
  void busy(Engine e, double ns); // on this engine and no other
  // The least time in which all of it can be done, cut anywhere, and the engines that are then full.
  double spread(std::string &engines) const;

private:
  const Target &target;
  std::map<Cycles, double> work;
  std::array<double, 3> fixed{};
};

} // namespace glia
