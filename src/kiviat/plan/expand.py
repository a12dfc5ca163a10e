"""Expands a benchmark in a group of a plan to cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from kiviat.plan.benchmark import Axis, Benchmark, RankRule, number_or_text
from kiviat.plan.case import Case
from kiviat.plan.ranges import doubling, expand_ranks, expand_sizes, size_or_none
from kiviat.record import InputError
from kiviat.record.case_id import case_id
from kiviat.record.reach import least_world
from kiviat.record.suggestion import suggestion
from kiviat.record.types import Scalar

COMMAND_LINE = "the command line"
_AT_ONCE = ("window", "threads")  # axes that multiply the messages of an operation
_GRID = ("p", "q")  # if in ranks, the sides of a grid that all ranks form
_MOST_SETTINGS = 100_000
# Work of problem classes of the NAS Parallel Benchmarks relative to A, for most programs (NAS-95-020). CG and
# FT grow more: class B has 36 and 13 times the work.
_CLASSES = {"S": 0.01, "W": 0.1, "A": 1.0, "B": 5.0, "C": 20.0}


@dataclass(frozen=True)
class Overrides:
    """Overrides of a plan; None and empty collections keep the plan's."""

    benchmarks: Sequence[str] = ()
    bytes: str | None = None
    ranks: str | None = None
    launches: int | None = None
    interval: float | None = None
    launches_max: int | None = None
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


@dataclass(frozen=True)
class Group:
    """A `[[cases]]` table of a plan, or the benchmarks that only the command line names.

    The latter use their own sizes, if they have any (`own_sizes`). `nominal_s` is the duration of a study at
    the plan's sizes, if it differs from the study's own.
    """

    benchmarks: Sequence[Benchmark]
    by_pattern: bool
    bytes: object
    own_sizes: bool
    ranks: object
    subset: bool
    axes: Mapping[str, Any]
    controls: Mapping[str, Scalar]
    nominal_s: float | None
    where: str
    overrides: Overrides

    def place_of(self, axis: str) -> str:
        """Return where the values of an axis were given, for messages."""
        return COMMAND_LINE if axis in self.overrides.axes else self.where


def expand(group: Group, benchmark: Benchmark, available: int, seed: int) -> tuple[list[Case], str | None]:
    """Return the cases on up to `available` ranks, and the reason why any were omitted, else None.

    Raise InputError for axes, values and ranks that the benchmark does not have.
    """
    sizes, misfits = _sizes(group, benchmark)
    reason = None
    if misfits and (group.overrides.bytes or not sizes):
        wrong = "" if not sizes else f", not {', '.join(map(str, misfits))}"
        reason = f"{benchmark.name} needs sizes in multiples of {benchmark.element_bytes} bytes{wrong}"
    marks = _marks(group, benchmark)
    controls = {**group.controls, "seed": seed}
    cases, misfit = [], None
    for axes in _settings(group, benchmark, available):
        rule = _rank_rule(group, benchmark, axes)
        counts = _ranks(group, benchmark, rule, available)
        if not counts:
            reason = f"{benchmark.name} needs {rule}"
        for ranks, size in product(counts, sizes):
            if why := _misfit(group, benchmark, axes, ranks):
                reason = misfit = why
                continue
            world = _world(group, benchmark, axes, ranks, available)
            named = {**axes, "world": world} if group.subset and world != ranks else axes
            identity = case_id(benchmark.name, ranks, size, named | marks)
            nominal_s = (group.nominal_s or benchmark.nominal_s) * _of_class(group, benchmark, axes)
            about = (nominal_s, benchmark.threads, benchmark.program, _messages(benchmark, axes))
            cases.append(Case(identity, benchmark.name, ranks, size, named, controls, world, *about))
    if misfit and not cases:
        raise InputError(misfit)
    return cases, reason


def _misfit(group: Group, benchmark: Benchmark, axes: Mapping[str, Scalar], ranks: int) -> str | None:
    """Return why a case, or each of its groups, has no such root, or no grid of p by q ranks."""
    given = {name: value for name, value in axes.items() if isinstance(value, int)}
    members = given.get("group") or ranks
    if (root := given.get("root", 0)) >= members:
        of, more = ("groups", "larger groups") if given.get("group") else ("cases", "more ranks")
        return (
            f"root of {benchmark.name} is {root} in {group.place_of('root')}, too large for {of} of "
            f"{members} ranks; give 0 to {members - 1}, or {more}"
        )
    sides = [name for name in _GRID if name in given and benchmark.axes[name].unit == "ranks"]
    covered = prod(given[name] for name in sides)
    if members % covered or (len(sides) == len(_GRID) and covered != members):
        grid = " and ".join(f"{name}={given[name]}" for name in sides)
        where = group.place_of(sides[0])
        return (
            f"{benchmark.name} has {grid} in {where}, which is no grid of {members} ranks; "
            f"give p and q with p x q = {members}"
        )
    return None


def _rank_rule(group: Group, benchmark: Benchmark, axes: Mapping[str, Scalar]) -> RankRule:
    """Return the rule for the number of ranks; with an axis "group", the benchmark's rule is for a group."""
    members = axes.get("group", 0)
    if not isinstance(members, int) or members < 1:
        return benchmark.ranks
    if not benchmark.ranks.fits(members):
        raise InputError(
            f"group of {benchmark.name} is {members} in {group.place_of('group')}; give a group of "
            f"{benchmark.ranks}, or 0 for no groups"
        )
    return RankRule(min=members, multiple=members)


