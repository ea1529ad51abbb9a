#include "InternalError.h"
#include "Interrupt.h"
#include "glia/Support/Checksum.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace glia::tool {

using namespace reduce;

namespace {

constexpr double kSeconds = 10;

bool isInternal(const Diagnostic &d) { return d.code == "INTERNAL" || d.code == "GRAPH-INTERNAL"; }

// A name that only this text has: nothing else can be lost under it.
std::string writtenAs(const std::string &text, const std::string &ending) {
  const std::string name =
      format("glia-internal-%016llx", (unsigned long long)checksum64(std::as_bytes(std::span(text)))) + ending;
  try {
    writeFile(name, text);
    return name;
  } catch (const Error &) { // the folder may be read-only
    return {};
  }
}

std::string commandOf(const ReduceOptions &o, const std::string &file, const std::string &code, const std::string &ending) {
  return "glia reduce " + shellWord(file) + " --keep " + code +
         (o.target.empty() ? "" : " --target " + shellWord(o.target)) + textOf(o.graph) + " -o smaller" + ending;
}

// Says what was found within a few seconds.
std::string smallerOne(const ReduceForm &form, const Keep &keep) {
  const Interrupts interrupts;
  if (::isatty(2))
    std::fprintf(stderr, "an internal error: looking for a smaller input, at most %.0f s (Ctrl-C ends that)\n", kSeconds);
  Trials trials;
  trials.judge = form.judge;
  trials.keep = keep;
  trials.patience = {kSeconds, interrupted};
  if (!trials.fails(form.text))
    return {};
  Search search(form.text, [&](const std::string &text) { return trials.fails(text); }, form.measure,
                {.seconds = kSeconds, .stop = interrupted});
  const Size before = search.size();
  form.reduce(search);
  if (search.size().parts >= before.parts)
    return {};
  const std::string name = writtenAs(search.smallest(), form.ending);
  return name.empty() ? ""
                      : "smaller: " + name + " has " + counted(search.size().parts, form.unit) + " of " +
                            grouped(before.parts) + " and fails in the same way (GLIA_REDUCE=off leaves this out)";
}

} // namespace

bool isInternal(const std::vector<Diagnostic> &diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &d) { return isInternal(d); });
}

std::vector<Diagnostic> withSmaller(std::vector<Diagnostic> diagnostics, const ReduceOptions &o, const FileBytes &bytes) {
  Diagnostic &d = *std::find_if(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &x) { return isInternal(x); });
  const Keep keep{.code = outcomeOf({d}).back().code}; // the rule, if it is one
  try {
    const ReduceForm form = readForm(o, keep, bytes);
    const char *const wish = std::getenv("GLIA_REDUCE");
    if (!wish || std::string_view(wish) != "off")
      if (const std::string said = smallerOne(form, keep); !said.empty())
        d.notes.push_back(said);
    std::string file = o.file;
    if (!std::filesystem::is_regular_file(file)) { // from a pipe: it cannot be read again
      file = writtenAs(form.text, form.ending);
      if (!file.empty())
        d.notes.push_back("the input was kept as " + file);
    }
    if (!file.empty())
      d.notes.push_back("to make it smaller: " + commandOf(o, file, keep.code, form.ending));
  } catch (const std::exception &) { // what went wrong first is what is told
  }
  return diagnostics;
}

} // namespace glia::tool
