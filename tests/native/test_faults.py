"""Every benchmark's check detects a transport that corrupts, drops, truncates or repeats received data.

Delayed messages pass. All registered benchmarks are tested, so new ones are included automatically.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import BRIEF, CORES

if TYPE_CHECKING:
    from .conftest import Native

FAULTS = ("corrupt", "drop", "truncate", "duplicate")
# Benchmarks in which only one side receives. In all others both ranks receive, or only one if there is a
# root.
ONE_WAY = {
    "accumulate",
    "bcast_persistent",
    "fan_in",
    "fan_out",
    "get",
    "hpo_recv",
    "hpo_send",
    "put",
    "uniband",
}
# Benchmarks that post no receives: each operation of a window has memory of its own.
ONE_SIDED = {"accumulate", "get", "put"}
# Benchmarks of calls that some MPIs lack, where their cases are skipped with a reason.
OPTIONAL = {"partitioned_pingpong": {"openmpi"}}
# Benchmarks in which all ranks solve one problem, so damage to one rank's data affects the results of all.
SPREADING = {"fft", "gears", "hpccg", "lj", "bt", "cg", "ft", "is", "lu", "mg", "sp"}


def cases_of(description: Mapping[str, Any]) -> list[str]:
    """Return cases of a benchmark that cover small, medium and large messages, all values of its axes except
    those in BRIEF, and both roots.
    """
    name, element = description["name"], description["element_bytes"]
    axes = {
        axis["name"]: [value for value in axis["values"] or [] if value != axis["default"]]
        for axis in description["axes"]
        if axis["name"] not in BRIEF
    }
    common = f"{description['brief']} mode=fixed iterations=1 warmup=0" + " window=4" * ("window" in axes)
    variants = [f"bytes={size}" for size in (2 * element, 64, 40_000)] if description["sized"] else [""]
    last = variants[-1]
    group = max(2, description["ranks"]["min"])
    needed = {"report": f" group={group}"}  # with report=all, groups are required
    own = [(axis, value) for axis, values in axes.items() for value in values]
    variants += [f"{last} {axis}={value}{needed.get(axis, '')}" for axis, value in own]
    if "root" in axes:
        variants.append(f"{last} root=1")
    # Payload depends on the seed, so data left by the previous case is detected as wrong.
    return [f"{name}/{at} {name} {common} seed={at + 1} {words}" for at, words in enumerate(variants)]


def ranks_of(native: Native) -> dict[str, int]:
    """Return the number of ranks for each benchmark: two, or the minimum that it needs.

    MPICH gets at most one rank per core, because it spins and is then a hundred times slower than Open MPI.
    """
    least = {"any": 2, "powers_of_two": 2, "squares": 4}  # smallest numbers of ranks that communicate
    rules = {name: one["ranks"] for name, one in native.described().items()}
    ranks = {name: max(least[rule["numbers"]], rule["min"]) for name, rule in rules.items()}
    most = CORES if native.toolchain.family == "mpich" else max(ranks.values())
    return {name: number for name, number in ranks.items() if number <= max(2, most)}


def outcomes(
    native: Native, folder: Path, environment: Mapping[str, str | Path], whole: bool = True
) -> list[dict[str, Any]]:
    """Return the results of all cases that were not skipped, or of one case of each benchmark."""
    described = native.described()
    by_ranks: dict[int, list[str]] = {}
    for name, ranks in ranks_of(native).items():
        cases = cases_of(described[name])
        one = cases[1 if described[name]["sized"] else 0]  # 64 B
        by_ranks.setdefault(ranks, []).extend(cases if whole else [one])
    results = []
    for ranks, lines in by_ranks.items():
        file, out = folder / f"cases-{ranks}.txt", folder / f"events-{ranks}.jsonl"
        file.write_text("\n".join(line for line in lines if "cache=off" not in line) + "\n")
        done = native.run(ranks, native.program, "--cases", file, "--out", out, preload=environment)
        assert done.returncode == 0, done.stderr
        events = [json.loads(line) for line in out.read_text().splitlines()]
        assert events[-1]["event"] == "end"
        results += [one for one in events if one["event"] == "result" and one["outcome"] != "skipped"]
    return results


def carriers(native: Native) -> set[str]:
    """Return the benchmarks that check payload."""
    described = native.described().values()
    return {
        one["name"] for one in described if one["sized"] or (one["sampling"] == "study" and not one["silent"])
    }


def silent(native: Native) -> set[str]:
    return {one["name"] for one in native.described().values() if one["silent"]}


def says_nothing(result: Mapping[str, Any], unchecked: set[str]) -> bool:
    """Return whether the ranks of this case exchange no payload."""
    return result["benchmark"] in unchecked or result["axes"].get("scope") in ("single", "star")


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.full)])
def test_without_the_library_every_check_passes(native: Native, tmp_path: Path, whole: bool) -> None:
    results = outcomes(native, tmp_path, {"KIVIAT_FAULT": "corrupt"}, whole)
    unchecked = silent(native)
    wrong = {result["case"]: result["reason"] for result in results if result["check"] != "passed"}
    assert {case: why for case, why in wrong.items() if case.partition("/")[0] not in unchecked} == {}
    missing = {name for name, families in OPTIONAL.items() if native.toolchain.family in families}
    assert {result["benchmark"] for result in results} == set(ranks_of(native)) - missing


def test_a_library_that_does_nothing_changes_nothing(native: Native, tmp_path: Path) -> None:
    results = outcomes(native, tmp_path, {"LD_PRELOAD": native.faults})
    unchecked = silent(native)
    assert {result["check"] for result in results if result["benchmark"] not in unchecked} == {"passed"}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_check_notices(native: Native, tmp_path: Path, fault: str) -> None:
    results = outcomes(native, tmp_path, {"KIVIAT_FAULT": fault, "LD_PRELOAD": native.faults})
    carrying, unchecked = carriers(native), silent(native)
    for result in results:
        if says_nothing(result, unchecked):
            continue
        # These benchmarks have no payload that could be corrupted, but a barrier can be broken.
        noticed = fault == "drop" or result["benchmark"] in carrying
        expected = ("failed", "failed", "check") if noticed else ("ok", "passed", None)
        assert (result["outcome"], result["check"], result["phase"]) == expected, result["case"]
        if noticed:
            assert "rank" in result["reason"], result["case"]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.full)])
def test_late_messages_are_correct(native: Native, tmp_path: Path, whole: bool) -> None:
    """Messages that arrive half a millisecond late pass all checks, and are measured as slow."""
    results = outcomes(native, tmp_path, {"KIVIAT_FAULT": "delay", "LD_PRELOAD": native.faults}, whole)
    unchecked = silent(native)
    assert {one["case"]: one["reason"] for one in results if one["check"] == "failed"} == {}
    assert {one["check"] for one in results if one["benchmark"] not in unchecked} == {"passed"}
    times = [
        metric["p50"]
        for one in results
        if one["benchmark"] in ("pingpong", "bcast") and one["bytes"] == 64 and one["outcome"] == "ok"
        for metric in one["metrics"]
        if metric["name"] == "time"
    ]
    assert times and min(times) > 0.4e-3


def test_every_rank_that_receives_checks(native: Native, tmp_path: Path) -> None:
    """Damage to one rank's data is detected on each of the two ranks, or on one if only one receives."""
    noticed: dict[str, int] = {}
    one_way, unchecked = set(), silent(native)
    for rank in (0, 1):
        folder = tmp_path / str(rank)
        folder.mkdir()
        results = outcomes(
            native,
            folder,
            {"KIVIAT_FAULT": "corrupt", "KIVIAT_FAULT_RANK": str(rank), "LD_PRELOAD": native.faults},
        )
        for result in results:
            if says_nothing(result, unchecked):
                continue
            noticed[result["case"]] = noticed.get(result["case"], 0) + (result["check"] == "failed")
            if result["benchmark"] in ONE_WAY or result["axes"].get("ways") == "one":
                one_way.add(result["case"])
            if result["check"] == "failed" and result["benchmark"] not in SPREADING:
                assert f"rank {rank}" in result["reason"], result["case"]
    by_name, carrying = native.described(), carriers(native)
    for case, ranks in noticed.items():
        one = by_name[case.partition("/")[0]]
        if one["name"] in carrying:
            rooted = any(axis["name"] == "root" for axis in one["axes"])
            assert ranks == (1 if rooted or case in one_way else 2), case


