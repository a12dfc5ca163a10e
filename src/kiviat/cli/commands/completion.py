"""`kiviat completion`: scripts that complete commands, options and runs in a shell.

source <(kiviat completion bash)        kiviat completion fish | source
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator

from kiviat.cli.options.arguments import parser

_BASH = """\
_kiviat() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words="{commands}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
      *) words="" ;;
    esac
    [ "${{word#-}}" != "$word" ] || words="$words last $(cd "${{KIVIAT_RUNS:-runs}}" 2>/dev/null && echo *)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _kiviat kiviat
"""


def execute(arguments: Namespace) -> int:
    commands = dict(_commands())
    if arguments.shell == "fish":
        print(_fish(commands))
        return 0
    if arguments.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    cases = "\n".join(
        f'      {name}) words="{" ".join(options)}" ;;' for name, (_, options) in commands.items()
    )
    print(_BASH.format(commands=" ".join(commands), cases=cases), end="")
    return 0


def _commands() -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Name, summary and options of every command, from the parser itself."""
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, (summaries[name], list(command._option_string_actions))


def _fish(commands: dict[str, tuple[str, list[str]]]) -> str:
    lines = [
        f"complete -c kiviat -n __fish_use_subcommand -a {name} -d '{summary}'"
        for name, (summary, _) in commands.items()
    ]
    for name, (_, options) in commands.items():
        for option in options:
            kind = "-l" if option.startswith("--") else "-s"
            spelled = option.lstrip("-")
            lines.append(f"complete -c kiviat -n '__fish_seen_subcommand_from {name}' {kind} {spelled}")
    return "\n".join(lines)
