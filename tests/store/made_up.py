"""Fabricated machines, launches and records, for tests of the store and of the command line."""

from __future__ import annotations

from typing import Any

from kiviat.record import RECORD_SCHEMA, Metric, Record

MACHINE: dict[str, Any] = {
    "name": "testbed",
    **dict.fromkeys(("cpu", "sockets", "cores", "threads", "memory_bytes", "kernel", "os")),
    **dict.fromkeys(("virtualization", "governor")),
    "caches": [],
    "interfaces": [],
}
PLAN: dict[str, Any] = {"name": "test", "hash": "a" * 64, "definition": {}, "cases": 2}


def metric(name: str = "time", samples: tuple[float, ...] | None = (1e-6, 2e-6, 4e-6), **more: Any) -> Metric:
    values: dict[str, Any] = {
        "name": name,
        "unit": "s",
        "better": "lower",
        "per_call": False,
        "count": len(samples or ()),
        "mean": 2e-6,
        "min": 1e-6,
        "max": 4e-6,
        "p50": 2e-6,
        "p90": None,
        "p99": None,
        "ci_low": 1e-6,
        "ci_high": 4e-6,
        "from_": None,
        "samples": samples,
    }
    return Metric(**(values | more))


def record(run: str, case: str = "pingpong/ranks=2/bytes=8", launch: int | None = 0, **more: Any) -> Record:
    values: dict[str, Any] = {
        "schema": RECORD_SCHEMA,
        "run": run,
        "launch": launch,
        "case": case,
        "plan": PLAN["hash"],
        "version": "0.1.0",
        "substrate": "native",
        "clock": "wall",
        "benchmark": case.partition("/")[0],
        "ranks": 2,
        "bytes": 8,
        "axes": {},
        "mode": "adaptive",
        "sync": "batched",
        "outcome": "ok",
        "phase": None,
        "reason": None,
        "check": "passed",
        "check_reason": None,
        "stopped_by": "target",
        "batch": 128,
        "missed_windows": None,
        "clock_cost_s": 2.2e-8,
        "elapsed_s": 0.03,
        "oversubscribed": False,
        "started": "2026-01-01T00:00:00Z",
        "metrics": (metric(),),
    }
    return Record(**(values | more))


def launch(index: int, repetition: int, **more: Any) -> dict[str, Any]:
    return {
        "index": index,
        "repetition": repetition,
        "command": ["mpiexec", "-n", "2", "kiviat-bench"],
        "environment": {},
        "started": "2026-01-01T00:00:00Z",
        "ended": None,
        "exit": None,
        "outcome": "running",
        "reason": None,
        "mpi": "Open MPI",
        "mpi_version": "4.1.4",
        "library": None,
        "embedded": False,
        "toolchain": {},
        "compiler": None,
        "flags": None,
        "transport": {"near": None, "far": None, "fallback_to_tcp": None, "evidence": "made up"},
        "world": 2,
        "ranks": [],
        "clock_cost_s": None,
        "placement": None,
        "oversubscribed": False,
    } | more
