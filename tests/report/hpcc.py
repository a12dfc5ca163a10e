"""Synthetic runs of HPC Challenge's kernels, with round numbers that can be checked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kiviat.record import Row
from kiviat.record.run import Run

from .synthetic import make_run_json, row

# Four processes: HPL 40 Gflop/s in total, DGEMM 12.5 Gflop/s and STREAM copy 4 GB/s per process, etc.
KERNELS: Mapping[str, tuple[str, float, Mapping[str, Any]]] = {
    "hpl.rate": ("flop/s", 40e9, {"nb": 192}),
    "hpl.order": ("1", 10_000, {"nb": 192}),
    "dgemm.rate": ("flop/s", 12.5e9, {"n": 3200}),
    "dgemm.rate/single": ("flop/s", 16e9, {"n": 3200, "scope": "single"}),
    "stream.copy": ("B/s", 4e9, {}),
    "stream.triad": ("B/s", 5e9, {}),
    "stream.copy/single": ("B/s", 9e9, {"scope": "single"}),
    "stream.triad/single": ("B/s", 10e9, {"scope": "single"}),
    "ptrans.rate": ("B/s", 1e9, {}),
    "random_access.updates": ("1/s", 2e7, {}),
    "random_access.updates/star": ("1/s", 8e6, {"scope": "star"}),
    "random_access.updates/single": ("1/s", 2e7, {"scope": "single"}),
    "fft.rate": ("flop/s", 2e9, {}),
    "fft.rate/star": ("flop/s", 1e9, {"scope": "star", "n": 1 << 20}),
    "fft.rate/single": ("flop/s", 2e9, {"scope": "single", "n": 1 << 20}),
    "ring.random_bandwidth": ("B/s", 0.5e9, {}),
    "ring.random_latency": ("s", 5e-6, {}),
}


def hpcc_run_json(run: str = "run-a", ranks: int = 4, nodes: int = 2, **changes: Any) -> dict[str, Any]:
    launch = {
        "world": ranks,
        "ranks": [
            {
                "rank": rank,
                "host": f"n{rank * nodes // ranks}",
                "node": rank * nodes // ranks,
                "pid": 1,
                "cpus": "0",
            }
            for rank in range(ranks)
        ],
        **changes.pop("launch", {}),
    }
    return make_run_json(run, launch=launch, **changes)


def hpcc_run(*arguments: Any, **changes: Any) -> Run:
    """Parse `hpcc_run_json` into a `Run`."""
    return Run.from_json(hpcc_run_json(*arguments, **changes))


def hpcc_rows(
    run: str = "run-a",
    *,
    ranks: int = 4,
    launches: int = 6,
    scatter: float = 0.01,
    scale: Mapping[str, float] = {},
    without: tuple[str, ...] = (),
    **changes: Any,
) -> list[Row]:
    """Return rows of all kernels; `scale` multiplies values by key, `without` omits keys or benchmarks."""
    rows = []
    for key, (unit, value, axes) in KERNELS.items():
        name, _, _ = key.partition("/")
        benchmark, metric = name.split(".")
        if key in without or benchmark in without:
            continue
        words = "".join(f"/{axis}={value}" for axis, value in sorted(axes.items()))
        for launch in range(launches):
            off = 1 + scatter * (launch - (launches - 1) / 2) / max(1, launches - 1)
            rows.append(
                row(
                    run,
                    metric,
                    unit,
                    "lower" if unit == "s" else "higher",
                    value * scale.get(key, 1.0) * off,
                    case=f"{benchmark}/ranks={ranks}{words}",
                    benchmark=benchmark,
                    ranks=ranks,
                    bytes=None,
                    axes=axes,
                    launch=launch,
                    sync="barrier",
                    stopped_by="fixed",
                    **changes,
                )
            )
    return rows
