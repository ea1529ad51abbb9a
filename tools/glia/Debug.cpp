#include "Data.h"
#include "DebugGraph.h"
#include "DebugPrompt.h"
#include "FileKind.h"
#include "Tool.h"
#include "glia/Debug/Debugger.h"
#include "glia/Debug/FindOrders.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"
#include "glia/Verify/VerifyRanks.h"

#include <algorithm>
#include <optional>
#include <set>

namespace glia::tool {

namespace {

constexpr double kSearchSeconds = 10;

struct Options {
  std::string file, target, script, schedule, find, function, autoCast;
  std::vector<std::string> inputs;
  RunOptions run;
  size_t order = 1;
};

// A session over a graph; nothing if the file is none.
#ifdef GLIA_COMPILER
std::optional<int> asGraph(const Options &o, const Command &c) {
  const FileBytes f = readFile(o.file);
  if (kindOf(o.file, f) != FileKind::Graph) {
    if (c.isGiven("--auto-cast"))
      throw Error("DEBUG-OPTION", "--auto-cast is about graphs, and " + printable(o.file) + " is none",
                  "Leave it out; a program rounds as it was compiled.");
    return {};
  }
  for (const char *name : {"--target", "--seed", "--hold", "--steered", "--schedule", "--pass-races", "--find-race"})
    if (c.isGiven(name))
      throw Error("DEBUG-OPTION", std::string(name) + " is about programs, and " + printable(o.file) + " is a graph",
                  "A graph is evaluated one operation after the other; compile it first to look at orders.");
  return debugGraph(f, o.file, o.function, o.inputs, o.script, o.autoCast);
}
#else
std::optional<int> asGraph(const Options &, const Command &) { return {}; }
#endif

bool isAboutOrder(const Diagnostic &d) {
  static constexpr std::string_view kCodes[] = {"RACE", "SYNC-DEADLOCK", "BARRIER-PAIR", "SENDRECV-PAIR", "SCATTER-UNIQUE"};
  return std::find(std::begin(kCodes), std::end(kCodes), d.code) != std::end(kCodes) || d.code.starts_with("SYNC-") ||
         d.code.starts_with("LOOP-");
}

int find(const Options &o, const Program &p, const TensorData &inputs) {
  std::vector<Diagnostic> reported;
  {
    Progress progress("verifying " + grouped(p.instructionCount()) + " instructions");
    for (Diagnostic &d : verifyRanks(p, {}).diagnostics)
      if (isAboutOrder(d))
        reported.push_back(std::move(d));
  }
  if (reported.empty()) {
    write("the verifier reports nothing about the order of this program: there is nothing to look for\n");
    return 0;
  }
  std::set<std::string> said;
  for (const Diagnostic &d : reported)
    if (const std::string text = d.code + ": " + d.message + (d.context.empty() ? "" : " (" + d.context + ")") + "\n";
        said.insert(text).second)
      write(text);
  FoundOrders found;
  {
    Progress progress("trying orders");
    found = findOrders(p, inputs, reported, kSearchSeconds);
  }
  if (found.all) {
    write("every order of this program ends alike with these inputs; with others it may not\n");
    return 1;
  }
  if (found.orders.empty()) {
    write(format("%llu orders in %g s end alike with these inputs; that is no proof: there may be others\n",
                 (unsigned long long)found.tried, kSearchSeconds));
    return 1;
  }
  writeFile(o.find, formatSchedules(p, found.orders));
  for (size_t i = 0; i < found.orders.size(); ++i)
    write(format("order %zu: ", i + 1) + found.orders[i].says + "\n");
  write("both are in " + o.find + "; --schedule " + o.find +
        " takes them again, in `glia debug` (--order 2: the second) and `glia run --strict`\n");
  return 0;
}

} // namespace

void addDebug(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("debug", "Runs a program or a graph step by step: breakpoints, values, who wrote what, and back");
  c.option("file", o->file, "The program (.glia or .gasm), or the graph (StableHLO as text or bytecode, HloModuleProto)")
      .required();
  c.option("--input", o->inputs,
           "name=file.npy, or a .npz file with all inputs; may be repeated. Of a graph by name or number of the argument")
      .oneEach();
  c.option("--target", o->target, "Run on this target instead of the program's own");
  c.option("-x", o->script, "Take the commands from this file, one in a line");
  c.option("--seed", o->run.seed, "Which legal interleaving is taken");
  c.option("--hold", o->run.hold, "Hold an instruction back as long as possible, e.g. core0.vector#12");
  c.flag("--steered", o->run.steered, "Let the seed hold engines and queues back for long stretches");
  Option schedule = c.option("--schedule", o->schedule, "Take the order that is written in this file");
  c.option("--order", o->order, "Which of the orders in that file; 1 if not given").needs(schedule).positive();
  c.flag("--pass-races", o->run.passRaces, "A race does not end the run; --schedule implies it");
  c.option("--find-race", o->find,
           "Look for two orders that end differently, 10 s at most, and write them to this file: what a RACE or deadlock "
           "that `glia verify` reports can do");
  c.option("--function", o->function, "Of a graph: the function to evaluate; @main if not given");
  c.option("--auto-cast", o->autoCast, "Of a graph. bf16 or f16: operands of f32 products are rounded to it");
  c.footer("Example: glia debug softmax.glia --input x=x.npy\n"
           "         glia debug model.mlir --input 0=x.npy\n"
           "         glia debug softmax.glia --input x=x.npy -x commands.txt\n"
           "         glia debug racy.gasm --input x=x.npy --find-race racy.order");
  c.callback([o, c, &tool] {
    tool.command = [o, c] {
      if (const std::optional<int> status = asGraph(*o, c))
        return *status;
      const Program p = loadProgram(o->file, o->target);
      const TensorData inputs = readInputs(p, o->inputs);
      if (!o->find.empty())
        return find(*o, p, inputs);
      std::vector<Schedule> orders;
      if (!o->schedule.empty()) {
        orders = readSchedules(p, o->schedule);
        if (o->order > orders.size())
          throw Error("DEBUG-SCHEDULE", format("%s has %zu orders", printable(o->schedule).c_str(), orders.size()));
        o->run.schedule = &orders[o->order - 1].steps;
        o->run.passRaces = true;
      }
      o->run.strict = true;
      o->run.stop = interruptPressed;
      Prompt prompt("(glia instructions) ", o->script);
      Debugger debugger(p, inputs, o->run, [](std::string_view text) { write(text); });
      return session(debugger, prompt);
    };
  });
}

} // namespace glia::tool
