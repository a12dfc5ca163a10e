"""`kiviat balance`: balance of machines, as ratios, in words, and as a Kiviat diagram."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.aggregate.known_errors import in_words, kinds, known_errors
from kiviat.analysis.hpcc.balance import AXES, Balance, Cell
from kiviat.analysis.hpcc.quantities import System
from kiviat.api.balance import balance
from kiviat.api.runs import read
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import BalanceRequest
from kiviat.cli.text.table import print_rows, print_table
from kiviat.cli.text.warnings import print_warnings
from kiviat.report.balance.text import cell_text, largest_text, remarks, sentences
from kiviat.report.table import Column, tabled


def execute(request: BalanceRequest) -> int:
    """Write the report and print the ratios of runs and published systems."""
    alone = tuple(request.runs) == ("none",)
    runs = read(() if alone else request.runs)
    print_warnings(runs.warnings)
    beside = request.with_systems
    result = balance(runs or "none", beside=beside, small=request.small, few_nodes=request.few_nodes)
    result.report(request.output)
    if request.format == "table":
        _print(result.details)
        for run in runs:
            if model := run.about.machine.model:
                known = in_words(known_errors(model), kinds(run.results))
                print(f"{run.id} is predicted by {model.name}; known errors: {known}")
        print_name(request.output)
    else:
        print_rows(result.rows(), request.format)
    return 0


def _print(result: Balance) -> None:
    columns: list[Column[int]] = [
        Column("", lambda place: AXES[place].title),
        *map(_of_system, result.systems, result.cells),
        Column("largest", lambda place: largest_text(AXES[place], result.largest[place]), side=">"),
    ]
    print_table(tabled("Balance", columns, range(len(AXES))))
    for rule in result.rules:
        print(f"\n{rule}")
    print()
    for sentence in (*sentences(result), *remarks(result)):
        print(sentence)
    print()


def _of_system(system: System, cells: Sequence[Cell]) -> Column[int]:
    return Column(system.name, lambda place: cell_text(AXES[place], cells[place]), side=">")
