"""Simulations of modelled machines: their duration, and the possible numbers of ranks and messages.

`python -m benchmarks.simulation RANKS PROGRAM [ARGUMENT…]` runs a program that smpicc has compiled as these
rows do, and prints its cost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks import loggopsim
from benchmarks.command import program
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.loggopsim import LogGopSim, Pattern
from benchmarks.setting import Setting
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.substrates.cores import available_cores
from kiviat.launch.substrates.simulated import program_platform, simulator
from kiviat.machine.modelled import lowering
from kiviat.machine.modelled.machine import Machine, find_machine
from kiviat.record import InputError
from kiviat.record.cache import cache_folder

ROW = "simulation"
_MACHINE = "ndr-fat-tree"
_PINGPONG_S, _SWEEP_S, _MOST_S, _MOST_BYTES = 2.0, 60.0, 30.0, 1e9
_STUDIED, _STUDY_S, _STUDY_BYTES, _KEPT_S = "altix-bx2", 60.0, 4e9, 2.0
# Time limit; longer simulations are reported as such.
_TIMEOUT_S = 1800.0
_MESSAGES = 200_000
_PATTERNS = Path(__file__).with_name("patterns.c")
_RING = Path(__file__).with_name("ring.c")


@dataclass(frozen=True)
class Took:
    """Cost of a simulation. `processor_s` is the sum over all processes, `peak_bytes` the maximum."""

    seconds: float
    processor_s: float
    peak_bytes: float
    failed: str | None

    def __str__(self) -> str:
        if self.failed:
            return self.failed
        return (
            f"{self.seconds:.3g} s ({self.processor_s:.3g} s of processors), {self.peak_bytes / 1e6:.0f} MB"
        )


def measure(setting: Setting) -> Iterator[Finding]:
    try:
        toolchain, machine = find_toolchain(SIMULATOR), find_machine(_MACHINE)
    except InputError as error:
        yield not_measured(ROW, "all of it", "", str(error))
        return
    bench = build(toolchain)
    took = _bench(toolchain, machine, bench, 512, ["pingpong ranks=2 bytes=8"])
    yield _judged("ping-pong on 512 ranks", took, _PINGPONG_S)
    doubling = (2, 512) if setting.brief else tuple(2**power for power in range(1, 13))
    sweep = [f"allreduce ranks={ranks} bytes=8" for ranks in doubling]
    took = _bench(toolchain, machine, bench, doubling[-1], sweep)
    yield _judged(f"allreduce of 8 B, 2 to {doubling[-1]} ranks", took, _SWEEP_S)
    most = 1024 if setting.brief else 16_384
    took = _bench(toolchain, machine, bench, most, ["barrier", "allreduce bytes=8"])
    met = took.failed is None and took.seconds <= _MOST_S and took.peak_bytes <= _MOST_BYTES
    limit = f"{_MOST_S:.0f} s, {_MOST_BYTES / 1e6:.0f} MB"
    yield Finding(ROW, f"barrier and allreduce on {most} ranks", str(took), limit, judged(met))
    yield _messages(setting, toolchain, machine, bench)
    yield from _beside_loggopsim(setting, toolchain, machine)
    yield from _study(32 if setting.brief else 512)


def _judged(what: str, took: Took, most_s: float) -> Finding:
    met = took.failed is None and took.seconds <= most_s
    return Finding(ROW, what, str(took), f"{most_s:.0f} s", judged(met))


def _study(ranks: int) -> Iterator[Finding]:
    """Simulate all patterns, methods and sizes of b_eff as `kiviat run` does, then read them from the
    cache.
    """
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache", "kiviat")
        cache.mkdir(parents=True)
        (cache / "build").symlink_to(cache_folder() / "build")
        words = [program(), "run", "--on", f"simulated:{_STUDIED}", "-n", str(ranks), "b_eff"]
        first, again = (_took(words, {"XDG_CACHE_HOME": str(cache.parent)}, folder) for _ in range(2))
    processes = available_cores()
    held = processes * first.peak_bytes  # an upper bound, because forked processes share memory
    figure = first.failed or f"{first}, in each of {processes} processes"
    met = first.failed is None and first.seconds <= _STUDY_S and held <= _STUDY_BYTES
    limit = f"{_STUDY_S:.0f} s, {_STUDY_BYTES / 1e6:.0f} MB"
    yield Finding(ROW, f"b_eff on {ranks} ranks of {_STUDIED}", figure, limit, judged(met))
    yield _judged("once more, from the cache", again, _KEPT_S)


def _messages(setting: Setting, toolchain: Toolchain, machine: Machine, bench: Path) -> Finding:
    """Compare the messages simulated per second with those of a minimal program, in a chain of 64 ranks."""
    ranks = 64
    what, calls = f"messages simulated, {ranks} ranks", _MESSAGES // ranks
    cases = [f"sendrecv bytes=8 mode=fixed warmup=0 iterations={loops}" for loops in (1, calls)]
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "ring")
        subprocess.run([toolchain.mpicxx.with_name("smpicc"), "-O2", _RING, "-o", plain], check=True)
        found = _differences(
            setting,
            "sendrecv",
            lambda: [_bench(toolchain, machine, bench, ranks, [case]) for case in cases],
            lambda: [_run(toolchain, machine, ranks, (plain, str(loops))) for loops in (1, calls)],
        )
    if isinstance(found, str):
        return not_measured(ROW, what, "", found)
    ours_s, plain_s = found
    messages = (calls - 1) * ranks
    mine, other = (messages / median(seconds) for seconds in (ours_s, plain_s))
    return Finding(
        ROW,
        what,
        f"{mine:,.0f} in a second of a processor; plain program {other:,.0f}",
        "",
        Verdict.STATED,
        (
            f"{messages:,} messages of 8 B: {calls:,} calls minus one, median of {len(ours_s)} differences",
            f"both with {toolchain.name} on the platform and with the options of {_MACHINE}",
        ),
        {"ours_s": ours_s, "plain_s": plain_s},
        (
            "smpicc -O2 benchmarks/ring.c -o ring",
            f".venv/bin/python -m benchmarks.simulation {ranks} ./ring {calls}  # in brackets: seconds",
            "# messages / (these seconds - those of ./ring 1)",
        ),
    )


def _beside_loggopsim(setting: Setting, toolchain: Toolchain, machine: Machine) -> Iterator[Finding]:
    """Compare the messages simulated per second with those of LogGOPSim, on two of its own schedules."""
    fewer = 8 if setting.brief else 1
    peer = loggopsim.find_loggopsim()
    for pattern, calls in (
        (loggopsim.PATTERNS["dissemination"](1024 // fewer), 21),
        (loggopsim.PATTERNS["linear_alltoall"](128 // fewer), 9),
    ):
        if isinstance(peer, str):
            yield not_measured(ROW, _named(pattern), "", peer)
        else:
            yield _compared(setting, toolchain, machine, peer, pattern, calls)


def _named(pattern: Pattern) -> str:
    return f"messages simulated, {pattern.name.replace('_', ' ')}, {pattern.ranks} ranks"


def _compared(
    setting: Setting, toolchain: Toolchain, machine: Machine, peer: LogGopSim, pattern: Pattern, calls: int
) -> Finding:
    shape = [str(int(pattern.chained)), *map(str, pattern.distances)]
    with tempfile.TemporaryDirectory() as folder:
        plain, said = Path(folder, "patterns"), Path(folder, "said")
        subprocess.run([toolchain.mpicxx.with_name("smpicc"), "-O2", _PATTERNS, "-o", plain], check=True)
        programs: list[list[str | Path]] = [[plain, str(number), *shape] for number in (1, calls)]
        schedules = [peer.command(pattern, number, Path(folder)) for number in (1, calls)]

        def theirs() -> list[Took]:
            one, many = (_took(command, {}, folder, said) for command in schedules)
            if many.failed is None and loggopsim.COMPLETE not in said.read_text():
                many = replace(many, failed="LogGOPSim did not complete the schedule")
            return [one, many]

        found = _differences(
            setting,
            pattern.name,
            lambda: [_run(toolchain, machine, pattern.ranks, command) for command in programs],
            theirs,
        )
    if isinstance(found, str):
        return not_measured(ROW, _named(pattern), "", found)
    ours_s, theirs_s = found
    messages = (calls - 1) * pattern.messages
    mine, other = (messages / median(seconds) for seconds in (ours_s, theirs_s))
    return Finding(
        ROW,
        _named(pattern),
        f"{mine:,.0f} in a second of a processor; LogGOPSim, without shared links, {other:,.0f}",
        "",
        Verdict.STATED,
        (
            f"{messages:,} messages of 8 B: {calls} calls minus one, median of {len(ours_s)} differences",
            f"Kiviat with {toolchain.name} on {_MACHINE}: an MPI program runs, its messages share links",
            f"LogGOPSim {peer.version}, its default network: a converted schedule, messages share no links",
        ),
        {"ours_s": ours_s, "loggopsim_s": theirs_s},
        (
            f".venv/bin/python -m benchmarks.loggopsim {pattern.name} {pattern.ranks} {calls} > calls.goal",
            "txt2bin -i calls.goal -o calls.bin && time LogGOPSim --batchmode -f calls.bin",
            f"# LogGOPSim {peer.version}: messages / (user and system time - that of 1 call)",
        ),
    )


def _differences(setting: Setting, name: str, *sides: Callable[[], list[Took]]) -> list[list[float]] | str:
    """Return, for each side, the processor seconds of many calls minus those of one, which leaves out the
    start; or why a launch failed. A side launches one call, then many; sides take turns.
    """
    found: list[list[float]] = [[] for _ in sides]
    for _ in setting.progress(range(setting.times(3, least=1)), f"{ROW}: {name}"):
        for seconds, side in zip(found, sides, strict=True):
            one, many = side()
            if failed := one.failed or many.failed:
                return failed
            seconds.append(many.processor_s - one.processor_s)
    return found


def _bench(toolchain: Toolchain, machine: Machine, bench: Path, ranks: int, cases: Sequence[str]) -> Took:
    with tempfile.TemporaryDirectory() as folder:
        listed, events = Path(folder, "cases.txt"), Path(folder, "events.jsonl")
        lines = (case if "mode=" in case else f"{case} mode=once" for case in cases)
        listed.write_text("".join(f"{number} {line}\n" for number, line in enumerate(lines)))
        took = _run(toolchain, machine, ranks, [bench, "--cases", listed, "--out", events])
        told = events.read_text() if events.exists() else ""
    if took.failed is None and told.count('"outcome":"ok"') != len(cases):
        return replace(took, failed="a case failed")
    return took


def _run(toolchain: Toolchain, machine: Machine, ranks: int, words: Sequence[str | Path]) -> Took:
    with tempfile.TemporaryDirectory() as folder:
        written, hosts = Path(folder, "machine.txt"), Path(folder, "hosts")
        written.write_text(lowering.platform(machine))
        per_node = machine.cores_per_node
        names = (lowering.host(rank // per_node % machine.nodes, rank % per_node) for rank in range(ranks))
        hosts.write_text("\n".join(names) + "\n")
        options = lowering.options(machine)
        before = simulator(toolchain, program_platform(toolchain), ranks, hosts, options)
        return _took([*before, *words], {"KIVIAT_PLATFORM": str(written)}, None)


def _took(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    folder: str | None,
    output: Path = Path(os.devnull),
) -> Took:
    begun = time.monotonic()
    with output.open("wb") as said:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    late = threading.Event()

    def stop() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(_TIMEOUT_S, stop)
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:  # Ctrl-C does not reach the session of the simulation
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        timer.cancel()
    code = os.waitstatus_to_exitcode(status)
    failed = f"longer than {_TIMEOUT_S:.0f} s" if late.is_set() else f"exit code {code}" if code else None
    processor_s = usage.ru_utime + usage.ru_stime
    return Took(time.monotonic() - begun, processor_s, usage.ru_maxrss * 1024, failed)


def _main(ranks: str, *words: str) -> None:
    print(_run(find_toolchain(SIMULATOR), find_machine(_MACHINE), int(ranks), words))


if __name__ == "__main__":
    _main(*sys.argv[1:])
