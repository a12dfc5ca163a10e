"""Accuracy compared with OSU and IMB: means of equal numbers of iterations, medians of bracketed runs.

Collectives are compared by the mean time of a rank in the call, after a barrier, which both peers print.
Every launch has one size: buffers of a sweep have its largest size, and this alone makes the 64 KiB ping-pong
of OSU's sweep 7 % slower than a launch of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.brackets import AGREE, Brackets, bracketed, tried
from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.peers import (
    IMB_PROGRAM,
    OSU_PROGRAMS,
    Mean,
    find_program,
    imb_command,
    imb_mean,
    osu_command,
    osu_mean,
    version,
)
from benchmarks.setting import Setting
from kiviat.analysis.statistics.intervals import median_interval

ROW = "accuracy"
TARGET = "within ± 5 % at each size, beyond what the peer rounds off"
BENCHMARKS = ("pingpong", "allreduce", "alltoall")
_LARGEST = 2**20
# Iterations are chosen so that a run lasts some tenths of a second; a mean over a millisecond depends on
# momentary disturbances.
_MOST_ITERATIONS, _ITERATED_BYTES, _LEAST_ITERATIONS = 200_000, 2**31, 2000
# Size in bytes of the command that is printed.
_SHOWN = 1024
# Number of attempts, as a multiple of the number of runs wanted.
_PATIENCE = 4

Program = Callable[[int], Mean]


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    for benchmark in BENCHMARKS:
        if not setting.only or benchmark in setting.only:
            yield from _of(mpi, benchmark, setting)


def judged_sizes(benchmark: str) -> tuple[int, ...]:
    """Return the sizes compared; reductions begin at one float."""
    return (4 if benchmark == "allreduce" else 1, 8, 1024, 65536, _LARGEST)


def iterations(size: int) -> int:
    """Return the number of iterations of a run, equal for both programs."""
    return min(_MOST_ITERATIONS, max(_LEAST_ITERATIONS, _ITERATED_BYTES // size))


def warmup(size: int) -> int:
    """Return a tenth of the iterations, which is fixed in IMB."""
    return iterations(size) // 10


def _of(mpi: Mpi, benchmark: str, setting: Setting) -> Iterator[Finding]:
    programs: dict[str, Program] = {}
    versions: dict[str, str] = {}
    commands: dict[str, list[str | Path]] = {}
    absent: dict[str, str] = {}
    osu = find_program("OSU_DIR", OSU_PROGRAMS[benchmark], mpi)
    imb = find_program("IMB_DIR", IMB_PROGRAM, mpi)
    if isinstance(osu, str):
        absent["OSU"] = osu
    else:
        versions["OSU"] = version(osu)
        commands["OSU"] = osu_command(osu, benchmark, _SHOWN, iterations(_SHOWN), warmup(_SHOWN))
        programs["OSU"] = lambda size: osu_mean(mpi, osu, benchmark, size, iterations(size), warmup(size))
    if isinstance(imb, str):
        absent["IMB"] = imb
    else:
        versions["IMB"] = version(imb)
        commands["IMB"] = imb_command(imb, benchmark, _SHOWN, iterations(_SHOWN))
        programs["IMB"] = lambda size: imb_mean(mpi, imb, benchmark, size, iterations(size))

    for peer, reason in absent.items():
        yield not_measured(ROW, _what(benchmark, peer, mpi), TARGET, reason)
    if not programs:
        return

    sizes = judged_sizes(benchmark)
    wanted = setting.times(11, least=3)
    for peer, brackets in _compared(mpi, benchmark, sizes, programs, wanted, setting).items():
        repeat = f"{mpi.shell(commands[peer])}  # {_sizes(peer, benchmark)}"
        yield _beside(mpi, benchmark, f"{peer} {versions[peer]}", repeat, brackets, wanted)


def _compared(
    mpi: Mpi,
    benchmark: str,
    sizes: Sequence[int],
    peers: Mapping[str, Program],
    wanted: int,
    setting: Setting,
) -> dict[str, dict[int, Brackets[Mean]]]:
    found: dict[str, dict[int, Brackets[Mean]]] = {peer: {} for peer in peers}
    for size in setting.progress(sizes, f"{ROW}: {benchmark}, {mpi.name}"):
        others = {peer: partial(program, size) for peer, program in peers.items()}
        of_size = bracketed(partial(_our_mean, mpi, benchmark, size), others, wanted, _PATIENCE * wanted)
        for peer, brackets in of_size.items():
            found[peer][size] = brackets
    return found


def _our_mean(mpi: Mpi, benchmark: str, size: int) -> float:
    words = f"ranks=2 mode=fixed iterations={iterations(size)} warmup={warmup(size)} sync=barrier"
    events = mpi.measure([f"{size} {benchmark} bytes={size} {words}"])
    metric = "time" if benchmark == "pingpong" else "time_rank_mean"
    return float(events.metric(str(size), metric)["mean"])


def _beside(
    mpi: Mpi,
    benchmark: str,
    peer_version: str,
    repeat: str,
    brackets: Mapping[int, Brackets[Mean]],
    wanted: int,
) -> Finding:
    peer = peer_version.split(maxsplit=1)[0]
    few = [size for size, of_size in brackets.items() if len(of_size.theirs) < wanted]
    if few:
        counted = brackets[few[0]]
        reason = (
            f"at {few[0]} B {len(counted.theirs)} of {counted.tried} runs stood between two of ours "
            f"that agree within {AGREE:.0%}, {wanted} are wanted: the machine is not quiet"
        )
        return not_measured(ROW, _what(benchmark, peer, mpi), TARGET, reason)
    runs = {size: of_size.off(lambda mean: mean.mean_s) for size, of_size in brackets.items()}
    off = {size: median(of_size) for size, of_size in runs.items()}
    rounding = {
        size: median(mean.rounding_s / mean.mean_s for mean in of_size.theirs)
        for size, of_size in brackets.items()
    }
    worst = max(off, key=lambda size: abs(off[size]) - rounding[size])
    detail = [
        f"{peer_version}; {tried(list(brackets.values()))} stood between two of ours that agree within "
        f"{AGREE:.0%}",
        f"times: medians of the means of {wanted} runs, and their extremes; difference: median of the "
        f"{wanted} quotients, and its 95 % interval",
        f"{'bytes':>8}  {'ours/µs':>10}  {peer + '/µs':>10}  {'least … greatest':>21}  {'difference':>10}  "
        f"{'interval':>16}  printed to  iterations",
    ]
    for size, of_size in brackets.items():
        theirs_us = sorted(mean.mean_s * 1e6 for mean in of_size.theirs)
        detail.append(
            f"{size:>8}  {median(of_size.ours_s) * 1e6:>10.4f}  {median(theirs_us):>10.4f}  "
            f"{f'{theirs_us[0]:.4f} … {theirs_us[-1]:.4f}':>21}  {off[size]:>+10.1%}  "
            f"{_within(runs[size]):>16}  {f'± {rounding[size]:.1%}':>10}  {iterations(size):>10}"
        )
    return Finding(
        ROW,
        _what(benchmark, peer, mpi),
        f"worst {off[worst]:+.1%} at {worst} B",
        TARGET,
        judged(all(abs(off[size]) - rounding[size] <= 0.05 for size in off)),
        detail=detail,
        data={
            str(size): {"ours_s": of_size.ours_s, "theirs_s": [mean.mean_s for mean in of_size.theirs]}
            for size, of_size in brackets.items()
        },
        repeat=[repeat],
    )


def _sizes(peer: str, benchmark: str) -> str:
    """Return how the printed command is changed for other sizes, and which figure it prints."""
    if peer == "OSU":
        return "other sizes: -m, -i as in the table, -x a tenth of it"
    figure = "time: bytes / Mbytes/sec" if benchmark == "pingpong" else "time: t_avg"
    return f"other sizes: -msglog log2 of it, -iter as in the table; {figure}"


def _within(runs: Sequence[float]) -> str:
    """Return the 95 % interval of the median as text."""
    bounds = median_interval(runs)
    return "too few runs" if bounds is None else f"{bounds[0]:+.1%} … {bounds[1]:+.1%}"


def _what(benchmark: str, peer: str, mpi: Mpi) -> str:
    return f"{benchmark} beside {peer}, {mpi.name}"
