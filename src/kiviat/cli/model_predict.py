"""`kiviat model predict`: what a model gives for the cases of a run, beside what the run measured."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.analysis.summary import Summary, summarise
from kiviat.cli.table import bold, print_csv, print_table
from kiviat.cli.words import setting
from kiviat.launch.simulating import Asked, simulate
from kiviat.machine.model import Machine, find_machine
from kiviat.model.question import value_of
from kiviat.record import InputError
from kiviat.record.units import UNAVAILABLE, format_bytes, format_value
from kiviat.store import find_run
from kiviat.store.read import load


@dataclass(frozen=True)
class Predicted:
    """One quantity: `model` is None where the simulation has it not."""

    measured: Summary
    model: float | None

    @property
    def error(self) -> float | None:
        return None if self.model is None else self.model / self.measured.median - 1


def execute(arguments: Namespace) -> int:
    machine = find_machine(arguments.machine)
    run, rows, _ = load(find_run(arguments.run))
    if run["clock"] != "wall":
        raise InputError(
            f"run {run['id']} was not measured here (its clock is {run['clock']}); name one that was"
        )
    found = predict(machine, run, summarise(rows))
    if not found:
        raise InputError(f"run {run['id']} has no results to compare with")
    if arguments.format == "csv":
        print_csv([_cells(one) for one in found])
        return 0
    print(f"{bold(machine.name)}, version {machine.version}, hash {machine.hash[:16]}, and run {run['id']}")
    print_table("<>><>>>", ["benchmark", "ranks", "bytes", "", "measured", "model", "error"], _table(found))
    for benchmark in dict.fromkeys(one.measured.benchmark for one in found):
        errors = [
            abs(one.error) for one in found if one.error is not None and one.measured.benchmark == benchmark
        ]
        if errors:
            print(f"{benchmark}: median error {100 * statistics.median(errors):.1f} %")
    return 0


def predict(machine: Machine, run: Mapping[str, Any], summaries: Sequence[Summary]) -> list[Predicted]:
    """The times of all cases, and what studies report; values per process are left out, being the same."""
    cases: dict[str, list[Summary]] = {}
    for summary in summaries:
        cases.setdefault(summary.case, []).append(summary)
    chosen = {case: _of_interest(found) for case, found in cases.items()}
    where, per_node = run.get("where") or {}, _per_node(run)
    asked = []
    for found in chosen.values():
        first = found[0]
        asked.append(
            Asked(
                machine,
                first.benchmark,
                first.ranks,
                first.bytes,
                first.axes,
                where.get("place"),
                per_node,
            )
        )
    records = simulate(asked)
    return [
        Predicted(summary, value_of(record, summary.metric))
        for found, record in zip(chosen.values(), records, strict=True)
        for summary in found
    ]


def _per_node(run: Mapping[str, Any]) -> int | None:
    """As asked for, else as seen: nodes of the model may have more cores than those that ran had slots. Where
    ranks were dealt to nodes in another way than one node after the other, that says which are on one.
    """
    where = run.get("where") or {}
    asked: int | None = where.get("ppn")
    if asked is not None or where.get("place") not in (None, "blocked"):
        return asked
    seen = [Counter(rank["node"] for rank in launch["ranks"] or ()) for launch in run["launches"]]
    return max((max(ranks_of.values()) for ranks_of in seen if ranks_of), default=None)


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
