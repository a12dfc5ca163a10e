"""NAS programs and ReproMPI: lines as their sources and documentation print them."""

from __future__ import annotations

import pytest

from kiviat.ingest import parse
from kiviat.record import InputError

# NPB 3.2 as Sun users posted it to the Open MPI users' list in 2007; 3.4 by the formats of print_results.f90.
NPB32 = """\
 NAS Parallel Benchmarks 3.2 -- CG Benchmark

 Size:      14000
 Iterations:    15
 Number of active processes:     1

 CG Benchmark Completed.
 Class           =                        A
 Size            =                    14000
 Iterations      =                       15
 Time in seconds =                     3.02
 Total processes =                        1
 Compiled procs  =                        1
 Mop/s total     =                   495.93
 Mop/s/process   =                   495.93
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                      3.2
 Compile date    =              11 Jun 2007
"""
NPB34 = """\
 BT Benchmark Completed.
 Class           =                        C
 Size            =            162x 162x 162
 Iterations      =                      200
 Time in seconds =                    53.10
 Total processes =                       40
 Active processes=                       36
 Mop/s total     =                 53980.12
 Mop/s/process   =                  1349.50
 Operation type  =           floating point
 Verification    =             UNSUCCESSFUL
 Version         =                    3.4.2
"""
REPRO = """\
#MPI calls:
#    MPI_Allreduce
#@operation=MPI_BOR
#@datatype=MPI_INT
#@datatype_extent_bytes=4
#@reproMPIcommitSHA1=00325471f9a39c5ffc35796f360fb02838cbef84
#@nprocs=4
#@sync=MPI_Barrier
#@nrep=3
                      test       nrep        count    runtime_sec
             MPI_Allreduce          0            1   0.0000109819
             MPI_Allreduce          1            1   0.0000030911
             MPI_Allreduce          2            1   0.0000029809
             MPI_Allreduce          0           10   0.0000040000
"""


def test_threads_of_openmp_programs_are_an_axis() -> None:
    """Results of 1 and 8 threads once counted as launches of one case."""
    lines = [
        line for line in NPB32.splitlines(keepends=True) if "procs" not in line and "processes" not in line
    ]
    one, eight = ("".join(lines) + f" Total threads   =   {threads}\n" for threads in (1, 8))
    assert [record.case for record in parse(one + eight, "npb.log")] == [
        "cg/ranks=1/class=A",
        "cg/ranks=1/class=A/threads=8",
    ]
    # They are one process each, however many ranks other programs in the job had.
    assert {record.ranks for record in parse(one + eight, "npb.log", 64)} == {1}


def test_threads_of_multi_zone_programs_are_those_of_a_rank() -> None:
    """NPB-MZ prints the sum over all processes, which was once taken for the threads of each."""
    counts = " Total processes =                       36\n Total threads   =                       {}\n"
    old = NPB34.replace("BT Benchmark", "BT-MZ Benchmark")
    old = old.replace(" Active processes=                       36\n", "")
    forty = " Total processes =                       40\n"
    assert forty in old
    assert [parse(old.replace(forty, counts.format(total)), "npb.log")[0].case for total in (36, 72)] == [
        "bt-mz/ranks=36/class=C",
        "bt-mz/ranks=36/class=C/threads=2",
    ]


def test_programs_have_class_ranks_rate_and_verdict() -> None:
    old, new = parse(NPB32 + NPB34, "npb.log")
    assert (old.benchmark, old.ranks, old.axes, old.check) == ("cg", 1, {"class": "A"}, "passed")
    rate, time = old.metrics
    assert (rate.name, rate.unit, rate.mean) == ("rate", "op/s", pytest.approx(495.93e6))
    assert (time.mean, old.notes["version"]) == (pytest.approx(3.02), "NPB 3.2")
    assert (new.case, new.outcome, new.check) == ("bt/ranks=40/class=C", "failed", "failed")
    assert new.notes["active processes"] == "36"


@pytest.mark.parametrize("program", ["UA", "DC", "BT-MZ", "LU-MZ", "SP-MZ"])
def test_every_program_is_read(program: str) -> None:
    """UA, DC and the multi-zone programs were left out, and nothing said so."""
    text = NPB34.replace("BT Benchmark", f"{program} Benchmark").replace("UNSUCC", "SUCC")
    assert [record.case for record in parse(NPB32 + text, "npb.log")] == [
        "cg/ranks=1/class=A",
        f"{program.lower()}/ranks=40/class=C",
    ]


def test_what_the_clock_did_not_see_is_no_result() -> None:
    """A log of EP with 0.00 seconds once became a time and a rate of 0."""
    (record,) = parse(NPB32.replace("3.02", "0.00").replace("495.93", "0.00"), "npb.log")
    assert (record.outcome, record.metrics) == ("skipped", ())
    assert record.reason == "it took 0.00 s, too short a time for its clock"
    (record,) = parse(NPB32.replace("3.02", "0.00"), "npb.log")
    assert [metric.name for metric in record.metrics] == ["rate"]


@pytest.mark.parametrize("line", ["Class", "Time in seconds", "Mop/s total"])
def test_a_file_that_ends_early_says_what_it_lacks(line: str) -> None:
    cut = "\n".join(one for one in NPB32.splitlines() if not one.lstrip().startswith(line))
    with pytest.raises(InputError, match=f"CG has no line '{line}'"):
        parse(cut, "npb.log")


def test_measurements_of_reprompi_are_samples() -> None:
    few, many = parse(REPRO, "reprompi.log")
    assert (few.case, many.case) == ("allreduce/ranks=4/bytes=4", "allreduce/ranks=4/bytes=40")
    (time,) = few.metrics
    assert (time.p50, time.min, time.count) == (3.0911e-6, 2.9809e-6, 3)
    assert time.samples == (1.09819e-5, 3.0911e-6, 2.9809e-6)
    assert few.notes == {"operation": "MPI_BOR", "datatype": "MPI_INT", "sync": "MPI_Barrier"}


def test_reprompi_without_processes_takes_them_from_the_command_line() -> None:
    text = REPRO.replace("#@nprocs=4\n", "")
    with pytest.raises(InputError, match="--ranks"):
        parse(text, "reprompi.log")
    assert {one.ranks for one in parse(text, "reprompi.log", 8)} == {8}
