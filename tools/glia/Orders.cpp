#include "Orders.h"
#include "Data.h"

namespace glia::tool {

static std::string counted(uint64_t n, const char *what) { return grouped(n) + " " + what + (n == 1 ? "" : "s"); }

static std::string headline(const OrderOutcome &o) {
  if (const auto &d = o.fault ? o.fault : o.trap)
    return d->code + ": " + d->message + (d->context.empty() ? "" : " (" + d->context + ")") + "\n";
  return "ends\n";
}

int everyOrder(const Tool &tool, const Program &p, const TensorData &inputs, const OrderOptions &options,
               TensorData &outputs) {
  OrderResult r;
  {
    Progress progress("trying every order");
    r = runEveryOrder(p, inputs, options);
  }
  write(counted(r.states, "state") + ", " + counted(r.steps, "step") + ", " + counted(r.different, "outcome") + "\n");
  if (r.ok() && !r.outcomes[0].trap) {
    outputs = std::move(r.outcomes[0].outputs);
    return 0;
  }
  std::vector<Diagnostic> wrong;
  std::string out;
  for (size_t i = 0; i < r.outcomes.size(); ++i) {
    const OrderOutcome &o = r.outcomes[i];
    out += format("\noutcome %zu: ", i + 1) + headline(o);
    if (const auto &d = o.fault ? o.fault : o.trap) {
      wrong.push_back(*d);
      for (const std::string &note : d->notes)
        out += "  " + note + "\n";
    } else {
      out += summary(p, o.outputs);
    }
    out += "in this order:\n";
    for (size_t k = 0; k < o.order.size(); ++k)
      out += format("%5zu  ", k + 1) + o.order[k] + "\n";
  }
  if (r.different > r.outcomes.size())
    out += "\nand " + counted(r.different - r.outcomes.size(), "more outcome") + "\n";
  write(out);
  if (r.different > 1) {
    Diagnostic d;
    d.code = "ORDER-OUTCOMES";
    d.message = format("the program has %llu outcomes, depending on the order", (unsigned long long)r.different);
    d.advice = "Order what the listed orders do differently: make the later instruction wait for a semaphore.";
    wrong.push_back(std::move(d));
  }
  print(tool, wrong);
  return 1;
}

} // namespace glia::tool
