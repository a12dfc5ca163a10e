"""Findings that a run must yield, and findings that it must not."""

from dataclasses import replace
from typing import Any

import pytest

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.all import Finding, findings, top
from kiviat.analysis.loggp import fit_loggp
from kiviat.record import Row, Table
from kiviat.record.run import Run
from kiviat.record.traits import Traits
from kiviat.record.units import counted
from tests.analysis.rows import case, curve, row
from tests.report.hpcc import hpcc_rows
from tests.report.studies import table_row
from tests.report.synthetic import with_launches

LINE = [(2**k, 2e-6 + 2**k / 10e9) for k in range(23)]
PINGPONG = curve(LINE)
TRANSPORT = {"near": "shm", "far": None, "fallback_to_tcp": False, "evidence": "ucx_info"}
LAUNCH = {"outcome": "ok", "reason": None, "embedded": False, "mpi": "MPICH", "transport": TRANSPORT}


def run(**changes: Any) -> Run:
    return with_launches([{**LAUNCH, **changes}] * 5, run="r")


def findings_of_kind(
    summaries: list[Summary], kind: str, rows: tuple[Row, ...] = (), **changes: Any
) -> list[Finding]:
    return [finding for finding in findings(summaries, [run(**changes)], rows) if finding.kind == kind]


def collective(benchmark: str, time: float, ranks: int, size: int | None = 8, **changes: Any) -> Summary:
    name = f"{benchmark}/ranks={ranks}/bytes={size}"
    return case([time] * 5, case=name, benchmark=benchmark, ranks=ranks, bytes=size, **changes)


def test_a_sound_run_tells_speed_and_nothing_else() -> None:
    told = findings(PINGPONG, [run()])
    assert [finding.kind for finding in told] == ["headline", "half-bandwidth"]
    assert told[0].headline == "Latency 2.00 µs (1 B), bandwidth up to 9.95 GB/s (4 MiB)"
    assert told[0].evidence == (
        ("pingpong/ranks=2/bytes=1", "time"),
        ("pingpong/ranks=2/bytes=4194304", "time"),
    )
    assert told[1].headline == "Half of the peak bandwidth needs messages of 19.3 KiB"


def test_no_findings_without_measurements() -> None:
    assert findings([], [run()]) == []


def test_falling_bandwidth_is_reported() -> None:
    falling = curve((size, time * (1 + size / 2e6)) for size, time in LINE)
    assert "At 4 MiB the bandwidth drops to" in findings_of_kind(falling, "headline")[0].detail


def test_protocol_switch() -> None:
    jumping = curve((size, time * (1.5 if size >= 65536 else 1)) for size, time in LINE)
    (finding,) = findings_of_kind(jumping, "protocol-switch")
    assert finding.headline == (
        "Protocol switch between 32 KiB and 64 KiB: messages take 1.50 times as long as smaller ones predict"
    )


def test_messages_both_ways() -> None:
    pingping = curve([(8, 2.1e-6), (65536, 2 * PINGPONG[16].median)], "pingping")
    exchange = curve([(8, 4.2e-6)], "exchange")
    told = findings_of_kind([*PINGPONG, *pingping, *exchange], "both-ways")
    assert (
        "pingping: simultaneous messages both ways take up to 2.00 times as long as one way (64 KiB)"
        in told[0].headline
    )
    assert "exchange: simultaneous messages both ways take up to 1.05 times" in told[1].headline


@pytest.mark.parametrize(
    ("benchmark", "messages"),
    [
        ("bcast", 2),
        ("allreduce", 4),
        ("iallreduce", 4),
        ("alltoallv", 3),
        ("gather", 3),
        ("ireduce_scatter", 4),
    ],
)
def test_slow_collectives(benchmark: str, messages: int) -> None:
    one = PINGPONG[3].median
    near = placed(0, 0, 0, 0)
    assert not findings_of_kind(
        [*PINGPONG, collective(benchmark, 2.9 * messages * one, 4)], "slow-collective", ranks=near
    )
    (finding,) = findings_of_kind(
        [*PINGPONG, collective(benchmark, 6 * messages * one, 4)], "slow-collective", ranks=near
    )
    assert f"{benchmark} of 8 B on 4 ranks takes 6.00 times as long" in finding.headline
    assert f"the {counted(messages, 'message')} in succession" in finding.detail
    assert finding.severity == "warning"


