"""Synthetic runs of programs on increasing numbers of ranks: known laws with some noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kiviat.analysis.scaling.series import Source
from kiviat.record import Row
from kiviat.record.run import Run

from .modelled import ONCE, simulated_run_json
from .synthetic import make_run_json, row

RANKS = (1, 2, 4, 8, 16, 32)
# Machines that a paper makes claims about, by the names it uses.
SICORTEX = "SiCortex SC072"
CLUSTER = "Sandia commodity cluster (2.2 GHz Opteron, Myri-10G)"
PER_NODE = 4


def scaling_run_json(
    run: str = "run-a", ranks: Iterable[int] = RANKS, repeats: int = 6, **changes: Any
) -> dict[str, Any]:
    """Return a run.json with a launch per rank count and repetition, four ranks to a two-socket node."""
    base = make_run_json(run, launches=1, **changes)
    launches: list[dict[str, Any]] = []
    for repetition in range(repeats):
        for count in ranks:
            where = [
                {
                    "rank": r,
                    "host": f"n{r // PER_NODE}",
                    "node": r // PER_NODE,
                    "pid": 1,
                    "cpus": str(r % PER_NODE),
                }
                | {"sockets": str(r % PER_NODE // 2)}
                for r in range(count)
            ]
            index = len(launches)
            launches.append(
                base["launches"][0]
                | {"index": index, "repetition": repetition, "world": count, "ranks": where}
            )
    return {**base, "launches": launches}


def scaling_run(*arguments: Any, **changes: Any) -> Run:
    """Parse `scaling_run_json` into a `Run`."""
    return Run.from_json(scaling_run_json(*arguments, **changes))


def scaling_rows(
    run: str,
    time: Callable[[int], float],
    *,
    benchmark: str = "cg",
    ranks: Iterable[int] = RANKS,
    work: float = 1e9,
    weak: bool = False,
    repeats: int = 6,
    noise: float = 0.01,
    axes: Mapping[str, Any] = {"class": "A"},
    seed: int = 1,
    **changes: Any,
) -> list[Row]:
    """Return `rate` (op/s) and `time` (s) of each launch, with three samples within 1 % of their median."""
    rng = random.Random(seed)
    ranks = list(ranks)
    rows = []
    for repetition in range(repeats):
        for place, count in enumerate(ranks):
            seconds = time(count) * (1 + rng.gauss(0, noise))
            rate = work * (count if weak else 1) / seconds
            words = "".join(f"/{name}={value}" for name, value in sorted(axes.items()))
            fields = {
                "case": f"{benchmark}/ranks={count}{words}",
                "benchmark": benchmark,
                "ranks": count,
                "bytes": None,
                "axes": axes,
                "launch": repetition * len(ranks) + place,
                "count": 3,
                "stopped_by": "fixed",
                **changes,
            }
            spread = 0.01 if changes.get("clock") != "simulated" else 0.0
            for name, unit, better, value in (
                ("rate", "op/s", "higher", rate),
                ("time", "s", "lower", seconds),
            ):
                ends = {"min": value * (1 - spread), "max": value * (1 + spread)}
                rows.append(row(run, name, unit, better, value, **{**fields, **ends}))
    return rows


def amdahl(serial: float, one: float = 100.0) -> Callable[[int], float]:
    """Return Amdahl's law as a function from ranks to seconds; `one` is the time on one rank."""
    return lambda ranks: one * (serial + (1 - serial) / ranks)


def source(run: Run, rows: list[Row], label: str | None = None) -> Source:
    from kiviat.report.facts.runs import labels

    return Source(label or labels([run])[0].label, (run,), rows)


def modelled(
    name: str, time: Callable[[int], float], ranks: Iterable[int] = (1, 8, 64), **about: Any
) -> Source:
    """Return predictions for a paper's machine: six cores per socket on the SiCortex, one on others."""
    cores, watts = (6, 15.0) if name == SICORTEX else (1, 115.0)
    named = [{"machine": name, "mode": ""}]
    run = simulated_run_json(
        name, name=name.split(maxsplit=1)[0], cores=cores, nodes=72 // cores, published=named
    )
    declared = {"value": watts, "per": "node", "source": "machine file"}
    launches = [
        {**run["launches"][0], "index": at, "world": count, "ranks": []}
        | {
            "placement": {
                **run["launches"][0]["placement"],
                "nodes": [rank // cores for rank in range(count)],
            }
        }
        for at, count in enumerate(ranks)
    ]
    run = {**run, "machine": {**run["machine"], "declared_watts": declared}, "launches": launches}
    return source(
        Run.from_json(run), program_rows(name, time, ranks, repeats=1, noise=0, count=1, **ONCE, **about)
    )


def program_rows(
    run: str,
    time: Callable[[int], float],
    ranks: Iterable[int],
    benchmark: str = "hpccg",
    kind: str = "weak",
    notes: dict[str, str] | None = None,
    **changes: Any,
) -> list[Row]:
    """Return rows of a program of ours whose `scaling` axis says how it scales."""
    unit = "flop/s" if benchmark == "hpccg" else "1/s"
    rows = scaling_rows(
        run, time, benchmark=benchmark, axes={"scaling": kind}, weak=kind == "weak", ranks=ranks, **changes
    )
    return [replace(row, notes=notes or {}, unit=unit if row.metric == "rate" else row.unit) for row in rows]
