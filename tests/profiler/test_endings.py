"""Profiling does not change how a program ends, and keeps the counts however it ends."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.cli.text.profiled import tell
from kiviat.launch.mpi.linkage import linked
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.tools.preload import EndedCommand
from kiviat.launch.tools.profile import TOOL, collected, profiling
from kiviat.profile import read_profile
from kiviat.record import InputError

from .conftest import PROGRAMS, ROOT, Compiled, Profiled, kiviat_profile
from .test_read import write_first_state, write_first_version


@pytest.fixture
def exchange(openmpi: Toolchain, compiled: Compiled) -> Path:
    return compiled(openmpi, "exchange.c", "-lpthread")


@pytest.mark.both_mpis
def test_output_and_exit_code_are_the_programs(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    done = profiled(toolchain, 2, compiled(toolchain, "exchange.c", "-lpthread"), "ring", "fails")
    assert done.status == 3
    assert done.out == "done ring\n"
    assert "told\n" in done.err
    assert "of the time in MPI" in done.err
    assert done.calls("Sendrecv") == 20


@pytest.mark.parametrize("way", [pytest.param("left", marks=pytest.mark.full), "abort", "killed"])
def test_without_finalize(way: str, openmpi: Toolchain, exchange: Path, profiled: Profiled) -> None:
    """After _exit, MPI_Abort or SIGKILL, the counts so far are kept, and the profile says that ranks did not
    reach MPI_Finalize.
    """
    done = profiled(openmpi, 3, exchange, way)
    assert done.status != 0
    assert done.out.startswith("done")
    assert "ended without MPI_Finalize" in done.err
    profile = done.profile
    assert profile.seen.all() and not profile.ended.any()
    assert done.calls("Sendrecv") == 30
    assert profile.sent.dense_bytes()[0].tolist() == [0, 1000, 0]
    assert (profile.seconds > 0).all()
    if way == "killed":
        assert profile.inside == {0: "MPI_Recv", 1: "MPI_Recv"}


def test_a_program_that_aborts_after_another_has_ended(
    openmpi: Toolchain, exchange: Path, tmp_path: Path
) -> None:
    """A script that starts two programs has the profiles of both, although only the first one finalises.

    The script's command is the title of neither.
    """
    script = tmp_path / "run.sh"
    launch = f"{openmpi.mpiexec} --oversubscribe -n"
    script.write_text(f"#!/bin/sh\n{launch} 2 {exchange} ring\n{launch} 3 {exchange} abort\n")
    done = kiviat_profile(tmp_path, "sh", script, mpi="openmpi")
    assert done.status != 0
    aborted = read_profile(done.path.with_name("out-2.profile"))
    assert (done.profile.ranks, done.profile.ended.all()) == (2, True)
    assert (aborted.ranks, aborted.ended.any()) == (3, False)
    assert done.err.count("ended without MPI_Finalize") == 1
    assert (done.profile.subject, aborted.subject) == (None, None)


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """Return a folder for fabricated files of ranks."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    return folder


