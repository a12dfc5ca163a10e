"""Output of HPC Challenge, HPL, STREAM and HPCG is ingested, and appears in the balance diagram."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import parse
from kiviat.ingest.formats import hpcc, hpcg, hpl, stream
from kiviat.record import InputError, Record

# HPC Challenge 1.5.0 on two processes, N = 600; sections other than HPL's and the summary are cut out.
OUTPUT = (Path(__file__).parent / "data" / "hpccoutf-1.5.0.txt").read_text()
HPL_OUTPUT = OUTPUT.partition("Begin of HPL section.")[2].partition("End of HPL section.")[0]

STREAM_TABLE = """\
STREAM version $Revision: 5.10 $
Array size = 10000000 (elements), Offset = 0 (elements)
Each kernel will be executed 10 times.
Number of Threads requested = 4
Number of Threads counted = 4
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           20480.0     0.008000     0.007812     0.008200
Scale:          16000.0     0.010200     0.010000     0.010400
Add:            18000.0     0.013500     0.013333     0.013800
Triad:          18432.0     0.013200     0.013020     0.013400
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
HPCG_REPORT = """\
HPCG-Benchmark
version=3.1
Machine Summary=
Machine Summary::Distributed Processes=8
Machine Summary::Threads per processes=2
Local Domain Dimensions=
Local Domain Dimensions::nx=104
Local Domain Dimensions::ny=104
Local Domain Dimensions::nz=104
GFLOP/s Summary=
GFLOP/s Summary::Raw Total=12.9
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=12.5
"""


def cases(text: str, ranks: int | None = None) -> dict[str, Record]:
    return {record.case: record for record in parse(text, "x.txt", ranks)}


def values(record: Record) -> dict[str, float | None]:
    return {metric.name: metric.mean for metric in record.metrics}


def test_a_real_summary() -> None:
    found = cases(OUTPUT)
    first = found["hpl/ranks=2/n=600/nb=64/p=1/q=2"]
    assert (first.clock, first.check) == ("reported", "passed")
    assert values(first) == {
        "rate": pytest.approx(8.87619e9),
        "time": 0.016284,
        "residual": pytest.approx(0.0045333, rel=1e-4),  # as the section of HPL prints it
        "order": 600,
    }
    assert values(found["dgemm/ranks=2/n=244"]) == {"rate": pytest.approx(11.1103e9)}
    assert values(found["dgemm/ranks=2/n=244/scope=single"]) == {"rate": pytest.approx(34.0566e9)}
    assert values(found["stream/ranks=2/memory=1440000"]) == {
        "triad": pytest.approx(29.8681e9),
        "copy": pytest.approx(61.2518e9),
        "scale": pytest.approx(25.4534e9),
        "add": pytest.approx(31.5181e9),
    }
    assert values(found["ptrans/ranks=2/n=300/nb=64/p=1/q=2"])["rate"] == pytest.approx(1.98003e9)
    assert values(found["random_access/ranks=2/memory=1048576"]) == {
        "updates": pytest.approx(0.0196422e9),
        "errors": 0,
    }
    assert values(found["random_access/ranks=2/memory=1048576/scope=star"])["updates"] == pytest.approx(
        0.344119e9
    )
    assert values(found["fft/ranks=2/n=32768"])["rate"] == pytest.approx(3.39605e9)
    assert values(found["fft/ranks=2/n=32768/scope=single"])["rate"] == pytest.approx(3.37012e9)
    assert values(found["ring/ranks=2"]) == {
        "random_bandwidth": pytest.approx(5.08145e9),
        "random_latency": pytest.approx(0.28426e-6),
        "natural_bandwidth": pytest.approx(4.30353e9),
        "natural_latency": pytest.approx(0.291341e-6),
    }
    assert values(found["pair_pingpong/ranks=2"])["latency_max"] == pytest.approx(0.22237e-6)
    assert len(found) == 14


def test_what_was_not_run_is_not_there() -> None:
    text = OUTPUT.replace("MPIFFT_Gflops=3.39605", "MPIFFT_Gflops=-1").replace(
        "PTRANS_GBs=1.98003", "PTRANS_GBs=0"
    )
    assert "fft/ranks=2/n=32768" not in cases(text)
    assert not any(case.startswith("ptrans") for case in cases(text))


