"""Commands and options by the names that they had in version 0.1; to be removed with version 0.3."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

_COMMANDS: Mapping[str, Sequence[str]] = {"machine": ("host",), "machines": ("model", "list")}
# Present name of each, and the prefix of its value.
_OPTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "run": {"--multi": ("--groups", "")},
    "profile": {"--crossing": ("--mpi-traffic", ""), "--waits": ("--wait-states", "")},
    "place": {"--beside": ("--compare-with", "")},
    "balance": {"--small": ("--rules", "small="), "--few-nodes": ("--rules", "few-nodes=")},
}


def current_names(words: Sequence[str]) -> list[str]:
    """The words of a command line with the names of today; stderr tells of each that was replaced."""
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
        if rule:  # which the value follows
            current.append(f"{new}={rule}{value if equals else next(following, '')}")
        else:
            current.append(new + equals + value)
    return [command, *current]


def _tell(old: str, new: str) -> None:
    print(f"kiviat: `{old}` is called `{new}` now", file=sys.stderr)
