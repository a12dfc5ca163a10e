"""The scaling page in a real browser."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kiviat.analysis.published.curves import scaling_verdicts
from kiviat.analysis.scaling.reading import Reading, readings
from kiviat.analysis.scaling.series import Selection, Source, Study, scaling
from kiviat.record import Row
from kiviat.record.run import Run
from kiviat.report.facts.runs import labels
from kiviat.report.html.symbols import STROKES
from kiviat.report.scaling.page import render_scaling

from .charts import curves, data
from .conftest import Open
from .scaling_runs import (
    CLUSTER,
    RANKS,
    SICORTEX,
    amdahl,
    modelled,
    scaling_rows,
    scaling_run,
    scaling_run_json,
    source,
)

SIMULATED: dict[str, Any] = {"substrate": "simulated", "clock": "simulated"}
LARGEST = 64


def messages(run: str, factor: float, **changes: Any) -> list[Row]:
    """Return allreduce times of three sizes: a term logarithmic in ranks, for the tree, and a linear one."""

    def time(size: int) -> Callable[[int], float]:
        return lambda p: factor * 1e-6 * (1 + 0.5 * math.log2(p) + size / 1e4 * p)

    return [
        replace(row, bytes=size, case=f"{row.case}/bytes={size}")
        for size in (8, 1024, 65536)
        for row in scaling_rows(
            run,
            time(size),
            benchmark="allreduce",
            ranks=(2, 4, 8, 16, 32),
            axes={},
            **changes,
        )
        if row.metric == "time"
    ]


@cache
def everything() -> tuple[list[Reading], str]:
    """Readings and page of two measured machines, one with declared watts, and a simulated larger one."""
    machine = scaling_run_json()["machine"]
    declared = {"value": 95, "per": "socket", "source": "command line"}
    many = (1, 2, 4, 8, 16, 32, LARGEST)
    runs = [
        scaling_run("run-a"),
        scaling_run("run-b", machine={**machine, "name": "zeus", "declared_watts": declared}),
        scaling_run("sim", many, repeats=1, machine={**machine, "name": "simulated:sc072"}, **SIMULATED),
    ]
    once: dict[str, Any] = {"repeats": 1, "noise": 0, "count": 1, **SIMULATED}
    rows = [
        [*scaling_rows("run-a", amdahl(0.03)), *messages("run-a", 1.0)],
        [
            replace(row, oversubscribed=row.ranks == 32)
            for row in scaling_rows(
                "run-b", lambda p: 60 * (1 + 0.03 * (p - 1) + 0.004 * p * (p - 1)) / p, seed=3
            )
        ],
        [*scaling_rows("sim", amdahl(0.01, 400), ranks=many, **once), *messages("sim", 8.0, **once)],
    ]
    sources = [
        Source(label.label, (run,), own) for label, run, own in zip(labels(runs), runs, rows, strict=True)
    ]
    found = readings(scaling(sources, Selection()), sources, at=(128,))
    return found, render_scaling(found, sources, ["cannot tell whether mystery scales"])


def plotted(page: Page, name: str) -> list[dict[str, Any]]:
    """The curves of the cg figure of that name."""
    return curves(page.locator(f"figure[id$='-{name}']").last)


def test_figures_and_tables_are_the_numbers(open_page: Open) -> None:
    found, html = everything()
    study = next(one.study for one in found if one.study.benchmark == "cg")
    page = open_page(html)
    marks_and_bars(study, plotted(page, "value"))
    figure = page.locator("figure[id$='-value']").last
    ticks = figure.locator(".x-ticks text").all_text_contents()
    assert set(ticks) <= {str(1 << power) for power in range(7)}, (
        "where ranks were, not where a line was drawn"
    )
    figure.locator("summary").click()
    expect(figure.locator("tbody tr")).to_have_count(6 + 6 + 7)  # no points of fitted laws
    simulated_looks_simulated(page)
    # Performance per watt is against sockets, and only for the machine that declares watts.
    (marks,) = plotted(page, "watt")
    assert marks["name"].startswith("zeus") and marks["x"] == [1, 1, 2, 4, 8, 16]
    section = page.locator("section", has_text="cg: strong scaling")
    expect(section.locator("td", has_text="95.0 W").first).to_contain_text("declared")
    expect(section).to_contain_text("unavailable: neither meters nor declared watts")
    # All message sizes share the same figures.
    section = page.locator("section", has_text="allreduce: weak scaling")
    expect(section.locator("figure")).to_have_count(3)
    expect(section.locator("figure select").first.locator("option")).to_have_text(
        ["allreduce of 8 B", "allreduce of 1 KiB", "allreduce of 64 KiB", "all, side by side"]
    )
    expect(section.locator("details.study")).to_have_count(3)
    expect(page.locator("#left-out")).to_contain_text("cannot tell whether mystery scales")


def marks_and_bars(study: Study, traces: list[dict[str, Any]]) -> None:
    for curve in study.curves:
        (marks,) = [trace for trace in traces if not trace["lines"] and trace["name"] == curve.label]
        assert marks["x"] == [point.ranks for point in curve.points]
        assert marks["y"] == pytest.approx([point.value for point in curve.points])
        if curve.clock == "simulated":
            assert not marks["bars"]
        else:
            assert marks["high"] == pytest.approx([point.most for point in curve.points])
            assert marks["bars"].count("V") == len(curve.points)
    # Laws end at the largest measured number of ranks, except for the extrapolation to 128 ranks.
    laws = [trace for trace in traces if trace["lines"] and not trace["markers"]]
    assert [law["name"].rpartition(": ")[2] for law in laws if "Amdahl" in law["name"]] == [
        "Amdahl",
        "Amdahl, extrapolated 4.00 times",
        "Amdahl",
        "Amdahl, extrapolated 2.00 times",
    ]
    beyond = [law for law in laws if max(law["x"]) > LARGEST]
    assert beyond and all("extrapolated" in law["name"] and law["dash"] for law in beyond)


def simulated_looks_simulated(page: Page) -> None:
    for name in ("value", "normalised", "efficiency"):
        for trace in plotted(page, name):
            simulated = "(simulated)" in trace["name"]
            assert trace["hollow"] == (simulated and trace["markers"])
            if simulated and trace["lines"]:
                assert trace["dash"] == STROKES["dot"]
    for table in page.locator("table.points").all():
        simulated = table.locator("tr.simulated").count() > 0
        assert ("Predicted" in (table.locator("thead").text_content() or "")) == simulated
    expect(page.locator("article.run", has_text="sc072")).to_contain_text(
        "Predicted by a model, not measured"
    )


def test_what_was_published_stands_beside_the_figures_that_it_is_of(open_page: Open) -> None:
    sources = [modelled(SICORTEX, lambda p: 4.0), modelled(CLUSTER, lambda p: 1 + p / 64)]
    result = scaling(sources, Selection())
    html = render_scaling(readings(result, sources), sources, [], scaling_verdicts(result.studies, sources))
    page = open_page(html, 390)
    (row,) = page.locator("section", has_text="hpccg: weak scaling").locator("table.said tbody tr").all()
    expect(row.locator("th")).to_contain_text("HPCCG, ordering of MFLOPS: Opteron cluster > SC072")
    expect(row.locator("th")).to_contain_text("Martin et al., section 7.1 / Fig 9 (S-021)")
    expect(row.locator("td")).to_have_text(
        "agrees, predicted: 2.00 to 3.94 times as much per second, on 1 to 64 ranks"
    )
    expect(row.locator(".simulated")).to_have_count(1)
    rest = page.locator("#published tbody tr")
    expect(rest.filter(has_text="S-039")).to_contain_text("agrees, predicted: 11 sockets for 64 ranks")
    expect(rest.filter(has_text="S-028")).to_have_count(2)
    expect(rest.filter(has_text="S-021")).to_have_count(0)
    expect(page.locator("#reading")).to_contain_text("Performance Analysis of the SiCortex SC072")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    (told,) = [one for one in page.locator(".sentences p").all_text_contents() if one.startswith("hpccg")]
    assert "SiCortex (simulated) on 64 ranks 64.0 times the speed of 1 rank, efficiency 100 %;" in told
    # Without a machine from the papers, the page has no table or heading of published claims.
    assert "As published" not in everything()[1]


def test_power_without_known_sockets_has_a_table_and_no_figure() -> None:
    """The page of a run whose watts are declared per node, and whose sockets are unknown, once failed."""
    run = scaling_run_json()
    run["machine"]["declared_watts"] = {"value": 115, "per": "node", "source": "command line"}
    for launch in run["launches"]:
        for rank in launch["ranks"]:
            del rank["sockets"]
    sources = [source(Run.from_json(run), scaling_rows("run-a", amdahl(0.03)))]
    found = readings(scaling(sources, Selection()), sources)
    assert {point.sockets for point in found[0].study.curves[0].points} == {None}
    html = render_scaling(found, sources, [])
    assert "declared: 115 W per node (command line)" in html
    assert "against sockets in use" not in html


def test_marks_without_law_and_bars_are_joined(open_page: Open) -> None:
    """Points with neither a law nor error bars are joined, because loose marks do not read as a curve."""
    sources = [modelled(SICORTEX, lambda p: {1: 1.0, 8: 7.0, 64: 2.0}[p])]
    result = scaling(sources, Selection())
    assert result.studies[0].curves[0].choice.chosen is None
    (marks,) = plotted(open_page(render_scaling(readings(result, sources), sources, [])), "value")
    assert marks["lines"] and marks["markers"] and marks["x"] == [1, 8, 64]


def test_bounds_of_few_launches_are_not_called_intervals() -> None:
    """The range of three launches on the most ranks was once labelled 95 %, like the intervals before it."""
    rows = [
        row
        for row in scaling_rows("run-a", amdahl(0.03))
        if row.ranks < max(RANKS) or (row.launch or 0) < 3 * len(RANKS)
    ]
    sources = [source(scaling_run(), rows)]
    html = render_scaling(readings(scaling(sources, Selection()), sources), sources, [])
    meanings = [
        chart["panels"][0]["lines"][0]["meaning"]
        for id_, chart in data(html)["figures"].items()
        if id_.endswith("-efficiency")
    ]
    assert meanings == ["95 % or range of 6 and 3 launches"]