@pytest.mark.parametrize(
    ("change", "case"),
    [
        (("HPL_RnormI=1.21858e-12", "HPL_RnormI=1.21858e-8"), "hpl/ranks=2/n=600/nb=64/p=1/q=2"),
        (("PTRANS_residual=0", "PTRANS_residual=16.5"), "ptrans/ranks=2/n=300/nb=64/p=1/q=2"),
        (
            ("MPIRandomAccess_ErrorsFraction=0", "MPIRandomAccess_ErrorsFraction=0.011"),
            "random_access/ranks=2/memory=1048576",
        ),
        (("MPIFFT_maxErr=1.24931e-15", "MPIFFT_maxErr=1.24931e-13"), "fft/ranks=2/n=32768"),
        (("HPL_RnormI=1.21858e-12", "HPL_RnormI=nan"), "hpl/ranks=2/n=600/nb=64/p=1/q=2"),
        (("HPL_XnormI=", "HPL_XnormI=inf\nleft="), "hpl/ranks=2/n=600/nb=64/p=1/q=2"),
        (("PTRANS_residual=0", "PTRANS_residual=-nan"), "ptrans/ranks=2/n=300/nb=64/p=1/q=2"),
        (
            ("MPIRandomAccess_ErrorsFraction=0", "MPIRandomAccess_ErrorsFraction=nan"),
            "random_access/ranks=2/memory=1048576",
        ),
        (("MPIFFT_maxErr=1.24931e-15", "MPIFFT_maxErr=inf"), "fft/ranks=2/n=32768"),
    ],
)
def test_a_wrong_result_is_failed(change: tuple[str, str], case: str) -> None:
    """One that is no number once counted as not checked."""
    assert change[0] in OUTPUT
    record = cases(OUTPUT.replace(*change))[case]
    assert (record.outcome, record.check) == ("failed", "failed")
    assert record.reason == "HPC Challenge's own check failed"
    overflowed = "nan" in change[1] or "inf" in change[1]
    assert overflowed != any(name in ("residual", "errors") for name in values(record))


def test_a_check_that_was_not_run_is_none() -> None:
    found = cases(OUTPUT.replace("PTRANS_residual=0", "PTRANS_residual=-1"))
    assert found["ptrans/ranks=2/n=300/nb=64/p=1/q=2"].check == "not run"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            OUTPUT.partition("Begin of Summary section.")[0],
            "x.txt has no summary section: this run .* did not end",
        ),
        (
            OUTPUT.replace("CommWorldProcs=2", ""),
            "x.txt: CommWorldProcs, the number of processes, is missing",
        ),
        (OUTPUT.replace("PTRANS_GBs=1.98003", "PTRANS_GBs=1.98oo3"), "PTRANS_GBs=1.98oo3 is not a number"),
    ],
)
def test_what_is_not_whole_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(text, "x.txt")


def test_every_appended_run_is_read() -> None:
    """`hpcc` appends to hpccoutf.txt; only the oldest run was once read."""
    later = OUTPUT.replace("HPL_Tflops=0.00887619", "HPL_Tflops=0.01")
    assert later != OUTPUT
    found = parse(OUTPUT + later, "x.txt")
    assert [values(record)["rate"] for record in found if record.benchmark == "hpl"] == [
        pytest.approx(8.87619e9),
        pytest.approx(10e9),
    ]
    assert len(found) == 28


def test_threads_are_an_axis() -> None:
    text = OUTPUT.replace("omp_get_max_threads=0", "omp_get_max_threads=8")
    assert "dgemm/ranks=2/n=244/threads=8" in cases(text)


# ---- HPL


def test_hpl_alone() -> None:
    (record,) = parse("HPLinpack 2.3\n" + HPL_OUTPUT, "HPL.out")
    assert record.case == "hpl/ranks=2/n=600/nb=64/p=1/q=2/variant=WR11C2R4"
    assert values(record) == {
        "rate": pytest.approx(8.876e9),
        "time": 0.02,
        "residual": 0.0045333,
        "order": 600,
    }
    assert record.check == "passed"


def test_hpl_that_failed_and_hpl_of_version_1() -> None:
    line = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0045333 ...... PASSED"
    assert line in HPL_OUTPUT
    failed = HPL_OUTPUT.replace(line, line.replace("0.0045333", "nan").replace("PASSED", "FAILED"))
    assert parse(failed, "x")[0].reason == "HPL's residual check FAILED"
    old = "\n".join(
        f"||Ax-b||_oo / ( eps * ||A||_1  * {name} ) =        {value} ...... {verdict}"
        for name, value, verdict in (
            ("N", "0.02", "PASSED"),
            ("||x||_1", "0.5", "PASSED"),
            ("x", "17.0", "FAILED"),
        )
    )
    (record,) = parse(HPL_OUTPUT.replace(line, old), "x")
    assert (record.check, values(record)["residual"]) == ("failed", 17.0)


GPU_TABLE = """\
HPLinpack 2.1  --  High-Performance Linpack benchmark
T/V                N    NB     P     Q         Time          Gflops (   per GPU)
WC0           264192  1024     4     2       297.37       4.134e+04 ( 5.168e+03)
"""


def test_rows_of_nvidia_have_the_rate_of_a_gpu_behind() -> None:
    """NVIDIA's results were refused: the file was said to hold none."""
    (record,) = parse(GPU_TABLE, "x")
    assert record.case == "hpl/ranks=8/n=264192/nb=1024/p=4/q=2/variant=WC0"
    assert values(record) == {"rate": 4.134e13, "time": 297.37, "order": 264192}


def test_a_row_that_is_not_read_is_quoted() -> None:
    says = r"x line 3: 'WC0 264192 1024 4 2 297.37 4.134e\+04 \[5.168e\+03\]' is no result of HPL"
    with pytest.raises(InputError, match=says):
        parse(GPU_TABLE.replace("( 5.168e+03)", "[5.168e+03]"), "x")
    with pytest.raises(InputError, match=r"looks like HPL .* but holds no results"):
        parse("HPLinpack 2.1\nWarning: no GPU\n", "x")


