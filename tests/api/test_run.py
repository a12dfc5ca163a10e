"""`kiviat.run` starts the command in a process of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import kiviat
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain


def test_a_run_is_measured_and_loaded(
    openmpi: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(openmpi)
    runs = kiviat.run(
        benchmarks=["pingpong"],
        ranks=2,
        sizes="8",
        axes={"cache": "hot"},
        launches=2,
        mpi=str(openmpi.mpicxx),
        output=tmp_path,
        options=["--budget", "0.05"],
    )
    (run,) = runs
    assert run.path.parent == tmp_path
    assert run.about.state == "complete"
    assert not run.simulated
    assert {row.benchmark for row in run.rows} == {"pingpong"}
    assert len(run.about.launches) == 2
    said = capsys.readouterr()
    assert "launch 1 of 2 on 2 ranks" in said.err
    assert said.out == ""


def test_a_refusal_is_the_message_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(kiviat.InputError, match=r"^there is no run 'nothing'"):
        kiviat.run(output=tmp_path, options=["--resume", "nothing"])
    assert capsys.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(
        kiviat.InputError, match=r"^--on 'simulted' is not a place to run"
    ):  # refused before anything is built
        kiviat.run(benchmarks=["pingpong"], on="simulted", output=tmp_path)
    with pytest.raises(kiviat.InputError, match="a dry run has no results"):
        kiviat.run(options="--dry-run")


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("launch 1 of 2", file=sys.stderr, flush=True)
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.2)
    print("ending ranks", file=sys.stderr, flush=True)
    print("kiviat: interrupted by Ctrl-C; 1 launch is kept", file=sys.stderr, flush=True)
    sys.exit(130)
"""


def test_an_interrupt_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kiviat.api.run._PROGRAM", INTERRUPTED)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^interrupted by Ctrl-C; 1 launch is kept$"):
            kiviat.run()
    finally:
        signal.signal(signal.SIGINT, before)


def test_arguments_are_words_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from kiviat.api import run as module
    from kiviat.cli.options.arguments import parsed
    from kiviat.cli.options.request import RunRequest

    seen: list[RunRequest] = []

    def started(words: list[str]) -> kiviat.Runs:
        request = parsed(words)
        assert isinstance(request, RunRequest)
        seen.append(request)
        return kiviat.Runs([])

    monkeypatch.setattr(module, "_started", started)
    kiviat.run("quick", ranks=[1, 2, 4], per_node=2, place="cyclic", bind="core", axes={"off_cache": True})
    kiviat.run(benchmarks="pingpong", options="--resume=last")
    request, of_one_word = seen
    assert request.what.benchmarks == ("quick",)
    assert request.what.ranks == "1,2,4"
    assert (request.where.ppn, request.where.place, request.where.bind) == (2, "cyclic", "core")
    assert request.what.set == ("off_cache=true",)
    assert request.verbosity == "quiet"
    assert request.progress
    assert of_one_word.what.benchmarks == ("pingpong",)
    assert of_one_word.resume == "last"
