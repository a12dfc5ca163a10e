"""Every benchmark runs on a modelled machine without hanging or crashing; checked payload arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kiviat.machine.modelled.machine import find_machine, load_machine
from tests.simulated.conftest import SMALL, Simulation, number

SKIPPED = {
    "noise": "have no noise",
    "hpo_recv": "cannot say what the overhead is",
    "hpo_send": "cannot say what the overhead is",
    **dict.fromkeys(("uniband", "biband"), "cannot say its rate"),
    "ibarrier": "does not synchronise",
    "latency_mt": "MPI_THREAD_MULTIPLE",
    "message_rate_mt": "MPI_THREAD_MULTIPLE",
    "congestion": "at least 4 ranks",
    "sick_links": "at least 4 ranks",
    **dict.fromkeys(("neighbor_allgather", "neighbor_alltoall"), "SMPI does not implement it"),
    **{
        f"{name}_persistent": f"this MPI has no MPI_{name.capitalize()}_init (of MPI 4.0)"
        for name in ("allgather", "allreduce", "alltoall", "barrier", "bcast")
    },
    "partitioned_pingpong": "this MPI has no MPI_Psend_init (of MPI 4.0)",
    "startup": "does not model how MPI starts",
}


def known(simulation: Simulation) -> list[dict[str, Any]]:
    done = simulation.run([(0, 0)], simulation.bench, "--describe")
    assert done.returncode == 0, done.stderr
    described: list[dict[str, Any]] = json.loads(done.stdout)
    return described


# Smallest problems: class S of NAS programs, few points of HPCCG, few cells of a liquid.
BRIEF = {"class": "S", "nx": 8, "ny": 8, "nz": 8}


def brief(benchmark: dict[str, Any]) -> str:
    own = {axis["name"] for axis in benchmark["axes"]}
    return "".join(f" {axis}={value}" for axis, value in BRIEF.items() if axis in own)


def lines(benchmarks: list[dict[str, Any]], sizes: tuple[int, ...], mode: str) -> list[str]:
    return [
        f"{one['name']} mode={mode}" + (f" bytes={size}" if size else "") + brief(one)
        for one in benchmarks
        for size in (sizes if one["sized"] else (0,))
    ]


def test_all_benchmarks_register(small: Simulation) -> None:
    """All benchmarks are registered in the simulated program.

    Linked as a static archive, the registry was silently empty.
    """
    names = {one["name"] for one in known(small)}
    assert {"pingpong", "b_eff", "allreduce", "accumulate", "hpo_send", "noise"} <= names
    assert len(names) >= 53


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_every_benchmark_runs_once(small: Simulation, ranks: int) -> None:
    """Every benchmark runs, even on 5 ranks, although SimGrid's long alltoall requires a power of two."""
    benchmarks = known(small)
    studies = {one["name"] for one in benchmarks if one["sampling"] == "study"}
    for result in small.cases(small.places(ranks), lines(benchmarks, (8, 65536), "once")):
        name = result["benchmark"]
        if result["outcome"] == "skipped":
            assert SKIPPED[name] in result["reason"]
        else:
            assert result["outcome"] == "ok", (name, result["reason"])
            assert result["metrics"], name
            assert result["check_reason"] in ("the simulator did not move payload", "no payload"), name
            if result["benchmark"] not in studies:
                assert [len(metric["samples"] or [0]) for metric in result["metrics"]] == [
                    1 for _ in result["metrics"]
                ], name


def test_each_group_has_a_time_of_its_own(small: Simulation) -> None:
    cases = [
        f"{name} mode=once bytes=8 group=2 report=all" for name in ("pingpong", "allreduce", "iallreduce")
    ]
    for result in small.cases(small.places(4), cases):
        times = [one["p50"] for one in result["metrics"] if one["name"].startswith("time_group_")]
        assert len(times) == 2 and max(times) == result["metrics"][0]["p50"], result["benchmark"]


@pytest.mark.parametrize("ranks", [2, 5, pytest.param(8, marks=pytest.mark.full)])
def test_payload_arrives_where_it_is_looked_at(small: Simulation, ranks: int) -> None:
    benchmarks = [one for one in known(small) if not one["threads"] and one["name"] != "noise"]
    verifying = small.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    results = verifying.cases(small.places(ranks), lines(benchmarks, (8, 4096), "once"), timeout_s=300)
    for result in results:
        if result["outcome"] != "skipped":
            assert result["check"] == "passed", (
                result["benchmark"],
                result["check_reason"],
                result["reason"],
            )
    assert sum(result["check"] == "passed" for result in results) > 0.8 * len(results)


def test_rings_of_two_ranks_follow_the_chosen_rule(small: Simulation) -> None:
    """In HPC Challenge, the only neighbour gets both messages, which overlap; by the common rule, one."""
    cases = ["ring mode=once", "ring mode=once rule=common"]
    hpcc, common = small.times(
        small.places(2), [f"{case} latency_rings=1 bandwidth_rings=1" for case in cases]
    )
    both = small.cases(small.places(2), cases)
    latency = [{one["name"]: one["p50"] for one in result["metrics"]}["natural_latency"] for result in both]
    assert 0.5 * latency[1] < latency[0] < 0.95 * latency[1]
    assert hpcc > 0.95 * common  # the link carries as many bytes a second either way


