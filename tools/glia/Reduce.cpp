// glia reduce: the smallest graph, kernel or program that still fails.
#include "Interrupt.h"
#include "ReduceForm.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Support/File.h"

#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace glia::tool {

namespace {

using namespace reduce;
using Options = ReduceOptions;

[[noreturn]] void doesNotFail(const Options &o, const Keep &keep, const Outcome &outcome) {
  Diagnostic d{.code = "REDUCE-FAILS-NOT"};
  if (!keep.command.empty())
    d.message = "the command does not exit with 0 for " + o.file + ": nothing is to be kept";
  else if (outcome.empty())
    d.message = o.file + " does not fail with " + keep.code + ": nothing is wrong with it" +
                (keep.code == kMismatch ? ", it equals the reference" : "");
  else
    d.message = o.file + " does not fail with " + keep.code + (keep.containing.empty() ? "" : " and these words") +
                ", it fails with " + outcome[0].code;
  for (size_t i = 0; i < outcome.size() && i < 3; ++i)
    d.notes.push_back(outcome[i].text.substr(0, outcome[i].text.find('\n')));
  d.advice = keep.command.empty()
                 ? "Give the target and the seed with which it fails, or another --keep."
                 : "Try it by itself: {} stands for the file; its exit status must be 0 when the input is to be kept.";
  throw Error(d);
}

class Reduction {
public:
  explicit Reduction(const Options &o) : o(o), keep(parseKeep(o.keep)), form(readForm(o, keep, readFile(o.file))) {}

  int run() {
    const Interrupts interrupts;
    Trials trials;
    trials.judge = form.judge;
    trials.keep = keep;
    trials.ending = form.ending;
    trials.patience = {o.seconds, interrupted};
    trials.trySeconds = o.trySeconds;
    if (!trials.fails(form.text) && !interrupted())
      doesNotFail(o, keep, trials.last);
    Search search(form.text, [&](const std::string &text) { return trials.fails(text); }, form.measure,
                  {o.seconds, o.tries, interrupted});
    const Size before = search.size();
    search.onTry = [&](const Search &s) { show(s); };
    form.reduce(search);
    if (terminal)
      std::fputs("\r\033[K", stderr);
    finish(search, before);
    return interrupted() ? 128 + interruptedBy() : 0;
  }

private:
  const Options &o;
  Keep keep;
  ReduceForm form;
  const bool terminal = ::isatty(2);

  void show(const Search &s) const {
    if (terminal)
      std::fprintf(stderr, "\r\033[Kreducing: %s, %d tries, %.0f s ", counted(s.size().parts, form.unit).c_str(), s.tries(),
                   s.elapsed());
  }

  void finish(const Search &search, const Size &before) {
    std::string text = counted(before.parts, form.unit) + (before.parts == search.size().parts ? " stay" : " became ") +
                       (before.parts == search.size().parts ? "" : grouped(search.size().parts)) +
                       format(", %s bytes %s, after %d tries in %.1f s", grouped(before.bytes).c_str(),
                              grouped(search.size().bytes).c_str(), search.tries(), search.elapsed());
    if (interrupted())
      text += "; interrupted, this is the smallest so far";
    else if (search.spent())
      text +=
          search.tries() >= o.tries ? "; all --tries are spent" : "; the time was up, more --seconds may find a smaller one";
    if (o.output.empty()) {
      std::fprintf(stderr, "%s\n", text.c_str());
      write(search.smallest());
      return;
    }
    if (form.target && o.output.ends_with(".glia"))
      save(assemble(search.smallest(), o.file, form.target), o.output);
    else
      writeFile(o.output, search.smallest());
    write(text + "; written to " + o.output + "\n");
  }
};

void checkOutput(const Options &o) {
  std::error_code ignored;
  if (std::filesystem::equivalent(o.file, o.output, ignored))
    throw Error("REDUCE-OUTPUT", "the result would be written over " + o.file, "Give another file with -o.");
  checkFolder(o.output);
}

} // namespace

void addReduce(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("reduce", "Finds the smallest graph, kernel or program that still fails");
  c.option("file", o->file, "A graph, a kernel (.nisa) or a program (.gasm, .glia)").required();
  c.option("--keep", o->keep,
           "What the smaller one must still do. CODE: fail with this error; CODE:WORDS: and say this; mismatch: differ "
           "from the reference; crash: end the compiler; else a command, {} being the file: exit with 0")
      .required();
  c.option("-o,--output", o->output, "The file to write, as text; without it, standard output");
  c.option("--target", o->target, "Built-in target or target file; else the input's own. Graphs: trn2 if not given");
  c.option("--seed", o->seed, "With mismatch: which random inputs; 1 if not given");
  addGraphFlags(c, o->graph);
  c.option("--seconds", o->seconds, "How long it may search; 60 if not given").positive();
  c.option("--try-seconds", o->trySeconds, "How long one try may take; else somewhat more than the input itself").positive();
  c.option("--tries", o->tries, "How many candidates are tried at most").positive();
  c.footer("Example: glia reduce small.gasm --keep 'grep -q dma_copy {}' -o smaller.gasm");
  c.callback([o, &tool] {
    tool.command = [o] {
      if (!o->target.empty())
        loadTarget(o->target); // a wrong name is found before any work
      if (!o->output.empty())
        checkOutput(*o);
      return Reduction(*o).run();
    };
  });
}

} // namespace glia::tool
