"""The text of report pages for different runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from kiviat.analysis.aggregate.summary import studies, summarise
from kiviat.record import Row, schema
from kiviat.record.run import Run
from kiviat.record.traits import earlier_traits
from kiviat.report.facts.runs import labels
from kiviat.report.html.panels import MAX_TRACES
from kiviat.report.html.shell import embedded
from kiviat.report.run.figures import figures
from kiviat.report.run.page import render

from .charts import data, inked
from .hpcc import hpcc_rows, hpcc_run
from .synthetic import failed, make_rows, make_run, make_run_json, many_rows, row

SIZES = [0, 8, 1024, 65536]


def words(html: str) -> str:
    """The text of the page without its scripts, styles and tags."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_synthetic_runs_are_runs() -> None:
    jsonschema.validate(make_run_json(), schema("run"))


def test_no_runs() -> None:
    assert "There are no runs to report" in words(render([], []))


def test_run_without_launches_or_results() -> None:
    run = make_run(state="running", finished=None, launches=0)
    text = words(render([run], []))
    assert "This run is running; cases are missing" in text
    assert "No case gave a result" in text


def test_all_failed() -> None:
    rows = [
        failed("run-a", "pingpong/ranks=2/bytes=8", "rank 1 died of signal 9", launch=launch)
        for launch in range(3)
    ]
    text = words(render([make_run()], rows))
    assert "rank 1 died of signal 9" in text
    assert "No case gave a result" in text


def test_a_single_case_of_a_single_launch() -> None:
    page = render([make_run(launches=1)], [row("run-a", "time", "s", "lower", 1.5e-6)])
    assert "1.50 µs" in words(page) and "no interval below 5 launches" in words(page)
    assert data(page)["table"]["median"] == [1.5e-6]


def test_unavailable_is_never_zero() -> None:
    rows = [
        row(
            "run-a",
            "time",
            "s",
            "lower",
            1.5e-6,
            launch=launch,
            ci_low=None,
            ci_high=None,
            min=None,
            mean=None,
        )
        for launch in range(6)
    ]
    table = data(render([make_run()], rows))["table"]
    assert table["minimum"] == [None] and table["p99"] == [None]


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"launch": {"embedded": True}}, "Embedded MPI, not for publication"),
        ({"launch": {"oversubscribed": True}}, "Oversubscribed"),
        ({"state": "interrupted"}, "This run is interrupted; cases are missing"),
        ({"substrate": "emulated"}, "Emulated network"),
        ({"substrate": "simulated", "clock": "simulated"}, "Simulated"),
        ({"substrate": "ingested", "clock": "reported", "plan": None, "launches": 0}, "As reported"),
        (
            {
                "launch": {
                    "transport": {"near": None, "far": "tcp", "fallback_to_tcp": True, "evidence": "log"}
                }
            },
            "MPI fell back to TCP",
        ),
    ],
)
def test_what_a_reader_must_know_first(changes: dict[str, Any], warning: str) -> None:
    run = make_run(**changes)
    rows = make_rows(sizes=SIZES, substrate=run.substrate, clock=run.clock)
    text = words(render([run], rows))
    assert warning in text
    assert warning not in words(render([make_run()], make_rows(sizes=SIZES)))


def test_on_one_node_no_rank_is_far() -> None:
    """A single-node run has no far transport; the page once called it "unavailable"."""
    unknown = {"near": "vader", "far": None, "fallback_to_tcp": False, "evidence": "log"}
    ranks = make_run_json()["launches"][0]["ranks"]
    alone = words(render([make_run(launch={"transport": unknown, "ranks": ranks[:2]})], []))
    apart = words(render([make_run(launch={"transport": unknown})], []))
    assert "vader none: one node" in alone and "vader unavailable" in apart


def test_simulated_times_are_never_called_measured() -> None:
    simulated = make_run("sim", substrate="simulated", clock="simulated")
    rows = [*make_rows(sizes=SIZES), *make_rows("sim", sizes=SIZES, substrate="simulated", clock="simulated")]
    page = render([make_run(), simulated], rows)
    curves = list(inked(page))
    assert len(curves) > 10
    for name, palette, _ in curves:
        assert ("(simulated)" in name) == (palette == "simulated")
    assert '<td class="simulated"' in page


def test_the_front_page_shows_where_the_machine_stands() -> None:
    """The front page has the diagram, references with their sources, a verdict, and findings with curves."""
    page = render([make_run()], make_rows())
    text = words(page)
    assert 'class="balance kiviat"' in page and 'class="sketch"' in page
    assert "Cirrus" in text and "github.com/hpc-uk/archer-benchmarks" in text
    assert "poor: 1.87 times slower than Cirrus" in text
    assert "Gaps were not measured: Latency, far" in text
    assert "Of the published machines Athena, Cirrus and ARCHER are nearest" in text
    assert "1 ranks" not in text and "Cases without a result" not in text
    kinds = [block.split('"')[0] for block in page.split('<li class="finding ')[1:]]
    assert kinds.index("warning") > kinds.index("info")


