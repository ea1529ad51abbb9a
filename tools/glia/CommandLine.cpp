#include "CommandLine.h"
#include "glia/Support/Text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace glia::tool {

Option Option::required() { return Option(of->required()); }
Option Option::needs(Option other) { return Option(of->needs(other.of)); }
Option Option::excludes(Option other) { return Option(of->excludes(other.of)); }
Option Option::values(int count) { return Option(of->expected(count)); }
Option Option::oneEach() { return Option(of->allow_extra_args(false)); }
Option Option::positive() { return Option(of->check(CLI::PositiveNumber)); }
Option Option::notNegative() { return Option(of->check(CLI::NonNegativeNumber)); }
Option Option::between(int least, int most) { return Option(of->check(CLI::Range(least, most))); }
Option Option::oneOf(std::vector<std::string> words) { return Option(of->check(CLI::IsMember(std::move(words)))); }
Option Option::variable(std::string name) { return Option(of->envname(std::move(name))); }
Option Option::whenGiven(std::function<void()> then) {
  return Option(of->each([then = std::move(then)](const std::string & /*value*/) { then(); }));
}
std::string Option::name() const { return of->get_name(); }

Command Command::command(std::string name, std::string about) {
  return Command(of->add_subcommand(std::move(name), std::move(about)));
}
template <class T> Option Command::option(std::string names, T &value, std::string about) {
  return Option(of->add_option(std::move(names), value, std::move(about)));
}
template Option Command::option(std::string, std::string &, std::string);
template Option Command::option(std::string, std::vector<std::string> &, std::string);
template Option Command::option(std::string, int &, std::string);
template Option Command::option(std::string, double &, std::string);
template Option Command::option(std::string, std::optional<int> &, std::string);
template Option Command::option(std::string, int64_t &, std::string);
template Option Command::option(std::string, uint64_t &, std::string);
Option Command::flag(std::string name, bool &value, std::string about) {
  return Option(of->add_flag(std::move(name), value, std::move(about)));
}
Option Command::flag(std::string name, std::function<void()> whenGiven, std::string about) {
  return Option(of->add_flag_callback(std::move(name), std::move(whenGiven), std::move(about)));
}
void Command::footer(std::string text) { of->footer(std::move(text)); }
void Command::callback(std::function<void()> then) { of->callback(std::move(then)); }

std::string Command::name() const { return of->get_name(); }
std::vector<Command> Command::commands() const {
  std::vector<Command> out;
  for (CLI::App *c : of->get_subcommands({}))
    out.emplace_back(c);
  return out;
}
std::vector<std::string> Command::spellings() const {
  std::vector<std::string> out;
  for (const CLI::Option *o : of->get_options())
    for (const auto &[dashes, names] : {std::pair{"--", o->get_lnames()}, {"-", o->get_snames()}})
      for (const std::string &name : names)
        out.push_back(dashes + name);
  return out;
}
bool Command::isGiven(const std::string &option) const { return of->count(option) > 0; }

void refuseUse(const std::string &option, const std::string &why) { throw CLI::ValidationError(option, why); }

CommandLine::CommandLine(std::string about, std::string name, std::string version)
    : app(std::make_unique<CLI::App>(std::move(about), std::move(name))) {
  app->set_version_flag("--version", std::move(version));
  app->require_subcommand(1);
  app->fallthrough();
}
CommandLine::~CommandLine() = default;
Command CommandLine::all() { return Command(app.get()); }

// What is wrong with the first word, if that is no command; else empty.
static std::string unknownCommand(const Command &all, std::string_view given) {
  std::vector<std::string> names;
  for (const Command &c : all.commands())
    names.push_back(c.name());
  if (given.starts_with("-") || std::find(names.begin(), names.end(), given) != names.end())
    return {};
  return "glia has no command `" + printable(given) + "`. " +
         didYouMean(given, {names.begin(), names.end()}, "`glia --help` lists them.");
}

std::optional<int> CommandLine::read(int argc, char **argv) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (const std::string wrong = argc > 1 ? unknownCommand(all(), argv[1]) : ""; !wrong.empty()) {
      std::cerr << wrong << "\n";
      return 2;
    }
    return app->exit(e) == 0 ? 0 : 2;
  }
  return {};
}

} // namespace glia::tool
