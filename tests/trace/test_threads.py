"""Programs whose threads call MPI, one at a time or at once: times of their replays are arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.trace import read_trace

from .conftest import SMALL, Record, kiviat, metrics, receipts, replayed

Built = Callable[..., Path]

EACH_S, BYTE_S = 4.6e-6, 1 / 400e6  # a short message between nodes: latency, hop, sending, receiving; a byte


@pytest.fixture
def path(toolchain: Toolchain, built: Built, record: Record) -> Callable[[str], Path]:
    """Return a function that records two ranks of a program."""

    def recorded(name: str) -> Path:
        done = record(toolchain, built(toolchain, "threads.c", "-pthread"), name, ranks=2)
        assert (done.status, done.out) == (0, "done\n"), done.err
        return done.path

    return recorded


def on_two_nodes(folder: Path, trace: Path, speed: str) -> dict[str, float]:
    return replayed(folder, trace, "-n", "2x1", "--speed", speed)


@pytest.mark.both_mpis
def test_threads_that_take_turns(path: Callable[[str], Path], tmp_path: Path) -> None:
    """A thread computes 5 ms before another one calls MPI, ten times. Threads do not compute at the same
    time, though what one computes ends before calls of the other.
    """
    trace = path("turns")
    messages_s = 10 * (EACH_S + 1004.5 * BYTE_S)
    assert on_two_nodes(tmp_path, trace, "inf")["total_time"] == pytest.approx(messages_s, rel=1e-3)
    same, half = (on_two_nodes(tmp_path, trace, speed)["total_time"] - messages_s for speed in ("1", "0.5"))
    # The program computes somewhat longer where others interrupt it; at the same time, it would be 25 ms.
    assert 49e-3 < same < 65e-3
    assert half == pytest.approx(2 * same, rel=1e-3)


@pytest.mark.both_mpis
def test_a_thread_computes_while_another_waits(path: Callable[[str], Path], tmp_path: Path) -> None:
    """A thread receives a message, and the other one sends after 200 ms of computation.

    Without computation, the messages follow each other.
    """
    trace = path("hidden")
    assert on_two_nodes(tmp_path, trace, "1")["total_time"] == pytest.approx(0.2, rel=0.02)
    # A message takes 0.1 s, of which the computation hides one.
    slow = tmp_path / "slow.toml"
    slow.write_text(SMALL.read_text().replace('"small"', '"slow"').replace('"3 us"', '"100 ms"'))
    words = ("run", "--on", f"simulated:{slow}", "-n", "2x1", "--replay", trace, "--speed", "1")
    assert kiviat(tmp_path, *words).returncode == 0
    assert metrics(tmp_path)["total_time"] == pytest.approx(0.3, rel=0.02)
    both_s = 2 * (EACH_S + 100 * BYTE_S)
    assert on_two_nodes(tmp_path, trace, "inf")["total_time"] == pytest.approx(both_s, rel=1e-3)


@pytest.mark.both_mpis
def test_calls_at_once(path: Callable[[str], Path], tmp_path: Path) -> None:
    """The first message of an MPI_Sendrecv causes messages to and from another thread, and these its second.

    If a replay made the call where it ended, or before the other thread's calls, it would not end.
    """
    trace = path("chain")
    calls = read_trace(trace).each[1].calls
    assert calls["irecv"] >= 1 and calls["wait"] >= 1 and "sendrecv" not in calls
    time_s = 4 * EACH_S + (100 + 200 + 300 + 400) * BYTE_S
    assert on_two_nodes(tmp_path, trace, "inf")["total_time"] == pytest.approx(time_s, rel=1e-3)


@pytest.mark.both_mpis
def test_receives_from_anybody_at_once(path: Callable[[str], Path], tmp_path: Path) -> None:
    """A thread begins to receive while another one receives.

    The event of the former caused one of the latter, whose request moved that of the former in memory: what
    was written to the old place was lost, and the wildcard stayed.
    """
    trace = path("wild")
    assert receipts(read_trace(trace), 1, tmp_path / "streams") == [("irecv", 0, 1), ("irecv", 0, 2)]
    assert on_two_nodes(tmp_path, trace, "inf")["network_bytes"] == 100 + 200 + 300


@pytest.mark.parametrize(("name", "bytes_each"), [("allreduce", 100), ("barrier", 1)])
def test_a_collective_beside_a_message(
    name: str, bytes_each: int, path: Callable[[str], Path], tmp_path: Path
) -> None:
    """A thread is in a collective, which other ranks begin after a message of its other thread."""
    trace = path(name)
    assert [one.apart for one in read_trace(trace).each] == [0, 1]
    again = on_two_nodes(tmp_path, trace, "inf")
    assert (again["network_messages"], again["network_bytes"]) == (3, 200 + 2 * bytes_each)
    time_s = 2 * EACH_S + (200 + bytes_each) * BYTE_S
    assert again["total_time"] == pytest.approx(time_s, rel=0.1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dup", "rank 1 calls MPI_Comm_dup while another thread calls MPI"),
        ("illegal", "several threads of rank 0 call MPI without MPI_THREAD_SERIALIZED"),
    ],
)
def test_what_threads_may_not_do(
    name: str,
    said: str,
    path: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = path(name)
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))
    capsys.readouterr()
    assert main(["run", "--on", f"simulated:{SMALL}", "--replay", str(trace)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and said in line
