"""Studies: figures and tables from results, and verdicts on a paper's claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.published.forms import FORMS
from kiviat.analysis.published.question import Case, Point, Quantity, all_rows
from kiviat.analysis.published.sources import COUNTERS, MachineResults
from kiviat.analysis.published.study import (
    JudgedRow,
    Summed,
    drawn,
    paper_order,
    part_name,
    reasons,
    summed,
    table_lines,
    verdicts,
)
from kiviat.analysis.scaling.series import Selection, Source, scaling
from kiviat.cli.subcommands.study_docs import write_section
from kiviat.launch.substrates.simulated import described_machine
from kiviat.machine.modelled.machine import find_machine
from kiviat.record import InputError, data_path
from kiviat.record.published import Claim, papers
from kiviat.record.run import DeclaredWatts, Launch, Model, Rank, Run
from kiviat.record.studies import (
    StudyColumn,
    StudyCurve,
    StudyDefinition,
    StudyFigure,
    StudyTable,
    find_study,
    read_study,
    study_files,
)
from kiviat.record.traits import earlier_traits
from kiviat.report.facts.runs import labels as run_labels
from kiviat.report.study.paper_page import render_study
from kiviat.report.study.platforms import platforms
from tests.profiler.made_up import halo_profile
from tests.report.hpcc import hpcc_rows, hpcc_run
from tests.report.modelled import ONCE, model, simulated_run
from tests.report.synthetic import failed, make_run, row

ALTIX, DELL = "SGI Altix 3700 BX2", "Dell PowerEdge 1850 (Tungsten 2)"
STUDY = StudyDefinition("P3", "Interconnects", "", "fatoohi-saini-ciotti", ())


def machine(published: str, rows: Sequence[Any], name: str = "", **changes: Any) -> MachineResults:
    called = name or published.split(maxsplit=1)[0].lower()
    known = Model.from_json(model(called, published=[{"machine": published, "mode": ""}], **changes))
    run = simulated_run(called)
    run = replace(run, machine=replace(run.machine, model=known))
    return results(run, rows)


def results(run: Run, rows: Sequence[Any], label: str = "") -> MachineResults:
    own = [replace(one, run=run.id) for one in rows]
    traits = earlier_traits()
    return MachineResults(label or run.id, (run,), summarise(own), [], own, traits, {run.id: "part"})


def bandwidths(values: dict[int, float], name: str = "pingpong") -> list[Any]:
    return [
        row(
            "x",
            "bandwidth",
            "B/s",
            "higher",
            value,
            benchmark=name,
            bytes=size,
            **case(name, 2, size),
        )
        for size, value in values.items()
    ]


def case(benchmark: str, ranks: int, size: int | None = None) -> dict[str, Any]:
    end = "" if size is None else f"/bytes={size}"
    return {**ONCE, "case": f"{benchmark}/ranks={ranks}{end}", "ranks": ranks}


def times(name: str, values: dict[int, float]) -> list[Any]:
    return [
        row("x", "time", "s", "lower", value, benchmark=name, bytes=None, **case(name, ranks))
        for ranks, value in values.items()
    ]


def verdicts_on(judged: Sequence[JudgedRow], name: str) -> list[JudgedRow]:
    return [one for one in judged if one.verdict.row.id == name]


def test_a_number_is_compared_and_a_fitted_row_is_no_evidence() -> None:
    """The rows are about b_eff's ping-pong, whose messages come from memory, not from the cache."""
    from_memory = [replace(one, axes={"cache": "off"}) for one in bandwidths({1 << 20: 1069e6})]
    altix = machine(ALTIX, from_memory, calibrated_on=["F1-007"])
    (one,) = verdicts_on(verdicts(STUDY, [altix]), "F1-007")
    assert one.verdict.error == pytest.approx(0) and one.fitted
    (other,) = verdicts_on(verdicts(STUDY, [altix]), "F1-001")
    assert other.verdict.words == "it takes 256 ranks, and the results reach 2 ranks"
    assert summed([one, other]).errors == ()


