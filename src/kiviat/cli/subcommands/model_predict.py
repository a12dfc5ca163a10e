"""`kiviat model predict`: compares a model's results for the cases of a run with the measured ones."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.published.results import value_of
from kiviat.cli.options.request import ModelPredictRequest
from kiviat.cli.text.table import bold, print_rows, print_table
from kiviat.cli.text.values import setting
from kiviat.launch.run.simulated_runner import SimulatedCase, simulate
from kiviat.machine.modelled.machine import Machine, find_machine
from kiviat.record import InputError
from kiviat.record.run import Run
from kiviat.record.units import UNAVAILABLE, counted, format_bytes, format_value
from kiviat.store import find_run
from kiviat.store.read import load


@dataclass(frozen=True)
class Predicted:
    """One quantity; `model` is None if the simulation does not have it."""

    measured: Summary
    model: float | None

    @property
    def error(self) -> float | None:
        """Relative error of the model against the measured median; None without a modelled value."""
        return None if self.model is None else self.model / self.measured.median - 1


def execute(request: ModelPredictRequest) -> int:
    """Print each case as measured and as modelled, and each benchmark's median error.

    Raise InputError for simulated and ingested runs.
    """
    machine = find_machine(request.machine)
    run, rows, _ = load(find_run(request.run))
    if run.clock != "wall":
        raise InputError(
            f"run {run.id} was not measured here (its clock is {run.clock}); name a measured run"
        )
    found = predict(machine, run, summarise(rows))
    if not found:
        raise InputError(f"run {run.id} has no results to compare with")
    if request.format != "table":
        print_rows([_cells(one) for one in found], request.format)
        return 0
    print(f"{bold(machine.name)}, version {machine.version}, hash {machine.hash[:16]}, and run {run.id}")
    print_table("<>><>>>", ["benchmark", "ranks", "bytes", "", "measured", "model", "error"], _table(found))
    for benchmark in dict.fromkeys(one.measured.benchmark for one in found):
        errors = [
            abs(one.error) for one in found if one.error is not None and one.measured.benchmark == benchmark
        ]
        if errors:
            print(f"{benchmark}: median error {100 * statistics.median(errors):.1f} %")
    return 0


def predict(machine: Machine, run: Run, summaries: Sequence[Summary]) -> list[Predicted]:
    """Simulate the cases and return times and metrics of studies.

    Metrics per process are omitted, because they have the same relative error.
    """
    cases: dict[str, list[Summary]] = {}
    for summary in summaries:
        cases.setdefault(summary.case, []).append(summary)
    chosen = {case: _of_interest(found) for case, found in cases.items()}
    with TemporaryDirectory(prefix="kiviat-") as folder:
        files = _places(machine, run, Path(folder))
        asked = []
        for found in chosen.values():
            first = found[0]
            one = SimulatedCase(machine, first.benchmark, first.ranks, first.bytes, first.axes)
            seen = min((world for world in files if world >= one.case().world), default=None)
            if seen is None:
                asked.append(replace(one, place=run.place, per_node=run.ranks_per_node))
            else:
                asked.append(replace(one, place=f"file:{files[seen]}"))
        records = simulate(asked)
    return [
        Predicted(summary, value_of(record, summary.metric))
        for found, record in zip(chosen.values(), records, strict=True)
        for summary in found
    ]


def _places(machine: Machine, run: Run, folder: Path) -> dict[int, Path]:
    """Write a placement file for each number of ranks of a launch, with the node of each rank.

    Return the files.

    The placement is the observed one, not the requested one: the model may have more nodes than the run used,
    and more cores per node than its nodes had slots. Empty if the nodes are unknown.
    """
    files: dict[int, Path] = {}
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
        files[len(nodes)].write_text("".join(f"n{node}\n" for node in nodes))
    return files


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


def _table(found: Sequence[Predicted]) -> list[list[str]]:
    ordered = sorted(
        found, key=lambda one: (one.measured.benchmark, one.measured.ranks, one.measured.bytes or 0)
    )
    return [
        [
            " ".join(filter(None, (one.measured.benchmark, setting(one.measured)))),
            str(one.measured.ranks),
            "–" if one.measured.bytes is None else format_bytes(one.measured.bytes),
            one.measured.metric.replace("_", " "),
            format_value(one.measured.median, one.measured.unit),
            format_value(one.model, one.measured.unit),
            UNAVAILABLE if one.error is None else f"{100 * one.error:+.1f} %",
        ]
        for one in ordered
    ]


def _cells(one: Predicted) -> dict[str, object]:
    summary = one.measured
    return {
        "case": summary.case,
        "metric": summary.metric,
        "unit": summary.unit,
        "measured": summary.median,
        "model": one.model,
        "error": one.error,
    }
