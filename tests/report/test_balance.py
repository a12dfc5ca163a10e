"""The balance page in a real browser: its pictures show the computed numbers."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.hpcc.balance import AXES, Balance, balance
from kiviat.analysis.hpcc.quantities import measured_system, published_systems
from kiviat.report.balance.page import diagram, render_balance

from .charts import figure, plotted
from .conftest import Open
from .hpcc import hpcc_rows, hpcc_run, hpcc_run_json


def made(**changes: Any) -> tuple[Balance, str]:
    """Balance and page of two measured runs (run-b lacks PTRANS), a simulated run and published systems."""
    machine = hpcc_run_json()["machine"]
    runs = {
        "run-a": hpcc_run("run-a"),
        "run-b": hpcc_run("run-b", machine={**machine, "name": "zeus"}),
        "sim": hpcc_run(
            "sim",
            16,
            8,
            substrate="simulated",
            clock="simulated",
            launches=1,
            machine={**machine, "name": "model"},
        ),
    }
    simulated: dict[str, Any] = {"launches": 1, "substrate": "simulated", "clock": "simulated"}
    rows = {
        "run-a": hpcc_rows(),
        "run-b": hpcc_rows("run-b", scale={"hpl.rate": 2.0, "fft.rate": 3.0}, without=("ptrans",)),
        "sim": [
            *hpcc_rows("sim", **simulated),
            *hpcc_rows("sim", ranks=16, scale={"hpl.rate": 5.0, "ring.random_latency": 0.5}, **simulated),
        ],
    }
    systems = [measured_system(runs[run], run, summarise(rows[run]), rows[run]) for run in runs]
    result = balance([*systems, *published_systems()], **changes)
    return result, render_balance(result, runs)


@cache
def everything() -> tuple[Balance, str]:
    return made(small="keep", few_nodes="keep")


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+)[ ,]([\d.]+)", text)]


def share_at(point: tuple[float, float], place: int) -> float:
    """Return a vertex's relative distance from the centre; assert that it is on the axis of that place."""
    x, y = point[0] - 290, 262 - point[1]
    angle = 2 * math.pi * place / len(AXES)
    assert x * math.cos(angle) - y * math.sin(angle) == pytest.approx(0, abs=0.02)
    return (x * math.sin(angle) + y * math.cos(angle)) / 172


def test_vertices_are_the_numbers(open_page: Open) -> None:
    result, html = everything()
    page = open_page(html)
    for line, system in enumerate(result.systems):
        group = page.locator(f"#kiviat-picture [data-system='{line}']")
        shares = [result.share(line, column) for column in range(len(AXES))]
        marks = group.locator(".mark").evaluate_all(
            "(nodes) => nodes.map((node) => [node.dataset.axis, node.getAttribute('transform')])"
        )
        assert [axis for axis, _ in marks] == [
            axis.id for axis, share in zip(AXES, shares, strict=True) if share is not None
        ]
        known = [column for column, share in enumerate(shares) if share is not None]
        for column, (_, place) in zip(known, marks, strict=True):
            assert share_at(points(place)[0], column) == pytest.approx(shares[column], abs=1e-4), system.name
        polygon = group.locator("polygon.area")
        if None in shares:
            assert polygon.count() == 0
        else:
            corners = points(polygon.get_attribute("points") or "")
            assert [share_at(corner, place) for place, corner in enumerate(corners)] == pytest.approx(
                shares, abs=1e-4
            )


def test_the_diagram_is_read_with_the_arrow_keys(open_page: Open) -> None:
    _, html = everything()
    page = open_page(html)
    picture, tip = page.locator("#kiviat-picture"), page.locator(".tip")
    picture.press("ArrowRight")
    expect(tip).to_be_visible()
    first = tip.inner_text()
    spoken = page.locator(".spoken[role=status]").last  # always there, else screen readers miss changes
    assert spoken.text_content() == tip.text_content()
    picture.press("ArrowRight")
    assert tip.inner_text() not in ("", first)
    picture.press("ArrowLeft")
    assert tip.inner_text() == first
    picture.press("Escape")
    expect(tip).to_be_hidden()