def test_a_sentence_that_a_model_was_fitted_to_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only numbers that a model was fitted to were left out: bounds and orderings counted as holding."""
    dell = machine(DELL, times("barrier", {64: 70e-6}), calibrated_on=["F2-047"])
    altix = machine(ALTIX, times("barrier", {64: 10e-6}))
    (one,) = verdicts_on(verdicts(STUDY, [dell, altix]), "F2-047")
    assert one.fitted and one.verdict.holds
    total = summed([one])
    assert (total.held, total.judged, total.failing) == (0, 0, ())
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "docs/reference/studies.md"
    page.parent.mkdir(parents=True)
    page.touch()
    for fitted, holding in ((True, ""), (False, "F2-047")):
        write_section(STUDY, [dell, altix], [replace(one, fitted=fitted)], "kiviat study P3")
        assert f"| – | other sentences |  | {holding} |  |  |\n" in page.read_text(encoding="utf-8")


def test_a_tenth_is_not_within_a_factor_of_two() -> None:
    """Errors of up to ±100 % once counted as within a factor of two, even -94 %."""
    total = Summed((-0.94, 0.99, -0.5, -0.51, 1.01, 0.05), 0, 0, (), ())
    assert total.words.startswith("6 compared: 1 within 10 %, 1 within 25 %, 3 within a factor of 2; median")
    assert total.median == pytest.approx(0.725)


def test_a_sentence_about_two_machines_takes_results_of_both() -> None:
    dell = machine(DELL, times("barrier", {64: 70e-6}))
    altix = machine(ALTIX, times("barrier", {64: 10e-6}))
    (one,) = verdicts_on(verdicts(STUDY, [dell, altix]), "F2-047")
    assert (one.verdict.answer, one.verdict.holds) == (pytest.approx(7), True)
    assert one.verdict.predicted
    known = replace(STUDY, causes={"F2-047": "no barriers in hardware"})
    (met,) = verdicts_on(verdicts(known, [dell, altix]), "F2-047")
    slow = machine(DELL, times("barrier", {64: 20e-6}))
    (missed,) = verdicts_on(verdicts(known, [slow, altix]), "F2-047")
    assert (met.cause, missed.cause) == ("", "no barriers in hardware")
    assert "Cause: no barriers in hardware" in render_study(known, [slow, altix], [missed])
    (alone,) = verdicts_on(verdicts(STUDY, [altix]), "F2-047")
    assert alone.verdict.words == f"no results of {DELL}"


def test_sentences_are_put_to_machines_that_the_paper_does_not_know() -> None:
    """Claims of a paper can be tested on machines that it does not contain.

    H-057 says of five machines that Sendrecv is best on two processes.
    """
    here = make_run("here")
    about: dict[str, Any] = {"benchmark": "sendrecv", "bytes": 1 << 20}
    rows = [
        row("x", "bandwidth", "B/s", "higher", value, **about, case=f"sendrecv/{n}", ranks=n, launch=launch)
        for n, value in ((2, 9e9), (4, 5e9), (8, 3e9))
        for launch in range(5)
    ]
    study = replace(STUDY, paper="saini-ciotti-gunney")
    foreign = [one for one in verdicts_on(verdicts(study, [results(here, rows)]), "H-057") if one.foreign]
    assert [one.verdict.holds for one in foreign] == [True]
    assert (summed(foreign).judged, summed(foreign).foreign) == (0, (1, 1))
    crowded = [replace(one, oversubscribed=one.ranks == 8) for one in rows]
    judged = verdicts_on(verdicts(study, [results(here, crowded)]), "H-057")
    assert not any(one.foreign for one in judged)


def test_every_row_of_the_paper_is_used_once_or_by_machine() -> None:
    for name, count in (("P1", 38), ("P2", 31), ("P3", 104), ("P4", 45)):
        study = find_study(name)
        judged = verdicts(study, [machine("Nobody's", bandwidths({8: 1e6}))])
        rows = {one.id for one in all_rows() if one.paper.name == study.paper}
        assert len(rows) == count  # numbers and sentences of the papers
        assert {one.verdict.row.id for one in judged} == rows
        assert all(one.verdict.words or one.verdict.answer is not None for one in judged)


def test_figures_have_a_curve_for_each_machine_and_size() -> None:
    rows = bandwidths({1024: 1e8, 1 << 20: 1e9})
    figure = StudyFigure("1", "t", "bytes", (StudyCurve("pingpong.bandwidth"),))
    curves = drawn(figure, [machine(ALTIX, rows), machine(DELL, rows)])
    assert [(one.machine, [x for x, *_ in one.points]) for one in curves] == [
        (0, [1024.0, float(1 << 20)]),
        (1, [1024.0, float(1 << 20)]),
    ]
    relative = drawn(replace(figure, over="first"), [machine(ALTIX, rows)])
    assert [value for _, value, _ in relative[0].points] == [1.0, 10.0]
    rates = [
        row("x", "rate", "flop/s", "higher", value, benchmark="hpccg", bytes=None, **case("hpccg", ranks))
        for ranks, value in ((1, 1e9), (4, 3e9))
    ]
    efficiency = StudyFigure("10", "t", "ranks", (StudyCurve("hpccg.rate"),), over="efficiency")
    ((one,),) = [drawn(efficiency, [machine(ALTIX, rates)])]
    assert [value for _, value, _ in one.points] == [100.0, 75.0]


def test_the_cost_of_an_oncoming_message_is_a_curve() -> None:
    """Figure 1 of P3 plots both directions and their ratio, which exists only at sizes that both have."""
    figure = next(one for one in find_study("P3").figures if one.number == "1")
    both = bandwidths({1024: 1e8, 1 << 20: 4e8, 1 << 22: 1e9}, "pingping")
    own = machine(ALTIX, bandwidths({1024: 1e8, 1 << 20: 1e9}) + both)
    own = replace(own, parts=dict.fromkeys(own.parts, "pairs"))
    *_, drop = drawn(figure, [own])
    assert (drop.label, drop.unit) == ("PingPing over PingPong", "1")
    assert [(x, value) for x, value, _ in drop.points] == [(1024, 1.0), (1 << 20, 0.4)]
    html = render_study(replace(STUDY, figures=(figure,)), [own], [])
    assert ">PingPing over PingPong</span>" in html  # a single curve has no legend


def grid(run: str, name: str, values: Any, **axes: tuple[str, ...]) -> Grid:
    about = run, "cg/ranks=4/class=B", "cg", 4, None, {"class": "B"}, "wall", False
    return Grid(*about, name, "1", "lower", tuple(axes.items()), 1, np.asarray(values), None, None)


def test_messages_between_ranks_are_a_map() -> None:
    """CG's matrix in P2 comes from the table of a simulated run, or from the profile of a real one."""
    figure = next(one for one in find_study("P2").figures if one.number == "CG")
    study = replace(STUDY, figures=(figure,))
    run, rates = make_run("x"), [row("x", "rate", "op/s", "higher", 1e9, benchmark="cg", **case("cg", 4))]
    own = replace(results(run, rates), parts={"x": "alone"})
    ranks = tuple("0123")
    sent = grid("x", "message_bytes", [np.eye(4)[::-1] * 5e6], kernel=("cg",), rank=ranks, partner=ranks)
    profile = halo_profile(side=2, per_node=2)
    for there in (replace(own, grids=[sent]), replace(own, profiles={("x", "cg"): profile})):
        html = render_study(study, [there], [])
        assert 'class="square"' in html and "cannot say" not in html
    assert 'class="square"' not in (html := render_study(study, [own], []))
    assert "cannot say: results of cg are on other ranks" in html


