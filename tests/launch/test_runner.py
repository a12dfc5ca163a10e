from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.run.attempt import timeout_s
from kiviat.launch.run.outcome import Progress
from kiviat.launch.run.runner import dry_run
from kiviat.record import InputError, schema
from kiviat.store.checksum import seal

from .conftest import Run, case, plan


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


@pytest.mark.both_mpis
def test_cases_become_records_and_launches_that_fit_the_schemas(run: Run) -> None:
    outcome = run(plan(case("a/1"), case("b/1"), case("c/1", ranks=1), launches=2))
    assert (outcome.signal, outcome.launches, outcome.records, outcome.failed) == (None, 4, 6, 0)
    assert [(record.launch, record.case) for record in run.records] == [
        *((0, "c/1"), (1, "a/1"), (1, "b/1")),
        *((2, "c/1"), (3, "a/1"), (3, "b/1")),
    ]
    for record in run.records:
        jsonschema.validate(json.loads(seal(record.to_json())), schema("record"))
        assert record.started is not None
    launches = {"type": "array", "items": schema("run")["properties"]["launches"]["items"]}
    jsonschema.validate(as_json(list(run.launches.values())), launches)
    assert run.published[:2] == [(0, "running"), (0, "ok")]
    assert [launch["repetition"] for launch in run.launches.values()] == [0, 0, 1, 1]
    assert run.launches[1]["world"] == 2
    assert not list((run.directory / "launches").iterdir()), "launches that ended well leave no folder"


def test_wanted_cases_get_further_launches(run: Run) -> None:
    """Only wanted cases are launched again, until none is wanted or they have the most launches."""
    wanted = iter([{"a/1", "b/1"}, {"b/1"}, {"b/1"}])
    asked = plan(case("a/1"), case("b/1"), launches=2, interval=0.1, launches_max=5)
    done = {(0, "a/1"), (0, "b/1"), (2, "a/1")}
    outcome = run(asked, wanted=lambda: next(wanted), done=done)
    assert [record.case for record in run.records] == ["a/1", "b/1", "b/1", "b/1", "b/1"]
    assert [launch["repetition"] for launch in run.launches.values()] == [1, 2, 3, 4]
    assert (outcome.launches, outcome.records) == (4, 5)
    assert run.progress[-1].finished == run.progress[-1].total == 7
    run(asked, wanted=set, done=done)
    assert len(run.records) == 7


def test_a_run_that_vanishes_before_a_launch_is_not_made_anew(run: Run) -> None:
    """A run whose folder was removed before a launch is not created again.

    Creating the launch's folder once created the run's folder, with nothing else in it.
    """

    def vanish(progress: Progress) -> None:
        if progress.kind == "launch":
            shutil.rmtree(run.directory)

    with pytest.raises(InputError, match="No such file"):
        run(plan(case("a/1")), on_progress=vanish)
    assert not run.directory.exists()


