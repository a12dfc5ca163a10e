from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import parse
from kiviat.ingest.formats import imb
from kiviat.record import InputError, Record

DATA = Path(__file__).parent / "data"

OLD = """\
#---------------------------------------------------
#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part
#---------------------------------------------------
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
      1048576           40       500.00      2000.00
"""
THREADS = """\
#-----------------------------------------------------------------------------
# Benchmarking PingPongMT
# #processes = 2 (threads: {})
#-----------------------------------------------------------------------------
         #bytes   #repetitions    t_min[usec]    t_max[usec]    t_avg[usec]     Mbytes/sec
             16             10            {}           4.00           3.00           4.00
"""
NON_BLOCKING = """\
#    Intel(R) MPI Benchmarks 2021.3, MPI-NBC part
#-----------------------------------------------------------------------------
# Benchmarking Iallreduce
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8         1000         5.00         3.00         2.90        31.03
"""
TROUBLE = """\
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
# Benchmarking Alltoall
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects
            8         1000         1.00         2.00         1.50         0.00
           16         1000         1.00         2.00         1.50         3.00
      4194304            10    out-of-mem.; needed X=      4.0 GB; use flag "-mem X" or MAX_MEM>=X
# All processes entering MPI_Finalize
mpiexec has exited due to process rank 0 with PID 17
"""


def cases(text: str) -> dict[str, Record]:
    return {record.case: record for record in parse(text, "x.txt")}


def mean(record: Record, name: str) -> float | None:
    metric = record.metric(name)
    return None if metric is None else metric.mean


def test_modes_of_one_sided_benchmarks_are_cases_of_their_own() -> None:
    """Aggregate and non-aggregate tables once became launches of one case, with a time found in neither."""
    table = "       #bytes #repetitions      t[usec]   Mbytes/sec\n            4         1000  {}  1.0\n"
    text = (
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-2 part\n# Benchmarking Unidir_Put\n# #processes = 2\n#\n"
        f"#    MODE: AGGREGATE \n#\n{table.format(0.5)}#\n#    MODE: NON-AGGREGATE \n#\n{table.format(9.5)}"
    )
    found = {record.axes["aggregate"]: mean(record, "time") for record in parse(text, "x.txt")}
    assert found == {"on": pytest.approx(0.5e-6), "off": pytest.approx(9.5e-6)}


def test_a_real_output() -> None:
    found = cases((DATA / "imb-2021.txt").read_text())
    assert {record.benchmark for record in found.values()} == {
        *(
            "pingpong",
            "pingping",
            "sendrecv",
            "exchange",
            "uniband",
            "biband",
            "allreduce",
            "bcast",
            "barrier",
        )
    }
    pingping = found["pingping/ranks=2/bytes=8"]
    assert mean(pingping, "time") == pytest.approx(0.40e-6)
    assert mean(pingping, "bandwidth") == pytest.approx(19.94e6)
    assert pingping.metrics[0].count == 100
    assert (pingping.clock, pingping.substrate, pingping.check) == ("reported", "ingested", "not run")
    assert all(metric.samples is None for record in found.values() for metric in record.metrics)
    assert mean(found["sendrecv/ranks=2/bytes=8"], "time") == pytest.approx(0.40e-6)
    assert mean(found["uniband/ranks=2/bytes=8/window=256"], "message_rate") == 444610
    allreduce = found["allreduce/ranks=2/bytes=8"]
    assert mean(allreduce, "time") is None
    assert mean(allreduce, "time_rank_min") == pytest.approx(0.46e-6)
    assert mean(allreduce, "time_rank_max") == pytest.approx(0.65e-6)
    assert mean(allreduce, "time_rank_mean") == pytest.approx(0.56e-6)
    assert found["barrier/ranks=2"].bytes is None


def test_no_bandwidth_is_reported_for_empty_messages() -> None:
    assert cases(OLD)["pingpong/ranks=2/bytes=0"].metric("bandwidth") is None


@pytest.mark.parametrize(
    "title", ["Intel (R) MPI Benchmark Suite V3.2", "Intel(R) MPI Benchmarks 2018", None]
)
@pytest.mark.parametrize(("reported", "bytes_per_s"), [("2000.00", 2000 * 2**20), ("2097.15", 2097.15e6)])
def test_what_a_megabyte_is_follows_from_the_times(
    title: str | None, reported: str, bytes_per_s: float
) -> None:
    """1 MiB in 500 µs is 2000 MiB/s or 2097 MB/s; a release of 2021 called itself 2018."""
    text = OLD.replace("2000.00", reported)
    text = text.replace("Intel (R) MPI Benchmark Suite V3.2", title) if title else text.split("\n", 3)[3]
    assert mean(cases(text)["pingpong/ranks=2/bytes=1048576"], "bandwidth") == pytest.approx(bytes_per_s)


RATES = """\
#    {title}, MPI-1 part
# Benchmarking {name}
# #processes = 2
       #bytes #repetitions   {columns}
         1024         1000   {values}
"""


