"""One program in different arrangements on nodes: its rates, time in messages and bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kiviat.analysis.aggregate.nodes import Nodes, nodes_of
from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.published.verdict import keeps_bound
from kiviat.record import Table, TableRow
from kiviat.record.run import Model, Run
from kiviat.record.traits import earlier_traits
from kiviat.report.facts.runs import labels
from kiviat.report.study.network_sharing import sharings
from kiviat.report.table import Cell as TableCell
from kiviat.report.table import Table as ReportTable
from kiviat.report.table import Value

from .modelled import model, simulated_run
from .studies import table_row
from .synthetic import make_run, row

CASE = "cg/ranks=4/class=W"
NODES = {"alone": Nodes((0, 1, 2, 3)), "cyclic": Nodes((0, 1, 0, 1)), "blocked": Nodes((0, 0, 1, 1))}
WHERE = {"alone": None, "cyclic": "cyclic", "blocked": "blocked"}


def _runs(*names: str, machine: str = "testbed") -> list[Run]:
    made = [make_run(name, where={"place": WHERE[name], "bind": None}) for name in names]
    return [replace(run, machine=replace(run.machine, name=machine)) for run in made]


def _rows(run: str, rate: float) -> list[Any]:
    fields = {"case": CASE, "benchmark": "cg", "ranks": 4, "bytes": None, "axes": {"class": "W"}}
    notes = {"communication": "exchange"}
    return [row(run, "rate", "op/s", "higher", rate, launch=at, notes=notes, **fields) for at in range(5)]


def _tables(run: str, exchange: float) -> list[TableRow]:
    """Return tables of two phases, and of 100 bytes between each pair of neighbouring ranks."""
    axes = (("phase", ("work", "exchange")), ("statistic", ("min", "mean", "max")))
    phases = Table("phase_time", "s", "lower", axes, (1.0,) * 3 + (exchange,) * 3)
    ranks = tuple(map(str, range(4)))
    sent = tuple(100.0 * (abs(a - b) == 1) for a in range(4) for b in range(4))
    table = Table("message_bytes", "B", "lower", (("kernel", ("cg",)), ("from", ranks), ("to", ranks)), sent)
    return [
        table_row(run, launch, CASE, one, ranks=4, axes={"class": "W"})
        for launch in range(5)
        for one in (phases, table)
    ]


def cell(
    value: str | float, below: str | tuple[str, ...] = "", shade: int | None = 0, unit: str = "s"
) -> TableCell:
    shown = value if isinstance(value, str) else Value(value, unit)
    return TableCell(shown, below, kind="wall", shade=shade)


def part(table: ReportTable, title: str) -> tuple[object, ...]:
    """Return the cells of the only row below the heading."""
    (row,) = (row for row in table.rows if row.above.startswith(title))
    return row.cells


def heads(table: ReportTable) -> list[str]:
    return [row.above for row in table.rows]


def said(claims: ReportTable) -> list[tuple[str, ...]]:
    """Return each claim's place in the paper, text, published value, our value and their difference."""
    found = []
    for one in claims.rows:
        claim, published, here = one.cells
        assert isinstance(claim, TableCell) and isinstance(here, TableCell)
        below = here.below or here.value or "–"
        found.append(tuple(map(str, (claim.below, claim.value, published, here.value or "–", below))))
    return found


def _shared(*names: str, **changes: Any) -> list[ReportTable]:
    rates = {"alone": 10e9, "cyclic": 8e9, "blocked": 11e9}
    return sharings(
        _runs(*names, **changes),
        summarise([one for name in names for one in _rows(name, rates[name])]),
        grids([one for name in names for one in _tables(name, {"alone": 1.0}.get(name, 3.0))]),
        lambda run, ranks: NODES[run],
        earlier_traits(),
    )