def test_what_is_slow_only_by_chance_or_disturbed_is_no_warning() -> None:
    """Four launches have no interval; and a disturbed collective once hid all slow ones."""
    near, times = placed(0, 0, 0, 0), [30e-6, 30e-6, 30e-6, 30e-6]
    few = case(times, case="bcast/ranks=4/bytes=8", benchmark="bcast", ranks=4, bytes=8)
    assert not findings_of_kind([*PINGPONG, few], "slow-collective", ranks=near)
    ring = case(times, case="sendrecv/ranks=2/bytes=8", benchmark="sendrecv", bytes=8)
    (told,) = findings_of_kind([*PINGPONG, ring], "both-ways", ranks=near)
    assert told.severity == "info"
    disturbed = collective("reduce", 90e-6, 4, disturbed="other programs used 1.00 of 2 processors")
    slow = collective("bcast", 30e-6, 4)
    (told,) = findings_of_kind([*PINGPONG, slow, disturbed], "slow-collective", ranks=near)
    assert told.headline.startswith("bcast of 8 B on 4 ranks takes")


def test_tables_reach_the_findings() -> None:
    axes = (("halves", ("fixed", "random 1", "random 2")),)
    table = Table("bandwidth", "B/s", "higher", axes, (4e9, 1e9, 3e9))
    tables = grids(table_row("r", launch, "bisection/ranks=8", table) for launch in range(5))
    extremes = [
        case([rate] * 5, case="bisection/ranks=8", benchmark="bisection", ranks=8, metric=metric, unit="B/s")
        for metric, rate in (("random_bandwidth_min", 1e9), ("random_bandwidth_max", 3e9))
    ]
    (told,) = [one for one in findings(extremes, [run()], (), tables) if one.kind == "bisection"]
    assert "1.00 GB/s to 3.00 GB/s" in told.headline and told.factor == 3.0


def placed(*nodes: int) -> list[dict[str, Any]]:
    """Return the ranks of a launch on these nodes."""
    return [{"rank": rank, "host": f"n{node}", "node": node} for rank, node in enumerate(nodes)]


NEAR = [case([2e-6] * 5)]
FAR = [case([8e-6] * 5, case="pingpong/ranks=2/distance=2", axes={"distance": 2, "world": 4})]


@pytest.mark.parametrize(
    ("pingpongs", "nodes", "factor", "both_ways"),
    [
        (NEAR, (0, 0, 0, 0), "10.0", ["warning"]),  # the barrier on 4 ranks takes two messages in succession
        (NEAR + FAR, (0, 0, 1, 1), None, ["info"]),  # 2.5 times those between nodes
        (NEAR, (0, 0, 1, 1), None, []),  # there is no ping-pong between nodes
        (NEAR, (0, 1, 0, 1), "10.0", ["warning"]),  # the ping-pong of ranks 0 and 1 is between nodes
        (NEAR + FAR, (), None, []),  # nodes are unknown
    ],
)
def test_collectives_across_nodes_are_compared_with_a_ping_pong_between_nodes(
    pingpongs: list[Summary], nodes: tuple[int, ...], factor: str | None, both_ways: list[str]
) -> None:
    """A normal barrier across nodes was once called slow beside a ping-pong within a node."""
    summaries = [*pingpongs, collective("barrier", 40e-6, 4, None)]
    found = findings_of_kind(summaries, "slow-collective", ranks=placed(*nodes))
    assert len(found) == (factor is not None)
    assert not factor or f"takes {factor} times as long as the ping-pong suggests" in found[0].headline
    ring = collective("sendrecv", 20e-6, 4)
    across = findings_of_kind([*pingpongs, ring], "both-ways", ranks=placed(*nodes))
    assert [one.severity for one in across] == both_ways


def test_a_barrier_has_no_size() -> None:
    (finding,) = findings_of_kind([*PINGPONG, collective("barrier", 100e-6, 2, None)], "slow-collective")
    assert "barrier on 2 ranks" in finding.headline


def test_ranks_that_are_no_power_of_two() -> None:
    sweep = [
        collective("allreduce", time, ranks) for ranks, time in [(2, 1e-6), (3, 4e-6), (4, 2e-6), (5, 9e-6)]
    ]
    (finding,) = findings_of_kind(sweep, "power-of-two")
    assert finding.headline == "allreduce of 8 B on 3 ranks takes 2.00 times as long as on 4"
    assert not findings_of_kind([*sweep[:1], collective("allreduce", 2.1e-6, 3), *sweep[2:]], "power-of-two")
    shaky = case([1.9e-6, 2e-6, 3e-6, 3e-6, 3e-6], case="x", benchmark="allreduce", ranks=3)
    assert not findings_of_kind([sweep[0], shaky, sweep[2]], "power-of-two")  # the intervals overlap


def test_oversubscribed_results_are_not_judged() -> None:
    crowded = [*curve(LINE, oversubscribed=True), collective("allreduce", 1.0, 4, oversubscribed=True)]
    told = findings(crowded, [run()])
    assert [finding.kind for finding in told] == ["oversubscribed", "headline"]
    assert "100 %" in told[0].headline
    assert told[1].headline.endswith("oversubscribed")


