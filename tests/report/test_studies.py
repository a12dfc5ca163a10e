"""Studies on the page, in a real browser: every figure and table agrees with the records."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kiviat.analysis.aggregate.tables import grids
from kiviat.record import Row, Table, TableRow
from kiviat.record.published import papers
from kiviat.record.units import format_value
from kiviat.report.run.page import render

from .charts import figure, plotted
from .conftest import Open
from .studies import B_EFF_SIZES, NODES, RANKS, SIZES, study_rows, study_run, study_tables, table_row
from .synthetic import make_rows, make_run, make_run_json
from .test_render import words


@cache
def page_of_one() -> str:
    return render([study_run()], study_rows(), grids(study_tables()))


def value(rows: Sequence[Row], case: str, metric: str) -> tuple[float, str]:
    """The median over launches of one metric, and its unit."""
    found = [row for row in rows if row.case == case and row.metric == metric]
    return median(row.p50 for row in found if row.p50 is not None), found[0].unit or "1"


def cell(tables: Sequence[TableRow], case: str, name: str, *at: str) -> float:
    """The median over launches of one value of a table."""
    found = []
    for row in tables:
        if (row.case, row.table.name) == (case, name):
            place = 0
            for (_, values), word in zip(row.table.axes, at, strict=True):
                place = place * len(values) + values.index(word)
            found.append(row.table.values[place])
    return median(one for one in found if one is not None)


def lines(page: Page, caption: str) -> dict[str, dict[str, Any]]:
    """The curves of a figure by name."""
    return {curve["name"]: curve for curve in plotted(page, caption)}


@cache
def page_of_two() -> str:
    other = study_run("run-b", machine={**make_run_json()["machine"], "name": "zeus"})
    rows = [*study_rows(), *study_rows("run-b", speed=0.7)]
    return render([study_run(), other], rows, grids([*study_tables(), *study_tables("run-b", speed=0.7)]))


def test_runs_without_studies_have_no_such_sections() -> None:
    html = render([make_run()], make_rows(sizes=[8, 1024]))
    assert "Effective bandwidth" not in words(html) and "Altix" not in html
    assert 'id="dense"' not in html and 'id="pairs"' not in html


def test_b_eff_stands_beside_published_machines(open_page: Open) -> None:
    rows = study_rows()
    page = open_page(page_of_one())
    table = page.locator("table.effective")
    ours = table.locator("tr.ours")
    expect(ours).to_have_count(2)  # the full version and the quick one
    metrics = ["b_eff", "b_eff_per_process", "at_lmax", "at_lmax_per_process", "rings_at_lmax"]
    metrics += ["rings_at_lmax_per_process", "pingpong_bandwidth", "pingpong_latency"]
    texts = ours.first.locator("td").evaluate_all(
        "(cells) => cells.map((cell) => cell.firstChild.textContent)"
    )
    assert texts == ["8", *(format_value(*value(rows, "b_eff/ranks=8", metric)) for metric in metrics)]
    assert "version quick" in ours.nth(1).inner_text()

    others = table.locator("tbody", has=page.locator("tr.part"))
    (paper,) = (paper for paper in papers() if paper.name == "fatoohi-saini-ciotti")
    systems = [one for one in paper.systems if one.processes and one.fact("b_eff.pingpong_latency")]
    expect(others).to_have_count(1)
    head = others.locator("th[scope=rowgroup]").inner_text()
    assert head.startswith("As published, not measured here: Fatoohi, Saini, Ciotti") and "Table 1" in head
    shown = others.locator("tr").filter(has=page.locator("td"))
    expect(shown).to_have_count(len(systems))
    for place, system in enumerate(systems):
        line = shown.nth(place)
        assert line.locator("th").inner_text().startswith(system.machine)
        cells = line.locator("td").all_inner_texts()
        known = [system.fact(f"b_eff.{metric}") for metric in metrics]
        assert cells == [str(system.processes), *(format_value(f.value, f.unit) if f else "–" for f in known)]
    assert "Table 1: b_eff accumulated; exact table" in (
        shown.first.locator("td").nth(1).get_attribute("title") or ""
    )
    assert others.locator("tr.ours").count() == 0 and others.locator(".swatch").count() == 0


def test_b_eff_by_size(open_page: Open) -> None:
    tables = study_tables()
    page = open_page(page_of_one())
    found = lines(page, "b_eff: bandwidth per process")
    assert set(found) == {"rings", "random order", "worst order", "2-D grid", "3-D grid"}
    case, methods = "b_eff/ranks=8", ("sendrecv", "alltoallv", "nonblocking")
    for name, pattern in (("worst order", "worst order"), ("2-D grid", "2-D grid")):
        best = [
            max(cell(tables, case, "bandwidth", pattern, str(size), method) for method in methods) / RANKS
            for size in B_EFF_SIZES
        ]
        assert found[name]["x"] == list(B_EFF_SIZES)
        assert found[name]["y"] == pytest.approx(best)
    of_random = [
        max(cell(tables, case, "bandwidth", f"random {number}", "1048576", method) for method in methods)
        / RANKS
        for number in range(30)
    ]
    assert found["random order"]["y"][-1] == pytest.approx(median(of_random))
    assert "all 30 patterns" in " ".join(found["random order"]["says"][0])
    assert found["random order"]["high"][-1] == pytest.approx(max(of_random))
    assert found["random order"]["band"]


PHASES = {
    "Total exchange": ("dense_total_exchange", 7),
    "Pairs at growing distance": ("dense_pairwise", 7),
    "More and more pairs": ("dense_cumulative", 4),
    "Random pairs": ("dense_random", 16),
}


def test_phases(open_page: Open) -> None:
    tables = study_tables()
    page = open_page(page_of_one())
    for title, (benchmark, phases) in PHASES.items():
        caption = f"{title}: bandwidth by phase"
        found = lines(page, caption)
        assert list(found) == ["8 B", "512 B", "32 KiB", "1 MiB"]
        for size, line in zip(SIZES, found.values(), strict=True):
            case = f"{benchmark}/ranks=8/bytes={size}"
            expected = [cell(tables, case, "bandwidth", str(phase)) for phase in range(1, phases + 1)]
            assert line["x"] == list(range(1, phases + 1))
            assert line["y"] == pytest.approx(expected)
            assert line["says"][0][0].endswith("at phase 1") and line["says"][0][1].startswith("95 %: ")
        drawn = figure(page, caption)
        drawn.get_by_text("Values").click()
        expect(drawn.locator("tbody tr")).to_have_count(phases * len(SIZES))
        first = drawn.locator("tbody tr").first.locator("th, td").all_inner_texts()
        assert first[:3] == ["8 B", "1", format_value(next(iter(found.values()))["y"][0], "B/s")]
        drawn.locator("select").select_option(label="all processes")
        total = lines(page, caption)["1 MiB"]["y"]
        case = f"{benchmark}/ranks=8/bytes={SIZES[-1]}"
        assert total[0] == pytest.approx(cell(tables, case, "total_bandwidth", "1"))


def test_distance(open_page: Open) -> None:
    tables = study_tables()
    page = open_page(page_of_one())
    for quantity in ("latency", "bandwidth"):
        (line,) = lines(page, f"{quantity.capitalize()} against distance in ranks").values()
        assert line["x"] == [1, 2, 4]
        expected = [cell(tables, "distance/ranks=8", quantity, str(distance)) for distance in (1, 2, 4)]
        assert line["y"] == pytest.approx(expected)


def test_all_pairs_as_a_map_with_the_boundaries_of_nodes(open_page: Open) -> None:
    tables = study_tables()
    page = open_page(page_of_one())
    for quantity, unit in (("latency", "s"), ("bandwidth", "B/s")):
        caption = f"{quantity.capitalize()} between all pairs of ranks"
        chart = figure(page, caption)
        shown = chart.evaluate("({ id }) => kiviat.page.figures[id].panels[0]")
        assert len(shown["labels"]) == RANKS
        numbers = chart.locator("text.cell").all_text_contents()
        for a in range(RANKS):
            for b in range(RANKS):
                value = shown["values"][a * RANKS + b]
                if a == b:
                    assert value is None
                    continue
                expected = cell(tables, "all_pairs/ranks=8", quantity, str(a), str(b))
                assert value == pytest.approx(expected, rel=1e-3)
                said = chart.evaluate("({ id }, [a, b]) => kiviat.cellLines(id, a, b)", [a, b])
                number = float(format_value(expected, unit).split()[0])
                assert float(said[1].split()[0]) == pytest.approx(number, rel=0.01)
                assert float(re.findall("[0-9.]+", numbers.pop(0))[0]) == pytest.approx(number, rel=0.01)
        said = chart.evaluate("({ id }) => kiviat.cellLines(id, 0, 5)")
        assert said[0] == "rank 0 (node 0) and rank 5 (node 2)" and said[2].startswith("95 %: ")
        lines_of_nodes = chart.locator("path.boundary").evaluate_all(
            "(paths) => paths.map((path) => path.getAttribute('d'))"
        )
        assert lines_of_nodes == 2 * ["".join(f"M{at} 0V8M0 {at}H8" for at in (2, 4, 6))]  # halo and rule
        assert NODES == 4
        # The best pair has level 0, whether high or low is better; the colour bar is labelled at its ends.
        best = min if quantity == "latency" else max
        known = [one for one in shown["values"] if one is not None]
        at = shown["values"].index(best(known))
        row, column = divmod(at, RANKS)
        assert f"M{column} {row}h" in (chart.locator("path.level-0").first.get_attribute("d") or "")
        ends = chart.locator(".scale text").all_text_contents()
        assert {ends[0], ends[-1]} == {format_value(one, unit) for one in (min(known), max(known))}


def test_overhead_and_availability(open_page: Open) -> None:
    rows = study_rows()
    page = open_page(page_of_one())
    sizes = (0, *SIZES)
    overhead = lines(page, "Overhead of a message against message size")
    available = lines(page, "Availability for computation against message size")
    assert set(overhead) == {"send", "receive"}
    assert set(available) == {"send", "receive", "send, uncorrected", "receive, uncorrected"}
    for name, side in (("send", "send"), ("receive", "recv")):
        for found, metric in (
            (overhead[name], "overhead"),
            (available[name], "availability"),
            (available[f"{name}, uncorrected"], "availability_uncorrected"),
        ):
            expected = [value(rows, f"hpo_{side}/ranks=8/bytes={size}", metric)[0] for size in sizes]
            assert found["x"] == list(sizes)
            assert found["y"] == pytest.approx(expected, rel=1e-4)
            assert bool(found["dash"]) == ("uncorrected" in metric)
        assert available[name]["ink"] == available[f"{name}, uncorrected"]["ink"]


def test_the_worst_availability_does_not_hide_the_others(open_page: Open) -> None:
    rows = [
        replace(row, p50=-15000.0)
        if (row.case, row.metric) == ("hpo_send/ranks=8/bytes=8", "availability")
        else row
        for row in study_rows()
    ]
    page = open_page(render([study_run()], rows, grids(study_tables())))
    drawn = figure(page, "Availability for computation against message size")
    assert drawn.evaluate("({ id }) => kiviat.page.figures[id].panels[0].y[0]") == -100
    assert "0 %" in drawn.locator(".y-ticks text").all_text_contents()


def test_noise_of_each_core(open_page: Open) -> None:
    tables = study_tables()
    page = open_page(page_of_one())
    (noise,) = lines(page, "Noise: what the system takes from each rank’s core").values()
    assert noise["x"] == list(range(RANKS))
    assert noise["y"] == pytest.approx(
        [cell(tables, "noise/ranks=8", "noise", str(rank)) for rank in range(RANKS)]
    )
    quanta = lines(page, "Noise: time of a fixed quantum of work")
    assert list(quanta) == ["P99", "maximum", "median", "minimum"]
    for name, line in quanta.items():
        expected = [cell(tables, "noise/ranks=8", "quantum", str(rank), name) for rank in range(RANKS)]
        assert line["y"] == pytest.approx(expected)
    assert "Rank 5 (n2): 3.1" in page.locator("#all-findings").inner_text().replace("rank 5", "Rank 5")


def test_congestion_as_shaded_table(open_page: Open) -> None:
    rows, tables = study_rows(), study_tables()
    page = open_page(page_of_one())
    table = page.locator("table.impact")
    heads = table.locator("thead th").all_inner_texts()
    assert heads == ["Victim", "Alone", "During alltoall", "During incast", "During broadcast"]
    shades = []
    for victim in ("latency", "bandwidth", "allreduce"):
        cells = table.locator("tr", has=page.get_by_text(victim, exact=True)).locator("td")
        alone, alone_p99 = (
            format_value(*value(rows, "congestion/ranks=8", f"{victim}_alone{rest}")) for rest in ("", "_p99")
        )
        assert cells.first.inner_text().split("\n") == [alone, f"P99 {alone_p99}"]
        for place, load in enumerate(("alltoall", "incast", "broadcast"), 1):
            mean, p99 = (
                cell(tables, "congestion/ranks=8", "impact", victim, load, of) for of in ("mean", "P99")
            )
            said = [f"{format_value(mean, '1')} ×", f"P99 {format_value(p99, '1')} ×"]
            assert cells.nth(place).inner_text().split("\n") == said
            colour = cells.nth(place).evaluate("(node) => getComputedStyle(node).backgroundColor")
            shades.append((mean, float(re.findall(r"[0-9.]+", colour)[-1])))
    shades.sort()
    assert shades[0][1] == 0 and all(low[1] <= high[1] for low, high in pairwise(shades))
    assert 0.3 < shades[-1][1] < 0.7
    beside = format_value(*value(rows, "congestion/ranks=8", "latency_incast"))
    assert f"median during it {beside}; " in (table.locator("td").nth(2).get_attribute("title") or "")
    finding = page.locator("#all-findings li", has=page.get_by_text("an allreduce takes 14.0 times as long"))
    assert "They share no node with the congesting ranks" in finding.inner_text()


def test_slow_ranks_and_links_and_quantities(open_page: Open) -> None:
    rows = study_rows()
    page = open_page(page_of_one())
    section = page.locator("#pairs")
    sick = section.get_by_role("region", name="Slow ranks and links").locator("tbody tr")
    assert [line.locator("td").all_inner_texts() for line in sick.all()] == [
        ["link 2-6", "bandwidth", "1.80", "99.9 %", "6 of 6"],
        ["rank 5", "bandwidth", "1.30", "99.5 %", "6 of 6"],
    ]
    text = section.get_by_role("region", name="Quantities").inner_text()
    for case, metric in (
        ("bisection/ranks=8", "random_bandwidth_min"),
        ("streaming/ranks=8", "total_bandwidth"),
    ):
        assert f"{metric.replace('_', ' ')}\t{format_value(*value(rows, case, metric))}" in text


def test_notes_stand_below_their_case() -> None:
    rows = [replace(row, notes={"library": "<b>BLAS</b>"}) for row in study_rows()]
    page = render([study_run()], [row for row in rows if row.benchmark == "ring"])
    assert page.count("library: &lt;b&gt;BLAS&lt;/b&gt;") == 1 and "library" not in page_of_one()


def test_findings_lead_to_the_sections(open_page: Open) -> None:
    page = open_page(page_of_one())
    finding = page.locator("#all-findings li", has=page.get_by_text("points to the NIC of the nodes"))
    finding.get_by_role("link", name="Dense communication").click()
    expect(page.locator("#dense")).to_be_in_viewport()


def test_several_runs_have_the_colours_of_runs(open_page: Open) -> None:
    page = open_page(page_of_two())
    for caption in (
        "b_eff: bandwidth per process",
        "Availability for computation, send against message size",
    ):
        colours = {(name.split(" ")[0], line["ink"]) for name, line in lines(page, caption).items()}
        assert len(colours) == 2
    maps = figure(page, "Latency between all pairs of ranks")
    names = ["hermes · Open MPI 4.1.4", "zeus · Open MPI 4.1.4"]
    assert maps.locator("option").all_inner_texts() == [*names, "all, side by side"]
    before = maps.evaluate("({ id }) => kiviat.cellLines(id, 0, 1)")
    maps.locator("select").select_option(index=0)
    assert maps.evaluate("({ id }) => kiviat.cellLines(id, 0, 1)") != before


def test_names_in_tables_are_inert(open_page: Open) -> None:
    hostile = "</script><img src=x onerror='window.hacked = 1'>"
    axes = (("pattern", (hostile, "worst order")), ("bytes", ("8", "64")), ("method", (hostile,)))
    links = (("link", (f"{hostile} latency",)), ("quantity", ("factor", "confidence")))
    tables = [
        table_row("run-a", launch, case, table)
        for launch in range(5)
        for case, table in (
            ("b_eff/ranks=8", Table("bandwidth", "B/s", "higher", axes, (1e6, 2e6, 3e6, 4e6))),
            ("sick_links/ranks=8", Table("slow_links", "1", "lower", links, (2.0, 0.999))),
        )
    ]
    page = open_page(render([study_run()], study_rows(), grids(tables)))
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert "link </script><img" in page.locator("#pairs").inner_text()
    assert any(hostile in curve["name"] for curve in plotted(page, "b_eff: bandwidth per process"))


def test_a_matrix_of_many_ranks_stays_small() -> None:
    names = tuple(map(str, range(600)))
    values = tuple(
        None if a == b else 1e-6 * (1 + math.sin(a * b) ** 2) for a in range(600) for b in range(600)
    )
    table = Table("latency", "s", "lower", (("rank", names), ("partner", names)), values)
    row = table_row("run-a", 0, "all_pairs/ranks=600", table, ranks=600)
    run = study_run(
        launch={
            "world": 600,
            "ranks": [{"rank": r, "host": "n", "node": r // 50, "pid": r, "cpus": "0"} for r in range(600)],
        }
    )
    html = render([run], study_rows(), grids([row]))
    assert len(html) < 6_000_000
    data = html.split('id="kiviat-data">')[1].split("</script>")[0]
    (cells,) = next(figure for name, figure in json.loads(data)["figures"].items() if "all-pairs" in name)[
        "panels"
    ]
    assert len(cells["labels"]) <= 192
    (lines_of_nodes,) = re.findall('<path class="boundary rule fine" d="([^"]*)"', html)
    assert lines_of_nodes.count("M0 ") == 11
