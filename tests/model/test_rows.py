"""Questions of published rows to a model, and the judgement of its answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.published.cases import quantities
from kiviat.analysis.published.question import Case, Question, Row, Subject, Value, all_rows
from kiviat.analysis.published.results import key, lookup_in
from kiviat.analysis.published.verdict import (
    DISTURBED,
    OVERSUBSCRIBED,
    TOO_FEW,
    WITHIN,
    Verdict,
    conflicts,
    is_exact,
    judge,
    questions,
)
from kiviat.machine.modelled.machine import Machine, find_machine, load_machine, machines
from kiviat.model.null import null_error
from kiviat.model.page import Earlier, ModelResult, ModelVerdict, columns, page
from kiviat.model.validation import calibration, subject, unanswered, validation
from kiviat.record.published import Claim, Fact, Paper, Series, Statement, System
from kiviat.record.types import Record
from kiviat.record.validated import ComparedModel, ComparedRow
from tests.store.made_up import metric, record

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"


def row(system: dict[str, Any] | None = None, **fact: Any) -> Row:
    given: dict[str, Any] = {
        **{
            "id": "X-1",
            "location": "Table 1",
            "benchmark": "b",
            "metric": "m",
            "value": 100e6,
            "unit": "B/s",
        },
        **{"relation": "=", "exactness": "exact_table", "use": "validate"},
        **{"measures": "pingpong.bandwidth", "message_size": "1 MB"},
    }
    held = System(**{"machine": "Small", "processes": 2, **(system or {})})
    return Row(Paper("p", ("A",), "T", (held,)), held, Fact(**(given | fact)))


def asked(system: dict[str, Any] | None = None, **fact: Any) -> Question:
    return question(load_machine(SMALL), row(system, **fact))


def question(machine: Machine, about: Row) -> Question:
    (only,) = questions(about, subject(machine))
    return only


def judged(asked_of_it: Question, records: Sequence[Record]) -> Verdict:
    by_case = {key(case): one for case, one in zip(asked_of_it.cases, records, strict=True)}
    return judge(asked_of_it, lookup_in(by_case))


def answer(bandwidth: float, **more: Any) -> Any:
    return record("r", metrics=(metric("bandwidth", unit="B/s", p50=bandwidth),), **more)


def test_every_validate_row_is_asked_or_says_why_not() -> None:
    machine = load_machine(SMALL)
    for about in all_rows():
        for one in questions(about, subject(machine)) if about.fact.use == "validate" else ():
            assert one.series or one.not_asked or about.id in ("V-009", "V-010"), about.id
            assert one.not_asked != "no benchmark of Kiviat measures it", about.id


def test_every_validate_row_is_held_against_a_model_or_in_a_study() -> None:
    """Rows about several machines need results of all of them, which only studies have."""
    found = {one.row.id for name in machines() for one in validation(find_machine(name))}
    for about in all_rows():
        if about.fact.use == "validate" and about.id not in found:
            assert about.fact.unanswered or all(
                one.across_machines for one in questions(about, Subject((), 512))
            ), about.id


@pytest.mark.parametrize(
    ("system", "fact", "cases"),
    [
        ({}, {}, [Case("pingpong", 2, 1 << 20)]),
        ({"processes": 8}, {"measures": "b_eff.at_lmax"}, [Case("b_eff", 8)]),
        (
            {"processes": 8},
            {"measures": "b_eff.pingpong_latency"},
            [Case("pingpong", 2, 1, {"cache": "off"})],
        ),
        ({"placement": "distance 1 (same node)"}, {}, [Case("pingpong", 2, 1 << 20)]),
        ({"placement": "distance 2..16 (Myrinet)"}, {}, [Case("pingpong", 2, 1 << 20, {"distance": 2})]),
        ({"placement": "1 process per node"}, {}, [Case("pingpong", 2, 1 << 20, per_node=1)]),
        ({"mode": "off-node"}, {}, [Case("pingpong", 2, 1 << 20, per_node=1)]),
        ({"mode": "on-node"}, {}, [Case("pingpong", 2, 1 << 20)]),
        (
            {"processes": None, "processes_range": "2..12", "placement": "1 process per node"},
            {"measures": "sendrecv.bandwidth"},
            [Case("sendrecv", ranks, 1 << 20, per_node=1) for ranks in (2, 4, 8, 12)],
        ),
    ],
)
def test_a_row_becomes_cases(system: dict[str, Any], fact: dict[str, Any], cases: list[Case]) -> None:
    assert list(asked(system, **fact).cases) == cases


def test_what_does_not_fit_says_so() -> None:
    assert (
        "takes 17 ranks, and the machine has 16 cores"
        in asked({"processes": 17}, measures="b_eff.b_eff").not_asked
    )
    assert "no benchmark of Kiviat" in asked(measures="").not_asked
    assert "lacks the number of processes" in asked({"processes": None}).not_asked


def test_an_error_is_predicted_over_published_less_one() -> None:
    assert judged(asked(), [answer(150e6)]).error == pytest.approx(0.5)
    assert judged(asked(), [answer(50e6)]).error == pytest.approx(-0.5)


def test_the_best_of_several_sizes_counts() -> None:
    several = asked(message_size="best (1 or 2 MB)")
    assert judged(several, [answer(80e6), answer(120e6)]).error == pytest.approx(0.2)


@pytest.mark.parametrize(("relation", "holds"), [("<", False), ("<=", False), (">", True), (">=", True)])
def test_bounds_hold_or_fail(relation: str, holds: bool) -> None:
    assert judged(asked(relation=relation), [answer(150e6)]).holds is holds


def test_a_failed_case_is_unavailable_and_says_why() -> None:
    verdict = judged(asked(), [record("r", outcome="failed", reason="it died", metrics=())])
    assert (verdict.answer, verdict.error) == (None, None)
    assert "it died" in verdict.words
    assert columns(verdict)[1] == "unavailable"


def test_rows_of_the_same_cases_contradict_each_other() -> None:
    """Two table rows give ping-pong of ranks 0 and 1 as 711 and 900 MB/s: no model meets both."""
    one, near, far = (
        question(load_machine(SMALL), row(id=name, value=value))
        for name, value in (("A", 711e6), ("B", 704e6), ("C", 900e6))
    )
    assert conflicts([one, near]) == {}
    assert conflicts([one, near, far]) == {"A": ["C"], "B": ["C"], "C": ["A", "B"]}
    assert not is_exact(asked(relation="~"))
    all_sizes, largest = (
        asked({"processes": 4}, id=name, measures=f"b_eff.{name}", value=value)
        for name, value in (("b_eff", 7e9), ("at_lmax", 21e9))
    )
    assert conflicts([all_sizes, largest]) == {}, "other quantities of one case"


@pytest.mark.parametrize("name", sorted(machines()))
def test_models_are_judged_by_rows_they_were_not_made_of(name: str) -> None:
    machine = find_machine(name)
    assert not {one.row.id for one in validation(machine)} & set(machine.calibrated_on)
    assert all(one.row.fact.use == "calibrate" for one in calibration(machine))


def claim(name: str, machine: Machine) -> Question:
    (found,) = (row for row in all_rows() if row.id == name)
    return question(machine, found)


def test_orderings_are_read_from_the_curves() -> None:
    machine = find_machine("cray-opteron")
    falls = claim("F2-022", machine)
    for values, holds in (((90, 80, 70), True), ((90, 80, 85), False)):
        records = [
            record("r", metrics=(metric("b_eff_per_process", unit="B/s", p50=value * 1e6),))
            for value in values
        ]
        assert judged(falls, records).holds is holds
    drop = claim("F2-032", machine)
    assert judged(drop, [answer(100e6), answer(60e6)]).answer == pytest.approx(40)
    chance = claim("V-009", machine)
    assert judged(chance, []).answer == pytest.approx(100 * 14 / 15)


def test_the_page_has_the_bad_ones_too() -> None:
    machine = load_machine(SMALL)
    statement = Statement("X-2", "1", "b", "a claim", "<", "qualitative", "validate")
    said = Question(replace(row(), fact=statement), None, (), lambda series: False)
    lines = [
        ModelVerdict(judged(asked(), [answer(300e6)])),
        ModelVerdict(judged(said, [])),
        ModelVerdict(judged(asked(measures=""), [])),
    ]
    text = page([result(machine, lines, replace(VALUE, error=2.0))], "2026-01-01")
    assert "| [small](#small) | 1 | 200 % | 200 % | – | 0 of 1 hold | – | 1 |" in text
    assert "| X-1 | b, m, 2 processes, 1 MB | 100 MB/s | 300 MB/s | +200.0 % |" in text
    assert "| X-2 | b, a claim, 2 processes | yes | no | fails |" in text
    assert machine.hash[:16] in text


VALUE = ComparedRow("X-1", "value", "pingpong", "bandwidth", 2, 8, "p", "MB/s", 100, 150, 0.5, None)


def result(machine: Machine, lines: Sequence[ModelVerdict], *rows: ComparedRow) -> ModelResult:
    return ModelResult(machine, lines, (), ComparedModel(machine.name, 1, machine.hash, "2026-01-01", rows))


def test_the_page_has_errors_by_kind_beside_a_null_model_and_earlier_versions() -> None:
    """The overview counts each quantity that was left out of the fit once, over all kinds."""
    machine = load_machine(SMALL)
    lines = [ModelVerdict(judged(asked(), [answer(150e6)]))]
    b_eff = replace(
        VALUE, row="F1-062", benchmark="b_eff", metric="b_eff_per_process", ranks=64, quantity="b"
    )
    before = Earlier(1, "0123456789abcdef", {"X-1": 0.2}, {})
    same = replace(b_eff, row="F1-063", error=1.5)
    ratio = replace(VALUE, row="X-3", form="drop", unit="%", error=-0.9)
    fitted = replace(VALUE, row="X-4", quantity="f", error=3.0, fitted=True)
    rows = (VALUE, b_eff, same, ratio, fitted)
    text = page([result(machine, lines, *rows)], "2026-01-02", earlier={"small": before})
    assert "| [small](#small) | 3 | 50 % | 90 % | 20 % |" in text
    assert "| small | point to point | left out | 1 | 50 % | 50 % | – | 20 % |" in text
    null = abs(null_error(next(row for row in all_rows() if row.id == "F1-062")) or 0)
    assert f"| small | b_eff | left out | 1 | 50 % | 50 % | {100 * null:.0f} %" in text
    assert "| 150 MB/s | +50.0 % | +20.0 % |" in text
    assert "Worse than before: X-1 (+20 % → +50 %)." in text


def test_the_null_model_is_other_machines_ratio_to_ping_pong() -> None:
    """It multiplies the Opteron cluster's ping-pong; the X1's two sizes count as one machine."""
    (about,) = (row for row in all_rows() if row.id == "F1-062")
    ratios = [math.sqrt(730 / 4231 * 634 / 4070), 5631 / 9400, 193 / 399, 653 / 1069]
    wanted = 711 * math.prod(ratios) ** (1 / 4) / 218 - 1
    assert null_error(about) == pytest.approx(wanted)


def test_no_percent_is_missed_by_so_many_points() -> None:
    """A published 0 % was shown as "unavailable", as if nothing had been simulated."""
    none_lost = row(value=0.0, unit="%", measures="")
    verdict = judged(Question(none_lost, None, (), lambda series: 0.0125), [])
    assert columns(verdict) == ["0 %", "0.0125 %", "+0.013 points"]


def test_series_end_where_the_machine_does() -> None:
    """A machine of 12 processors was asked for 16."""
    few, many = Subject((), 12), Subject((), 512)
    for ranks, of in (("8..32", ([8, 12], [8, 16, 32])), ((2, 4, 16), ([2, 4], [2, 4, 16]))):
        series = Series("sendrecv.bandwidth", ranks=ranks, bytes=(8,))
        for machine, expected in zip((few, many), of, strict=True):
            ((points),) = quantities(series, machine)
            assert [one.case.ranks for one in points] == expected
    constant = next(row for row in all_rows() if row.id == "H-056")
    (one,) = questions(constant, few)
    assert "12 cores: too few to compare" in one.not_asked


def test_other_machines_are_looked_up_by_their_name() -> None:
    """The ratio of Dell to Altix needs results of both."""
    both = tuple(Series("barrier.time", ranks=(64,), machine=name) for name in ("Dell", "Altix"))
    row_of = row(value=6.0, unit="1", relation="ratio>", measures="", claims=(Claim("factor", both),))
    (one,) = questions(row_of, Subject((), 2))
    assert one.across_machines
    times = {"Dell": 70e-6, "Altix": 10e-6}
    verdict = judge(one, lambda quantity: Value(times.get(quantity.machine), predicted=True))
    assert (verdict.answer, verdict.holds) == (pytest.approx(7), True)
    beside_others = judge(one, lambda quantity: Value(1e-6, disturbed=True))
    assert (beside_others.verdict, beside_others.words) == ("cannot tell", DISTURBED)
    crowded = judge(one, lambda quantity: Value(1e-6, oversubscribed=True))
    assert (crowded.verdict, crowded.words) == ("cannot tell", OVERSUBSCRIBED)
    del times["Altix"]
    assert judge(one, lambda quantity: Value(times.get(quantity.machine), "no run")).words == "no run"


@pytest.mark.parametrize(
    ("dell", "altix", "verdict", "words"),
    [
        (Value(7.0, low=6.9, high=7.1), Value(1.0, low=0.9, high=1.1), "agrees", ""),
        (Value(5.0, low=4.9, high=5.1), Value(1.0, low=0.9, high=1.1), "disagrees", ""),
        (Value(7.0, low=6.1, high=7.9), Value(1.0, low=0.9, high=1.1), "cannot tell", WITHIN),
        (Value(5.0, low=4.9, high=6.9), Value(1.0, low=0.9, high=1.1), "cannot tell", WITHIN),
        (Value(7.0), Value(1.0, low=0.9, high=1.1), "cannot tell", TOO_FEW),
        (Value(7.0, predicted=True), Value(1.0, predicted=True), "agrees", ""),
        (Value(7.0, low=6.1, high=7.9), Value(1.0, predicted=True), "agrees", ""),
        (Value(7.0, unit="B"), Value(1.0, unit="B"), "agrees", ""),
    ],
)
def test_measured_bounds_are_judged_beyond_the_variation_between_launches(
    dell: Value, altix: Value, verdict: str, words: str
) -> None:
    """A bound of a factor of 6 once held for medians whose intervals contain factors of 5.5 and 8.8."""
    both = tuple(Series("barrier.time", ranks=(64,), machine=name) for name in ("Dell", "Altix"))

    def verdict_on(relation: str) -> Verdict:
        claims = (Claim("factor", both),)
        row_of = row(value=6.0, unit="1", relation=relation, measures="", claims=claims)
        (one,) = questions(row_of, Subject((), 2))
        return judge(one, lambda quantity: {"Dell": dell, "Altix": altix}[quantity.machine])

    assert (verdict_on("ratio>").verdict, verdict_on("ratio>").words) == (verdict, words)
    assert verdict_on("ratio=").error is not None  # numbers have errors, not verdicts


@pytest.mark.parametrize(("middle", "verdict"), [(0.1, "agrees"), (0.6, "cannot tell")])
def test_measured_orderings_need_intervals_that_do_not_overlap(middle: float, verdict: str) -> None:
    """A curve of 3, 2 and 1 falls if no two neighbours can change places within their intervals."""
    falling = Series("barrier.time", ranks=(2, 4, 8))
    row_of = row(value=0.0, unit="1", measures="", claims=(Claim("falls", (falling,)),))
    (one,) = questions(row_of, Subject((), 8))
    times = {2: Value(3.0, low=2.5, high=3.5), 8: Value(1.0, low=0.9, high=1.1)}
    times[4] = Value(2.0, low=2.0 - middle, high=2.0 + middle)
    found = judge(one, lambda quantity: times[quantity.case.ranks])
    assert (found.verdict, found.holds) == (verdict, True if verdict == "agrees" else None)


def test_series_that_check_a_model_are_asked_at_a_few_sizes_and_never_those_it_was_fitted_to() -> None:
    """ARCHER was listed with "no published result" although it has eight series of collectives."""
    machine = find_machine("archer")
    asked_of_it = {one.row.id: one for one in validation(machine)}
    one = asked_of_it["E-008/1024"]
    assert one.cases == (Case("alltoall", 48, 1024, per_node=24),)
    assert one.row.number and (one.row.number.value, one.row.number.unit) == (pytest.approx(105.31e-6), "s")
    assert not {name.partition("/")[0] for name in asked_of_it} & set(machine.calibrated_on)
    assert len([name for name in asked_of_it if name.startswith("E-008/")]) == 6


def test_series_that_made_a_model_are_asked_too() -> None:
    """`kiviat model check archer2` said that the file names no published row; it names eleven series."""
    machine = find_machine("archer2")
    found = {one.row.id: one for one in calibration(machine)}
    assert len([name for name in found if name.startswith("E-023/")]) == 6
    assert found["E-023/1024"].cases == (Case("sendrecv", 128, 1024, per_node=128),)
    assert is_exact(found["E-023/1024"])
    left = unanswered(machine, found.values())
    assert "E-018" in left, "no case has ranks of one NUMA domain"
    assert set(left) | {name.partition("/")[0] for name in found} == set(machine.calibrated_on)
