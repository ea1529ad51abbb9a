// Makes one program of kernel objects, called one after the other (docs/linking.md). Nothing is compiled here: objects are placed,
// their names bound, and the order between them is added in the idioms of docs/ordering.md.
#pragma once
#include "glia/Program/Program.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct Binding {
  std::string name;     // an input or output of the object
  std::string tensor;   // a tensor of the program
  bool reshape = false; // another shape of as many elements will do
};

struct LinkCall {
  std::shared_ptr<const Program> object; // made by compileKernel, or by hand: see docs/linking.md for what it must keep
  std::string label;                     // the kernel's name in messages and profiles; empty: as the object says
  std::vector<Binding> bind;             // names that are not bound become tensors of the program
};

// `tensors`: the program's inputs, outputs, constants and what calls hand to each other (scratch). Throws Error LINK-TARGET, LINK-CORES,
// LINK-CONTRACT, LINK-BIND, LINK-TYPE, LINK-ORDER, LINK-TABLES, LINK-MEMORY, LINK-SEMAPHORES, LINK-PIPES: each names the kernels and what
// they disagree about.
Program linkProgram(std::shared_ptr<const Target> target, std::vector<Tensor> tensors, const std::vector<LinkCall> &calls);

// The kernel's name: from its contract, or from where its instructions come from.
std::string kernelName(const Program &object);

} // namespace glia
