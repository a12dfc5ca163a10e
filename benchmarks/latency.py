"""1 B ping-pong compared with a hand-written tight loop, and the cost of reading the clock per sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, judged
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting

ROW = "latency"
SOURCE = Path(__file__).with_name("tight_loop.cpp")
# Blocks short enough for most of them to lie between two interruptions by the system.
_BLOCKS, _ROUND_TRIPS = 1000, 100
_LONG, _LONG_CASES = 2000, 21


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _of)


def _of(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    launches = setting.times(101, least=3)
    command: list[str | Path] = [mpi.compile(SOURCE), "1", str(_BLOCKS), str(_ROUND_TRIPS)]
    # All other cases have a single sample of many round trips, which contains almost no cost of reading the
    # clock.
    words = f"ranks=2 bytes=1 mode=fixed iterations={_LONG} warmup={_ROUND_TRIPS}"
    long = [f"long-{i}" for i in range(_LONG_CASES)]
    cases = ["adaptive pingpong ranks=2 bytes=1", *(f"{case} pingpong {words}" for case in long)]
    ours: list[float] = []
    theirs: list[float] = []
    clock_share: list[float] = []
    batching: list[float] = []

    def us() -> None:
        events = mpi.measure(cases)
        time, result = events.metric("adaptive", "time"), events.results["adaptive"]
        ours.append(time["p50"])
        # A batch of B round trips takes 2·B·time and contains one reading of the clock.
        clock_share.append(result["clock_cost_s"] / (2 * result["batch"] * time["p50"]))
        batching.append(time["p50"] / median(events.metric(case, "time")["mean"] for case in long) - 1)

    def them() -> None:
        blocks = mpi.launch(command)
        theirs.append(median(float(line) for line in blocks.split()))

    for launch in setting.progress(range(launches), f"{ROW}: {mpi.name}"):
        for program in (us, them) if launch % 2 else (them, us):
            program()

    ratio = median(ours) / median(theirs) - 1
    yield Finding(
        ROW,
        f"1 B ping-pong beside a tight loop, {mpi.name}",
        f"{ratio:+.1%} ({_us(median(ours))} beside {_us(median(theirs))})",
        "within ± 3 %",
        judged(abs(ratio) <= 0.03),
        detail=[f"{launches} interleaved launches; ours {_range(ours)}, tight loop {_range(theirs)}"],
        data={"ours_s": ours, "tight_loop_s": theirs},
        repeat=[
            mpi.compiled(SOURCE),
            f"{mpi.shell(command)}  # the median of its lines: half a round trip in seconds",
        ],
    )
    share = median(clock_share)
    yield Finding(
        ROW,
        f"Clock reading in a timed batch, 1 B, {mpi.name}",
        f"{share:.2%}",
        "below 1 %",
        judged(share < 0.01),
        detail=[
            f"batches beside loops of {_LONG} round trips in the same launch: "
            f"median {median(batching):+.2%}, {min(batching):+.2%} to {max(batching):+.2%}",
        ],
        data={"clock_share": clock_share, "batched_beside_one_loop": batching},
    )


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4f} µs"


def _range(times: list[float]) -> str:
    return f"{_us(min(times))} to {_us(max(times))}"
