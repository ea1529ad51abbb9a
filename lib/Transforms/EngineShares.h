// Spreads instructions that several engines can run: no engine has much more to do than the others, what an engine is bad at stays where
// it is cheap, and equal instructions go round in turn, so that engines are busy alike at any time.
#pragma once
#include "glia/ISA/Operand.h"

#include <array>
#include <vector>

namespace glia {

class EngineShares {
public:
  using Costs = std::array<double, kNumEngines>; // ns; infinity where it cannot run
  void fixed(Engine e, double ns) { load[static_cast<size_t>(e)] += ns; }
  // In program order. It stays on `usual` if nothing speaks for another one.
  void add(Engine usual, const Costs &costs) { items.push_back({usual, costs}); }
  // An engine for each of them.
  std::vector<Engine> solve() const;

private:
  struct Item {
    Engine usual;
    Costs costs;
  };
  Costs load{};
  std::vector<Item> items;
};

} // namespace glia