def test_each_machine_may_have_a_chart_of_its_own() -> None:
    """Figures 7 to 10 of P3 show one machine each; in one chart, twenty curves hid each other."""
    figure = StudyFigure("7-10", "t", "bytes", (StudyCurve("pingpong.bandwidth"),), apart=True)
    both = [machine(ALTIX, bandwidths({8: 1e6})), machine(DELL, bandwidths({8: 2e6}))]
    assert render_study(replace(STUDY, figures=(figure,)), both, []).count('class="curves"') == 2
    assert render_study(replace(STUDY, figures=(figure,)), both[:1], []).count('class="curves"') == 1


def test_ranks_at_a_distance_take_a_launch_that_reaches_them() -> None:
    """F2-038 is about ranks 256 apart: two ranks exchange messages in a larger launch."""
    far = [
        replace(one, axes={"distance": 256, "world": 512}) for one in bandwidths({1 << 20: 1e9, 2 << 20: 9e8})
    ]
    (one,) = verdicts_on(verdicts(STUDY, [machine(ALTIX, far)]), "F2-038")
    assert one.verdict.answer is not None
    (many,) = verdicts_on(verdicts(STUDY, [machine(ALTIX, far)]), "F1-001")
    assert many.verdict.words == "it takes 256 ranks, and the results reach 2 ranks"


def test_counters_of_processors_are_compared_where_they_exist() -> None:
    """Figures 5b and 6 of P2 show L2 misses and stalls."""
    table = next(one for one in find_study("P2").tables if one.number == "Figure 5b")
    columns = tuple(replace(one, arrangement="2x2", over="") for one in table.columns)
    table = replace(table, columns=columns, programs=("cg",))
    rates = [row("x", "rate", "op/s", "higher", 1e9, **{**case("cg", 4), "case": "cg/ranks=4/class=B"})]
    rates = [replace(one, benchmark="cg", bytes=None, axes={"class": "B"}) for one in rates]
    run = make_run("x", launches=1)
    of = tuple(Rank(rank, f"n{rank % 2}", rank % 2) for rank in range(4))
    own = results(replace(run, launches=(replace(run.launches[0], world=4, ranks=of),)), rates, "here")
    values = [[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]]
    of_counters = {"counter": ("cycles", "l2_misses"), "statistic": ("min", "mean", "max")}
    counted = grid("x", "counters", values, kernel=("cg",), **of_counters)
    (line,) = table_lines(table, [replace(own, grids=[counted])], STUDY)
    assert [cell.value for cell in line.cells] == [6.0, 6.0]
    assert table_lines(table, [own], STUDY) == []
    noted = [replace(one, notes={"counters": "unavailable: a virtual machine"}) for one in own.summaries]
    (why,) = reasons(STUDY, table, [replace(own, summaries=noted)], set())
    assert why == "here: cannot say: a virtual machine"
    (why,) = reasons(STUDY, table, [machine(DELL, rates, "dell")], set())
    assert why.endswith("cannot say: models have no hardware counters")
    # An arrangement of the study that is not in the table is no reason.
    summaries = [replace(one, oversubscribed=True) for one in own.summaries]
    crowded = replace(own, summaries=summaries, lacking={"four": "there is no room for 4x4"})
    (why,) = reasons(find_study("P2"), replace(table, measures="rate"), [crowded], set())
    assert why == "here: cannot say: ranks share cores, so their rates are meaningless"


def test_gears_is_judged_by_its_search() -> None:
    """P1 reports the search time of phdMesh; the rate of all phases made its efficiency look poor."""
    figures = [one for one in find_study("P1").figures if one.number in ("11", "12", "13", "14")]
    assert {curve.measures for figure in figures for curve in figure.curves} == {"gears.search_time"}
    (row,) = (one for one in all_rows() if one.id == "S-022")
    asked = {series.measures for claim in row.fact.claims for series in claim.series}
    assert asked == {"gears.search_time"}


def of_launches(ranks: int, *seconds: float) -> list[Any]:
    """Return rows of LAMMPS on a real machine, with one launch per time."""
    about: dict[str, Any] = {"benchmark": "lammps-rhodo", "bytes": None, "ranks": ranks}
    return [
        row("x", "time", "s", "lower", one, **about, case=f"lammps-rhodo/ranks={ranks}", launch=number)
        for number, one in enumerate(seconds)
    ]


