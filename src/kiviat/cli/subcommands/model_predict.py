"""`kiviat model predict`: compares a model's results for the cases of a run with the measured ones."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.aggregate.summary import Summary
from kiviat.api.predict import Predicted, predict
from kiviat.api.runs import read_one
from kiviat.cli.options.request import ModelPredictRequest
from kiviat.cli.text.table import bold, print_rows, print_table
from kiviat.cli.text.values import setting
from kiviat.machine.modelled.machine import find_machine
from kiviat.record.units import UNAVAILABLE, format_bytes, format_value


def execute(request: ModelPredictRequest) -> int:
    """Print each case as measured and as modelled, and each benchmark's median error.

    Raise InputError for simulated and ingested runs.
    """
    machine = find_machine(request.machine)
    result = predict(machine, read_one(request.run))
    if request.format != "table":
        print_rows([_cells(one, one.measured) for one in result.values if one.measured], request.format)
        return 0
    title = f"{bold(machine.name)}, version {machine.version}, hash {machine.hash[:16]}, and run"
    print(f"{title} {result.run.id if result.run else request.run}")
    table = _table(result.values)
    print_table("<>><>>>", ["benchmark", "ranks", "bytes", "", "measured", "model", "error"], table)
    for benchmark, error in result.median_errors().items():
        print(f"{benchmark}: median error {100 * error:.1f} %")
    return 0


def _table(found: Sequence[Predicted]) -> list[list[str]]:
    ordered = sorted(found, key=lambda one: (one.benchmark, one.ranks, one.bytes or 0))
    return [
        [
            " ".join(filter(None, (one.benchmark, setting(one.measured)))),
            str(one.ranks),
            "–" if one.bytes is None else format_bytes(one.bytes),
            one.metric.replace("_", " "),
            format_value(one.measured.median, one.unit),
            format_value(one.model, one.unit),
            UNAVAILABLE if one.error is None else f"{100 * one.error:+.1f} %",
        ]
        for one in ordered
        if one.measured
    ]


def _cells(one: Predicted, measured: Summary) -> dict[str, object]:
    return {
        "case": one.case,
        "metric": one.metric,
        "unit": one.unit,
        "measured": measured.median,
        "model": one.model,
        "error": one.error,
    }