def test_a_model_without_costs_of_processors_cannot_tell_overheads(small: Simulation) -> None:
    """Models without `send`, `receive` and `after` once reported overhead 0 and availability 100 %."""
    free = Simulation(small.toolchain, small.bench, small.folder, find_machine("cray-opteron"))
    cases = ["hpo_send bytes=1024 mode=once", "hpo_recv bytes=1024 mode=once", "iallreduce bytes=8 mode=once"]
    send, receive, overlapped = free.cases(free.places(2), cases)
    for result in (send, receive):
        assert result["outcome"] == "skipped"
        assert result["reason"].startswith("the model takes no processor time for this message")
    # The difference of two simulated times is a rounding error rather than 0.
    sends = Simulation(small.toolchain, small.bench, small.folder, find_machine("fulhame"))
    (received,) = sends.cases([(0, 0), (1, 0)], ["hpo_recv bytes=1048576 mode=once"])
    assert received["reason"] == receive["reason"]
    metrics = [metric["name"] for metric in overlapped["metrics"]]
    assert metrics == ["time", "time_compute", "time_overlapped"]
    assert overlapped["notes"]["overlap"].startswith("unavailable: the simulator")


def test_streams_that_nothing_limits_have_no_rate(small: Simulation) -> None:
    """In a model based on ping-pong only, 64 messages within a node once took as long as one: 1 TB/s."""
    archer = Simulation(small.toolchain, small.bench, small.folder, find_machine("archer"))
    short, long = (f"uniband mode=once bytes={size}" for size in (8, 4194304))
    for result in archer.cases(archer.places(2), [short, long]):
        assert result["outcome"] == "skipped"
        assert result["reason"].endswith("so it cannot say its rate")
    between = archer.cases([(0, 0), (1, 0)], [short, long])
    assert [result["outcome"] for result in between] == ["skipped", "ok"]
    rates = {metric["name"]: metric["p50"] for metric in between[1]["metrics"]}
    assert rates["bandwidth"] == pytest.approx(8.33e9, rel=0.02)  # the adapter's rate
    # A single message is no stream, and messages that cross are known to take longer.
    for case in (f"{short} window=1", short.replace("uniband", "biband")):
        (result,) = archer.cases(archer.places(2), [case])
        assert result["outcome"] == "ok"


def test_cubes_are_cut_into_unequal_cells(small: Simulation) -> None:
    """BT and SP are correct if cells, and so messages, differ in size: 12 points in 5 sections."""
    wide = Simulation(
        small.toolchain, small.bench, small.folder, load_machine(SMALL, {"node": {"count": number("16")}})
    )
    verifying = wide.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    for result in verifying.cases(wide.places(25), ["bt mode=once class=S", "sp mode=once class=S"]):
        assert (result["ranks"], result["check"]) == (25, "passed"), result["reason"]


def test_looking_at_payload_changes_no_time(small: Simulation) -> None:
    cases = [
        "pingpong bytes=4096 mode=once",
        "alltoall bytes=1024 mode=once",
        "b_eff version=quick mode=once",
    ]
    verifying = small.with_options(smpi__shared_malloc="off")
    verifying.environment = {"KIVIAT_VERIFY": "1"}
    assert verifying.times(small.places(4), cases) == small.times(small.places(4), cases)


@pytest.mark.parametrize("benchmark", ["fan_in", "fan_out"])
def test_all_others_share_the_link_of_rank_0(small: Simulation, benchmark: str) -> None:
    """Rank 0's link carries 1 GB/s from or to one other node, and no more from or to three."""
    apart = [(node, 0) for node in range(4)]
    (result,) = small.cases(apart, [f"{benchmark} mode=once bytes=1000000 window=8"])
    metrics = {one["name"]: one["p50"] for one in result["metrics"]}
    assert metrics["bandwidth_single"] == pytest.approx(1e9, rel=0.05)
    assert metrics["bandwidth"] == pytest.approx(1e9, rel=0.05)
    assert metrics["bandwidth_ratio"] == pytest.approx(1, abs=0.05)
    # Two more messages, of a millisecond each.
    assert metrics["round_trip"] - metrics["round_trip_single"] == pytest.approx(2e-3, rel=0.01)
    (table,) = (table for table in result["tables"] if table["name"] == "bandwidth")
    assert [axis["values"] for axis in table["axes"]] == [["1", "2", "3"]]
    assert table["values"][-1] == metrics["bandwidth"]


def test_persistent_messages_take_as_long_as_others(small: Simulation) -> None:
    (result,) = small.cases([(0, 0), (1, 0)], ["persistent_pingpong mode=once bytes=65536"])
    metrics = {one["name"]: one["p50"] for one in result["metrics"]}
    assert metrics["time"] == pytest.approx(metrics["time_nonblocking"], rel=1e-6)
    assert "gain" not in metrics and result["notes"]["gain"].startswith("unavailable")
