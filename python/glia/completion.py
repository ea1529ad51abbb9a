"""python -m glia completion bash: a script that completes commands and options of `python -m glia`, made from their parsers."""

from __future__ import annotations

import argparse
import importlib

from .command import BOOKS


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m glia completion",
        description=__doc__,
        epilog="example: source <(python -m glia completion bash)",
    )
    p.add_argument("shell", choices=["bash"])
    return p


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    print(_SCRIPT.format(commands=" ".join([*parsers(), *BOOKS]), cases=_cases()), end="")
    return 0


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command of `python -m glia`."""
    from . import __main__ as commands

    out = {name: commands.parser_of(name) for name in commands._COMMANDS}
    own = {name: importlib.import_module(f".{module}", __package__) for name, module in commands._OWN.items()}
    return out | {name: module.parser() for name, module in own.items()}


def _cases() -> str:
    """For each command: what its options are, and what those take that take one of a few words."""
    out = []
    for name, p in parsers().items():
        actions = [a for a in p._actions if a.option_strings]
        words = " ".join(option for a in actions for option in a.option_strings)
        out.append(f"    {name}:*) options='{words}' ;;\n")
        for a in actions:
            for option in a.option_strings if a.choices else ():
                out.insert(0, f"    {name}:{option}) values='{' '.join(a.choices)}' ;;\n")
    return "".join(out)


_SCRIPT = """# Completion of `python -m glia` for bash: source <(python -m glia completion bash)
_glia_python() {{
  local word current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command='' options='' values=''
  COMPREPLY=()
  [[ $COMP_CWORD -ge 3 && ${{COMP_WORDS[1]}} == -m && ${{COMP_WORDS[2]}} == glia ]] || return
  for word in "${{COMP_WORDS[@]:3:COMP_CWORD-3}}"; do
    [[ " {commands} " == *" $word "* ]] && command=$word && break
  done
  case ${{command:-run}}:$before in
{cases}  esac
  if [[ -n $values ]]; then
    options=$values
  elif [[ $current != -* ]]; then
    options=''
    [[ -z $command ]] && options='{commands}'
  fi
  [[ -n $options ]] && mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
}}
complete -o bashdefault -o default -F _glia_python python python3
"""