@pytest.mark.parametrize("variable", ["UNRELATED", "STUB_SAYS_NOTHING_OF_ITSELF"])
def test_a_launch_is_published_before_its_first_record(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """run.json contains a launch before records.jsonl contains its first record."""
    monkeypatch.setenv(variable, "1")
    seen = []
    run(
        plan(case("a/1")),
        on_launch=lambda launch: seen.append("launch"),
        on_record=lambda r: seen.append("record"),
    )
    assert seen == ["launch", "record", "launch"]


def test_records_are_synced_while_the_next_case_runs(run: Run) -> None:
    """A case may take minutes; records of earlier ones do not wait for it."""

    def sync() -> None:
        if run.records:
            raise OSError(errno.ENOSPC, "No space left on device", "records.jsonl")

    with pytest.raises(InputError, match=r"cannot write records\.jsonl: No space left on device"):
        run(plan(case("a/1"), case("b/1", "hang")), sync=sync, timeout_s=5)
    assert run.outcomes() == [("a/1", "ok")]


@pytest.mark.both_mpis
@pytest.mark.parametrize(
    ("act", "openmpi_says", "mpich_says"),
    [
        # MPICH names the rank whose end it noticed first, which is either the failed rank or one that it
        # ended itself.
        ("kill", r"\(signal 9, Killed\)", r"Killed \(signal 9\)|Terminated \(signal 15\)"),
        ("abort", r"\(signal 6, Aborted\)", r"Aborted \(signal 6\)|Terminated \(signal 15\)"),
        ("mpi_abort", "exit code 3", "exit code 3"),
        ("exit", "exit code 1", "ended without its final event"),
    ],
)
def test_a_rank_that_dies_costs_its_case_only(run: Run, act: str, openmpi_says: str, mpich_says: str) -> None:
    outcome = run(plan(case("a/1"), case("b/1", act), case("c/1")), timeout_s=5)
    assert run.outcomes() == [("a/1", "ok"), ("b/1", "failed"), ("c/1", "ok")]
    assert (outcome.launches, outcome.failed) == (2, 1)
    failed = run.records[1]
    jsonschema.validate(json.loads(seal(failed.to_json())), schema("record"))
    assert failed.phase == "launch"
    assert re.search(openmpi_says if run.toolchain.family == "openmpi" else mpich_says, str(failed.reason))
    assert run.launches[0]["outcome"] == "failed" and run.launches[1]["outcome"] == "ok"
    assert (run.directory / "launches/0/stderr").exists(), "the output of a failed launch is kept"


@pytest.mark.both_mpis
@pytest.mark.parametrize("act", ["hang", "stubborn"])
def test_the_watchdog_ends_a_case_that_hangs(run: Run, act: str) -> None:
    run(plan(case("a/1", act), case("b/1")), timeout_s=3.0)
    assert run.outcomes() == [("a/1", "failed"), ("b/1", "ok")]
    assert run.records[0].phase == "watchdog"
    assert "3 s" in str(run.records[0].reason)


def test_the_watchdog_counts_from_the_start_of_the_case(run: Run) -> None:
    """The watchdog measures each case separately: twelve cases of 0.3 s pass a limit of 3 s per case."""
    cases = [case(f"a/{number}", "slow") for number in range(12)]
    run(plan(*cases), timeout_s=3.0)
    assert {outcome for _, outcome in run.outcomes()} == {"ok"}


def soon_after_the_start_of(name: str, act: Callable[[], None]) -> Callable[[Progress], None]:
    """Return a condition that is true soon after the case started, independently of the launch's duration."""

    def on_progress(progress: Progress) -> None:
        if (progress.kind, progress.case) == ("case", name):
            threading.Timer(0.2, act).start()

    return on_progress


@pytest.mark.both_mpis
def test_the_launcher_killed(run: Run) -> None:
    """If the launcher is killed, Kiviat ends the ranks."""
    kill = soon_after_the_start_of("b/1", lambda: _kill_launcher(run))
    run(plan(case("a/1"), case("b/1", "hang"), case("c/1")), timeout_s=20, on_progress=kill)
    assert run.outcomes() == [("a/1", "ok"), ("b/1", "failed"), ("c/1", "ok")]
    assert "mpiexec was killed by signal 9" in str(run.records[1].reason)


def _kill_launcher(run: Run) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for child in children:
        if run.toolchain.mpiexec.name in Path(f"/proc/{child}/cmdline").read_text():
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.parametrize(("budget_s", "limit_s"), [(None, 60), (1, 60), (10, 200)])
def test_how_long_a_case_may_take(budget_s: float | None, limit_s: float) -> None:
    controls: dict[str, Any] = {} if budget_s is None else {"budget_s": budget_s}
    assert timeout_s(case("a/1", **controls)) == limit_s
    assert timeout_s(None) == 60


def test_a_torn_line_is_reported_and_loses_no_result(run: Run) -> None:
    run(plan(case("a/1", "torn"), case("b/1")))
    assert run.outcomes() == [("a/1", "ok"), ("b/1", "ok")]
    assert run.launches[0]["outcome"] == "failed"
    assert "torn event" in run.launches[0]["reason"]


def test_a_line_cut_short_by_death(run: Run) -> None:
    run(plan(case("a/1", "cut"), case("b/1")), timeout_s=5)
    assert run.outcomes() == [("a/1", "failed"), ("b/1", "ok")]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("forgotten", "before the case had a result"),
        ("incomplete", "KeyError: 'metrics'"),
        ("absurd", "metrics[0].mean is 1e+300, which is not 0 or between"),
    ],
)
def test_a_result_that_is_missing_or_wrong(run: Run, act: str, reason: str) -> None:
    """Such a result fails its case; written to records.jsonl, the last once made the whole run unreadable."""
    outcome = run(plan(case("a/1", act), case("b/1")))
    assert sorted(run.outcomes()) == [("a/1", "failed"), ("b/1", "ok")]
    assert outcome.launches == 1
    assert reason in next(str(record.reason) for record in run.records if record.outcome == "failed")


