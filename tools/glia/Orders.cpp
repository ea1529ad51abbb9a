#include "Orders.h"
#include "Data.h"

namespace glia::tool {

static std::string counted(uint64_t n, const char *what) { return grouped(n) + " " + what + (n == 1 ? "" : "s"); }

static std::string headline(const std::optional<Diagnostic> &fault, const std::optional<Diagnostic> &trap) {
  if (const auto &d = fault ? fault : trap)
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
    out += format("\noutcome %zu: ", i + 1) + headline(o.fault, o.trap);
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

int runOrders(const Tool &tool, const Program &p, const TensorData &inputs, const std::vector<Schedule> &orders,
              RunOptions options) {
  options.passRaces = true;
  bool alike = true;
  std::optional<TensorData> first;
  for (size_t i = 0; i < orders.size(); ++i) {
    options.schedule = &orders[i].steps;
    const RunResult r = run(p, inputs, options);
    write(format("order %zu: ", i + 1) + headline(r.fault, r.trap) + (r.ok() ? summary(p, r.outputs) : ""));
    if (i == 0 && r.race)
      print(tool, {*r.race});
    alike = alike && r.ok() && (!first || *first == r.outputs);
    first = first ? first : r.outputs;
  }
  return alike ? 0 : 1;
}

} // namespace glia::tool
