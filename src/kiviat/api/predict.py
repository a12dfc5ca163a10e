"""Predictions of modelled machines: of cases, or of all that a run measured."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from kiviat.analysis.aggregate.calibration import calibrated
from kiviat.analysis.aggregate.known_errors import known_errors, shortly
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.published.results import value_of
from kiviat.api.arguments import file_name, settings, several, whole_number, wrong
from kiviat.api.runs import Named, Run, Runs, named_one
from kiviat.api.table import Table, Tabular
from kiviat.launch.run.simulated_runner import SimulatedCase, simulate
from kiviat.machine.modelled.machine import Machine, find_machine
from kiviat.record import InputError, Record
from kiviat.record import run as record
from kiviat.record.scratch import scratch_folder
from kiviat.record.types import Scalar
from kiviat.record.units import counted
from kiviat.report.html import fragment


@dataclass(frozen=True)
class Case:
    """A benchmark on `ranks` ranks, with messages of `bytes` bytes if it has a message size.

    `place`, `per_node` and `bind` place the ranks as `kiviat run` does by --place, --ppn and --bind.
    """

    benchmark: str
    ranks: int = 2
    bytes: int | None = None
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    place: str | None = None
    per_node: int | None = None
    bind: str | None = None


@dataclass(frozen=True)
class Predicted:
    """One quantity of a case in `unit`: `model` is None if the simulation does not provide it.

    `reason` says why.

    `measured` is the median of the run whose cases are predicted, None where none was given.
    """

    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    metric: str
    unit: str
    model: float | None
    reason: str | None = None
    measured: Summary | None = None

    @property
    def error(self) -> float | None:
        """Relative error of the model against the measured median; None if one of both is missing.

        None also for a measured median of 0.
        """
        if self.model is None or self.measured is None or self.measured.median == 0:
            return None
        return self.model / self.measured.median - 1


@dataclass(frozen=True)
class PredictionResult(Tabular):
    """Predictions of the model of `machine`. Only `measured`, the median of a run, is a measurement.

    `warnings` say what is unknown about the places of the run's ranks.
    """

    machine: Machine
    values: tuple[Predicted, ...]
    run: Run | None = None
    warnings: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """One row for each case and metric; `model` is simulated, `error` is relative to `measured`."""
        return Table.of(
            [
                {
                    "case": one.case,
                    "benchmark": one.benchmark,
                    "ranks": one.ranks,
                    "bytes": one.bytes,
                    "axes": dict(one.axes),
                    "metric": one.metric,
                    "unit": one.unit,
                    "measured": one.measured.median if one.measured else None,
                    "model": one.model,
                    "error": one.error,
                    "reason": one.reason,
                }
                for one in self.values
            ]
        )

    def median_errors(self) -> dict[str, float]:
        """Return the median of the absolute relative errors of each benchmark that was measured."""
        errors: dict[str, list[float]] = {}
        for one in self.values:
            if one.error is not None:
                errors.setdefault(one.benchmark, []).append(abs(one.error))
        return {benchmark: statistics.median(found) for benchmark, found in errors.items()}

    def __repr__(self) -> str:
        return f"<{counted(len(self.values), 'value')} predicted by the model {self.machine.name}>"

    def _repr_html_(self) -> str:
        machine = self.machine
        title = f"{machine.name}, version {machine.version}, hash {machine.hash[:16]}:"
        shown = ["case", "metric", "unit", "model"]
        shown += ["measured", "error"] if self.run else []
        shown += ["reason"] if any(one.reason for one in self.values) else []
        rows = [[row[name] for name in shown] for row in self.rows()]
        origin = f"predicted by a model, not measured; calibrated {calibrated(machine)}; "
        origin += "; ".join([f"known error: {shortly(known_errors(machine))}", *self.warnings])
        return fragment.heading(title, origin) + fragment.table(shown, rows)


def predict(machine: str | PathLike[str] | Machine, cases: Named | Case | Iterable[Case]) -> PredictionResult:
    """Simulate on a modelled machine one `Case`, several, or all cases of a measured run, with their errors.

    `machine` is a name of `kiviat model list` or the path of a machine file. The first prediction builds the
    simulator's program, which takes a minute or two; results are kept. Raise InputError for unknown machines
    and benchmarks, and for cases that the machine has no room for.
    """
    found = machine if isinstance(machine, Machine) else find_machine(file_name("machine", machine))
    if isinstance(cases, str | PathLike | Run | Runs):
        return _of_run(found, named_one(cases))
    asked = [_simulated(found, one) for one in several(cases)]
    if not asked:
        raise InputError("there is no case to predict; give at least one, such as Case('pingpong', bytes=8)")
    values = [value for answer in simulate(asked) for value in _values(answer)]
    return PredictionResult(found, tuple(values))


def _simulated(machine: Machine, case: Case) -> SimulatedCase:
    """Return the case with Python's own numbers. Raise InputError for what is not a case."""
    if not isinstance(case, Case):
        raise wrong("cases", case, "a Case, several, or a measured run")
    return SimulatedCase(
        machine,
        case.benchmark,
        whole_number("ranks", case.ranks),
        None if case.bytes is None else whole_number("bytes", case.bytes, 0),
        settings("axes", case.axes),
        case.place,
        None if case.per_node is None else whole_number("per_node", case.per_node),
        case.bind,
    )


