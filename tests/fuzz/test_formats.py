"""Fuzz tests of everything that Kiviat reads: each mutated input is accepted, or refused in one line with
exit code 2.

More than a hundred of these inputs once raised KeyError, TypeError, UnicodeError or RecursionError. `python
-m tests.fuzz --seconds N` executes more inputs with other seeds.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.record import InputError
from tests.fuzz import harness
from tests.fuzz.campaign import campaign
from tests.fuzz.found import again, kept
from tests.fuzz.harness import function, run, wrong

# Number of inputs per format, divided among the workers.
EXECUTIONS = {
    "run.json": 25,
    "command line": 60,
    "plan": 150,
    "definition": 60,
    "machine": 40,
    "published": 60,
    "places": 40,
    "hosts": 20,
    "events": 100,
    "lock": 30,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KIVIAT_DEBUG", raising=False)
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))


@pytest.mark.parametrize("name", EXECUTIONS)
def test_formats(name: str, tmp_path: Path) -> None:
    tally = campaign(name, 1, EXECUTIONS[name], folder=tmp_path)
    assert tally.executions == EXECUTIONS[name]
    assert [why for _, why in tally.findings] == []


@pytest.mark.parametrize("finding", kept(), ids=lambda path: path.stem)
def test_a_kept_finding_ends_well(finding: Path) -> None:
    assert again(finding) is None


def test_the_harness_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness detects forbidden behaviour of a reader: computing or waiting without end, filling memory,
    starting a program, writing elsewhere, refusing in two lines.
    """

    def endless() -> None:
        while True:
            pass

    def memory() -> None:
        bytearray(700 << 20)

    def two_lines() -> None:
        raise InputError("one\ntwo")

    for read, why in (
        (endless, "Hang: it took more than 0.5 s of processor time"),
        (lambda: time.sleep(60), "Hang: it took more than 2 s"),
        (memory, "MiB of memory"),
        (lambda: subprocess.run(["true"], check=True), "subprocess.Popen"),
        (lambda: Path("/var/tmp/x").write_text(""), "open ('/var/tmp/x'"),
        (lambda: Path(__file__).rename("/var/tmp/x"), "os.rename"),
        (two_lines, "InputError"),
    ):
        monkeypatch.setattr(harness, "LIMIT_S", 0.5 if "processor time" in why else 60.0)
        monkeypatch.setattr(harness, "LONGEST_S", 2.0 if read is not endless and "Hang" in why else 60.0)
        assert why in (wrong(_calling(read), tmp_path) or "")
    assert "refused with" in (wrong(function(_calling(two_lines)), tmp_path) or "")


def _calling(call: Callable[[], object]) -> Callable[[Path], None]:
    def read(_: Path) -> None:
        call()

    return read


def test_long_logs_take_no_longer_than_their_length(tmp_path: Path) -> None:
    """The time to read a log is proportional to its length.

    An hpccoutf.txt with a line of 100,000 blanks took minutes.
    """
    titles = (
        "Begin of Summary section.\nCommWorldProcs=",
        "HPLinpack\n",
        "LAMMPS (2020)\n",
        "HPCG-Benchmark\n",
        "Function  Best Rate MB/s\nNumber of Threads counted",
        "# OSU MPI Latency Test v7.4\n# Size Latency (us)\n",
        "# Benchmarking PingPong\n#repetitions\n",
    )
    for title in titles:
        for filler in (" ", "\n", "1", "\n ", "= ", "a=b  ", "Number of Threads counted "):
            (tmp_path / "log").write_text(title + filler * (300_000 // len(filler)) + "x")
            run("ingest", "log", "--ranks", "2")


def test_named_pipes_are_refused(tmp_path: Path) -> None:
    """A named pipe without writer, given as a run or as a job template, is refused and never read."""
    os.mkfifo(tmp_path / "pipe")
    for words in (
        ("show", "./pipe"),
        ("report", "./pipe"),
        ("ingest", "pipe"),
        ("model", "show", "./pipe"),
        ("run", "--on", "simulated:altix-bx2", "--replay", "./pipe"),
    ):
        assert run(*words) == 2


def test_numbers_of_thousands_of_digits_are_refused() -> None:
    """Python converts no more than 4,300 digits, and float() makes infinity of them."""
    number = "9" * 5000
    for words in (
        ("run", "pingpong", "--on", f"emulated:{number}x2"),
        ("run", "pingpong", "-n", f"{number}x2"),
        ("run", "pingpong", "--budget", number, "--dry-run"),
        ("what-if", "altix-bx2", "--set", f"nodes={number}", "pingpong"),
        ("scaling", ".", "--at", number),
    ):
        assert run(*words) == 2