def test_two_quantities_stand_beside_published_machines_without_a_diagram() -> None:
    """A ping-pong log has too few axes for a diagram, and once was not compared with any machine."""
    page = render([make_run()], [row for row in make_rows() if row.benchmark == "pingpong"])
    assert 'class="standing"' in page and 'class="balance kiviat"' not in page
    assert "are nearest; nothing is far from all of them." in words(page)
    assert "each ring is a factor" not in words(page) and "Gaps were not" not in words(page)
    rate = [row for row in make_rows() if row.benchmark == "uniband"]
    assert 'class="standing"' not in render([make_run()], rate)  # no published machine has this quantity


def test_switches_are_drawn_on_the_curves() -> None:
    html = render([make_run()], make_rows())
    name, chart = next(entry for entry in data(html)["figures"].items() if "pingpong" in entry[0])
    assert [panel["unit"] for panel in chart["panels"]] == ["s", "B/s"]
    drawn = html.partition(f'<figure id="{name}"')[2].partition("</figure>")[0].split('class="panel"')[1:]
    for picture, panel in zip(drawn, chart["panels"], strict=True):
        (at,) = re.findall(r'<g class="mark (?:eager|switch)"><path d="M([0-9.]+) ', picture)
        low, high, _, start, end = panel["x"]
        assert 8192 < 10 ** (low + (high - low) * (float(at) - start) / (end - start)) < 16384
        assert [line["name"] for line in panel["lines"]] == ["fitted lines"] * 2


def test_a_bad_fit_is_not_shown_silently() -> None:
    rows = [
        row("run-a", "time", "s", "lower", time, launch=launch, bytes=size, case=f"pingpong/bytes={size}")
        for size, time in ((8, 1e-6), (1024, 5e-6), (4096, 2e-6), (65536, 9e-5))
        for launch in range(6)
    ]
    page = render([make_run()], rows)
    assert "Poor fit." in words(page)
    assert "% off)" in page


def test_each_summary_is_in_the_page_once() -> None:
    rows = [*make_rows(sizes=SIZES), *make_rows("run-b", sizes=SIZES, seed=2)]
    table = data(render([make_run(), make_run("run-b")], rows))["table"]
    found = {
        (run, table["cases"][case], *table["metrics"][metric]): value
        for run, case, metric, value in zip(
            table["run"], table["case"], table["metric"], table["median"], strict=True
        )
    }
    runs = ["run-a", "run-b"]
    wanted = {
        (runs.index(each.run), each.case, each.metric, each.unit): each.median for each in summarise(rows)
    }
    assert found == pytest.approx(wanted, rel=1e-4)


def test_no_panel_holds_more_curves_than_can_be_told_apart() -> None:
    rows = [
        *make_rows(sizes=SIZES, ranks=[2 << power for power in range(10)], launches=1),
        *(
            row("run-a", "time", "s", "lower", 1e-6, case=f"p/{distance}/{buffer}/{size}", bytes=size,
                axes={"distance": distance, "buffer": buffer})
            for distance in range(1, 20) for buffer in ("alloc", "ordinary") for size in (1, 2)
        ),
    ]  # fmt: skip
    drawn = figures(summarise(rows), labels([make_run()]), earlier_traits())
    assert all(len(panel.traces) <= MAX_TRACES for figure in drawn for panel in figure.panels)
    assert len({figure.id for figure in drawn}) == len(drawn)
    (distances,) = (
        figure for figure in drawn if figure.title == "pingpong: time and bandwidth against message size"
    )
    shown = {place for panel in distances.panels for trace in panel.traces for place in trace.at}
    assert len(shown) == 4 + 3 + 19 * 2 * 2  # times, bandwidths (none for 0 B), distances


def test_equal_runs_are_told_apart() -> None:
    names = [label.label for label in labels([make_run(), make_run("run-b")])]
    assert names == ["hermes · Open MPI 4.1.4 · run-a", "hermes · Open MPI 4.1.4 · run-b"]
    placed = [make_run(f"run-{how}", where={"place": how, "bind": None}) for how in ("cyclic", "blocked")]
    names = [label.label for label in labels([*placed, make_run("run-c")])]
    assert names == [f"hermes · Open MPI 4.1.4{rest}" for rest in (" · cyclic", " · blocked", "")]
    names = [label.label for label in labels([*placed, replace(placed[0], id="run-c")])]
    assert names == [f"hermes · Open MPI 4.1.4 · run-{end}" for end in ("cyclic", "blocked", "c")]
    assert [label.label for label in labels(placed)] == ["cyclic", "blocked"]


