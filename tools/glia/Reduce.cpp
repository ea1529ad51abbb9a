// glia reduce: the smallest graph, kernel or program that still fails.
#include "Tool.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Reduce/ReduceProgram.h"
#include "glia/Support/File.h"
#include "glia/Support/Text.h"
#ifdef GLIA_COMPILER
#include "glia/Graph/Read.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Reduce/ReduceGraph.h"
#include "glia/Reduce/ReduceKernel.h"
#endif

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace glia::tool {

namespace {

using namespace reduce;

struct Options {
  std::string file, keep, output, target;
  double seconds = 60, trySeconds = 0;
  int tries = 100'000, cores = 1;
  uint64_t seed = 1;
};

// What a kind of input needs.
struct Form {
  std::string text;   // the input
  const char *unit;   // what its size is counted in
  std::string ending; // of files with it
  Judge judge;        // in this process
  Search::Measure measure;
  std::function<void(Search &)> reduce;
  std::shared_ptr<const Target> target; // of a program
};

Form programForm(const Options &o, const Keep &keep) {
  if (keep.code == kMismatch)
    throw Error("REDUCE-KEEP",
                "`mismatch` is for graphs and kernels, and " + o.file + " is a program, which has no reference",
                "Give the code of a rule, or a command with {} that exits with 0 when the program is wrong.");
  const Program p = loadProgram(o.file, o.target);
  const std::shared_ptr<const Target> target = p.target;
  return {disassemble(p),
          "instruction",
          ".gasm",
          [=](const std::string &text) { return judgeProgram(text, target); },
          [=](const std::string &text) { return sizeOfProgram(text, target); },
          [=](Search &search) { reduceProgram(search, target); },
          target};
}

#ifdef GLIA_COMPILER
// A folder of its own is where candidates are tried: a file is named from the root.
std::string fromAnywhere(const std::string &target) {
  return std::filesystem::exists(target) ? std::filesystem::absolute(target).string() : target;
}

Form graphForm(const Options &o, const Keep &keep, std::string_view bytes) {
  GraphOptions options;
  options.target = o.target.empty() ? options.target : fromAnywhere(o.target);
  options.cores = o.cores;
  const bool check = keep.code == kMismatch;
  return {graph::readGraph(bytes, o.file).text(),
          "operation",
          ".mlir",
          [=, seed = o.seed](const std::string &text) {
            return check ? judgeChecked(text, options, seed) : judgeCompiled(text, options);
          },
          sizeOfGraph,
          reduceGraph,
          {}};
}

Form kernelForm(const Options &o, const Keep &keep, std::string_view text) {
  const std::string target = o.target.empty() ? "" : fromAnywhere(o.target);
  const bool compare = keep.code == kMismatch;
  return {nisa::parseKernel(text, o.file).text(),
          "instruction",
          ".nisa",
          [=, seed = o.seed](const std::string &t) {
            return compare ? judgeComparedKernel(t, target, seed) : judgeCompiledKernel(t, target);
          },
          sizeOfKernel,
          reduceKernel,
          {}};
}

bool isProgram(const Options &o, const FileBytes &f) {
  if (looksLikeContainer(f.bytes) || o.file.ends_with(".gasm") || o.file.ends_with(".glia"))
    return true;
  const auto has = [&](std::string_view word) { return f.text().find(word) != std::string_view::npos; };
  return !o.file.ends_with(".mlir") && !o.file.ends_with(".nisa") && graph::formOf(f.text()) == graph::GraphForm::Text &&
         !has("nisa.kernel") && !has("func");
}

Form formOf(const Options &o, const Keep &keep, const FileBytes &f) {
  return isProgram(o, f)             ? programForm(o, keep)
         : isGraph(o.file, f.text()) ? graphForm(o, keep, f.text())
                                     : kernelForm(o, keep, f.text());
}

// A text that cannot be read is judged by its reader.
Judge readerOf(const Options &o, const FileBytes &f) {
  if (isProgram(o, f))
    return [o](const std::string &text) {
      assemble(text, o.file, o.target.empty() ? nullptr : loadTarget(o.target));
      return Outcome();
    };
  if (isGraph(o.file, f.text()))
    return [](const std::string &text) {
      graph::parseGraph(text, "graph.mlir");
      return Outcome();
    };
  return [](const std::string &text) {
    nisa::parseKernel(text, "kernel.nisa");
    return Outcome();
  };
}
#else
Form formOf(const Options &o, const Keep &keep, const FileBytes &) { return programForm(o, keep); }
Judge readerOf(const Options &o, const FileBytes &) {
  return [o](const std::string &text) {
    assemble(text, o.file, o.target.empty() ? nullptr : loadTarget(o.target));
    return Outcome();
  };
}
#endif

// The form of the input. What cannot be read is a text of lines, if not being read is what is kept.
Form readForm(const Options &o, const Keep &keep) {
  const FileBytes f = readFile(o.file);
  try {
    return formOf(o, keep, f);
  } catch (const Error &e) {
    const bool text = f.text().find('\0') == std::string_view::npos;
    if (!text || e.diagnostics()[0].code.starts_with("REDUCE") ||
        (keep.command.empty() && !keep.in(outcomeOf(e.diagnostics()))))
      throw;
  }
  return {std::string(f.text()), "line", std::filesystem::path(o.file).extension(), readerOf(o, f), sizeOfLines,
          reduceLines,           {}};
}

volatile std::sig_atomic_t interrupted = 0;

void waitForInterrupts() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { interrupted = signal; };
  for (int s : {SIGINT, SIGTERM, SIGHUP})
    sigaction(s, &action, nullptr);
}

std::string counted(size_t n, const char *unit) { return grouped(n) + " " + unit + (n == 1 ? "" : "s"); }

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
  explicit Reduction(const Options &o) : o(o), keep(parseKeep(o.keep)), form(readForm(o, keep)) {}

  int run() {
    waitForInterrupts();
    const auto isInterrupted = [] { return interrupted != 0; };
    Trials trials{form.judge, keep, form.ending, {o.seconds, isInterrupted}, o.trySeconds, {}};
    if (!trials.fails(form.text) && !interrupted)
      doesNotFail(o, keep, trials.last);
    Search search(form.text, [&](const std::string &text) { return trials.fails(text); }, form.measure,
                  {o.seconds, o.tries, isInterrupted});
    const Size before = search.size();
    search.onTry = [&](const Search &s) { show(s); };
    form.reduce(search);
    if (terminal)
      std::fputs("\r\033[K", stderr);
    finish(search, before);
    return interrupted ? 128 + interrupted : 0;
  }

private:
  const Options &o;
  Keep keep;
  Form form;
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
    if (interrupted)
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

void addReduce(CLI::App &app, Tool &tool) {
  auto o = std::make_shared<Options>();
  CLI::App *c = app.add_subcommand("reduce", "Finds the smallest graph, kernel or program that still fails");
  c->add_option("file", o->file, "A graph, a kernel (.nisa) or a program (.gasm, .glia)")->required();
  c->add_option("--keep", o->keep,
                "What the smaller one must still do. CODE: fail with this error; CODE:WORDS: and say this; mismatch: differ "
                "from the reference; crash: end the compiler; else a command, {} being the file: exit with 0")
      ->required();
  c->add_option("-o,--output", o->output, "The file to write, as text; without it, standard output");
  c->add_option("--target", o->target, "Built-in target or target file; else the input's own. Graphs: trn2 if not given");
  c->add_option("--seed", o->seed, "With mismatch: which random inputs; 1 if not given");
  c->add_option("--lnc", o->cores, "Of a graph. 2: each group on both cores of a logical one; 1 if not given");
  c->add_option("--seconds", o->seconds, "How long it may search; 60 if not given")->check(CLI::PositiveNumber);
  c->add_option("--try-seconds", o->trySeconds, "How long one try may take; else somewhat more than the input itself")
      ->check(CLI::PositiveNumber);
  c->add_option("--tries", o->tries, "How many candidates are tried at most")->check(CLI::PositiveNumber);
  c->footer("Example: glia reduce small.gasm --keep 'grep -q dma_copy {}' -o smaller.gasm");
  c->callback([o, &tool] {
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
