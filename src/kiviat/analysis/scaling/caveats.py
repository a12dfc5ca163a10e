"""Caveats about a curve: disturbance, superlinear speedup, shared cores, changing frequency."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings import data_quality
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.energy import at_size, numbers_in
from kiviat.record.run import Launch, Run
from kiviat.record.units import listed, three_digits

# Reported if the clock frequency changes by more than this between numbers of ranks.
_CLOCK_CHANGE = 0.05
# Reported if the launches on one number of ranks spread by more than this.
_SPREAD = 0.10
# Reported if efficiency exceeds 1 by more than this and chance is unknown.
_ABOVE = 0.02
# Kinds of findings about whole runs that invalidate a curve.
_OF_RUNS = ("tcp-fallback", "misplaced", "failed-launches", "uncalibrated", "embedded-mpi")


def doubts(curve: Curve, runs: Sequence[Run], grids: Sequence[Grid]) -> list[str]:
    """Return caveats in words, the most serious first; `runs` are those of the curve."""
    found = [*_disturbed(curve), *_crowded(curve), *_superlinear(curve, runs)]
    if curve.clock == "simulated":
        found.append("simulated: results do not vary, so values and laws have no intervals")
    if curve.clock == "wall":
        found += [*_shared(curve, runs), *_unsteady(curve), *_clock(curve, runs, grids)]
    found += [*_of_runs(runs), *_crossing(curve)]
    return list(dict.fromkeys(found))


def _disturbed(curve: Curve) -> Iterator[str]:
    disturbed = [point.ranks for point in curve.points if point.disturbed]
    if disturbed:
        yield (
            f"{_ranks(disturbed)} disturbed by other programs: no law is fitted to these points, and "
            "speedups that involve them say nothing about the machine"
        )


def _superlinear(curve: Curve, runs: Sequence[Run]) -> Iterator[str]:
    """Yield what efficiency above 100 % means: nothing, unless the machine is known to have been idle."""
    above = [point for point in curve.points if point.fair and _is_above_linear(point)]
    if not above:
        return
    ranks, first = _ranks([point.ranks for point in above]), curve.points[0]
    if curve.clock == "simulated":
        yield f"predicted to be superlinear on {ranks}"
    elif not first.fair:
        base = f"{_ranks([first.ranks])} {first.unfair}"
        yield f"efficiency above 100 % on {ranks} is no superlinear speedup: {base}"
    elif unseen := [point.ranks for point in (first, *above) if not _was_watched(point, runs)]:
        yield (
            f"efficiency above 100 % on {ranks} is not called superlinear: whether the machine was idle on "
            f"{_ranks(unseen)} is not known"
        )
    else:
        yield f"superlinear on {ranks}, and nothing disturbed these launches"


def _is_above_linear(point: Point) -> bool:
    """Return whether efficiency exceeds 100 % by more than chance, or than 2 % where chance is unknown."""
    least = point.efficiency.low if point.meaning == "95 %" else None
    return point.efficiency.value > 1 + _ABOVE if least is None else least > 1


def _was_watched(point: Point, runs: Sequence[Run]) -> bool:
    """Return whether all launches of a point report the use of processors by others."""
    run = next(run for run in runs if run.id == point.run)
    launches = [launch for launch in run.launches if launch.reaches(point.ranks)]
    return bool(launches) and all(one.activity and one.activity.others is not None for one in launches)


def _crowded(curve: Curve) -> Iterator[str]:
    crowded = [point.ranks for point in curve.points if point.oversubscribed]
    if crowded:
        yield (
            f"{_ranks(crowded)} oversubscribed, with more ranks than cores: no law is fitted to that, and "
            "its efficiency tells how the system switches between processes"
        )


def _shared(curve: Curve, runs: Sequence[Run]) -> Iterator[str]:
    """Yield caveats that follow from the places of the ranks in the launches."""
    fair = [point for point in curve.points if not point.oversubscribed]
    threads, pinned = [], []
    for point in fair:
        run = next(run for run in runs if run.id == point.run)
        launches = [launch for launch in at_size(run, point.ranks).launches if launch.reaches(point.ranks)]
        if any(_on_one_processor(launch, point.ranks) for launch in launches):
            pinned.append(point.ranks)
        elif _on_threads(run, launches, point.ranks):
            threads.append(point.ranks)
    if pinned:
        yield f"{_ranks(pinned)} on shared cores: several are bound to the same processors"
    if threads:
        yield (
            f"{_ranks(threads)} on shared cores: more ranks than cores on a node, and two hardware threads "
            "of a core are not two cores"
        )
    if any(run.substrate == "emulated" for run in runs):
        yield "emulated nodes share the processors of one machine: their ranks may wait for one another"
    limits = [run.machine.cpu_limit for run in runs]
    limit = min((one for one in limits if one is not None), default=None)
    shared = any(run.substrate == "emulated" for run in runs)  # by all nodes
    of_machine = [point.ranks / (1 if shared else point.nodes or 1) for point in fair]
    if limit is not None and limit < max(of_machine, default=0):
        yield f"a control group grants the time of {three_digits(limit)} processors only"


def _on_one_processor(launch: Launch, ranks: int) -> bool:
    """Return whether ranks of a host are restricted to fewer processors than there are ranks."""
    allowed: dict[str, list[frozenset[str]]] = defaultdict(list)
    for rank in launch.ranks:
        if rank.rank < ranks and rank.cpus:
            allowed[rank.host].append(frozenset(numbers_in(rank.cpus)))
    return any(
        len(frozenset.union(*of_host)) < len(of_host)
        or any(len(own) < count for own, count in Counter(of_host).items())
        for of_host in allowed.values()
    )


def _on_threads(run: Run, launches: Sequence[Launch], ranks: int) -> bool:
    cores, threads = run.machine.cores, run.machine.threads
    if not cores or not threads or threads <= cores:
        return False
    most = max(
        (
            max(Counter(rank.host for rank in launch.ranks if rank.rank < ranks).values(), default=0)
            for launch in launches
        ),
        default=0,
    )
    return most > int(cores)


def _unsteady(curve: Curve) -> Iterator[str]:
    """Yield a caveat if launches differ: with exclusive cores, their times would agree."""
    spread = {
        point.ranks: max(point.times) / min(point.times) - 1 for point in curve.points if len(point.times) > 1
    }
    unsteady = [ranks for ranks, share in spread.items() if share > _SPREAD]
    if unsteady:
        most = f"{100 * max(spread.values()):.0f} %"
        yield (
            f"launches on {_ranks(unsteady)} differ by up to {most}: others may have shared the cores or the "
            "network"
        )


def _clock(curve: Curve, runs: Sequence[Run], grids: Sequence[Grid]) -> Iterator[str]:
    clocks = {point.ranks: hertz for point in curve.points if (hertz := _hertz(point, grids)) is not None}
    if len(clocks) > 1:
        slowest, fastest = min(clocks, key=lambda p: clocks[p]), max(clocks, key=lambda p: clocks[p])
        if clocks[fastest] > (1 + _CLOCK_CHANGE) * clocks[slowest]:
            yield (
                "cycles in user code per second changed with the ranks: "
                f"{three_digits(clocks[fastest] / 1e9)} G/s on {fastest}, "
                f"{three_digits(clocks[slowest] / 1e9)} G/s on {slowest}; the clock was lower, or ranks "
                "waited in the kernel"
            )
        return
    governors = {run.machine.governor for run in runs}
    changing = sorted(governor for governor in governors if governor not in (None, "performance"))
    if changing:
        yield (
            f"the frequency may change with the ranks: its governor is {' and '.join(changing)}; fix it, or "
            "count cycles"
        )
    elif None in governors:
        yield (
            "it is unknown whether the frequency changed with the ranks: neither counters nor the governor "
            "can be read"
        )


def _hertz(point: Point, grids: Sequence[Grid]) -> float | None:
    """Return a rank's mean cycles in user code per second of its longest kernel; None without counters."""
    own = {grid.name: grid for grid in grids if (grid.run, grid.case) == (point.run, point.case)}
    counters, times = own.get("counters"), own.get("kernel_time")
    if counters is None or times is None or "cycles" not in counters.values_of("counter"):
        return None
    kernels = [name for name in counters.values_of("kernel") if name in times.values_of("kernel")]
    cycle, mean = counters.values_of("counter").index("cycles"), counters.values_of("statistic").index("mean")
    if not kernels:
        return None
    seconds = max(kernels, key=lambda name: float(times.median[times.values_of("kernel").index(name)]))
    time = float(times.median[times.values_of("kernel").index(seconds)])
    cycles = float(counters.median[counters.values_of("kernel").index(seconds), cycle, mean])
    return cycles / time if cycles > 0 and time > 0 else None


def _of_runs(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        for finding in data_quality.findings((), run, ()):
            if finding.kind in _OF_RUNS:
                yield f"{finding.headline[:1].lower()}{finding.headline[1:]}"


def _crossing(curve: Curve) -> Iterator[str]:
    """Yield a caveat that names the number of ranks from which messages cross the network."""
    alone = [point.ranks for point in curve.points if point.nodes == 1]
    beyond = [point.ranks for point in curve.points if point.nodes is not None and point.nodes > 1]
    if alone and beyond:
        fewer = f"up to {max(alone)} ranks share one node; " if max(alone) > 1 else ""
        yield f"{fewer}messages cross the network from {min(beyond)} ranks on"


def _ranks(counts: Sequence[int]) -> str:
    return f"{listed([str(count) for count in counts])} rank{'' if list(counts) == [1] else 's'}"