def test_several_variants_are_several_cases() -> None:
    result = next(line for line in HPL_OUTPUT.splitlines() if line.startswith("WR11C2R4"))
    text = HPL_OUTPUT + "\n" + result.replace("WR11C2R4", "WR00L2L2").replace("8.876e+00", "9.100e+00")
    assert [values(record)["rate"] for record in parse(text, "x")] == pytest.approx([8.876e9, 9.1e9])
    assert len(cases(text)) == 2


# ---- STREAM and HPCG


def test_stream() -> None:
    (record,) = parse(STREAM_TABLE, "x")
    assert record.case == "stream/ranks=1/memory=240000000/threads=4"
    assert values(record) == {"triad": 18.432e9, "copy": 20.48e9, "scale": 16e9, "add": 18e9}
    assert (record.check, record.metrics[0].count) == ("passed", 1)  # the best of nine is one value
    floats = STREAM_TABLE.replace("Array", "This system uses 4 bytes per array element.\nArray", 1)
    assert parse(floats, "x")[0].axes["memory"] == 120_000_000


def test_sizes_of_old_versions_of_stream() -> None:
    """Tables of all sizes of version 5.9 became launches of one case."""
    old = STREAM_TABLE.replace("(elements)", "").replace(" ,", ",").replace("Best Rate MB/s", "Rate (MB/s)")
    old = old.replace("5.10", "5.9").replace(
        "Array", "This system uses 8 bytes per DOUBLE PRECISION word.\nArray", 1
    )
    assert "Array size = 10000000, Offset = 0 \n" in old
    assert parse(old, "x")[0].axes["memory"] == 240_000_000
    assert parse(old.replace("uses 8", "uses 4"), "x")[0].axes["memory"] == 120_000_000


def test_stream_of_several_processes_is_shared_among_them() -> None:
    told = STREAM_TABLE.replace("Array", "Data is distributed across 4 MPI ranks\nArray", 1)
    for found in (parse(told, "x"), parse(STREAM_TABLE, "x", ranks=4)):
        assert found[0].ranks == 4 and values(found[0])["triad"] == pytest.approx(18.432e9 / 4)


def test_stream_of_no_rank_is_refused() -> None:
    """A table of 0 ranks once raised a ZeroDivisionError."""
    told = STREAM_TABLE.replace("Array", "Data is distributed across 0 MPI ranks\nArray", 1)
    with pytest.raises(
        InputError, match=r"x line 2 says 'distributed across 0 MPI ranks'; is the file complete"
    ):
        parse(told, "x")


def test_stream_that_does_not_validate() -> None:
    text = STREAM_TABLE.replace("Solution Validates", "Failed Validation on array a[], AvgRelAbsErr >")
    assert parse(text, "x")[0].check == "failed"


def test_hpcg() -> None:
    (record,) = parse(HPCG_REPORT, "x")
    assert record.case == "hpcg/ranks=8/nx=104/ny=104/nz=104/threads=2"
    assert (values(record), record.check) == ({"rate": 12.5e9}, "passed")
    older = HPCG_REPORT.replace("::", ": ").replace("=", ": ")
    assert values(parse(older.replace("Final Summary: HPCG", "HPCG"), "x")[0]) == {"rate": 12.5e9}


def test_every_report_of_hpcg_is_read() -> None:
    """Only the first of several reports in a file was once read."""
    invalid = HPCG_REPORT.replace("VALID with a GFLOP/s rating of=12.5", "INVALID.").replace(
        "nx=104", "nx=16"
    )
    found = parse(HPCG_REPORT + invalid + HPCG_REPORT.replace("=12.5", "=13.5"), "x")
    assert [(record.axes["nx"], values(record)["rate"], record.check) for record in found] == [
        (104, 12.5e9, "passed"),
        (16, 12.9e9, "failed"),
        (104, 13.5e9, "passed"),
    ]


def test_hpcg_that_is_invalid_or_does_not_say_how_many() -> None:
    invalid = HPCG_REPORT.replace(
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=12.5", "HPCG result is INVALID."
    )
    (record,) = parse(invalid, "x")
    assert (record.check, record.reason) == ("failed", "HPCG calls the result invalid")
    nameless = HPCG_REPORT.replace("Distributed Processes=8", "")
    with pytest.raises(InputError, match="give --ranks"):
        parse(nameless, "x")
    assert parse(nameless, "x", ranks=8)[0].ranks == 8


def test_each_is_told_from_the_others() -> None:
    texts = {hpcc: OUTPUT, hpl: HPL_OUTPUT, stream: STREAM_TABLE, hpcg: HPCG_REPORT}
    for module, text in texts.items():
        takers = [one for one in texts if one.sniff(text)]
        assert takers[0] is module
    with pytest.raises(InputError, match="looks like STREAM, but holds no results"):
        parse(STREAM_TABLE.replace(":", ";"), "x")
