"""Ours beside OSU and IMB: mean against mean at equal iterations, the median of interleaved runs.

Collectives are compared by the time that a rank spends in the call, averaged over ranks, after a
barrier: what both peers print. Every launch has one size: buffers of a sweep are those of its largest
size, which alone makes the 64 KiB ping-pong of OSU's sweep 7 % slower than its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.peers import IMB_PROGRAM, OSU_PROGRAMS, Mean, find_program, imb_mean, osu_mean
from benchmarks.setting import Setting

ROW = "accuracy"
TARGET = "within ± 5 % at each size, beyond what the peer rounds off"
BENCHMARKS = ("pingpong", "allreduce", "alltoall")
_LARGEST = 2**20
_ITERATIONS, _WARMUP = 2000, 200


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        for benchmark in BENCHMARKS:
            yield from _of(mpi, benchmark, setting)


def judged_sizes(benchmark: str) -> tuple[int, ...]:
    """Reductions begin at one float."""
    return (4 if benchmark == "allreduce" else 1, 8, 1024, 65536, _LARGEST)


def _of(mpi: Mpi, benchmark: str, setting: Setting) -> Iterator[Finding]:
    runs = setting.times(15, least=3)
    programs: dict[str, Callable[[int], Mean]] = {"ours": lambda size: _our_mean(mpi, benchmark, size)}
    absent: dict[str, str] = {}
    osu = find_program("OSU_DIR", OSU_PROGRAMS[benchmark], mpi)
    imb = find_program("IMB_DIR", IMB_PROGRAM, mpi)
    if isinstance(osu, str):
        absent["OSU"] = osu
    else:
        programs["OSU"] = lambda size: osu_mean(mpi, osu, benchmark, size, _ITERATIONS, _WARMUP)
    if isinstance(imb, str):
        absent["IMB"] = imb
    else:
        programs["IMB"] = lambda size: imb_mean(mpi, imb, benchmark, size, _ITERATIONS)

    for peer, reason in absent.items():
        yield not_measured(ROW, _what(benchmark, peer, mpi), TARGET, reason)
    if len(programs) == 1:
        return

    sizes = judged_sizes(benchmark)
    names = list(programs)
    means: dict[str, dict[int, list[Mean]]] = {name: {size: [] for size in sizes} for name in names}
    for run in setting.progress(range(runs), f"{ROW}: {benchmark}, {mpi.name}"):
        first = run % len(names)
        for size in sizes:
            for name in names[first:] + names[:first]:
                means[name][size].append(programs[name](size))
    for peer in names[1:]:
        yield _beside(mpi, benchmark, peer, means["ours"], means[peer])


def _our_mean(mpi: Mpi, benchmark: str, size: int) -> Mean:
    words = f"ranks=2 mode=fixed iterations={_ITERATIONS} warmup={_WARMUP} sync=barrier"
    events = mpi.measure([f"{size} {benchmark} bytes={size} {words}"])
    metric = "time" if benchmark == "pingpong" else "time_rank_mean"
    return Mean(events.metric(str(size), metric)["mean"], 0)


def _beside(
    mpi: Mpi, benchmark: str, peer: str, ours: dict[int, list[Mean]], theirs: dict[int, list[Mean]]
) -> Finding:
    our_s, their_s = _medians(ours), _medians(theirs)
    off = {size: our_s[size] / their_s[size] - 1 for size in ours}
    rounding = {size: median(mean.rounding_s for mean in theirs[size]) / their_s[size] for size in theirs}
    worst = max(off, key=lambda size: abs(off[size]))
    detail = [f"{'bytes':>8}  {'ours/µs':>10}  {peer + '/µs':>10}  {'ours':>7}  printed to"]
    detail += [
        f"{size:>8}  {our_s[size] * 1e6:>10.4f}  {their_s[size] * 1e6:>10.4f}  {off[size]:>+7.1%}"
        f"  ± {rounding[size]:.1%}"
        for size in off
    ]
    runs = len(next(iter(ours.values())))
    return Finding(
        ROW,
        _what(benchmark, peer, mpi),
        f"worst {off[worst]:+.1%} at {worst} B",
        TARGET,
        judged(all(abs(off[size]) - rounding[size] <= 0.05 for size in off)),
        detail=[f"median of {runs} interleaved runs of {_ITERATIONS} iterations, one size a launch", *detail],
        data={"ours_s": _all(ours), "theirs_s": _all(theirs)},
    )


def _medians(means: dict[int, list[Mean]]) -> dict[int, float]:
    return {size: median(mean.mean_s for mean in of_size) for size, of_size in means.items()}


def _all(means: dict[int, list[Mean]]) -> dict[int, list[float]]:
    return {size: [mean.mean_s for mean in of_size] for size, of_size in means.items()}


def _what(benchmark: str, peer: str, mpi: Mpi) -> str:
    return f"{benchmark} beside {peer}, {mpi.name}"
