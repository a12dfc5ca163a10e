"""Published results: files satisfy the schema and are consistent."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest

from kiviat.record import InputError, data_path, schema
from kiviat.record.published import Fact, papers, read_paper, uses

FILES = sorted(data_path("published").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_what_the_schema_says(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), schema("published"))


def test_facts_are_told_apart_and_have_a_place() -> None:
    systems = [system for paper in papers() for system in paper.systems]
    rows = [row for system in systems for row in system.rows]
    assert len({row.id for row in rows}) == len(rows) >= 135
    for system in systems:
        quantities = [(fact.measures, fact.message_size) for fact in system.facts if fact.measures]
        assert len(set(quantities)) == len(quantities)


def test_what_is_compared_with_ours_is_in_its_unit() -> None:
    """Values compared with Kiviat's metrics have the unit of the metric; comparing a latency with a bandwidth
    would go unnoticed.
    """
    seen = set()
    for fact in (fact for paper in papers() for system in paper.systems for fact in system.facts):
        if fact.measures:
            _, metric = fact.measures.split(".")
            unit = {"time": "s", "pingpong_latency": "s", "rate": "flop/s"}.get(metric, "B/s")
            assert fact.unit == unit, fact.id
            seen.add(fact.measures)
    assert {"pingpong.bandwidth", "sendrecv.bandwidth", "streaming.pair_bandwidth", "b_eff.at_lmax"} <= seen


def test_megabytes_of_imb_are_the_binary_ones() -> None:
    by_id = {fact.id: fact for paper in papers() for system in paper.systems for fact in system.facts}
    assert by_id["F2-033"].value == pytest.approx(1762 * 2**20)  # IMB
    assert by_id["F1-007"].value == pytest.approx(1069e6)  # b_eff
    assert by_id["H-053"].value == pytest.approx(7.6e3 * 2**20)


def test_what_may_calibrate_is_known_by_id() -> None:
    assert (uses()["F1-007"], uses()["F1-001"], uses()["S-003"]) == ("calibrate", "validate", "validate")


def test_accumulated_and_per_process_figures_agree() -> None:
    """Accumulated and per-process values agree within rounding to whole MB/s, which detects wrong digits and
    columns.
    """
    pairs = 0
    for system in (system for paper in papers() for system in paper.systems):
        for name in ("b_eff", "at_lmax", "rings_at_lmax"):
            whole, share = system.fact(f"b_eff.{name}"), system.fact(f"b_eff.{name}_per_process")
            if whole and share:
                pairs += 1
                assert system.processes
                assert share.value == pytest.approx(whole.value / system.processes, abs=1e6)
    assert pairs >= 15


def test_the_altix_of_the_paper() -> None:
    (paper,) = (paper for paper in papers() if paper.authors[0] == "Fatoohi")
    altix = paper.systems[0]
    assert (altix.machine, altix.processes) == ("SGI Altix 3700 BX2", 256)
    latency, whole = altix.fact("b_eff.pingpong_latency"), altix.fact("b_eff.b_eff")
    assert isinstance(latency, Fact) and isinstance(whole, Fact)
    assert (latency.value, latency.unit, latency.location) == (pytest.approx(1.267e-6), "s", "Table 1")
    assert (whole.value, whole.unit) == (pytest.approx(47166e6), "B/s")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("published/3", "published/4"), "kiviat.published/4"),
        (
            ('unit = "MB/s"', 'unit = "furlong"'),
            r"systems\[0\].facts\[0\].unit is 'furlong', where 'MB/s' or 'GB/s' or",
        ),
        (('machine = "SGI Altix 3700 BX2"\n', ""), "machine"),
        (('location = "Table 1", ', ""), "location"),
        (("[[systems]]", "[[systems"), "cannot be read"),
    ],
)
def test_files_that_are_wrong_are_refused(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    (file,) = (path for path in FILES if path.stem == "fatoohi-saini-ciotti")
    text = file.read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=says) as refused:
        read_paper(path)
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_series_have_a_value_for_each_size(tmp_path: Path) -> None:
    (file,) = (path for path in FILES if path.stem == "archer-benchmarks")
    found = [series for system in read_paper(file).systems for series in system.series]
    assert len({series.id for series in found}) == len(found) >= 80
    for series in found:
        assert series.unit == "s" and series.measures.endswith(".time")
        assert [size for size, _ in series.points] == sorted({size for size, _ in series.points})
        assert all(0 <= seconds < 60 for _, seconds in series.points), series.id
    text = file.read_text(encoding="utf-8")
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace("bytes = [0, ", "bytes = [", 1), encoding="utf-8")
    with pytest.raises(InputError, match="the series E-001 has 23 sizes and 24 values"):
        read_paper(path)


def test_published_data_has_a_license_and_files_without_are_read(tmp_path: Path) -> None:
    assert {paper.name: paper.license for paper in papers() if paper.license}[
        "archer-benchmarks"
    ] == "GPL-3.0"
    (file,) = (path for path in FILES if path.stem == "fatoohi-saini-ciotti")
    path = tmp_path / "older.toml"
    path.write_text(file.read_text(encoding="utf-8").replace("published/3", "published/2"), encoding="utf-8")
    assert read_paper(path).license == ""
