"""Reads the runs in a log of LAMMPS, of any version since 2005.

Logs have a table of times since 2015, and lines with times before. "on N procs" counts MPI tasks times
threads; the number of threads is in the same line (until 2015) or in the line on CPU use. A log has a run for
each `run` or `minimize`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.record import InputError

_TITLE = re.compile(r"^LAMMPS \((.+)\)\s*$", re.MULTILINE)
_LOOP = re.compile(
    r"^Loop time of (\S+) on (\d+) procs(?: \((\d+) MPI x (\d+) OpenMP\))? "
    r"for (\d+) steps with ([\d.e+]+) atoms",
    re.MULTILINE,
)
_TASKS = re.compile(r"CPU use with (\d+) MPI tasks x (\d+|no) OpenMP threads")
_ERROR = re.compile(r"^ERROR.*$", re.MULTILINE)
# The last line of a run in every version: "Dangerous builds = 0" or "Dangerous builds not checked".
_END = re.compile(r"^Dangerous builds\b.*$", re.MULTILINE)
# A command that suppresses the statistics, as echoed in the log.
_WITHOUT_END = re.compile(r"^[ \t]*(?:run|minimize|rerun)\s[^#\n]*\bpost\s+no\b[^#\n]*", re.MULTILINE)
_GRID = re.compile(r"^[ \t]*(\d+) by (\d+) by (\d+) MPI processor grid", re.MULTILINE)
_SPEED = re.compile(r"^Performance: ([\d.e+-]+) (ns|fs|tau)/day", re.MULTILINE)
_MEMORY = re.compile(
    r"^(?:Per MPI rank memory allocation \(min/avg/max\) =\s*(\S+) \| (\S+) \| (\S+)"
    r"|Memory usage per processor = (\S+)) Mbytes",
    re.MULTILINE,
)
_NEIGHBOURS = re.compile(r"^Ave neighs/atom = (\S+)", re.MULTILINE)
_BUILDS = re.compile(r"^Neighbor list builds = (\d+)", re.MULTILINE)
_UNITS = re.compile(r"^[ \t]*units[ \t]+(\w+)", re.MULTILINE)
# "Pair    | 2.8153     | 2.8576     | 2.9543     |   3.4 | 73.82", or before: "Pair  time (%) = 1.96 (87)".
_ROW = re.compile(r"^(\w+) *\| *([^\s|]*) *\| *([^\s|]+) *\| *([^\s|]*) *\|", re.MULTILINE)
_OLD_ROW = re.compile(r"^(\w+) +time \(%\) = (\S+) \(", re.MULTILINE)
_OLD_NAMES = {"outpt": "output", "kspce": "kspace", "modfy": "modify"}
_PHASES = ("pair", "bond", "kspace", "neigh", "comm", "output", "modify", "sync", "other")
# Output of "thermo_style multi" for a step: a line of dashes, then NAME = value, three on a line.
_MULTI_STEP = re.compile(r"^-+ Step +(\d+) -+ CPU = +\S+ \(sec\) -+$")
_MULTI_VALUE = re.compile(r"(\S+) += +(-?[\d.]+(?:e[+-]?\d+)?)")
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Times:
    """Minimum, mean and maximum over ranks of the seconds of a phase; old versions print the mean only."""

    least: float | None
    mean: float
    most: float | None


@dataclass(frozen=True)
class LoggedRun:
    """A run in a log. `thermo` has the thermodynamic output of the first and the last step, in LAMMPS' units.

    `speed` is simulated time per day, in `speed_unit`. Facts that the log lacks are None.
    """

    version: str | None
    ranks: int
    threads: int
    loop_s: float
    steps: int
    atoms: int
    phases: Mapping[str, Times]
    thermo: Mapping[int, Mapping[str, float]]
    units: str | None
    speed: float | None
    speed_unit: str | None
    memory: tuple[float, float | None] | None
    neighbours: float | None
    builds: int | None

    @property
    def first(self) -> Mapping[str, float]:
        """The thermodynamic output of the first logged step; empty if there is none."""
        return self.thermo[min(self.thermo)] if self.thermo else {}


def looks_like_log(text: str) -> bool:
    """True for text with LAMMPS' version line or its line on the time of a loop."""
    return _TITLE.search(text) is not None or _LOOP.search(text) is not None


