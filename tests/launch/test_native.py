from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.mpiexec import LauncherOptions, command, environment, launcher, that_matter
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import fits, vendors
from kiviat.launch.process.execution import last_words
from kiviat.launch.run.launch_record import refuse_wrong_spread
from kiviat.launch.schedulers.scheduler import schedulers
from kiviat.launch.substrates.cores import is_one_node
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.scheduled import Scheduled, slots_of
from kiviat.launch.substrates.substrate import Native
from kiviat.record import InputError


def made(family: str, version: str) -> Toolchain:
    return Toolchain("", family, version, Path("/m/mpicxx"), Path("/m/mpiexec"), "PATH", False)


OPENMPI_4 = made("openmpi", "4.1.4")
OPENMPI_5 = made("openmpi", "5.0.11")
MPICH_4 = made("mpich", "4.0.2")
MPICH_5 = made("mpich", "5.0.2")
ALL = [OPENMPI_4, OPENMPI_5, MPICH_4, MPICH_5]
PLAIN = LauncherOptions(root=False)


@pytest.mark.parametrize("toolchain", ALL)
def test_nothing_is_added_that_is_not_needed(toolchain: Toolchain) -> None:
    assert command(toolchain, 2, ["bench", "--list"], PLAIN) == ["/m/mpiexec", "-n", "2", "bench", "--list"]
    assert environment(toolchain, PLAIN, {}) == {}


@pytest.mark.parametrize("toolchain", ALL)
def test_binding_is_never_added_silently(toolchain: Toolchain) -> None:
    everything_else = LauncherOptions(root=True, oversubscribed=True, probe=True)
    assert not any("bind" in word for word in command(toolchain, 4, ["bench"], everything_else))
    assert not any("bind" in name.lower() for name in environment(toolchain, everything_else, {}))
    assert any("bind" in word for word in command(toolchain, 4, ["bench"], LauncherOptions(bind="core")))


def test_what_oversubscription_needs() -> None:
    options = LauncherOptions(root=False, oversubscribed=True)
    assert command(OPENMPI_4, 4, ["b"], options) == ["/m/mpiexec", "-n", "4", "--oversubscribe", "b"]
    assert command(OPENMPI_5, 4, ["b"], options) == ["/m/mpiexec", "-n", "4", "b"]
    policy = {"PRTE_MCA_rmaps_default_mapping_policy": ":OVERSUBSCRIBE"}
    assert environment(OPENMPI_5, options, {}) == policy
    assert environment(MPICH_4, options, {}) == {}
    assert environment(MPICH_5, options, {}) == {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "2000000000"}


def test_root_needs_to_be_allowed_by_open_mpi() -> None:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert environment(OPENMPI_4, LauncherOptions(root=True), {}) == allowed
    assert environment(MPICH_4, LauncherOptions(root=True), {}) == {}


def test_what_the_user_set_stays() -> None:
    options = LauncherOptions(root=False, oversubscribed=True, environment={"UCX_TLS": "tcp"})
    user = {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "5"}
    assert environment(MPICH_5, options, user) == {"UCX_TLS": "tcp"}


