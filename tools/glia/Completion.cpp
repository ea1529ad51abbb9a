// `glia completion bash`: a script for the shell, made from the commands and options themselves.
#include "Tool.h"
#include "glia/Target/Target.h"

namespace glia::tool {

// "--target", "-o": what is typed for the options of a command.
static std::string optionsOf(const CLI::App &c) {
  std::string out;
  for (const CLI::Option *o : c.get_options())
    for (const auto &[dashes, names] : {std::pair{"--", o->get_lnames()}, {"-", o->get_snames()}})
      for (const std::string &name : names)
        out += (out.empty() ? "" : " ") + (dashes + name);
  return out;
}

static std::string bashScript(const CLI::App &app) {
  std::string commands, options, targets;
  for (const CLI::App *c : app.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + c->get_name();
    options += "    " + c->get_name() + ") words='" + optionsOf(*c) + "' ;;\n";
  }
  for (const std::string &name : builtinTargets())
    targets += (targets.empty() ? "" : " ") + name;
  return R"(# Completion of `glia` for bash: source <(glia completion bash)
_glia() {
  local word words='' current=${COMP_WORDS[COMP_CWORD]} command=''
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ " )" +
         commands + R"( " == *" $word "* ]] && command=$word && break
  done
  if [[ ${COMP_WORDS[COMP_CWORD-1]} == --target ]]; then
    words=')" +
         targets + R"('
  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == --diagnostics ]]; then
    words='text json'
  elif [[ $current != -* ]]; then
    [[ -z $command ]] && words=')" +
         commands + R"('
  else
    case $command in
)" + options +
         R"(    esac
    words+=' )" +
         optionsOf(app) + R"('
  fi
  COMPREPLY=()
  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _glia glia
)";
}

void addCompletion(CLI::App &app, Tool &tool) {
  auto shell = std::make_shared<std::string>();
  CLI::App *c = app.add_subcommand("completion", "Prints a script that completes commands and options in a shell");
  c->add_option("shell", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  c->footer("Example: glia completion bash");
  c->callback([shell, &app, &tool] {
    tool.command = [shell, &app] {
      write(bashScript(app));
      return 0;
    };
  });
}

} // namespace glia::tool