def test_profiles_of_further_programs_replace_no_file(ranks: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_first_version(ranks / f"world-{number}.profile", number)
    (tmp_path / "out-2.profile").write_text("mine")
    (tmp_path / "out-3.profile").symlink_to("nowhere")
    ended = collected(EndedCommand(ranks, 0, None), tmp_path / "out.profile")
    names = ["out.profile", "out-4.profile", "out-5.profile"]
    assert [path.name for path in ended.profiles] == names
    assert (tmp_path / "out-2.profile").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_ranks_of_programs_that_abort_before_another_are_counted(
    ranks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If several programs abort, the latest has a profile; the others were once left out silently."""
    for started_s in (1, 2, 3):
        write_first_state(ranks / f"rank-0-{started_s}.state", started_s)
    said = "left out: 2 ranks of earlier programs that did not reach MPI_Finalize"
    assert said in " ".join(read_profile(ranks).remarks)
    tell(collected(EndedCommand(ranks, 1, None), tmp_path / "out.profile"))
    assert said in capsys.readouterr().err


def test_a_child_is_another_program(openmpi: Toolchain, exchange: Path, profiled: Profiled) -> None:
    """Forked and started child processes neither write into the profile nor create another one."""
    done = profiled(openmpi, 2, exchange, "fork")
    assert done.status == 0
    assert done.calls("Sendrecv") == 6
    assert sorted(path.name for path in done.path.parent.iterdir()) == ["out.profile"]


def test_a_program_that_clears_its_environment(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """The folder is known to the end: MPI_Finalize once ended such programs with an exception."""
    program = compiled(toolchain, "exchange.c", "-lpthread")
    done = profiled(toolchain, 2, program, "clears", asks=["--counters"])
    assert done.status == 0, done.err
    assert done.profile.ended.all()
    assert done.calls("Sendrecv") == 20


def test_a_limit_of_file_sizes(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Files that may not grow do not end the program: the signal of a file that is too large once did.

    No transport is used, because those of shared memory have large files of their own.
    """
    program = compiled(openmpi, "limited.c")
    alone = ("--mca", "btl", "self")
    done = profiled(
        openmpi, 1, *alone, program, "20000"
    )  # less than the counters, more than the merged profile
    assert done.status == 7, done.err
    assert done.profile.ended.all()
    assert done.calls("Sendrecv") == 1
    assert "counted in memory for lack of a file" in " ".join(done.profile.remarks)
    done.path.unlink()
    done = profiled(openmpi, 1, *alone, program, "50", asks=["--counters"])
    assert done.status == 7, done.err
    assert "cannot write the profile to folder" in done.err
    assert not done.path.exists()


def test_a_signal_while_a_file_grows(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """It once had the same consequence as a full disk."""
    done = profiled(openmpi, 1, compiled(openmpi, "limited.c", "-DINTERRUPTED", "-rdynamic"))
    assert done.status == 7, done.err
    assert done.calls("Sendrecv") == 1
    assert done.profile.remarks == ()


def test_attributes_that_refuse_to_be_copied(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """MPI_Finalize copies no attributes of the program, whose functions may count, fail or be gone."""
    program = compiled(toolchain, "exchange.c", "-lpthread")
    done = profiled(toolchain, 2, program, "attribute")
    assert done.status == 0, done.err
    assert done.calls("Sendrecv") == 20


def test_a_program_behind_a_script(
    openmpi: Toolchain, exchange: Path, profiled: Profiled, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f'#!/bin/sh\nexec "{exchange}" "$@"\n')
    script.chmod(0o755)
    done = profiled(openmpi, 2, script, "ring")
    assert done.status == 0
    assert done.calls("Sendrecv") == 20


def test_a_command_that_preloads_another_library(openmpi: Toolchain, exchange: Path, tmp_path: Path) -> None:
    """A library that an option of the launcher preloads does not replace the profiler."""
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", other], check=True)
    words: list[str | Path] = [openmpi.mpiexec, "--oversubscribe", "-x", f"LD_PRELOAD={other}", "-n", "2"]
    done = kiviat_profile(tmp_path, *words, exchange, "ring")
    assert done.status == 0, done.err
    assert done.calls("Sendrecv") == 20


def test_an_mpi_that_is_loaded_at_run_time(
    toolchain: Toolchain, compiled: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profiler works with an MPI that is loaded at run time, as by Python's mpi4py."""
    monkeypatch.setenv("MODULE", str(compiled(toolchain, "module.c", "-shared", "-fPIC")))
    host = tmp_path / "host"
    subprocess.run(["cc", PROGRAMS / "host.c", "-o", host], check=True)
    many = ["--oversubscribe"] if toolchain.family == "openmpi" else []
    words: list[str | Path] = [toolchain.mpiexec, *many, "-n", "2", host]
    refused = kiviat_profile(tmp_path, *words)
    assert refused.status == 2
    assert "links no MPI" in refused.err
    done = kiviat_profile(tmp_path, *words, mpi=toolchain.family)
    assert done.status == 0, done.err
    assert done.profile.sent.dense_bytes().tolist() == [[0, 10], [10, 0]]


def test_nothing_was_seen(openmpi: Toolchain, profiled: Profiled, tmp_path: Path) -> None:
    """If a script never calls MPI, no profile is written, and a message says so."""
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\necho as ever\nexit 7\n")
    script.chmod(0o755)
    done = profiled(openmpi, 1, script)
    assert done.status == 7
    assert done.out == "as ever\n"
    assert "no MPI call of" in done.err
    assert not done.path.exists()
    script.write_text("#!/bin/sh\n")
    assert profiled(openmpi, 1, script).status == 2


def test_preloaded_where_there_is_no_mpi(openmpi: Toolchain, tmp_path: Path) -> None:
    """The preloaded library does not disturb processes without MPI, such as launchers and shells: it resolves
    no MPI symbols when it is loaded.
    """
    environment = {"LD_PRELOAD": str(TOOL.library(openmpi)), "LD_BIND_NOW": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.full
def test_preloaded_on_some_ranks_only(openmpi: Toolchain, exchange: Path, tmp_path: Path) -> None:
    """If only some ranks preload the profiler, the program ends after a minute.

    It might wait for ever, because those ranks have begun a collective.
    """
    variables = ("-x", f"LD_PRELOAD={TOOL.library(openmpi)}", "-x", f"KIVIAT_PROFILE={tmp_path}")
    words: list[str | Path] = [openmpi.mpiexec, "--oversubscribe", "-n", "1", exchange, "ring"]
    words += [":", "-n", "1", *variables, exchange, "ring"]
    done = subprocess.run(words, env={**os.environ, **ROOT}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count("the profiler is not preloaded on all ranks, so the program is ended") == 1


def test_a_program_without_mpi(openmpi: Toolchain) -> None:
    with pytest.raises(InputError, match="ls links no MPI"):
        linked([str(openmpi.mpiexec), "-n", "2", "ls", "-l"])


def test_a_static_program(openmpi: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    program = tmp_path / "empty"
    subprocess.run(["cc", "-static", tmp_path / "empty.c", "-o", program], check=True)
    with pytest.raises(InputError, match="empty is statically linked"):
        linked([str(openmpi.mpiexec), "-n", "2", str(program)])


def test_an_mpi_of_another_abi(openmpi: Toolchain, tmp_path: Path) -> None:
    """A library that has an MPI's name, but another ABI, is not used."""
    subprocess.run(
        [
            "cc",
            "-shared",
            "-x",
            "c",
            "/dev/null",
            "-Wl,-soname,libmpi_abi.so.0",
            "-o",
            tmp_path / "libmpi_abi.so.0",
        ],
        check=True,
    )
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    program = tmp_path / "program"
    words: list[str | Path] = [
        "cc",
        tmp_path / "program.c",
        "-Wl,--no-as-needed",
        tmp_path / "libmpi_abi.so.0",
        "-o",
        program,
    ]
    subprocess.run(words, check=True)
    with pytest.raises(InputError, match=r"program needs libmpi_abi.so.0, an MPI of another ABI"):
        linked([str(openmpi.mpiexec), str(program)])


def test_the_launcher_of_another_mpi(mpich: Toolchain, exchange: Path) -> None:
    with pytest.raises(InputError, match=r"is MPICH's, but .* is linked with Open MPI"):
        linked([str(mpich.mpiexec), "-n", "2", str(exchange)])


def test_the_library_of_another_mpi(exchange: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--mpi", "mpich", "--", "mpirun.openmpi", str(exchange)]) == 2
    assert "--mpi mpich is MPICH" in capsys.readouterr().err


def test_torn_and_foreign_profiles(
    openmpi: Toolchain, exchange: Path, profiled: Profiled, capsys: pytest.CaptureFixture[str]
) -> None:
    good = profiled(openmpi, 2, exchange, "ring").path
    content = good.read_bytes()
    cases = {
        "truncated": content[:-5],
        "is truncated": content[:100],
        "its checksum": content[:-1] + bytes([content[-1] ^ 1]),
        "of version 'kiviat.profile/9'": content.replace(b"kiviat.profile/2", b"kiviat.profile/9", 1),
        "is not a profile": b"something else",
    }
    for said, damaged in cases.items():
        good.write_bytes(damaged)
        assert main(["show", str(good)]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1


def test_another_file_is_not_overwritten(exchange: Path, tmp_path: Path) -> None:
    (tmp_path / "out.profile").write_text("mine")
    done = kiviat_profile(tmp_path, "mpirun.openmpi", exchange)
    assert done.status == 2
    assert "exists and is not a profile" in done.err
    assert (tmp_path / "out.profile").read_text() == "mine"


def test_no_device_or_pipe_is_taken_for_a_profile(tmp_path: Path) -> None:
    """Devices and pipes are not accepted as output or input.

    /dev/null was once replaced by the profile, and reading a pipe blocked for ever.
    """
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(InputError, match="is a device or a pipe, but a profile must be readable later"):
            TOOL.folder_for(name, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_files_of_a_killed_kiviat_can_be_shown(
    openmpi: Toolchain, exchange: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ranks' files can be shown and reported directly if Kiviat was killed before it merged them."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    words: list[str | Path] = [openmpi.mpiexec, "--oversubscribe", "-n", "2", exchange, "left"]
    variables = profiling(LaunchSpec((), {}), TOOL.library(openmpi), folder).environment
    subprocess.run(words, env={**os.environ, **ROOT, **variables}, capture_output=True)
    assert read_profile(folder).sent.dense_bytes().tolist() == [[0, 1000], [1000, 0]]
    assert main(["show", str(folder)]) == 0
    capsys.readouterr()
    assert main(["show", str(folder), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert told["bytes"]["same socket"] + told["bytes"]["unknown"] == 2000
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "-o", str(page)]) == 0
    assert "2 of 2 ranks did not reach MPI_Finalize" in page.read_text()
