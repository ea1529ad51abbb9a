// From where to where a program touches its tensors and allocations, by stream, found without running it. What no stream will touch again need not be kept.
#pragma once
#include "glia/Program/Decode.h"

#include <memory>
#include <vector>

namespace glia::sim {

class Lifetimes {
public:
  explicit Lifetimes(const Program &p);

  // `at`: the instruction that each stream (core * kNumEngines + engine) is about to take, or is in.
  template <class At> bool hasBegun(ObjectRef o, const At &at) const {
    return any(o, [&](const Use &u) { return u.first < at(u.stream); });
  }
  template <class At> bool isOver(ObjectRef o, const At &at) const {
    return !any(o, [&](const Use &u) { return u.last >= at(u.stream); });
  }
  // One instruction writes it, once.
  bool isWrittenOnce(uint32_t tensor) const { return writes[tensor] == 1; }

private:
  struct Use {
    uint32_t stream, first, last; // in a loop: from its begin to its end
  };
  std::vector<std::vector<Use>> tensors, allocations;
  std::vector<uint32_t> writes; // by tensor; more than one in a loop
  void add(const Decoded &d, uint32_t stream, uint32_t first, uint32_t last, bool loops);
  template <class Question> bool any(ObjectRef o, Question &&question) const {
    for (const Use &u : (o.kind == ObjectKind::Allocation ? allocations : tensors)[o.index])
      if (question(u))
        return true;
    return false;
  }
};

} // namespace glia::sim