def _ranks(group: Group, benchmark: Benchmark, rule: RankRule, available: int) -> tuple[int, ...]:
    where = f"{group.where}, for {benchmark.name}"
    if group.overrides.ranks is None:
        return expand_ranks(group.ranks, available, rule, where, strict=not group.by_pattern)
    asked = expand_ranks(group.overrides.ranks, available, rule, COMMAND_LINE, strict=False)
    return asked or expand_ranks("all", available, rule, where)


def _of_class(group: Group, benchmark: Benchmark, axes: Mapping[str, Scalar]) -> float:
    """Return the work of a case's problem class over that of the class to which the nominal time belongs."""
    default = benchmark.axes["class"].default if "class" in benchmark.axes else None
    timed = group.axes.get("class", default) if group.nominal_s else default
    wanted, given = (_CLASSES.get(str(one)) for one in (axes.get("class", default), timed))
    return wanted / given if wanted and given else 1.0


def _messages(benchmark: Benchmark, axes: Mapping[str, Scalar]) -> int:
    """Return how many messages an operation sends from one rank to another at once."""
    values = (axes.get(name, axis.default) for name, axis in benchmark.axes.items() if name in _AT_ONCE)
    return prod(value for value in values if isinstance(value, int) and value > 0)


def _sizes(group: Group, benchmark: Benchmark) -> tuple[list[int | None], list[int]]:
    """Return the sizes that fit the benchmark's elements, and those that do not."""
    if not benchmark.sized:
        return [None], []
    usual = (group.own_sizes and benchmark.sizes) or group.bytes
    given = group.overrides.bytes
    sizes = expand_sizes(usual, group.where) if given is None else expand_sizes(given, COMMAND_LINE)
    element = benchmark.element_bytes
    fitting = [size for size in sizes if element == 1 or (size >= element and size % element == 0)]
    return list(fitting), [size for size in sizes if size not in fitting]


def _settings(group: Group, benchmark: Benchmark, available: int) -> Iterator[dict[str, Scalar]]:
    """Yield the cross product of the axes, without values at their default."""
    given = {name: value for name, value in group.overrides.axes.items() if name in benchmark.axes}
    wanted = {**group.axes, **given}
    foreign = [name for name in wanted if name not in benchmark.axes]
    if foreign and group.by_pattern:
        return
    if foreign:
        hint = suggestion(foreign[0], list(benchmark.axes), "its axes: " + ", ".join(benchmark.axes))
        raise InputError(f"{benchmark.name} has no axis {foreign[0]!r} in {group.where}{hint}")
    axes = [benchmark.axes[name] for name in wanted]
    choices = [
        _values(benchmark, axis, wanted[axis.name], available, group.place_of(axis.name)) for axis in axes
    ]
    if (count := prod(map(len, choices))) > _MOST_SETTINGS:
        raise InputError(
            f"the axes of {benchmark.name} have {count} combinations in {group.where}; give fewer values, "
            f"{_MOST_SETTINGS} combinations at most"
        )
    for chosen in product(*choices):
        yield {axis.name: value for axis, value in zip(axes, chosen, strict=True) if value != axis.default}


def _values(benchmark: Benchmark, axis: Axis, value: object, available: int, where: str) -> list[Scalar]:
    items: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if isinstance(value, str):
        items = [item.strip() for item in value.split(",")]
    if items == ["doubling"] and axis.name == "distance":
        items = doubling(1, available - 1) if available > 1 else [1]
    return [_value(benchmark, axis, number_or_text(item), where) for item in items]


def _value(benchmark: Benchmark, axis: Axis, value: Scalar, where: str) -> Scalar:
    """Return a value that the axis accepts, as cases have it: a word, or a number without unit."""
    plain = isinstance(value, int | str) and not isinstance(value, bool)
    if plain and value in axis.values:
        return value
    if axis.least is not None and axis.most is not None:
        word, colon, limit = str(value).rpartition(":")
        limited = axis.limits and colon and word in axis.values
        number = _number(limit if limited else value) if plain else None
        if number is not None and axis.least <= number <= axis.most:
            return f"{word}:{number}" if limited else number
    elif not axis.values and plain and value != "" and not any(blank in str(value) for blank in " \t\n=/"):
        return value
    raise InputError(
        f"{axis.name} of {benchmark.name} is {value!r} in {where}; "
        f"give {axis.accepted or 'one word without blanks, = and /'}"
    )


def _number(value: Scalar) -> int | None:
    """Return a number, or the one that text states, as in 4096 and 64K; None for other text."""
    return value if isinstance(value, int) else size_or_none(str(value))


def _marks(group: Group, benchmark: Benchmark) -> dict[str, Scalar]:
    """Return the controls that change the measured quantity of per-call times and are part of the case id."""
    if benchmark.sampling in ("batched", "once"):
        return {}
    marks = {"mode": "pallas2", "sync": "barrier"}
    return {name: value for name, value in marks.items() if group.controls.get(name) == value}


def _world(group: Group, benchmark: Benchmark, axes: Mapping[str, Scalar], ranks: int, available: int) -> int:
    """Return the size of the launch: the case's ranks, or more for subsets and long distances."""
    least = least_world(ranks, axes)
    if least > max(available, ranks):
        where = group.place_of("distance")
        raise InputError(
            f"distance of {benchmark.name} is {axes['distance']} in {where}, too far for {available} ranks: "
            f"{ranks} ranks at that distance need a launch of {least}; give more with -n"
        )
    return max(available, ranks) if group.subset or least > ranks else ranks
