// The tables of the families: which function evaluates which operation.
#pragma once
#include "Interpret/Call.h"

namespace glia::interp {

struct Rule {
  std::string_view name;
  void (*run)(Call &call);
};

std::span<const Rule> movementRules();
std::span<const Rule> indexRules(); // gather, scatter, dynamic slices
std::span<const Rule> dotRules();
std::span<const Rule> convolutionRules();
std::span<const Rule> reductionRules();
std::span<const Rule> windowRules();
std::span<const Rule> sortRules();
std::span<const Rule> controlRules();
std::span<const Rule> normRules();
std::span<const Rule> randomRules();
std::span<const Rule> deviceRules();  // collectives
std::span<const Rule> dynamicRules(); // sizes that are operands
std::span<const Rule> linalgRules();
std::span<const Rule> linalgCallRules(); // by call target
std::span<const Rule> eigenCallRules();
std::span<const Rule> recurrenceCallRules();
std::span<const Rule> fourierRules();
std::span<const Rule> customCallRules(); // by call target, not by operation

// Element-wise operations are in Pointwise.h.
const Rule *findRule(std::string_view operation);
const Rule *findCustomCall(std::string_view target);

} // namespace glia::interp