def test_what_several_runs_share_stands_once() -> None:
    """For seven placements the page once printed the machine's facts seven times, and a warning six times."""
    runs = [make_run(f"run-{how}", where={"place": how, "bind": None}) for how in ("cyclic", "blocked")]
    runs = [replace(run, launches=tuple(replace(one, embedded=True) for one in run.launches)) for run in runs]
    text = words(render(runs, [one for run in runs for one in make_rows(run.id, sizes=SIZES)]))
    head, _, _ = text.partition("Where they stand")
    assert head.count("Open MPI 4.1.4") == 1 and head.count("Embedded MPI, not for publication.") == 1
    findings_ = text[text.index("Main findings") : text.index("Point to point Curves")]
    assert findings_.count("Warning all runs Embedded Open MPI: not for publication") == 1


def test_a_finding_shows_a_curve_of_its_own_run() -> None:
    own = [make_rows(sizes=SIZES), make_rows("run-b", sizes=SIZES, speed=0.5, seed=2)]
    runs = [make_run(), make_run("run-b")]
    pages = [
        render(runs, [*own[0], *own[1]]),
        *(render([run], rows) for run, rows in zip(runs, own, strict=True)),
    ]
    both, first, second = (set(re.findall(r"[^\"<>]*; marked: [^\"<>]*", page)) for page in pages)
    assert both <= first | second and both & first - second and both & second - first


def test_kernels_have_a_section() -> None:
    text = words(render([hpcc_run()], hpcc_rows()))
    section = text[text.index("Kernels of HPC Challenge") : text.index("Effective bandwidth")]
    assert all(f" {name} 4 ranks" in section for name in ("dgemm", "fft", "hpl", "ptrans", "stream"))


def test_launches_that_differ_are_told_apart() -> None:
    run = make_run_json(launches=5)
    run["launches"][3]["command"] = ["mpiexec", "--bind-to", "core", "-n", "4", "kiviat-bench"]
    text = words(render([Run.from_json(run)], []))
    assert "Launches 0–2, 4" in text and "Launch 3 " in text


def test_a_command_that_is_typed_again_is_one_command() -> None:
    """The command quotes values and omits invalid variable names, which might inject shell commands."""
    environment = {"OMP_NUM_THREADS": "1; touch INJECTED", "A=1; touch INJECTED; B": "2"}
    text = words(render([make_run(launch={"environment": environment})], []))
    assert "OMP_NUM_THREADS=&#39;1; touch INJECTED&#39; mpiexec" in text and text.count("INJECTED") == 1


def test_placement_is_told_with_what_was_observed_instead() -> None:
    placement = {"policy": "cyclic", "binding": "core", "nodes": [0, 1, 0, 1], "differences": None}
    assert "Placement cyclic, bound as core " in words(
        render([make_run(launch={"placement": placement})], [])
    )
    differing = {**placement, "differences": ["ranks 0 and 1 share a node"]}
    text = words(render([make_run(launch={"placement": differing})], []))
    assert "cyclic, bound as core; but ranks 0 and 1 share a node" in text
    assert "Ranks were not at their requested places in 6 of 6 launches" in text


def test_what_is_not_finite_is_null() -> None:
    """A median of 0 once made rates infinite, and `kiviat report` failed with "unexpected ValueError"."""
    assert embedded({"a": [float("inf"), float("nan"), 1.5]}) == '{"a":[null,null,1.5]}'


