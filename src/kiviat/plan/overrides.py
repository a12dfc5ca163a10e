"""Refuses overrides by the command line that have no effect."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.plan.controls import DEFAULTS
from kiviat.plan.expand import COMMAND_LINE, Group, Overrides
from kiviat.record import InputError
from kiviat.record.suggestion import suggestion

# Modes in which an option has an effect.
_MODES = {"--target": {"adaptive"}, "--budget": {"adaptive"}, "--sync": {"adaptive", "fixed"}}
_NAMED = 3  # of benchmarks listed in a message


def refuse_unused(groups: Sequence[Group], overrides: Overrides) -> None:
    """Raise InputError for an option that no chosen benchmark or mode uses."""
    chosen = {benchmark.name: benchmark for group in groups for benchmark in group.benchmarks}
    for option, value in overrides.options():
        given = f"{option} {value}".rstrip()
        if chosen and not any(option in benchmark.options for benchmark in chosen.values()):
            first = next(iter(chosen.values()))
            raise InputError(
                f"{given} is not used by {_names(list(chosen))}; {first.name} takes {first.takes}"
            )
        modes = {_mode(group) for group in groups if group.benchmarks}
        if modes.isdisjoint(_MODES.get(option, modes)):
            raise InputError(f"{given} has no effect in mode {' and '.join(sorted(modes))}; leave it out")


def _mode(group: Group) -> str:
    return str(group.controls.get("mode", DEFAULTS["mode"]))


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def refuse_unknown_axes(groups: Sequence[Group], overrides: Overrides) -> None:
    """Raise InputError for an axis that none of the plan's benchmarks has."""
    known = {axis for group in groups for benchmark in group.benchmarks for axis in benchmark.axes}
    for axis in overrides.axes:
        if axis not in known:
            hint = suggestion(axis, sorted(known), "known: " + (", ".join(sorted(known)) or "none"))
            raise InputError(
                f"none of the selected benchmarks has the axis {axis!r}, given in {COMMAND_LINE}{hint}"
            )
