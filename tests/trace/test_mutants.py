"""Damaged traces and profiles are read, or refused in one line.

A flipped bit in a count once crashed the replayer, or made 1 MB of trace take a gigabyte of memory.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.build import REPLAYER
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.substrates.simulated import Simulated
from kiviat.machine.modelled.machine import find_machine
from kiviat.record import InputError
from kiviat.trace import read_trace, unpack
from tests.fuzz import streams as mutants

from .conftest import PROGRAMS, ROOT, SMALL, kiviat

ALL = ("ring", "requests", "collectives", "communicators", "anybody", "others")
RANKS = 4


@pytest.fixture(scope="module")
def recorded(openmpi: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a trace and a profile of a program with all kinds of calls."""
    folder = tmp_path_factory.mktemp("mutants")
    wrapper = openmpi.mpicxx.with_name(openmpi.mpicxx.name.replace("mpicxx", "mpicc"))
    subprocess.run([wrapper, "-w", PROGRAMS / "calls.c", "-o", "calls"], check=True, cwd=folder)
    launch = ("--", openmpi.mpiexec, "--oversubscribe", "-n", str(RANKS), "./calls", *ALL)
    for words in (("trace", "-o", "a.trace"), ("profile", "--wait-states", "-o", "a.profile")):
        done = kiviat(folder, *words, *launch)
        assert done.returncode == 0, done.stderr
    return {"trace": folder / "a.trace", "profile": folder / "a.profile"}


