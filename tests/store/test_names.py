from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.record import InputError
from kiviat.store import RunDirectory, find_run, list_runs, runs_home
from tests.store.made_up import MACHINE


def make(home: Path, name: str, created: str) -> Path:
    run = RunDirectory.create(home, "x", machine=MACHINE, plan=None)
    run.close()
    path = run.path.rename(home / name)
    written = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(written | {"id": name, "created": created}))
    return path


@pytest.fixture
def three(home: Path) -> list[Path]:
    days = ("2026-01-03", "2026-01-01", "2026-01-02")
    return [make(home, f"run-{name}", day) for name, day in zip(("ab", "ac", "b"), days, strict=True)]


def test_last_is_the_one_made_last(home: Path, three: list[Path]) -> None:
    assert find_run("last", home) == three[0]
    assert list_runs(home) == [three[1], three[2], three[0]]


def test_a_run_has_its_name_a_beginning_of_it_and_its_path(home: Path, three: list[Path]) -> None:
    for name in ("run-b", "run-b", str(three[2]), str(three[2] / "run.json")):
        assert find_run(name, home) == three[2]
    assert find_run("run-ab", home) == three[0]


def test_an_exact_name_wins_over_the_beginning_of_others(home: Path, three: list[Path]) -> None:
    exact = make(home, "run-a", "2025-01-01")
    assert find_run("run-a", home) == exact


def test_ambiguous_or_unknown_names_are_refused(home: Path, three: list[Path]) -> None:
    with pytest.raises(InputError, match=r"run 'run-a' is not unique in .*: run-ac, run-ab; give more"):
        find_run("run-a", home)
    with pytest.raises(InputError, match=r"no run 'x' in .*; `kiviat runs` lists them"):
        find_run("x", home)
    with pytest.raises(InputError, match=r"holds none; `kiviat run` makes one"):
        find_run("last", home / "nothing")
    (home / "letter").write_text("hello")
    for there in (home / "letter", home):
        with pytest.raises(InputError, match="exists but is not a run: a run is a folder with run"):
            find_run(str(there), home)


def test_where_runs_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KIVIAT_RUNS", raising=False)
    assert runs_home() == Path("runs")
    monkeypatch.setenv("KIVIAT_RUNS", "/somewhere")
    assert runs_home() == Path("/somewhere")


def bad(home: Path) -> list[Path]:
    """Create folders whose run.json is invalid in different ways."""
    paths = [home / f"20990101-{name}" for name in ("torn", "fifo", "folder", "later", "bytes\udcff")]
    for path in paths:
        path.mkdir()
    torn, fifo, folder, later, not_utf_8 = (path / "run.json" for path in paths)
    torn.write_text('{"schema": "kiviat.run/1", "id')
    os.mkfifo(fifo)
    folder.mkdir()
    later.write_text('{"schema": "kiviat.run/99"}')
    not_utf_8.write_text("{}")
    return paths


def test_a_bad_folder_among_the_runs_is_named_and_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An invalid folder among the runs is named and ignored.

    It once made `last`, prefixes and lists fail, or wait for ever, for all runs.
    """
    run = RunDirectory.create(home, "good", machine=MACHINE, plan=None)
    (home / "no run").mkdir()
    (home / "file").touch()
    paths = bad(home)
    ways: tuple[Callable[[], Path], ...] = (
        lambda: find_run("last", home),
        lambda: find_run("20", home),
        lambda: list_runs(home)[0],
    )
    for found in ways:
        assert found() == run.path
        told = capsys.readouterr().err.splitlines()
        assert len(told) == len(paths) and all(line.startswith("kiviat: left out: ") for line in told)
    for path, word in zip(
        sorted(paths), ("udcff/run.json", "FIFO", "folder", "kiviat.run/99", "not JSON"), strict=True
    ):
        assert any(ascii(str(path))[1:-1] in line and word in line for line in told), (path, told)
    assert find_run(run.id, home) == run.path
    assert capsys.readouterr().err == ""
