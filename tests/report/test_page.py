"""The page in a real browser."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kiviat.record import Row
from kiviat.record.run import Run
from kiviat.record.units import format_value
from kiviat.report.run.page import render

from .conftest import VIEWS, Open, photograph
from .synthetic import failed, make_rows, make_run, make_run_json, row

SIZES = [0, 1, 8, 64, 1024, 8192, 16384, 65536, 1 << 20, 4 << 20]


@cache
def mixed() -> str:
    """Two measured runs, one of them with all that can be wrong, and a simulated one."""
    base = make_run_json()
    troubled = make_run(
        "run-b",
        state="interrupted",
        machine={**base["machine"], "name": "zeus"},
        launch={
            "embedded": True,
            "oversubscribed": True,
            "transport": {"near": "posix", "far": "tcp", "fallback_to_tcp": True, "evidence": "FI_LOG: tcp"},
        },
    )
    simulated = make_run(
        "sim",
        substrate="simulated",
        clock="simulated",
        machine={**base["machine"], "name": "a model of hermes"},
        launches=1,
    )
    rows = [
        *make_rows(sizes=SIZES),
        *make_rows("run-b", sizes=SIZES, speed=0.7, seed=2, oversubscribed=True),
        *make_rows("sim", sizes=SIZES, launches=1, speed=0.9, substrate="simulated", clock="simulated"),
        failed("run-b", "alltoall/ranks=4/bytes=8", "rank 3 did not answer for 10 s"),
    ]
    return render([make_run(), troubled, simulated], rows)


def draw_all(page: Page) -> None:
    """Scrolls through the page, as a reader does, until every figure is drawn."""
    for place in range(page.locator("[data-figure]").count()):
        page.locator("[data-figure]").nth(place).scroll_into_view_if_needed()
    expect(page.locator("[data-figure]:not([data-drawn])")).to_have_count(0)


def plotted(page: Page, caption: str) -> list[dict[str, Any]]:
    """The traces of the figure with that caption, as Plotly has them."""
    figure = page.locator("figure", has=page.get_by_text(caption, exact=True))
    figure.scroll_into_view_if_needed()
    plot = figure.locator("[data-drawn]")
    plot.wait_for()
    traces: list[dict[str, Any]] = plot.evaluate("(node) => node.data")
    return traces


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_every_width_and_theme(open_page: Open, width: int, theme: str) -> None:
    page = open_page(mixed(), width, theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    draw_all(page)
    photograph(page, f"report-{width}-{theme}")
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    expect(page.locator("details[data-from]:not(:has(tr))")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_curves_are_the_rows(open_page: Open) -> None:
    rows = make_rows(sizes=SIZES)
    page = open_page(render([make_run()], rows))
    band, curve, *_ = plotted(page, "pingpong: time against message size")
    values: dict[int, list[float]] = {size: [] for size in SIZES}
    for entry in rows:
        if entry.benchmark == "pingpong" and entry.metric == "time":
            assert entry.bytes is not None and entry.p50 is not None
            values[entry.bytes].append(entry.p50)
    assert curve["x"] == [size or 0.5 for size in SIZES]
    assert curve["y"] == pytest.approx([median(values[size]) for size in SIZES], rel=1e-4)
    lowest, highest = band["y"][: len(SIZES)], band["y"][len(SIZES) :][::-1]
    for size, low, middle, high in zip(SIZES, lowest, curve["y"], highest, strict=True):
        assert min(values[size]) * 0.9999 <= low <= middle <= high <= max(values[size]) * 1.0001
    assert "6 launches" in curve["hovertext"][0] and "minimum" in curve["hovertext"][0]


def test_the_point_below_the_pointer_is_explained(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    plotted(page, "allreduce: time against message size")
    plot = page.locator("figure", has=page.get_by_text("allreduce: time against message size")).locator(
        ".plot"
    )
    plot.locator(".point").first.hover(force=True)
    text = plot.locator(".hovertext").text_content()
    assert text and "95 %" in text and "6 launches" in text and "p99" in text


def test_tables_speak_as_python_does(open_page: Open) -> None:
    """Units are formatted twice, here and in kiviat.record.units: nothing may differ."""
    values = [0.0, 9.994e-10, 9.996e-7, 0.001, 1.0, 999.4, 12345.6, 9.999e9, 1.5e12, 3e15]
    rows: list[Row] = []
    for unit in ("s", "B/s", "1/s", "%", "1", "flop/s", "op/s", "J", "B"):
        for number, value in enumerate(values):
            name = unit.replace("/", " per ")
            rows.append(
                row("run-a", name, unit, "lower", value, case=f"x/{number}", benchmark="x", bytes=number)
            )
    page = open_page(render([make_run()], rows))
    page.locator("#cases summary").click()
    cells = page.locator("#cases tbody tr").evaluate_all(
        "(lines) => lines.map((line) => [...line.cells].slice(0, 3).map((cell) => cell.textContent))"
    )
    said = {(case, metric): text for case, metric, text in cells}
    assert said == {
        (entry.case, entry.metric): format_value(entry.p50, entry.unit or "1")
        for entry in rows
        if entry.metric
    }


def test_columns_sort(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    page.get_by_text("pingpong 10 cases").click()
    table = page.locator("#cases details[open] table")
    for direction in ("ascending", "descending"):
        table.get_by_role("button", name="Launches").click()
        table.get_by_role("button", name="Median").click()
        if direction == "descending":
            table.get_by_role("button", name="Median").click()
        assert table.locator("th[aria-sort]").get_attribute("aria-sort") == direction
        first = table.locator("tbody tr").first.inner_text()
        assert ("ns" if direction == "ascending" else "GB/s") in first


def test_strings_from_records_are_inert(open_page: Open) -> None:
    hostile = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--\u2028"
    markup = "<b>bold</b><a href='https://example.org/'>link</a>"
    run = make_run_json(
        machine={**make_run_json()["machine"], "name": "<script>alert(1)</script>", "cpu": hostile}
    )
    for launch in run["launches"]:
        launch.update(
            mpi=markup, library=hostile, flags=hostile, command=["mpiexec", hostile], reason=hostile
        )
        launch["environment"] = {"X": hostile}
        launch["transport"] = {"near": hostile, "far": markup, "fallback_to_tcp": True, "evidence": hostile}
    rows = [
        *make_rows(sizes=SIZES),
        *(
            row("run-a", "time", "s", "lower", 1e-6 * (1 + size), case=f"{hostile}/{size}", benchmark=hostile,
                bytes=size, axes={"<i>axis": value}, launch=launch)
            for size in (1, 2) for launch in range(6) for value in (hostile, markup)
        ),
        failed("run-a", f"{hostile}/3", hostile),
    ]  # fmt: skip
    page = open_page(render([Run.from_json(run), Run.from_json({**run, "id": "run-b"})], rows))
    draw_all(page)
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == "<script>alert(1)</script>"
    assert page.locator("main img, main b a, svg.main-svg a").count() == 0
    assert markup in page.locator("#transport").inner_text()
    hover = plotted(page, "pingpong: time against message size")[-1]["hovertext"][0]
    assert "&lt;b&gt;bold" in hover


def test_theme_is_chosen_and_kept(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    before = plotted(page, "pingpong: time against message size")[-1]["line"]["color"]
    page.locator("#theme").click()
    after = plotted(page, "pingpong: time against message size")[-1]["line"]["color"]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert before != after
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_many_curves_have_a_selector(open_page: Open) -> None:
    ranks = [2 << power for power in range(10)]
    page = open_page(render([make_run()], make_rows(sizes=SIZES, ranks=ranks, launches=2)))
    caption = "allreduce: time against message size"
    figure = page.locator("figure", has=page.get_by_text(caption, exact=True))
    overview = [trace["legendgroup"] for trace in plotted(page, caption)]
    assert overview[0] == "2 ranks" and overview[-1] == "1,024 ranks" and len(set(overview)) == 8
    figure.locator("select").select_option(label="4 ranks")
    single = plotted(page, caption)[-1]["y"]
    figure.get_by_text("Values").click()
    expect(figure.locator("tbody tr")).to_have_count(len(SIZES))
    assert len(single) == len(SIZES)


def test_legend_hides_a_curve(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    caption = "bcast: time against message size"
    plotted(page, caption)
    figure = page.locator("figure", has=page.get_by_text(caption, exact=True))
    figure.get_by_role("button", name="4 ranks").click()
    hidden = [trace["legendgroup"] for trace in plotted(page, caption) if trace.get("visible") is False]
    assert set(hidden) == {"4 ranks"}


def test_prints_with_all_figures_in_light(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)), theme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.locator("[data-figure]:not([data-drawn])").count() == 0
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_headings_and_figures_can_be_read_aloud(open_page: Open) -> None:
    page = open_page(mixed())
    levels = page.locator("h1, h2, h3").evaluate_all(
        "(nodes) => nodes.map((node) => Number(node.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    labels = page.locator(".plot").evaluate_all(
        "(nodes) => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    assert all("against message size. " in label for label in labels if label.startswith("pingpong: time"))
    assert page.locator(".plot:not([role=img])").count() == 0
