"""Folders of logs: each file is read, or refused with the right reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kiviat.ingest import parse
from kiviat.ingest.formats import osu, stream
from kiviat.ingest.tree import Source, read_log, read_tree
from kiviat.record import InputError, Record
from tests.ingest.test_hpcc import HPCG_REPORT, HPL_OUTPUT, OUTPUT, STREAM_TABLE
from tests.ingest.test_imb import NON_BLOCKING
from tests.ingest.test_nccl import NCCL
from tests.ingest.test_npb_and_reprompi import NPB34

ALLREDUCE = """\
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)
4                       6.76
8                       5.74
"""
LATENCY = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0                       1.35\n"
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun osu_allreduce\n"


def tree(folder: Path, files: Mapping[str, str | bytes]) -> dict[str, Source]:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    sources = [source for some in read_tree(folder) for source in some]
    return {source.path.relative_to(folder).as_posix(): source for source in sources}


def test_ranks_are_those_of_the_job_script_beside(tmp_path: Path) -> None:
    found = tree(tmp_path, {"a/job.sh": SCRIPT, "a/job-77123.out": ALLREDUCE, "b/job.out": ALLREDUCE})
    read = found["a/job-77123.out"]
    assert [record.case for record in read.records] == [
        "allreduce/ranks=8/bytes=4",
        "allreduce/ranks=8/bytes=8",
    ]
    assert (read.stated.nodes, read.stated.source) == (2, "job.sh")
    assert found["a/job.sh"].says == "is a script, which states 8 ranks on 2 nodes"
    assert found["b/job.out"].kind == "failed"
    assert found["b/job.out"].says.endswith("do not print the number of ranks of allreduce; give --ranks")


def test_of_several_scripts_the_one_that_names_the_log_counts(tmp_path: Path) -> None:
    other = SCRIPT.replace("nodes=2", "nodes=4")
    files = {"one.sh": SCRIPT, "two.sh": other + "#SBATCH --output=res-%j.txt\n", "res-12.txt": ALLREDUCE}
    assert tree(tmp_path, files)["res-12.txt"].stated.ranks == 16
    files = {"one.sh": SCRIPT, "two.sh": other, "res-12.txt": ALLREDUCE}
    assert tree(tmp_path / "more", files)["res-12.txt"].kind == "failed"


def test_results_count_more_than_what_a_script_states(tmp_path: Path) -> None:
    found = tree(tmp_path, {"job.sh": SCRIPT, "job.out": HPL_OUTPUT, "nccl.out": NCCL})
    assert found["job.out"].records[0].ranks == 2
    assert found["nccl.out"].stated.hosts == ("n0", "n0", "n1", "n1")


def test_tables_of_known_ranks_are_read_beside_others(tmp_path: Path) -> None:
    found = tree(tmp_path, {"a.out": LATENCY + ALLREDUCE})["a.out"]
    assert [record.case for record in found.records] == ["pingpong/ranks=2/bytes=0"]
    assert found.says.startswith("line 6: OSU benchmarks do not print the number of ranks of allreduce")


def test_stream_is_not_divided_by_the_tasks_of_a_job(tmp_path: Path) -> None:
    files = {"job.sh": SCRIPT.replace("srun osu_allreduce", "./stream"), "job.out": STREAM_TABLE}
    (record,) = tree(tmp_path, files)["job.out"].records
    assert (record.ranks, record.metrics[0].mean) == (1, pytest.approx(18432e6))


def test_processes_that_print_a_table_each_are_one_record(tmp_path: Path) -> None:
    """96 processes wrote into each other's tables, and only the rates of the last one were read."""
    lines = STREAM_TABLE.splitlines()
    mixed = "\n".join(line for line in lines for _ in range(3)).replace("18432.0", "10000.0", 1)
    (record,) = tree(tmp_path, {"a.out": mixed})["a.out"].records
    triad = record.metric("triad")
    assert triad and (triad.min, triad.max) == (10000e6, 18432e6)
    assert (record.ranks, triad.mean) == (3, pytest.approx((10000e6 + 2 * 18432e6) / 3))
    after = STREAM_TABLE + STREAM_TABLE.replace("= 4", "= 1").replace("18432.0", "9000.0")
    one, two = tree(tmp_path / "more", {"a.out": after})["a.out"].records
    assert [(each.axes["memory"], each.axes.get("threads")) for each in (one, two)] == [
        (240_000_000, 4),
        (240_000_000, None),
    ]