@pytest.mark.parametrize(
    ("statistic", "over", "points"),
    [
        ("mean", "", [(1, 4.0, (2.0, 7.0)), (2, 2.0, (1.0, 3.0))]),
        ("minimum", "", [(1, 2.0, (2.0, 7.0)), (2, 1.0, (1.0, 3.0))]),
        ("maximum", "", [(1, 7.0, (2.0, 7.0)), (2, 3.0, (1.0, 3.0))]),
        ("mean", "first", [(1, 1.0, (0.5, 1.75)), (2, 0.5, (0.25, 0.75))]),
        ("", "", [(1, 3.0, None), (2, 2.0, None)]),
        ("", "first", [(1, 1.0, None), (2, pytest.approx(2 / 3), pytest.approx((1 / 7, 3 / 2)))]),
    ],
)
def test_launches_are_presented_as_in_the_paper(statistic: str, over: str, points: list[Any]) -> None:
    figure = StudyFigure(
        "1", "t", "ranks", (StudyCurve("lammps-rhodo.time"),), over, (statistic,) if statistic else ()
    )
    real = results(make_run("here"), [*of_launches(1, 3.0, 2.0, 7.0), *of_launches(2, 1.0, 3.0, 2.0)])
    (one,) = drawn(figure, [real], statistic)
    assert one.points == tuple(points)
    html = render_study(replace(STUDY, figures=(figure,)), [real], [])
    assert ("minimum to maximum of launches" in html) == bool(statistic)
    assert ("range of 3 and 3 launches" in html) == bool(over)  # the range of the ratio of medians
    assert (f"{statistic} of launches</button>" in html) == bool(statistic)
    assert ("median of launches</button>" in html) == bool(statistic)  # Kiviat's own, beside it


def barriers(**changes: Any) -> list[Any]:
    """Return measured barriers on 2 and 4 ranks, five launches each; `changes` are of those on 4."""
    return [
        row(
            "x",
            "time",
            "s",
            "lower",
            ranks * 1e-6 * (1 + launch / 100),
            **{"benchmark": "barrier", "bytes": None, "case": f"barrier/ranks={ranks}", "ranks": ranks},
            **{"launch": launch, **(changes if ranks == 4 else {})},
        )
        for ranks in (2, 4)
        for launch in range(5)
    ]


WHY = "other programs used 1.90 of 2 processors"


@pytest.mark.parametrize(
    ("changes", "marked"), [({"oversubscribed": True}, "oversubscribed"), ({"disturbed": WHY}, "disturbed")]
)
def test_values_without_a_verdict_are_marked_in_figures_and_tables(
    changes: dict[str, Any], marked: str
) -> None:
    here = results(make_run("here"), barriers(**changes))
    value = here.look(Quantity(Case("barrier", 4), "time"))
    assert (value.low, value.high) == (pytest.approx(4e-6), pytest.approx(4.16e-6))
    assert (value.oversubscribed, value.disturbed) == (marked == "oversubscribed", marked == "disturbed")
    curves = (StudyCurve("barrier.time"), StudyCurve("barrier.time", over="barrier.time"))
    figure = StudyFigure("4", "t", "ranks", curves)
    for one in drawn(figure, [here]):
        assert one.remarks == ("", marked)
    table = StudyTable("1", "t", (StudyColumn("barrier", "barrier.time"),))
    lines = table_lines(table, [here], STUDY)
    assert [line.cells[0].remarks for line in lines] == ["", marked]
    html = render_study(replace(STUDY, figures=(figure,), tables=(table,)), [here], [])
    assert html.count(f": {marked} at 4 ranks</p>") == 2
    assert html.count(f'<span class="below">{marked}</span>') == 1
    sound = results(make_run("here"), barriers())
    assert f"{marked} at" not in render_study(replace(STUDY, figures=(figure,)), [sound], [])


def test_values_without_a_verdict_have_no_error() -> None:
    """A value of shared cores is shown with the published one, but without the error against it."""
    about: dict[str, Any] = {"benchmark": "b_eff", "bytes": None, "ranks": 256, "case": "b_eff/ranks=256"}
    run = make_run("here")
    run = replace(run, machine=replace(run.machine, name=ALTIX))
    study = replace(STUDY, tables=(StudyTable("1", "t", (StudyColumn("b_eff", "b_eff.b_eff"),)),))
    for oversubscribed, below in ((False, "published 47.2 GB/s, -15 %"), (True, "published 47.2 GB/s")):
        rows = [row("x", "b_eff", "B/s", "higher", 40e9, **about, oversubscribed=oversubscribed)]
        assert f'<span class="below">{below}</span>' in render_study(study, [results(run, rows)], [])


def test_a_machine_has_the_badges_of_all_its_runs() -> None:
    """Only the first run's badges were once shown, so that oversubscribed arrangements looked sound."""
    first, second = make_run("here"), make_run("more", launch={"oversubscribed": True})
    rows = barriers()
    here = replace(results(first, rows), runs=(first, second))
    html = render_study(STUDY, [here], [])
    assert html.count("<b>Oversubscribed.</b>") == 1
    assert "<b>Oversubscribed.</b>" not in render_study(STUDY, [results(first, rows)], [])


def test_efficiency_is_that_of_kiviat_scaling() -> None:
    """Figures have the values and intervals of the scaling page."""
    about: dict[str, Any] = {"benchmark": "hpccg", "bytes": None, "axes": {"scaling": "weak"}}
    rows = [
        row("x", "rate", "flop/s", "higher", rate * (1 + launch / 50), **about, ranks=ranks, launch=launch)
        for ranks, rate in ((1, 1e9), (4, 3e9))
        for launch in range(5)
    ]
    rows = [replace(one, case=f"hpccg/ranks={one.ranks}") for one in rows]
    real = results(make_run("here"), rows)
    curve = StudyCurve("hpccg.rate", axes={"scaling": "weak"})
    (drawing,) = drawn(StudyFigure("1", "t", "ranks", (curve,), "efficiency"), [real])
    (study,) = scaling([Source("here", real.runs, real.rows)], Selection(("hpccg",))).studies
    last = study.curves[0].points[-1].efficiency
    x, value, band = drawing.points[-1]
    assert (x, value, drawing.meaning) == (4.0, pytest.approx(100 * last.value), "95 %")
    assert last.bounds and band == pytest.approx(tuple(100 * one for one in last.bounds))


