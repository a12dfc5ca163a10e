"""Synthetic studies: eight ranks on four nodes whose links are ten times slower than their memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from kiviat.record import Row, Table, TableRow
from kiviat.record.run import Run

from .synthetic import make_run_json, row

RANKS, NODES = 8, 4
SIZES = (8, 512, 32768, 1048576)
B_EFF_SIZES = tuple(1 << power for power in range(0, 21, 2))
NEAR, FAR = (0.4e-6, 8e9), (9e-6, 0.8e9)  # latency (s), bandwidth (B/s)

Values = Callable[..., float | None]


def study_run_json(run: str = "run-a", **changes: Any) -> dict[str, Any]:
    """Return a run.json in which rank r is on node r // 2 in every launch."""
    launch = {
        "world": RANKS,
        "ranks": [
            {"rank": rank, "host": f"n{rank // 2}", "node": rank // 2, "pid": 4700 + rank, "cpus": "0"}
            for rank in range(RANKS)
        ],
        **changes.pop("launch", {}),
    }
    return make_run_json(run, launch=launch, **changes)


def study_run(*arguments: Any, **changes: Any) -> Run:
    """Parse `study_run_json` into a `Run`."""
    return Run.from_json(study_run_json(*arguments, **changes))


def between(a: int, b: int) -> tuple[float, float]:
    return NEAR if a // 2 == b // 2 else FAR


def study_rows(run: str = "run-a", launches: int = 6, speed: float = 1.0, **changes: Any) -> list[Row]:
    """Return rows with the metrics of all studies; `changes` replaces fields of every row."""
    rows: list[Row] = []

    def add(case: str, bytes_: int | None, metrics: dict[str, tuple[str, float]]) -> None:
        fields = {"case": case, "benchmark": case.split("/", maxsplit=1)[0], "ranks": RANKS, "bytes": bytes_}
        fields |= {"sync": "barrier", "stopped_by": "fixed", **changes}
        for launch, (name, (unit, value)) in product(range(launches), metrics.items()):
            rng = random.Random(f"{case} {name} {launch} {run}")
            better = "higher" if unit in ("B/s", "%") or name.endswith("first") else "lower"
            scale = speed if unit == "B/s" else 1 / speed if unit == "s" else 1.0
            drawn = value * scale * (1 + rng.gauss(0, 0.01))
            rows.append(row(run, name, unit, better, drawn, launch=launch, **fields))

    for case, share in (("b_eff/ranks=8", 1.0), ("b_eff/ranks=8/version=quick", 1.03)):
        whole = {"b_eff": 1.1e9, "rings": 1.6e9, "randoms": 0.75e9, "at_lmax": 4e9, "rings_at_lmax": 6.4e9}
        rates = {name: value * share for name, value in whole.items()}
        rates |= {
            f"{name}_per_process": rates[name] / RANKS for name in ("b_eff", "at_lmax", "rings_at_lmax")
        }
        rates |= {"pingpong_bandwidth": NEAR[1], "worst_order": 0.6e9, "grid_2d": 0.7e9, "grid_3d": 0.65e9}
        metrics = {name: ("B/s", value) for name, value in rates.items()} | {
            "pingpong_latency": ("s", NEAR[0])
        }
        axes = changes.get("axes", {})
        changes["axes"] = {"version": "quick"} if "quick" in case else {}
        add(case, None, metrics)
        changes["axes"] = axes
    add(
        "ring/ranks=8",
        None,
        {
            "random_bandwidth": ("B/s", 0.4e9),
            "random_latency": ("s", 14e-6),
            "natural_bandwidth": ("B/s", 0.8e9),
            "natural_latency": ("s", 9e-6),
        },
    )
    for size in SIZES:
        most = FAR[1] * size / (size + 8192)
        for name in ("total_exchange", "pairwise", "cumulative", "random"):
            metrics = {"bandwidth": ("B/s", most), "total_bandwidth": ("B/s", 8 * most)}
            metrics |= {"bandwidth_min": ("B/s", 0.6 * most), "bandwidth_max": ("B/s", 2 * most)}
            if name == "cumulative":
                metrics["last_to_first"] = ("1", 0.5)
            elif name != "random":
                metrics["middle_to_first"] = ("1", 0.55)
            add(f"dense_{name}/ranks=8/bytes={size}", size, metrics)
    add(
        "distance/ranks=8",
        None,
        {
            "nearest_latency": ("s", NEAR[0]),
            "farthest_latency": ("s", FAR[0]),
            "nearest_bandwidth": ("B/s", NEAR[1]),
            "farthest_bandwidth": ("B/s", FAR[1]),
        },
    )
    add("all_pairs/ranks=8", None, {"latency_median": ("s", FAR[0]), "bandwidth_median": ("B/s", FAR[1])})
    add("streaming/ranks=8", None, {"pair_bandwidth": ("B/s", 0.75e9), "total_bandwidth": ("B/s", 3e9)})
    add(
        "bisection/ranks=8",
        None,
        {
            "bandwidth": ("B/s", 3e9),
            "random_bandwidth_min": ("B/s", 2.8e9),
            "random_bandwidth_max": ("B/s", 6e9),
        },
    )
    add(
        "sick_links/ranks=8",
        None,
        {"slowdown_max": ("1", 1.8), "slow_ranks": ("1", 1.0), "slow_links": ("1", 1.0)},
    )
    add(
        "noise/ranks=8",
        None,
        {
            "noise": ("%", 0.6),
            "noise_max": ("%", 3.1),
            "detour_max": ("s", 800e-6),
            "detour_rate": ("1/s", 90.0),
        },
    )
    alone = {"latency": ("s", 10e-6), "bandwidth": ("B/s", 0.7e9), "allreduce": ("s", 30e-6)}
    congested = {f"{name}_alone": value for name, value in alone.items()}
    congested |= {
        f"{name}_alone_p99": (unit, value / 2 if unit == "B/s" else 2 * value)
        for name, (unit, value) in alone.items()
    }
    congested |= {f"{name}_incast": (unit, 3 * value) for name, (unit, value) in alone.items()}
    add("congestion/ranks=8", None, {"impact": ("1", 14.0), **congested})
    for size in (0, *SIZES):
        base = FAR[0] + size / FAR[1]
        for side, share in (("send", 0.2), ("recv", 0.4)):
            available = 100 * (1 - share * 1e-6 / base)
            metrics = {
                "overhead": ("s", share * base),
                "availability": ("%", available),
                "availability_uncorrected": ("%", available + 3),
            }
            add(f"hpo_{side}/ranks=8/bytes={size}", size, metrics)
    return rows


def study_tables(run: str = "run-a", launches: int = 6, speed: float = 1.0) -> list[TableRow]:
    """The tables of all studies."""
    found: list[TableRow] = []
    ranks = range(RANKS)

    def add(
        case: str,
        name: str,
        unit: str,
        axes: dict[str, Iterable[object]],
        value: Values,
        bytes_: int | None = None,
    ) -> None:
        shape = tuple((axis, tuple(map(str, values))) for axis, values in axes.items())
        cells = list(product(*axes.values()))
        for launch in range(launches):
            rng = random.Random(f"{case} {name} {launch} {run}")
            scale, noise = {"B/s": (speed, 0.02), "s": (1 / speed, 0.02)}.get(unit, (1.0, 0.0))
            values = tuple(
                None if (one := value(*cell)) is None else one * scale * (1 + rng.gauss(0, noise))
                for cell in cells
            )
            better = "higher" if unit == "B/s" else "lower"
            found.append(table_row(run, launch, case, Table(name, unit, better, shape, values), bytes_))

    patterns = [f"rings of {size}" for size in (2, 4, 8, 8, 8, 8)]
    patterns += [f"random {number}" for number in range(30)] + ["worst order", "2-D grid", "3-D grid"]
    factors = dict(
        zip(
            patterns,
            [3, 2, 1.6, 1.6, 1.6, 1.6] + [0.7 + number / 100 for number in range(30)] + [0.6, 0.9, 0.8],
            strict=False,
        )
    )
    methods = {"sendrecv": 1.0, "alltoallv": 0.8, "nonblocking": 1.1}
    add(
        "b_eff/ranks=8",
        "bandwidth",
        "B/s",
        {"pattern": patterns, "bytes": B_EFF_SIZES, "method": methods},
        lambda pattern, size, method: (
            RANKS * FAR[1] * size / (size + 8192) * factors[pattern] * methods[method]
        ),
    )
    for size in SIZES:
        rate = FAR[1] * size / (size + 8192)
        phases: Sequence[tuple[str, int, Values]] = (
            ("total_exchange", 7, lambda k, rate=rate: rate * (2 if k in (1, 7) else 1)),
            ("pairwise", 7, lambda k, rate=rate: rate * (2 if k in (1, 7) else 0.9)),
            ("cumulative", 4, lambda k, rate=rate: rate / (1 if k == 1 else 2)),
            ("random", 16, lambda k, rate=rate: rate * (1 + k % 3 / 4)),
        )
        for name, count, value in phases:
            case = f"dense_{name}/ranks=8/bytes={size}"
            axes: dict[str, Iterable[object]] = {"phase": range(1, count + 1)}
            add(case, "bandwidth", "B/s", axes, value, size)
            add(case, "total_bandwidth", "B/s", axes, lambda k, each=value: 8 * (each(k) or 0), size)
    for name, unit, index in (("latency", "s", 0), ("bandwidth", "B/s", 1)):
        add("distance/ranks=8", name, unit, {"distance": (1, 2, 4)}, lambda d, i=index: between(0, d)[i])
        add(
            "all_pairs/ranks=8",
            name,
            unit,
            {"rank": ranks, "partner": ranks},
            lambda a, b, i=index: None if a == b else between(a, b)[i],
        )
    pairs = ("0-4", "1-5", "2-6", "3-7")
    add("streaming/ranks=8", "pair_bandwidth", "B/s", {"pair": pairs}, lambda _: 0.75e9)
    impacts = {"latency": 2.0, "bandwidth": 1.0, "allreduce": 14.0}
    loads = {"alltoall": 1.0, "incast": 0.8, "broadcast": 0.55}
    add(
        "congestion/ranks=8",
        "impact",
        "1",
        {"victim": impacts, "congestor": loads, "of": ("mean", "P99")},
        lambda victim, load, of: max(1.0, impacts[victim] * loads[load]) * (1 if of == "mean" else 3),
    )
    add("congestion/ranks=8", "victims", "1", {"rank": ranks}, lambda rank: float(rank in (2, 3)))
    quanta = {"minimum": 100e-6, "median": 100.2e-6, "P99": 108e-6, "maximum": 300e-6}
    add("noise/ranks=8", "noise", "%", {"rank": ranks}, lambda rank: 3.1 if rank == 5 else 0.2 + rank / 50)
    add(
        "noise/ranks=8",
        "quantum",
        "s",
        {"rank": ranks, "of quanta": quanta},
        lambda rank, of: quanta[of] * (1 + (of == "maximum") * rank / 4),
    )
    confident = {"factor": 1.8, "confidence": 0.999}
    of = ("latency", "bandwidth")
    case = "sick_links/ranks=8"
    exact = {"latency": 1.0, "bandwidth": 1.3}
    add(
        case,
        "rank_confidence",
        "exact",
        {"rank": ranks, "of": of},
        lambda r, o: 0.995 if (r, o) == (5, of[1]) else 0.1,
    )
    add(case, "slow_ranks", "1", {"rank": (5,), "of": of}, lambda _, o: exact[o] if o == of[1] else None)
    add(
        case,
        "slow_links",
        "exact",
        {"link": ("2-6 bandwidth",), "quantity": confident},
        lambda _, q: confident[q],
    )
    return found


def table_row(
    run: str, launch: int, case: str, table: Table, bytes_: int | None = None, **changes: Any
) -> TableRow:
    defaults: dict[str, Any] = {
        "clock": "wall",
        "ranks": RANKS,
        "axes": {},
        "outcome": "ok",
        "check": "passed",
        "oversubscribed": False,
    }
    fields = defaults | changes
    return TableRow(
        run=run,
        launch=launch,
        case=case,
        benchmark=case.split("/", maxsplit=1)[0],
        bytes=bytes_,
        table=table,
        **fields,
    )
