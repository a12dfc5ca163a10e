"""The environment of one trial: its own PID, mount, IPC and network namespaces.

A trial cannot affect anything outside, and all its effects are visible: its processes and network interfaces
are those of the namespaces, and its files are below /tmp and /dev/shm, which are empty at first. When the
trial ends, the kernel removes everything.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).resolve().parent / "tiny"
TMP = Path("/tmp")
HOME = TMP / "kiviat"
DISK = HOME / "disk"  # a small file system that can be filled
RUNS, OUT, CACHE, STATE, TEMPORARY, WORK = (
    *(DISK / "runs", DISK / "out"),
    *(HOME / name for name in ("cache", "state", "tmp", "work")),
)
BUILDS = CACHE / "kiviat" / "build"
PLACES = (RUNS, OUT, CACHE, STATE, TEMPORARY, WORK)
BIN = HOME / "bin"
CLOCK = HOME / "clock"  # the seconds by which the time of day is stepped
DISK_BYTES = 24 << 20
# Open MPI's launcher refuses root otherwise; Kiviat sets them for its own launches.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# The first process of the namespaces is a shell, which reaps orphans while it waits: Slurm keeps a job until
# the processes of the job have been reaped.
INIT = ("sh", "-c", '"$@"; exit $?', "init")
UNSHARE = (
    *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--ipc", "--net"),
    *(() if os.geteuid() == 0 else ("--user", "--map-root-user")),
)


def call_inside(module: str, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests in new namespaces, which end with it. It is killed if this process dies."""
    return subprocess.run(
        [*UNSHARE, *INIT, sys.executable, "-m", module, *arguments],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        start_new_session=True,
    )


def enter(keep: Iterable[Path]) -> None:
    """Set up the folders of the environment from inside the namespaces; the paths in `keep` stay visible even
    below /tmp.
    """
    kept = [(path.resolve(), os.open(path, os.O_PATH)) for path in keep if path.resolve().is_relative_to(TMP)]
    mount("-t", "tmpfs", "-o", "size=256M", "none", "/tmp")
    mount("-t", "tmpfs", "-o", "size=256M", "none", "/dev/shm")
    for path, descriptor in kept:
        path.mkdir(parents=True, exist_ok=True)  # because .venv is inside the checkout
        mount("--no-canonicalize", "--bind", f"/proc/{os.getpid()}/fd/{descriptor}", str(path))
        os.close(descriptor)
    DISK.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(DISK))
    for place in PLACES:
        place.mkdir()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    CLOCK.write_bytes(struct.pack("l", 0))
    os.chdir(WORK)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)  # otherwise child processes would inherit ignored signals


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True, text=True)


def unmount(path: Path) -> None:
    subprocess.run(["umount", "--lazy", str(path)], check=True, capture_output=True, text=True)


def step_clock(seconds: int) -> None:
    """Step the clock that commands with the variables of `with_clock()` see."""
    with CLOCK.open("r+b") as file:
        file.write(struct.pack("l", seconds))


def with_clock(library: Path) -> dict[str, str]:
    """Return variables that give a command a clock that can be stepped; `library` is clock.c, compiled."""
    return {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(CLOCK)}


def interfaces() -> set[str]:
    """Return the network interfaces of this namespace, except the loopback one."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines} - {"lo"}


def environment(more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KIVIAT")}
    ours = {
        "XDG_CACHE_HOME": CACHE,
        "XDG_STATE_HOME": STATE,
        "TMPDIR": TEMPORARY,
        "HOME": HOME,
        "KIVIAT_RUNS": RUNS,
    }
    return {**inherited, **{name: str(path) for name, path in ours.items()}, **more}


def kiviat(
    words: Sequence[str], stdout: Any, stderr: Any, prefix: Sequence[str] = (), **more: str
) -> subprocess.Popen[bytes]:
    """Start `kiviat` in a session of its own, as a terminal does; `prefix` becomes it on another node."""
    return subprocess.Popen(
        [*prefix, Path(sys.executable).with_name("kiviat"), *words],
        cwd=WORK,
        env=environment(more),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


# Processes


def status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if the process has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def processes() -> dict[int, str]:
    """Return the names of all processes of this namespace except this one and the first, by number."""
    pids = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()}
    return {pid: name(pid) for pid in pids - {os.getpid(), 1} if status(pid)[:1] not in ([], ["Z"])}


def catches(pid: int, number: int) -> bool:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith("SigCgt"))
        return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def computed_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = status(pid)
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def has_loaded(pid: int, library: str) -> bool:
    with suppress(OSError):
        return library in Path(f"/proc/{pid}/maps").read_text()
    return False


# Files


def everything() -> set[Path]:
    """Return every file, link and empty folder of the environment, except those mounted from outside."""
    found = set[Path]()
    for root in (TMP, Path("/dev/shm")):
        for folder, folders, names in os.walk(root):
            here = Path(folder)
            if not here.is_relative_to(HOME):
                folders[:] = [name for name in folders if not (here / name).is_mount()]
            found |= {here / name for name in names}
            if is_empty(here):
                found.add(here)
    return found


def is_empty(folder: Path) -> bool:
    with suppress(OSError):
        return not any(folder.iterdir())
    return False


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def run_folders() -> list[Path]:
    """Return the folders of runs, oldest first, without hidden ones, which are still being created."""
    return sorted(path for path in RUNS.iterdir() if path.is_dir() and not path.name.startswith("."))


def building(program: Path) -> dict[str, str]:
    """Return variables with which Kiviat builds a small project, which takes seconds, instead of its native
    sources.
    """
    BIN.mkdir()
    shutil.copy2(program, BIN)
    return {
        "PATH": f"{TINY}:{os.environ['PATH']}",
        "KIVIAT_FAULTS_CMAKE": shutil.which("cmake") or "cmake",
        "KIVIAT_FAULTS_PROGRAM": str(BIN / program.name),
    }
