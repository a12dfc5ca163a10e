"""Simulated runs on the page: predicted, never measured, and without warnings about single launches."""

from __future__ import annotations

import jsonschema
import pytest
from playwright.sync_api import expect

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.findings.all import findings
from kiviat.analysis.published.standing import AXES, Reference, Value
from kiviat.record import Row, schema
from kiviat.record.published import Paper
from kiviat.record.run import Run
from kiviat.record.validated import ComparedModel, ComparedRow, simulator_hash
from kiviat.report.facts.runs import badges
from kiviat.report.html.symbols import STROKES
from kiviat.report.run.front import verdict
from kiviat.report.run.page import render
from kiviat.report.study.effective_bandwidth import Line, beside
from kiviat.report.table import Cell

from .charts import data, inked, plotted
from .conftest import VIEWS, Open, photograph
from .modelled import ONCE, SIMULATED, simulated_run, simulated_run_json
from .synthetic import make_rows, make_run, row
from .test_render import SIZES, words


def rows(run: str = "sim", speed: float = 1.0) -> list[Row]:
    found = make_rows(run, sizes=SIZES, launches=1, speed=speed, **{**ONCE, "stopped_by": "fixed"})
    for size in (1, 1024):
        found.append(
            row(run, "b_eff_per_process", "B/s", "higher", 1e8 * size, case="b_eff/ranks=8", ranks=8,
                benchmark="b_eff", bytes=None, **ONCE)
        )  # fmt: skip
    return found


def test_made_up_runs_are_runs() -> None:
    jsonschema.validate(simulated_run_json(), schema("run"))


def test_nothing_is_wrong_with_one_launch() -> None:
    """The page once complained that a deterministic simulation lacks launches, intervals and convergence."""
    text = words(render([simulated_run()], rows()))
    for complaint in (
        "Fewer than", "no interval below", "target precision", "target not reached",
        "95 %", "1 launch", "Ranks were not at", "unavailable", "Stability", "Fell back",
    ):  # fmt: skip
        assert complaint not in text, complaint
    assert "measured" not in text.replace("not measured", "").replace("nothing was measured", "").replace(
        "it was not measured", ""
    )
    assert "Predicted latency" in text and "predicted by a model" in text


def test_the_model_is_named_with_version_hash_losses_and_network() -> None:
    page = render(
        [simulated_run(losses=["Messages take one way."], uncalibrated="nobody published one")], rows()
    )
    text = words(page)
    for said in (
        "catapult, version 3, a1b2c3d4e5f6", "Messages take one way.", "X-001, X-002", "memory.passes",
        "Uncalibrated network", "Its network is uncalibrated: nobody published one",
        "Kautz digraph of 12 nodes", "36 arcs of one direction",
    ):  # fmt: skip
        assert said in text, said
    assert page.count('<circle class="node"') == 12
    calibrated = words(render([simulated_run()], rows()))
    assert "ncalibrated" not in calibrated and "What the model cannot express" not in calibrated


def test_a_network_that_this_version_cannot_draw_hides_no_results() -> None:
    page = render([simulated_run(topology={"kind": "slingshot", "parameters": {}})], rows())
    assert "slingshot of 12 nodes; no picture: topology is" in words(page)
    assert '<circle class="node"' not in page


def known(monkeypatch: pytest.MonkeyPatch, *errors: float) -> str:
    """Store these b_eff errors as the made-up model's known errors, and return the model's hash."""
    hashed: str = simulated_run_json()["machine"]["model"]["hash"]
    compared = [
        ComparedRow(
            *("X-9", "value", "b_eff", "b_eff", 8, None, f"quantity {place}", "B/s", 1.0, 1.0, error, None)
        )
        for place, error in enumerate(errors)
    ]
    stored = {
        "catapult": ComparedModel("catapult", 3, hashed, "2026-01-01", tuple(compared), simulator_hash())
    }
    monkeypatch.setattr("kiviat.analysis.aggregate.known_errors.compared_models", lambda: stored)
    return hashed


