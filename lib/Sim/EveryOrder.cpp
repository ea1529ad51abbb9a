#include "glia/Program/RankContract.h"
#include "glia/Sim/EveryOrder.h"
#include "OrderReduction.h"

#include <unordered_map>
#include <unordered_set>

namespace glia {

namespace sim {

namespace {

struct KeyHash {
  size_t operator()(const StateKey &k) const { return k[0]; }
};

// Depth first, each state once.
class Search {
public:
  Search(const Program &p, const TensorViews &inputs, const OrderOptions &options)
      : options(options), machine(p, inputs, run), reduction(machine) {}

  OrderResult all() {
    for (const OrderMachine::Shares &shares : machine.sharesToTry()) {
      machine.use(shares);
      result.states += visited.size();
      visited.clear();
      path.clear();
      explore();
    }
    result.states += visited.size();
    return std::move(result);
  }

private:
  enum Visit : uint8_t { OnPath, Left };
  struct Frame {
    OrderState state;
    StateKey key;
    std::vector<OrderStep> steps;
    size_t next = 0;
  };
  const OrderOptions &options;
  const RunOptions run;
  OrderMachine machine;
  OrderReduction reduction;
  OrderResult result;
  std::vector<Frame> path;
  std::unordered_map<StateKey, Visit, KeyHash> visited;
  std::unordered_set<std::string> seen; // outcomes

  bool done() const { return options.untilWrong && (result.different > 1 || result.faults); }

  void explore() {
    push(machine.begin());
    while (!path.empty() && !done()) {
      Frame &f = path.back();
      if (f.next == f.steps.size()) {
        visited[f.key] = Left;
        path.pop_back();
        continue;
      }
      if (++result.steps % kStepsPerQuestion == 0 && options.stop && options.stop())
        throw Interrupted();
      const OrderStep step = f.steps[f.next++];
      try {
        push(machine.take(f.state, step));
      } catch (Fault &fault) {
        wrong(std::move(fault.diagnostic));
      } catch (const Trap &trap) {
        OrderOutcome o;
        o.trap = machine.trapDiagnostic(trap);
        add("trap", std::move(o)); // which of several comes first is no difference
      }
    }
  }

  void push(OrderState s) {
    const StateKey key = keyOf(s);
    const auto [it, fresh] = visited.emplace(key, OnPath);
    if (!fresh) {
      if (it->second == OnPath) {
        Diagnostic d;
        d.code = "ORDER-ENDLESS";
        d.message = "the program can come back to a state that it was in, and so go on for ever";
        d.advice = "Let the loop end whatever the other engines do.";
        wrong(std::move(d));
      }
      return;
    }
    if (result.states + visited.size() > options.maxStates)
      throw Error("RUN-ORDERS",
                  format("the program has more than %llu states, and not all of its orders were tried",
                         (unsigned long long)options.maxStates),
                  "Raise --max-states, make the program smaller, or use strict mode (--strict) with several seeds.");
    Frame f{std::move(s), key, {}};
    machine.enabled(f.state, f.steps);
    if (f.steps.empty()) {
      visited[key] = Left;
      return ended(f.state);
    }
    if (options.reduce)
      reduction.reduce(f.state, f.steps);
    path.push_back(std::move(f));
  }

  void ended(const OrderState &s) {
    try {
      OrderOutcome o;
      o.outputs = machine.end(s);
      std::string key = "outputs ";
      for (const auto &[name, bytes] : o.outputs)
        key.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
      if (options.wholeMemory)
        for (size_t i = 0; i < s.bytes.size(); ++i)
          if (key += s.tags[i].defined ? 'd' : 'u'; s.tags[i].defined)
            key += static_cast<char>(s.bytes[i]);
      add(std::move(key), std::move(o));
    } catch (Fault &fault) {
      wrong(std::move(fault.diagnostic));
    }
  }

  void wrong(Diagnostic d) {
    OrderOutcome o;
    std::string key = render(d);
    o.fault = std::move(d);
    add(std::move(key), std::move(o));
  }

  void add(std::string key, OrderOutcome o) {
    if (!seen.insert(std::move(key)).second)
      return;
    ++result.different;
    result.faults += o.fault.has_value();
    if (result.outcomes.size() == OrderResult::kMostOutcomes)
      return;
    for (const Frame &f : path)
      o.order.push_back(machine.text(f.steps[f.next - 1]));
    result.outcomes.push_back(std::move(o));
  }
};

} // namespace

} // namespace sim

OrderResult runEveryOrder(const Program &p, const TensorData &inputs, const OrderOptions &options) {
  const TensorViews views = viewsOf(inputs);
  sim::checkInputs(p, views);
  if (const int ranks = ranksOf(p); ranks > 1)
    throw Error("RUN-ORDERS", format("every order is searched for one rank, and the program is for %d", ranks),
                "Run it in strict mode (--strict --seed N).");
  sim::Search search(p, views, options);
  return search.all();
}

} // namespace glia
