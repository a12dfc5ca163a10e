"""The NAS Parallel Benchmarks and mini-applications on the page: rates and time shares of phases."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import grids
from kiviat.record import Row, Table, TableRow
from kiviat.record.traits import earlier_traits
from kiviat.report.run.page import render
from kiviat.report.study.programs import programs

from .conftest import Open
from .studies import table_row
from .synthetic import make_run, row

CASE = "cg/ranks=4/class=W"
PHASES = {"matrix-vector": 6.0, "vectors": 1.0, "sums": 2.0, "exchange": 1.0, "never": 0.0}


def rows(run: str = "run-a", launches: int = 5, **changes: Any) -> list[Row]:
    fields = {
        "case": CASE,
        "benchmark": "cg",
        "ranks": 4,
        "bytes": None,
        "axes": {"class": "W"},
        "notes": {"communication": "sums; exchange"},
        **changes,
    }
    return [
        row(run, name, unit, better, value, launch=launch, **fields)
        for launch in range(launches)
        for name, unit, better, value in (("rate", "op/s", "higher", 8e9), ("time", "s", "lower", 10.0))
    ]


def tables(run: str = "run-a", launches: int = 5) -> list[TableRow]:
    values = [value for mean in PHASES.values() for value in (0.5 * mean, mean, 2 * mean)]
    axes = (("phase", tuple(PHASES)), ("statistic", ("min", "mean", "max")))
    table = Table("phase_time", "s", "lower", axes, tuple(values))
    return [table_row(run, launch, CASE, table, ranks=4, axes={"class": "W"}) for launch in range(launches)]


def test_a_program_s_time_is_shared_out_to_its_phases() -> None:
    (cg,) = programs(summarise(rows()), grids(tables()), ["run-a"], earlier_traits(), "programs")
    assert (cg.name, cg.conditions, cg.rate, cg.per_rank, cg.time) == (
        *("CG", "class W, 4 ranks"),
        *("8.00 Gop/s", "2.00 Gop/s", "10.0 s"),
    )
    assert [(share.phase, share.percent, share.communicates) for share in cg.shares] == [
        ("matrix-vector", 60, False),
        ("vectors", 10, False),
        ("sums", 20, True),
        ("exchange", 10, True),
    ]
    assert cg.communication == "30 %"
    assert cg.shares[2].hover == "sums: 2.00 s on average, from 1.00 – 4.00 s on the ranks"


def test_without_phases_nothing_is_made_up() -> None:
    (cg,) = programs(summarise(rows()), [], ["run-a"], earlier_traits(), "programs")
    assert (cg.communication, cg.shares) == ("–", [])


def test_hpccg_says_how_large_it_is() -> None:
    def conditions(axes: dict[str, Any]) -> str:
        table = summarise(rows(benchmark="hpccg", case=f"hpccg/{axes}", axes=axes))
        assert programs(table, [], ["run-a"], earlier_traits(), "programs") == []
        (hpccg,) = programs(table, [], ["run-a"], earlier_traits(), "applications")
        return hpccg.conditions

    assert conditions({}) == "64 × 64 × 64 on each rank, 4 ranks"
    assert conditions({"nz": "80", "scaling": "strong"}) == "64 × 64 × 80 in all, 4 ranks"
    assert conditions({"nx": "8", "steps": "10"}) == "8 × 64 × 64 on each rank, 4 ranks, steps 10"


def test_gears_are_counted() -> None:
    axes = {"i": 2, "scaling": "strong"}
    table = summarise(rows(benchmark="gears", case="gears/i=2", axes=axes, notes={"gears": "128"}))
    (gears,) = programs(table, [], ["run-a"], earlier_traits(), "applications")
    assert gears.conditions == "128 gears, 4 ranks"


def test_applications_have_a_section_of_their_own(open_page: Open) -> None:
    page = open_page(render([make_run()], rows(benchmark="hpccg", case="hpccg/ranks=4", axes={}), grids([])))
    assert page.locator("#programs").count() == 0
    section = page.locator("#applications")
    expect(section.locator("table.programs tbody tr")).to_have_count(1)
    expect(section).to_contain_text("64 × 64 × 64 on each rank, 4 ranks")


def test_programs_of_two_runs_stand_side_by_side(open_page: Open) -> None:
    runs = [make_run("run-a"), make_run("run-b")]
    page = open_page(render(runs, [*rows(), *rows("run-b")], grids([*tables(), *tables("run-b")])))
    section = page.locator("#programs")
    expect(section.locator("tbody tr")).to_have_count(2)
    expect(section.locator("tbody tr").first).to_contain_text("matrix-vector 60 %, vectors 10 %, sums 20 %")
    widths = (
        section.locator("tbody tr")
        .first.locator(".stack i")
        .evaluate_all("(parts) => parts.map((part) => part.getBoundingClientRect().width)")
    )
    assert len(widths) == 4
    assert 0.55 < widths[0] / sum(widths) < 0.65
    expect(section.locator(".stack .message").first).to_have_attribute(
        "title", "sums: 2.00 s on average, from 1.00 – 4.00 s on the ranks"
    )


def test_who_sends_how_much_to_whom_is_a_map(open_page: Open) -> None:
    """Rows are senders and columns are receivers; pairs without messages stay empty."""
    ranks = ("0", "1", "2", "3")
    axes = (("kernel", ("cg",)), ("from", ranks), ("to", ranks))
    sent = tuple(3e6 if abs(row - column) == 1 else 0.0 for row in range(4) for column in range(4))
    row = table_row("run-a", 0, CASE, Table("message_bytes", "B", "lower", axes, sent), ranks=4)
    page = open_page(render([make_run()], rows(), grids([*tables(), row])))
    figure = page.locator("#programs figure")
    expect(figure).to_contain_text("CG: bytes that each rank (row) sends to each (column)")
    expect(figure.get_by_role("application", name="From 2.86 MiB to 2.86 MiB.")).to_have_count(1)


def test_a_page_without_programs_has_no_such_section(open_page: Open) -> None:
    assert (
        open_page(render([make_run()], rows(case="hpl/ranks=4", benchmark="hpl")))
        .locator("#programs")
        .count()
        == 0
    )
