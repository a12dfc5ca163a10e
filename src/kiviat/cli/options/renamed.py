"""Replaces names of commands and options of version 0.1 by current ones; to be removed with version 0.3."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

_COMMANDS: Mapping[str, Sequence[str]] = {"machine": ("host",), "machines": ("model", "list")}
# Current name of each option, and a prefix for its value.
_OPTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "run": {"--multi": ("--groups", "")},
    "profile": {"--crossing": ("--mpi-traffic", ""), "--waits": ("--wait-states", "")},
    "place": {"--beside": ("--compare-with", "")},
    "balance": {"--small": ("--rules", "small="), "--few-nodes": ("--rules", "few-nodes=")},
}


def current_names(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with current names; reports each replacement on stderr."""
    if not words:
        return []
    command, rest = words[0], list(words[1:])
    if command == "machines" and rest[:1] == ["show"]:
        command = "model"
        _tell("kiviat machines show", "kiviat model show")
    elif command in _COMMANDS:
        command, *more = _COMMANDS[command]
        rest = more + rest
        _tell(f"kiviat {words[0]}", " ".join(["kiviat", command, *more]))
    renamed, current, following = _OPTIONS.get(command, {}), [], iter(rest)
    for word in following:
        option, equals, value = word.partition("=")
        if option not in renamed:
            current.append(word)
            continue
        new, rule = renamed[option]
        _tell(option, f"{new} {rule}".rstrip())
        if rule:  # followed by the value
            current.append(f"{new}={rule}{value if equals else next(following, '')}")
        else:
            current.append(new + equals + value)
    return [command, *current]


def _tell(old: str, new: str) -> None:
    print(f"kiviat: `{old}` is called `{new}` now", file=sys.stderr)
