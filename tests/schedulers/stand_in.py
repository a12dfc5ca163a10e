"""A one-node stand-in for Slurm, PBS, LSF and Flux; it acts as the command by whose name it is called.

Jobs start at once, as local processes, and keep their state in the folder $STAND_IN. Files in this folder
change the behaviour: `garbage` makes every output meaningless; `walltime` ends the first start of a job after
the seconds that it contains; `requeue` instead kills it without warning and restarts it under the same
number; `forgetful` hides jobs that have ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HOME = Path(os.environ["STAND_IN"])
INSIDE = {"sbatch": "SLURM_JOB_ID", "qsub": "PBS_JOBID", "bsub": "LSB_JOBID", "flux": "FLUX_ENCLOSING_ID"}
ANSWER = {
    "sbatch": "{job}",
    "qsub": "{job}.server",
    "bsub": "Job <{job}> is submitted to queue <normal>.",
    "flux": "ƒ{job}",
}


# Reported end states of a job, by scheduler.
ENDED = {
    "cancelled": {
        "squeue": "CANCELLED",
        "qstat": "    job_state = F\n    substate = 91\n    Exit_status = 271",
        "bjobs": "EXIT|TERM_OWNER: job killed by owner",
        "flux": "CANCELED|cancel",
    },
    "out of time": {
        "squeue": "TIMEOUT",
        "qstat": "    job_state = F\n    substate = 93\n    Exit_status = -29",
        "bjobs": "EXIT|TERM_RUNLIMIT: job killed after reaching LSF run time limit",
        "flux": "TIMEOUT|timeout",
    },
    "completed": {
        "squeue": "COMPLETED",
        "qstat": "    job_state = F\n    substate = 92\n    Exit_status = 0",
        "bjobs": "DONE|-",
        "flux": "COMPLETED|",
    },
    "failed": {
        "squeue": "FAILED",
        "qstat": "    job_state = F\n    substate = 93\n    Exit_status = 1",
        "bjobs": "EXIT|-",
        "flux": "FAILED|",
    },
}


def submit(command: str, arguments: list[str]) -> None:
    text = sys.stdin.read() if command == "bsub" else Path(arguments[-1]).read_text()
    job = str(1 + len(list(HOME.glob("*.script"))))
    (HOME / f"{job}.script").write_text(text)
    identifier = ANSWER[command].format(job=job) if command in ("qsub", "flux") else job
    environment = {**os.environ, INSIDE[command]: identifier, "PBS_O_WORKDIR": str(Path.cwd())}
    subprocess.Popen(
        [sys.executable, __file__, "--keep", job],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    print(ANSWER[command].format(job=job))


def keep(job: str) -> None:
    """Run a job, end it as the scheduler would, and restart it if it is to be requeued."""
    script = HOME / f"{job}.script"
    for start in range(2):
        with (HOME / f"{job}.out").open("ab") as output:
            process = subprocess.Popen(
                ["bash", str(script)], stdout=output, stderr=output, start_new_session=True
            )
        write(HOME / f"{job}.pid", str(process.pid))
        write(HOME / f"{job}.state", "running")
        if (HOME / f"{job}.cancelled").exists():  # perhaps cancelled before its process existed
            process.terminate()
        limit = next((HOME / name for name in ("walltime", "requeue") if (HOME / name).exists()), None)
        if start or limit is None:
            process.wait()
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(float(limit.read_text()))
            break
        requeued = limit.name == "requeue"
        limit.unlink()
        if requeued:
            kill_session(process.pid, signal.SIGKILL)
            process.wait()
            continue
        process.terminate()  # signals the shell only, as --signal=B:TERM does
        process.wait()
        write(HOME / f"{job}.ended", "out of time")
        break
    if (HOME / f"{job}.cancelled").exists():
        write(HOME / f"{job}.ended", "cancelled")
    elif not (HOME / f"{job}.ended").exists():
        write(HOME / f"{job}.ended", "failed" if process.returncode else "completed")
    write(HOME / f"{job}.state", "gone")


def write(path: Path, text: str) -> None:
    """Write a file atomically, because other processes read it."""
    draft = path.with_suffix(f"{path.suffix}.new")
    draft.write_text(text)
    draft.replace(path)


def kill_session(session: int, number: int) -> None:
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(entry.name), number)


def query(command: str, job: str, asks_ended: bool) -> None:
    number = job.strip("ƒ").partition(".")[0]
    time.sleep(0.05)
    try:
        state = (HOME / f"{number}.state").read_text()
    except FileNotFoundError:
        state = "waiting"
    if state == "gone":
        if asks_ended and not (HOME / "forgetful").exists():
            said = ENDED[(HOME / f"{number}.ended").read_text()][command]
            print(f"Job Id: {job}\n{said}" if command == "qstat" else f"{job}|{said}")
        return
    words = {
        "squeue": {"waiting": f"{job}|PENDING", "running": f"{job}|RUNNING"},
        "qstat": {
            "waiting": f"Job Id: {job}\n    job_state = Q",
            "running": f"Job Id: {job}\n    job_state = R",
        },
        "bjobs": {"waiting": f"{job} PEND", "running": f"{job} RUN"},
        "flux": {"waiting": f"{job} SCHED", "running": f"{job} RUN"},
    }
    print(words[command][state])


def cancel(job: str) -> None:
    number = job.strip("ƒ").partition(".")[0]
    (HOME / f"{number}.cancelled").touch()
    with suppress(OSError, ValueError):
        os.kill(int((HOME / f"{number}.pid").read_text()), signal.SIGTERM)


def main() -> None:
    if Path(sys.argv[0]).name == "sacct":
        sys.exit("Slurm accounting storage is disabled")
    if sys.argv[1:2] == ["--keep"]:
        return keep(sys.argv[2])
    command, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    if (HOME / "garbage").exists():
        print("???")
        return None
    if command in ("sbatch", "qsub", "bsub") or arguments[:1] == ["batch"]:
        return submit(command, arguments)
    if command in ("scancel", "qdel", "bkill") or arguments[:1] == ["cancel"]:
        return cancel(arguments[-1])
    asks_ended = command == "squeue" or any(word == "-x" or "|" in word for word in arguments)
    return query(command, arguments[-1].partition("=")[2] or arguments[-1], asks_ended)


if __name__ == "__main__":
    main()
