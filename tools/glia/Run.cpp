#include "Data.h"
#include "NanOrigin.h"
#include "Orders.h"
#include "Tool.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/RankNetwork.h"
#include "glia/Sim/Simulator.h"
#include "glia/Sim/Steps.h"

namespace glia::tool {

void addRun(Command app, Tool &tool) {
  struct Options {
    std::string file, target;
    std::vector<std::string> inputs, outputs;
    RunOptions run;
    uint64_t maxSteps = kDefaultMaxSteps;
    OrderOptions orders;
    bool noVerify = false, everyOrder = false, json = false, nan = false;
    int ranks = 0;
    std::string schedule;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("run", "Runs a program on NumPy arrays; verifies it first");
  c.option("file", o->file, "The program (.glia or .gasm)").required();
  c.option("--input", o->inputs, "name=file.npy, or a .npz file with all inputs; may be repeated").oneEach();
  c.option("--output", o->outputs,
           "name=file.npy, or a .npz file for all outputs; may be repeated. Without it a summary is printed")
      .oneEach();
  c.option("--target", o->target, "Run on this target instead of the program's own");
  Option strict = c.flag("--strict", o->run.strict, "Follow every byte, stop at the first fault");
  c.option("--seed", o->run.seed, "Which legal interleaving strict mode takes").needs(strict);
  c.option("--hold", o->run.hold,
           "Hold an instruction back as long as possible, e.g. core0.vector#12; the program need not be proved")
      .needs(strict);
  Option schedule = c.option("--schedule", o->schedule,
                             "Take the orders in this file, written by `glia debug --find-race`, and show how each ends")
                        .needs(strict);
  c.flag("--steered", o->run.steered,
         "Let the seed hold engines and queues back for long stretches instead of drawing every step")
      .needs(strict);
  c.flag("--fault-on-range", o->run.faultOnRange,
         "An argument outside a function's documented range is a fault, not a warning")
      .needs(strict);
  c.option("--threads", o->run.threads, "Threads of the fast mode; default: GLIA_THREADS, or one for each processor")
      .positive();
  c.option("--ranks", o->ranks,
           "Of a program for several ranks: how many. They run here, one thread each; inputs and outputs are whole tensors")
      .positive();
  c.option("--timeout", o->run.rankTimeout,
           "Under mpirun: seconds that a rank waits for ranks of other processes; default: GLIA_TIMEOUT, or 60; 0: for ever")
      .notNegative();
  c.option("--max-steps", o->maxSteps, "Stop after so many instructions; 100 million if not given, 0: never");
  c.flag("--no-verify", o->noVerify, "Do not verify first");
  Option every = c.flag("--every-order", o->everyOrder,
                        "Take every legal order of a small program, verified or not, and compare how they end")
                     .excludes(strict);
  c.option("--max-states", o->orders.maxStates, "Give up after so many states of the machine").needs(every).positive();
  c.flag("--nan", o->nan, "A NaN in an output is an error, with the first instruction that wrote one")
      .excludes(every)
      .excludes(schedule);
  c.flag("--json", o->json, "The summary as JSON, with what the program printed; also beside --output")
      .excludes(every)
      .excludes(schedule);
  c.footer("Example: glia run softmax.glia --input x=x.npy --output y=y.npy\n         glia run softmax.glia --input "
           "x=x.npy --strict --seed 7\n         glia run small.gasm --input x=x.npy --every-order");
  c.callback([o, &tool] {
    tool.command = [o, &tool] {
      const Program p = loadProgram(o->file, o->target);
      if (const int ranks = ranksOf(p); o->ranks && o->ranks != ranks)
        throw Error("RANK-COUNT", format("a program for %d ranks is to be run by %d", ranks, o->ranks),
                    "Leave --ranks out, or compile the program for as many.");
      const TensorData inputs = readInputs(p, o->inputs);
      checkOutputs(p, o->outputs);
      auto deliver = [&](TensorData outputs, const std::string &printed) {
        if (const RankNetwork *n = ranksOf(p) > 1 ? launchedNetwork() : nullptr; n && n->process() != 0)
          return; // the first process has them too
        if (o->json)
          write(summaryJson(p, outputs, printed));
        else if (o->outputs.empty())
          write(summary(p, outputs));
        if (!o->outputs.empty())
          writeOutputs(p, std::move(outputs), o->outputs);
      };
      if (o->everyOrder) {
        TensorData outputs;
        const int status = everyOrder(tool, p, inputs, o->orders, outputs);
        if (status == 0)
          deliver(std::move(outputs), "");
        return status;
      }
      if (!o->schedule.empty())
        return runOrders(tool, p, inputs, readSchedules(p, o->schedule), o->run);
      if (!o->noVerify && o->run.hold.empty() && !verified(tool, p))
        return 1;
      RunResult r;
      {
        Progress progress("running");
        o->run.maxSteps = stepLimit(o->maxSteps);
        r = run(p, inputs, o->run);
      }
      if (!r.printed.empty() && !o->json)
        write(r.printed);
      if (r.range) {
        r.range->notes.push_back(
            format("%llu arguments of this run are outside their function's range", (unsigned long long)r.outOfRange));
        print(tool, {*r.range});
      }
      if (!r.ok()) {
        std::vector<Diagnostic> all;
        for (const auto &d : {r.fault, r.trap})
          if (d)
            all.push_back(*d);
        print(tool, all);
        return 1;
      }
      std::optional<Diagnostic> nan = o->nan ? nanOrigin(p, inputs, r.outputs, o->run) : std::nullopt;
      deliver(std::move(r.outputs), r.printed);
      if (nan)
        print(tool, {*nan});
      return nan ? 1 : 0;
    };
  });
}

} // namespace glia::tool
