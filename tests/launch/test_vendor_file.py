"""An unknown MPI needs only a new vendor file to be found, launched, probed and placed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.launching import launching
from kiviat.launch.emulated.spec import Spec, parse_spec
from kiviat.launch.mpi import vendors
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.command_line import taken_apart
from kiviat.launch.mpi.linkage import launcher_family, linked, toolchain_for
from kiviat.launch.mpi.mpiexec import LauncherOptions, that_matter
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.transport import Observed, parse
from kiviat.launch.run.launch_record import said
from kiviat.launch.substrates.launch_spec import LaunchSpec

from .conftest import Run, plan
from .test_real import case

# MPICH 4 under another name, with a launcher option of its own.
FANCY = r"""
derives = "mpich"
title = "Fancy MPI"
version_pattern = 'for Fancy version (\d+(?:\.\d+)*)'
launcher_pattern = 'Fancy'
launchers = ["fancyrun"]
wrappers = ["fancycxx"]
variables = ["FANCY"]

[command_line]
one = ["-frills"]

[[placement]]
name = "fancy"
launcher = "mpich"
version = "4"
"""


def _clear() -> None:
    for cached in (vendors.vendors, vendors.launcher_options, launcher_family):
        cached.cache_clear()


@pytest.fixture
def fancy(mpich: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toolchain]:
    """Install a vendor file for the invented MPI, and put its wrapper and launcher on PATH."""
    files, programs = tmp_path / "vendors", tmp_path / "bin"
    shutil.copytree(vendors._FOLDER, files)
    (files / "fancy.toml").write_text(FANCY)
    monkeypatch.setattr(vendors, "_FOLDER", files)
    programs.mkdir()
    for name, real, question, answer in (
        ("fancycxx", mpich.mpicxx, "-v", "fancycxx for Fancy version 7.1"),
        ("fancyrun", mpich.mpiexec, "--version", "Fancy run 7.1"),
    ):
        script = f'#!/bin/sh\n[ "$1" = {question} ] && exec echo "{answer}"\nexec {real} "$@"\n'
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    _clear()
    yield find_toolchain("fancy")
    monkeypatch.undo()
    _clear()


def test_found_launched_looked_at_and_placed(fancy: Toolchain, mpich: Toolchain, tmp_path: Path) -> None:
    """The invented MPI is found, launched, probed and placed. It runs MPICH's kiviat-bench, because compiling
    another one would take minutes.
    """
    assert (fancy.name, fancy.mpiexec.name) == ("Fancy MPI 7.1", "fancyrun")
    run = Run(fancy, build(mpich), tmp_path / "run")
    outcome = run(plan(case("pingpong", 8)), transport=None, options=LauncherOptions(place="cyclic"))
    assert (outcome.records, outcome.failed) == (1, 0), [record.reason for record in run.records]
    (launch,) = run.launches.values()
    words = launch["command"]
    assert words[0] == str(fancy.mpiexec)
    assert words[words.index("-f") + 1].endswith("/hosts"), "as Hydra reads places"
    assert launch["placement"]["policy"] == "cyclic" and launch["placement"]["differences"] == []
    assert launch["transport"]["near"] is not None, launch["transport"]


def test_programs_of_its_abi_run_under_its_launcher(
    fancy: Toolchain, mpich: Toolchain, stubs: Callable[[Toolchain], Path]
) -> None:
    program = str(stubs(mpich))
    found = linked(["fancyrun", "-n", "2", program])
    assert found.family == "mpich"
    assert toolchain_for(found, "fancy") == fancy
    command = taken_apart(["fancyrun", "-frills", "many", "-n", "2", program])
    assert (command.ranks, command.options) == (2, ("-frills", "many"))
    assert that_matter({"FANCY_COLOUR": "red", "PLAIN": "1"}) == {"FANCY_COLOUR": "red"}


def test_on_emulated_nodes_as_what_it_derives_from(fancy: Toolchain) -> None:
    cluster = Cluster.planned(Spec(2, 1))
    told = [launching(cluster, family, "7.1", oversubscribed=True) for family in ("fancy", "mpich")]
    assert told[0] == told[1] and "-launcher-exec" in told[0].arguments
    assert vendors.placements()["fancy"] == ("mpich", "4")


def test_ranks_are_told_how_long_their_links_refill() -> None:
    told = [
        launching(Cluster.planned(parse_spec(text)), "mpich", "4.0.2", oversubscribed=False).environment
        for text in ("2x1", "1x2,rate=1Gbit", "2x1,rate=1Gbit")
    ]
    assert not any("KIVIAT_REFILL" in environment for environment in told[:2])
    assert float(told[2]["KIVIAT_REFILL"]) == pytest.approx(2 * 131.072e-6, rel=1e-3)


def test_missing_rules_are_not_taken_from_another_mpi(fancy: Toolchain) -> None:
    """An MPI whose vendor file does not describe its transport has an unknown transport; the rules of another
    MPI are not used.
    """
    found = parse("", Observed("libfabric provider: sockets\n", 1, frozenset(), True))
    assert (found["near"], found["far"]) == (None, None) and "not known" in found["evidence"]


def test_the_native_program_need_not_know_its_name(fancy: Toolchain) -> None:
    """kiviat-bench names an MPI that native/platform/vendor.hpp does not list "unknown MPI"."""
    launch = said(LaunchSpec((), {}, toolchain=fancy), {"mpi": "unknown MPI", "mpi_version": "unknown"})
    assert (launch["mpi"], launch["mpi_version"]) == ("Fancy MPI", "7.1")


def test_a_ready_made_program_ran_with_what_it_loaded(tmp_path: Path) -> None:
    """Built with MPICH's headers, it was once recorded as MPICH's though it ran with Intel MPI."""
    found = relative(tmp_path, "intelmpi")
    library = "Intel(R) MPI Library 2021.18.1 for Linux* OS"
    event = {"mpi": "MPICH", "mpi_version": "5.0.2", "library": library}
    launch = said(LaunchSpec((), {}, toolchain=found), event)
    assert (launch["mpi"], launch["mpi_version"]) == ("Intel MPI", "2021.18")


# Output of wrappers and launchers: Intel MPI's was captured, the others' is as sites document it.
RELATIVES = {
    "intelmpi": (
        "mpigxx for the Intel(R) MPI Library 2021.18 for Linux*",
        "mpiexec.hydra",
        "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)",
        "2021.18",
    ),
    "mvapich": ("mpicxx for MVAPICH2 version 2.3.7", "mpiexec.hydra", "HYDRA build details:", "2.3.7"),
    "craympich": (
        "mpicxx for MPICH version 3.4a2\n"
        "g++ -I/opt/cray/pe/mpich/8.1.25/ofi/gnu/9.1/include -L/opt/cray/pe/mpich/8.1.25/ofi/gnu/9.1/lib",
        "srun",
        "slurm 23.02.7",
        "8.1.25",
    ),
    "mpt": ("g++ -I/opt/hpe/hpc/mpt/mpt-2.23/include -lmpi", "mpirun", "HPE MPT 2.23  08/26/20", "2.23"),
}


def relative(folder: Path, family: str) -> Toolchain:
    wrapper, launcher, answer, _ = RELATIVES[family]
    for name, text in (("mpicxx", wrapper), (launcher, answer)):
        (folder / name).write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        (folder / name).chmod(0o755)
    return find_toolchain(str(folder / "mpicxx"))


@pytest.mark.parametrize("family", RELATIVES)
def test_each_relative_is_known_by_what_it_says(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = relative(tmp_path, family)
    assert (found.family, found.version) == (family, RELATIVES[family][3])
    assert found.mpiexec.name == RELATIVES[family][1]


@pytest.mark.parametrize(
    ("mpi", "collectives"),
    [
        ("MPICH", "mpich"),
        ("Open MPI", "ompi"),
        ("Intel MPI", "impi"),
        ("MVAPICH", "mvapich2"),
        ("MVAPICH2", "mvapich2"),
        ("Cray MPICH", "mpich3"),
        ("HPE MPT", "mpich3"),
        ("unknown MPI", ""),
    ],
)
def test_algorithms_of_collectives_are_known_by_the_name_that_runs_have(mpi: str, collectives: str) -> None:
    """MVAPICH 3, Cray MPICH and HPE MPT were once fitted with SMPI's default algorithms."""
    assert vendors.collectives_of(mpi) == collectives