def test_the_first_system_is_drawn_above_all_others() -> None:
    _, page = made()
    picture = page[page.index('id="kiviat-picture"') :].partition("</svg>")[0]
    drawn = [int(number) for number in re.findall(r'data-system="(\d+)"', picture)]
    assert len(drawn) > 3 and drawn == sorted(drawn, reverse=True)


def test_a_missing_axis_is_a_gap(open_page: Open) -> None:
    """No edge leads to the PTRANS axis or through the centre."""
    result, html = everything()
    page = open_page(html)
    (line,) = (place for place, system in enumerate(result.systems) if system.id == "run-b")
    group = page.locator(f"#kiviat-picture [data-system='{line}']")
    edges = re.findall(r"M([\d.,]+)L([\d.,]+)", group.locator(".edge").get_attribute("d") or "")
    assert len(edges) == len(AXES) - 2
    for edge in edges:
        for end in edge:
            x, y = map(float, end.split(","))
            assert abs(x - 290) + abs(y - 262) > 0.1
    assert group.locator("[data-axis=ptrans]").count() == 0


def test_the_lines_have_the_same_shares(open_page: Open) -> None:
    result, html = everything()
    page = open_page(html)
    for line in range(len(result.systems)):
        found = page.locator(f"#lines-picture [data-system='{line}'] .mark").evaluate_all(
            "(nodes) => nodes.map((node) => node.getAttribute('transform'))"
        )
        known = [share for column in range(len(AXES)) if (share := result.share(line, column)) is not None]
        assert [(points(place)[0][0] - 20) / 540 for place in found] == pytest.approx(known, abs=1e-4)


def test_the_table_beside_it_has_the_same_numbers(open_page: Open) -> None:
    page = open_page(everything()[1])
    cells = page.locator("table.axes tr", has_text="STREAM copy / HPL").locator("td").all_inner_texts()
    assert cells[0].startswith("0.400 B/flop") and "0.138 of the largest" in cells[0]
    assert cells[2].startswith("0.320 B/flop")  # 16 × 4 GB/s over 200 Gflop/s
    assert any(text.startswith("> 0.360 B/flop") for text in cells)
    assert any(text.startswith("0.840 B/flop to 1.07 B/flop") for text in cells)
    assert cells[-1] == "2.89 B/flop"
    ptrans = page.locator("table.axes tr", has_text="PTRANS / HPL").locator("td").all_inner_texts()
    assert ptrans[1].startswith("unavailable") and "ptrans was not run" in ptrans[1]
    assert not any(re.match(r"0(\.0*)? ", text) for text in ptrans)


def test_predictions_and_publications_are_told_from_measurements(open_page: Open) -> None:
    result, html = everything()
    page = open_page(html)
    for line, system in enumerate(result.systems):
        group = page.locator(f"#kiviat-picture [data-system='{line}']")
        dashes = group.locator(".edge").evaluate_all(
            "(nodes) => nodes.map((node) => node.getAttribute('stroke-dasharray'))"
        )
        expected = {"measured": None, "predicted": "1.5 5", "published": "8 5"}[system.origin]
        assert set(dashes) <= {expected}
        ink = group.evaluate("(node) => node.style.getPropertyValue('--swatch')")
        assert ("simulated" in ink) == (system.origin == "predicted")
        tip = group.locator(".mark").first.get_attribute("data-tip") or ""
        assert ("not measured" in tip) == (system.origin != "measured")
    shapes = page.locator("#kiviat-picture .system").evaluate_all(
        "(nodes) => nodes.map((node) => node.querySelector('.mark').getAttribute('d'))"
    )
    assert len(set(shapes)) == len(result.systems)  # marker shapes identify systems without colour


def test_the_mark_below_the_pointer_is_explained(open_page: Open) -> None:
    page = open_page(everything()[1])
    page.locator("#kiviat-picture [data-system='0'] [data-axis=stream]").hover(force=True)
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    assert (
        "STREAM copy / HPL" in tip.inner_text() and "0.400 B/flop, 0.138 of the largest" in tip.inner_text()
    )
    page.locator("h1").hover()
    expect(tip).to_be_hidden()