def test_two_modes() -> None:
    bimodal = case([1.0e-6, 1.01e-6, 0.5e-6, 1.02e-6, 1.0e-6])
    (finding,) = findings_of_kind([bimodal], "two-modes")
    assert (
        finding.headline == "1 of 5 launches is 2.00 times as fast as the others: pingpong of 8 B on 2 ranks"
    )
    assert "kiviat run --bind core" in finding.detail
    assert not findings_of_kind([bimodal], "unstable")
    worse = case([1e-6, 1e-6, 3e-6, 1e-6, 1e-6], case="bcast/ranks=2/bytes=8", benchmark="bcast")
    (finding,) = findings_of_kind([bimodal, worse], "two-modes")
    assert [name for name, _ in finding.evidence] == ["bcast/ranks=2/bytes=8", "pingpong/ranks=2/bytes=8"]
    assert finding.headline.startswith("1 of 5 launches is 3.00 times as slow as the others")


def test_scattered_launches_have_no_two_modes() -> None:
    scattered = case([1.0e-6, 1.4e-6, 2.1e-6, 2.9e-6, 4.0e-6])
    assert not findings_of_kind([scattered], "two-modes")
    assert findings_of_kind([scattered], "unstable")


def test_instability() -> None:
    (finding,) = findings_of_kind(
        [case([1.0e-6, 1.03e-6, 1.06e-6, 1.09e-6, 1.12e-6]), *PINGPONG[4:]], "unstable"
    )
    assert finding.headline == "Launches differ by more than 10 % in 1 of 20 cases"
    assert "1.00 µs to 1.12 µs" in finding.detail
    assert not findings_of_kind([case([1.0e-6, 1.02e-6, 1.04e-6, 1.06e-6, 1.08e-6])], "unstable")


def test_cases_that_did_not_converge() -> None:
    (finding,) = findings_of_kind([*PINGPONG, case([1e-6] * 5, stopped_by="budget")], "not-converged")
    assert finding.headline == "Sampling did not reach its target precision in 1 of 24 cases"
    assert not findings_of_kind([case([1e-6] * 5, stopped_by="budget", mode="fixed")], "not-converged")
    assert not findings_of_kind([case([1e-6] * 5, stopped_by=None, clock="reported")], "not-converged")


def test_too_few_launches() -> None:
    (finding,) = findings_of_kind([case([1e-6] * 4), *PINGPONG], "too-few-launches")
    assert finding.headline == "Fewer than 5 launches, so no interval, in 1 of 24 cases"
    assert not findings_of_kind([case([1e-6], clock="simulated")], "too-few-launches")
    study = [
        case([1e9] * 2, case="ring", benchmark="ring", metric=metric) for metric in ("natural", "random")
    ]
    (finding,) = findings_of_kind([*study, *PINGPONG], "too-few-launches")
    assert finding.headline.endswith("in 1 of 24 cases") and finding.evidence == (("ring", "natural"),)


def test_what_a_launch_warns_of() -> None:
    (embedded,) = findings_of_kind(PINGPONG, "embedded-mpi", embedded=True)
    assert embedded.headline == "Embedded MPICH: not for publication"
    (tcp,) = findings_of_kind(PINGPONG, "tcp-fallback", transport={**TRANSPORT, "fallback_to_tcp": True})
    assert "TCP" in tcp.headline and "ucx_info" in tcp.detail
    misplaced = {
        "policy": "cyclic",
        "binding": None,
        "nodes": [0, 1],
        "differences": ["1 rank shares a node"],
    }
    (elsewhere,) = findings_of_kind(PINGPONG, "misplaced", placement=misplaced)
    assert "in 5 of 5 launches" in elsewhere.headline and "1 rank shares a node." in elsewhere.detail
    assert not findings_of_kind(PINGPONG, "misplaced", placement={**misplaced, "differences": []})
    (failed,) = findings_of_kind(PINGPONG, "failed-launches", outcome="failed", reason="exit 9")
    assert "5 of 5 launches failed" in failed.headline and "exit 9" in failed.detail


def test_failures_and_skips() -> None:
    rows = (
        row(case="a", outcome="failed", phase="check", reason="byte 3 is 7, not 8", check="failed"),
        row(case="b", outcome="failed", phase="timing", reason="timed out", metric=None),
        row(case="b", launch=1, outcome="failed", phase="timing", reason="timed out", metric=None),
        row(case="c", outcome="skipped", phase="setup", reason="needs 4 ranks", metric=None),
        row(case="d"),
        row(case="e", run="another", outcome="failed"),
    )
    told = findings_of_kind([], "failures", rows)
    assert [finding.headline for finding in told] == [
        "Wrong data arrived in 1 case: byte 3 is 7, not 8",
        "1 case failed in timing: timed out",
        "1 case skipped: needs 4 ranks",
    ]
    assert [finding.severity for finding in told] == ["warning", "warning", "info"]
    assert told[1].evidence == (("b", "time"),)