def test_a_simulation_has_one_presentation() -> None:
    figure = StudyFigure("1", "t", "ranks", (StudyCurve("hpccg.time"),), "", ("mean", "minimum"))
    html = render_study(
        replace(STUDY, figures=(figure,)), [machine(SC072, programs(4.0, 8, 64), "sc072")], []
    )
    assert 'class="curve"' in html and "mean of launches" not in html


def test_tables_show_published_values_next_to_ours() -> None:
    rows = [row("x", "b_eff", "B/s", "higher", 40e9, benchmark="b_eff", bytes=None, **case("b_eff", 256))]
    table = StudyTable("1", "t", (StudyColumn("b_eff", "b_eff.b_eff"),))
    lines = table_lines(table, [machine(ALTIX, rows)], STUDY)
    (line,) = (line for line in lines if line.title == "256")
    assert line.cells[0].published is not None
    assert (line.cells[0].value, line.cells[0].published.value) == (40e9, pytest.approx(47166e6))


def test_the_page_says_what_is_simulated_and_what_fails() -> None:
    dell = machine(DELL, times("barrier", {64: 20e-6}), "dell")
    altix = machine(ALTIX, times("barrier", {64: 10e-6}), "altix")
    study = find_study("P3")
    html = render_study(study, [dell, altix], verdicts(study, [dell, altix]))
    assert "All results on this page are simulated" in html
    assert "<dt>Known error</dt><dd>never compared (docs/reference/validation.md)</dd>" in html
    assert "Figure 4: Barrier against processes" in html and "F2-047" in html and ">fails<" in html


SC072, CLUSTER = "SiCortex SC072", "Sandia commodity cluster (2.2 GHz Opteron, Myri-10G)"


def declaring(machine: MachineResults, watts: float) -> MachineResults:
    """Return the machine with declared power of a node."""
    (run,) = machine.runs
    declared = DeclaredWatts(watts, "node", "machine file")
    return replace(machine, runs=(replace(run, machine=replace(run.machine, declared_watts=declared)),))


def programs(seconds: float, *ranks: int) -> list[Any]:
    """Return rows of HPCCG, Gears and the liquid on a modelled machine, where each takes this time."""
    return [
        row("x", metric, unit, better, value, benchmark=name, bytes=None, **case(name, count))
        for name in ("hpccg", "gears", "lj")
        for count in ranks
        for metric, unit, better, value in (
            ("time", "s", "lower", seconds),
            ("rate", "flop/s" if name == "hpccg" else "1/s", "higher", 1e9 / seconds),
        )
    ]


def sicortex(rows: Sequence[Any]) -> MachineResults:
    """Return the SC072; 64 ranks use eleven of its nodes of six cores."""
    found = declaring(machine(SC072, rows, "sc072"), 15.0)
    return replace(found, runs=(replace(found.runs[0], launches=(launch_of(64, 6), launch_of(8, 6))),))


def cluster(rows: Sequence[Any]) -> MachineResults:
    """Return the commodity cluster; 64 ranks use 64 of its nodes of one core."""
    found = declaring(machine(CLUSTER, rows, "cluster", nodes=256, cores=1), 115.0)
    return replace(found, runs=(replace(found.runs[0], launches=(launch_of(64, 1), launch_of(8, 1))),))


