"""Simulated machines: how long simulations take, and how many ranks and messages there may be."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.setting import Setting
from kiviat.launch.build import build
from kiviat.launch.on_simulated import program_platform
from kiviat.launch.toolchain import Toolchain, find_toolchain
from kiviat.launch.vendors import SIMULATOR
from kiviat.machine import lowering
from kiviat.machine.model import Machine, find_machine
from kiviat.record import InputError

ROW = "simulation"
_MACHINE = "ndr-fat-tree"
_PINGPONG_S, _SWEEP_S, _MOST_BYTES = 2.0, 60.0, 1e9
# Until then; what takes longer is told as such.
_TIMEOUT_S = 600.0
_MESSAGES = 20_000
_PLAIN = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  char out[8] = {0}, in[8];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = atoi(argv[1]); i > 0; --i)
    MPI_Sendrecv(out, 8, MPI_BYTE, (rank + 1) % ranks, 0, in, 8, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""


@dataclass(frozen=True)
class Took:
    seconds: float
    peak_bytes: float
    failed: str | None


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
    figure = took.failed or f"{took.seconds:.0f} s, {took.peak_bytes / 1e6:.0f} MB"
    met = took.failed is None and took.peak_bytes <= _MOST_BYTES
    yield Finding(
        ROW, f"barrier and allreduce on {most} ranks", figure, f"{_MOST_BYTES / 1e6:.0f} MB", judged(met)
    )
    yield _messages(toolchain, machine, bench)


def _judged(what: str, took: Took, most_s: float) -> Finding:
    figure = took.failed or f"{took.seconds:.1f} s, {took.peak_bytes / 1e6:.0f} MB"
    return Finding(
        ROW, what, figure, f"{most_s:.0f} s", judged(took.failed is None and took.seconds <= most_s)
    )


def _messages(toolchain: Toolchain, machine: Machine, bench: Path) -> Finding:
    """A chain of 64 ranks: kiviat-bench beside a program that does nothing else."""
    ranks, calls = 64, _MESSAGES // 64
    with tempfile.TemporaryDirectory() as folder:
        source, plain = Path(folder, "plain.c"), Path(folder, "plain")
        source.write_text(_PLAIN)
        subprocess.run(["smpicc", "-O2", source, "-o", plain], check=True)
        theirs = [_run(toolchain, machine, ranks, (plain, str(loops))) for loops in (1, calls)]
    cases = [f"sendrecv bytes=8 mode=fixed warmup=0 iterations={loops}" for loops in (1, calls)]
    ours = [_bench(toolchain, machine, bench, ranks, [case]) for case in cases]
    rates = [(calls - 1) * ranks / (many.seconds - one.seconds) for one, many in (ours, theirs)]
    figure = f"{rates[0]:,.0f} 1/s; plain program {rates[1]:,.0f} 1/s"
    return Finding(ROW, f"messages simulated, {ranks} ranks", figure, "", Verdict.STATED)


def _bench(toolchain: Toolchain, machine: Machine, bench: Path, ranks: int, cases: Sequence[str]) -> Took:
    with tempfile.TemporaryDirectory() as folder:
        listed, events = Path(folder, "cases.txt"), Path(folder, "events.jsonl")
        lines = (case if "mode=" in case else f"{case} mode=once" for case in cases)
        listed.write_text("".join(f"{number} {line}\n" for number, line in enumerate(lines)))
        took = _run(toolchain, machine, ranks, [bench, "--cases", listed, "--out", events])
        told = events.read_text() if events.exists() else ""
    if took.failed is None and told.count('"outcome":"ok"') != len(cases):
        return Took(took.seconds, took.peak_bytes, "a case failed")
    return took


def _run(toolchain: Toolchain, machine: Machine, ranks: int, program: Sequence[str | Path]) -> Took:
    with tempfile.TemporaryDirectory() as folder:
        written, hosts = Path(folder, "machine.txt"), Path(folder, "hosts")
        written.write_text(lowering.platform(machine))
        per_node = machine.cores_per_node
        names = (lowering.host(rank // per_node % machine.nodes, rank % per_node) for rank in range(ranks))
        hosts.write_text("\n".join(names) + "\n")
        config = [f"--cfg={name}:{value}" for name, value in lowering.options(machine).items()]
        platform = program_platform(toolchain)
        command: list[str | Path] = [
            toolchain.mpiexec,
            "-np",
            str(ranks),
            "-platform",
            platform,
            "-hostfile",
            hosts,
        ]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [*command, *config, "--log=root.thres:error", *program],
                env={**os.environ, "KIVIAT_PLATFORM": str(written)},
                capture_output=True,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return Took(_TIMEOUT_S, 0, f"longer than {_TIMEOUT_S:.0f} s")
        seconds = time.monotonic() - begun
    # The greatest of all so far: later ones are not smaller.
    peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return Took(seconds, peak_bytes, f"exit code {done.returncode}" if done.returncode else None)
