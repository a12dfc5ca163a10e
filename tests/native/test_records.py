"""Every benchmark, in every mode and with each axis, gives valid records."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from kiviat.plan import RankRule
from kiviat.record import schema

from .conftest import BRIEF, Driven
from .test_faults import OPTIONAL

if TYPE_CHECKING:
    from .conftest import Native

IDENTITY = {
    "schema": "kiviat.record/1",
    "run": "r",
    "launch": 0,
    "plan": None,
    "version": "0.1.0",
    "substrate": "native",
    "clock": "wall",
    "started": None,
}


def record_of(result: dict[str, Any]) -> dict[str, Any]:
    return IDENTITY | {key: value for key, value in result.items() if key != "event"}


def cases_of(one: dict[str, Any]) -> list[str]:
    """Return cases in every mode and with every value of each axis, including cases that are skipped
    or fail.
    """
    name, brief = one["name"], one["brief"]
    axes = {axis["name"]: axis["values"] or [] for axis in one["axes"]}
    left_out = {"cache", *BRIEF}
    own = [f"{axis}={value}" for axis, values in axes.items() if axis not in left_out for value in values]
    sizes = (0, 64, 8192) if one["sized"] else (8192,)

    def of(axis: str) -> str:
        """Return the additional parameter that the axis `report` needs."""
        return " group=2" if axis.startswith("report=") else ""

    return [
        *(f"{name}/{size} {name} bytes={size} {brief} budget_s=0.01 min_samples=8" for size in sizes),
        *(f"{name}/{mode} {name} bytes=64 {brief} mode={mode} iterations=5" for mode in ("fixed", "pallas2")),
        *(f"{name}/{axis} {name} bytes=64 {brief} mode=fixed iterations=5 {axis}{of(axis)}" for axis in own),
        f"{name}/more {name} ranks=7",
        *(f"{name}/{kind} {name} bytes={size} {brief}" for kind, size in (("odd", "-1"), ("word", "x"))),
    ]


# Units of the tables that every benchmark with kernels has in addition to its own.
OF_KERNELS = {
    "kernel_time": {"s"},
    "energy": {"J"},
    "energy_by_source": {"J"},
    "power": {"W"},
    "memory_traffic": {"B"},
}


def check_figures(one: dict[str, Any], result: dict[str, Any]) -> None:
    """Check that the metrics are declared by the benchmark, that the first one has a value, and that tables
    are complete.
    """
    case = result["case"]
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    declared = [metric["name"] for metric in one["metrics"]]
    first = metrics[declared[0]]
    # Metrics that are differences, such as overhead, may be negative.
    assert first["p50"] is not None and (one["sampling"] == "study" or first["p50"] > 0), case
    assert first["count"] == len(first["samples"]), case
    # With report=all each group has its own metric, such as "time_group_0".
    base = {name: re.sub(r"_group_\d+$", "", name) for name in metrics}
    assert set(base.values()) <= set(declared), case
    if one["sampling"] != "study":
        assert result["tables"] == []
        # Only the bandwidth of empty messages may be missing.
        missing = set(declared) - set(metrics) if result["mode"] == "adaptive" else set()
        assert missing <= ({"bandwidth"} if result["bytes"] == 0 else set()), case
    units = {metric["name"]: (metric["unit"], metric["better"]) for metric in one["metrics"]}
    for name, metric in metrics.items():
        assert (metric["unit"], metric["better"]) == units[base[name]], (case, name)
    for table in result["tables"]:
        cells = math.prod(len(axis["values"]) for axis in table["axes"])
        assert table["axes"] and len(table["values"]) == cells, (case, table["name"])
        known = {unit for unit, _ in units.values()} | {"1"} | OF_KERNELS.get(table["name"], set())
        assert table["unit"] in known, (case, table["name"])


def check_records(results: list[dict[str, Any]]) -> None:
    validator = jsonschema.Draft202012Validator(schema("record"))
    for result in results:
        problems = [error.message for error in validator.iter_errors(record_of(result))]
        assert not problems, (result["case"], problems)


@pytest.mark.both_mpis
def test_every_benchmark_gives_a_valid_record(driven: Driven) -> None:
    known = driven.native.described()
    cases = [case for one in known.values() for case in cases_of(one)]
    cases += ["nothing nosuch bytes=8", "axis pingpong flavour=mild"]
    done = driven(2, *cases)
    assert done.returncode == 0, done.stderr
    assert len(driven.results) == len(cases)
    check_records(driven.results)
    for result in driven.results:
        case, kind = result["case"], result["case"].partition("/")[2]
        one = known.get(result["benchmark"])
        if one is None or kind == "":
            assert result["outcome"] == "failed" and result["phase"] == "setup" and result["reason"], case
        elif kind == "more":
            assert result["outcome"] == "skipped" and "the launch has 2" in result["reason"], case
        elif one["ranks"]["min"] > 2:
            assert result["outcome"] == "skipped" and "ranks" in result["reason"], case
        elif kind in {"odd", "word"} and one["sized"]:
            assert result["outcome"] == "failed" and result["phase"] == "setup" and result["reason"], case
        elif kind == "pallas2" and one["sampling"] in {"overlapped", "study"}:
            assert result["outcome"] == "skipped", case
        elif result["outcome"] == "skipped" and "this MPI has no" in result["reason"]:
            assert driven.native.toolchain.family in OPTIONAL[result["benchmark"]], case
        elif kind == "0" and result["outcome"] == "skipped":
            assert one["sampling"] == "study" and "bytes=0" in result["reason"], case
        else:
            assert result["outcome"] == "ok", (case, result["reason"])
            unchecked = one["unchecked"] or (one["sized"] and kind == "0")
            assert result["check"] == ("not run" if unchecked else "passed"), case
            check_figures(one, result)


def test_studies_at_all_numbers_of_ranks(native_openmpi: Native, tmp_path: Path) -> None:
    """Studies run on even, odd, prime and power-of-two numbers of ranks, with odd message sizes, and in
    groups. A single rank is skipped, and the reason says how many ranks are needed.
    """
    driven = Driven(native_openmpi, tmp_path)
    studies = {name: one for name, one in native_openmpi.described().items() if one["sampling"] == "study"}
    driven(
        8,
        *(f"{name}/{ranks} {name} ranks={ranks} bytes=513 {one['brief']}" for ranks in (1, 2, 3, 5, 8)
          for name, one in studies.items()),
        *(f"{name}/groups {name} group=4 bytes=512 {one['brief']}" for name, one in studies.items()),
    )  # fmt: skip
    assert driven.events[-1]["event"] == "end"
    check_records(driven.results)
    for result in driven.results:
        case, one = result["case"], studies[result["benchmark"]]
        rule = RankRule(**one["ranks"])
        if not rule.fits(4 if case.endswith("groups") else result["ranks"]) or rule.max == 1:
            assert result["outcome"] == "skipped" and "needs" in result["reason"], case
            continue
        if result["benchmark"] in OPTIONAL and "openmpi" in OPTIONAL[result["benchmark"]]:
            assert result["outcome"] == "skipped" and "this MPI has no" in result["reason"], case
            continue
        assert result["outcome"] == "ok", (case, result["reason"])
        assert result["check"] == ("not run" if one["unchecked"] else "passed"), case
        check_figures(one, result)
        if result["ranks"] == 8 and not case.endswith("groups"):
            missing = {each["name"] for each in one["metrics"]} - {each["name"] for each in result["metrics"]}
            # If ranks share cores, a message may seem to take no longer than the barrier before it; then
            # there is no availability.
            unavailable = {"availability"}
            if "sessions" in result["notes"]:
                assert "this MPI has no MPI_Session_init" in result["notes"]["sessions"]
                unavailable |= {name for name in missing if name != "init_time"}
            assert missing <= unavailable, case


def test_groups_that_need_unlike_numbers_of_rounds_do_not_wait_for_one_another(
    native_openmpi: Native, tmp_path: Path
) -> None:
    """Groups may need different numbers of rounds and do not wait for each other.

    A group that found its links healthy once continued, while the other repeated its measurement and hung.
    """
    driven = Driven(native_openmpi, tmp_path)
    # 1 % is below the noise, so the number of repeated measurements is random.
    words = "sick_links group=4 bytes=8 slower_by=1 pair_ms=1 long=4096"
    driven(8, *(f"{attempt} {words}" for attempt in range(60)))
    assert [result["outcome"] for result in driven.results] == ["ok"] * 60
