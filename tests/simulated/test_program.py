"""State that simulated ranks, which live in one process, must not share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.simulated import Simulated

# Read only once main has started; constants; the one place of all payload (platform/simgrid/node.cpp); the
# language's own.
ALLOWED = re.compile(
    r".*_registration$|guard variable for .*|.*registered\(\)::all|kiviat::common_axes\(\)::axes"
    r"|kiviat::host::allocate\(unsigned long\)::(place|room)"
    r"|kiviat::(load_names|method_names|suffered_names|loads|methods|suffered)"
    r"|kiviat::(swap_names|route_names|counter_names|\(anonymous namespace\)::namings)"
    r"|\(anonymous namespace\)::ring_methods"
    # Found by whoever asks first, the same for all: a library, and the kernels that suit the processor.
    r"|kiviat::Fftw::find\(.*\)::found|kiviat::\(anonymous namespace\)::in_tiles<.*::one"
    # Functions of the profiler, where it is preloaded, and who sees a call first.
    r"|kiviat::SteadyState::(watch\(\)::watch|account_for_skipped\(\)::repeat)|MPI_Alltoallv?::first"
    r"|__cpu_(model|features2)"
    r"|DW\.ref\..*|__TMC_END__|__dso_handle|completed\.0|std::.*"
)

# By a process of its own, for one begins with the greatest memory of what it is made of: here of all tests.
MEMORY = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_nothing_that_can_be_written_is_global(bench: Path) -> None:
    """Without privatization, which ends at some thousand ranks, a global belongs to all ranks at once."""
    listed = subprocess.run(
        ["nm", "-C", "--defined-only", "--format=sysv", bench], capture_output=True, text=True, check=True
    )
    found = []
    for line in listed.stdout.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and re.fullmatch(r"\.(data|bss|tdata|tbss)", fields[6]):
            found.append(fields[0])
    assert [name for name in found if "_registration" in name], "nm listed nothing"
    assert [name for name in found if not ALLOWED.fullmatch(name)] == []


def test_no_clock_but_the_simulated_one_is_linked(bench: Path) -> None:
    listed = subprocess.run(
        ["nm", "-CD", "--undefined-only", bench], capture_output=True, text=True, check=True
    )
    assert "simgrid::s4u::Engine::get_clock" in listed.stdout
    for clock in ("chrono::", "clock_gettime", "gettimeofday", "MPI_Wtime", "smpi_clock"):
        assert clock not in listed.stdout


def test_cores_without_ranks_take_no_memory(simgrid: Toolchain, bench: Path, tmp_path: Path) -> None:
    """SimGrid had to know all 32,768 cores of a machine, in 150 MB, before the first rank began."""
    start = Simulated.parse("ndr-fat-tree").start(simgrid, 2, tmp_path, LauncherOptions())
    for name, text in start.files.items():
        (tmp_path / name).write_text(text)
    words = [*start.launcher, str(bench), "pingpong", "-m", "8", "-i", "1"]
    environment = {**os.environ, **start.environment}
    said = subprocess.run(
        [sys.executable, "-c", MEMORY, *words], env=environment, capture_output=True, text=True, check=True
    )
    assert int(said.stdout) * 1024 < 80e6
