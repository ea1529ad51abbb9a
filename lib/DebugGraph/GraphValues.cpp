#include "GraphValues.h"
#include "Debug/Conditions.h"
#include "Debug/Names.h"
#include "Debug/Slices.h"
#include "Interpret/Complex.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <cmath>
#include <numeric>

namespace glia::debug {

using interp::Datum;
using interp::Tensor;

namespace {

[[noreturn]] void bad(std::string message, std::string advice = {}) {
  throw Error("DEBUG-VALUE", std::move(message), std::move(advice));
}

// Complex numbers as pairs.
Tensor tensorOf(const Datum &d, const std::string &name) {
  if (d.tensor.element == Element::Tuple || d.tensor.element == Element::Token)
    bad("`" + name + "` is no tensor");
  return isComplex(d.tensor.element) ? interp::toPairs(d) : d.tensor;
}

struct Extremes {
  double low = NAN, high = NAN, mean = NAN;
  int64_t nans = 0;
};

template <class Numbers> Extremes extremesOf(int64_t count, Numbers &&number) {
  Extremes e;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = number(i);
    e.nans += std::isnan(x);
    e.low = std::fmin(e.low, x);
    e.high = std::fmax(e.high, x);
    sum += std::isnan(x) ? 0 : x;
  }
  e.mean = sum / static_cast<double>(count - e.nans);
  return e;
}

std::string typeText(Element e, const std::vector<int64_t> &shape) {
  std::string out = "tensor<";
  for (int64_t n : shape)
    out += std::to_string(n) + "x";
  return out + std::string(info(e).name) + ">";
}

std::string text(const Extremes &e, int64_t count) {
  if (count == 0)
    return "";
  if (e.nans == count)
    return " all NaN";
  const std::string nans = e.nans ? format(", %lld NaN", (long long)e.nans) : "";
  return format(" min %.7g max %.7g mean %.7g", e.low, e.high, e.mean) + nans;
}

ElementLimits limitsOf(Element e) {
  const ElementInfo &t = info(e);
  if (t.kind == ElementInfo::Float)
    return {-t.largest, t.largest, std::ldexp(1.0, 1 - t.bias)};
  const bool sign = t.kind == ElementInfo::Signed;
  if (t.kind == ElementInfo::Pred)
    return {NAN, NAN, 0};
  return {sign ? -std::ldexp(1.0, t.bits - 1) : 0, std::ldexp(1.0, t.bits - sign) - 1, 0};
}

std::string indexText(int64_t i, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    index[d] = i % shape[d];
  return shapeText(index);
}

} // namespace

std::string summary(const Tensor &t) {
  if (t.count() == 1)
    return typeText(t.element, t.shape) + " " + textOf(t.element, t.at(0));
  const Extremes e = extremesOf(t.count(), [&](int64_t i) { return numberOf(t.element, t.at(i)); });
  return typeText(t.element, t.shape) + text(e, t.count());
}

mlir::Value GraphValues::named(std::string_view name) {
  name = trimmed(name);
  const auto &levels = replay.stack();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (mlir::Value v = text.find(level->block, name))
      return v;
    if (llvm::isa<mlir::ModuleOp>(level->block->getParentOp()->getParentOp()))
      break; // a function sees nothing around it
  }
  if (replay.ended())
    bad("the graph has ended, and there is nothing called `" + printable(name) + "` any more", "`back` goes back.");
  bad("there is no value called `" + printable(name) + "` here",
      "`info values` lists those that are in use, `list` the operations.");
}

Tensor GraphValues::value(mlir::Value v) {
  if (const Datum *d = replay.live(v))
    return tensorOf(*d, text.name(v));
  return again(v);
}

// Another evaluation, up to where this one stands; the last one that was made counts.
Tensor GraphValues::again(mlir::Value v) {
  std::optional<Datum> found;
  GraphReplay other(input);
  auto result = llvm::dyn_cast<mlir::OpResult>(v);
  if (result)
    other.onResults = [&](mlir::Operation &op, const std::vector<Datum> &results) {
      if (&op == result.getOwner())
        found = results[result.getResultNumber()];
    };
  else
    other.onBlock = [&](mlir::Block &block, const interp::Frame &frame) {
      if (&block == v.getParentBlock())
        if (const auto it = frame.find(v); it != frame.end())
          found = it->second;
    };
  if (const Datum *d = other.live(v)) // it stands before the first operation: arguments of the graph
    found = *d;
  const bool begun = !result || replay.begun(result.getOwner());
  if (begun)
    other.goTo(replay.steps());
  if (!found)
    bad("`" + text.name(v) + (result ? "` has not been made yet" : "` is not used, and not kept"));
  return tensorOf(*found, text.name(v));
}

