"""Traits of benchmarks that reports need: from the run itself or, for earlier runs, from a table."""

from __future__ import annotations

from typing import Any

from kiviat.analysis.aggregate.summary import summarise
from kiviat.plan import Benchmark
from kiviat.record.earlier_numbers import earlier_numbers
from kiviat.record.run import Run
from kiviat.record.schema import schema
from kiviat.record.traits import Traits, earlier, earlier_traits, traits_of
from kiviat.record.valid import first_wrong
from kiviat.report.study.sections import study_sections

from ..report.synthetic import make_run, row


def _described(**report: Any) -> dict[str, Any]:
    axes = [{"name": "n", "default": "8"}]
    return {"name": "scratch", "axes": axes, "report": {"section": "scratches", "tabled": True, **report}}


def test_a_benchmark_brings_its_section_with_its_run() -> None:
    described = Benchmark.from_json(_described()).report
    assert described is not None
    traits = traits_of([{"scratch": Traits.from_json(described)}])
    assert traits["scratch"].defaults == {"n": 8}
    rows = [row("run-a", "rate", "op/s", "higher", 2.0, benchmark="scratch", case="scratch", bytes=None)]
    table = summarise(rows)
    (section,) = study_sections([make_run("run-a")], table, {"run-a": table}, [], [], traits)
    assert (section.id, section.short, section.benchmarks) == ("scratches", "Scratches", ("scratch",))
    assert section.quantities.texts() == [["scratch", "rate", "2.00 op/s"]]


def test_a_run_says_more_than_the_table_of_earlier_ones() -> None:
    assert traits_of([{}])["pingpong"] == earlier_traits()["pingpong"]
    assert traits_of([{"hpl": Traits(section="mine")}])["hpl"].section == "mine"
    assert traits_of([])["nobody describes it"] == Traits()


def test_the_table_of_earlier_runs_is_as_run_json_would_have_it() -> None:
    assert "traits" in schema("run")["$defs"]
    for name, data in earlier().items():
        assert first_wrong(data, "run", "traits") is None, name
    assert isinstance(make_run("run-a"), Run)


def test_numbers_of_earlier_records_come_from_their_notes() -> None:
    assert earlier_numbers("hpl", {"grid": "2 x 8", "block": "128", "swap": "long"}) == {
        "grid_rows": 2.0,
        "grid_columns": 8.0,
        "block": 128.0,
    }
    assert earlier_numbers("mystery", {"grid": "2 x 8"}) == {}
    assert earlier_numbers("random_access", {"table": "2^2000 words", "n": "9" * 400}) == {}


def test_traits_of_later_versions_may_say_more() -> None:
    """Keys that this version does not know made `kiviat runs` fail for all runs."""
    problem = {"counts": "n", "later": 1}
    headline = {"title": "t", "metric": "m", "bytes": None, "place": 1, "later": 2}
    traits = Traits.from_json({"problem": problem, "headlines": [headline], "later": 3})
    assert traits.problem is not None and traits.problem.counts == "n"
    assert [one.metric for one in traits.headlines] == ["m"]