def launch_of(ranks: int, each: int) -> Launch:
    """Return a launch with `each` ranks on a node."""
    (launch,) = simulated_run("any").launches
    of = tuple(Rank(rank, f"n{rank // each}", rank // each) for rank in range(ranks))
    return replace(launch, world=ranks, ranks=of)


def test_volumes_of_a_small_cluster_are_compared_though_it_is_busy() -> None:
    """Message volumes count on a busy machine, because other programs delay messages but send none.

    Four nodes stand for sixteen, and class S for class B.
    """

    def run_of(name: str, each: int, sent: float) -> tuple[Run, list[Any]]:
        run = make_run(name, launches=1)
        of = tuple(Rank(rank, f"n{rank % (4 // each)}", rank % (4 // each)) for rank in range(4))
        run = replace(run, launches=(replace(run.launches[0], world=4, ranks=of),))
        found = {
            "case": "bt/ranks=4",
            "benchmark": "bt",
            "bytes": None,
            "axes": {"class": "S"},
            "disturbed": True,
        }
        rows = [row(name, "rate", "op/s", "higher", 1e9, ranks=4, **found)]
        return run, [*rows, row(name, "interface_bytes", "B", "lower", sent, ranks=4, **found)]

    (one, of_one), (two, of_two) = run_of("one", 1, 1000.0), run_of("two", 2, 800.0)
    rows = [*of_one, *of_two]
    traits, parts = earlier_traits(), {"one": "alone", "two": "co-processor"}
    here = MachineResults(
        "here", (one, two), summarise(rows), [], rows, traits, parts, scale=4, any_class=True
    )
    axes = {"class": "B"}
    wanted = (
        Case("bt", 16, None, axes, 1, "cyclic"),
        Case("bt", 16, None, axes, 2, "cyclic", "co-processor"),
    )
    found = [here.look(Quantity(of, "network_bytes")) for of in wanted]
    assert [(one.value, one.disturbed) for one in found] == [(1000.0, False), (800.0, False)]
    assert here.look(Quantity(wanted[0], "rate")).disturbed
    profile = halo_profile(side=2, per_node=2)  # placed blocked, but the ranks ran cyclically
    elsewhere = replace(here, profiles={("two", "bt"): profile})
    assert elsewhere.look(Quantity(wanted[1], "network_bytes")).value == 800.0
    cyclic = replace(here, profiles={("two", "bt"): replace(profile, node=np.arange(4) % 2)})
    within, between = profile.traffic().between([0, 1, 0, 1])
    assert cyclic.look(Quantity(wanted[1], "network_bytes")).value == between
    assert cyclic.look(Quantity(wanted[1], "node_bytes")).value == within
    assert cyclic.look(Quantity(replace(wanted[1], bind=None), "network_time")).value == pytest.approx(1.65)
    crowded = here.look(Quantity(Case("bt", 16, None, axes, 4, "cyclic"), "network_bytes"))
    assert crowded.reason == "here: there is no room for 4 ranks on each node"


def test_energy_is_compared_on_equal_numbers_of_ranks() -> None:
    """In section 8 of P1, 64 ranks use 11 nodes of 15 W, or 64 nodes of 115 W."""
    table = next(one for one in find_study("P1").tables if one.number == "Figure 23-24")
    here, there = sicortex(programs(4.0, 8, 64)), cluster(programs(1.0, 64))
    lines = table_lines(table, [here, there], STUDY)
    assert [(line.machine, line.title, line.ranks) for line in lines] == [
        (place, name, 64) for name in ("HPCCG", "GEARS", "LJ") for place in (0, 1)
    ]
    cells = [[(cell.value, cell.unit) for cell in line.cells] for line in lines[:3]]
    assert cells[0] == [(4.0, "s"), (165.0, "W"), (660.0, "J"), (pytest.approx(250e6 / 165), "flop/J")]
    assert cells[1][1:3] == [(7360.0, "W"), (7360.0, "J")]
    assert cells[2][3][1] == "1/J"
    html = render_study(find_study("P1"), [here, there], [])
    assert "HPCCG, 64 ranks" in html and "1.52 Mflop/s per W" in html
    assert html.count('<span class="small">on 64 ranks, over') == 4  # bars of both machines for each quantity
    # A machine too small for 64 ranks has a reason instead of lines; alone it has lines on 2 ranks.
    small = results(make_run("small"), [*programs(9.0, 1, 2)], "small")
    lines = table_lines(table, [here, there, small], STUDY)
    assert {(line.machine, line.ranks) for line in lines} == {(0, 64), (1, 64)}
    (why,) = reasons(STUDY, table, [here, there, small], {0, 1})
    other = "results of hpccg, gears and lj are on other ranks, or have other settings"
    assert why == f"small: cannot say: {other}"
    assert {line.ranks for line in table_lines(table, [small], STUDY)} == {2}
    fewer = replace(table, ranks=8)
    assert [line.machine for line in table_lines(fewer, [here, there], STUDY)] == [0, 0, 0]


def test_energy_needs_power() -> None:
    table = next(one for one in find_study("P1").tables if one.number == "Figure 23-24")
    unknown = machine(SC072, programs(4.0, 64), "sc072")
    (first, *_) = table_lines(table, [unknown], STUDY)
    assert [cell.value for cell in first.cells] == [4.0, None, None, None]
    why = "sc072: no power of hpccg, neither meters nor declared watts"
    assert first.cells[2].reason == why
    assert render_study(find_study("P1"), [unknown], []).count(why) == 1


@pytest.mark.parametrize(("seconds", "energy", "time"), [(4.0, True, True), (30.0, False, True)])
def test_much_lower_energy_and_much_longer_time(seconds: float, energy: bool, time: bool) -> None:
    study = replace(STUDY, paper="martin-leiker-laros-doerfler")
    machines = [sicortex(programs(seconds, 64)), cluster(programs(1.0, 64))]
    found = verdicts_on(verdicts(study, machines), "S-040")
    assert [one.verdict.holds for one in found] == [energy, time]
    assert all(one.verdict.predicted for one in found)
    (alone,) = {one.verdict.words for one in verdicts_on(verdicts(study, machines[:1]), "S-040")}
    assert alone == f"no results of {CLUSTER}"


def test_a_table_at_the_top_of_the_page_describes_the_platforms() -> None:
    """The table describes models by their machine files, and real machines as observed.

    A fact that is known of no machine has no column.
    """
    described = described_machine(find_machine("opteron-myri10g"))["model"]
    modelled = machine(DELL, bandwidths({8: 1e6}), core_flops=described["core_flops"])
    run = modelled.runs[0]
    watts = DeclaredWatts(15.0, "node", "machine file")
    modelled = replace(
        modelled,
        runs=(replace(run, machine=replace(run.machine, memory_bytes=12 * 4 * 2**30, declared_watts=watts)),),
    )
    real = results(make_run("real"), bandwidths({8: 1e6}))
    labels = run_labels([modelled.runs[0], real.runs[0]])
    table = platforms([modelled, real], labels)
    assert [column.heading for column in table.columns] == [
        *("machine", "nodes", "cores per node", "processor", "memory per node", "interconnect", "power"),
    ]
    assert table.texts() == [
        [
            *(labels[0].label, "12", "6", "4.40 Gflop/s per core", "4 GiB"),
            *("Kautz digraph, 2.00 GB/s per link", "15.0 W per node"),
        ],
        [
            *(labels[1].label, "2", "64", "AMD EPYC 7543 32-Core Processor", "256 GiB"),
            *("ib0 (infiniband, 100 Gbit/s)", "unavailable"),
        ],
    ]
    assert "power" not in [column.heading for column in platforms([real], labels[1:]).columns]
    html = render_study(STUDY, [modelled, real], [])
    assert html.index("4.40 Gflop/s per core") < html.index('id="summary"')
    assert html.count("AMD EPYC 7543 32-Core Processor") == 1


def test_a_figure_without_results_says_why() -> None:
    """Modelled machines replay recordings of LAMMPS (rhodopsin); without any, one line gives the reason."""
    study = find_study("P1")
    strong = next(one for one in study.figures if one.number == "19-20")
    without = replace(machine(SC072, programs(4.0, 64), "sc072"), lacking={"rhodopsin": "not recorded"})
    assert reasons(study, strong, [without], set()) == ["sc072: cannot say: not recorded"]
    assert render_study(study, [without], []).count("sc072: cannot say: not recorded") == 3  # with energy
    given = machine(SC072, programs(4.0, 64), "sc072")
    words = "sc072: cannot say: no results of lammps-rhodo or replays of rhodo-strong"
    assert reasons(study, strong, [given], set()) == [words]
    lost = failed("x", "lammps-rhodo/ranks=1", "data.rhodo is nowhere", "skipped", ranks=1)
    failing = machine(SC072, [*programs(4.0, 64), lost], "sc072")
    words = "sc072: cannot say: lammps-rhodo/ranks=1 skipped: data.rhodo is nowhere"
    assert reasons(study, strong, [failing], set()) == [words]
    axes = {"program": "rhodo-strong"}
    replays = [
        replace(one, benchmark="replay", metric="total_time", axes=axes, case=f"replay/ranks={one.ranks}")
        for one in times("replay", {1: 9.0, 8: 1.5})
    ]
    why = "rhodo-strong is recorded on up to 8 ranks"
    lacking = {"rhodopsin": f"{why}; rhodo-weak is recorded on up to 4 ranks"}
    replayed = replace(machine(SC072, replays, "sc072"), lacking=lacking)
    (curve,) = drawn(strong, [replayed])
    assert [x for x, *_ in curve.points] == [1.0, 8.0]
    assert reasons(study, strong, [replayed], {0}) == [f"sc072: cannot say: {why}"]


BALANCED = {2: (10e9, 1e9, 4e9), 4: (16e9, 0.5e9, 4e9)}  # ranks: HPL, and random ring and copy per rank


def balanced(published: str = ALTIX) -> MachineResults:
    rows = []
    for ranks, (hpl, ring, copy) in BALANCED.items():
        of: dict[str, Any] = {"bytes": None}
        rows += [
            row("x", "rate", "flop/s", "higher", hpl, benchmark="hpl", **of, **case("hpl", ranks)),
            row(
                "x", "random_bandwidth", "B/s", "higher", ring, benchmark="ring", **of, **case("ring", ranks)
            ),
            row("x", "random_latency", "s", "lower", 5e-6, benchmark="ring", **of, **case("ring", ranks)),
            row("x", "copy", "B/s", "higher", copy, benchmark="stream", **of, **case("stream", ranks)),
        ]
    return machine(published, rows)


def test_ratios_of_hpcc_are_drawn_against_hpl() -> None:
    """Figures 1 and 2 of Saini et al. plot the sum of random rings against HPL, and its ratio to HPL."""
    total = StudyFigure("1", "rings", "balance.hpl", (StudyCurve("balance.ring_total"),))
    (one,) = drawn(total, [balanced()])
    assert [(x, value) for x, value, _ in one.points] == [(10e9, 2e9), (16e9, 2e9)]
    over = StudyFigure("2", "rings over HPL", "ranks", (StudyCurve("balance.ring_bandwidth"),))
    (one,) = drawn(over, [balanced()])
    assert [(x, value) for x, value, _ in one.points] == [(2, 0.2), (4, 0.125)]
    study = replace(STUDY, figures=(total,))
    assert '"noun":"flop/s"' in render_study(study, [balanced()], []).replace(" ", "")


@pytest.mark.parametrize(
    ("launches", "ratio", "quotient"),
    [(3, "range of 3 launches", "range of 3 and 3 launches"), (6, "87 % at least", "95 %")],
)
def test_bounds_of_ratios_are_named_as_what_they_are(launches: int, ratio: str, quotient: str) -> None:
    """Ranges of three launches, and intervals of 87 %, were once labelled 95 %."""
    real = results(hpcc_run(), hpcc_rows(launches=launches))
    for curve, meaning in (
        (StudyCurve("balance.stream"), ratio),
        (StudyCurve("stream.copy", over="stream.triad"), quotient),
    ):
        (one,) = drawn(StudyFigure("4", "t", "ranks", (curve,)), [real])
        assert one.points[0][2] is not None and one.meaning == meaning


def test_a_table_is_drawn_as_a_kiviat_diagram() -> None:
    columns = tuple(StudyColumn(name, f"balance.{name}") for name in ("hpl", "stream", "ring_latency"))
    table = StudyTable("2", "HPCC", columns, diagram=True)
    page = render_study(replace(STUDY, tables=(table,)), [balanced()], [])
    assert 'class="balance kiviat"' in page and "16.0 Gflop/s, 1.00 of the largest" in page
    two = replace(STUDY, tables=(replace(table, columns=columns[:2]),))
    assert 'class="balance kiviat"' not in render_study(two, [balanced()], [])  # two axes make no diagram


def test_parts_have_the_order_of_the_paper() -> None:
    study = find_study("P1")
    parts: list[StudyFigure | StudyTable] = [*study.tables, *study.figures]
    named = [part_name(parts[at]) for at in paper_order(parts)]
    assert named[0] == "Figure 1-2" and named[-2:] == ["Figure 21-22", "Figure 23-24"]
    html = render_study(study, [machine(SC072, programs(4.0, 64), "sc072")], [])
    assert html.index("<h2>Figure 21-22") < html.index("<h2>Figure 23-24")
    mixed: list[StudyFigure | StudyTable] = [
        StudyTable("Figure 2", "t", ()),
        StudyTable("1", "t", ()),
        StudyFigure("1", "t", "ranks", ()),
        StudyFigure("also", "t", "ranks", ()),
        StudyFigure("10", "t", "ranks", ()),
    ]
    assert [part_name(mixed[at]) for at in paper_order(mixed)] == [
        *("Table 1", "Figure 1", "also", "Figure 2", "Figure 10")
    ]


@pytest.mark.parametrize("path", study_files(), ids=lambda path: path.stem)
def test_shipped_studies_name_a_paper_and_parts_that_exist(path: Path) -> None:
    study = read_study(path)
    assert study.paper in {paper.name for paper in papers()}
    parts = {run.name for run in study.runs}
    assert {curve.run for figure in study.figures for curve in figure.curves} - {""} <= parts


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('name = "pairs"', 'name = "distances"'), "two runs are called 'distances'"),
        (('x = "distance"', 'y = "distance"'), "figures"),
        (('measures = "b_eff.b_eff"', 'measures = "b_eff"'), "give `measures` as benchmark.metric"),
        (("study/1", "study/9"), "kiviat.study/9"),
    ],
)
def test_wrong_files_are_refused_in_one_line(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    text = next(path for path in study_files() if path.stem == "p3").read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=says) as refused:
        read_study(path)
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(InputError, match="there is no study 'P33'"):
        find_study("P33")


A_ROW = next(iter(all_rows()))


def series(*of: Sequence[float], sizes: Sequence[int] = (), ranks: Sequence[int] = ()) -> list[list[Point]]:
    return [
        [
            Point(
                Quantity(Case("x", ranks[at] if ranks else 2, sizes[at] if sizes else None), "m"), value, ""
            )
            for at, value in enumerate(values)
        ]
        for values in of
    ]


@pytest.mark.parametrize(
    ("asks", "points", "answer"),
    [
        ("factor", series([6.0], [2.0]), 3.0),
        ("drop", series([100.0], [60.0]), 40.0),
        ("more", series([5.0], [3.0]), 2.0),
        ("best_size", series([1.0, 3.0, 2.0], sizes=(1, 2, 4)), 2),
        ("between_extremes", series([1.0], [4.0], [2.0]), 4.0),
        ("square_over", series([483.0], [653.0]), 483.0**2 / 653),
        ("inverse", series([0.25]), 4.0),
        ("loss", series([0.75]), 25.0),
        ("weak_efficiency", series([1.0, 54.0], ranks=(1, 72)), 75.0),
        ("falls", series([3.0, 2.0, 1.0]), True),
        ("falls", series([3.0]), None),
        ("rises", series([1.0, 2.0, 2.0]), False),
        ("alike", series([1.0, 1.09]), True),
        ("alike", series([1.0, 1.2]), False),
        ("step", series([1.0, 1.1, 2.0]), True),
        ("step", series([1.0, 2.0, 4.0]), False),
        ("below_half", series([49.0, 20.0]), True),
        ("linear", series([1.0, 2.0, 3.0], sizes=(1, 2, 3)), True),
        ("linear", series([1.0, 1.0, 3.0], sizes=(1, 2, 3)), False),
        ("above", series([3.0, 3.0], [2.0, 2.0], [1.0, 1.0]), True),
        ("above", series([3.0, 1.0], [2.0, 2.0]), False),
        ("leads", series([3.0], [2.0], [2.5]), True),
        ("lags", series([1.0], [2.0], [0.5]), False),
        ("close", series([1.0, 2.0], [1.05, 2.1]), True),
        ("close", series([1.0, 2.0], [1.05]), None),
        ("close_relative", series([1.0, 0.5], [10.0, 5.2]), True),
        ("far_below", series([3.0], [4.0], [7.0], [9.0]), True),
        ("far_below", series([3.0], [4.0], [7.0], [7.0]), False),
        ("far_below", series([3.0], [4.0], [7.0]), None),
        ("inside", series([1.0], [3.0], [2.0]), True),
        ("inside", series([1.0], [3.0], [4.0]), False),
        ("gap_narrows", series([3.0], [2.0], [9.0], [1.0]), True),
        ("unchanged", series([2.0, 2.1]), True),
        ("all_gain", series([1.0, 1.1], [2.0, 1.9]), False),
        ("small_increase", series([1.0, 1.1]), True),
        ("large_reduction", series([1.0, 0.5]), True),
        ("none_loses", series([1.0, 0.97]), True),
        ("largest_reduction", series([1.0, 0.5], [1.0, 0.9]), 50.0),
    ],
)
def test_forms(asks: str, points: list[list[Point]], answer: float | bool | None) -> None:
    found = FORMS[asks](points, Claim(asks), A_ROW)
    assert found == (answer if answer is None or isinstance(answer, bool) else pytest.approx(answer))


def test_counters_are_those_that_records_may_contain() -> None:
    header = (data_path("native") / "platform" / "counter_source.hpp").read_text(encoding="utf-8")
    names = re.search(r"counter_names = \{([^}]*)\}", header)
    assert names and tuple(re.findall(r'"(\w+)"', names[1])) == COUNTERS