GraphValues::Part GraphValues::part(std::string_view given) {
  given = trimmed(given);
  const size_t bracket = std::min(given.find('['), given.size());
  const mlir::Value v = named(given.substr(0, bracket));
  Part p;
  p.whole = value(v);
  const std::vector<Range> ranges = rangesOf(trimmed(given.substr(bracket)), p.whole.shape);
  p.shape = shapeOf(ranges);
  if (p.whole.count())
    forEachIndex(ranges, [&](const std::vector<int64_t> &index) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d)
        at = at * p.whole.shape[d] + index[d];
      p.elements.push_back(at);
    });
  p.title = std::string(given);
  return p;
}

std::string GraphValues::print(std::string_view given) {
  if (isNumber(given))
    return std::string(given) + ": " + format(given.ends_with(")") ? "%.7g" : "%.0f", number(given));
  const Part p = part(given);
  const auto count = static_cast<int64_t>(p.elements.size());
  auto word = [&](int64_t i) { return p.whole.at(p.elements[static_cast<size_t>(i)]); };
  const Extremes e = extremesOf(count, [&](int64_t i) { return numberOf(p.whole.element, word(i)); });
  return p.title + ": " + typeText(p.whole.element, p.shape) + (count > 1 ? glia::debug::text(e, count) : "") +
         rowsText(p.shape, count, [&](int64_t i) { return textOf(p.whole.element, word(i)); });
}

// What is one number, whatever the values are.
bool GraphValues::isNumber(std::string_view given) {
  return given == "step" || given == "iteration" || given.starts_with("min(") || given.starts_with("max(") ||
         given.starts_with("mean(");
}

double GraphValues::number(std::string_view given) {
  given = trimmed(given);
  double v = 0;
  if (const auto [end, wrong] = std::from_chars(given.data(), given.data() + given.size(), v);
      wrong == std::errc() && end == given.data() + given.size())
    return v;
  if (given == "step")
    return static_cast<double>(replay.steps());
  if (given == "iteration") {
    const auto &levels = replay.stack();
    for (auto level = levels.rbegin(); level != levels.rend(); ++level)
      if (level->round >= 0)
        return static_cast<double>(level->round);
    return NAN; // in no loop: equal to nothing
  }
  for (const char *name : {"min", "max", "mean"})
    if (const std::string head = std::string(name) + "("; given.starts_with(head) && given.ends_with(")")) {
      const Part p = part(given.substr(head.size(), given.size() - head.size() - 1));
      const Extremes e = extremesOf(static_cast<int64_t>(p.elements.size()), [&](int64_t i) {
        return numberOf(p.whole.element, p.whole.at(p.elements[static_cast<size_t>(i)]));
      });
      return head == "min(" ? e.low : head == "max(" ? e.high : e.mean;
    }
  const Part p = part(given);
  if (p.elements.size() != 1)
    bad("`" + printable(given) + "` is " + std::to_string(p.elements.size()) + " elements, and one is needed",
        "Say which one, or min(), max() or mean() of them.");
  return numberOf(p.whole.element, p.whole.at(p.elements[0]));
}

bool GraphValues::holds(std::string_view condition) {
  return debug::holds(condition, [&](std::string_view side) { return number(side); });
}

void GraphValues::check(std::string_view condition, mlir::Operation *op) {
  debug::holds(condition, [](std::string_view) { return 0.0; });
  for (size_t at = condition.find('%'); op && at != std::string_view::npos; at = condition.find('%', at + 1)) {
    const size_t end = std::min(condition.find_first_of("[] ,()=<>!", at), condition.size());
    const std::string_view name = condition.substr(at, end - at);
    mlir::Value v;
    for (mlir::Block *b = op->getBlock(); b && !v; b = b->getParentOp()->getBlock())
      v = text.find(b, name);
    if (!v)
      bad("there is no value called `" + printable(name) + "` at " + text.text(op), "`list` shows the operations here.");
  }
}

std::string GraphValues::list() {
  std::string out;
  auto add = [&](mlir::Value v) {
    const Datum *d = replay.live(v);
    if (!d || d->tensor.element == Element::Tuple || d->tensor.element == Element::Token)
      return;
    out += (out.empty() ? "" : "\n") + text.name(v) + ": " + summary(tensorOf(*d, ""));
  };
  const auto &levels = replay.stack();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (mlir::BlockArgument a : level->block->getArguments())
      add(a);
    for (mlir::Operation &op : *level->block) {
      if (&op == level->at)
        break;
      for (mlir::OpResult r : op.getResults())
        add(r);
    }
    if (llvm::isa<mlir::ModuleOp>(level->block->getParentOp()->getParentOp()))
      break;
  }
  return out.empty() ? "no values are in use" : out;
}

std::string GraphValues::found(const Look &look, const Datum &d) {
  if (d.tensor.element == Element::Tuple || d.tensor.element == Element::Token)
    return {};
  const Tensor t = tensorOf(d, "");
  const ElementLimits limits = limitsOf(t.element);
  for (int64_t i = 0; i < t.count(); ++i)
    if (look.finds(numberOf(t.element, t.at(i)), limits))
      return textOf(t.element, t.at(i)) + (t.shape.empty() ? "" : " at " + indexText(i, t.shape));
  return {};
}

} // namespace glia::debug
