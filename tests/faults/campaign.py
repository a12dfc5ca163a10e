"""Runs fault-injection trials one after the other and tabulates their results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from . import jobs, world
from .plan import PHASES, Trial, planned
from .trial import Setting

_MODULE = "tests.faults.trial"
_LIMIT_S = 300.0
# Attempts per trial: if the command ends before the fault is injected, the trial is repeated with a smaller
# delay.
_ATTEMPTS = 5


class Campaign:
    def __init__(self, mpi: str, seed: int, setting: Setting) -> None:
        self.mpi = mpi
        self.seed = seed
        self._setting = asdict(setting)
        self.templates = _inside({"setting": self._setting, "mpi": mpi})

    def trials(
        self, first: int, number: int, phase: str | None = None, kind: str | None = None
    ) -> list[Trial]:
        trials = [planned(self.seed, self.mpi, index) for index in range(first, first + number)]
        return [
            trial
            for trial in trials
            if phase in (None, trial.phase) and (kind is None or trial.fault.startswith(kind))
            if trial.phase != "slurm" or jobs.installed()
        ]

    def attempt(self, trial: Trial) -> dict[str, Any]:
        """Run a trial and return its observations, which contain "missed" if the fault was not injected."""
        for attempt in range(_ATTEMPTS):
            earlier = replace(trial, offset_s=trial.offset_s / 2**attempt)
            said = _inside({"setting": self._setting, "trial": asdict(earlier)})
            if not said.get("missed"):
                break
        return said


def _inside(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Run a trial in new namespaces and return its observations; raise InnerError if it prints none."""
    try:
        done = world.call_inside(_MODULE, json.dumps(asked), timeout_s=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise InnerError(f"a trial took longer than {_LIMIT_S:g} s: {asked}") from None
    if done.returncode:
        raise InnerError(f"{asked}: {done.returncode}\n{done.stdout}{done.stderr}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


class InnerError(Exception):
    """The campaign itself failed."""


def bad(result: Mapping[str, Any]) -> bool:
    """Return whether the trial violated any expectation."""
    return not result.get("missed") and bool(
        result["lost"] or result["left"] or result["silent"] or result["wrong_words"] or result["wrong"]
    )


_COLUMNS = (
    "phase",
    "faults",
    "at fault",
    "records",
    "lost",
    "left",
    "silent",
    "words",
    "else",
    "early",
    "missed",
)


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of outcomes by phase and by kind of fault, then each violated promise."""
    lines = [_line(_COLUMNS)]
    for phase in PHASES:
        lines.append(_row(phase, [one for one in results if one.get("phase", one["planned"]) == phase]))
    lines.append(_row("all", results))
    lines.append("")
    for fault in sorted({_fault(one) for one in results}):
        lines.append(_row(fault, [one for one in results if _fault(one) == fault]))
    return "\n".join([*lines, "", *map(_story, filter(bad, results))])


def _fault(result: Mapping[str, Any]) -> str:
    target = result["target"]
    return f"{result['kind']} to {target}" if target != "-" else str(result["kind"])


def _row(name: str, results: Iterable[Mapping[str, Any]]) -> str:
    hit = [one for one in results if not one.get("missed")]
    missed = sum(1 for one in results if one.get("missed"))
    numbers = [
        len(hit),
        sum(one["at_fault"] for one in hit),
        sum(one["seen"] for one in hit),
        sum(one["lost"] for one in hit),
        *(sum(bool(one[key]) for one in hit) for key in ("left", "silent", "wrong_words", "wrong", "early")),
        missed,
    ]
    return _line([name, *map(str, numbers)])


def _line(cells: Sequence[str]) -> str:
    return f"{cells[0]:<22}" + "".join(f"{cell:>10}" for cell in cells[1:])


def _story(result: Mapping[str, Any]) -> str:
    first = result["commands"][0]
    flags = [name for name in ("silent", "wrong_words") if result[name]]
    told = [*flags, *result["wrong"], *(f"left {path}" for path in result["left"][:4])]
    if result["lost"]:
        told.append(f"lost {result['lost']}")
    said = " ".join(first["stderr"].split())[-160:]
    where = f"{result['phase']} {result['detail']}".strip()
    return f"{result['index']:>4} {_fault(result)}, {where}: code {first['code']}; {'; '.join(told)} | {said}"
