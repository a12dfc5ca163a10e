"""`kiviat study`: the runs that it starts for a study, and its command line."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.request import RunRequest, StudyRequest
from kiviat.cli.subcommands import study_runs
from kiviat.cli.subcommands.study_runs import places_of, ran
from kiviat.record import InputError
from kiviat.record.studies import StudyDefinition, StudyRun, find_study

RUN = StudyRun(
    "pairs",
    ({"benchmarks": "pingpong", "bytes": "1:4M"}, {"benchmarks": "cg", "axes": {"class": "B"}}),
    quick={"bytes": [8, 1024]},
)
STUDY = StudyDefinition("T", "A test", "", "", (RUN,), on=("simulated:altix-bx2",))


def request(*words: str) -> StudyRequest:
    asked = parsed(["study", "T", *words])
    assert isinstance(asked, StudyRequest)
    return asked


def asked_of(run: StudyRun, folder: Path, *words: str, study: StudyDefinition = STUDY) -> list[RunRequest]:
    """Return the requests that a study passes to `kiviat run`."""
    seen: list[RunRequest] = []

    def run_once(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one)
        return 0, None

    given = request(*words)
    for place in places_of(study, given):
        ran(study, run, place, given, folder, run_once)
    return seen


def test_a_run_is_a_plan_of_its_own_on_each_machine(tmp_path: Path) -> None:
    asked = asked_of(RUN, tmp_path, "--on", "simulated:altix-bx2,cray-x1-msp", "--on", "native")
    assert [(one.where.on, one.what.ranks) for one in asked[:2]] == [
        ("simulated:altix-bx2", "64"),
        ("simulated:cray-x1-msp", "12"),  # the machine has no more ranks
    ]
    assert asked[2].where.on is None
    plan = tomllib.loads(Path(str(asked[0].what.plan)).read_text(encoding="utf-8"))
    assert (plan["name"], plan["cases"][0]["bytes"]) == ("T-pairs", "1:4M")
    assert len({one.output for one in asked}) == 3


def test_quick_and_class_change_the_plan(tmp_path: Path) -> None:
    (quick,) = asked_of(RUN, tmp_path, "--quick", "--class", "s")
    plan = tomllib.loads(Path(str(quick.what.plan)).read_text(encoding="utf-8"))
    assert quick.what.ranks == "8"
    assert [one.get("bytes") for one in plan["cases"]] == [[8, 1024], None]
    assert plan["cases"][1]["axes"]["class"] == "S"
    (whole,) = asked_of(RUN, tmp_path)
    assert whole.output != quick.output
    assert asked_of(replace(RUN, quick={"run": False}), tmp_path, "--quick") == []


def test_shapes_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    shaped = replace(RUN, shape="16x4", place="blocked")
    (one,) = asked_of(shaped, tmp_path)
    assert (one.what.ranks, one.where.place) == ("16x4", "blocked")
    assert asked_of(shaped, tmp_path, "-n", "16") == []
    assert asked_of(shaped, tmp_path, "--on", "simulated:cray-x1-msp") == []
    (asked,) = asked_of(RUN, tmp_path, "-n", "8x2")
    assert (asked.what.ranks, asked.where.ppn) == ("16", 2)
    with pytest.raises(InputError, match="-n '0': give a number"):
        asked_of(RUN, tmp_path, "-n", "0")


def test_what_is_complete_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Made:
        state = "complete"

    path = tmp_path / "made"
    monkeypatch.setattr(study_runs, "list_runs", lambda home: [path])
    monkeypatch.setattr(study_runs, "read_run", lambda one: Made)
    given = request()
    (place,) = places_of(STUDY, given)
    assert ran(STUDY, RUN, place, given, tmp_path, lambda one: (2, None)) == (0, path)
    Made.state = "interrupted"
    seen: list[RunRequest] = []

    def go_on(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one)
        return 0, path

    ran(STUDY, RUN, place, given, tmp_path, go_on)
    assert [one.resume for one in seen] == [str(path)]


def test_runs_that_are_given_alone_run_nothing() -> None:
    assert places_of(STUDY, request("--with", "last")) == []


def test_list_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "list"]) == 0
    assert {"P1", "P2", "P3", "P4"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert main(["study", "P9"]) == 2
    assert "there is no study 'P9'" in capsys.readouterr().err
    assert find_study("p3").name == "P3"
