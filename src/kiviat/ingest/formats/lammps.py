"""LAMMPS: logs of any version since 2005 (see lammps_log.py), of its benchmarks and of other inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kiviat.ingest.lammps_log import LoggedRun, looks_like_log, read_log
from kiviat.ingest.lammps_problems import identified
from kiviat.ingest.reported import Case, record
from kiviat.record import Metric, Record, Table
from kiviat.record.types import Scalar

NAME = "LAMMPS (log.lammps)"


def sniff(text: str) -> bool:
    """True for a log of LAMMPS."""
    return looks_like_log(text)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each run in the log, which includes the number of ranks."""
    runs = read_log(text, where)
    return [_record(run, number if len(runs) > 1 else None) for number, run in enumerate(runs, 1)]


def metrics(run: LoggedRun) -> Iterator[Metric]:
    """Yield the metrics of a run; `rate` is in atom-steps per second. A run of no steps has no rates."""
    if run.steps:
        yield Metric.once("rate", "1/s", run.atoms * run.steps / run.loop_s, "higher", "time")
    yield Metric.once("time", "s", run.loop_s)
    if run.steps:
        yield Metric.once("step_rate", "1/s", run.steps / run.loop_s, "higher", "time")
    if run.speed:
        yield Metric.once(f"{run.speed_unit}_per_day", "1", run.speed, "higher", "time")
    for phase, times in run.phases.items():
        yield Metric.once(f"{phase}_time", "s", times.mean)
    if run.memory:
        mean, most = run.memory
        yield Metric.once("memory_rank", "B", mean)
        if most is not None:
            yield Metric.once("memory_rank_max", "B", most)


def phase_time(run: LoggedRun) -> Table:
    """Return the minimum, mean and maximum over ranks of the time of each phase."""
    columns = ("min", "mean", "max")
    cells = (value for times in run.phases.values() for value in (times.least, times.mean, times.most))
    axes = (("phase", tuple(run.phases)), ("statistic", columns))
    return Table("phase_time", "s", "lower", axes, tuple(cells))


def notes(run: LoggedRun) -> dict[str, str]:
    """Return the properties of a run that are not metrics, as texts by name."""
    texts = {"atoms": str(run.atoms), "steps": str(run.steps), "communication": "comm"}
    if run.version:
        texts["version"] = f"LAMMPS {run.version}"
    if run.threads > 1:
        texts["threads"] = f"{run.threads} of each rank"
    if run.neighbours is not None:
        texts["neighbours of an atom"] = f"{run.neighbours:g}"
    if run.builds is not None:
        texts["lists of neighbours built"] = str(run.builds)
    units = f" (units {run.units})" if run.units else ""
    for step, quantities in run.thermo.items():
        words = ", ".join(f"{name} {value:.10g}" for name, value in quantities.items())
        texts[f"thermo at step {step}{units}"] = words
    return texts


def _record(run: LoggedRun, number: int | None) -> Record:
    problem = identified(run)
    axes: dict[str, Scalar] = dict(problem.axes)
    if run.threads > 1:
        axes["threads"] = run.threads
    if number is not None:
        axes["part"] = number
    case = Case(problem.benchmark, run.ranks, None, axes)
    measured = record(case, list(metrics(run)), check=True if problem.known else None)
    texts = notes(run) | ({"scaling": problem.scaling} if problem.scaling else {})
    return replace(measured, tables=(phase_time(run),) if run.phases else (), notes=texts)
