// The commands of the prompt over a graph.
#include "glia/Debug/GraphDebugger.h"
#include "Debug/Commands.h"
#include "Debug/Names.h"
#include "GraphMarks.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace glia {

using namespace debug;

namespace {

constexpr std::string_view kHelp =
    R"(the sequential meaning of the graph, operation by operation, as the interpreter evaluates it:
  break 24, break f.py:24, break add, break @function     before operations of a line, of a name, of a function
  break %5, break step 500        after a value is made; at a step;  all with `if %5[0, 0] > 1 and iteration == 2`; tbreak: once
  watch nan | inf | denormal | saturation | range LOW HIGH     stops after the operation that gives such a value
  delete [N], info breakpoints
  run, continue, until WHERE      from the start; on; to a place
  step [N], line, next, finish    operations; to another source line; past calls and loops; out of a region or function
  back [N], back to STEP, reverse-continue     operations back, to a step, to the breakpoint before: by evaluating again to there
  print %5, print %5[0:4, 0], print %arg0      type, extremes, mean, elements
  who wrote %5, who reads %5      the operation, with its operands; the next one that uses it
  info values, where, list, quit
Commands may be shortened (b, tb, c, r, s, n, u, p, l, i, rc). Conditions compare numbers, elements, min(), max() and mean() of values,
`iteration` of the innermost loop and `step`.)";

} // namespace

class GraphDebugger::State {
public:
  State(GraphInput given, StopQuestion stop, Write write)
      : input(std::move(given)), stop(std::move(stop)), write(std::move(write)), text(input.module), replay(input),
        values(input, replay, text), marks(input.module, replay, text, values) {
    if (replay.ended() && replay.failure() && replay.steps() == 0) // no operation was come to: the arguments do not fit
      throw Error(replay.failure()->diagnostics());
  }

  bool command(std::string_view given) { return obey(*this, commands, given); }
  void say(std::string_view line) { write(std::string(line) + "\n"); }

  void greet() {
    say("graph " + GraphText::function(function()) +
        ": its sequential meaning, operation by operation; `help` lists commands");
    view();
  }

  void view() {
    if (!replay.ended())
      return say(describe(replay.stack().size() - 1) + at(replay.stack().size() - 1, true));
    if (!replay.failure())
      return say(format("the graph has ended after %llu operations", (unsigned long long)replay.steps()));
    say(format("the graph stops after %llu operations", (unsigned long long)replay.steps()));
    for (const Diagnostic &d : replay.failure()->diagnostics())
      say(render(d));
  }

private:
  template <class D> friend Commands debug::commandsOf(D &, Commands);
  const GraphInput input;
  const StopQuestion stop;
  const Write write;
  GraphText text;
  GraphReplay replay;
  GraphValues values;
  GraphMarks marks;
  const Commands commands =
      commandsOf(*this, {{"next", {"n"}, [this](std::string_view) { leave(replay.stack().size()); }},
                         {"finish", {}, [this](std::string_view) { leave(replay.stack().size() - 1); }},
                         {"where", {"bt"}, [this](std::string_view) { where(); }},
                         {"reverse-continue", {"rc"}, [this](std::string_view) { reverse(); }}});

  std::string_view help() const { return kHelp; }
  mlir::Operation *function() { return mlir::SymbolTable::lookupSymbolIn(mlir::ModuleOp(input.module), input.function); }

  // "f.py:9: y = jnp.tanh(y)", and in the next line the operation; of a graph whose lines are its own, that line alone.
  std::string describe(mlir::Operation *op) {
    const SourcePlace p = GraphText::placeOf(op);
    if (p.file.empty())
      return text.text(op);
    const std::string line = text.line(p);
    if (GraphText::isSource(p))
      return line + "\n  " + text.text(op);
    return line.substr(0, std::min(line.find(": "), line.size())) + ": " + text.text(op);
  }
  std::string describe(size_t level) { return describe(replay.stack()[level].at); }

