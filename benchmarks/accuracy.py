"""Ours beside OSU and IMB: mean against mean at equal iterations, the median of interleaved runs.

Collectives are compared by the time that a rank spends in the call, averaged over ranks, after a
barrier: what both peers print. Every program walks through all sizes in one launch, smallest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.peers import IMB_PROGRAM, OSU_PROGRAMS, Mean, find_program, imb_means, osu_means
from benchmarks.setting import Setting

ROW = "accuracy"
TARGET = "within ± 5 % at each size"
BENCHMARKS = ("pingpong", "allreduce", "alltoall")
_LARGEST = 2**20
_ITERATIONS, _WARMUP = 2000, 200

Means = Mapping[int, Mean]


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        for benchmark in BENCHMARKS:
            yield from _of(mpi, benchmark, setting)


def judged_sizes(benchmark: str) -> tuple[int, ...]:
    """Reductions begin at one float."""
    return (4 if benchmark == "allreduce" else 1, 8, 1024, 65536, _LARGEST)


def _of(mpi: Mpi, benchmark: str, setting: Setting) -> Iterator[Finding]:
    runs = setting.times(15, least=3)
    programs: dict[str, Callable[[], Means]] = {"ours": lambda: _our_means(mpi, benchmark)}
    absent: dict[str, str] = {}
    osu = find_program("OSU_DIR", OSU_PROGRAMS[benchmark], mpi)
    imb = find_program("IMB_DIR", IMB_PROGRAM, mpi)
    if isinstance(osu, str):
        absent["OSU"] = osu
    else:
        programs["OSU"] = lambda: osu_means(mpi, osu, benchmark, _LARGEST, _ITERATIONS, _WARMUP)
    if isinstance(imb, str):
        absent["IMB"] = imb
    else:
        programs["IMB"] = lambda: imb_means(mpi, imb, benchmark, _LARGEST, _ITERATIONS)

    for peer, reason in absent.items():
        yield not_measured(ROW, _what(benchmark, peer, mpi), TARGET, reason)
    if len(programs) == 1:
        return

    means: dict[str, list[Means]] = {name: [] for name in programs}
    names = list(programs)
    for run in setting.progress(range(runs), f"{ROW}: {benchmark}, {mpi.name}"):
        first = run % len(names)
        for name in names[first:] + names[:first]:
            means[name].append(programs[name]())
    for peer in names[1:]:
        yield _beside(mpi, benchmark, peer, means["ours"], means[peer])


def _our_means(mpi: Mpi, benchmark: str) -> Means:
    steps = range(judged_sizes(benchmark)[0].bit_length() - 1, _LARGEST.bit_length())
    words = f"ranks=2 mode=fixed iterations={_ITERATIONS} warmup={_WARMUP} sync=barrier"
    events = mpi.measure([f"{1 << step} {benchmark} bytes={1 << step} {words}" for step in steps])
    metric = "time" if benchmark == "pingpong" else "time_rank_mean"
    return {1 << step: Mean(events.metric(str(1 << step), metric)["mean"], 0) for step in steps}


def _beside(mpi: Mpi, benchmark: str, peer: str, ours: list[Means], theirs: list[Means]) -> Finding:
    sizes = judged_sizes(benchmark)
    our_s = {size: median(means[size].mean_s for means in ours) for size in sizes}
    their_s = {size: median(means[size].mean_s for means in theirs) for size in sizes}
    off = {size: our_s[size] / their_s[size] - 1 for size in sizes}
    rounding = {size: median(means[size].rounding_s for means in theirs) / their_s[size] for size in sizes}
    worst = max(sizes, key=lambda size: abs(off[size]))
    detail = [f"{'bytes':>8}  {'ours/µs':>10}  {peer + '/µs':>10}  {'ours':>7}  printed to"]
    detail += [
        f"{size:>8}  {our_s[size] * 1e6:>10.4f}  {their_s[size] * 1e6:>10.4f}  {off[size]:>+7.1%}"
        f"  ± {rounding[size]:.1%}"
        for size in sizes
    ]
    return Finding(
        ROW,
        _what(benchmark, peer, mpi),
        f"worst {off[worst]:+.1%} at {worst} B",
        TARGET,
        judged(all(abs(difference) <= 0.05 for difference in off.values())),
        detail=[f"median of {len(ours)} interleaved runs of {_ITERATIONS} iterations", *detail],
        data={
            "ours_s": {size: [means[size].mean_s for means in ours] for size in ours[0]},
            "theirs_s": {size: [means[size].mean_s for means in theirs] for size in theirs[0]},
        },
    )


def _what(benchmark: str, peer: str, mpi: Mpi) -> str:
    return f"{benchmark} beside {peer}, {mpi.name}"
