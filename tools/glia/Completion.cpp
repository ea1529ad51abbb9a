// `glia completion bash`: a script for the shell, made from the commands and options themselves.
#include "Tool.h"
#include "glia/Target/Target.h"

namespace glia::tool {

// What is typed for the options of a command.
static std::string optionsOf(const Command &c) {
  std::string out;
  for (const std::string &spelling : c.spellings())
    out += (out.empty() ? "" : " ") + spelling;
  return out;
}

static std::string bashScript(const Command &app) {
  std::string commands, options, targets;
  for (const Command &c : app.commands()) {
    commands += (commands.empty() ? "" : " ") + c.name();
    options += "    " + c.name() + ") words='" + optionsOf(c) + "' ;;\n";
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

void addCompletion(Command app, Tool &tool) {
  auto shell = std::make_shared<std::string>();
  Command c = app.command("completion", "Prints a script that completes commands and options in a shell");
  c.option("shell", *shell, "bash").required().oneOf({"bash"});
  c.footer("Example: glia completion bash");
  c.callback([shell, app, &tool] {
    tool.command = [shell, app] {
      write(bashScript(app));
      return 0;
    };
  });
}

} // namespace glia::tool
