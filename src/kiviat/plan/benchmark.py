"""Benchmarks as described by `kiviat-bench --describe`, and their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import takewhile
from math import isqrt
from typing import Any

from kiviat.record import InputError
from kiviat.record.plain import whole_number
from kiviat.record.suggestion import suggestion
from kiviat.record.types import Scalar
from kiviat.record.units import format_size, listed

_LARGEST = 2**31 - 2  # MPI counts in int, so bounds from here on need no mention


@dataclass(frozen=True)
class RankRule:
    """The numbers of ranks on which a benchmark runs."""

    min: int = 1
    max: int | None = None
    multiple: int = 1
    numbers: str = "any"  # or "powers_of_two" or "squares"

    def fits(self, ranks: int) -> bool:
        """True if the benchmark runs on this number of ranks."""
        if self.numbers == "powers_of_two" and ranks.bit_count() != 1:
            return False
        if self.numbers == "squares" and isqrt(ranks) ** 2 != ranks:
            return False
        return self.min <= ranks and (self.max is None or ranks <= self.max) and ranks % self.multiple == 0

    def largest(self, available: int) -> int | None:
        """The largest allowed number of ranks up to `available`."""
        top = max(0, available if self.max is None else min(available, self.max))
        numbers: Iterable[int] = range(top, 0, -1)
        if self.numbers == "powers_of_two":
            numbers = (1 << power for power in reversed(range(top.bit_length())))
        elif self.numbers == "squares":
            numbers = (root**2 for root in range(isqrt(top), 0, -1))
        enough = takewhile(lambda ranks: ranks >= self.min, numbers)
        return next(filter(self.fits, enough), None)

    def __str__(self) -> str:
        if self.max == self.min:
            return f"exactly {self.min} ranks"
        if self.numbers != "any":
            return {
                "powers_of_two": "1, 2, 4, 8 or another power of two ranks",
                "squares": "1, 4, 9, 16 or another square number of ranks",
            }[self.numbers]
        if self.min == 1 and self.max is None and self.multiple == 1:
            return "any number of ranks"
        words = f"at least {self.min} ranks" if self.max is None else f"{self.min} to {self.max} ranks"
        return words if self.multiple == 1 else f"{words}, a multiple of {self.multiple}"


@dataclass(frozen=True)
class Axis:
    """An axis of a benchmark.

    It accepts `values` and whole numbers from `least` to `most`; any word or number if it declares neither.
    With `limits`, it also accepts a word with an upper limit, such as "auto:2G".
    """

    name: str
    default: Scalar
    values: tuple[Scalar, ...]
    help: str
    unit: str = ""
    least: int | None = None
    most: int | None = None
    limits: bool = False

    @property
    def accepted(self) -> str:
        """The accepted values as text that can be given: "weak or strong", "a whole number from 1 to 9".

        Empty if it declares none.
        """
        words = [*map(str, self.values), *(f"{word}:BYTES" for word in self.values if self.limits)]
        if self.least is not None and self.most is not None:
            if self.unit == "B":
                range_ = " to ".join(format_size(end).replace(",", "") for end in (self.least, self.most))
            elif self.most < _LARGEST:
                range_ = f"a whole number from {self.least} to {self.most}"
            else:
                range_ = f"a whole number from {self.least} on"
            words.insert(0, range_)
        return listed(words, "or")


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as its program describes it.

    `sizes` are its own sizes, "" if it takes those of the plan. `options` are command-line options, such as
    "-m", that affect what it measures or how. `report` has the facts that reports need, as stored in
    run.json; None if the program does not provide them.
    """

    name: str
    file: str
    summary: str
    aka: tuple[str, ...]
    ranks: RankRule
    sized: bool
    sizes: str
    element_bytes: int
    axes: Mapping[str, Axis]
    metrics: tuple[str, ...]
    source: str
    sampling: str
    nominal_s: float
    threads: bool
    options: tuple[str, ...]
    program: str = ""
    report: Mapping[str, Any] | None = None

    @property
    def takes(self) -> str:
        """The supported options and axes, such as "-m, -i, --set distance/group"."""
        return ", ".join([*self.options, "--set " + "/".join(self.axes)])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Benchmark:
        """Return a benchmark from an entry of `kiviat-bench --describe`."""
        axes = [
            Axis(
                axis["name"],
                number_or_text(axis["default"]),
                tuple(number_or_text(value) for value in axis.get("values") or ()),
                axis.get("help", ""),
                axis.get("unit", ""),
                axis.get("least"),
                axis.get("most"),
                axis.get("limits", False),
            )
            for axis in data.get("axes", [])
        ]
        defaults = {axis.name: axis.default for axis in axes}
        rule = data.get("ranks", {})
        return cls(
            name=data["name"],
            file=data.get("file", data["name"]),
            summary=data.get("summary", ""),
            aka=tuple(data.get("aka", [])),
            ranks=RankRule(
                rule.get("min", 1), rule.get("max"), rule.get("multiple", 1), rule.get("numbers", "any")
            ),
            sized=data.get("sized", True),
            sizes=data.get("sizes", ""),
            element_bytes=data.get("element_bytes", 1),
            axes={axis.name: axis for axis in axes},
            metrics=tuple(metric["name"] for metric in data.get("metrics", [])),
            source=data.get("source", ""),
            sampling=data.get("sampling", "batched"),
            nominal_s=data.get("nominal_s", 0.0),
            threads=data.get("threads", False),
            options=tuple(data.get("options", ())),
            program=data.get("program", ""),
            report={**data["report"], "defaults": defaults} if "report" in data else None,
        )