@pytest.mark.parametrize(
    ("title", "name", "columns", "values", "mega"),
    [
        ("Intel(R) MPI Benchmarks 2018", "Uniband", "Mbytes/sec      Msg/sec", "976.56  1000000", 2**20),
        ("Intel(R) MPI Benchmarks 2018", "Biband", "Mbytes/sec      Msg/sec", "976.56   953672", 1e6),
        (
            "Intel(R) MPI Benchmarks 2018",
            "PingPongSpecificSource",
            "t[usec]   Mbytes/sec",
            "1.00 976.56",
            2**20,
        ),
        ("Intel(R) MPI Benchmarks 2018", "PingPingAnySource", "t[usec]   Mbytes/sec", "1.00 1024.00", 1e6),
        ("Intel(R) MPI Benchmarks 2018", "Unidir_Put", "t[usec]   Mbytes/sec", "1.00 976.56", 2**20),
        ("Intel(R) MPI Benchmarks 2019 Update 6", "One_put_all", "t[usec]   Mbytes/sec", "1.00 976.56", 1e6),
        ("Intel (R) MPI Benchmark Suite V3.2", "Bidir_Get", "t[usec]   Mbytes/sec", "1.00 976.56", 2**20),
        ("Intel (R) MPI Benchmarks 4.1", "Bidir_Get", "t[usec]   Mbytes/sec", "1.00 976.56", 2**20),
        ("PALLAS MPI Benchmark Suite V2.2", "Bidir_Get", "t[usec]   Mbytes/sec", "1.00 976.56", 2**20),
        ("Intel(R) MPI Benchmarks 2021.3", "Unidir_Put", "t[usec]   Mbytes/sec", "0.02 0.05", 1e6),
        ("Intel(R) MPI Benchmarks 2018", "Bidir_Get", "t[usec]   Mbytes/sec", "1.00 976.56", None),
    ],
)
def test_what_a_megabyte_is_without_a_ping_pong(
    title: str, name: str, columns: str, values: str, mega: float | None
) -> None:
    """Without one of four benchmarks it was 10^6 bytes: bandwidths of old versions were 4.9 % too low."""
    text = RATES.format(title=title, name=name, columns=columns, values=values)
    (record,) = parse(text, "x.txt")
    printed = dict(zip(columns.split(), map(float, values.split()), strict=True))["Mbytes/sec"]
    assert mean(record, "bandwidth") == pytest.approx(printed * (mega or 1e6))
    assert ("taken as 10^6" in record.notes.get("bandwidth", "")) == (mega is None)


def test_a_part_of_the_processes_is_a_subset() -> None:
    found = cases((DATA / "imb-2021-npmin.txt").read_text())
    assert set(found) == {
        "pingpong/ranks=2/bytes=0/world=4",
        "pingpong/ranks=2/bytes=8/world=4",
        "allreduce/ranks=2/bytes=0/world=4",
        "allreduce/ranks=2/bytes=8/world=4",
        "allreduce/ranks=4/bytes=0",
        "allreduce/ranks=4/bytes=8",
    }


def test_of_groups_at_once_the_slowest_counts() -> None:
    found = parse((DATA / "imb-2021-multi.txt").read_text(), "x.txt")
    assert [record.case for record in found] == [
        "pingpong/ranks=4/bytes=0/group=2",
        "pingpong/ranks=4/bytes=8/group=2",
    ]
    assert mean(found[1], "time") == pytest.approx(4.17e-6)


def test_non_blocking_collectives() -> None:
    record = cases(NON_BLOCKING)["iallreduce/ranks=4/bytes=8"]
    values = {metric.name: metric.mean for metric in record.metrics}
    assert values == {
        "time": pytest.approx(3e-6),
        "time_compute": pytest.approx(2.9e-6),
        "time_overlapped": pytest.approx(5e-6),
        "overlap": 31.03,
    }


def test_threads_are_an_axis() -> None:
    """Times of IMB-MT with 1 and 2 threads once counted as launches of one case."""
    text = "#    Intel(R) MPI Benchmarks 2021.3, MT part\n" + THREADS.format(1, 1.0) + THREADS.format(2, 2.0)
    found = {case: mean(record, "time_rank_min") for case, record in cases(text).items()}
    assert found == {
        "pingpongmt/ranks=2/bytes=16/threads=1": pytest.approx(1e-6),
        "pingpongmt/ranks=2/bytes=16/threads=2": pytest.approx(2e-6),
    }


def test_defects_and_what_was_not_measured() -> None:
    found = cases(TROUBLE)
    outcomes = {record.bytes: (record.outcome, record.check) for record in found.values()}
    assert outcomes == {8: ("ok", "passed"), 16: ("failed", "failed"), 4194304: ("skipped", "not run")}
    assert (found["alltoall/ranks=8/bytes=4194304"].reason or "").startswith("out-of-mem.; needed")


