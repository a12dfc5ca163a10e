from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import parse
from kiviat.ingest.reported import PartlyReadError
from kiviat.record import InputError, Record

DATA = Path(__file__).parent / "data"

OLD = """\
# OSU MPI Latency Test v3.1.1
# Size            Latency (us)
0                         1.35
1                         1.36
"""
NON_BLOCKING = """\
# OSU MPI Non-blocking Allreduce Latency Test v5.6.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       8.77              5.32              4.43             22.08
"""


def cases(text: str, ranks: int | None = None) -> dict[str, Record]:
    return {record.case: record for record in parse(text, "x.txt", ranks)}


def values(record: Record) -> dict[str, float | None]:
    return {metric.name: metric.mean for metric in record.metrics}


def test_benchmarks_between_two_ranks_need_no_number_of_them() -> None:
    found = cases((DATA / "osu-7.4-pt2pt.txt").read_text())
    assert len(found) == 9  # osu_bw and osu_mbw_mr of one pair are the same cases
    time = found["pingpong/ranks=2/bytes=8"].metrics[0]
    assert (time.name, time.mean, time.p50) == ("time", pytest.approx(0.37e-6), pytest.approx(0.37e-6))
    assert (time.p90, time.p99, time.per_call) == (pytest.approx(0.45e-6), pytest.approx(0.48e-6), True)
    assert values(found["biband/ranks=2/bytes=16"]) == {"bandwidth": pytest.approx(121.06e6)}
    assert values(found["uniband/ranks=2/bytes=4"]) == {
        "bandwidth": pytest.approx(32.27e6),
        "message_rate": pytest.approx(8068165.92),
    }


def test_collectives() -> None:
    found = cases((DATA / "osu-7.4-collective.txt").read_text(), 2)
    assert values(found["latency/ranks=2/bytes=8"]) == {"time": pytest.approx(0.47e-6)}
    assert values(found["bcast/ranks=2/bytes=16"]) == {"time_rank_mean": pytest.approx(0.46e-6)}
    assert "alltoallv/ranks=2/bytes=4" in found
    assert values(found["barrier/ranks=2"]) == {"time_rank_mean": pytest.approx(0.43e-6)}
    allreduce = found["allreduce/ranks=2/bytes=4"]
    assert values(allreduce) == {
        "time_rank_mean": pytest.approx(0.97e-6),
        "time_rank_min": pytest.approx(0.95e-6),
        "time_rank_max": pytest.approx(0.99e-6),
    }
    assert (allreduce.check, allreduce.metrics[0].count) == ("passed", 200)


def test_collectives_need_the_number_of_ranks() -> None:
    with pytest.raises(
        InputError, match=r"x.txt line 4: .* do not print the number of ranks of latency; give --ranks"
    ):
        cases((DATA / "osu-7.4-collective.txt").read_text().lstrip("\n"))


def test_pairs_and_window_are_printed() -> None:
    text = (
        (DATA / "osu-7.4-pt2pt.txt")
        .read_text()
        .replace("pairs: 1 ] [ window size: 64", "pairs: 4 ] [ window size: 16")
    )
    assert "uniband/ranks=8/bytes=4/window=16" in cases(text)


def test_an_old_version() -> None:
    assert values(cases(OLD)["pingpong/ranks=2/bytes=1"]) == {"time": pytest.approx(1.36e-6)}


def test_non_blocking_collectives() -> None:
    assert values(cases(NON_BLOCKING, 4)["iallreduce/ranks=4/bytes=4"]) == {
        "time_overlapped": pytest.approx(8.77e-6),
        "time_compute": pytest.approx(5.32e-6),
        "time": pytest.approx(4.43e-6),
        "overlap": 22.08,
    }


def test_a_failed_validation_is_a_failed_check() -> None:
    text = (DATA / "osu-7.4-collective.txt").read_text().replace("Pass", "Fail", 1)
    record = cases(text, 2)["allreduce/ranks=2/bytes=4"]
    assert (record.outcome, record.check, record.phase) == ("failed", "failed", "check")


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"x.txt has no known format; kiviat reads the output of b_eff, GPCNeT, HPC"
    ):
        parse("hello\nworld\n", "x.txt")