def _values(answer: Record) -> list[Predicted]:
    """Return the time of a case, or all metrics of a study; for a failed case, one value without number."""
    metrics = [metric for metric in answer.metrics if metric.name == "time"] or list(answer.metrics)
    about = (answer.case, answer.benchmark, answer.ranks, answer.bytes, answer.axes)
    if not metrics:
        return [Predicted(*about, "time", "s", None, answer.reason or answer.outcome)]
    reason = None if answer.outcome == "ok" else answer.reason or answer.outcome
    return [
        Predicted(*about, metric.name, metric.unit, value_of(answer, metric.name), reason)
        for metric in metrics
    ]


def _of_run(machine: Machine, run: Run) -> PredictionResult:
    """Simulate the cases of a run and return times and metrics of studies.

    Metrics per process are omitted, because they have the same relative error.
    """
    if run.about.clock != "wall":
        raise InputError(
            f"run {run.id} was not measured here (its clock is {run.about.clock}); name a measured run"
        )
    cases: dict[str, list[Summary]] = {}
    for summary in run.results:
        cases.setdefault(summary.case, []).append(summary)
    if not cases:
        raise InputError(f"run {run.id} has no results to compare with")
    chosen = [_of_interest(found) for found in cases.values()]
    with scratch_folder() as folder:
        files, warnings = _places(machine, run.about, Path(folder))
        asked = []
        for found in chosen:
            first = found[0]
            one = SimulatedCase(machine, first.benchmark, first.ranks, first.bytes, first.axes)
            seen = min((world for world in files if world >= one.case().world), default=None)
            if seen is None:
                asked.append(replace(one, place=run.about.place, per_node=run.about.ranks_per_node))
            else:
                asked.append(replace(one, place=f"file:{files[seen]}"))
        answers = simulate(asked)
    values = [
        _beside(summary, answer) for found, answer in zip(chosen, answers, strict=True) for summary in found
    ]
    return PredictionResult(machine, tuple(values), run, warnings)


def _beside(summary: Summary, answer: Record) -> Predicted:
    return Predicted(
        summary.case,
        summary.benchmark,
        summary.ranks,
        summary.bytes,
        summary.axes,
        summary.metric,
        summary.unit,
        value_of(answer, summary.metric),
        None if answer.outcome == "ok" else answer.reason or answer.outcome,
        summary,
    )


def _places(machine: Machine, run: record.Run, folder: Path) -> tuple[dict[int, Path], tuple[str, ...]]:
    """Write a placement file for each number of ranks of a launch, with the node and socket of each rank.

    Return the files, and a warning if the sockets of some ranks are unknown.

    The placement is the observed one, not the requested one: the model may have more nodes than the run used,
    and more cores per node than its nodes had slots. Without files if the nodes are unknown.
    """
    files: dict[int, Path] = {}
    warnings: tuple[str, ...] = ()
    for launch in run.launches:
        ranks = sorted(launch.ranks, key=lambda rank: rank.rank)
        nodes = [rank.node for rank in ranks if rank.node is not None]
        if not nodes or len(nodes) < len(ranks) or len(nodes) in files:
            continue
        most = max(Counter(nodes).values())
        if max(nodes) >= machine.nodes or most > machine.cores_per_node:
            raise InputError(
                f"run {run.id} had {counted(max(nodes) + 1, 'node')} and at most {counted(most, 'rank')} "
                f"on one; {machine.name} has {counted(machine.nodes, 'node')} of "
                f"{counted(machine.cores_per_node, 'core')}: predict by a larger machine"
            )
        files[len(nodes)] = folder / f"{len(nodes)}.txt"
        cores = _cores(machine, ranks)
        if not cores and most > 1 and machine.whole("node.sockets") > 1:
            warnings = (
                f"the run does not tell on which socket of a node of {machine.name} each rank was: in the "
                "model, ranks fill one socket of a node after the other",
            )
        lines = cores or [""] * len(nodes)
        files[len(nodes)].write_text(
            "".join(f"n{node}{core}\n" for node, core in zip(nodes, lines, strict=True))
        )
    return files, warnings


def _cores(machine: Machine, ranks: Sequence[record.Rank]) -> list[str]:
    """Return socket and core of each rank as a placement file has them, cores in the order of ranks.

    Empty unless each rank was seen on one socket, and the machine has all these sockets with enough cores.
    """
    used: Counter[tuple[int | None, str]] = Counter()
    cores = []
    for rank in ranks:
        socket = rank.sockets or ""
        core = used[rank.node, socket]
        if not socket.isdecimal() or int(socket) >= machine.whole("node.sockets"):
            return []
        if core >= machine.whole("node.cores"):
            return []
        cores.append(f" {socket} {core}")
        used[rank.node, socket] += 1
    return cores


def _of_interest(found: Sequence[Summary]) -> list[Summary]:
    names = {summary.metric for summary in found}
    if "time" in names:
        return [summary for summary in found if summary.metric == "time"]
    return [
        summary
        for summary in found
        if summary.metric.removesuffix("_per_process") == summary.metric
        or summary.metric.removesuffix("_per_process") not in names
    ]