def test_same_results_are_read_once(tmp_path: Path) -> None:
    table = NCCL[NCCL.index("#       size") :]
    files = {"job.sh": SCRIPT.replace("ntasks-per-node=4", "ntasks-per-node=2")}
    found = tree(tmp_path, {**files, "all_reduce.out": NCCL, "all_reduce.txt": table})
    assert len(found["all_reduce.out"].records) == 4
    assert (found["all_reduce.txt"].kind, found["all_reduce.txt"].says) == (
        "same",
        "has the same results as all_reduce.out",
    )


BARRIER = "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n{}\n"
HPL_LINE = "T/V   N  NB  P  Q  Time  Gflops\nWR00L2L2  29000  128  2  4  71.54  {}e+02\n"


def test_launches_that_print_the_same_number_all_count(tmp_path: Path) -> None:
    """Files once counted as the same if the first metric of each case was.

    Three of six launches of `osu_barrier` were left out, as they printed 1.52 µs again; the median was 1.53.
    """
    times = ("1.52", "1.52", "1.52", "1.52", "1.53", "1.60")
    files = {f"b{at}.out": BARRIER.format(time) for at, time in enumerate(times)}
    found = tree(tmp_path / "osu", {"job.sh": SCRIPT.replace("allreduce", "barrier"), **files})
    read = [record.metrics[0].mean for source in found.values() for record in source.records]
    assert read == [pytest.approx(float(time) * 1e-6) for time in times]
    for name, text in {"npb": NPB34, "hpl": HPL_LINE.format("2.2755"), "hpcg": HPCG_REPORT}.items():
        found = tree(tmp_path / name, {"1.out": text, "2.out": text})
        assert [source.kind for source in found.values()] == ["results", "results"], name


def test_other_facts_do_not_make_one_coarse_number_enough(tmp_path: Path) -> None:
    full = BARRIER.replace("Avg Latency(us)", "Avg Latency(us)   Min Latency(us)").format("1.52  1.50")
    files = {
        "job.sh": SCRIPT,
        "1.out": BARRIER.format("1.52"),
        "2.out": "Loading mpi\n" + full,
        "3.out": full,
    }
    assert {source.kind for source in tree(tmp_path, files).values() if source.format} == {"results"}


def test_a_summary_is_the_launch_of_the_log_that_it_is_from(tmp_path: Path) -> None:
    line = HPL_LINE.format("2.2755")
    log = (
        "HPLinpack 2.3\n"
        + line
        + "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   0.0045 ...... PASSED\n"
    )
    other = log.replace("71.54", "71.55")
    found = tree(tmp_path, {"1.log": log, "1.sum": line, "2.log": other, "tee.log": "Mon Jan 5\n" + log})
    assert {name: source.kind for name, source in found.items()} == {
        "1.log": "same",
        "1.sum": "same",
        "2.log": "results",
        "tee.log": "results",
    }


def test_copies_are_told_by_many_digits(tmp_path: Path) -> None:
    table = STREAM_TABLE.replace("16000.0", "16012.3")
    found = tree(tmp_path / "copy", {"1.out": table, "2.out": table})
    assert [source.kind for source in found.values()] == ["results", "same"]
    found = tree(tmp_path / "other", {"1.out": table, "2.out": table.replace("16012.3", "16012.4")})
    assert [source.kind for source in found.values()] == ["results", "results"]


