// The proof that objects compose: same target, enough of everything, and what is bound fits. It comes before anything is placed.
#pragma once
#include "ObjectFacts.h"
#include "glia/Link/Link.h"

#include <memory>

namespace glia::link {

struct Object { // one that is called, however often
  std::shared_ptr<const Program> program;
  ObjectFacts facts;
  std::string name;   // unique in the program
  bool whole = false; // it does not share the core's memory and semaphores with a neighbour
  bool aside = false; // only exchanges with other ranks, from HBM to HBM: it takes no turn, and others go on beside it
};

struct Call {
  uint32_t object = 0;
  int slot = 0; // which half of the memory, if the object is not `whole`
  std::string label;
  std::vector<uint32_t> tensors; // per tensor of the object: the program's, kUnbound for its constants and scratch
};

inline constexpr uint32_t kUnbound = UINT32_MAX;

struct Composition {
  std::shared_ptr<const Target> target;
  uint32_t cores = 1;
  std::vector<Object> objects;
  std::vector<Call> calls;
  std::vector<Tensor> tensors; // of the program, with those made for names that are not bound
};

// Throws Error LINK-*.
Composition compose(std::shared_ptr<const Target> target, std::vector<Tensor> tensors, const std::vector<LinkCall> &calls);

} // namespace glia::link
