// How much a program computes for each byte that it moves, against what the machine computes and moves at most.
#pragma once
#include "glia/Profile/TimeUse.h"

namespace glia {

// An operation is one element that an instruction goes over; in a product a multiplication with its addition is two.
struct Roof {
  std::string name;     // "Tensor, 16 bits"
  double perSecond = 0; // operations
};
struct RooflinePoint {
  std::string name;      // "" is the whole program; else a kernel
  double operations = 0; // in all
  double bytes = 0;      // moved between HBM and the core; of a kernel all that its transfers move
  double time = 0;       // ns; of a kernel its share of the critical path
};
struct Roofline {
  std::vector<Roof> roofs;   // the highest first
  double bytesPerSecond = 0; // to and from HBM
  std::vector<RooflinePoint> points;
};
// Needs the timeline. Kernels are those with a hundredth of the critical path or more, if there are several.
Roofline rooflineOf(const Program &p, const TimingResult &r, const std::vector<PlaceUse> &kernels);

} // namespace glia
