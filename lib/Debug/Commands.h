// The commands of the prompts of debuggers: names, which may be shortened, and what is done; counts, steps.
#pragma once
#include "Names.h"
#include "glia/Sim/Simulator.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

namespace glia::debug {

struct Command {
  std::string_view name;
  std::vector<std::string_view> shorts; // beside its beginnings
  std::function<void(std::string_view rest)> act;
  bool ends = false; // the prompt
};
using Commands = std::vector<Command>;
// Throws Error DEBUG-COMMAND if nothing is called so, or several are.
const Command &commandNamed(std::string_view given, const Commands &commands);
// 1 if nothing is given. Throws Error DEBUG-COMMAND.
uint64_t countOf(std::string_view text);
// "3" (steps back) or "to 120", as a step that lies behind `now`. Throws Error DEBUG-COMMAND or DEBUG-PLACE.
uint64_t stepBehind(std::string_view text, uint64_t now);

// The commands that every debugger has, and `more`. `d` has a member for each that is its own matter, and `say`, `marks`, `replay`; `goOn`
// runs until something says stop, `goTo` goes back, `view` tells where it stands.
template <class D> Commands commandsOf(D &d, Commands more) {
  using Text = std::string_view;
  Commands all = {
      {"break", {"b"}, [&d](Text rest) { d.say(d.marks.addBreak(rest, false)); }},
      {"tbreak", {"tb"}, [&d](Text rest) { d.say(d.marks.addBreak(rest, true)); }},
      {"watch", {"w"}, [&d](Text rest) { d.say(d.marks.addWatch(rest)); }},
      {"delete", {}, [&d](Text rest) { d.marks.remove(rest); }},
      {"info", {"i"}, [&d](Text rest) { d.info(rest); }},
      {"run", {"r"}, [&d](Text) { d.run(); }},
      {"continue", {"c"}, [&d](Text) { d.goOn({}); }},
      {"until", {"u"}, [&d](Text rest) { d.say(d.marks.addBreak(rest, true)), d.goOn({}); }},
      {"step", {"s"}, [&d](Text rest) { d.step(rest); }},
      {"line", {}, [&d](Text) { d.line(); }},
      {"back", {}, [&d](Text rest) { d.goTo(stepBehind(rest, d.replay.steps())), d.view(); }},
      {"print", {"p"}, [&d](Text rest) { d.print(rest); }},
      {"who", {}, [&d](Text rest) { d.who(rest); }},
      {"list", {"l"}, [&d](Text rest) { d.list(rest); }},
      {"help", {}, [&d](Text) { d.say(d.help()); }},
      {"quit", {"exit"}, [](Text) {}, true},
  };
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}

// Does what was typed. False: it was `quit`.
template <class D> bool obey(D &d, const Commands &commands, std::string_view text) {
  const Command &c = commandNamed(word(text), commands);
  try {
    c.act(text);
  } catch (const Interrupted &) {
    d.say("interrupted");
    d.view();
  }
  return !c.ends;
}

} // namespace glia::debug
