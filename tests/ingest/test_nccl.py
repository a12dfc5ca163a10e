"""nccl-tests and rccl-tests: layouts as their sources print them, numbers that agree with each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kiviat.ingest import parse
from kiviat.ingest.formats import nccl
from kiviat.record import InputError, Record

HEAD = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 \
validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  31839 on       n0 device  0 [0x07] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid  31840 on       n0 device  1 [0x46] NVIDIA A100-SXM4-40GB
#  Rank  2 Group  0 Pid  31841 on       n1 device  0 [0x85] NVIDIA A100-SXM4-40GB
#  Rank  3 Group  0 Pid  31842 on       n1 device  1 [0xc7] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
"""
HALF = "     time   algbw   busbw #wrong"
COLUMNS = f"""\
#       size         count      type   redop    root{HALF}{HALF}
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ALL_REDUCE = """\
           8             2     float     sum      -1   20.00   0.00   0.00      0   19.00   0.00   0.00      0
     1048576        262144     float     sum      -1   100.0  10.49  15.73      0   80.00  13.11  19.66      3
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 8.84
#
"""
# The size is that of all ranks' blocks; the smallest has less than one element per rank.
ALL_GATHER = """\
           0             0     float    none      -1    5.00   0.00   0.00      0    5.00   0.00   0.00      0
     4194304        262144     float    none      -1   200.0  20.97  15.73      0   200.0  20.97  15.73    N/A
"""
NCCL = HEAD + COLUMNS + ALL_REDUCE


def cases(text: str, where: str = "x.txt", ranks: int | None = None, command: str = "") -> dict[str, Record]:
    return {record.case: record for record in parse(text, where, ranks, command)}


def values(record: Record) -> dict[str, float | None]:
    return {metric.name: metric.mean for metric in record.metrics}


def test_a_line_has_two_results_in_device_memory() -> None:
    found = cases(NCCL, "all_reduce.out")
    assert list(found) == [
        f"allreduce/ranks=4/bytes={size}/buffer=device/{in_place}library=nccl"
        for size in (8, 1048576)
        for in_place in ("", "in_place=true/")
    ]
    out, into = list(found.values())[2:]
    assert values(out) == {
        "time": pytest.approx(100e-6),
        "algorithm_bandwidth": pytest.approx(1048576 / 100e-6),
        "bus_bandwidth": pytest.approx(1048576 / 100e-6 * 2 * 3 / 4),
    }
    assert (out.check, out.outcome, out.metrics[0].count) == ("passed", "ok", 20)
    assert (into.check, into.reason) == ("failed", "3 elements were wrong")
    assert out.notes == {"device": "NVIDIA A100-SXM4-40GB"}


def test_bytes_of_a_gather_are_those_of_a_rank() -> None:
    found = cases(HEAD + COLUMNS + ALL_GATHER, "all_gather.out")
    out, into = found.values()
    assert out.case == "allgather/ranks=4/bytes=1048576/buffer=device/library=nccl"
    assert values(out)["bus_bandwidth"] == pytest.approx(4194304 / 200e-6 * 3 / 4)
    assert (out.check, into.check, into.check_reason) == ("passed", "not run", "not reported")


@pytest.mark.parametrize(
    ("before", "where", "command"),
    [
        ("# Collective test starting: all_gather_perf\n", "all_reduce/x.txt", ""),
        ("+ srun -l ./build/all_gather_perf -b 8 -e 1G\n", "x.txt", ""),
        ("", "x.txt", "mpirun -np 4 /opt/all_gather_perf -b 8"),
        ("", "n2.allgather.2024/x.txt", ""),
        ("", "all_reduce/all-gather_output.dat.3", ""),
    ],
)
def test_the_operation_is_named_by_title_command_or_file(before: str, where: str, command: str) -> None:
    text = before + HEAD + COLUMNS + ALL_GATHER
    assert {record.benchmark for record in cases(text, where, command=command).values()} == {"allgather"}


def test_a_reduction_is_known_by_its_bandwidths() -> None:
    assert {record.benchmark for record in cases(NCCL, "output.dat").values()} == {"allreduce"}
    scattered = NCCL.replace("10.49  15.73", "10.49  7.86").replace("13.11  19.66", "13.11  9.83")
    assert {record.benchmark for record in cases(scattered, "output.dat").values()} == {"reduce_scatter"}


def test_what_nothing_names_is_refused() -> None:
    with pytest.raises(InputError, match=r"output.dat line 10: nothing names the operation of this table"):
        parse(HEAD + COLUMNS + ALL_GATHER, "output.dat")


def test_another_operation_or_number_of_ranks_is_noticed() -> None:
    """The `-n 24` of `srun all_reduce_perf -n 24` was once taken for the launcher's."""
    with pytest.raises(
        InputError, match=r"line 13: busbw is 15.73, but allgather of 1048576 bytes on 4 rank"
    ):
        parse(NCCL, "all_gather.out")
    with pytest.raises(InputError, match=r"line 4: busbw is 15.73, but allreduce .* on 24 ranks"):
        parse(COLUMNS + ALL_REDUCE, "all_reduce.out", 24)


