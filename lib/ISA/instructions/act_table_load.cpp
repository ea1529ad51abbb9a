// Makes one of the target's activation function sets resident in the Scalar engine; the previous one is gone.
#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { SET };

static int findSet(const Target &t, std::string_view name) {
  for (size_t i = 0; i < t.activationSets.size(); ++i)
    if (t.activationSets[i].name == name)
      return static_cast<int>(i);
  return -1;
}

static std::string unknown(const Target &t, std::string_view name) {
  return format("%s has no activation function set named \"%s\"", t.name.c_str(), std::string(name).c_str());
}

static void check(Check &c) {
  if (findSet(c.target, c.text(SET)) < 0)
    c.fail("ACT-SET", SET, unknown(c.target, c.text(SET)), std::string(c.text(SET)), "a set of the target (glia targets)");
}

static void execute(Exec &x) {
  const int set = findSet(x.target, x.text(SET));
  if (set < 0)
    throw Error("ACT-SET", unknown(x.target, x.text(SET)), "name one of the sets that `glia targets` lists");
  x.state->activationSet = set;
}

INSTRUCTION(act_table_load, "Makes an activation function set resident in the Scalar engine.") {
  def.source("NEFF file format page (sets), device memory page (table loads); one resident set: assumed; cost: DMA "
             "introduction figures")
      .engines({Engine::Scalar})
      .flow(Flow::None)
      .slot("set", SlotKind::Text, "name of the set, as in the target file");
  def.rules({"ACT-SET"}).check(check).execute(execute).cost([](const CostQuery &q) {
    const double t = q.param("cost.activation_table_load");
    return Cost{t, t};
  });
}

} // namespace glia
