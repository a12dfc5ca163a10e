"""The command-line parser: help with groups of commands, and one-line errors that name the nearest word."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kiviat.cli.visible import visible_cell

_COLUMN = 12  # width of the longest command name plus two blanks


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line instead of the usage.

    `before_command`: example of a command that follows "--", if users give one.
    """

    before_command = ""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and one line on standard error, instead of argparse's usage."""
        self.exit(2, f"kiviat: {message}; see `{self.prog} --help`\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown arguments at once, so that the message names this command's own options."""
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            nearest = did_you_mean(extra[0].partition("=")[0], list(self._option_string_actions))
            if self.before_command and not extra[0].startswith("-"):
                nearest = f"; put -- before the command of the program: {self.prog} -- {self.before_command}"
            self.error(f"unrecognized arguments: {visible_cell(' '.join(extra))}{nearest}")
        return found, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        nearest = did_you_mean(str(value), known)
        if not nearest and not isinstance(action, argparse._SubParsersAction):
            nearest = f" (choose from {', '.join(known)})"
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{nearest}")


def add_commands(top: Parser, groups: Mapping[str, Mapping[str, str]]) -> dict[str, argparse.ArgumentParser]:
    """Return a parser for each command, by name.

    `groups` has the summaries of the commands by group, as listed in the help of `top`.
    """
    commands = top.add_subparsers(
        dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS, parser_class=Parser
    )
    added: dict[str, argparse.ArgumentParser] = {}
    for title, summaries in groups.items():
        lines = (f"  {name:{_COLUMN}}{summary}" for name, summary in summaries.items())
        top.add_argument_group(title, "\n".join(lines))
        for name, summary in summaries.items():
            added[name] = commands.add_parser(name, description=f"{summary[0].upper()}{summary[1:]}.")
    return added


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown word; empty if no known word is similar."""
    from kiviat.record.suggestion import nearest

    found = nearest(word, known)
    return f"; did you mean {found!r}?" if found else ""
