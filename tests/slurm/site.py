"""A real Slurm on an emulated cluster: slurmd on each node, slurmctld on the head node, one munged for all.

python -m tests.slurm.site 4x2,rate=1Gbit COMMAND... runs COMMAND where sbatch works
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from kiviat.launch.emulated import yield_library
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.scripts import INTERFACE
from kiviat.launch.emulated.spec import parse_spec
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.record import InputError

_UP_TIMEOUT_S = 60.0


class Slurm:
    """A running Slurm, whose daemons end with the context; `prefix` runs a command on the head node."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster = cluster
        self._folder = folder
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._socket = folder / "munge.socket"
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.prefix = cluster.entering()

    def run(self, *words: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.prefix, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            **keywords,
        )

    @property
    def controller(self) -> subprocess.Popen[bytes]:
        return self._daemons["slurmctld"]

    def start_controller(self) -> None:
        self._start([*self.prefix, "slurmctld", "-D"], "slurmctld")

    def jobs(self, *states: str) -> list[str]:
        """Return the jobs that are in one of these states; by default, those that have not ended.

        Wait for a controller that is just starting.
        """
        asked = [f"--states={','.join(states)}"] if states else []
        deadline = time.monotonic() + _UP_TIMEOUT_S
        while (done := self.run("squeue", "--noheader", "--format=%i", *asked)).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError(f"squeue: {done.stderr}")
            time.sleep(0.2)
        return done.stdout.split()

    def __enter__(self) -> Slurm:
        self._folder.chmod(0o755)
        for name in (
            "state",
            "log",
            *(f"{kind}/{node}" for kind in ("spool", "tmp") for node in self._nodes()),
        ):
            (self._folder / name).mkdir(parents=True)
        self._start_munge()
        (self._folder / "slurm.conf").write_text(self._conf())
        # The plugin is named explicitly, because an emulated node's /sys shows no control groups by which
        # Slurm could detect one; none is used.
        (self._folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.start_controller()
        for node in self._nodes():
            self._start([*self._cluster.entering(node), "slurmd", "-D", "-N", node], node)
        self._wait()
        self.environment |= _of_shared_cores()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
        for daemon in self._daemons.values():
            try:
                daemon.wait(2)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _nodes(self) -> list[str]:
        return [node.name for node in self._cluster.topology().nodes]

    def _start(self, words: list[str], name: str) -> None:
        with (self._folder / "log" / f"{name}.out").open("wb") as output:
            self._daemons[name] = subprocess.Popen(
                words,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _start_munge(self) -> None:
        key = self._folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = [f"--{name}-file={self._folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self._start(["munged", "--foreground", "--force", f"--socket={self._socket}", *files], "munged")
        deadline = time.monotonic() + 10
        while not self._socket.exists():
            if time.monotonic() > deadline:
                raise RuntimeError((self._folder / "log" / "munged.out").read_text())
            time.sleep(0.05)

    def _wait(self) -> None:
        deadline = time.monotonic() + _UP_TIMEOUT_S
        while True:
            done = self.run("sinfo", "--noheader", "--format=%t %D")
            if done.stdout.split() == ["idle", str(len(self._nodes()))]:
                return
            if time.monotonic() > deadline:
                logs = "\n".join(
                    path.read_text()[-1500:] for path in sorted((self._folder / "log").iterdir())
                )
                raise RuntimeError(f"Slurm is not up: {done.stdout}{done.stderr}\n{logs}")
            time.sleep(0.2)

    def _conf(self) -> str:
        folder, slots = self._folder, self._cluster.spec.slots
        addresses = self._cluster.addresses()
        nodes = "".join(
            f"NodeName={node} NodeAddr={address} NodeHostname={node} CPUs={slots} Sockets=1 "
            f"CoresPerSocket={slots} ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN\n"
            for node, address in addresses.items()
        )
        # An MPI names its shared memory by host and job, and sites that run at once have the same hosts.
        first = 1 + secrets.randbelow(60_000)
        return f"""\
ClusterName=emulated
FirstJobId={first}
SlurmctldHost={socket.gethostname()}(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self._socket}
CryptoType=crypto/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmix
SlurmdParameters=config_overrides
SwitchType=switch/none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
KillWait=5
MinJobAge=60
SlurmctldParameters=idle_on_node_suspend
{nodes}PartitionName=all Nodes={",".join(addresses)} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def _of_shared_cores() -> dict[str, str]:
    """Return settings for jobs on nodes that share the cores of one machine: waiting ranks yield."""
    variables = {"OMPI_MCA_mpi_yield_when_idle": "1", "UCX_NET_DEVICES": INTERFACE, "KIVIAT_UCX_YIELD": "1"}
    try:
        mpich = find_toolchain("mpich")
    except InputError:
        return variables
    if mpich.version.startswith("4."):
        variables["KIVIAT_UCX_NO_FLUSH"] = "1"
    return variables | {"LD_PRELOAD": str(yield_library.library(mpich))}


def main() -> int:
    # In a folder that jobs and daemons of different users can access.
    with (
        Cluster.up(parse_spec(sys.argv[1])) as cluster,
        TemporaryDirectory(prefix="slurm-") as folder,
        Slurm(cluster, Path(folder)) as slurm,
    ):
        return subprocess.run([*slurm.prefix, *sys.argv[2:]], env=slurm.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