def test_another_launcher() -> None:
    options = LauncherOptions(launcher="srun --mpi=pmix -n {ranks}", oversubscribed=True)
    assert command(OPENMPI_4, 8, ["b", "-x"], options) == ["srun", "--mpi=pmix", "-n", "8", "b", "-x"]
    with pytest.raises(InputError, match="--launcher is 'srun --mpi=pmix"):
        command(OPENMPI_4, 8, ["b"], replace(options, bind="core"))
    with pytest.raises(InputError, match="--place, --ppn and --bind are options for mpiexec"):
        launcher(OPENMPI_4, 8, options, ["--map-by", "seq"])
    own = replace(options, launcher="mpirun -n {ranks}")
    assert launcher(OPENMPI_4, 8, own, ["--map-by", "seq"]) == ["mpirun", "-n", "8", "--map-by", "seq"]


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an srun on PATH that knows PMIx the first time that it is asked, and fails afterwards."""
    file = tmp_path / "srun"
    file.write_text("#!/bin/sh\n[ ! -e $0.asked ] || exit 1\n: > $0.asked\necho cray_shasta pmix >&2\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return file


def test_all_launches_of_a_run_have_the_same_launcher(srun: Path, tmp_path: Path) -> None:
    """While Slurm's controller did not answer, mpiexec once took srun's place, without a word."""
    slurm = Scheduled(schedulers()["slurm"])
    bound = LauncherOptions(bind="core", root=False)
    for _ in range(2):
        words = slurm.start(OPENMPI_4, 8, tmp_path, bound).launcher
        assert words[:3] == ("srun", "--mpi=pmix", "--ntasks=8")
        assert "--cpu-bind=cores" in words and "--export=ALL" in words
    with pytest.raises(InputError, match="`srun --mpi=list` failed"):
        Scheduled(schedulers()["slurm"]).start(OPENMPI_4, 8, tmp_path, bound)


def test_a_binding_that_nothing_makes_is_refused(tmp_path: Path) -> None:
    """`--bind core` was once ignored with Cray MPICH, and inside jobs of Flux."""
    bound, cray = LauncherOptions(bind="core", root=False), made("craympich", "8.1.25")
    with pytest.raises(InputError, match=r"how mpiexec binds ranks of Cray MPICH; .* --launcher"):
        Native().start(cray, 2, tmp_path, bound)
    flux = Scheduled(schedulers()["flux"])
    with pytest.raises(InputError, match=r"how flux run binds ranks of MPICH; .* --launcher"):
        flux.start(MPICH_4, 2, tmp_path, bound)
    for spread in (2, 4):
        with pytest.raises(InputError, match="--launcher"):
            Scheduled(schedulers()["pbs"]).start(
                made("craympich", "8.1.25"), 4, tmp_path, replace(bound, per_node=spread)
            )
    by_launcher = LauncherOptions(launcher="mpirun --map-by node -n {ranks}", per_node=4, root=False)
    assert Scheduled(schedulers()["pbs"]).start(MPICH_4, 2, tmp_path, by_launcher).per_node is None
    assert flux.start(made("mpt", "2.28"), 2, tmp_path, bound).environment["MPI_DSM_DISTRIBUTE"] == "1"
    assert flux.start(MPICH_4, 2, tmp_path, PLAIN).launcher == ("flux", "run", "-n", "2")


def test_a_rank_has_the_processors_of_its_task(
    srun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since Slurm 22.05, srun once gave each rank of `--on slurm:cpus-per-task=8` one processor."""
    slurm = Scheduled(schedulers()["slurm"])
    assert "SRUN_CPUS_PER_TASK" not in slurm.start(OPENMPI_4, 2, tmp_path, PLAIN).environment
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "8")
    assert slurm.start(OPENMPI_4, 2, tmp_path, PLAIN).environment["SRUN_CPUS_PER_TASK"] == "8"
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "8")  # room for one task: two of 8 would be refused
    assert "SRUN_CPUS_PER_TASK" not in slurm.start(OPENMPI_4, 2, tmp_path, PLAIN).environment
    monkeypatch.delenv("SLURM_JOB_CPUS_PER_NODE")
    by_mpiexec = replace(PLAIN, launcher="mpiexec -n {ranks}")
    assert "SRUN_CPUS_PER_TASK" not in slurm.start(OPENMPI_4, 2, tmp_path, by_mpiexec).environment


def test_a_job_that_has_so_many_ranks_on_a_node_needs_no_list_of_nodes(tmp_path: Path) -> None:
    """PBS and LSF list no nodes to Kiviat, and every job of `-n 4x4` once ended for want of them."""
    pbs = Scheduled(schedulers()["pbs"])
    spread = LauncherOptions(per_node=4, root=False)
    assert pbs.start(OPENMPI_4, 16, tmp_path, spread).launcher == ("/m/mpiexec", "-n", "16")
    with pytest.raises(InputError, match="PBS does not list here"):
        pbs.start(OPENMPI_4, 16, tmp_path, replace(spread, place="cyclic"))


@pytest.mark.parametrize(
    ("world", "nodes", "right"),
    [(4, "0011", True), (4, "0101", True), (3, "001", True), (4, "0000", False), (4, "0123", False)],
)
def test_ranks_of_a_job_are_on_as_many_nodes_as_requested(
    world: int, nodes: str, right: bool, tmp_path: Path
) -> None:
    options = LauncherOptions(per_node=2, root=False)
    spec = Scheduled(schedulers()["pbs"]).start(OPENMPI_4, world, tmp_path, options)
    event = {"ranks": [{"rank": rank, "host": "n", "node": int(node)} for rank, node in enumerate(nodes)]}
    with nullcontext() if right else pytest.raises(InputError, match="and not on 2 with 2 on each, as -n"):
        refuse_wrong_spread(spec, event)
    refuse_wrong_spread(replace(spec, per_node=None), event)