def test_a_prediction_stands_beside_the_known_error_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, 0.12, 0.31, 0.05)
    text = words(render([simulated_run()], rows())).replace("\N{NO-BREAK SPACE}", " ")
    assert "model’s error: +12 % on 3 published values, worst +31 %" in text
    assert "model’s error: unknown: no published value of that kind" in text  # for ping-pong
    assert (
        "Known error median ±12 % on 3 published values, worst +31 % (docs/reference/validation.md)" in text
    )
    # in the facts of the modelled machine
    assert "b_eff +12 % on 3 published values, worst +31 % (docs/reference/validation.md)" in text
    text = words(render([simulated_run(hash="b" * 64)], rows()))
    assert "unknown: not validated since the model changed" in text and "+12" not in text


def test_an_uncalibrated_network_is_not_called_untested_where_rows_test_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page once said that no published result validates the model of the Cray X1, but eight rows did."""

    def told(**changes: str) -> str:
        return next(
            one.meaning
            for one in badges(simulated_run(uncalibrated="nobody published one", **changes))
            if one.text == "Uncalibrated network"
        )

    assert told() == "No published result of this network calibrated or validated the model."
    known(monkeypatch, 0.12, 0.31, 0.05)
    assert told().startswith("No published result calibrated it; its known error is stated above.")
    assert "not validated since the model changed" in told(hash="b" * 64)


def test_a_prediction_is_not_judged_by_less_than_its_models_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring predicted five times too fast was once "good: 2 times as good as" a published machine."""
    ring = next(axis for axis in AXES if axis.id == "ring")
    paper = Paper("p", ("A",), "T", ())
    beside_it = [Reference(name, "", paper, {"ring": Value(v, "")}) for name, v in (("a", 1e8), ("b", 2e8))]
    hashed: str = simulated_run_json()["machine"]["model"]["hash"]

    def told(error: float, value: float) -> bool:
        row_of = ComparedRow(
            *("X-9", "value", "ring", "random_bandwidth", 8, None, "q", "B/s", 1.0, 1.0, error, None)
        )
        stored = {"catapult": ComparedModel("catapult", 3, hashed, "2026-01-01", (row_of,))}
        monkeypatch.setattr("kiviat.analysis.aggregate.known_errors.compared_models", lambda: stored)
        return verdict(simulated_run(), ring, {"ring": Value(value, "")}, beside_it) is not None

    assert told(0.1, 4e8) and told(4.0, 20e8)
    assert not told(4.0, 4e8)


def test_findings_say_what_a_prediction_rests_on() -> None:
    run = simulated_run(losses=["one", "Two of them"], uncalibrated="nobody published one")
    told = {finding.kind: finding for finding in findings(summarise(rows()), [run])}
    assert (
        told["simulated"].headline == "Predicted by a model, not measured: Catapult, a cluster that never was"
    )
    assert told["simulated"].detail.startswith(
        "Calibration: network uncalibrated; 2 published values. 1 number assumed. Its known errors: "
    )
    assert told["uncalibrated"].severity == "warning"
    assert told["uncalibrated"].detail.startswith("Nobody published one. ")
    assert "omits 2 effects" in told["model-losses"].headline
    assert told["model-losses"].detail == "One. Two of them."
    assert told["headline"].headline.startswith("Predicted latency")
    measured = findings(summarise(make_rows(sizes=SIZES)), [make_run()])
    assert not {"simulated", "uncalibrated", "model-losses"} & {finding.kind for finding in measured}


