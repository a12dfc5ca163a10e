"""Charts: their axes, the names and styles of their curves, and how they are drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from kiviat.analysis.published.study import Cell, TableLine
from kiviat.record.run import Run
from kiviat.record.studies import StudyColumn, StudyTable
from kiviat.report.facts.runs import labels
from kiviat.report.html.axis import axis_of, plain, short_value
from kiviat.report.html.chart import DrawnPanel, drawn_panels
from kiviat.report.html.figure import Cells, Figure, HeatMap, Line, Panel
from kiviat.report.html.heat_map import drawn_maps
from kiviat.report.html.scale import Scale, decimal_ticks, linear_ticks, span, together, value_ticks
from kiviat.report.html.symbols import outline, slot
from kiviat.report.run.page import render
from kiviat.report.study.bars import bars_of
from kiviat.report.study.diagram import shapes_of

from .charts import data, inked
from .synthetic import make_rows, make_run, make_run_json, row

SIZES = [8, 1024, 65536]


def chart(html: str, title: str) -> Any:
    """The data of the chart with that title."""
    for id_, rest in re.findall(r'<figure id="([^"]+)"[^>]*>(.*?)</figure>', html, re.DOTALL):
        if f"<span>{title}</span>" in rest:
            return data(html)["figures"][id_]
    raise AssertionError(f"no chart {title!r}")


def run_on(nodes: list[int], **changes: Any) -> Run:
    """A run whose ranks are on these nodes."""
    ranks = [
        {"rank": rank, "host": f"n{node}", "node": node, "pid": 1 + rank, "cpus": str(rank)}
        for rank, node in enumerate(nodes)
    ]
    return make_run(changes.pop("id", "run-a"), launch={"world": len(nodes), "ranks": ranks}, **changes)


def test_bandwidth_of_sendrecv_against_ranks() -> None:
    """Sendrecv has a chart against the number of ranks; once only collectives had one."""
    rows = [
        row("run-a", metric, unit, better, value / ranks, launch=launch, benchmark="sendrecv",
            case=f"sendrecv/ranks={ranks}/bytes={size}", ranks=ranks, bytes=size)
        for ranks in (2, 4, 8) for size in SIZES for launch in range(6)
        for metric, unit, better, value in (("time", "s", "lower", 1e-6), ("bandwidth", "B/s", "higher", 1e9))
    ]  # fmt: skip
    found = chart(render([make_run()], rows), "sendrecv: time and bandwidth against number of ranks")
    assert [panel["quantity"] for panel in found["panels"]] == ["time", "bandwidth"]
    assert [panel["unit"] for panel in found["panels"]] == ["s", "B/s"]
    assert [trace["name"] for trace in found["panels"][1]["traces"]] == ["8 B", "1 KiB", "64 KiB"]
    assert all(len(trace["at"]) == 3 for panel in found["panels"] for trace in panel["traces"])


def test_studies_against_processes_and_lengths() -> None:
    rows = [
        *(
            row("run-a", metric, "B/s", "higher", 1e9 / ranks, launch=launch, benchmark="b_eff",
                case=f"b_eff/ranks={ranks}", ranks=ranks, bytes=None)
            for ranks in (2, 4, 8) for launch in range(6) for metric in ("b_eff", "b_eff_per_process")
        ),
        *(
            row("run-a", "pair_bandwidth", "B/s", "higher", 1e9, launch=launch, benchmark="streaming",
                case=f"streaming/ranks=2/long={long}", ranks=2, bytes=None, axes={"long": long})
            for long in (1024, 65536, 1 << 20) for launch in range(6)
        ),
    ]  # fmt: skip
    html = render([make_run()], rows)
    assert [len(trace["at"]) for trace in chart(html, _B_EFF)["panels"][0]["traces"]] == [3]
    length = chart(html, "streaming: pair bandwidth against length of the long messages")
    assert sorted(length["x"]["at"].values()) == [1024, 65536, 1 << 20]
    assert ">64 KiB</text>" in html


_B_EFF = "b_eff: b_eff per process and b_eff against number of ranks"


def test_distances_are_on_node_or_off_node() -> None:
    rows = [
        row("run-a", "time", "s", "lower", 1e-6 * distance, launch=launch, bytes=size,
            case=f"pingpong/distance={distance}/bytes={size}", axes={"distance": distance})
        for distance in (1, 2) for size in SIZES for launch in range(6)
    ]  # fmt: skip
    found = chart(render([run_on([0, 0, 1, 1])], rows), "pingpong: time against message size")
    assert {trace["name"] for trace in found["panels"][0]["traces"]} == {"on node", "off node"}


def test_runs_are_named_by_what_differs() -> None:
    names = [one.label for one in labels([run_on([0, 0, 1, 1]), run_on([0, 1, 2, 3], id="run-b")])]
    assert names == ["2x2", "4x1"]
    near = [one.label for one in labels([run_on([0, 0]), run_on([0, 1], id="run-b")])]
    assert near == ["on node, 2 ranks", "2x1"]
    later = replace(make_run("run-b"), created="2026-02-03T04:05:06Z")
    dates = [one.label for one in labels([make_run(), later])]
    assert dates[1] == "hermes · Open MPI 4.1.4 · 2026-02-03 04:05"


def test_eight_simulated_machines_are_told_apart() -> None:
    """Eight simulated machines have eight colours and markers; the fifth once had the colour of the first."""
    simulated: dict[str, Any] = {"substrate": "simulated", "clock": "simulated"}
    machine = make_run_json()["machine"]
    names = [f"m{number}" for number in range(8)]
    runs = [make_run(name, machine={**machine, "name": name}, launches=1, **simulated) for name in names]
    rows = [one for name in names for one in make_rows(name, sizes=SIZES, launches=1, **simulated)]
    html = render(runs, rows)
    section = html.partition('<section id="collective">')[2]
    swatch = r'--ink:var\(--(simulated-\d)\)"><path class="line"[^>]*><path class="marks hollow" d="([^"]*)"'
    entries = re.findall(swatch, section)
    assert len(set(entries[:8])) == 8
    assert len({ink for ink, _ in entries[:8]}) == 8 and len({shape for _, shape in entries[:8]}) == 8
    assert {palette for _, palette, _ in inked(html)} == {"simulated"}


def test_launches_have_the_range_of_their_samples() -> None:
    rows = make_rows(sizes=SIZES)
    figure = data(render([make_run()], rows))["figures"]["fig-launches"]
    assert len(figure["panels"]) > 1
    (line,) = next(panel for panel in figure["panels"] if panel["quantity"] == "Latency, 8 B")["lines"]
    own = [one for one in rows if (one.case, one.metric) == ("pingpong/ranks=2/bytes=8", "time")]
    assert line["points"] == [[one.launch, one.p50] for one in own]
    ends = [[one.min, one.max if one.p99 is None else one.p99] for one in own]
    assert line["band"] == [None if None in pair else pair for pair in ends] and any(line["band"])


def test_a_page_of_one_case_is_small() -> None:
    rows = [row("run-a", "time", "s", "lower", 1.5e-6, launch=launch) for launch in range(6)]
    assert len(render([make_run()], rows).encode()) <= 300_000


def test_bars_stand_on_zero_side_by_side() -> None:
    bars = tuple(
        Line(name, "bars", ("categorical", number, 2), number, ((0.0, value), (1.0, 2 * value)))
        for number, (name, value) in enumerate((("16x1", 1.0), ("8x2", 0.5)))
    )
    figure = Figure("x", "study", "t", "", "program", "1", False, "", (Panel("", (), bars),), ("bt", "cg"))
    (panel,) = drawn_panels(figure, ())
    shapes = re.findall(r'class="column" d="([^"]*)"', panel.svg)
    corners = [
        [tuple(map(float, re.findall(r"-?[0-9.]+", bar))) for bar in shape.split("z")[:-1]]
        for shape in shapes
    ]
    scale: Any = panel.scales["y"]
    low, high, log, start, end = scale
    assert not log and low == 0
    for own, factor in zip(corners, (1.0, 0.5), strict=True):
        heights = [low + (high - low) * (top - start) / (end - start) for _, _, top, _, _ in own]
        assert heights == pytest.approx([factor, 2 * factor], abs=0.01)
        assert all(bottom == start == foot for _, bottom, _, _, foot in own)
    for first, second in zip(*corners, strict=True):
        assert first[3] < second[0]  # the bars do not overlap
    assert ">bt</text>" in panel.svg and ">cg</text>" in panel.svg


def test_scales_and_ticks() -> None:
    assert span([10.0, 1000.0], log=True) == pytest.approx((0.92, 3.08))
    assert span([50.0, 150.0], log=False, zero=True) == (0.0, 157.5)
    assert span([-15000.0, 20.0], log=False, zero=True)[0] == -100.0
    scale = Scale(0.0, 3.0, True, 100.0, 400.0)
    assert [scale.at(value) for value in (1, 10, 1000, 0)] == pytest.approx([100, 200, 400, 69.9], abs=0.01)
    assert [value for value, _ in decimal_ticks(scale, 7, plain)] == [1, 3, 10, 30, 100, 300, 1000]
    assert [value for value, _ in decimal_ticks(scale, 4, plain)] == [1, 10, 100, 1000]
    assert [value for value, _ in linear_ticks(0.0, 1.05, 6, plain)] == pytest.approx(
        [0, 0.2, 0.4, 0.6, 0.8, 1]
    )
    assert [value for value, _ in value_ticks({1, 2, 3, 4, 8, 1000}, scale, 4, plain)] == [1000, 8, 1]
    assert together([(0.0, 1.0), (0.2, 1.3)]) == (0.0, 1.3)
    assert together([(0.0, 1.0), (3.0, 4.0)]) is None  # a shared scale would make both illegible


@pytest.mark.parametrize("ends", [(1e-3, 1.004e-3), (100, 100.4), (0.98, 1.02), (-5e-9, 5e-9), (9.99e8, 1e9)])
def test_labels_tell_ticks_of_nearly_equal_values_apart(ends: tuple[float, float]) -> None:
    ticks = linear_ticks(*span(ends, log=False), 6, plain)
    assert [float(label.replace(",", "")) for _, label in ticks] == pytest.approx([at for at, _ in ticks])
    assert len({short_value(at, "s", 4) for at, _ in linear_ticks(*span(ends, log=False), 6, plain)}) == len(
        ticks
    )


def test_a_curve_with_a_value_of_0_has_a_linear_scale() -> None:
    """A logarithmic scale once drew -20 ns just below its lower end, as if it were positive."""
    for lowest, logarithmic in ((20e-9, True), (0.0, False), (-20e-9, False)):
        points = ((1.0, lowest), (2.0, 200e-9), (4.0, 600e-9))
        panel = Panel("", (), (Line("a", "lines+markers", ("base", 0, 1), 0, points),))
        (found,) = drawn_panels(Figure("f", "s", "t", "", "bytes", "s", True, "", (panel,)), ())
        scale: Any = found.scales["y"]
        assert bool(scale[2]) is logarithmic


def test_axes_say_values_in_words() -> None:
    assert axis_of("bytes").tick(0.5) == "0 B" and axis_of("bytes").where(2048) == "2 KiB"
    assert axis_of("ranks").where(1) == "1 rank" and axis_of("ranks").tick(1024) == "1,024"
    assert axis_of("phase").where(3) == "phase 3" and axis_of("window").where(64) == "window 64"
    assert axis_of("window").where(1024) == "window 1,024"  # it was once rounded to three digits
    assert (
        axis_of("hpl").where(2e9) == "HPL of 2.00 Gflop/s"
        and axis_of("intensity").where(0.5) == "0.500 flop/B"
    )


def test_colours_of_maps_are_logarithmic_and_few_cells_have_values() -> None:
    values = (None, 1e-6, 1e-5, 1e-4, None, 1e-6, 1e-6, 1e-6, None)
    cells = Cells("", ("0", "1", "2"), values, None, None, (1.0,), None)
    svg = drawn_maps(HeatMap("x", "pairs", "t", "", "s", "lower", "", (cells,)))[0].svg
    assert '<path class="level-7" d="M2 0h1v1h-1z"/>' in svg  # 1e-5 is the middle of the range
    assert "M0 2h2v1h-2z" in svg  # equal neighbours are merged
    assert svg.count('class="cell ') == 6 and ">10.0<" in svg
    assert "1.00 µs</text>" in svg and "10.0 µs</text>" in svg and "100 µs</text>" in svg
    higher = drawn_maps(HeatMap("x", "pairs", "t", "", "s", "higher", "", (cells,)))[0].svg
    assert '<path class="level-0" d="M0 1h1v1h-1z"/>' in higher


def test_programs_in_arrangements_are_bars() -> None:
    """Bar charts of papers are shown as bar charts; they were once tables only."""
    table = StudyTable(
        "2",
        "t",
        (StudyColumn("16x1", arrangement="16x1"), StudyColumn("8x2", arrangement="8x2")),
        programs=("bt", "cg"),
    )
    lines = [
        TableLine(0, "BT", (Cell(2.0, "op/s"), Cell(1.0, "op/s"))),
        TableLine(0, "CG", (Cell(4.0, "op/s"), Cell(None))),
    ]
    (figure,) = bars_of(table, lines, labels([make_run()]))
    assert figure and figure.categories == ("BT", "CG") and figure.conditions == "over 16x1"
    assert [line.points for line in figure.panels[0].lines] == [((0.0, 1.0), (1.0, 1.0)), ((0.0, 0.5),)]
    assert bars_of(table, [], labels([make_run()])) == []


def panel_of(*lines: Line, x: str = "bytes", unit: str = "s") -> DrawnPanel:
    """The panel of a chart of these lines."""
    figure = Figure("f", "s", "t", "", x, unit, True, "", (Panel("", (), lines),))
    (found,) = drawn_panels(figure, ())
    return found


def test_a_band_has_gaps_and_a_lone_interval_a_bar() -> None:
    """A band once covered points without intervals, and a single interval was not drawn at all."""
    points = tuple((float(1 << place), 1e-6) for place in range(6))
    band = (None, (0.9e-6, 1.1e-6), None, (0.9e-6, 1.1e-6), (0.9e-6, 1.2e-6), None)
    svg = panel_of(Line("a", "lines+markers", ("categorical", 0, 1), 0, points, band=band)).svg
    (area,) = re.findall(r'class="band"[^>]* d="([^"]*)"', svg)
    assert area.count("M") == 1 and area.count("L") == 3  # of two points, there and back
    (bars,) = re.findall(r'class="bar" d="([^"]*)"', svg)
    assert bars.count("V") == 1
    two = panel_of(Line("a", "lines+markers", ("categorical", 0, 1), 0, points[:2], band=band[:2])).svg
    assert 'class="bar"' in two and 'class="band"' not in two


def test_launches_of_several_runs_do_not_reach_those_beside() -> None:
    """Runs were once eight pixels apart even where launches were closer."""

    def lines(runs: int, launches: int) -> list[Line]:
        points = tuple((float(launch), 1e-6) for launch in range(launches))
        return [Line(str(run), "markers", ("categorical", run, runs), run, points) for run in range(runs)]

    close = panel_of(*lines(8, 60), x="launch")
    marks = re.findall(r'class="(?:dots|marks)"[^>]* d="([^"]*)"', close.svg)
    first, last = ([float(x) for x in re.findall(r"M([\d.]+) ", path)] for path in (marks[0], marks[-1]))
    assert len(first) == len(last) == 60
    assert all(here < beside for here, beside in zip(last, first[1:], strict=False))
    assert panel_of(*lines(2, 3), x="launch").scales["shift"] == 8.0
    assert "shift" not in panel_of(*lines(2, 3)).scales


def test_nothing_is_drawn_far_outside_of_its_frame() -> None:
    """A share of -15,000 % was once drawn hundreds of pixels below its chart, over what stood there."""
    points = ((1.0, 20.0), (2.0, -15000.0))
    panel = panel_of(Line("a", "lines+markers", ("categorical", 0, 1), 0, points), unit="%")
    scale: Any = panel.scales["y"]
    paths = re.findall(r'class="(?:line|dots)"[^>]* d="([^"]*)"', panel.svg)
    heights = [float(y) for path in paths for y in re.findall(r"[ML][\d.]+ (-?[\d.]+)", path)]
    assert len(heights) == 4
    assert max(heights) == scale[3] + 4 and min(heights) >= scale[4] - 4


def test_colours_and_symbols_tell_many_runs_apart() -> None:
    """The ninth run once had both the colour and the symbol of the first."""
    assert len({(slot("categorical", run), outline(run, 3.0)) for run in range(64)}) == 64
    ninth = Line("a", "markers", ("categorical", 8, 9), 8, ((1.0, 1e-6), (2.0, 1e-6)))
    assert 'class="marks"' in panel_of(ninth).svg


def test_the_diagram_of_a_study_does_not_call_reported_values_measured() -> None:
    run = make_run(substrate="ingested", clock="reported", plan=None)
    table = StudyTable("1", "t", tuple(StudyColumn(name) for name in "abc"), diagram=True)
    line = TableLine(0, "", (Cell(1.0, "s"), Cell(2.0, "s"), Cell(3.0, "s")))
    (shape,) = shapes_of(table, [line], labels([run]))
    assert shape.origin == "reported"
