// Groups beside each other in the order of the program that become one kernel: what one makes for another stays on chip where there is
// room (CodeGen/KeepValues.cpp).
#pragma once
#include "glia/Lower/Family.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace glia::emit {

struct Region {
  std::span<const Group> groups;
  std::vector<mlir::Value> inputs;  // what they read and do not make, in the order of first use
  std::vector<mlir::Value> outputs; // what they make and somebody else reads, in program order
  // An input and an output each that are one tensor: each element is read before it is written, or there is no such region.
  std::vector<std::pair<size_t, size_t>> inPlace;
};

// `isNeeded`: somebody outside the region reads a value that it makes.
Region regionOf(std::span<const Group> groups, const std::function<bool(mlir::Value)> &isNeeded);

// Equal for regions that give the same kernel.
std::string structureOf(const Region &r);

} // namespace glia::emit