def number_or_text(value: Scalar) -> Scalar:
    """Return a decimal text as an integer; `--describe` and the command line have numbers as text.

    Text with leading zeros stays text: it is rather a part of 20,000 than a number.
    """
    number = whole_number(value) if isinstance(value, str) else None
    return value if number is None or str(number) != value else number


def shipped_benchmarks() -> list[dict[str, Any]]:
    """Return the output of `kiviat-bench --describe` for every benchmark, without a compiled program."""
    text = (files("kiviat.plan") / "benchmarks.json").read_text(encoding="utf-8")
    benchmarks: list[dict[str, Any]] = json.loads(text)
    return benchmarks


def shipped_names() -> list[str]:
    """Return the names of all benchmarks of kiviat-bench."""
    return [entry["name"] for entry in shipped_benchmarks()]


def is_pattern(name: str) -> bool:
    """True if a name has wildcards, as in "pt2pt/*"."""
    return any(character in name for character in "*?[")


def find_benchmarks(known: Sequence[Benchmark], names: Sequence[str], where: str) -> list[Benchmark]:
    """Return the benchmarks that match `names`: names, aliases (`osu_latency`) or patterns (`pt2pt/*`).

    Raise InputError, naming `where`, for a name without match.
    """
    chosen: dict[str, Benchmark] = {}
    for name in names:
        matches = [benchmark for benchmark in known if _means(name, benchmark)]
        if not matches:
            nearest = suggestion(name, benchmark_names(known), "`kiviat list` shows them all")
            raise InputError(f"unknown benchmark {name!r} in {where}{nearest}")
        chosen |= {benchmark.name: benchmark for benchmark in matches}
    return list(chosen.values())


def names_benchmark(name: str, known: Sequence[Benchmark]) -> bool:
    """True if a word is the name, file or alias of a known benchmark, or a pattern that matches one."""
    return any(_means(name, benchmark) for benchmark in known)


def _means(name: str, benchmark: Benchmark) -> bool:
    if is_pattern(name):
        return fnmatchcase(benchmark.name, name) or fnmatchcase(benchmark.file, name)
    return name.lower() in map(str.lower, (benchmark.name, benchmark.file, *benchmark.aka))


def benchmark_names(known: Sequence[Benchmark]) -> list[str]:
    """Return all names and aliases; names come first because they take precedence."""
    return [
        *(benchmark.name for benchmark in known),
        *(name for benchmark in known for name in benchmark.aka),
    ]