ON_DEVICE = """\
# OSU MPI-CUDA Latency Test v5.9
# Send Buffer on {send} and Receive Buffer on {receive}
# Size          Latency (us)
8                       7.31
"""
OF_7 = """\
# OSU MPI-ROCM Bandwidth Test v7.4
# Datatype: MPI_INT.
# Send Buffer on MANAGED (MD) and Receive Buffer on MANAGED (MD)
# Size      Bandwidth (MB/s)
8                      12.64
"""
COLLECTIVE_ON_DEVICE = """\
# OSU MPI-CUDA Allreduce Latency Test v5.9
# Size       Avg Latency(us)
8                      31.23
"""


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (ON_DEVICE.format(send="DEVICE (D)", receive="DEVICE (D)"), "pingpong/ranks=2/bytes=8/buffer=device"),
        (
            ON_DEVICE.format(send="HOST (H)", receive="DEVICE (D)"),
            "pingpong/ranks=2/bytes=8/buffer=host-device",
        ),
        (ON_DEVICE.format(send="HOST (H)", receive="HOST (H)"), "pingpong/ranks=2/bytes=8"),
        (
            ON_DEVICE.format(send="MANAGED (M)", receive="MANAGED (M)"),
            "pingpong/ranks=2/bytes=8/buffer=managed",
        ),
        (OF_7, "uniband/ranks=2/bytes=8/buffer=managed_device/datatype=int"),
        (COLLECTIVE_ON_DEVICE, "allreduce/ranks=4/bytes=8/buffer=device"),
    ],
)
def test_buffers_of_accelerators_are_another_case(text: str, case: str) -> None:
    """Results of device buffers were once ingested as cases of host buffers, and compared with them."""
    assert list(cases(text, 4)) == [case]


PUT = """\
# OSU MPI_Put Latency Test v5.8
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size          Latency (us)
1                       0.30
"""
PUT_BOTH_WAYS = """\
# OSU MPI_Put Bi-directional Bandwidth Test v5.6.3
# Window creation: MPI_Win_create
# Synchronization: MPI_Win_post/start/complete/wait
# Size      Bandwidth (MB/s)
1                      43.58
"""
PERSISTENT = """\
# OSU MPI Latency Persistent Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       0.30
"""


@pytest.mark.parametrize(
    ("text", "case"),
    [
        (PUT, "put/ranks=2/bytes=1"),
        (PUT_BOTH_WAYS, "put/ranks=2/bytes=1/epoch=pscw/memory=create/ways=both/window=64"),
        (PERSISTENT, "pingpong/ranks=2/bytes=1/requests=persistent"),
    ],
)
def test_one_sided_operations_and_persistent_requests_are_no_ping_pong(text: str, case: str) -> None:
    """osu_put_latency and osu_latency_persistent were once ingested as "pingpong"."""
    assert list(cases(text)) == [case]


def table(title: str, rows: str, columns: str = "# Size          Latency (us)") -> str:
    return f"# OSU {title} v5.9\n{columns}\n{rows}"


OLD_PUT = "# OSU One Sided MPI_Put latency Test v3.6\n# Size            Latency (us)\n4    1.75\n"
SHMEM = table("OpenSHMEM Put Test", "8   0.99\n")


def test_rows_of_an_unknown_title_are_not_those_of_the_table_before() -> None:
    """Times of OpenSHMEM, and of MPI_Put in version 3, once became times of the ping-pong before."""
    text = OLD + OLD_PUT + SHMEM + "16   0.98\n"
    says = r"x.txt line 10: kiviat does not read the results of 'OSU OpenSHMEM Put Test v5.9'; remove them"
    with pytest.raises(PartlyReadError, match=says) as out:
        parse(text, "x.txt")
    assert [record.case for record in out.value.records] == [
        "pingpong/ranks=2/bytes=0",
        "pingpong/ranks=2/bytes=1",
        "put/ranks=2/bytes=4/epoch=pscw/memory=create",
    ]
    assert list(cases(OLD + "# OSU is a university\n")) == [
        "pingpong/ranks=2/bytes=0",
        "pingpong/ranks=2/bytes=1",
    ]


