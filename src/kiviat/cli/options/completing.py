"""Answers a shell that completes a command line: argcomplete completes options, this file names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator

import argcomplete

from kiviat.machine.modelled.machine import machines
from kiviat.plan import plan_names, shipped_names
from kiviat.store import runs_home
from kiviat.store.files import RUN_FILE

_NO_MACHINE = ("native", "emulated:", "slurm", "pbs", "lsf", "flux")


def answer(parser: argparse.ArgumentParser) -> None:
    """Print the possible completions for the shell and end the process; return if none were requested."""
    for action in _actions(parser):
        names = _NAMES.get(action.metavar) if isinstance(action.metavar, str) else None
        if names:
            action.completer = _completer(names)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _completer(names: Callable[[], Iterable[str]]) -> Callable[..., Iterable[str]]:
    return lambda **_: names()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action


def _runs() -> list[str]:
    try:
        folders = sorted(runs_home().iterdir())
    except OSError:
        folders = []
    return ["last", *(path.name for path in folders if (path / RUN_FILE).is_file())]


# Completions by the name of an argument in help.
_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "RUN": _runs,
    "BENCH": shipped_names,
    "BENCH|PLAN": lambda: [*shipped_names(), *plan_names()],
    "MACHINE": machines,
    "WHERE": lambda: [*_NO_MACHINE, *(f"simulated:{name}" for name in machines())],
}