  // "  (iteration 2, step 14)"
  std::string at(size_t level, bool step) {
    std::string out;
    for (size_t n = 0; n <= level; ++n)
      if (const GraphReplay::Level &l = replay.stack()[n]; l.round >= 0)
        out += (out.empty() ? "" : ", ") + format("iteration %lld", (long long)l.round);
    if (step)
      out += (out.empty() ? "" : ", ") + format("step %llu", (unsigned long long)replay.steps());
    return out.empty() ? "" : "  (" + out + ")";
  }

  // ---- going on

  bool interrupted() {
    if (stop && stop())
      throw Interrupted();
    return false;
  }

  // Until `wanted` or a breakpoint says so, or to the end.
  void goOn(const std::function<bool()> &wanted) {
    if (replay.ended())
      throw Error("DEBUG-PLACE", "the graph has ended", "`back` goes back, `run` begins again.");
    std::string why;
    replay.run([&] {
      interrupted();
      why = marks.reason();
      return !why.empty() || (wanted && wanted());
    });
    if (!why.empty())
      say(why);
    view();
  }

  void run() {
    goTo(0);
    if (const std::string why = marks.reason(); !why.empty()) {
      say(why);
      return view();
    }
    goOn({});
  }

  void step(std::string_view rest) {
    uint64_t left = countOf(rest);
    goOn([&] { return --left == 0; });
  }

  void line() {
    const SourcePlace before = replay.ended() ? SourcePlace() : GraphText::placeOf(replay.at());
    goOn([&] {
      const SourcePlace now = GraphText::placeOf(replay.at());
      return now.file != before.file || now.line != before.line;
    });
  }

  void leave(size_t depth) {
    goOn([&] { return replay.stack().size() <= depth; });
  }

  void goTo(uint64_t step) {
    marks.goneBack();
    replay.goTo(step, [&] { return interrupted(); });
    marks.goneBack();
  }

  // Evaluates again up to here; the last stop on the way is the one.
  void reverse() {
    const uint64_t now = replay.steps();
    uint64_t last = 0;
    std::string why;
    goTo(0);
    if (now > 0) {
      why = marks.reason(true);
      replay.run([&] {
        interrupted();
        if (replay.steps() >= now)
          return true;
        if (const std::string found = marks.reason(true); !found.empty())
          last = replay.steps(), why = found;
        return false;
      });
    }
    goTo(last);
    if (!why.empty())
      say(why);
    view();
  }

  // ---- looking

  void print(std::string_view rest) {
    if (rest.empty())
      throw Error("DEBUG-COMMAND", "print what?", "`info values` lists the values that are in use here.");
    say(values.print(rest));
  }

  void info(std::string_view rest) {
    const std::string_view what = word(rest);
    if (!what.empty() && std::string_view("breakpoints").starts_with(what))
      say(marks.list());
    else if (what.empty() || std::string_view("values").starts_with(what) || std::string_view("locals").starts_with(what))
      say(values.list());
    else
      throw Error("DEBUG-COMMAND", "info about what?", "Say info values or info breakpoints.");
  }

  void where() {
    for (size_t n = replay.stack().size(); n-- > 0;)
      say((n + 1 == replay.stack().size() ? "-> " : "   ") + GraphText::function(replay.stack()[n].at) + " at " +
          describe(n) + at(n, false));
    if (replay.ended())
      view();
  }

  void list(std::string_view) {
    if (replay.ended())
      return view();
    mlir::Operation *here = replay.at(), *first = here;
    for (int n = 0; n < 4 && first->getPrevNode(); ++n)
      first = first->getPrevNode();
    mlir::Operation *op = first;
    for (int n = 0; n < 10 && op; ++n, op = op->getNextNode()) {
      const SourcePlace p = GraphText::placeOf(op);
      const std::string place =
          p.file.empty() ? "" : "  (" + p.file.substr(p.file.rfind('/') + 1) + ":" + std::to_string(p.line) + ")";
      say((op == here ? "-> " : "   ") + text.text(op) + place);
    }
  }

