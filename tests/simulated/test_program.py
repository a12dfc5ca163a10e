"""State that simulated ranks must not share, although they live in one process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.simulated import Simulated

# Permitted globals: not modified after main() has started; constants; the shared payload buffer
# (platform/simgrid/node.cpp); those of the C++ runtime.
ALLOWED = re.compile(
    r".*_registration$|guard variable for .*|.*registered\(\)::all|kiviat::common_axes\(\)::axes"
    r"|kiviat::host::allocate\(unsigned long\)::(place|room)"
    r"|kiviat::(load_names|method_names|suffered_names|loads|methods|suffered)"
    r"|kiviat::(swap_names|route_names|counter_names|\(anonymous namespace\)::namings)"
    r"|\(anonymous namespace\)::ring_methods"
    # Results of searches that are equal for all ranks: a library, and the kernels that suit the processor.
    r"|kiviat::Fftw::find\(.*\)::found|kiviat::\(anonymous namespace\)::in_tiles<.*::one"
    # Functions of the preloaded profiler, and whether it is present.
    r"|kiviat::SteadyState::(watch\(\)::watch|account_for_skipped\(\)::repeat)|MPI_Alltoallv::first"
    # The exchange that all ranks of a call choose.
    r"|\(anonymous namespace\)::sparse_for_all\(.*\)::of_group"
    r"|__cpu_(model|features2)"
    r"|DW\.ref\..*|__TMC_END__|__dso_handle|completed\.0|std::.*"
)

# Runs in a process of its own, because the maximum resident size of a child process starts with that of its
# parent.
MEMORY = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_nothing_that_can_be_written_is_global(bench: Path) -> None:
    """The simulated program has no other writable global variables.

    Without privatization, which is limited to some thousand ranks, all ranks share them.
    """
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
    """Cores without ranks take no memory.

    SimGrid once had to create all 32,768 cores of a machine, which took 150 MB.
    """
    start = Simulated.parse("ndr-fat-tree").start(simgrid, 2, tmp_path, LauncherOptions())
    for name, text in start.files.items():
        (tmp_path / name).write_text(text)
    words = [*start.launcher, str(bench), "pingpong", "-m", "8", "-i", "1"]
    environment = {**os.environ, **start.environment}
    said = subprocess.run(
        [sys.executable, "-c", MEMORY, *words], env=environment, capture_output=True, text=True, check=True
    )
    assert int(said.stdout) * 1024 < 80e6
