"""Synthetic runs: run.json contents, and rows with LogGP-like curves and a protocol switch."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kiviat.record import Row
from kiviat.record.run import Run

SIZES = [0, *(1 << power for power in range(23))]
POINT_TO_POINT = ("pingpong", "pingping", "sendrecv", "exchange")
COLLECTIVES = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
NON_BLOCKING = ("ibcast", "iallreduce")


def make_run_json(run: str = "run-a", **changes: Any) -> dict[str, Any]:
    """Return a run.json's contents; `changes` replaces top-level keys, `launch` keys of every launch."""
    launch_changes: Mapping[str, Any] = changes.pop("launch", {})
    launches = [
        {
            "index": index,
            "repetition": index,
            "command": [
                "mpiexec",
                "-n",
                "4",
                "kiviat-bench",
                "--cases",
                "cases.txt",
                "--out",
                "events.jsonl",
            ],
            "environment": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "UCX_TLS": "self,sm"},
            "started": f"2026-03-01T10:0{index % 10}:00Z",
            "ended": f"2026-03-01T10:0{index % 10}:40Z",
            "exit": 0,
            "outcome": "ok",
            "reason": None,
            "mpi": "Open MPI",
            "mpi_version": "4.1.4",
            "library": "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
            "embedded": False,
            "toolchain": {
                "mpicxx": "/usr/bin/mpicxx.openmpi",
                "mpiexec": "/usr/bin/mpiexec.openmpi",
                "chosen": "PATH",
            },
            "compiler": "GCC 12.2.0",
            "flags": "-O3 -DNDEBUG",
            "transport": {
                "near": "vader (shared memory)",
                "far": "ofi/verbs",
                "fallback_to_tcp": False,
                "evidence": "btl_base_verbose names vader for ranks 0-3",
            },
            "world": 4,
            "ranks": [
                {
                    "rank": rank,
                    "host": f"n{rank // 2}",
                    "node": rank // 2,
                    "pid": 4700 + rank,
                    "cpus": f"{rank % 2}",
                }
                for rank in range(4)
            ],
            "placement": None,
            "clock_cost_s": 2.2e-08,
            "oversubscribed": False,
            **launch_changes,
        }
        for index in range(changes.pop("launches", 6))
    ]
    return {
        "schema": "kiviat.run/1",
        "id": run,
        "state": "complete",
        "version": "0.1.0",
        "created": "2026-03-01T10:00:00Z",
        "finished": "2026-03-01T10:12:00Z",
        "substrate": "native",
        "clock": "wall",
        "plan": {
            "name": "standard",
            "hash": "9f2c" * 16,
            "definition": {"file": "standard.toml"},
            "cases": 240,
        },
        "machine": {
            "name": "hermes",
            "cpu": "AMD EPYC 7543 32-Core Processor",
            "sockets": 2,
            "cores": 64,
            "threads": 128,
            "memory_bytes": 256 * 2**30,
            "caches": [{"level": 3, "bytes": 32 * 2**20, "shared_by": 4}],
            "kernel": "Linux 6.1.0",
            "os": "Debian GNU/Linux 12",
            "virtualization": None,
            "governor": "performance",
            "interfaces": [{"name": "ib0", "kind": "infiniband", "speed_bits_per_s": 100_000_000_000}],
        },
        "launches": launches,
        **changes,
    }


def make_run(*arguments: Any, **changes: Any) -> Run:
    """Parse `make_run_json` into a `Run`."""
    return Run.from_json(make_run_json(*arguments, **changes))


def with_launches(launches: Iterable[Mapping[str, Any]], **changes: Any) -> Run:
    """Return a run of default launches, each updated by one of `launches`; `changes` updates the run."""
    base = make_run_json(launches=1, **changes)
    return Run.from_json({**base, "launches": [{**base["launches"][0], **one} for one in launches]})