  void who(std::string_view rest) {
    const std::string_view what = word(rest);
    if ((what != "wrote" && what != "reads") || rest.empty())
      throw Error("DEBUG-COMMAND", "who did what?", "Say who wrote %5 or who reads %5.");
    const std::string_view name = trimmed(rest.substr(0, rest.find('[')));
    const mlir::Value v = values.named(name);
    say(std::string(name) + ": " + (what == "wrote" ? wrote(v) : reads(v)));
  }

  std::string wrote(mlir::Value v) {
    if (auto a = llvm::dyn_cast<mlir::BlockArgument>(v))
      return given(a);
    mlir::Operation *op = v.getDefiningOp();
    const std::optional<uint64_t> step = replay.begun(op);
    if (!step)
      return "not made yet; it will be by " + describe(op);
    std::string out = format("made at step %llu by ", (unsigned long long)*step) + describe(op);
    for (mlir::Value o : op->getOperands())
      out += "\n    " + text.name(o) + ": " + contents(o);
    return out;
  }

  std::string contents(mlir::Value v) {
    try {
      return summary(values.value(v));
    } catch (const Error &) {
      return typeText(v.getType());
    }
  }

  // An argument of a block: of the graph, of a function, of a round of a loop.
  std::string given(mlir::BlockArgument a) {
    const auto &levels = replay.stack();
    size_t n = levels.size() - 1;
    while (n > 0 && levels[n].block != a.getOwner())
      --n;
    const std::string number = std::to_string(a.getArgNumber());
    if (n == 0)
      return "argument " + number + " of the graph";
    mlir::Operation *around = levels[n - 1].at;
    if (levels[n].round < 0)
      return "argument " + number + " of " + GraphText::function(a.getOwner()->getParentOp()) + ", called by " +
             describe(around);
    if (levels[n].round == 0)
      return "what the loop begins with: " + from(around->getOperand(a.getArgNumber()));
    mlir::Operation *back = around->getRegion(1).front().getTerminator();
    return format("what iteration %lld has left: ", (long long)levels[n].round - 1) +
           from(back->getOperand(a.getArgNumber()));
  }

  std::string from(mlir::Value v) {
    if (llvm::isa<mlir::BlockArgument>(v))
      return text.name(v);
    return describe(v.getDefiningOp());
  }

  // The same evaluation once more, beside this one.
  std::string reads(mlir::Value v) {
    GraphReplay other(input);
    other.goTo(replay.steps(), [&] { return interrupted(); });
    mlir::Operation *maker = v.getDefiningOp();
    auto uses = [&] { return llvm::is_contained(other.at()->getOperands(), v); };
    bool found = !other.ended() && uses();
    bool madeAgain = false;
    if (!found && !other.ended())
      found = other.run([&] {
        interrupted();
        madeAgain = other.at() == maker && maker != replay.at();
        return madeAgain || uses();
      });
    if (!found)
      return "nobody reads it any more";
    return format(madeAgain ? "nobody reads it before it is made again, at step %llu by " : "read next at step %llu by ",
                  (unsigned long long)other.steps()) +
           describe(other.at());
  }
};

GraphDebugger::GraphDebugger(mlir::ModuleOp module, std::string function, std::vector<HostTensor> arguments,
                             decltype(InterpretOptions::onCustomCall) onCustomCall, StopQuestion stop, Write write)
    : state(std::make_unique<State>(GraphInput{module, std::move(function), std::move(arguments), std::move(onCustomCall)},
                                    std::move(stop), std::move(write))) {}
GraphDebugger::~GraphDebugger() = default;
bool GraphDebugger::command(std::string_view text) { return state->command(text); }
void GraphDebugger::greet() { state->greet(); }

} // namespace glia