def test_all_stand_beside_the_first_arrangement() -> None:
    (shared,) = _shared("alone", "cyclic", "blocked")
    assert shared.title.endswith("testbed, class W")
    assert [column.heading for column in shared.columns] == ["program", "4×1", "2×2, cyclic", "2×2, blocked"]
    assert part(shared, "Performance") == (
        "CG", cell("1", "10.0 Gop/s", None), cell("0.80", "8.00 Gop/s", 20), cell("1.10", "11.0 Gop/s"),
    )  # fmt: skip
    assert part(shared, "Time in messages") == (
        "CG",
        cell("50 %", ()),
        cell("75 %", (), 25),
        cell("75 %", (), 25),
    )
    assert part(shared, "Bytes within nodes") == (
        "CG",
        cell(0.0, "0 % of all", None, "B"),
        cell(0.0, "0 % of all", None, "B"),
        cell(400.0, "67 % of all", None, "B"),
    )
    assert part(shared, "Bytes between nodes") == (
        "CG",
        cell(600.0, "100 % of all", 0, "B"),
        cell(600.0, "100 % of all, no change", 0, "B"),
        cell(200.0, "33 % of all, -66.7 %", 0, "B"),
    )


def test_one_arrangement_has_nothing_to_compare() -> None:
    assert _shared("alone") == []


def test_what_a_paper_says_of_the_machine_stands_below() -> None:
    mode = {"machine": "VT/ANL cluster (dual-core Opteron, Myri-10G)", "mode": "16X4, cyclic -> blocked"}
    known = Model.from_json(model(published=[mode]))
    runs = [replace(run, machine=replace(run.machine, model=known)) for run in _runs("alone", "cyclic")]
    table = summarise([one for name in ("alone", "cyclic") for one in _rows(name, 1e9)])
    shared, claims = sharings(runs, table, [], lambda run, ranks: NODES[run], earlier_traits())
    assert "Narayanaswamy" in claims.title
    claim = f"{mode['mode']}, NPB CG class B, performance improvement with blocked"
    gain = ("4.4 / Fig 7a", claim, "17.0 %", "–", "–")
    assert gain in said(claims)
    assert heads(shared) == ["Performance"]