WARNING = "[1700000000.123456] [node1:4711:0]       ucp_context.c:1774 UCX  WARN  network device is down\n"


def test_a_line_of_another_program_between_rows_is_skipped() -> None:
    """The rows behind a warning were once left out, and nothing said so."""
    head, last = OLD[: OLD.index("      1048576")], OLD[OLD.index("      1048576") :]
    for line in (WARNING, "\n", "mpirun: Forwarding signal 18 to job\n"):
        assert [record.bytes for record in parse(head + line + last, "x.txt")] == [0, 1048576]


@pytest.mark.parametrize(
    "after",
    [
        "1700000000\n",
        "1 total processes killed (some possibly by mpirun during cleanup)\n",
        "1    -6.7733681     4.6446301\n",
        "100   1.4400000    -6.7733681     0.0\n",
        "0.61 real\n",
    ],
)
def test_numbers_behind_a_table_are_no_row(after: str) -> None:
    """The output of `date +%s` once became a skipped case."""
    row = "      2097152           20      1000.00      2000.00\n"
    assert [record.bytes for record in parse(OLD + after, "x.txt")] == [0, 1048576]
    assert [record.bytes for record in parse(OLD + after + after + row, "x.txt")] == [0, 1048576]
    # Between rows it is that of another program.
    assert [record.bytes for record in parse(OLD + after + row, "x.txt")] == [0, 1048576, 2097152]


def test_after_its_last_line_imb_has_no_rows() -> None:
    text = OLD + "\n\n# All processes entering MPI_Finalize\n\nmpiexec has ended\n1 2 3.00 4.00\n"
    assert [record.bytes for record in parse(text, "x.txt")] == [0, 1048576]


@pytest.mark.parametrize(
    "reason",
    [
        'out-of-mem.; needed X=   4.000 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
        "int-overflow.; The production rank*size caused int overflow for given sample",
        "int-overflow; The production rank*size caused int overflow;",
        "time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over",
    ],
)
def test_rows_without_repetitions_have_imbs_reason(reason: str) -> None:
    """IMB prints the size only before its reason, whose first word was left out."""
    row = "      2097152           20      1000.00      2000.00\n"
    found = parse(f"{OLD}      4194304 {reason}\n{row}", "x.txt")
    assert [record.bytes for record in found] == [0, 1048576, 4194304, 2097152]
    assert (found[2].outcome, found[2].reason) == ("skipped", " ".join(reason.split()))


def test_it_is_told_from_other_text() -> None:
    assert imb.sniff(OLD) and imb.sniff(OLD.replace("Intel (R) MPI", "PALLAS MPI"))
    assert not imb.sniff("# OSU MPI Latency Test v7.4\n# Size")


def test_a_title_without_results() -> None:
    with pytest.raises(InputError, match=r"x.txt looks like IMB-MPI1, but holds no results"):
        parse(OLD[:200], "x.txt")


@pytest.mark.parametrize(
    ("switches", "case"),
    [
        ("-iter 20", "pingpong/ranks=2/bytes=8"),
        ("-off_cache 1.0,64", "pingpong/ranks=2/bytes=8/cache=off"),
        ("-off_cache 0", "pingpong/ranks=2/bytes=8"),
        ("-root_shift on -data_type float", "pingpong/ranks=2/bytes=8/datatype=float"),
        ("-mem_alloc_type device", "pingpong/ranks=2/bytes=8/buffer=device"),
        ("-sync off", "pingpong/ranks=2/bytes=8/sync=off"),
    ],
)
def test_switches_that_change_the_quantity_are_part_of_the_case(switches: str, case: str) -> None:
    """They are in the command line that IMB prints, but were once ignored."""
    text = (DATA / "imb-2021.txt").read_text()
    words = "-iter 100 -msglog 3:4 PingPong"
    assert words in text
    found = {record.case for record in parse(text.replace(words, f"{switches} PingPong"), "x.txt")}
    assert case in found
    assert ("bcast/ranks=2/bytes=8/shift=1" in {name.replace("/datatype=float", "") for name in found}) == (
        "root_shift" in switches
    )


@pytest.mark.parametrize(
    ("lines", "axes"),
    [
        (("-npmin 2 -iter 1000 -msglog 3:22", "-off_cache -1 PingPong"), {"cache": "off"}),
        (
            ("-npmin 2 -iter 9 -msglog 3:22", "-time 1 -mem 2 -map 1x2", "-off_cache", "-1 PingPong"),
            {"cache": "off"},
        ),
        (("-npmin 2 -iter 9 -msglog 3:22", ""), {}),
    ],
)
def test_a_command_line_may_be_broken(lines: tuple[str, ...], axes: dict[str, str]) -> None:
    """Switches in its later lines were once ignored: results without reuse of the cache became others."""
    called = "\n#           ".join(lines)
    text = f"# Calling sequence was: \n\n# IMB-MPI1 {called}\n\n#    -sync off\n" + OLD
    assert [record.axes for record in parse(text, "x.txt")] == [axes, axes]