def read_log(text: str, where: str) -> list[LoggedRun]:
    """Return the runs in a log; InputError if it is truncated or LAMMPS stopped with an error."""
    loops = list(_LOOP.finditer(text))
    if not loops:
        raise InputError(f"{where} has no `Loop time`: {_why(text)}; give the log of a completed run")
    title = _TITLE.search(text)
    units = None
    runs = []
    for at, loop in enumerate(loops):
        begin = loops[at - 1].end() if at else 0
        for command in _UNITS.finditer(text, begin, loop.start()):
            units = command[1]
        end = loops[at + 1].start() if at + 1 < len(loops) else len(text)
        after = text[loop.start() : end]
        finished = _END.search(after)
        if finished is None:
            commands = list(_WITHOUT_END.finditer(text, begin, loop.start()))
            if commands:
                raise InputError(
                    f"{where}: `{' '.join(commands[-1][0].split())}` lacks the times of phases because of "
                    "`post no`; give a log of runs without it"
                )
            raise InputError(
                f"{where} ends within the statistics of a run, {_last(after)!r} is its last line; "
                "give a complete log"
            )
        try:
            runs.append(_run(loop, text[begin : loop.start()], after[: finished.end()], units, title))
        except ValueError as error:
            raise InputError(f"{where}: {error}; give a complete log") from None
    if stopped := _ERROR.search(text):
        raise InputError(f"{where}: LAMMPS stopped: {stopped[0].strip()}; give the log of a completed run")
    return runs


def ranks_of(text: str) -> int | None:
    """Return the number of ranks in a log that may still grow, None if it is not yet printed."""
    if grid := _GRID.search(text):
        return int(grid[1]) * int(grid[2]) * int(grid[3])
    return None


def _run(
    loop: re.Match[str], before: str, after: str, units: str | None, title: re.Match[str] | None
) -> LoggedRun:
    seconds, tasks, steps, atoms = float(loop[1]), int(loop[2]), int(loop[5]), float(loop[6])
    if not 0 < seconds < math.inf:
        raise ValueError(f"the loop took {loop[1]} s, which no run takes")
    if not 1 <= atoms < math.inf:
        raise ValueError(f"the loop had {loop[6]} atoms")
    ranks, threads = tasks, 1
    if loop[3]:
        ranks, threads = int(loop[3]), int(loop[4])
    elif tasks_line := _TASKS.search(after):
        ranks, threads = int(tasks_line[1]), 1 if tasks_line[2] == "no" else int(tasks_line[2])
    if ranks < 1:
        raise ValueError(f"the loop ran on {ranks} ranks")
    speed, neighbours = _SPEED.search(after), _NEIGHBOURS.search(after)
    builds = _BUILDS.search(after)
    return LoggedRun(
        version=title[1] if title else None,
        ranks=ranks,
        threads=threads,
        loop_s=seconds,
        steps=steps,
        atoms=round(atoms),
        phases=_phases(after),
        thermo=_thermo(before),
        units=units,
        speed=float(speed[1]) if speed else None,
        speed_unit=speed[2] if speed else None,
        memory=_memory(before),
        neighbours=float(neighbours[1]) if neighbours else None,
        builds=int(builds[1]) if builds else None,
    )


def _phases(after: str) -> dict[str, Times]:
    """Return the times of MPI tasks by phase; a table of threads that may follow is ignored."""
    times: dict[str, Times] = {}
    for row in _ROW.finditer(after):
        name = row[1].lower()
        if name in _PHASES and name not in times:
            times[name] = Times(_number(row[2]), float(row[3]), _number(row[4]))
    for row in _OLD_ROW.finditer(after):
        name = _OLD_NAMES.get(row[1].lower(), row[1].lower())
        if name in _PHASES:
            times[name] = Times(None, float(row[2]), None)
    return {name: times[name] for name in _PHASES if name in times}


def _memory(before: str) -> tuple[float, float | None] | None:
    """Return mean and maximum over ranks in bytes; versions until 2017 print the first rank's only."""
    memory = _MEMORY.search(before)
    if memory is None:
        return None
    if memory[4]:
        return float(memory[4]) * _MEBIBYTE, None
    return float(memory[2]) * _MEBIBYTE, float(memory[3]) * _MEBIBYTE


def _thermo(before: str) -> dict[int, dict[str, float]]:
    """Return the thermodynamic output of the first and the last step; {} for unknown styles."""
    steps: dict[int, dict[str, float]] = {}
    names: list[str] = []
    multi: int | None = None
    for line in before.splitlines():
        words = line.split()
        if begin := _MULTI_STEP.match(line):
            multi, names = int(begin[1]), []
            steps[multi] = {}
        elif words[:1] == ["Step"]:
            names, multi = words, None
        elif multi is not None:
            steps[multi] |= {name: float(value) for name, value in _MULTI_VALUE.findall(line)}
        elif names and len(words) == len(names):
            numbers = [_number(word) for word in words]
            if all(number is not None for number in numbers) and words[0].isdecimal():
                pairs = zip(names[1:], numbers[1:], strict=True)
                steps[int(words[0])] = {name: value for name, value in pairs if value is not None}
    return {step: steps[step] for step in sorted({min(steps), max(steps)})} if steps else {}


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _why(text: str) -> str:
    if error := _ERROR.search(text):
        return f"LAMMPS stopped: {error[0].strip()}"
    return f"this run of LAMMPS did not finish, its last line is {_last(text)!r}"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:80] if lines else ""