def test_a_benchmark_that_dies_three_times_is_given_up(run: Run) -> None:
    cases = [case(f"a/{number}", "kill") for number in range(5)]
    outcome = run(plan(*cases, case("b/1")), timeout_s=5)
    assert run.outcomes() == [*((f"a/{number}", "failed") for number in range(5)), ("b/1", "ok")]
    assert outcome.launches == 4
    assert [("not tried again" in str(record.reason)) for record in run.records] == [
        *[False] * 3,
        True,
        True,
        False,
    ]


def test_a_launch_that_dies_before_its_first_case_is_tried_three_times(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_DIES_EARLY", "1")
    outcome = run(plan(case("a/1"), case("b/1"), launches=1))
    assert outcome.launches == 3
    assert run.outcomes() == [("a/1", "failed"), ("b/1", "failed")]
    assert "no licence" in str(run.records[0].reason)
    assert run.launches[2]["mpi"] is None and run.launches[2]["outcome"] == "failed"


def test_a_bad_exit_after_the_last_result_costs_no_record(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_FAILS_AT_THE_END", "1")
    outcome = run(plan(case("a/1")))
    assert run.outcomes() == [("a/1", "ok")] and outcome.launches == 1
    assert run.launches[0]["outcome"] == "failed" and "all results are complete" in run.launches[0]["reason"]


def test_an_interrupted_run_is_continued(run: Run) -> None:
    whole = plan(case("a/1"), case("b/1"), launches=2)
    outcome = run(whole, done={(0, "a/1"), (0, "b/1"), (1, "a/1")}, first_launch=7)
    assert (outcome.launches, outcome.records) == (1, 1)
    assert [(record.launch, record.case) for record in run.records] == [(7, "b/1")]
    assert run.launches[7]["repetition"] == 1
    assert (run.progress[-1].finished, run.progress[-1].total) == (4, 4)
    assert (
        run(whole, done={(repetition, name) for repetition in (0, 1) for name in ("a/1", "b/1")}).launches
        == 0
    )


def test_the_folder_of_an_unpublished_launch_is_reused(run: Run) -> None:
    """The folder of a launch that run.json does not contain is reused, because Kiviat was killed before it
    published the launch.
    """
    folder = run.directory / "launches/0"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text('{"event":"start","case":"a/1"}\n{"event":"end"}\n')
    run(plan(case("a/1")))
    assert run.outcomes() == [("a/1", "ok")]


@pytest.mark.both_mpis
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_finished(run: Run, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    sent_s = []

    def interrupt() -> None:
        sent_s.append(time.monotonic())
        os.kill(os.getpid(), number)

    outcome = run(
        plan(case("a/1"), case("b/1", "stubborn"), case("c/1"), launches=3),
        on_progress=soon_after_the_start_of("b/1", interrupt),
    )
    assert time.monotonic() - sent_s[0] < 10
    assert outcome.signal == number
    assert run.outcomes() == [("a/1", "ok")], "the case in progress has no record: it will be run again"
    assert run.launches[0]["outcome"] == "interrupted"
    assert signal.getsignal(number) is before


@pytest.mark.both_mpis
def test_the_launcher_of_another_mpi_is_found_out(stub: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    """The launcher of another MPI, which starts N worlds of one rank each, is detected before records are
    written.
    """
    other = find_toolchain("mpich" if toolchain.family == "openmpi" else "openmpi")
    run = Run(replace(toolchain, mpiexec=other.mpiexec), stub, tmp_path / "run")
    options = LauncherOptions(
        environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    )
    with pytest.raises(InputError, match=r"sees 1 .* belong to different MPIs; choose one with --mpi"):
        run(plan(case("a/1")), options=options)
    assert run.records == []
    assert run.launches[0]["outcome"] == "failed"


def test_a_full_disk_is_one_line(run: Run) -> None:
    def append(record: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "records.jsonl")

    with pytest.raises(
        InputError, match=r"cannot write records\.jsonl: No space left on device; .* --resume /"
    ):
        run(plan(case("a/1"), case("b/1", "hang")), on_record=append)
    assert run.launches[0]["outcome"] == "failed"


def test_a_disk_that_fills_up_under_kiviat_bench(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fills up while kiviat-bench writes, no further launch is made."""
    full = os.statvfs_result((4096, 4096, 100, 0, 0, 9, 9, 9, 0, 255))
    room = iter([os.statvfs("/"), full])
    monkeypatch.setattr("kiviat.launch.run.runner.os.statvfs", lambda path: next(room))
    with pytest.raises(InputError, match=r"disk of .* is full; .* --resume /"):
        run(plan(case("a/1"), case("b/1", "kill"), case("c/1")), timeout_s=5)
    assert run.outcomes() == [("a/1", "ok")], "b/1 has no record: it will be run again"
    assert len(run.launches) == 1


@pytest.mark.both_mpis
def test_a_program_that_cannot_write_its_results_ends_the_run(run: Run) -> None:
    """Cases of such a launch have no record, so that a resumed run measures them.

    If a file system was read-only for a moment, simulated cases once counted as failed.
    """
    message = "cannot write .*/launches/0: .*Read-only file system; finished results are kept, .* --resume /"
    with pytest.raises(InputError, match=message):
        run(plan(case("a/1"), case("b/1", "no_room"), case("c/1")), timeout_s=5)
    assert run.outcomes() == [("a/1", "ok")]
    assert run.launches[0]["outcome"] == "failed"


def test_a_folder_that_cannot_be_written(run: Run) -> None:
    run.directory = Path("/proc/kiviat")
    with pytest.raises(InputError, match="cannot write /proc/kiviat"):
        run(plan(case("a/1")))


def test_more_ranks_than_cores_are_marked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kiviat.launch.substrates.substrate.oversubscribes", lambda ranks: ranks > 1)
    run(plan(case("a/1"), case("b/1", ranks=1)))
    assert [(record.case, record.oversubscribed) for record in run.records] == [("b/1", False), ("a/1", True)]
    assert run.launches[1]["oversubscribed"] is True
    if run.toolchain.family == "openmpi":
        assert "--oversubscribe" in run.launches[1]["command"]
        assert "--oversubscribe" not in run.launches[0]["command"]


def test_the_dry_run_shows_what_is_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kiviat.launch.mpi.mpiexec.os.geteuid", lambda: 0)
    shown = plan(case("a/1"), case("b/1", ranks=1), launches=2)
    lines = dry_run(shown, run.toolchain, run.binary)
    assert len(lines) == 5
    assert "--cases launches/probe/cases.txt" in lines.pop(0)
    assert f"{run.toolchain.mpiexec} -n 1 {run.binary} --cases launches/0/cases.txt" in lines[0]
    if run.toolchain.family == "openmpi":
        assert lines[0].startswith("OMPI_ALLOW_RUN_AS_ROOT=1 ")
    run(shown)
    for launch, line in zip(run.launches.values(), lines, strict=True):
        words = [word.replace(f"{run.directory}/", "") for word in launch["command"]]
        assert " ".join(words) in line


def test_cases_with_threads_are_started_otherwise(run: Run) -> None:
    """Cases with threads run in launches of their own with a higher thread level; others do not, because the
    level affects all times.
    """
    threaded = replace(case("b/1"), threads=True)
    shown = plan(case("a/1"), threaded, case("c/1"))
    lines = [line for line in dry_run(shown, run.toolchain, run.binary) if "launches/probe" not in line]
    assert ["--threads multiple" in line for line in lines] == [False, True]
    run(shown)
    assert ["multiple" in launch["command"] for launch in run.launches.values()] == [False, True]
    assert [(record.case, record.launch) for record in run.records] == [("a/1", 0), ("c/1", 0), ("b/1", 1)]


@pytest.mark.both_mpis
def test_variables_that_matter_to_mpi_are_recorded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_TLS", "all")
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    run(plan(case("a/1")))
    assert run.launches[0]["environment"]["UCX_TLS"] == "all"
    assert "hidden" not in json.dumps(run.launches[0])


def test_no_mpiexec_at_all(run: Run, stubs: Callable[[Toolchain], Path]) -> None:
    run.toolchain = replace(run.toolchain, mpiexec=Path("/nowhere/mpiexec"))
    with pytest.raises(InputError, match=r"cannot start '/nowhere/mpiexec': No such file"):
        run(plan(case("a/1")))
