// Control flow, calls, tuples and tokens.
#include "Interpret/Pointwise.h"
#include "Interpret/Rules.h"
#include "glia/Graph/FunctionCall.h"

#include <algorithm>

namespace glia::interp {

namespace {

void ifThenElse(Call &c) { c.results = c.region(c.tensor(0).at(0) ? 0 : 1, {}); }

// An index outside takes the last branch.
void caseOf(Call &c) {
  const auto branches = static_cast<int64_t>(c.regionCount());
  if (branches == 0)
    c.fail("a case without branches");
  const int64_t i = asInt(c.tensor(0).at(0));
  c.results = c.region(static_cast<size_t>(i < 0 || i >= branches ? branches - 1 : i), {});
}

void whileLoop(Call &c) {
  std::vector<Datum> values = std::move(c.operands);
  for (;;) {
    const std::vector<Datum> test = c.region(0, values);
    if (test.empty() || test[0].tensor.count() != 1)
      c.fail("the condition of a while has no result");
    if (!test[0].tensor.at(0))
      break;
    c.countIteration();
    values = c.region(1, std::move(values));
  }
  c.results = std::move(values);
}

void call(Call &c) { c.results = c.function(c.text("callee").value_or(""), std::move(c.operands)); }
void composite(Call &c) { c.results = c.function(c.text("decomposition").value_or(""), std::move(c.operands)); }
void forward(Call &c) { c.results = std::move(c.operands); }

void tuple(Call &c) {
  c.results[0].tensor.element = Element::Tuple;
  c.results[0].parts = std::move(c.operands);
}
void getTupleElement(Call &c) {
  const auto i = static_cast<size_t>(c.integerOr("index", 0));
  if (i >= c.operands[0].parts.size())
    c.fail("the tuple has no element of this number");
  c.results[0] = c.operands[0].parts[i];
}
void token(Call &c) { c.results[0] = Datum{}; }

// A function by name ("mhlo.erf", "glia.function.gelu"), or an entry in the table of custom calls.
void customCall(Call &c) {
  const std::string target = c.text("call_target_name").value_or("");
  if (const Rule *r = findCustomCall(target)) {
    r->run(c);
    return;
  }
  const std::string prefix =
      target.substr(0, target.starts_with(graph::kFunctionCall) ? graph::kFunctionCall.size() : target.find('.') + 1);
  if ((prefix == "mhlo." || prefix == "chlo." || prefix == graph::kFunctionCall) && c.operandCount() > 0 &&
      c.resultCount() == 1) {
    const std::optional<Pointwise> p = namedFunction(target.substr(prefix.size()), c.operandType(0).element, c.inDouble);
    if (p && p->row) {
      c.set(0, evaluate(*p, c.operands, c.resultType(0)));
      return;
    }
  }
  c.fail("the custom call @" + target + " is unknown", "The reference needs a rule for each custom call of the graph.");
}

constexpr Rule kRules[] = {
    {"stablehlo.if", ifThenElse},
    {"stablehlo.case", caseOf},
    {"stablehlo.while", whileLoop},
    {"func.call", call},
    {"stablehlo.composite", composite},
    {"stablehlo.optimization_barrier", forward},
    {"sdy.sharding_constraint", forward}, // says where a value is
    {"sdy.reshard", forward},
    {"stablehlo.tuple", tuple},
    {"stablehlo.get_tuple_element", getTupleElement},
    {"stablehlo.after_all", token},
    {"stablehlo.create_token", token},
    {"stablehlo.custom_call", customCall},
};

} // namespace

std::span<const Rule> controlRules() { return kRules; }

} // namespace glia::interp
