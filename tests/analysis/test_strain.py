"""Findings about distance, threads, processor overhead, and slow ranks.

Each is reported with its cause, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.finding import Finding
from kiviat.analysis.findings.overhead_and_links import findings
from kiviat.record import TableRow
from tests.analysis.rows import case
from tests.analysis.test_contention import BLOCKED, CYCLIC, ONE_NODE, OWN_NODES, run, study
from tests.analysis.test_grids import sick_tables, table_row


def findings_of(
    summaries: Sequence[Summary], of: Sequence[int] | None = BLOCKED, tables: Sequence[Grid] = ()
) -> list[Finding]:
    return list(findings(summaries, tables, partial(nodes_of, run(of)), lambda rank: f"n{rank // 2}"))


def times(benchmark: str, value: float, **changes: object) -> Summary:
    return study(benchmark, "time", value, "s", **{"bytes": 8, "ranks": 2, "better": "lower", **changes})


def distance(near_s: float, far_s: float) -> list[Summary]:
    latencies = [
        study("distance", f"{end}_latency", value, "s", better="lower")
        for end, value in (("nearest", near_s), ("farthest", far_s))
    ]
    rates = [study("distance", "nearest_bandwidth", 8e9), study("distance", "farthest_bandwidth", 1e9)]
    return [*latencies, *rates]


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (BLOCKED, "the network causes the difference"),
        (OWN_NODES, "Ranks 0 and 1 are on different nodes, too"),
        (ONE_NODE, "All ranks are on one node: no network is involved"),
        (CYCLIC, "The farthest rank shares the node of rank 0, rank 1 does not"),
        ((0, 0, 1, 1, 0, 2, 3, 3), "Rank 0 and the farthest share a node"),
        (None, "Which ranks share a node is unknown"),
    ],
)
def test_distance_is_reported_with_the_nodes(of: Sequence[int] | None, why: str) -> None:
    (finding,) = findings_of(distance(1e-6, 20e-6), of)
    assert "20.0 times" in finding.headline and why in finding.detail
    assert "8.00 GB/s against 1.00 GB/s" in finding.detail and len(finding.evidence) == 4


def test_ranks_that_are_all_as_near() -> None:
    (finding,) = findings_of(distance(1e-6, 1.02e-6), ONE_NODE)
    assert "as long to the farthest rank as to the nearest" in finding.headline
    (finding,) = findings_of(distance(1e-6, 1.02e-6), BLOCKED)
    assert "the farthest is on another." in finding.detail and "causes" not in finding.detail


def test_latencies_that_overlap_leave_the_distance_open() -> None:
    """Twice the latency, with one fast launch, was once called as long as to the nearest rank."""
    near, far = (
        case(
            [value * 1e-6 for value in values],
            **{"benchmark": "distance", "metric": f"{end}_latency", "ranks": 8, "case": "distance/ranks=8"},
        )
        for end, values in (("nearest", [1.0] * 5), ("farthest", [0.9, 2.0, 2.0, 2.0, 2.0]))
    )
    (finding,) = findings_of([near, far])
    assert finding.headline.startswith("Cannot say whether short messages take longer to the farthest rank")
    assert finding.headline.endswith("2.00 times the latency of the nearest, interval 0.900 to 2.00")


def test_the_slowest_of_all_pairs_is_named_beside_the_fastest() -> None:
    """The page of all_pairs once had two maps, and no finding about them."""
    values = {"latency_min": (1e-6, "s"), "latency_max": (3e-6, "s")}
    values |= {"bandwidth_min": (1e9, "B/s"), "bandwidth_max": (8e9, "B/s")}
    summaries = [study("all_pairs", name, *value) for name, value in values.items()]
    ranks = tuple(map(str, range(8)))
    about = {"benchmark": "all_pairs", "case": "all_pairs/ranks=8", "ranks": 8, "bytes": None}

    def times(launch: int, slow: int, slow_s: float) -> TableRow:
        """Return a table in which rank 0 and `slow` take longer than all others."""
        seconds = [
            None if a == b else slow_s if {a, b} == {0, slow} else 1e-6 for a in range(8) for b in range(8)
        ]
        axes = (("rank", ranks), ("partner", ranks))
        made = table_row(launch, seconds, name="latency", table_axes=axes, **about)
        return replace(made, table=replace(made.table, unit="s", better="lower"))

    for by_chance in (
        grids(times(launch, 1 + launch, 3e-6) for launch in range(5)),  # a slowest one in each launch
        grids(times(launch, 7, 1.1e-6) for launch in range(5)),
    ):
        assert findings_of(summaries, tables=by_chance) == []
    (finding,) = findings_of(summaries, tables=grids(times(launch, 7, 3e-6) for launch in range(5)))
    assert finding.headline == "The slowest of all pairs of ranks has 3.00 times the latency of the fastest"
    assert finding.detail.startswith("1.00 µs to 3.00 µs for 8 B, 8.00 GB/s to 1.00 GB/s for long messages.")


def test_what_is_left_for_work() -> None:
    summaries = [
        study("hpo_send", "availability", 97.0, "%", bytes=1 << 22),
        study("hpo_recv", "availability", 4.0, "%", bytes=1 << 22),
        study("hpo_recv", "availability", 90.0, "%", bytes=8),
    ]
    (finding,) = findings_of(summaries)
    assert (
        finding.headline
        == "Available for computation during a 4 MiB message: 97.0 % when sending and 4.00 % when receiving"
    )
    assert "cannot distinguish the two" in finding.detail
    (good,) = findings_of(summaries[:1])
    assert "cost computation little" in good.detail
    loose = case(
        [5.0, 10.0, 20.0, 55.0, 60.0], benchmark="hpo_send", metric="availability", unit="%", ranks=8
    )
    (open_,) = findings_of([loose])
    assert "cannot be said: launches differ too much" in open_.detail
    (crowded,) = findings_of([study("hpo_recv", "availability", 4.0, "%", bytes=8, oversubscribed=True)])
    assert "how processes share processors" in crowded.detail and crowded.importance < finding.importance


def test_messages_that_cost_more_than_their_time() -> None:
    """A message that occupies the processor for longer than its own duration is reported with a factor.

    Eight ranks on two cores, reported as eight, once yielded "-160 % of the time is available for work".
    """
    (none,) = findings_of([study("hpo_recv", "availability", -12.0, "%", bytes=1 << 20)])
    assert "1 MiB message: nothing when receiving" in none.headline and "hides little" in none.detail
    (lost,) = findings_of([study("hpo_recv", "availability", -160.0, "%", bytes=1 << 20)])
    assert "2.60 times as long as alone" in lost.detail and lost.importance < none.importance


def test_threads() -> None:
    single = times("pingpong", 1e-6)
    one = times("latency_mt", 1.5e-6, case="latency_mt/threads=1", axes={"threads": "1"})
    two = times("latency_mt", 6e-6, case="latency_mt")
    several, locks = findings_of([single, two, one])[::-1]
    assert "MPI_THREAD_MULTIPLE makes a short message 1.50 times as slow" in locks.headline
    assert "4.00 times the latency of one" in several.headline
    assert findings_of([single, times("latency_mt", 1.05e-6, axes={"threads": 1})]) == []
    assert (
        findings_of([times("pingpong", 1e-6, bytes=64), one]) == []
    )  # nothing is compared, because sizes differ


def noise(mean: float, worst: float, of_ranks: Sequence[float], **changes: object) -> Finding:
    axes = (("rank", tuple(map(str, range(len(of_ranks))))),)
    fields = {"benchmark": "noise", "case": "noise/ranks=8", "name": "noise", "table_axes": axes}
    tables = grids(table_row(launch, of_ranks, **fields) for launch in range(5))
    summaries = [
        study("noise", "noise", mean, "%", **changes),
        study("noise", "noise_max", worst, "%", **changes),
        study("noise", "detour_max", 4e-3, "s", **changes),
    ]
    (finding,) = findings_of(summaries, tables=tables)
    return finding


def test_noise_names_the_core_that_is_disturbed() -> None:
    loud = noise(0.6, 4.1, [0.1, 0.1, 0.1, 4.1])
    assert loud.headline == "System noise takes 0.600 % of the processors' time, 4.10 % of the worst"
    assert loud.severity == "warning" and "rank 3 (n1): 4.10 %" in loud.detail and "4.00 ms" in loud.detail
    even = noise(0.3, 0.4, [0.3, 0.3, 0.3, 0.4])
    assert even.severity == "info" and "Worst:" not in even.detail
    crowded = noise(50.0, 60.0, [50.0, 50.0, 50.0, 60.0], oversubscribed=True)
    assert crowded.severity == "info" and "the ranks cause it themselves" in crowded.detail


def sickness(*named: tuple[list[str], list[int]], oversubscribed: bool = False) -> list[Finding]:
    tables = grids(row for launch, each in enumerate(named) for row in sick_tables(launch, *each))
    changes = {"case": "sick_links/ranks=4", "ranks": 4, "oversubscribed": oversubscribed}
    summaries = [
        study("sick_links", "slowdown_max", 3.0, "1", **changes),
        study("sick_links", "pairs_measured", 80.0, "%", **changes),
    ]
    return findings_of(summaries, tables=tables)


def test_the_slow_are_named_with_their_hosts() -> None:
    (finding,) = sickness((["0-2 latency"], [3]), ([], [3]), ([], [3]))
    assert finding.headline == "Rank 3 (n1) is 3.00 times as slow as others in bandwidth, and 1 more"
    assert finding.severity == "warning"
    assert "link 0-2 (n0, n1): 4.00 times in latency, in 1 of 3 launches, confidence 99.9 %" in finding.detail


def test_disturbances_in_one_launch_only_are_no_warning() -> None:
    (finding,) = sickness((["0-2 latency"], []), ([], []), ([], []))
    assert finding.severity == "info" and finding.headline.startswith("Link 0-2 (n0, n1)")
    (crowded,) = sickness(([], [3]), oversubscribed=True)
    assert crowded.severity == "info" and "may be chance" in crowded.detail


def test_no_rank_is_slow() -> None:
    (finding,) = sickness(([], []))
    assert finding.headline == "No slow rank or link among 4 ranks" and "80 % of pairs" in finding.detail


def test_no_findings_without_measurements() -> None:
    assert findings_of([]) == []
    assert findings_of([case([1e-6] * 5)]) == []