@contextmanager
def little_memory(more_bytes: int) -> Iterator[None]:
    """Limit the address space to its current size plus `more_bytes`."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_a_stream_is_not_unpacked_beyond_its_length(recorded: dict[str, Path], tmp_path: Path) -> None:
    """A compressed stream is not unpacked beyond its stated length: a trace of some kilobytes states some
    hundred bytes, but unpacks to 64 MiB.
    """
    first, _, words, streams = recorded["trace"].read_bytes().split(b"\n", 3)
    about = json.loads(words)
    packed = zlib.compress(bytes(1 << 26))
    streams = packed + streams[about["each"][0]["packed"] :]
    about["each"][0] |= {"packed": len(packed), "crc32": zlib.crc32(packed)}
    path = tmp_path / "bomb.trace"
    for length, why in (
        (None, "it unpacks to more than the"),
        (1 << 26, "impossible for .* events of 4 ranks"),
    ):
        about["each"][0] |= {"length": length} if length else {}
        path.write_bytes(b"\n".join((first, *mutants.checked(about), streams)))
        with little_memory(1 << 25), pytest.raises(InputError, match=why):
            unpack(read_trace(path), tmp_path / "streams")
    assert sum(one.stat().st_size for one in (tmp_path / "streams").iterdir()) < 1 << 22


Replay = Callable[[dict[int, bytes]], tuple[int, str]]


@pytest.fixture
def replay(replayer: Path, recorded: dict[str, Path], tmp_path: Path) -> Replay:
    """Return a function that replays the trace with other streams for some ranks, and returns exit code and
    last line of output.
    """
    toolchain, trace = find_toolchain(SIMULATOR), read_trace(recorded["trace"])
    start = Simulated(find_machine(str(SMALL)), REPLAYER).start(toolchain, RANKS, tmp_path, LauncherOptions())
    start.write(tmp_path)
    unpack(trace, tmp_path / "recorded")

    def replayed(streams: dict[int, bytes]) -> tuple[int, str]:
        unpack(trace, tmp_path / "streams")
        for rank, stream in streams.items():
            (tmp_path / "streams" / f"{rank}.stream").write_bytes(stream)
        words: list[str | Path] = [replayer, tmp_path / "streams", tmp_path / "result.json", "1", "1", "0"]
        most = (24 << 30, 24 << 30)
        done = subprocess.run(
            start.of(words).command,
            env={**os.environ, **ROOT, **start.environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, most),
        )
        if "Deadlock detected" in done.stderr:
            return 0, "deadlock"
        return done.returncode, (done.stderr.splitlines() or [""])[-1]

    return replayed


def test_replays(replay: Replay, recorded: dict[str, Path], tmp_path: Path) -> None:
    source = random.Random(5)
    streams = [(tmp_path / "recorded" / f"{rank}.stream").read_bytes() for rank in range(RANKS)]
    codes = []
    for _ in range(8):
        rank = source.randrange(RANKS)
        code, said = replay({rank: mutants.mutated_stream(source, streams[rank])})
        assert code == 0 or (code == 2 and said.startswith("kiviat-replay: ")), (code, said)
        codes.append(code)
    assert 2 in codes


def test_invalid_events_are_refused_with_the_reason(replay: Replay, recorded: dict[str, Path]) -> None:
    names = json.loads(recorded["trace"].open("rb").readline())["operations"]
    huge = (1 << 64) - 1
    for words, why in (
        (("bcast", 0, 17, 1, 1, 0), "the root is 17, but at most 3 is allowed"),
        (("send", 0, 2 * 9, 0, 1, 1), "rank 9 is not in the communicator of 4 ranks"),
        (("send", 0, 2, 0, huge, 8), f"{huge} elements of 8 B exceed the limit of the replay"),
        (("isend", 5, 2, 0, 1, 1, huge), "communicator 5 does not exist"),
        (("alltoallw", 0, 1, huge), "the repeat count of a size is"),
        (("wait", huge, huge), "the event is incomplete"),
        (("win_fence", huge), f"window {huge} does not exist"),
        (("thread", huge, huge), "computes for more than 52 days"),
        (("intercomm", 1, 2, 0, 1, 1, 2, 0, 1, 5, 6), "a rank is in both groups"),
        (("intercomm", 1, 1, 0, 1, 1, 2, 0, 1, 5, 6), "created without this rank"),
        (("intercomm", 1, 2, 0, 1, 1, 4, 0, 1, 5, 6), "a member is 4, but at most 3 is allowed"),
        (("stamp", 0, 0, 0), "the trace contains time stamps"),
        ((), "the event is incomplete"),
    ):
        numbers = [0, names.index(words[0]), *words[1:]] if words else []
        code, said = replay({2: mutants.stream_of([0, *numbers][bool(words) :])})
        assert (code, why in said) == (2, True), said


def test_arrays_above_2_gib(replay: Replay, recorded: dict[str, Path]) -> None:
    """A rank sends 5 B to some ranks and 2 GiB to the others together, for which it rounds all parts to 16 B.

    The ranks that received the former had room for 5 B only.
    """
    names = json.loads(recorded["trace"].open("rb").readline())["operations"]
    many = 1 << 30

    def stream(name: str, *parameters: int) -> bytes:
        return mutants.stream_of([0, names.index(name), *parameters, 0, names.index("end")])

    # Communicator, root, count and size of the own part; at the root also size and runs of counts; request.
    scattered = {rank: stream("scatterv", 0, 0, 5 if rank < 2 else many, 1, 0) for rank in range(1, RANKS)}
    scattered[0] = stream("scatterv", 0, 0, 5, 1, 1, 5, 2, many, 2, 0)
    # Communicator, size and runs of counts of what is sent, the same of what is received; request.
    exchanged = {
        0: stream("alltoallv", 0, 1, 5, 2, many, 2, 1, 5, 4, 0),
        1: stream("alltoallv", 0, 1, 5, 4, 1, 5, 4, 0),
        **{rank: stream("alltoallv", 0, 1, 5, 4, 1, many, 1, 5, 3, 0) for rank in (2, 3)},
    }
    for streams in (scattered, exchanged):
        code, said = replay(streams)
        assert (code, said == "deadlock") == (0, False), said


def test_a_trace_that_cannot_be_replayed(
    recorded: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A trace that cannot be replayed is refused in one line with exit code 2, like other invalid input."""
    first, _, words, streams = recorded["trace"].read_bytes().split(b"\n", 3)
    about = json.loads(words)
    numbers = mutants.numbers_of(zlib.decompress(streams[: about["each"][0]["packed"]]))
    numbers[:2] = 0, 95
    stream = mutants.stream_of(numbers)
    packed = zlib.compress(stream)
    streams = packed + streams[about["each"][0]["packed"] :]
    about["each"][0] |= {"packed": len(packed), "crc32": zlib.crc32(packed), "length": len(stream)}
    path = tmp_path / "changed.trace"
    path.write_bytes(b"\n".join((first, *mutants.checked(about), streams)))
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))
    assert main(["run", "--on", f"simulated:{SMALL}", "--replay", str(path), "--speed", "inf"]) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("kiviat: ")]
    assert (
        len(said) == 1
        and "the trace cannot be replayed: trace of rank 0, before byte 2: the operation is 95" in said[0]
    )
