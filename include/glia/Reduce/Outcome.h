// What becomes of an input: what is found wrong with it, and whether that is what a reduction keeps.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace glia::reduce {

// Besides glia's own codes: the results differ from the reference, the process died, it did not come back in time.
inline constexpr const char *kMismatch = "mismatch", *kCrash = "crash", *kEndless = "endless";

struct Finding {
  std::string code; // of glia, or one of those above
  std::string text; // for people
};
using Outcome = std::vector<Finding>; // empty: nothing is wrong

// Each diagnostic; of a fault of the compiler's also the rule that the program breaks (docs/verifier.md), which is in its first note.
Outcome outcomeOf(const std::vector<Diagnostic> &diagnostics);

struct Patience {
  double seconds = 60;
  std::function<bool()> stop; // asked all the time; may be empty
};

using Judge = std::function<Outcome(const std::string &input)>;

// The judgement in a process of its own, in an empty folder: a crash or an endless loop is an outcome like others, and files that the
// compiler leaves behind are gone. `judge` may throw Error, which is an outcome too.
Outcome judgeApart(const Judge &judge, const std::string &input, const Patience &patience);

// Whether a command ends with status 0 in time. `{}` in it is a file with the input, whose name ends so. It has no standard input, and
// nobody sees what it prints.
bool succeeds(const std::string &command, const std::string &input, const std::string &ending, const Patience &patience);

std::string shellWord(const std::string &path); // as a shell takes it for one word

// What a reduction keeps.
struct Keep {
  std::string code;       // glia's, or one of those above; empty: a command decides
  std::string containing; // of that code, with these words in what is said; may be empty
  std::string command;
  bool in(const Outcome &outcome) const;
};

// CODE, CODE:WORDS, mismatch, crash, or a command with {}. Throws Error REDUCE-KEEP.
Keep parseKeep(std::string_view text);

// Asks of one candidate after the other whether it fails in the way that is kept, and in no way that the first one does not.
class Trials {
public:
  Judge judge; // in this process
  Keep keep;
  std::string ending;    // of the files that a command gets
  Patience patience;     // with the first one, then with none longer
  double trySeconds = 0; // with those behind it; 0: little more than the last one took that fails
  Outcome last;          // of those that no command judges
  bool fails(const std::string &input);

private:
  std::set<std::string> codes; // of the first one that fails
};

} // namespace glia::reduce