def test_stream_is_not_divided_by_the_ranks_of_another_launch(tmp_path: Path) -> None:
    """STREAM on one rank once got an eighth of its rate, because another benchmark ran on eight ranks.

    The only script in the folder also launched `osu_allreduce`, with output to another file.
    """
    for name, script in {
        "redirected": SCRIPT.replace(
            "srun osu_allreduce", "srun osu_allreduce > osu.out\n./stream > stream.out"
        ),
        "named": SCRIPT.replace(
            "srun osu_allreduce", "srun osu_allreduce | tee osu.out\n./stream > stream.out"
        ),
        "teed": SCRIPT.replace("osu_allreduce", "osu_allreduce 2>&1 | tee stream.txt"),
    }.items():
        read = tree(tmp_path / name, {"job.sh": script, "stream.out": STREAM_TABLE})["stream.out"]
        assert (read.records[0].ranks, read.records[0].metrics[0].mean) == (1, pytest.approx(18432e6)), name
        assert read.stated.ranks == 1, name
    launched = {"job.sh": SCRIPT.replace("osu_allreduce", "./stream_mpi.exe"), "stream.out": STREAM_TABLE}
    (record,) = tree(tmp_path / "launched", launched)["stream.out"].records
    assert (record.ranks, record.metrics[0].mean) == (8, pytest.approx(18432e6 / 8))


def test_a_launch_into_another_file_says_nothing_of_a_log(tmp_path: Path) -> None:
    script = SCRIPT.replace("osu_allreduce", "osu_allreduce > other.out")
    for name in ("a.out", "job.out"):
        assert tree(tmp_path / name, {"job.sh": script, name: ALLREDUCE})[name].kind == "failed"
    script = SCRIPT.replace("osu_allreduce", "osu_allreduce 2> errors.txt")
    assert tree(tmp_path / "errors", {"job.sh": script, "a.out": ALLREDUCE})["a.out"].stated.ranks == 8


def test_a_format_that_fails_does_not_end_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error in one file once ended `kiviat ingest FOLDER`, and no other file was read.

    Causes were a STREAM table of 0 ranks, an nccl-tests head without a blank after #, and a GPCNeT row
    without a name.
    """

    def fails(text: str, where: str, ranks: int | None = None) -> list[Record]:
        raise KeyError("size\nof it")

    monkeypatch.setattr(stream, "sniff", lambda text: text.split()[1] == "version")
    monkeypatch.setattr(stream, "parse", fails)
    found = tree(tmp_path, {"a.out": STREAM_TABLE, "b.out": LATENCY, "job.sh": "#!/bin/bash\n"})
    assert found["b.out"].kind == "results"
    assert found["job.sh"].says.startswith("cannot be read: unexpected IndexError: list index out of range;")
    assert (found["a.out"].kind, found["a.out"].says) == (
        "failed",
        r"cannot be read: unexpected KeyError: 'size\nof it'; give it alone to `kiviat ingest` to see where",
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.err", "", "is empty"),
        ("a.err", " \n", "has white space only"),
        ("a.out", b"\x7fELF\0\0\1", "is no text"),
        ("a.py", LATENCY, "is source code, which kiviat does not read"),
        (
            "a.log",
            "                      :-) GROMACS - gmx mdrun, 2019.3 (-:\n",
            "is the log of GROMACS, which",
        ),
        (
            "HPL.dat",
            "HPLinpack benchmark input file\nInnovative\n",
            "is an input of HPL or HPC Challenge, which",
        ),
        (
            "x.log",
            "2020-08-19T16:24:45+01:00|reframe 3.0-dev6|IMB\n",
            "is a performance log of ReFrame, which",
        ),
        ("env.dat", "".join(f"VARIABLE_{n}=1\n" for n in range(9)), "lists variables of an environment"),
        (
            "a.err",
            "Loading mpi\nslurmstepd: error: *** JOB 96 CANCELLED ***\n",
            "a line of it says 'slurmstepd:",
        ),
        ("a.err", "real\t0.61\nuser 0.29\n", "has no results that kiviat reads; it begins with 'real 0.61'"),
        ("identifier.txt", "NCCL_CROSS_NIC=1_v0\n", "it begins with 'NCCL_CROSS_NIC=1_v0'"),
        (
            "a.out",
            "# OSU MPI Bandwidth Test v5.8\nBus error\n",
            "looks like OSU micro-benchmarks, but holds no",
        ),
        ("a.out", NCCL[: NCCL.index("           8")], "looks like nccl-tests and rccl-tests, but holds no"),
    ],
)
def test_what_has_no_results_is_refused_with_the_reason(
    tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    source = tree(tmp_path, {name: content})[name]
    assert not source.records and says in source.says and "\n" not in source.says


def test_hidden_files_and_links_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    assert list(tree(tmp_path, {".git/a.out": LATENCY, "a.out": LATENCY})) == ["a.out"]


SEVERAL = f"{LATENCY}{STREAM_TABLE}HPLinpack 2.3\n{HPL_OUTPUT}"


def test_all_programs_of_a_log_are_read(tmp_path: Path) -> None:
    """In a log with tables of OSU, STREAM and HPL, only HPL's was once read, without a word on the rest."""
    files = {"job.sh": SCRIPT, "job.out": SEVERAL + ALLREDUCE}
    read = tree(tmp_path, files)["job.out"]
    assert (read.format, read.says) == ("HPL (HPL.out) and OSU micro-benchmarks and STREAM", "")
    assert [record.benchmark for record in read.records] == [
        *("hpl", "pingpong", "allreduce", "allreduce", "stream"),
    ]
    assert [record.ranks for record in read.records] == [2, 2, 8, 8, 1]
    assert len(parse(SEVERAL + ALLREDUCE, "x", 8)) == 5
    assert {record.ranks for record in parse(SEVERAL, "x", 8) if record.benchmark == "stream"} == {1}


