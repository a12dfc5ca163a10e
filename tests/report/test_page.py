"""The report page in a real browser."""

from __future__ import annotations

import csv
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from kiviat.analysis.aggregate.summary import summarise
from kiviat.record import Row
from kiviat.record.run import Run
from kiviat.record.units import format_value
from kiviat.report.html.axis import plain
from kiviat.report.run.page import render

from .charts import curves, figure, pixel_of, plotted, positions
from .conftest import Open
from .synthetic import failed, make_rows, make_run, make_run_json, row

SIZES = [0, 1, 8, 64, 1024, 8192, 16384, 65536, 1 << 20, 4 << 20]


@cache
def mixed() -> str:
    """Render two measured runs, one with every kind of problem, and a simulated one."""
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
        *make_rows(sizes=SIZES[::3]),
        *make_rows("run-b", sizes=SIZES[::3], speed=0.7, seed=2, oversubscribed=True),
        *make_rows("sim", sizes=SIZES[::3], launches=1, speed=0.9, substrate="simulated", clock="simulated"),
        failed("run-b", "alltoall/ranks=4/bytes=8", "rank 3 did not answer for 10 s"),
    ]
    return render([make_run(), troubled, simulated], rows)


def test_curves_are_the_rows(open_page: Open) -> None:
    rows = make_rows(sizes=SIZES)
    page = open_page(render([make_run()], rows))
    caption = "pingpong: time and bandwidth against message size"
    curve, *_ = plotted(page, caption)
    values: dict[int, list[float]] = {size: [] for size in SIZES}
    for entry in rows:
        if entry.benchmark == "pingpong" and entry.metric == "time":
            assert entry.bytes is not None and entry.p50 is not None
            values[entry.bytes].append(entry.p50)
    medians = [median(values[size]) for size in SIZES]
    assert curve["x"] == SIZES
    assert curve["y"] == pytest.approx(medians, rel=1e-4)
    for size, low, middle, high in zip(SIZES, curve["low"], curve["y"], curve["high"], strict=True):
        assert min(values[size]) * 0.9999 <= low <= middle <= high <= max(values[size]) * 1.0001
    assert "6 launches, 150 samples" in curve["says"][0] and curve["says"][0][3].startswith("minimum")
    # The drawn curve agrees to 1 %, the precision of its pixels on a logarithmic axis.
    chart = figure(page, caption)
    drawn = positions(page, chart, curve["path"])
    assert [x for x, _ in drawn] == pytest.approx([size or 0.5 for size in SIZES], rel=0.01)
    assert [y for _, y in drawn] == pytest.approx(medians, rel=0.01)
    edge = positions(page, chart, curve["band"])
    assert [y for _, y in edge] == pytest.approx([*curve["low"], *curve["high"][::-1]], rel=0.01)