def test_the_legend_hides_a_system(open_page: Open) -> None:
    page = open_page(everything()[1])
    system = page.locator("#kiviat-picture [data-system='1']")
    page.locator("#kiviat .legend button").nth(1).click()
    expect(system).to_be_hidden()
    expect(page.locator("#lines-picture [data-system='1']")).to_be_visible()
    page.locator("#kiviat .legend button").nth(1).click()
    expect(system).to_be_visible()


def test_the_picture_can_be_read_aloud_and_printed(open_page: Open) -> None:
    page = open_page(everything()[1], theme="dark")
    picture = page.get_by_role("application", name="Kiviat diagram")
    words = picture.locator("desc").text_content() or ""
    assert "run-a, measured: HPL 0.00458" in words and "sim, predicted:" in words
    levels = page.locator("h1, h2, h3").evaluate_all(
        "(nodes) => nodes.map((node) => Number(node.tagName[1]))"
    )
    assert levels.count(1) == 1 and all(after - before <= 1 for before, after in pairwise(levels))
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_figures_against_hpl_and_the_roofline(open_page: Open) -> None:
    page = open_page(everything()[1])
    found = {curve["name"]: curve for curve in plotted(page, "STREAM copy over HPL against HPL")}
    assert found["sim"]["x"] == pytest.approx([40e9, 200e9])
    assert found["sim"]["y"] == pytest.approx([0.4, 0.32])
    assert found["sim"]["dash"] and not found["run-a"]["dash"]
    ring = {curve["name"]: curve for curve in plotted(page, "Random ring bandwidth over HPL against HPL")}
    assert ring["run-a"]["y"] == pytest.approx([50])  # B/kflop


def test_what_limits_and_the_evidence(open_page: Open) -> None:
    """run-a reaches 40 of 50 Gflop/s in HPL; what limits PTRANS in run-b is unknown, as it was not run."""
    page = open_page(everything()[1])
    told = page.locator("#limits .limit")
    assert "The processor limits this machine most" in told.nth(0).locator("h3").inner_text()
    first = told.nth(0).locator("tr.limiting").first.locator("td, th").all_inner_texts()
    assert first == [
        "HPL",
        "40.0 Gflop/s",
        "the processor",
        "50.0 Gflop/s",
        "80 %",
        "star DGEMM of all processes",
    ]
    assert "PTRANS: cannot tell; ptrans was not run." in told.nth(1).inner_text()


def test_strings_from_records_are_inert(open_page: Open) -> None:
    hostile = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'"
    run = hpcc_run(machine={**hpcc_run_json()["machine"], "name": hostile})
    rows = hpcc_rows()
    system = measured_system(run, hostile, summarise(rows), rows)
    result = balance([system])
    page: Page = open_page(render_balance(result, {"run-a": run}))
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert hostile in page.locator(".sentences").inner_text()


def test_predicted_kernels_below_a_roof_look_predicted(open_page: Open) -> None:
    """They once looked like measured ones, and their readouts did not say that a model predicts them."""
    page = open_page(everything()[1])
    caption = "Roofline: flop/s against flops per byte of memory traffic"
    for label, predicted in (("sim", True), ("run-a", False)):
        figure(page, caption).locator("select").select_option(label=label)
        kernels = [curve for curve in plotted(page, caption) if curve["markers"]]
        assert len(kernels) == 5
        assert {curve["hollow"] for curve in kernels} == {predicted}
        told = [said for curve in kernels for said in curve["says"]]
        assert {"predicted by a model, not measured" in said for said in told} == {predicted}


def test_charts_of_predictions_alone_are_marked_simulated() -> None:
    simulated: dict[str, Any] = {"launches": 1, "substrate": "simulated", "clock": "simulated"}
    run, rows = hpcc_run("sim", **simulated), hpcc_rows("sim", **simulated)
    result = balance([measured_system(run, "sim", summarise(rows), rows), *published_systems()])
    mark = '<span class="small simulated">simulated</span>'
    assert mark in render_balance(result, {"sim": run})
    assert mark not in everything()[1]


def test_a_diagram_in_a_dark_notebook_has_a_light_ground(open_page: Open) -> None:
    page = open_page(diagram(everything()[0], {}), theme="dark")
    ground = page.locator("svg.kiviat").evaluate(
        "(svg) => getComputedStyle(svg.parentElement).backgroundColor"
    )
    assert ground == "rgb(253, 253, 251)"
