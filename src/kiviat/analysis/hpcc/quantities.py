"""Quantities of HPC Challenge for parallel machines ("systems"), by number of processes.

A system is a run (measured, simulated, or ingested) or a machine of a paper. Names of quantities are those of
docs/reference/benchmarks.md; star and single rates are per process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid, of_kernel
from kiviat.analysis.hpcc.extrapolation import Extrapolated, extrapolated
from kiviat.record.published import Fact, Paper, papers
from kiviat.record.published import System as PublishedSystem
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.traits import earlier_traits
from kiviat.record.types import Row, Scalar

# Meanings of low and high that begin so are of too few launches for an interval.
RANGE = "range of"
STAYED_IN_CACHE = "STREAM stayed in the cache"


@dataclass(frozen=True, slots=True)
class Source:
    """Location of a quantity in the records: benchmark, metric, and scope if the benchmark has one."""

    benchmark: str
    metric: str
    scope: str | None = None
    lower: bool = False

    @property
    def kernel(self) -> str:
        """Benchmark to run for the quantity, as typed on the command line."""
        plain = self.scope is None or self.scope == _usual_scope(self.benchmark)
        return self.benchmark if plain else f"{self.benchmark} with scope={self.scope}"


def _usual_scope(benchmark: str) -> str:
    """Return the scope of cases that do not specify one."""
    return str(earlier_traits()[benchmark].defaults.get("scope", "star"))


QUANTITIES: Mapping[str, Source] = {
    "hpl": Source("hpl", "rate"),
    "hpl_order": Source("hpl", "order"),
    "dgemm": Source("dgemm", "rate", "star"),
    "dgemm_single": Source("dgemm", "rate", "single"),
    "copy": Source("stream", "copy", "star"),
    "triad": Source("stream", "triad", "star"),
    "copy_single": Source("stream", "copy", "single"),
    "triad_single": Source("stream", "triad", "single"),
    "ptrans": Source("ptrans", "rate"),
    "random_access": Source("random_access", "updates", "global"),
    "random_access_star": Source("random_access", "updates", "star"),
    "random_access_single": Source("random_access", "updates", "single"),
    "fft": Source("fft", "rate", "global"),
    "fft_star": Source("fft", "rate", "star"),
    "fft_single": Source("fft", "rate", "single"),
    "ring_bandwidth": Source("ring", "random_bandwidth"),
    "ring_latency": Source("ring", "random_latency", lower=True),
    "hpcg": Source("hpcg", "rate"),
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value, with bounds if it was measured in more than one launch.

    `meaning`: what `low` and `high` are, a 95 % interval or, with too few launches, the range. `case`: the
    case measured, or for a published value its place in the paper. `relation`: "=", or a comparison if the
    paper gives a bound. `upper`: upper end if the paper gives a range. `holder`: the machine that has it, if
    it is the largest of several. `extrapolated`: description of the extrapolation, if any.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    meaning: str = ""
    launches: int = 0
    case: str = ""
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    relation: str = "="
    upper: float | None = None
    holder: str = ""
    extrapolated: str = ""
    watts: float | None = None  # of all nodes together, while the kernel ran
    joules: float | None = None  # of all nodes together, for one repetition

    def number(self, axis: str, chosen: str = "") -> float | None:
        """Return the problem size given by the axis, or chosen by the benchmark; None if unknown."""
        given = self.axes.get(axis)
        size = float(given) if isinstance(given, int | float) else self.numbers.get(chosen or axis)
        return size if size is not None and size > 0 else None

    @property
    def in_cache(self) -> bool:
        """True for a rate of STREAM with arrays of less than four times the last-level cache."""
        array, cache = self.numbers.get("array_bytes"), self.numbers.get("cache_bytes")
        return array is not None and cache is not None and array < 4 * cache


@dataclass(frozen=True, slots=True)
class Size:
    """A system with one number of processes, None if a paper does not give it.

    `ratios`: published ratios, by axis of the diagram. `missing`: reasons why quantities are unavailable
    although they were tried.
    """

    processes: int | None
    nodes: int | None
    quantities: Mapping[str, Quantity]
    ratios: Mapping[str, Quantity] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    oversubscribed: bool = False
    disturbed: bool = False

    def value(self, name: str) -> float | None:
        """Return the value of a quantity, in its own unit; None if it is missing."""
        found = self.quantities.get(name)
        return None if found is None else found.value

    def total(self, name: str) -> float | None:
        """Return a rate per process multiplied by the processes ("accumulated"); None if unknown."""
        value = self.value(name)
        return None if value is None or self.processes is None else value * self.processes

    @property
    def unfair(self) -> str:
        """Why the results say nothing about the machine; empty if they do."""
        if self.oversubscribed:
            return "more processes than cores"
        return "other programs disturbed kernels" if self.disturbed else ""

    @property
    def cached(self) -> str:
        """Why STREAM triad does not tell the rate of the memory; empty if it does, or is missing."""
        triad = self.quantities.get("triad")
        return STAYED_IN_CACHE if triad is not None and triad.in_cache else ""

    def why(self, name: str) -> str:
        """Return the reason why the quantity is missing."""
        return self.missing.get(name) or f"{QUANTITIES[name].kernel} was not run"


@dataclass(frozen=True, slots=True)
class System:
    """A system. `origin` is measured, predicted, reported or published; `sizes` ascend and are not empty.

    `maxima`: not a machine, but the largest values of several, whose machines the paper names or not.
    """

    id: str
    name: str
    origin: str
    sizes: tuple[Size, ...]
    source: str = ""
    maxima: bool = False

    @property
    def whole(self) -> Size:
        """Representative size: the largest with HPL and a core for each process, else the largest with HPL.

        Without HPL it is the one with most quantities.
        """
        with_hpl = [size for size in self.sizes if "hpl" in size.quantities]
        with_hpl = [size for size in with_hpl if not size.oversubscribed] or with_hpl
        return with_hpl[-1] if with_hpl else max(self.sizes, key=lambda size: len(size.quantities))


_MAXIMA = "max over systems in"  # in published/, in place of a machine
# Origin of a run's values, by its clock.
ORIGINS = {"wall": "measured", "simulated": "predicted", "reported": "reported"}


def measured_system(
    run: Run,
    name: str,
    summaries: Sequence[Summary],
    rows: Iterable[Row] = (),
    grids: Iterable[Grid] = (),
) -> System:
    """Return the system of a run; `rows` contain reasons for missing values, `grids` the energy.

    Its sizes may have no quantities. If simulated kernels were run at several problem sizes, values are
    extrapolated to full memory.
    """
    tables = {(grid.case, grid.name): grid for grid in grids if grid.name in ("power", "energy")}
    found: dict[int, dict[str, Quantity]] = {}
    orders: dict[tuple[int, str], Quantity] = {}
    crowded: set[int] = set()
    disturbed: set[int] = set()
    for summary in summaries:
        if (key := _key(summary.benchmark, summary.metric, summary.axes)) is None or not summary.median > 0:
            continue
        at = found.setdefault(summary.ranks, {})
        crowded |= {summary.ranks} if summary.oversubscribed else set()
        disturbed |= {summary.ranks} if summary.disturbed else set()
        candidate = _quantity(summary, tables)
        if key == "hpl_order":
            orders[summary.ranks, candidate.case] = candidate
        if (before := at.get(key)) is None or _counts_instead(candidate, before, QUANTITIES[key].lower):
            at[key] = candidate
    for count, at in found.items():
        if "hpl" in at and (order := orders.get((count, at["hpl"].case))):
            at["hpl_order"] = order  # of the case whose rate counts
    for full in extrapolated(summaries, run):
        at = found[full.ranks]
        key = full.benchmark
        at[key] = _extrapolated(full, at[key])
        if key == "hpl":
            at["hpl_order"] = Quantity(math.sqrt(full.memory_bytes * full.ranks / 8), "1", case=at[key].case)
    missing = _failures(rows)
    ranks = sorted({*found, *missing})
    sizes = []
    for count in ranks or [1]:
        nodes = nodes_of(run, count)
        quantities = found.get(count, {})
        reasons = {**_elsewhere(quantities, found, count), **missing.get(count, {})}
        sizes.append(
            Size(
                processes=count,
                nodes=None if nodes is None else nodes.count(count),
                quantities=quantities,
                missing={key: why for key, why in reasons.items() if key not in quantities},
                oversubscribed=count in crowded,
                disturbed=count in disturbed,
            )
        )
    return System(run.id, name, ORIGINS[run.clock], tuple(sizes))


def _counts_instead(one: Quantity, other: Quantity, lower: bool) -> bool:
    """Return whether `one` counts, of two results of a kernel with several settings.

    The best one does, as with tuning by hand; but a rate of the cache never counts instead of one of memory.
    """
    if one.in_cache != other.in_cache:
        return other.in_cache
    return (one.value < other.value) == lower


def _key(benchmark: str, metric: str, axes: Mapping[str, Scalar]) -> str | None:
    sources = _sources().get((benchmark, metric))
    if not sources:
        return None
    scope = axes.get("scope", _usual_scope(benchmark))
    return next((key for key, wanted in sources if wanted in (None, scope)), None)


@cache
def _sources() -> Mapping[tuple[str, str], Sequence[tuple[str, str | None]]]:
    """Return the quantities that each metric of a benchmark may be, with their scopes."""
    found: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for key, source in QUANTITIES.items():
        found.setdefault((source.benchmark, source.metric), []).append((key, source.scope))
    return found


def _quantity(summary: Summary, tables: Mapping[tuple[str, str], Grid]) -> Quantity:
    numbers = dict(summary.numbers)
    if summary.clock == "simulated":
        numbers.pop("cache_bytes", None)  # computation on modelled machines has no caches
    low, high, meaning = summary.low, summary.high, "95 %"
    if low is None or high is None:
        several = len(summary.launch_medians) > 1
        low, high = (min(summary.launch_medians), max(summary.launch_medians)) if several else (None, None)
        meaning = f"{RANGE} {summary.launches} launches" if several else ""
    return Quantity(
        value=summary.median,
        unit=summary.unit,
        low=low,
        high=high,
        meaning=meaning,
        launches=summary.launches,
        case=summary.case,
        axes=summary.axes,
        notes=summary.notes,
        numbers=numbers,
        watts=of_kernel(tables.get((summary.case, "power")), summary),
        joules=of_kernel(tables.get((summary.case, "energy")), summary),
    )


def _extrapolated(full: Extrapolated, small: Quantity) -> Quantity:
    axes = {**small.axes, "memory": round(full.memory_bytes)}
    return Quantity(full.value, full.unit, case=small.case, axes=axes, extrapolated=full.words)


def _elsewhere(
    here: Mapping[str, Quantity], found: Mapping[int, Mapping[str, Quantity]], count: int
) -> dict[str, str]:
    """Return reasons for quantities that were measured on other numbers of processes only.

    Ratios never mix numbers of processes.
    """
    reasons = {}
    for key in QUANTITIES:
        others = [ranks for ranks, quantities in found.items() if key in quantities and ranks != count]
        if key not in here and others:
            listed = " and ".join(map(str, sorted(others)))
            reasons[key] = f"{QUANTITIES[key].kernel} was run on {listed} ranks, not on {count}"
    return reasons


def _failures(rows: Iterable[Row]) -> dict[int, dict[str, str]]:
    """Return reasons why kernels have no result, by ranks and quantity."""
    reasons: dict[int, dict[str, str]] = {}
    for row in Rows.of(rows).without_result():
        for key, source in QUANTITIES.items():
            if row.benchmark == source.benchmark and _key(row.benchmark, source.metric, row.axes) == key:
                words = f"{source.kernel} {row.failure}"
                reasons.setdefault(row.ranks, {}).setdefault(key, words)
    return reasons


# ---- As published


def published_systems() -> list[System]:
    """Return all published machines with at least one axis of the diagram."""
    systems = [system for paper in papers() for system in _of_paper(paper)]
    return [system for system in systems if system.whole.quantities or system.whole.ratios]


def chosen(systems: Sequence[System], asked: str) -> list[System]:
    """Return the systems whose identifier contains `asked`, with hyphens for blanks."""
    wanted = _slug(asked)
    return [system for system in systems if wanted and wanted in system.id]


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _of_paper(paper: Paper) -> list[System]:
    facts: dict[str, list[tuple[PublishedSystem, Fact]]] = {}
    for system in paper.systems:
        for fact in system.facts:
            if fact.balance:
                facts.setdefault(system.machine, []).append((system, fact))
                if fact.holder:
                    facts.setdefault(fact.holder, []).append((system, fact))
    systems = []
    for machine, found in facts.items():
        maxima = machine.startswith(_MAXIMA)
        name = machine.replace(_MAXIMA, "largest of") if maxima else machine
        systems.append(System(_slug(machine), name, "published", (_size(found),), paper.short, maxima))
    return systems


def _size(facts: Sequence[tuple[PublishedSystem, Fact]]) -> Size:
    values: dict[str, Quantity] = {}
    # Exact values come last, so that they replace bounds.
    for _, fact in sorted(facts, key=lambda entry: entry[1].relation in ("=", "~")):
        here = Quantity(fact.value, fact.unit, case=fact.location, relation=fact.relation, holder=fact.holder)
        before = values.get(fact.balance)
        if before is not None and here.relation == "<=" and before.relation == ">=":
            here = Quantity(before.value, before.unit, case=before.case, relation=">=", upper=here.value)
        values[fact.balance] = here
    processes = {system.processes for system, _ in facts}
    hpl = values.pop("hpl", None)
    return Size(
        processes=processes.pop() if len(processes) == 1 else None,
        nodes=None,
        quantities={} if hpl is None else {"hpl": hpl},
        ratios=values,
    )