def checks_of(native: Native, folder: Path, cases: list[str], fault: Mapping[str, str]) -> dict[str, str]:
    """Return the verdict of the check of each case, by its benchmark, with damage to messages."""
    file, out = folder / "cases.txt", folder / "events.jsonl"
    file.write_text("".join(f"{case.split()[0]} {case}\n" for case in cases))
    damage: dict[str, str | Path] = {**fault, "LD_PRELOAD": native.faults}
    words = ("--threads", "multiple", "--cases", file, "--out", out)
    done = native.run(2, native.program, *words, preload=damage)
    assert done.returncode == 0, done.stderr
    events = map(json.loads, out.read_text().splitlines())
    return {one["benchmark"]: one["check"] for one in events if one["event"] == "result"}


def test_every_message_of_a_window_is_checked(native: Native, tmp_path: Path) -> None:
    """Messages of a timed window share memory, where the last one hides that others never came."""
    windowed = {"message_rate_mt": ""} | {
        name: one["brief"]
        for name, one in native.described().items()
        if any(axis["name"] == "window" for axis in one["axes"]) and name not in ONE_SIDED
    }
    cases = [f"{name} bytes=64 window=8 mode=fixed iterations=1 {brief}" for name, brief in windowed.items()]
    found = checks_of(native, tmp_path, cases, {"KIVIAT_FAULT": "lose"})
    assert found.keys() >= {"uniband", "biband", "message_rate_mt", "fan_in", "fan_out"}
    assert set(found.values()) == {"failed"}, found


