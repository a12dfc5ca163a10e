"""Programs that cannot be recorded, and traces that cannot be replayed, are refused in one line with exit
code 2; the recorded program is not affected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.tools.trace import TOOL, traced
from kiviat.launch.tools.user_command import as_it_is
from kiviat.record import InputError
from kiviat.trace import read_trace
from tests.profiler.recorded import write_rank

from .conftest import SMALL, Record, kiviat

Built = Callable[..., Path]


@pytest.fixture
def trace(openmpi: Toolchain, built: Built, record: Record) -> Path:
    return record(openmpi, built(openmpi, "calls.c"), "ring", ranks=2).path


Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Return a function that attempts a replay on the substrate `on`, and returns the one-line error
    message.
    """

    def said(trace: str | Path, *words: str, on: str | None = f"simulated:{SMALL}") -> str:
        monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))
        capsys.readouterr()
        assert main(["run", *(("--on", on) if on else ()), "--replay", str(trace), *words]) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1, line
        assert not (tmp_path / "runs").exists()
        return line

    return said


def test_damaged_files(trace: Path, refused: Refused, tmp_path: Path) -> None:
    whole = trace.read_bytes()
    first, second, third = whole.split(b"\n", 3)[:3]
    head = len(first) + len(second) + len(third) + 3
    for name, content, said in (
        ("cut", whole[:-10], "is truncated"),
        ("headless", whole[: head - 20], "is truncated"),
        ("other", whole.replace(b"kiviat.trace/1", b"kiviat.trace/9", 1), "is of version 'kiviat.trace/9'"),
        ("words", whole.replace(b'"ranks":2', b'"ranks":3', 1), "is damaged"),
        ("stream", whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:], "is damaged"),
        ("text", b"hello", "is not a trace"),
    ):
        (tmp_path / name).write_bytes(content)
        assert said in refused(tmp_path / name)
    assert main(["show", str(tmp_path / "other")]) == 2


def test_what_does_not_fit(trace: Path, refused: Refused) -> None:
    assert "has 2 ranks" in refused(trace, "-n", "4")
    assert "exclude each other" in refused(trace, "pingpong")
    assert "--speed is -1" in refused(trace, "--speed", "-1")
    assert "--plan is for benchmarks" in refused(trace, "--plan", "quick")
    assert "--compute is for programs after --" in refused(trace, "--compute", "2")
    assert "--dry-run: a replay has no plan" in refused(trace, "--dry-run")
    assert "--on simulated:MACHINE" in refused(trace, on=None)
    assert "absent.trace cannot be read" in refused("absent.trace")


def test_more_ranks_than_the_machine_has_cores(
    openmpi: Toolchain, built: Built, record: Record, refused: Refused
) -> None:
    recorded = record(openmpi, built(openmpi, "calls.c"), "ring", ranks=17)
    assert "17" in refused(recorded.path)


def test_calls_that_cannot_be_replayed(
    openmpi: Toolchain, built: Built, record: Record, refused: Refused
) -> None:
    recorded = record(openmpi, built(openmpi, "groups.c"), "ireduce_scatter_block", ranks=5)
    assert (recorded.status, recorded.out) == (0, "done\n")
    assert "cannot be replayed: rank 0 calls MPI_Ireduce_scatter_block" in recorded.err
    assert "MPI_Ireduce_scatter_block" in refused(recorded.path)


