"""Overrides of a plan by the command line, refused if they have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kiviat.plan.controls import DEFAULTS
from kiviat.plan.expand import COMMAND_LINE, Group
from kiviat.record import InputError
from kiviat.record.suggestion import suggestion
from kiviat.record.types import Scalar

# Modes in which an option has an effect.
_MODES = {"--target": {"adaptive"}, "--budget": {"adaptive"}, "--sync": {"adaptive", "fixed"}}
_NAMED = 3  # of benchmarks listed in a message


@dataclass(frozen=True)
class Overrides:
    """Overrides of a plan; None and empty values keep the plan's."""

    benchmarks: Sequence[str] = ()
    bytes: str | None = None
    ranks: str | None = None
    launches: int | None = None
    seed: int | None = None
    controls: Mapping[str, Scalar] = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the overrides that are given, by name."""
        given = {name: value for name, value in vars(self).items() if value not in (None, (), {}, [])}
        return {name: list(value) if name == "benchmarks" else value for name, value in given.items()}

    def options(self) -> Iterator[tuple[str, str]]:
        """Yield the given options that not all benchmarks support, with their values."""
        given = {"-m": self.bytes, "-i": self.controls.get("iterations"), "-x": self.controls.get("warmup")}
        given |= {"--sync": self.controls.get("sync"), "--budget": self.controls.get("budget_s")}
        target = self.controls.get("target")
        given["--target"] = None if not isinstance(target, float) else f"{100 * target:g}"
        given["--pallas2"] = "" if self.controls.get("mode") == "pallas2" else None
        for option, value in given.items():
            if value is not None:
                yield option, str(value)


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