def test_derived_tables_need_the_number_of_ranks() -> None:
    whole = cases(NCCL, "all_reduce.out")
    bare = (
        (COLUMNS + ALL_REDUCE).replace("#       size", "        size").replace("#        (B)", "         (B)")
    )
    table = "\n".join(",".join(line.split()) for line in bare.splitlines() if line[:12].strip()[:1].isdigit())
    comma = "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n" + table
    for text in (bare, comma):
        found = cases(text, "all_reduce.csv", ranks=4)
        assert [values(one) for one in found.values()] == [values(one) for one in whole.values()]
        with pytest.raises(InputError, match=r"all_reduce.csv line 1: this table lacks the number of ranks"):
            parse(text, "all_reduce.csv")


def test_labels_of_ranks_are_no_part_of_the_output() -> None:
    labelled = "".join(f" 0: {line}\n" for line in NCCL.splitlines())
    assert cases("+ export X=1\n" + labelled, "all_reduce.out").keys() == cases(NCCL, "all_reduce.out").keys()
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in NCCL.splitlines())
    assert cases(tagged, "all_reduce.out").keys() == cases(NCCL, "all_reduce.out").keys()


def test_an_old_version_prints_errors_and_no_root() -> None:
    text = HEAD + COLUMNS.replace("    root", "").replace("#wrong", " error")
    text += "  1048576  262144  float  sum  100.0  10.49  15.73  2e-07  80.00  13.11  19.66  N/A\n"
    found = cases(text, "all_reduce.out")
    assert {record.check for record in found.values()} == {"not run"}


def test_rccl_and_its_tables_of_one_result() -> None:
    text = (
        HEAD.replace("NVIDIA A100-SXM4-40GB", "AMD Instinct MI250X")
        .replace("# Using", "rccl-tests: Version develop:abc\n# Using")
        .replace("out-of-place         ", "        ")
    )
    text += COLUMNS.replace(HALF, "", 1)
    text += "     1048576        262144    double     max      -1    100.0   10.49   15.73      0\n"
    (case,) = cases(text, "all_reduce.out")
    assert case == (
        "allreduce/ranks=4/bytes=1048576/buffer=device/datatype=double/in_place=true/library=rccl/redop=max"
    )


def test_a_table_that_ends_within_a_line_has_the_lines_before() -> None:
    cut = NCCL[: NCCL.index("80.00  13.11")]
    assert len(cases(cut, "all_reduce.out")) == 2
    with pytest.raises(InputError, match=r"x.txt looks like nccl-tests and rccl-tests, but holds no results"):
        parse(HEAD + COLUMNS, "x.txt", command="all_reduce_perf")


def document() -> dict[str, Any]:
    """A file of `-J`, version 3, as util.cu of nccl-tests writes it."""
    half = {"time": 100.0, "alg_bw": 10.48576, "bus_bw": 15.72864, "nwrong": 0.0}
    device = {"group": 0, "pid": 1, "device": 0, "device_hex": "0000:07:00", "device_info": "NVIDIA H100"}
    return {
        "version": 3,
        "start_time": "2026-07-01 10:00:00",
        "args": ["./build/all_reduce_perf", "-b", "8", "-J", "x.json"],
        "env": ["HOME=/root"],
        "nccl_version": 22805,
        "config": {
            "nthreads": 1,
            "ngpus": 2,
            "iterations": 20,
            "devices": [{"rank": 2 * n, "hostname": f"n{n}", **device} for n in range(2)],
        },
        "results": [
            {
                "size": 1048576,
                "count": 262144,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": half,
                "in_place": None,
                "actual_iterations": 20,
                "experiment_name": "AllReduce",
            }
        ],
        "out_of_bounds": {"count": 0, "okay": True},
    }


def test_json() -> None:
    (record,) = parse(json.dumps(document()), "x.json")
    assert record.case == "allreduce/ranks=4/bytes=1048576/buffer=device/library=nccl"
    assert values(record)["bus_bandwidth"] == pytest.approx(15.72864e9)
    assert record.notes == {"device": "NVIDIA H100", "version": "nccl 22805"}


@pytest.mark.parametrize("lost", ["config", "results", "args"])
def test_json_that_lacks_a_part_is_refused(lost: str) -> None:
    data = document()
    data[lost] = None
    with pytest.raises(InputError, match=r"^x\.json"):
        parse(json.dumps(data), "x.json")


def test_the_mark_of_a_head_may_be_joined_to_its_first_column() -> None:
    """A table that began with "#size" was recognised, but then raised a KeyError."""
    row = "1048576 262144 float sum -1 100.0 10.49 15.73 0\n"
    text = "#size count type redop root time algbw busbw #wrong\n" + row
    for name in ("all_reduce.out", "x.out"):
        (found,) = cases(text, name, ranks=4).values()
        assert (found.bytes, found.benchmark, found.check) == (1048576, "allreduce", "passed")


def test_it_recognises_its_own() -> None:
    assert nccl.sniff(NCCL) and nccl.sniff(json.dumps(document()))
    assert not nccl.sniff("size of the count\n") and not nccl.sniff('{"version": 3, "results": []}')
