"""`make test` runs three parts; failures and missing parts of any are reported."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest

from tests import __main__ as parts
from tests import builds

Run = dict[str, tuple[int, dict[str, object] | None]]
NOTHING: dict[str, object] = {"outcomes": {"passed": 2}, "failed": []}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return exit code and outcomes of each part, which a test can change; no part really runs, and nothing
    is built.
    """
    told: Run = dict.fromkeys(parts.PARTS, (0, NOTHING))

    def started(
        words: list[str], output: IO[bytes] | None, niceness: int, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        part = words[words.index("--part") + 1]
        assert bool(environment) == (part == "waiting")  # ranks that are measured poll as a user's do
        code, outcomes = told[part]
        if outcomes is not None:
            Path(words[words.index("--outcomes") + 1]).write_text(json.dumps(outcomes))
        end = f"exit {code}" if code >= 0 else f"kill {code} $$"
        return subprocess.Popen(["sh", "-c", f"echo tests of {part}; {end}"], stdout=output)

    monkeypatch.setattr(parts, "_started", started)
    monkeypatch.setattr(builds, "started", lambda: subprocess.Popen(["true"]))
    monkeypatch.setattr(parts, "STAMP", tmp_path / "setup-test")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return told


def test_all_is_well(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert parts.main(["-m", "not full"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[:3] == [f"tests of {part}" for part in parts.PARTS]
    assert lines[-1].startswith("all parts: 6 passed in 0 min")


@pytest.mark.parametrize("part", ["untimed", "waiting"])
def test_after_an_interrupt_nothing_is_measured(
    run: Run, part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    run[part] = (pytest.ExitCode.INTERRUPTED, NOTHING)
    assert parts.main([]) == pytest.ExitCode.INTERRUPTED
    assert "tests of timed" not in capfd.readouterr().out


@pytest.mark.parametrize("part", parts.PARTS)
def test_a_failure_in_any_part_is_told(run: Run, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    run[part] = (1, {"outcomes": {"passed": 1, "failed": 1}, "failed": ["tests/a.py::b"]})
    assert parts.main([]) == 1
    said = capsys.readouterr().out
    assert "1 failed, 5 passed" in said and "FAILED tests/a.py::b" in said


def test_a_part_that_crashes_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run["untimed"] = (3, None)
    assert parts.main([]) == 3
    assert "FAILED part untimed: pytest ended with 3" in capsys.readouterr().out


def test_a_part_that_a_signal_ends_is_a_failure(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit code is negative, less than that of success."""
    run["timed"] = (-11, None)
    assert parts.main([]) == 128 + 11
    assert "FAILED part timed: pytest ended with -11" in capsys.readouterr().out


def test_a_part_without_tests_is_no_failure(run: Run) -> None:
    run["timed"] = (5, {"outcomes": {}, "failed": []})
    assert parts.main([]) == 0


def test_the_last_line_says_what_was_missing(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "setup-test").write_text("key\nwithout mpich slurm\n")
    run["timed"] = (0, {"outcomes": {"passed": 1, "skipped": 7}, "failed": []})
    assert parts.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "did not run: 7 of 12 tests; missing system packages: mpich slurm (`make test YES=1` installs them)"
    )