def test_the_point_below_the_pointer_is_explained(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    chart = figure(page, "allreduce: time against message size")
    other = figure(page, "bcast: time against message size")
    page.set_viewport_size({"width": 1280, "height": 2400})
    chart.scroll_into_view_if_needed()
    x, y = pixel_of(page, chart, curve=0, place=2)
    page.mouse.move(x, y + 3)
    text = chart.locator(".readout").inner_text()
    assert "at 8 B" in text and "95 %: " in text and "6 launches" in text and "p99" in text
    assert "2 ranks" in text and "4 ranks" in text  # the other curve at the same size
    expect(other.locator(".pointer circle")).to_have_count(2)  # linked charts mark the same point
    page.mouse.move(1, 1)
    expect(page.locator(".pointer")).to_have_count(0)


def test_arrow_keys_read_a_chart(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    chart = figure(page, "allreduce: time against message size")
    picture, readout = chart.locator("svg.chart"), chart.locator(".readout")
    picture.focus()
    picture.press("ArrowRight")
    expect(readout).to_contain_text("at 1 B" if SIZES[0] else "at 0 B")
    picture.press("ArrowRight")
    expect(readout).to_contain_text("at 1 B")
    first = readout.locator(".who").inner_text()
    picture.press("ArrowDown")
    assert readout.locator(".who").inner_text() != first
    picture.press("Escape")
    expect(readout).to_be_hidden()


def test_tables_speak_as_python_does(open_page: Open) -> None:
    """The page's JavaScript formats values exactly as kiviat.record.units does."""
    values = [
        0.0,
        9.994e-10,
        9.996e-7,
        0.001,
        1.0,
        100.5,
        112.5,
        999.4,
        1025,
        1.125e9,
        12345.6,
        9.999e9,
        1.5e12,
        3e15,
    ]
    rows: list[Row] = []
    for unit in ("s", "B/s", "1/s", "%", "1", "flop/s", "op/s", "J", "B", "flop/J"):
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


def test_whole_numbers_are_exact(open_page: Open) -> None:
    """1,024 ranks were once 1,020 in the table of a chart's values."""
    page = open_page(render([make_run()], [row("run-a", "time", "s", "lower", 1e-6)]))
    numbers = [0, 7, 1024, 65536, 0.12345, 1234.5]
    told = page.evaluate("(numbers) => numbers.map((number) => kiviat.plain(number))", numbers)
    assert told == [plain(number) for number in numbers] and told[2] == "1,024"


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
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == "<script>alert(1)</script>"
    assert page.locator("main img, main b a, svg.main-svg a").count() == 0
    assert markup in page.locator("#transport").inner_text()
    caption = f"{hostile}: time against message size"
    assert any(markup in curve["name"] for curve in plotted(page, caption))
    picture = figure(page, caption).locator("svg.chart:visible")
    picture.focus()
    picture.press("ArrowRight")
    expect(figure(page, caption).locator(".readout")).to_be_visible()
    assert page.evaluate("window.hacked") is None and page.locator(".readout img, .readout a").count() == 0


def test_theme_is_chosen_and_kept(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    before = plotted(page, "pingpong: time and bandwidth against message size")[0]["ink"]
    page.locator("#theme").click()
    after = plotted(page, "pingpong: time and bandwidth against message size")[0]["ink"]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert before != after
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_many_curves_have_a_selector(open_page: Open) -> None:
    ranks = [2 << power for power in range(10)]
    page = open_page(render([make_run()], make_rows(sizes=SIZES, ranks=ranks, launches=2)))
    caption = "allreduce: time against message size"
    chart = figure(page, caption)
    overview = [curve["name"] for curve in curves(chart)]
    assert overview[0] == "2 ranks" and overview[-1] == "1,024 ranks" and len(set(overview)) == 8
    chart.locator("select").select_option(label="4 ranks")
    (single,) = curves(chart)
    chart.get_by_text("Values").click()
    expect(chart.locator("tbody tr")).to_have_count(len(SIZES))
    assert len(single["y"]) == len(SIZES)
    expect(chart.locator("svg.chart:visible")).to_have_count(1)
    chart.locator("select").select_option(label="all, side by side")
    expect(chart.locator("svg.chart:visible")).to_have_count(11)


def test_legend_hides_a_curve(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    chart = figure(page, "bcast: time against message size")
    chart.get_by_role("button", name="4 ranks").click()
    assert {curve["name"] for curve in curves(chart) if curve["hidden"]} == {"4 ranks"}
    # The figure's link restores the same view.
    chart.get_by_role("button", name="link").click()
    page.reload()
    assert {curve["name"] for curve in curves(chart) if curve["hidden"]} == {"4 ranks"}
    expect(chart).to_be_in_viewport()


# Copies again before the button has its own words again, and returns those that it has in the end.
_COPY_TWICE = """async (button) => {
  const own = window.setTimeout, later = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} }, configurable: true });
  window.setTimeout = (act) => later.push(act);
  for (let time = 0; time < 2; time += 1) await kiviat.copied(button, "x", "text/plain", "x.txt");
  window.setTimeout = own;
  later.forEach((act) => act());
  return button.textContent;
}"""


def test_charts_are_copied(open_page: Open) -> None:
    rows = make_rows(sizes=SIZES)
    page = open_page(render([make_run()], rows))
    chart = figure(page, "bcast: time against message size")
    chart.get_by_role("button", name="4 ranks").click()
    name = chart.get_attribute("id")
    text = page.evaluate("(id) => kiviat.copyOf(id, 'csv')", name)
    lines = list(csv.DictReader(text.splitlines()))
    assert {line["curve"] for line in lines} == {"2 ranks", "4 ranks"} and len(lines) == 2 * len(SIZES)
    own = {
        summary.bytes: summary
        for summary in summarise(rows)
        if (summary.benchmark, summary.ranks, summary.metric) == ("bcast", 2, "time")
    }
    for line in lines[: len(SIZES)]:
        summary = own[int(line["bytes"])]
        assert float(line["value in s"]) == pytest.approx(summary.median, rel=1e-4)
        assert float(line["low"]) == pytest.approx(summary.low, rel=1e-4) and line["launches"] == "6"
    picture = ElementTree.fromstring(page.evaluate("(id) => kiviat.copyOf(id, 'svg')", name))
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "bcast: time against message size" in texts and "2 ranks" in texts and "4 ranks" not in texts
    strokes = {node.get("stroke") for node in picture.iter("{http://www.w3.org/2000/svg}path")}
    assert "rgb(0, 114, 178)" in strokes
    assert "var(" not in ElementTree.tostring(picture, encoding="unicode")
    # Spreadsheets must not take text for a formula; negative numbers stay numbers.
    assert page.evaluate("kiviat.csv([['-1.5', '-x', '=1']])") == "-1.5,'-x,'=1\n"
    assert chart.locator("[data-copy=csv]").evaluate(_COPY_TWICE) == "CSV"


def test_panels_side_by_side_are_copied_with_their_names(open_page: Open) -> None:
    """Copies once had the title of a panel that they did not show, and the values of only one panel."""
    rows = make_rows(sizes=SIZES, ranks=[2 << power for power in range(10)], launches=2)
    page = open_page(render([make_run()], rows))
    chart = figure(page, "allreduce: time against message size")
    chart.locator("select").select_option(label="4 ranks")
    chart.locator("select").select_option(label="all, side by side")
    name = chart.get_attribute("id")
    lines = list(csv.DictReader(page.evaluate("(id) => kiviat.copyOf(id, 'csv')", name).splitlines()))
    of_panels = {line["panel"] for line in lines}
    assert {"overview", "4 ranks", "64 ranks"} <= of_panels
    assert sum(line["panel"] == "4 ranks" for line in lines) == len(SIZES)
    picture = ElementTree.fromstring(page.evaluate("(id) => kiviat.copyOf(id, 'svg')", name))
    titles = [node.text for node in picture.findall("{http://www.w3.org/2000/svg}text")]
    assert {title for title in titles if title and title.startswith("allreduce")} == {
        f"allreduce: time against message size, {panel}" for panel in of_panels
    }
    assert len(picture.findall("{http://www.w3.org/2000/svg}svg")) >= len(of_panels)


def test_a_link_shows_what_it_names_only(open_page: Open) -> None:
    """Curves that were hidden once stayed hidden when a link that shows all of them was followed."""
    page = open_page(render([make_run()], make_rows(sizes=SIZES)))
    chart = figure(page, "bcast: time against message size")
    chart.get_by_role("button", name="4 ranks").click()
    page.evaluate("(id) => { location.hash = `#${id}:panel=0`; }", chart.get_attribute("id"))
    expect(chart.get_by_role("button", name="4 ranks")).to_have_attribute("aria-pressed", "true")


def test_a_link_to_all_panels_keeps_their_quantity(open_page: Open) -> None:
    """It once led to the panels of the first quantity."""
    rows = [
        row("run-a", metric, unit, better, value, benchmark="sendrecv", ranks=ranks, bytes=size,
            case=f"sendrecv/ranks={ranks}/bytes={size}")
        for ranks in range(2, 12) for size in (8, 1024)
        for metric, unit, better, value in (("time", "s", "lower", 1e-6), ("bandwidth", "B/s", "higher", 1e9))
    ]  # fmt: skip
    page = open_page(render([make_run()], rows))
    chart = figure(page, "sendrecv: time and bandwidth against message size")
    chart.get_by_role("button", name="bandwidth", exact=True).click()
    chart.locator("select").select_option(label="all, side by side")
    chart.get_by_role("button", name="link").click()
    page.reload()
    expect(chart.locator("button[data-quantity][aria-pressed=true]")).to_have_text("bandwidth")
    expect(chart.locator("svg.chart:visible")).to_have_count(11)
    # Older links name no panel beside "all".
    id_ = chart.get_attribute("id")
    page.evaluate("(id) => { location.hash = `#${id}:panel=0`; }", id_)
    expect(chart.locator("svg.chart:visible")).to_have_count(1)
    page.evaluate("(id) => { location.hash = `#${id}:panel=all`; }", id_)
    expect(chart.locator("svg.chart:visible")).to_have_count(11)


def test_rows_that_are_shown_later_have_their_heads_on_telephones(open_page: Open) -> None:
    rows = [
        row("run-a", "time", "s", "lower", 1e-6, case=f"x/{number}", benchmark="x", bytes=number)
        for number in range(301)
    ]
    page = open_page(render([make_run()], rows), 390)
    page.locator("#cases summary").click()
    table = page.locator("#cases table")
    expect(table).to_have_class(re.compile("listed"))
    page.get_by_role("button", name="Show all 301 rows").click()
    expect(table.locator("tbody tr")).to_have_count(301)
    assert table.locator("tbody :is(th, td):not([data-label])").count() == 0


def test_the_pointer_is_on_the_mark_where_launches_are_close(open_page: Open) -> None:
    names = ("run-a", "run-b")
    rows = [
        row(name, "time", "s", "lower", 1e-6 * (1 + launch / 100), launch=launch)
        for name in names
        for launch in range(60)
    ]
    page = open_page(render([make_run(name, launches=60) for name in names], rows))
    chart = page.locator("#fig-launches")
    chart.locator("svg.chart").press("ArrowRight")
    mark = chart.locator("g.curve .dots").first.get_attribute("d") or ""
    at = float(chart.locator(".pointer circle").last.get_attribute("cx") or 0)
    assert at == pytest.approx(float(mark.removeprefix("M").split(" ")[0]), abs=0.06)


def test_the_pointer_is_on_the_mark_of_a_value_beyond_the_scale(open_page: Open) -> None:
    rows = [
        row("run-a", "overlap", "%", "higher", share, benchmark="iallreduce", bytes=size,
            case=f"iallreduce/ranks=2/bytes={size}")
        for size, share in ((8, -15000.0), (1024, 20.0))
    ]  # fmt: skip
    page = open_page(render([make_run()], rows))
    chart = figure(page, "iallreduce: overlap against message size")
    chart.locator("svg.chart").press("ArrowRight")
    at = float(chart.locator(".pointer circle").last.get_attribute("cy") or 0)
    drawn = curves(chart)[0]["path"].removeprefix("M").split("L")[0]
    assert at == float(drawn.split(" ")[1])


def test_prints_with_all_figures_in_light(open_page: Open) -> None:
    page = open_page(render([make_run()], make_rows(sizes=SIZES)), theme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 251)"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    shown = "(name) => getComputedStyle(document.querySelector(name)).display"
    assert (
        page.evaluate(shown, ".chart .bar") != "none"
    )  # intervals were once hidden as the head of the page is
    assert page.evaluate(shown, "header.bar") == "none"
    page.emulate_media(media="screen")


def test_without_script_every_panel_is_shown(tab: Page, tmp_path: Path) -> None:
    ranks = [2 << power for power in range(10)]
    file = tmp_path / "report.html"
    file.write_text(render([make_run()], make_rows(sizes=SIZES, ranks=ranks, launches=2)))
    browser = tab.context.browser
    assert browser
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    pictures = page.locator("svg.chart")
    assert pictures.count() > 20
    expect(page.locator("svg.chart:visible")).to_have_count(pictures.count())
    expect(page.locator(".controls:visible")).to_have_count(0)
    context.close()


def test_headings_and_figures_can_be_read_aloud(open_page: Open) -> None:
    page = open_page(mixed())
    levels = page.locator("h1, h2, h3").evaluate_all(
        "(nodes) => nodes.map((node) => Number(node.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    labels = page.locator("svg.chart > title").all_text_contents()
    title = "pingpong: time and bandwidth against message size, time. hermes · Open MPI 4.1.4: "
    assert sum(label.startswith(title) and " at 4 MiB" in label for label in labels) == 1
    assert page.locator("svg.chart:not([role=application])").count() == 0  # so that arrow keys work