def test_communicators_of_programs_that_connect(
    openmpi: Toolchain, built: Built, record: Record, refused: Refused
) -> None:
    recorded = record(openmpi, built(openmpi, "calls.c"), "connection", ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    assert "rank 0 calls MPI_Comm_accept, which cannot be replayed" in refused(recorded.path)


def test_a_communicator_duplicated_beside_other_calls(
    openmpi: Toolchain, built: Built, record: Record, refused: Refused
) -> None:
    """A rank sends between MPI_Comm_idup and its wait.

    Replayed as a blocking call, it would wait for a rank that waits for the message.
    """
    recorded = record(openmpi, built(openmpi, "calls.c"), "idup", ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n")
    assert "rank 1 calls MPI_Comm_idup, which cannot be replayed" in refused(recorded.path)


def test_calls_that_fail(openmpi: Toolchain, built: Built, record: Record, refused: Refused) -> None:
    """A receive that fails because its message is too long has taken it, and its replay would not."""
    recorded = record(openmpi, built(openmpi, "calls.c"), "truncated", ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    assert "MPI_Recv of rank 1 failed, and what it did before is unknown" in refused(recorded.path)


def test_a_program_that_does_not_end(
    openmpi: Toolchain,
    built: Built,
    record: Record,
    refused: Refused,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If a program does not end normally, the events recorded so far can be examined."""
    recorded = record(openmpi, built(openmpi, "calls.c"), "ring", "abort", ranks=2)
    assert recorded.status == 3
    trace = read_trace(recorded.path)
    assert not trace.complete
    assert trace.each[0].calls["sendrecv"] == 12
    assert "did not reach MPI_Finalize" in refused(recorded.path)
    assert main(["show", str(recorded.path)]) == 0
    assert "cannot be replayed" in capsys.readouterr().out


def test_programs_that_cannot_be_recorded(openmpi: Toolchain, tmp_path: Path) -> None:
    for words, said in ((("ls",), "links no MPI"), ((), "there is no MPI program")):
        done = kiviat(tmp_path, "trace", "--", openmpi.mpiexec, "-n", "2", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr
    assert "nothing to record" in kiviat(tmp_path, "trace").stderr
    (tmp_path / "notes").write_text("mine")
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    kept = kiviat(tmp_path, "trace", "-o", "notes", "--", openmpi.mpiexec, "-n", "1", script)
    assert kept.returncode == 2 and "is not a trace" in kept.stderr
    nothing = kiviat(tmp_path, "trace", "--", openmpi.mpiexec, "-n", "1", script)
    assert nothing.returncode == 7 and "no MPI call of" in nothing.stderr
    script.write_text("#!/bin/sh\n")
    assert kiviat(tmp_path, "trace", "--", openmpi.mpiexec, "-n", "1", script).returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "run.sh"]


def test_preloaded_where_there_is_no_mpi(openmpi: Toolchain, tmp_path: Path) -> None:
    done = kiviat(tmp_path, "--version", LD_PRELOAD=str(TOOL.library(openmpi)), LD_BIND_NOW="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_recording_that_cannot_be_packed_is_left_where_it_is(tmp_path: Path) -> None:
    """If a recording cannot be packed, as on a full disk, the ranks' files are kept."""
    write_rank(tmp_path, 0, 1, [])
    ranks = f'mv "{tmp_path}/rank-0-1.stream" "$KIVIAT_TRACE"; mkdir "$KIVIAT_TRACE/packed"'
    with pytest.raises(InputError, match="the ranks' recordings are in ") as refusal:
        traced(as_it_is(["sh", "-c", ranks]), tmp_path / "recorder.so", tmp_path / "a.trace")
    folder = Path(str(refusal.value).rpartition(" ")[2])
    assert (folder / "rank-0-1.stream").exists()


@pytest.mark.both_mpis
def test_a_limit_of_the_size_of_files_ends_the_recording(
    toolchain: Toolchain, built: Built, record: Record, refused: Refused
) -> None:
    """A file larger than `ulimit -f` is like a full disk. Enlarging it would raise SIGXFSZ."""
    recorded = record(toolchain, built(toolchain, "files.c", "-rdynamic"), "limited", ranks=2)
    assert (recorded.status, recorded.out) == (7, "done\n"), recorded.err
    assert [one.lost for one in read_trace(recorded.path).each] == [True, True]
    assert "the disk was too small for the events of rank 0" in refused(recorded.path)


@pytest.mark.both_mpis
def test_signals_do_not_end_the_recording(toolchain: Toolchain, built: Built, record: Record) -> None:
    """A signal, as of an interval timer, interrupts the allocation of memory for a file in /dev/shm."""
    recorded = record(toolchain, built(toolchain, "files.c", "-rdynamic"), "interrupted", ranks=2)
    assert (recorded.status, recorded.out) == (7, "done\n"), recorded.err
    for one in read_trace(recorded.path).each:
        assert (one.lost, one.calls) == (False, {"sendrecv": 30000, "end": 1})


def test_several_programs_are_not_packed(openmpi: Toolchain, built: Built, tmp_path: Path) -> None:
    """A script that starts two programs ends as without the recorder, and leaves no trace and no folder."""
    launch = f"{openmpi.mpiexec} --oversubscribe -n 2 {built(openmpi, 'calls.c')} ring"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\n{launch} && {launch} && exit 7\n")
    done = kiviat(tmp_path, "trace", "--mpi", "openmpi", "--", "sh", script)
    assert done.returncode == 7, done.stderr
    assert "there is no trace: several programs were recorded at once; record one at a time" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]