@pytest.mark.parametrize(
    ("title", "case"),
    [
        ("One Sided MPI_Get latency Test", "get/ranks=2/bytes=4/epoch=pscw/memory=create"),
        ("One Sided MPI_Get Passive latency Test", "get/ranks=2/bytes=4/epoch=lock/memory=create"),
        (
            "One Sided MPI_Put Passive Bandwidth Test",
            "put/ranks=2/bytes=4/epoch=lock/memory=create/window=32",
        ),
        ("MPI Multi Latency Test Test", "latency/ranks=4/bytes=4"),
        ("MPI Multi-process Latency Test", "osu_latency_mp/ranks=2/bytes=4"),
        ("MPI Partitioned Latency Test", "partitioned_pingpong/ranks=2/bytes=4"),
        ("MPI-CUDA Neighborhood Allgather Latency Test", "neighbor_allgather/ranks=4/bytes=4/buffer=device"),
        ("MPI Non-blocking Neighborhood Alltoallv Latency Test", "ineighbor_alltoallv/ranks=4/bytes=4"),
        ("MPI Some New Latency Test", "some_new/ranks=4/bytes=4"),
    ],
)
def test_titles_are_cases(title: str, case: str) -> None:
    assert list(cases(table(title, "4   1.75\n"), 4)) == [case]


def test_bandwidths_of_version_3_in_both_directions() -> None:
    text = table(
        "One Sided MPI_Put Bi-directional Bandwidth Test", "4  2.5\n", "# Size     Bi-Bandwidth (MB/s)"
    )
    ((case, record),) = cases(text).items()
    assert case == "put/ranks=2/bytes=4/epoch=pscw/memory=create/ways=both/window=32"
    assert values(record) == {"bandwidth": 2.5e6}


THREADS = "# Number of Sender threads: {} \n# Number of Receiver threads: {}\n"


def test_threads_are_an_axis() -> None:
    """Times of 1, 2 and 4 threads once counted as launches of one case, "multi-threaded"."""
    plain = table("MPI Multi-threaded Latency Test", "8   3.50\n")
    forks = THREADS.replace("Sender threads", "forked processes in sender").replace(
        "Receiver threads", "forked processes in receiver"
    )
    first, rest = table("MPI Multi-process Latency Test", "8   0.50\n").split("\n", 1)
    text = (
        *(THREADS.format(*threads) + plain for threads in ((1, 2), (4, 4))),
        f"{first}\n{forks.format(2, 2)}{rest}{plain}",
    )
    found = cases("".join(text))
    assert list(found) == [
        "osu_latency_mt/ranks=2/bytes=8/receivers=2/threads=1",
        "osu_latency_mt/ranks=2/bytes=8/threads=4",
        "osu_latency_mp/ranks=2/bytes=8/processes=2",
        "osu_latency_mt/ranks=2/bytes=8",
    ]
    assert values(found["osu_latency_mt/ranks=2/bytes=8/threads=4"]) == {"time": pytest.approx(3.5e-6)}


def test_the_head_of_ibarrier_is_no_comment() -> None:
    text = table(
        "MPI Non-blocking Barrier Latency Test",
        "                  9.10              5.20              4.40             11.40\n1700000000\n",
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)",
    )
    ((case, record),) = cases(text, 4).items()
    assert (case, values(record)["time"]) == ("ibarrier/ranks=4", pytest.approx(4.4e-6))


@pytest.mark.parametrize("after", ["1700000000\n", "0 errors\n", "# size of the job\n", "real 0.61\n"])
def test_what_follows_a_table_is_no_row(after: str) -> None:
    """The output of `date +%s` once became a result, and `0 errors` refused the file."""
    assert [record.bytes for record in parse(OLD + after, "x.txt")] == [0, 1]
    ended = after + "2    1.37\n"
    assert [record.bytes for record in parse(OLD + ended, "x.txt")] == [0, 1] + [2] * after.startswith("real")


def test_after_the_row_of_a_barrier_there_is_none() -> None:
    text = table("MPI Barrier Latency Test", "1.52\n1700000000\n", "# Avg Latency(us)")
    assert [values(record) for record in parse(text, "x.txt", 4)] == [
        {"time_rank_mean": pytest.approx(1.52e-6)}
    ]


@pytest.mark.parametrize("row", ["2", "2   1.5x7", "2   nan"])
def test_a_row_that_is_not_whole_is_refused(row: str) -> None:
    with pytest.raises(InputError, match=r"x.txt line 5.*is the file complete\?"):
        parse(OLD + row, "x.txt")
    with pytest.raises(InputError, match=r"line 5 has '4 8.77' for the columns Size, Overall\(us\), Compute"):
        parse(NON_BLOCKING[: NON_BLOCKING.rindex("4 ")] + "4   8.77\n", "x.txt", 4)