def make_rows(
    run: str = "run-a",
    *,
    launches: int = 6,
    ranks: Iterable[int] = (2, 4),
    speed: float = 1.0,
    sizes: Iterable[int] = SIZES,
    seed: int = 1,
    **changes: Any,
) -> list[Row]:
    """Return rows of all benchmarks at every size and rank count; `changes` replaces fields of every row."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for launch in range(launches):
        drift = 1 + rng.gauss(0, 0.03)
        for case, benchmark, count, size, time in _cases(tuple(sizes), tuple(ranks)):
            seconds = time / speed * drift * (1 + rng.gauss(0, 0.01))
            fields: dict[str, Any] = dict(
                launch=launch, case=case, benchmark=benchmark, ranks=count, bytes=size, **changes
            )
            batched = benchmark in (*POINT_TO_POINT, "uniband", "biband")
            fields["sync"] = "batched" if batched else "window"
            rows.append(row(run, "time", "s", "lower", seconds, per_call=not batched, **fields))
            if batched and size:
                messages = {"exchange": 4, "sendrecv": 2, "uniband": 64, "biband": 128}.get(benchmark, 1)
                rows.append(row(run, "bandwidth", "B/s", "higher", messages * size / seconds, **fields))
            if benchmark in ("uniband", "biband"):
                rows.append(row(run, "message_rate", "1/s", "higher", 64 / seconds, **fields))
            if benchmark in (*COLLECTIVES, "barrier"):
                rows.append(row(run, "time_rank_max", "s", "lower", seconds * 0.98, per_call=True, **fields))
            if benchmark in NON_BLOCKING:
                share = 100 / (1 + math.exp(-(math.log2((size or 0) + 1) - 13) / 2))
                rows.append(row(run, "time_overlapped", "s", "lower", seconds * 1.2, per_call=True, **fields))
                rows.append(row(run, "overlap", "%", "higher", share, per_call=True, **fields))
    return rows


def row(
    run: str, metric: str | None, unit: str | None, better: str | None, value: float | None, **fields: Any
) -> Row:
    """Return one row; omitted fields get typical values."""

    def scaled(factor: float) -> float | None:
        return None if value is None else value * factor

    per_call = fields.get("per_call", False)
    defaults: dict[str, Any] = {
        "launch": 0,
        "substrate": "native",
        "clock": "wall",
        "case": "pingpong/ranks=2/bytes=8",
        "benchmark": "pingpong",
        "ranks": 2,
        "bytes": 8,
        "axes": {},
        "mode": "adaptive",
        "sync": "batched",
        "outcome": "ok",
        "phase": None,
        "reason": None,
        "check": "passed",
        "stopped_by": "target",
        "oversubscribed": False,
        "per_call": False,
        "count": 25,
        "mean": scaled(1.02),
        "min": scaled(0.95),
        "max": scaled(1.6),
        "p50": value,
        "p90": scaled(1.1) if per_call else None,
        "p99": scaled(1.4) if per_call else None,
        "ci_low": scaled(0.99),
        "ci_high": scaled(1.01),
    }
    return Row(run=run, metric=metric, unit=unit, better=better, **{**defaults, **fields})


def failed(run: str, case: str, reason: str, outcome: str = "failed", **fields: Any) -> Row:
    """The row of a case that gave no result."""
    return row(
        run,
        None,
        None,
        None,
        None,
        case=case,
        benchmark=case.split("/", maxsplit=1)[0],
        outcome=outcome,
        phase="setup" if outcome == "skipped" else "watchdog",
        reason=reason,
        check="not run",
        count=0,
        **fields,
    )


def many_rows(records: int) -> list[Row]:
    """Return the rows of `records` records: ten launches of `records` / 10 cases, several metrics each."""
    rng = random.Random(3)
    benchmarks = [f"{name}{variant}" for variant in range(12) for name in (*POINT_TO_POINT, *COLLECTIVES)]
    rows: list[Row] = []
    cases = [
        (f"{benchmark}/ranks={ranks}/bytes={size}", benchmark, ranks, size)
        for ranks in (2, 4, 8, 16, 32, 64, 128, 256)
        for size in SIZES
        for benchmark in benchmarks
    ][: records // 10]
    for launch in range(10):
        for case, benchmark, ranks, size in cases:
            seconds = _loggp(size) * math.log2(ranks) * (1 + rng.gauss(0, 0.03))
            fields: dict[str, Any] = {
                "launch": launch,
                "case": case,
                "benchmark": benchmark,
                "ranks": ranks,
                "bytes": size,
            }
            rows.append(row("run-a", "time", "s", "lower", seconds, **fields))
            if benchmark.startswith(COLLECTIVES):
                for name in ("mean", "max", "min"):
                    rows.append(row("run-a", f"time_rank_{name}", "s", "lower", seconds, **fields))
            else:
                rows.append(row("run-a", "bandwidth", "B/s", "higher", (size or 1) / seconds, **fields))
    return rows


def _loggp(size: int) -> float:
    """Return the seconds that a message takes: eager below 16 KiB, rendezvous from 16 KiB on."""
    eager = 0.9e-6 + size / 6e9
    return eager if size < 16384 else 2.4e-6 + size / 11.5e9


def _cases(
    sizes: tuple[int, ...], ranks: tuple[int, ...]
) -> Iterator[tuple[str, str, int, int | None, float]]:
    for size in sizes:
        time = _loggp(size)
        for benchmark, factor in zip(POINT_TO_POINT, (1, 1.1, 1.3, 2.2), strict=True):
            yield f"{benchmark}/ranks=2/bytes={size}", benchmark, 2, size, time * factor
        for benchmark, factor in (("uniband", 1.0), ("biband", 1.25)):
            yield f"{benchmark}/ranks=2/bytes={size}", benchmark, 2, size, (8e-6 + 64 * time / 4) * factor
        for count in ranks:
            for benchmark in COLLECTIVES:
                steps = count - 1 if benchmark.startswith("all") else math.log2(count)
                yield f"{benchmark}/ranks={count}/bytes={size}", benchmark, count, size, time * steps * 1.2
            for benchmark in NON_BLOCKING:
                yield (
                    f"{benchmark}/ranks={count}/bytes={size}",
                    benchmark,
                    count,
                    size,
                    time * math.log2(count) * 1.6,
                )
    for count in ranks:
        yield f"barrier/ranks={count}", "barrier", count, None, 0.8e-6 * math.log2(count)
