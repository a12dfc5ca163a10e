"""`kiviat model predict`: compares a model's results for the cases of a run with the measured ones."""

from __future__ import annotations

import sys

from kiviat.analysis.aggregate.summary import Summary
from kiviat.api.predict import Predicted, predict
from kiviat.api.runs import read_one
from kiviat.cli.options.request import ModelPredictRequest
from kiviat.cli.text.table import bold, print_table
from kiviat.cli.text.values import setting
from kiviat.cli.text.warnings import print_warnings
from kiviat.machine.modelled.machine import find_machine
from kiviat.report.table import Column, Value, tabled

_COLUMNS: tuple[Column[tuple[Predicted, Summary]], ...] = (
    Column("benchmark", lambda one: " ".join(filter(None, (one[0].benchmark, setting(one[1]))))),
    Column("ranks", lambda one: one[0].ranks, "number"),
    Column("bytes", lambda one: one[0].bytes, "B", absent="–"),
    Column("", lambda one: one[0].metric.replace("_", " ")),
    Column(None, lambda one: one[0].case, key="case"),
    Column(None, lambda one: one[0].metric, key="metric"),
    Column(None, lambda one: one[0].unit, key="unit"),
    Column("measured", lambda one: Value(one[1].median, one[0].unit), side=">", key="measured"),
    Column("model", lambda one: Value(one[0].model, one[0].unit), side=">", key="model"),
    Column("error", lambda one: one[0].error, "error", key="error"),
    Column(None, lambda one: one[0].reason, key="reason"),
)


def execute(request: ModelPredictRequest) -> int:
    """Print each case as measured and as modelled, and each benchmark's median error.

    Return 1 if nothing was predicted.

    Raise InputError for simulated and ingested runs.
    """
    machine = find_machine(request.machine)
    result = predict(machine, read_one(request.run))
    print_warnings(result.warnings)
    found = [(one, one.measured) for one in result.values if one.measured]
    table = request.format == "table"
    if table:
        found.sort(key=lambda one: (one[0].benchmark, one[0].ranks, one[0].bytes or 0))
        title = f"{bold(machine.name)}, version {machine.version}, hash {machine.hash[:16]}, and run"
        print(f"{title} {result.run.id if result.run else request.run}")
    if machine.uncalibrated:
        print(f"uncalibrated: {machine.uncalibrated}", file=sys.stdout if table else sys.stderr)
    print_table(tabled("Predictions", _COLUMNS, found), request.format)
    if table:
        for benchmark, error in result.median_errors().items():
            print(f"{benchmark}: median error {100 * error:.1f} %")
        for case, reason in {one.case: one.reason for one, _ in found if one.reason}.items():
            print(f"no prediction: {case}: {reason}", file=sys.stderr)
    return 0 if any(one.model is not None for one, _ in found) else 1
