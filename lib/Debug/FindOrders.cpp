#include "glia/Debug/FindOrders.h"
#include "Names.h"
#include "Replay.h"
#include "glia/Runtime/ElementValue.h"
#include "glia/Sim/EveryOrder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <regex>

namespace glia {

using namespace debug;

namespace {

struct Outcome {
  std::optional<Diagnostic> wrong; // or it ended well
  TensorData outputs;
  std::vector<ScheduleStep> steps;
  bool same(const Outcome &o) const {
    if (wrong || o.wrong)
      return wrong && o.wrong && wrong->code == o.wrong->code;
    return outputs == o.outputs;
  }
};

Outcome outcomeOf(const Program &p, const TensorData &inputs, const RunOptions &options) {
  Replay replay(p, inputs, options);
  Outcome out;
  uint64_t n = 0;
  while (replay.advance()) {
    out.steps.push_back(replay.machine().taken().who);
    if (++n % kStepsPerQuestion == 0 && options.stop())
      throw Interrupted();
  }
  const RunResult &r = replay.machine().so();
  out.wrong = r.fault ? r.fault : r.trap;
  out.outputs = r.outputs;
  return out;
}

// Instructions that diagnostics name, as `hold` takes them.
std::vector<std::string> namedIn(const std::vector<Diagnostic> &reported) {
  static const std::regex kName("core (\\d+) (tensor|vector|scalar|gpsimd|sync) instruction (\\d+)");
  std::vector<std::string> out;
  const auto look = [&](const std::string &text) {
    for (std::sregex_iterator i(text.begin(), text.end(), kName), end; i != end; ++i) {
      std::string name = "core" + (*i)[1].str() + "." + (*i)[2].str() + "#" + (*i)[3].str();
      if (std::find(out.begin(), out.end(), name) == out.end())
        out.push_back(std::move(name));
    }
  };
  for (const Diagnostic &d : reported) {
    look(d.message);
    look(d.context);
    for (const std::string &note : d.notes)
      look(note);
  }
  return out;
}

// "`y`, element 5, is 3": the first of `o` that is another in `other`.
std::string says(const Program &p, const Outcome &o, const Outcome &other) {
  if (o.wrong)
    return o.wrong->code + ": " + o.wrong->message;
  if (other.wrong)
    return "ends";
  for (const Tensor &t : p.tensors) {
    const auto mine = o.outputs.find(t.name), theirs = other.outputs.find(t.name);
    if (mine == o.outputs.end() || theirs == other.outputs.end())
      continue;
    const size_t size = static_cast<size_t>(sizeOf(t.dtype));
    for (size_t at = 0; at + size <= mine->second.size(); at += size)
      if (std::memcmp(mine->second.data() + at, theirs->second.data() + at, size) != 0)
        return "ends: `" + t.name + format("`, element %zu, is ", at / size) +
               elementText(t.dtype, mine->second.data() + at);
  }
  return "ends";
}

// The orders to try, one after the other.
class Tries {
public:
  Tries(std::vector<std::string> held) : held(std::move(held)) {}
  RunOptions next() {
    RunOptions o;
    o.passRaces = true;
    if (n > 0 && n <= held.size())
      o.hold = held[n - 1];
    else if (n > held.size())
      o.seed = n - held.size(), o.steered = o.seed % 2 == 1;
    ++n;
    return o;
  }

private:
  std::vector<std::string> held;
  uint64_t n = 0;
};

// Whether every order of a program gives the same bytes; false if there are too many to take them all in a moment.
bool allAlike(const Program &p, const TensorData &inputs, double seconds) {
  constexpr uint64_t kSmall = 64, kStates = 50'000;
  if (p.instructionCount() > kSmall)
    return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  OrderOptions options;
  options.maxStates = kStates;
  options.untilWrong = true;
  options.stop = [&] { return std::chrono::steady_clock::now() >= end; };
  try {
    return runEveryOrder(p, inputs, options).ok();
  } catch (const Interrupted &) {
    return false;
  } catch (const Error &e) {
    if (e.diagnostics()[0].code != "RUN-ORDERS")
      throw;
    return false;
  }
}

} // namespace

FoundOrders findOrders(const Program &p, const TensorData &inputs, const std::vector<Diagnostic> &reported, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  Tries tries(namedIn(reported));
  FoundOrders out;
  out.all = allAlike(p, inputs, seconds / 4);
  if (out.all)
    return out;
  std::optional<Outcome> first;
  try {
    while (std::chrono::steady_clock::now() < end) {
      RunOptions options = tries.next();
      options.stop = [&] { return std::chrono::steady_clock::now() >= end; };
      Outcome o = outcomeOf(p, inputs, options);
      ++out.tried;
      if (!first) {
        first = std::move(o);
      } else if (!first->same(o)) {
        out.orders.push_back({says(p, *first, o), std::move(first->steps)});
        out.orders.push_back({says(p, o, *first), std::move(o.steps)});
        break;
      }
    }
  } catch (const Interrupted &) {
  }
  return out;
}

} // namespace glia
