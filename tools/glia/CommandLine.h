// The commands of the tool and their options. What reads them is included by CommandLine.cpp alone: it takes longer to compile than
// any command.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace glia::tool {

class Option {
public:
  explicit Option(CLI::Option *of) : of(of) {}
  Option required();
  Option needs(Option other);
  Option excludes(Option other);
  Option values(int count);            // that many, each time
  Option oneEach();                    // of a list: one value behind the name, which may be repeated
  Option positive();                   // a number above 0
  Option notNegative();                // a number from 0 on
  Option between(int least, int most); // a number
  Option oneOf(std::vector<std::string> words);
  Option variable(std::string name); // of the environment: what holds if it is not given
  Option whenGiven(std::function<void()> then);
  std::string name() const;

private:
  CLI::Option *of;
};

class Command {
public:
  explicit Command(CLI::App *of) : of(of) {}
  Command command(std::string name, std::string about);
  // `names`: "file" by its place, or "-o,--output". T: see CommandLine.cpp.
  template <class T> Option option(std::string names, T &value, std::string about);
  Option flag(std::string name, bool &value, std::string about);
  Option flag(std::string name, std::function<void()> whenGiven, std::string about);
  void footer(std::string text);
  void callback(std::function<void()> then);

  std::string name() const;
  std::vector<Command> commands() const;
  std::vector<std::string> spellings() const; // of the options: "--target", "-o"
  bool isGiven(const std::string &option) const;

private:
  CLI::App *of;
};

// In a callback: what is wrong with how an option was used.
[[noreturn]] void refuseUse(const std::string &option, const std::string &why);

class CommandLine {
public:
  CommandLine(std::string about, std::string name, std::string version);
  ~CommandLine();
  Command all();
  // Nothing: a command was given, and its callback called. Else the exit status, and the reason or the help has been printed.
  std::optional<int> read(int argc, char **argv);

private:
  std::unique_ptr<CLI::App> app;
};

} // namespace glia::tool