def test_the_most_important_first() -> None:
    told = findings(PINGPONG, [run(embedded=True)], [row(check="failed")])
    assert [finding.kind for finding in top(told, 2)] == ["failures", "headline"]
    assert all(0 <= finding.importance <= 1 for finding in told)


def test_findings_of_several_runs_are_distinguished() -> None:
    summaries = [*PINGPONG, *curve([(size, 3 * time) for size, time in LINE], run="s")]
    told = findings(summaries, [run(), replace(run(), id="s")])
    assert [finding.headline[:21] for finding in told[:2]] == [
        "r: Latency 2.00 µs (1",
        "s: Latency 6.00 µs (1",
    ]


def test_a_time_of_zero_yields_no_ratio() -> None:
    """A measured time of 0 yields no ratio.

    A clock too coarse for a call, or a fabricated record, once raised ZeroDivisionError.
    """
    nothing = curve([(size, 0.0) for size in (1, 1024, 65536)])
    assert {finding.kind for finding in findings(nothing, [run()])} <= {"too-few-launches"}
    assert fit_loggp(nothing) is None


def test_what_was_disturbed_comes_first() -> None:
    """The finding about disturbances by other programs comes first, even before a fall-back to TCP.

    At load 30 the rate of NPB IS once fell from 318 to 1.6 Mop/s without any finding.
    """
    activity = {
        **dict.fromkeys(("load", "steal", "wait", "involuntary_switches", "throttled", "heat_throttles")),
        **dict.fromkeys(("frequency_min_hz", "frequency_max_hz")),
        "processors": 2.0,
        "others": 1.9,
        "disturbed": 7,
    }
    why: dict[str, Any] = {"disturbed": "other programs used 1.90 of 2 processors"}
    uneven = case([1e-6] * 4 + [9e-6], case="pingpong/ranks=2/bytes=3", stopped_by="budget", **why)
    slow = collective("allreduce", 1.0, 2, **why)
    failed = {**TRANSPORT, "fallback_to_tcp": True}
    told = findings([*curve(LINE[1:], **why), uneven, slow], [run(activity=activity, transport=failed)])
    kinds = {finding.kind for finding in told}  # no verdict on slow collectives, two modes, convergence
    assert kinds == {"disturbed", "tcp-fallback", "headline", "half-bandwidth"}
    assert told[0].kind == "disturbed"
    assert told[0].headline == "The machine was not idle: 24 of 24 cases were disturbed"
    assert "Other programs used up to 1.90 of 2 processors, in 5 of 5 launches." in told[0].detail
    assert not findings_of_kind(PINGPONG, "disturbed", activity={**activity, "disturbed": 0})


def test_programs_and_kernels_have_a_finding() -> None:
    """HPL is reported beside DGEMM, and programs by their time in messages, each on its most ranks."""
    (hpl,) = findings_of_kind(summarise(hpcc_rows("r")), "hpl")
    assert hpl.headline == "HPL 40.0 Gflop/s on 4 ranks: 80 % of their DGEMM rate"
    assert "STREAM triad 5.00 GB/s" in hpl.detail
    rates = [case([1e9] * 5, case=f"{name}/ranks=4", benchmark=name, ranks=4, metric="rate") for name in "ab"]
    run_of_two = replace(run(), benchmarks={name: Traits(phases={"sums": "communication"}) for name in "ab"})
    of_two = [_phases("a", 1.0), _phases("b", 3.0)]
    (told,) = [one for one in findings(rates, [run_of_two], (), of_two) if one.kind == "time-in-messages"]
    assert told.headline == "B spends 75 % of its time in messages, A 50 %"
    assert [name for name, _ in told.evidence] == ["b/ranks=4", "a/ranks=4"]
    assert told.detail.endswith("on 4 ranks: B 75 %, A 50 %.")
    rates[0] = replace(rates[0], ranks=2)
    (told,) = [one for one in findings(rates, [run_of_two], (), of_two) if one.kind == "time-in-messages"]
    assert told.detail.endswith("on the most ranks of each: B 75 % on 4, A 50 % on 2.")


def _phases(program: str, sums: float) -> Grid:
    axes = (("phase", ("work", "sums")), ("statistic", ("min", "mean", "max")))
    table = Table("phase_time", "s", "lower", axes, (1.0,) * 3 + (sums,) * 3)
    name = f"{program}/ranks=4"
    (grid,) = grids([table_row("r", 0, name, table, ranks=4)])
    return grid
