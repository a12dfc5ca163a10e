"""`kiviat published` lists publications, and finds values by words."""

from __future__ import annotations

import csv
import io
import json

import pytest

from kiviat.analysis.published.search import find_published
from kiviat.cli.main import main
from kiviat.record.published import papers


def test_publications_are_listed_with_their_licenses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert {paper.name for paper in papers()} <= lines.keys()
    assert "GPL-3.0" in lines["archer-benchmarks"] and "Isambard" in lines["archer-benchmarks"]
    assert "(a paper)" in lines["saini-ciotti-gunney"]
    assert main(["published", "--format", "json"]) == 0
    listed = {one["publication"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["archer-benchmarks"]["values"] == 189
    assert listed["saini-ciotti-gunney"]["license"] is None


def test_a_value_has_all_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert {one.row.id for one in find_published(["archer", "Allreduce", "48 processes"])} == {"E-007"}
    assert main(["published", "archer", "Allreduce", "48 processes"]) == 0
    printed = capsys.readouterr().out
    assert (
        "E-007  ARCHER, 48 processes on 2 nodes  IMB-MPI1 Allreduce, t_max  22 sizes, 0 B … 4 MiB" in printed
    )
    assert "https://github.com/hpc-uk/archer-benchmarks, 2021; license of the data: GPL-3.0" in printed


def test_facts_statements_and_series_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "F1-001", "--format", "json"]) == 0
    (fact,) = json.loads(capsys.readouterr().out)
    assert (fact["value"], fact["unit"], fact["location"]) == (pytest.approx(47166e6), "B/s", "Table 1")
    assert main(["published", "E-001", "--format", "json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)
    assert series["value"] is None and series["points"][-1] == [4194304, pytest.approx(353.85e-6)]
    assert main(["published", "pingpong", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(find_published(["pingpong"])) > 40


def test_many_are_counted_unless_all_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = find_published(["pingpong"])
    assert main(["published", "pingpong"]) == 0
    printed = capsys.readouterr().out
    assert f"… and {len(found) - 40} more values" in printed and found[-1].row.id not in printed.split()
    assert main(["published", "pingpong", "--all"]) == 0
    assert found[-1].row.id in capsys.readouterr().out.split()


def test_nothing_found_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "archer", "unheard-of"]) == 2
    said = capsys.readouterr().err
    assert "no published value has 'archer' and 'unheard-of'" in said and said.count("\n") == 1
