"""A large fabricated run: times are latency plus bytes over bandwidth, with noise."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kiviat.record import RECORD_SCHEMA, RUN_SCHEMA, Metric, Record
from kiviat.store.checksum import seal

LAUNCHES = 20
SAMPLES = 20
_NAME = "synthetic"
_POINT_TO_POINT = ("pingpong", "pingping", "sendrecv", "exchange", "uniband", "biband")
_COLLECTIVES = (
    *("bcast", "gather", "scatter", "reduce", "allreduce", "reduce_scatter"),
    *("allgather", "allgatherv", "alltoall", "alltoallv"),
)
_SIZES = (0, *(1 << power for power in range(23)))
_DISTANCES = tuple(1 << power for power in range(7))
_RANKS = tuple(1 << power for power in range(1, 8))


@dataclass(frozen=True)
class _Case:
    name: str
    benchmark: str
    ranks: int
    bytes: int
    axes: dict[str, int | str]

    @property
    def time_s(self) -> float:
        steps = math.log2(self.ranks) * (1 if self.benchmark in _POINT_TO_POINT else 2)
        return steps * (1.2e-6 + (1.5e-6 if self.bytes > 8192 else 0) + self.bytes / 1.1e10)


def write_run(path: Path, records: int) -> int:
    """Write a complete run with that many records; return the number of cases."""
    path.mkdir(parents=True)
    count = math.ceil(records / LAUNCHES)
    cases = [case for case, _ in zip(_cases(), range(count), strict=False)]
    if len(cases) < count:
        raise ValueError(f"{records} records need {count} cases; only {len(cases)} are made up")
    (path / "run.json").write_text(json.dumps(_run(len(cases)), indent=1) + "\n", encoding="utf-8")
    random = np.random.default_rng(1)
    with (path / "records.jsonl").open("wb") as file:
        written = 0
        for launch in range(LAUNCHES):
            for case in cases:
                if written < records:
                    record = _record(case, launch, random)
                    file.write(seal(record.to_json()))
                    written += 1
    return len(cases)


def _cases() -> Iterator[_Case]:
    """Return point-to-point cases over distances and buffers, and collective cases over ranks, roots, buffers
    and caches.
    """
    for variant in range(1000):
        buffers: dict[str, int | str] = {} if variant % 2 == 0 else {"buffer": "alloc_mem"}
        for benchmark in _POINT_TO_POINT:
            for distance in _DISTANCES:
                axes = buffers | ({"distance": distance} if distance > 1 else {})
                yield from _sizes(benchmark, 2, axes | _group(variant))
        for benchmark in _COLLECTIVES:
            for ranks in _RANKS:
                yield from _sizes(benchmark, ranks, buffers | _group(variant))


def _group(variant: int) -> dict[str, int | str]:
    return {} if variant < 2 else {"group": 1 << variant // 2}


def _sizes(benchmark: str, ranks: int, axes: dict[str, int | str]) -> Iterator[_Case]:
    for size in _SIZES:
        words = {"ranks": ranks, "bytes": size} | dict(sorted(axes.items()))
        name = "/".join([benchmark, *(f"{key}={value}" for key, value in words.items())])
        yield _Case(name, benchmark, ranks, size, axes)


def _record(case: _Case, launch: int, random: np.random.Generator) -> Record:
    point_to_point = case.benchmark in _POINT_TO_POINT
    noise = random.lognormal(0, 0.02, SAMPLES) * random.lognormal(0, 0.03)
    time = _measured("time", case.time_s * noise, per_call=not point_to_point)
    metrics = [time]
    if point_to_point:
        metrics += [_bandwidth(case, time)] if case.bytes else []
    else:
        for name, factor in (("mean", 0.95), ("max", 0.99), ("min", 0.9)):
            metrics.append(_measured(f"time_rank_{name}", case.time_s * factor * noise, per_call=True))
    return Record(
        schema=RECORD_SCHEMA,
        run=_NAME,
        launch=launch,
        case=case.name,
        plan="0" * 64,
        version="0.1.0",
        substrate="native",
        clock="wall",
        benchmark=case.benchmark,
        ranks=case.ranks,
        bytes=case.bytes,
        axes=case.axes,
        mode="adaptive",
        sync="batched" if point_to_point else "window",
        outcome="ok",
        phase=None,
        reason=None,
        check="passed" if case.bytes else "not run",
        check_reason=None if case.bytes else "no payload",
        stopped_by="target",
        batch=128 if point_to_point else None,
        missed_windows=None if point_to_point else 0,
        clock_cost_s=2.2e-8,
        elapsed_s=SAMPLES * case.time_s,
        oversubscribed=False,
        started="2026-01-01T00:00:00Z",
        metrics=tuple(metrics),
    )


def _measured(name: str, samples: np.ndarray[Any, np.dtype[np.float64]], per_call: bool) -> Metric:
    low, p50, p90, p99, high = np.quantile(samples, (0.3, 0.5, 0.9, 0.99, 0.7)).tolist()
    return Metric(
        name=name,
        unit="s",
        better="lower",
        per_call=per_call,
        count=len(samples),
        mean=float(samples.mean()),
        min=float(samples.min()),
        max=float(samples.max()),
        p50=p50,
        p90=p90 if per_call else None,
        p99=p99 if per_call else None,
        ci_low=low,
        ci_high=high,
        from_=None,
        samples=tuple(samples.tolist()),
    )


def _bandwidth(case: _Case, time: Metric) -> Metric:
    def rate(seconds: float | None) -> float | None:
        return None if seconds is None else case.bytes / seconds

    return Metric(
        name="bandwidth",
        unit="B/s",
        better="higher",
        per_call=False,
        count=time.count,
        mean=rate(time.mean),
        min=rate(time.max),
        max=rate(time.min),
        p50=rate(time.p50),
        p90=None,
        p99=None,
        ci_low=rate(time.ci_high),
        ci_high=rate(time.ci_low),
        from_="time",
        samples=None,
    )


def _run(cases: int) -> dict[str, Any]:
    return {
        "schema": RUN_SCHEMA,
        "id": _NAME,
        "state": "complete",
        "version": "0.1.0",
        "created": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T01:00:00Z",
        "substrate": "native",
        "clock": "wall",
        "plan": {"name": _NAME, "hash": "0" * 64, "definition": {"name": _NAME}, "cases": cases},
        "machine": {
            "name": _NAME,
            "cpu": "none",
            "sockets": 2,
            "cores": 128,
            "threads": 128,
            "memory_bytes": 2**38,
            "caches": [{"level": 3, "bytes": 2**25, "shared_by": 8}],
            "kernel": None,
            "os": None,
            "virtualization": None,
            "governor": None,
            "interfaces": [],
        },
        "launches": [_launch(index) for index in range(LAUNCHES)],
    }


def _launch(index: int) -> dict[str, Any]:
    return {
        "index": index,
        "repetition": index,
        "command": ["mpiexec", "-n", "128", "kiviat-bench", "--cases", "cases.txt"],
        "environment": {},
        "started": "2026-01-01T00:00:00Z",
        "ended": "2026-01-01T00:03:00Z",
        "exit": 0,
        "outcome": "ok",
        "reason": None,
        "mpi": "MPICH",
        "mpi_version": "4.0.2",
        "library": None,
        "embedded": False,
        "toolchain": {},
        "compiler": None,
        "flags": None,
        "transport": {"near": None, "far": None, "fallback_to_tcp": None, "evidence": "made up"},
        "world": 128,
        "ranks": [
            {"rank": rank, "host": f"n{rank // 64}", "pid": rank, "cpus": str(rank % 64)}
            for rank in range(128)
        ],
        "clock_cost_s": 2.2e-8,
        "placement": None,
        "oversubscribed": False,
    }