def test_calls_of_each_root_are_checked(native: Native, tmp_path: Path) -> None:
    """Roots rotate in mode pallas2, and with shift=1."""
    rooted = [
        f"{name} bytes=64 shift=1 mode=fixed iterations=2"
        for name, one in native.described().items()
        if any(axis["name"] == "shift" for axis in one["axes"])
    ]
    for root in ("0", "1"):
        found = checks_of(native, tmp_path, rooted, {"KIVIAT_FAULT": "corrupt", "KIVIAT_FAULT_ROOT": root})
        assert found.keys() >= {"bcast", "gather", "scatterv", "ireduce"}
        assert set(found.values()) == {"failed"}, (root, found)


def test_damage_from_the_middle_of_a_study_on_is_noticed(native: Native, tmp_path: Path) -> None:
    studies = [
        "dense_pairwise bytes=64 phase_ms=50",
        "dense_total_exchange bytes=64 phase_ms=50",
        "distance pair_ms=50 long=1024",
        "all_pairs pair_ms=50 long=1024",
        "pair_pingpong pair_ms=50 long=1024",
        "bisection halves=1 time_ms=50 long=1024",
        "streaming time_ms=50 long=1024",
    ]
    # The checks before timing need a few messages only.
    late = {"KIVIAT_FAULT": "corrupt", "KIVIAT_FAULT_FROM": "100"}
    found = checks_of(native, tmp_path, studies, late)
    assert found == dict.fromkeys((study.split()[0] for study in studies), "failed")


@pytest.mark.both_mpis
def test_a_library_that_leaves_old_data_is_found(native: Native, tmp_path: Path) -> None:
    """A persistent allgather of MPICH 4.0.2 leaves the data of its first start in place.

    All later starts return successfully, and as quickly as if they had worked.
    """
    file, out = tmp_path / "cases.txt", tmp_path / "events.jsonl"
    file.write_text("it allgather_persistent bytes=64 mode=fixed iterations=5\n")
    done = native.run(2, native.program, "--cases", file, "--out", out)
    assert done.returncode == 0, done.stderr
    (result,) = (one for one in map(json.loads, out.read_text().splitlines()) if one["event"] == "result")
    expected = ("failed", "check") if "allgather_persistent" in native.wrong else ("ok", None)
    assert (result["outcome"], result["phase"]) == expected, result["reason"]