def test_beside_a_measured_run_only_that_has_intervals_transport_and_stability() -> None:
    page = render([make_run(), simulated_run()], [*make_rows(sizes=SIZES), *rows()])
    text = words(page)
    assert "Simulated runs have no transport" in text and "Simulated runs are deterministic" in text
    assert "Dotted violet curves are predicted by a model." in text
    figures = data(page)["figures"]
    lines = [line for panel in figures["fig-launches"]["panels"] for line in panel["lines"]]
    assert {line["name"] for line in lines} == {"hermes · Open MPI 4.1.4"}
    curves = list(inked(page))
    of_model = [curve for curve in curves if "catapult" in curve[0]]
    assert of_model and all(palette == "simulated" for _, palette, _ in of_model)
    assert {dashes for _, _, dashes in of_model} <= {STROKES["dot"], None}
    others = [curve for curve in curves if "catapult" not in curve[0]]
    assert others and all(
        palette != "simulated" and dashes != STROKES["dot"] for _, palette, dashes in others
    )


def test_predictions_stand_below_what_was_published_of_the_same_machine_and_processes() -> None:
    def line(name: str, processes: int, run: int | None = None) -> Line:
        return Line(name, "", run, "published" if run is None else "simulated", processes, (Cell("1"),))

    published = [line("Altix", 256), line("Altix", 512), line("X1 SSP", 256)]
    mine = [line("sim", 256, 0), line("sim", 128, 0), line("other", 256, 1)]
    found = beside(published, mine, {0: ["Altix"], 1: ["X1 MSP"]})
    assert [(each.name, each.processes) for each in found] == [
        ("Altix", 256), ("sim", 256), ("Altix", 512), ("X1 SSP", 256),
    ]  # fmt: skip


def test_the_table_of_published_machines_marks_predictions() -> None:
    run = simulated_run(published=[{"machine": "Cray Opteron cluster", "mode": ""}])
    page = render([run], rows())
    assert page.count('<tr class="ours simulated">') == 2
    after = page[page.index("As published, not measured here") :]
    above = after[: after.index('<tr class="ours simulated">')]
    assert above.rindex("Cray Opteron cluster") > above.rindex("Dell PowerEdge")


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_every_width_and_theme(open_page: Open, width: int, theme: str) -> None:
    runs = [
        make_run(),
        simulated_run(losses=["Messages take one way."], uncalibrated="nobody published one"),
        simulated_run("tree", name="tree", nodes=128, hash="f" * 64, topology={
            "kind": "fat-tree", "parameters": {"down": [16, 8], "up": [1, 8], "cables": [1, 2], "planes": [1]}
        }),
    ]  # fmt: skip
    page = open_page(render(runs, [*make_rows(sizes=SIZES), *rows(), *rows("tree", 2.0)]), width, theme)
    photograph(page, f"simulated-{width}-{theme}")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    pictures = page.locator("svg.topology")
    expect(pictures).to_have_count(2)
    for place in range(2):
        box = pictures.nth(place).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 50
    node = page.locator(".topology .node").first
    assert node.evaluate("(shape) => getComputedStyle(shape).fill") == {
        "light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"
    }[theme]  # fmt: skip


def test_points_and_tables_say_that_they_are_predicted(open_page: Open) -> None:
    page = open_page(render([simulated_run()], rows()))
    curve, *_ = plotted(page, "pingpong: time and bandwidth against message size")
    assert all("predicted by a model, not measured" in lines for lines in curve["says"])
    assert not any("launch" in line or "interval" in line for lines in curve["says"] for line in lines)
    assert curve["dash"] and curve["hollow"]
    page.locator("#cases summary").first.click()
    heads = page.locator("#cases thead").first.locator("th")
    expect(heads).to_have_text(["Case", "Metric", "Predicted", "Remarks"])
    assert page.locator("#cases tbody tr").first.locator("td").last.text_content() == "simulated"


def test_many_launches_of_a_simulation_are_told_once() -> None:
    run = simulated_run_json(launches=12)
    for launch in run["launches"]:
        launch["command"] = ["smpirun", "-hostfile", f"/runs/r/launches/{launch['index']}/hosts"]
    text = words(render([Run.from_json(run)], rows()))
    assert "Launches 0–11" in text and "/runs/r/launches/N/hosts" in text


def test_old_simulated_runs_without_a_model_are_shown() -> None:
    page = render([make_run("sim", **SIMULATED)], rows())
    assert "Predicted latency" in words(page) and 'class="topology"' not in page