@pytest.mark.parametrize("asked", [{"place": "cyclic"}, {"per_node": 1}, {"bind": "virtual-processor"}])
def test_in_an_allocation_ranks_are_not_placed_on_this_node_alone(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --on, `-n 2x1` in a job of two nodes once put both ranks on the first."""
    hosts = tmp_path / "hosts"
    hosts.write_text("n1\nn1\nn2\nn2\n")
    monkeypatch.setenv("PBS_NODEFILE", str(hosts))
    monkeypatch.setenv("PBS_JOBID", "7.server")
    options = LauncherOptions(root=False, oversubscribed=True, **asked)
    with pytest.raises(InputError, match="on this node of the allocation; give --on pbs"):
        Native().start(MPICH_4, 2, tmp_path, options)
    assert Native().start(MPICH_4, 2, tmp_path, PLAIN).layout is None
    hosts.write_text("n1\nn1\n")
    assert Native().start(MPICH_4, 1, tmp_path, options).layout


@pytest.mark.parametrize(
    ("job", "one"),
    [
        ({"SLURM_JOB_NUM_NODES": "1", "FLUX_URI": "local:///f"}, True),
        ({"SLURM_JOB_NUM_NODES": "2"}, False),
        ({"LSB_HOSTS": "n1 n1 n1"}, True),
        ({"LSB_HOSTS": "n1 n1 n2"}, False),
        ({"LSB_HOSTS": "n1", "LSB_DJOB_HOSTFILE": "/absent"}, True),
        ({"PBS_NODEFILE": "/absent"}, False),
        ({"FLUX_URI": "local:///f"}, False),
    ],
)
def test_an_allocation_has_one_node_only_if_it_says_so(job: dict[str, str], one: bool) -> None:
    assert is_one_node(job) is one


@pytest.mark.parametrize(
    ("job", "slots"),
    [
        ({"SLURM_JOB_CPUS_PER_NODE": "128(x2),64"}, [128, 128, 64]),
        ({"SLURM_JOB_CPUS_PER_NODE": "128(x2)", "SLURM_CPUS_PER_TASK": "32"}, [4, 4]),
        (
            {"SLURM_JOB_CPUS_PER_NODE": "128(x2)", "SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": "3,2"},
            [3, 2],
        ),
        ({"SLURM_JOB_CPUS_PER_NODE": "8(x2)", "SLURM_TASKS_PER_NODE": "1(x2)"}, [8, 8]),
    ],
)
def test_a_node_has_room_for_its_tasks(job: dict[str, str], slots: list[int]) -> None:
    assert slots_of(job) == slots


def test_arguments_of_the_user_go_to_mpiexec() -> None:
    words = command(OPENMPI_4, 2, ["b"], LauncherOptions(root=False, arguments=("--map-by", "node")))
    assert words == ["/m/mpiexec", "-n", "2", "--map-by", "node", "b"]


def test_variables_reach_ranks_on_other_nodes() -> None:
    """Open MPI passes on no other variables than its own; Hydra passes on all."""
    options = LauncherOptions(environment={"OMP_NUM_THREADS": "1", "OMPI_MCA_pml": "ob1"})
    assert command(OPENMPI_4, 2, ["b"], options) == ["/m/mpiexec", "-n", "2", "-x", "OMP_NUM_THREADS", "b"]
    assert command(MPICH_4, 2, ["b"], options) == ["/m/mpiexec", "-n", "2", "b"]
    own = replace(options, arguments=("-x", "OMP_NUM_THREADS=2"))
    assert command(OPENMPI_4, 2, ["b"], own) == ["/m/mpiexec", "-n", "2", "-x", "OMP_NUM_THREADS=2", "b"]


def test_only_variables_that_matter_to_mpi() -> None:
    user = {"UCX_TLS": "tcp", "OMPI_MCA_pml": "ob1", "HOME": "/root", "FILE_TOKEN": "x", "LD_PRELOAD": "a.so"}
    assert set(that_matter(user)) == {"UCX_TLS", "OMPI_MCA_pml", "LD_PRELOAD"}


def test_a_line_for_the_shell() -> None:
    assert LaunchSpec(("run",), {"A": "b c"}).of(["x y"]).shell_line() == "A='b c' run 'x y'"


@pytest.mark.parametrize(
    ("version", "predicate", "holds"),
    [
        ("4.1.4", "<5", True),
        ("5.0.0", "<5", False),
        ("5", ">=5.0", True),
        ("4.10", ">4.9", True),
        ("4.1.4", ">=4,<4.1", False),
        ("4.1.4", "==4.1.4", True),
        ("4.1.4", "<=4.1", False),
        ("4.1.4", "", True),
    ],
)
def test_version_predicates(version: str, predicate: str, holds: bool) -> None:
    assert fits(version, predicate) is holds


def test_the_files_of_the_vendors_can_be_read() -> None:
    """All vendor files are valid: `fits` knows every predicate, and every requirement has a reason."""
    assert set(vendors()) == {"craympich", "intelmpi", "mpich", "mpt", "mvapich", "openmpi", "smpi"}
    for vendor in vendors().values():
        for need in vendor.needs:
            fits("1.0", need.versions)
            assert need.why and (need.arguments or need.environment)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", None),
        ("-----\n\n", None),
        ("error: no licence\nsome advice\n------\n", "error: no licence"),
        ("first\nlast line\n===\n", "last line"),
        (
            "[0.1] [root/CRITICAL] no algorithm\nbench --cfg=a --log=error\nline 9: Aborted --cfg=b\n",
            "[0.1] [root/CRITICAL] no algorithm",
        ),
        ("cannot go on\nbench --cfg=a --log=root.thres:error\n", "cannot go on"),
        (
            "=   EXIT CODE: 9\n=   CLEANING UP\n"
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
            "This typically refers to a problem with your application.\n",
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
        ),
        (
            "srun: error: n2: task 1: Segmentation fault\n"
            "srun: launch/slurm: _step_signal: Terminating StepId=134.0\n"
            "srun: error: n1: tasks 0,3: Terminated\n",
            "srun: error: n2: task 1: Segmentation fault",
        ),
    ],
)
def test_the_line_that_says_why(text: str, words: str | None) -> None:
    assert last_words(text) == words
