"""Results of machines, looked up in runs for published rows and for figures of studies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kiviat.analysis.aggregate.nodes import Nodes, bytes_of, nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.hpcc.derived import BOUNDS, ratios
from kiviat.analysis.hpcc.quantities import RANGE
from kiviat.analysis.profiles.by_node import by_node
from kiviat.analysis.published.question import Case, Lookup, Quantity, Subject, Value
from kiviat.analysis.published.results import NETWORK_BYTES
from kiviat.analysis.scaling.energy import POWER_METRICS, Power, power_of, powered, whole_factor
from kiviat.profile import Profile
from kiviat.record.reach import least_world
from kiviat.record.run import Run
from kiviat.record.traits import TraitsByName
from kiviat.record.types import Row, Scalar

# Hardware counters that records may contain: counter_names of native/platform/counter_source.hpp.
COUNTERS = (
    *("instructions", "cycles", "stalled_cycles_frontend", "stalled_cycles_backend", "llc_loads"),
    *("llc_load_misses", "cache_references", "cache_misses", "l2_misses"),
)


@dataclass(frozen=True)
class MachineResults:
    """All results of one machine. `parts` maps the identifier of each of its runs to the run of the study.

    `lacking` has the reason for each run of the study that gave no results, or not all. `scale`: by how many
    times fewer nodes the ranks were arranged on than in the paper. `any_class`: a question about a problem
    class is put to the only class that ran. `profiles` are those of programs, by run and benchmark. Besides
    the results of benchmarks, it has the ratios of HPC Challenge, as results of "balance".
    """

    label: str
    runs: tuple[Run, ...]
    summaries: Sequence[Summary]
    grids: Sequence[Grid]
    rows: Sequence[Row]
    traits: TraitsByName
    parts: Mapping[str, str]
    lacking: Mapping[str, str] = field(default_factory=dict)
    scale: int = 1
    any_class: bool = False
    profiles: Mapping[tuple[str, str], Profile] = field(default_factory=dict)

    @property
    def predicted(self) -> bool:
        """True if the results are predictions of a model."""
        return any(run.clock == "simulated" for run in self.runs)

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Published names and modes of the machine: those of its model, or the name given with --machine."""
        model = self.runs[0].machine.model
        if model:
            return tuple((one.machine, one.mode) for one in model.published)
        return ((self.runs[0].machine.name, ""),)

    @property
    def calibrated_on(self) -> frozenset[str]:
        """Published rows that the model was fitted to."""
        model = self.runs[0].machine.model
        return frozenset(model.calibrated_on if model else ())

    @cached_property
    def subject(self) -> Subject:
        """The machine as `Subject`; its number of cores is that of the largest result."""
        most = max((one.ranks for one in self.summaries), default=0)
        reach = max((least_world(one.ranks, one.axes) for one in self.summaries), default=0)
        return Subject(self.names, most, "the results reach {} ranks", reach)

    @cached_property
    def _by_metric(self) -> dict[tuple[str, str], list[Summary]]:
        found: dict[tuple[str, str], list[Summary]] = {}
        for one in (*self.summaries, *ratios(self.runs, self.summaries)):
            found.setdefault((one.benchmark, one.metric), []).append(one)
        return found

    @cached_property
    def _runs_by_id(self) -> Mapping[str, Run]:
        return {run.id: run for run in self.runs}

    @cached_property
    def _by_node(self) -> Mapping[tuple[str, str], Mapping[str, tuple[float, str]]]:
        return {key: by_node(profile) for key, profile in self.profiles.items()}

    def of(self, benchmark: str, metric: str) -> Sequence[Summary]:
        """Return the summaries of a metric; those of power, energy and rate per watt follow from others."""
        found = self._by_metric.get((benchmark, metric))
        if found is None and metric in POWER_METRICS:
            known = (powered(metric, one, power) for one, power in self._powers(benchmark, metric))
            found = self._by_metric[benchmark, metric] = [one for one in known if one is not None]
        elif found is None and metric in COUNTERS:
            found = self._by_metric[benchmark, metric] = list(self._counted(benchmark, metric))
        return found or ()

    def _counted(self, benchmark: str, counter: str) -> Iterator[Summary]:
        """Yield values of a hardware counter in a program's own kernel, the mean of its ranks."""
        rates = {(one.run, one.case): one for one in self._by_metric.get((benchmark, "rate"), ())}
        for grid in self.grids:
            if (grid.benchmark, grid.name) != (benchmark, "counters"):
                continue
            rate = rates.get((grid.run, grid.case))
            of = dict(grid.dimensions)
            if rate is None or benchmark not in of["kernel"] or counter not in of["counter"]:
                continue
            at = of["kernel"].index(benchmark), of["counter"].index(counter), of["statistic"].index("mean")
            value = float(grid.median[at])
            if math.isfinite(value):
                counted = replace(rate, metric=counter, unit="1", better="lower", median=value)
                yield replace(counted, low=None, high=None, launch_medians=(value,))

    def _powers(self, benchmark: str, metric: str) -> Iterator[tuple[Summary, Power]]:
        """Yield the summaries from which a metric of power follows, with the power of each."""
        for one in self._by_metric.get((benchmark, POWER_METRICS[metric]), ()):
            factor = whole_factor(one, self.traits[benchmark])
            yield one, power_of(self._runs_by_id[one.run], one, factor, self.grids, None)

    def axes(self, benchmark: str, axes: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """Return axes without those at their defaults, which identifiers of cases do not contain.

        The size of the launch ("world") is not a parameter of the benchmark either.
        """
        defaults = self.traits[benchmark].defaults
        return {
            name: value
            for name, value in axes.items()
            if name != "world" and not (name in defaults and defaults[name] == value)
        }

    def look(self, quantity: Quantity) -> Value:
        """Return the value of a quantity, or the reason why it is unavailable."""
        case = quantity.case
        if self.any_class:
            case = self._of_class_here(case)
        if case.per_node and self.scale > 1:
            if case.ranks // case.per_node < 2 * self.scale:
                return Value(None, f"{self.label}: there is no room for {case.per_node} ranks on each node")
            case = replace(case, ranks=case.ranks // self.scale)
        if quantity.metric == NETWORK_BYTES:
            found = next(self._network_bytes(case), None)
            if found is not None:
                return Value(found, "", self.predicted, "B")
        wanted = self.axes(case.benchmark, case.axes)
        if profiled := next(self._profiled(case, quantity.metric, wanted), None):
            return profiled
        # If only interfaces count bytes, they count frames including headers.
        metric = "interface_bytes" if quantity.metric == NETWORK_BYTES else quantity.metric

        def is_case(one: Summary) -> bool:
            return (one.ranks, one.bytes) == (case.ranks, case.bytes) and (
                self.axes(case.benchmark, one.axes) == wanted
            )

        near = [one for one in self.of(case.benchmark, metric) if is_case(one)]
        # Bytes do not depend on the core to which a rank is bound, nor on whether it can be bound.
        if near and near[0].unit == "B":
            case = replace(case, bind=None)
        placed = [one for one in near if self._is_placed(self._runs_by_id[one.run], case)]
        if not placed and metric in COUNTERS:
            return Value(None, f"{self.label}: {self._uncounted(case.benchmark)}")
        if not placed:
            powerless = self._powers(case.benchmark, metric) if metric in POWER_METRICS else ()
            if why := next((power.words for one, power in powerless if is_case(one)), ""):
                return Value(None, f"{self.label}: no power of {case.benchmark}, {why}")
            return Value(None, self._reason(case, bool(near)))
        if case.per_node and quantity.metric in ("rate", "time") and placed[0].oversubscribed:
            return Value(None, f"{self.label}: ranks share cores, so their rates are meaningless")
        one = placed[0]
        timed = one.unit != "B"  # others delay messages, and send none
        ranged = one.notes.get(BOUNDS, "").startswith(RANGE)  # of too few launches for an interval
        return Value(
            one.median,
            predicted=one.clock == "simulated",
            unit=one.unit,
            disturbed=timed and one.disturbed > 0,
            oversubscribed=timed and one.oversubscribed,
            low=None if ranged else one.low,
            high=None if ranged else one.high,
        )

    def _profiled(self, case: Case, metric: str, wanted: Mapping[str, Scalar]) -> Iterator[Value]:
        """Yield the values of a metric in profiles of the case."""
        for one in self.of(case.benchmark, "rate"):
            profile = self.profiles.get((one.run, case.benchmark))
            if profile is None or profile.ranks != case.ranks or self.axes(one.benchmark, one.axes) != wanted:
                continue
            value, unit = self._by_node[one.run, case.benchmark].get(metric, (None, ""))
            placed = replace(case, bind=None) if unit == "B" else case
            nodes = [int(node) for node in profile.node]
            if (
                value is None
                or not self._is_placed(self._runs_by_id[one.run], placed)
                or not _alike(nodes, case)
            ):
                continue
            if unit == "s" and one.oversubscribed:
                yield Value(None, f"{self.label}: ranks share cores, so their times are meaningless")
            else:
                yield Value(value, unit=unit, disturbed=one.disturbed > 0 and unit == "s")

    def sent(self, benchmark: str, table: str, part: str) -> Iterator[tuple[Grid, Nodes | None]]:
        """Yield the bytes between the ranks of a program, from its table or its profile, with their nodes.

        `part` names the run of the study, "" for any.
        """
        runs = [one for one in self.runs if not part or self.parts.get(one.id) == part]
        for run in runs:
            tables = (g for g in self.grids if (g.run, g.benchmark, g.name) == (run.id, benchmark, table))
            profile = self.profiles.get((run.id, benchmark))
            for grid in tables:
                yield grid, nodes_of(run, grid.ranks)
            for one in self.of(benchmark, "rate"):
                if profile is not None and (one.run, one.ranks) == (run.id, profile.ranks):
                    yield _grid_of(profile, one, table), Nodes(tuple(int(node) for node in profile.node))

    def _of_class_here(self, case: Case) -> Case:
        """Return the case with the only problem class that ran here."""
        here = {
            name for one in self.of(case.benchmark, "rate") if (name := one.axes.get("class")) is not None
        }
        if "class" not in case.axes or len(here) != 1:
            return case
        return replace(case, axes={**case.axes, "class": here.pop()})

    def _uncounted(self, benchmark: str) -> str:
        """Return why there are no values of hardware counters."""
        if self.predicted:
            return "models have no hardware counters"
        words = (one.notes.get("counters", "") for one in self.of(benchmark, "rate"))
        return next(filter(None, words), f"no hardware counters with {benchmark}").removeprefix(
            "unavailable: "
        )

    def _reason(self, case: Case, elsewhere: bool) -> str:
        if elsewhere:
            return f"{self.label}: no run has the ranks of {case.benchmark} on nodes as the paper had"
        size = "" if case.bytes is None else f" of {case.bytes} B"
        where = "".join(f", {name} {value}" for name, value in case.axes.items())
        return f"{self.label}: no result of {case.benchmark}{size} on {case.ranks} ranks{where}"

    def _is_placed(self, run: Run, case: Case) -> bool:
        if case.per_node is None:
            return run.place in (None, "blocked", case.place) and (
                run.ranks_per_node is None or case.ranks == 1
            )
        nodes = nodes_of(run, case.reach)
        return nodes is not None and is_alike(nodes, case) and (case.bind is None or run.bind == case.bind)

    def _network_bytes(self, case: Case) -> Iterator[float]:
        """Yield the bytes of messages between nodes, of runs whose ranks are distributed as in the case."""
        wanted = self.axes(case.benchmark, case.axes)
        for grid in self.grids:
            if (grid.benchmark, grid.name, grid.ranks) != (case.benchmark, "message_bytes", case.ranks):
                continue
            nodes = nodes_of(self._runs_by_id[grid.run], grid.ranks)
            if nodes and is_alike(nodes, case) and self.axes(case.benchmark, grid.axes) == wanted:
                yield bytes_of(grid, nodes)[0]


def _grid_of(profile: Profile, of: Summary, table: str) -> Grid:
    """Return the bytes of a profile's messages and collectives as a table of records."""
    ranks = tuple(map(str, range(profile.ranks)))
    median = profile.traffic().dense_bytes().astype(float)[np.newaxis]
    about = of.run, of.case, of.benchmark, of.ranks, of.bytes, of.axes, of.clock, of.oversubscribed
    axes = ("kernel", (of.benchmark,)), ("rank", ranks), ("partner", ranks)
    return Grid(*about, table, "B", "lower", axes, 1, median, None, None)


def is_alike(nodes: Nodes, case: Case) -> bool:
    """Return whether the same ranks share nodes, irrespective of node names."""
    return _alike(nodes.of, case)


def _alike(nodes: Sequence[object], case: Case) -> bool:
    if case.reach > len(nodes):
        return False
    wanted = [case.node(rank) for rank in range(case.reach)]
    pairs = set(zip(nodes, wanted, strict=False))
    return len(pairs) == len(set(wanted)) == len(set(nodes[: case.reach]))


def lookup_across(machines: Sequence[MachineResults], own: MachineResults | None) -> Lookup:
    """Return a lookup that uses `own` results, or those of the machine that a quantity names."""

    def look(quantity: Quantity) -> Value:
        if not quantity.machine:
            return own.look(quantity) if own else Value(None, "no machine was selected")
        for machine in machines:
            if machine.subject.is_named(quantity.machine, quantity.mode):
                return machine.look(quantity)
        return Value(None, f"no results of {f'{quantity.machine} {quantity.mode}'.strip()}")

    return look