def study() -> tuple[list[Run], list[Any], list[TableRow]]:
    """Return runs of CG with 64 ranks on 16 nodes, cyclic and blocked."""
    runs, rows, tables = [], [], []
    ranks = tuple(map(str, range(64)))
    of_class: dict[str, Any] = {"axes": {"class": "B"}, "ranks": 64}
    case = "cg/ranks=64/class=B"
    fields = {"case": case, "benchmark": "cg", "bytes": None, **of_class}
    sent = Table(
        "message_bytes",
        "B",
        "lower",
        (("kernel", ("cg",)), ("from", ranks), ("to", ranks)),
        tuple(float((a ^ b) in (1, 2, 4, 8)) for a in range(64) for b in range(64)),
    )
    for place, rate in (("cyclic", 1e9), ("blocked", 1.2e9)):
        each = [
            {"rank": rank, "host": f"n{node}", "node": node, "pid": rank, "cpus": "0"}
            for rank in range(64)
            for node in [rank % 16 if place == "cyclic" else rank // 4]
        ]
        where = {"place": place, "bind": None}
        runs.append(make_run(place, where=where, launch={"world": 64, "ranks": each}))
        rows += [row(place, "rate", "op/s", "higher", rate, launch=at, **fields) for at in range(5)]
        tables += [table_row(place, at, case, sent, **of_class) for at in range(5)]
    return runs, rows, tables


def test_claims_of_the_paper_are_answered_on_other_machines_too() -> None:
    """On a machine that is not in the paper, only the claims that the runs answer are shown."""
    runs, rows, tables = study()
    nodes = {"cyclic": [rank % 16 for rank in range(64)], "blocked": [rank // 4 for rank in range(64)]}
    shared, claims = sharings(
        runs,
        summarise(rows),
        grids(tables),
        lambda run, ranks: Nodes(tuple(nodes[run][:ranks])),
        earlier_traits(),
    )
    assert [(place, *rest) for place, _, *rest in said(claims)] == [
        ("4.4 / Fig 7a", "17.0 %", "20.0 %", "3.00 points more"),
        ("4.4 / Fig 8", "0.500", "0.500", "the same"),
    ]
    assert part(shared, "Bytes within nodes")[1:] == (
        cell(0.0, "0 % of all", None, "B"), cell(128.0, "50 % of all", None, "B")
    )  # fmt: skip


def test_where_interfaces_count_the_bytes_between_nodes_are_theirs() -> None:
    """Interface counters give one sample per launch, and answer the paper's claim about network bytes."""
    runs, rows, _ = study()
    fields = {key: getattr(rows[0], key) for key in ("case", "benchmark", "bytes", "axes", "ranks")}
    for place, sent in (("cyclic", 2100.0), ("blocked", 1050.0)):
        rows += [row(place, "interface_bytes", "B", "lower", sent, launch=at, **fields) for at in range(5)]
    nodes = {"cyclic": [rank % 16 for rank in range(64)], "blocked": [rank // 4 for rank in range(64)]}
    shared, claims = sharings(
        runs, summarise(rows), [], lambda run, ranks: Nodes(tuple(nodes[run][:ranks])), earlier_traits()
    )
    assert part(shared, "Bytes that interfaces of nodes sent, headers included") == (
        "CG", cell(2100.0, "", 0, "B"), cell(1050.0, "-50.0 %", 0, "B")
    )  # fmt: skip
    rows_of_claims = [(place, *rest) for place, _, *rest in said(claims)]
    assert ("4.4 / Fig 8", "0.500", "0.500", "the same") in rows_of_claims


def test_rates_of_ranks_that_wait_for_processors_answer_no_claim() -> None:
    runs, rows, tables = study()
    rows = [replace(one, oversubscribed=True) for one in rows]
    nodes = {"cyclic": [rank % 16 for rank in range(64)], "blocked": [rank // 4 for rank in range(64)]}
    shared, claims = sharings(
        runs,
        summarise(rows),
        grids(tables),
        lambda run, ranks: Nodes(tuple(nodes[run][:ranks])),
        earlier_traits(),
    )
    assert [place for place, *_ in said(claims)] == ["4.4 / Fig 8"]
    # The rates are shown and marked, but not shaded.
    assert part(shared, "Performance")[1:] == (
        cell("1", ("1.00 Gop/s", "oversubscribed"), None),
        cell("1.20", ("1.20 Gop/s", "oversubscribed"), None),
    )


def test_bounds_of_the_paper_hold_or_do_not() -> None:
    assert keeps_bound("<=", 27, 26.9) is True and keeps_bound("<=", 27, 27.1) is False
    assert keeps_bound(">=", 27, 27.1) is True and keeps_bound(">=", 27, 26.9) is False
    assert keeps_bound("=", 17, 20) is None


def test_network_time_and_that_within_nodes_stand_beside_those_of_the_first() -> None:
    rows = []
    for run, far, near in (("alone", 1.0, 0.0), ("cyclic", 1.5, 0.2), ("blocked", 30.0, 0.0)):
        fields = {"case": CASE, "benchmark": "cg", "ranks": 4, "bytes": None, "axes": {"class": "W"}}
        times = {"time": 4.0, "network_time": far, "node_time": near}
        rows += _rows(run, 1e9)
        rows += [row(run, name, "s", "lower", value, **fields) for name, value in times.items()]
    runs = _runs("alone", "cyclic", "blocked")
    (shared,) = sharings(runs, summarise(rows), [], lambda run, ranks: NODES[run], earlier_traits())
    assert part(shared, "Network time") == (
        "CG",
        cell(1.0, "25 % of the time"),
        cell(1.5, "38 % of the time, +50.0 %", 50),
        cell(30.0, "750 % of the time, 30.0 times", 100),
    )
    none = cell(0.0, "0 % of the time")
    assert part(shared, "Time within nodes") == ("CG", none, cell(0.2, "5 % of the time"), none)


def test_simulations_from_the_cache_ran_where_they_were_asked_to() -> None:
    """Cached simulations observed no ranks, so they once had no shape and answered no claim on placement."""
    shown = [simulated_run(name) for name in ("a", "b")]
    cached = [replace(run, launches=tuple(replace(one, ranks=()) for one in run.launches)) for run in shown]
    (launch,) = cached[1].launches
    assert launch.placement
    away = replace(launch, placement=replace(launch.placement, nodes=(0, 1, 2, 3)))
    cached[1] = replace(cached[1], launches=(away,))
    assert nodes_of(cached[0], 4) == Nodes((0, 0, 1, 1))
    assert [label.label for label in labels(cached)] == ["2x2 (simulated)", "4x1 (simulated)"]