def test_tables_of_one_program_do_not_become_those_of_another() -> None:
    for text in (LATENCY + NON_BLOCKING, NON_BLOCKING + LATENCY, LATENCY + NCCL, NCCL + LATENCY):
        assert len([record for record in parse(text, "x", 4) if record.benchmark == "pingpong"]) == 1
    assert len(parse(NON_BLOCKING + LATENCY, "x")) == 2


def test_what_is_not_read_of_several_programs_is_named(tmp_path: Path) -> None:
    found = tree(tmp_path, {"a.out": SEVERAL + ALLREDUCE, "b.out": "HPLinpack 2.3\n" + LATENCY})
    assert [record.benchmark for record in found["a.out"].records] == ["hpl", "pingpong", "stream"]
    assert found["a.out"].says.startswith("not all of OSU micro-benchmarks was read: line ")
    assert found["a.out"].says.endswith("; give --ranks")
    assert (found["b.out"].format, found["b.out"].says[:39]) == (
        "OSU micro-benchmarks",
        "not all of HPL (HPL.out) was read: look",
    )


def test_hpc_challenge_alone_has_the_tables_of_hpl_and_stream() -> None:
    old = OUTPUT.replace("Begin of Summary", STREAM_TABLE + "Begin of Summary")
    assert len(parse(old, "x")) == len(parse(OUTPUT, "x"))


@pytest.mark.parametrize("ranks", [0, -3])
def test_impossible_numbers_of_ranks_are_refused(tmp_path: Path, ranks: int) -> None:
    """--ranks 0 was ignored; of --ranks -3 the message said that the file may not be complete."""
    (tmp_path / "a.out").write_text(LATENCY)
    says = f"^--ranks {ranks}: give the number of ranks of the launch, 1 or more$"
    with pytest.raises(InputError, match=says):
        list(read_tree(tmp_path, ranks))
    with pytest.raises(InputError, match=says):
        read_log(tmp_path / "a.out", (osu,), LATENCY, {}, ranks)
    with pytest.raises(InputError, match=says):
        parse(LATENCY, "a.out", ranks)


def test_a_launch_that_is_not_understood_is_not_the_whole_job(tmp_path: Path) -> None:
    files = {"job.sh": SCRIPT.replace("srun", "$MPIRUN -np 8"), "job.out": ALLREDUCE}
    assert tree(tmp_path, files)["job.out"].says.endswith(
        "do not print the number of ranks of allreduce; give --ranks"
    )