def test_data_cannot_end_its_script() -> None:
    text = embedded({"</script><!--": "\u2028&<script>"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script><!--": "\u2028&<script>"}


@pytest.mark.full
def test_a_hundred_thousand_records_stay_small() -> None:
    page = render([make_run(launches=10)], many_rows(100_000))
    assert len(page.encode()) <= 8_000_000
    assert "time_rank_mean, time_rank_min, time_compute, time_overlapped are in the records only" in words(
        page
    )
    assert len(data(page)["table"]["cases"]) == 10_000
    assert '<section id="collective">' in page


def _sections_of(rows: list[Row]) -> dict[str, list[str]]:
    table = summarise(rows)
    traits = earlier_traits()
    found: dict[str, list[str]] = {}
    for figure in figures(table, labels([make_run()]), traits, without=studies(table, traits)):
        found.setdefault(figure.section, []).append(figure.id)
    return found


def test_benchmarks_stand_where_they_say_and_not_where_their_metrics_hint() -> None:
    """Simulated and `--pallas2` collectives have no per-rank times, and once had no chart against ranks."""
    rows = [
        row("run-a", "time", "s", "lower", 1e-6 * ranks, benchmark="allreduce", bytes=size, ranks=ranks)
        for ranks in (2, 4, 8)
        for size in (8, 1024)
    ]
    rows = [replace(one, case=f"allreduce/ranks={one.ranks}/bytes={one.bytes}") for one in rows]
    of_program = [
        replace(row("run-a", metric, unit, "higher", 2.0 * ranks, benchmark="cg", bytes=None), ranks=ranks)
        for metric, unit in (("rate", "op/s"), ("time", "s"), ("deviation", "1"))
        for ranks in (1, 2, 4)
    ]
    of_program = [replace(one, case=f"cg/ranks={one.ranks}") for one in of_program]
    found = _sections_of(rows + of_program)
    assert list(found) == ["collective"]
    assert [name.rsplit("-", 1)[1] for name in found["collective"]] == ["bytes", "ranks"]


def test_what_was_disturbed_comes_before_all_other_findings() -> None:
    page = render([make_run()], make_rows(disturbed="other programs used 1.90 of 2 processors"))
    (shown,) = re.findall(
        r'<ol class="(?:top|all)">(.*?)</ol>', page, re.S
    )  # few enough that all are on the front page
    headlines = re.findall(r"<h3[^>]*>(.*?)</h3>", shown, re.S)
    assert "The machine was not idle" in headlines[0] and len(headlines) > 1
    assert "The machine was not idle" not in render([make_run()], make_rows())


def test_a_point_alone_is_a_number() -> None:
    one = row("run-a", "time", "s", "lower", 1e-6, benchmark="barrier", bytes=None, case="barrier/ranks=2")
    assert _sections_of([one]) == {}
    page = render([make_run()], [one])
    assert "barrier: time</h3>" in page and 'data-figure="fig-1' not in page


def test_a_finding_about_an_axis_has_no_picture() -> None:
    """The page of one size at three distances could not be written."""
    rows = [
        row("run-a", "time", "s", "lower", 1e-6 * distance, case=f"pingpong/distance={distance}", bytes=8,
            axes={"distance": distance})
        for distance in (2, 4, 8)
    ]  # fmt: skip
    assert "Too few launches" in words(render([make_run()], rows))


def test_programs_of_others_have_a_section_of_their_own() -> None:
    about: dict[str, Any] = {"substrate": "ingested", "clock": "reported", "plan": None, "launches": 0}
    rows = [
        row(
            "run-a",
            "rate",
            "flop/s",
            "higher",
            1e12,
            case="hpcg",
            benchmark="hpcg",
            bytes=None,
            clock="reported",
        )
    ]
    page = render([make_run(**about)], rows)
    assert 'id="others"' in page and 'id="pt2pt"' not in page and 'id="kernels"' not in page
    assert ">Ingested<" in page and ">Measured<" not in page


def of_messages(run: str = "run-a", **changes: Any) -> list[Row]:
    """Rows to which LogGP can be fitted."""
    return [one for one in make_rows(run, **changes) if one.benchmark in ("pingpong", "uniband")]


def test_reported_values_are_not_called_measured() -> None:
    """The diagram and the LogGP chart of logs that were read once called their values measured."""
    about: dict[str, Any] = {"substrate": "ingested", "clock": "reported"}
    names = ("run-a", "run-b")
    rows = [one for name in names for one in of_messages(name, launches=1, **about)]
    page = render([make_run(name, plan=None, **about) for name in names], rows)
    assert "pingpong: reported (points) and fitted (lines)" in page
    assert ", reported: " in page and ", measured: " not in page
    assert "Values as another program reported them." in page and "Medians over launches" not in page
    assert "to measure this again" not in page


def test_points_of_the_loggp_chart_have_their_intervals() -> None:
    html = render([make_run(), make_run("run-b")], [*of_messages(), *of_messages("run-b", seed=2)])
    lines = data(html)["figures"]["fig-loggp"]["panels"][0]["lines"]
    bounded = [line for line in lines if "band" in line]
    assert len(bounded) == 2 and {line["meaning"] for line in bounded} == {"95 %"}
    for line in bounded:
        for (_, value), (low, high) in zip(line["points"], line["band"], strict=True):
            assert low <= value <= high


def test_the_option_that_gives_stream_more_memory_is_set_as_code() -> None:
    numbers = {"array_bytes": 1 << 20, "cache_bytes": 32 << 20}
    kernels = [replace(one, numbers=numbers) if one.benchmark == "stream" else one for one in hpcc_rows()]
    page = render([hpcc_run()], [*kernels, *make_rows(sizes=SIZES)])
    assert "give it more (<code>--memory</code>)" in page
