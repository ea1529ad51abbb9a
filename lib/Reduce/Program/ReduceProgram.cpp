#include "glia/Reduce/ReduceProgram.h"
#include "ProgramEdit.h"
#include "glia/Program/Assembler.h"
#include "glia/Verify/VerifyRanks.h"

#include <algorithm>
#include <sstream>

namespace glia::reduce {

namespace {

using TargetRef = std::shared_ptr<const Target>;

Program programOf(const std::string &text, const TargetRef &target) { return assemble(text, "program.gasm", target); }

class ProgramReducer {
public:
  ProgramReducer(Search &search, TargetRef target, bool keepOrder)
      : search(search), target(std::move(target)), keepOrder(keepOrder) {}

  void run() {
    for (bool changed = true; changed && !search.spent();) {
      changed = leaveOut(
          search, [&] { return parts().items.size(); },
          [&](size_t from, size_t to) { return attempt([&](ProgramParts &p) { return silence(p, from, to); }); });
      changed |= loops();
      changed |= each(dropUpdates);
      changed |= each(dropNop);
      changed |= attempt(dropIdleSemaphores);
      if (!keepOrder)
        changed |= leaveOut(
            search, [&] { return parts().shell.semaphores.size(); },
            [&](size_t from, size_t to) { return attempt([&](ProgramParts &p) { return dropSemaphores(p, from, to); }); });
      changed |= declarations();
    }
  }

private:
  Search &search;
  TargetRef target;
  bool keepOrder;

  ProgramParts parts() { return takeApart(programOf(search.current(), target)); }

  bool attempt(const std::function<bool(ProgramParts &)> &change) {
    if (search.spent())
      return false;
    try {
      ProgramParts p = parts();
      return change(p) && search.offer(disassemble(putTogether(p)));
    } catch (const Error &) { // what is left is no program
      return false;
    }
  }

  bool each(bool (*change)(ProgramParts &, size_t)) {
    bool any = false;
    for (size_t i = parts().items.size(); i-- > 0 && !search.spent();)
      any |= attempt([&](ProgramParts &p) { return i < p.items.size() && change(p, i); });
    return any;
  }

  bool loops() {
    bool any = false;
    for (size_t i = parts().items.size(); i-- > 0 && !search.spent();) {
      any |= attempt([&](ProgramParts &p) { return i < p.items.size() && dropLoop(p, i); });
      any |= attempt([&](ProgramParts &p) { return i < p.items.size() && repeatOnce(p, i); });
    }
    return any;
  }

  // Lines of the text that say what nothing needs: names, places in the source, promises.
  bool declarations() {
    const auto lines = [&] {
      std::vector<std::string> out;
      std::istringstream in(search.current());
      for (std::string line; std::getline(in, line);)
        out.push_back(line);
      return out;
    };
    const auto isDeclaration = [](const std::string &line) {
      static constexpr std::string_view kWords[] = {"cores",   "input",       "output",   "const",     "scratch",
                                                    "sbuf",    "psum",        "queue",    "semaphore", ".loc",
                                                    ".symbol", ".relocation", ".contract"};
      return std::find(std::begin(kWords), std::end(kWords), line.substr(0, line.find(' '))) != std::end(kWords);
    };
    return leaveOut(
        search, [&] { return lines().size(); },
        [&](size_t from, size_t to) {
          const std::vector<std::string> all = lines();
          std::string text;
          for (size_t i = 0; i < all.size(); ++i)
            if (i < from || i >= to || !isDeclaration(all[i]))
              text += all[i] + "\n";
          try {
            programOf(text, target);
          } catch (const Error &) { // something needs it
            return false;
          }
          return search.offer(text);
        });
  }
};

} // namespace

void reduceProgram(Search &search, const TargetRef &target, bool keepOrder) {
  ProgramReducer(search, target, keepOrder).run();
}

Size sizeOfProgram(const std::string &text, const TargetRef &target) {
  const Program p = programOf(text, target);
  return {p.instructionCount(), p.tensors.size() + p.allocations.size() + p.semaphores.size() + p.queues.size(),
          text.size()};
}

Outcome judgeProgram(const std::string &text, const TargetRef &target) {
  return outcomeOf(verifyRanks(programOf(text, target)).diagnostics);
}

} // namespace glia::reduce
