"""One launch as a process: started in its own session, awaited, and ended without leftovers."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kiviat.launch.process import processes
from kiviat.launch.process.children import tied
from kiviat.launch.process.processes import VARIABLE, Marker
from kiviat.record import InputError

# Time for mpiexec to end its ranks, also on other nodes, before kiviat ends the remaining ones on this node.
_GRACE_S = 3.0
_LAST_BYTES = 20_000


class Execution:
    """`command` runs until it exits or `end` is called; its output goes to files in `folder`."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, marker: Marker
    ) -> None:
        self.marker = marker
        with (folder / "stderr").open("wb") as stderr, (folder / "stdout").open("wb") as stdout:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    env={**os.environ, **environment, VARIABLE: str(marker)},
                    start_new_session=True,
                    preexec_fn=tied(),  # if kiviat is killed, mpiexec gets a signal to end its ranks
                )
            except OSError as error:
                raise InputError(f"cannot start {command[0]!r}: {error.strerror}; see --mpi") from error
        self._descriptor = processes.descriptor_of(self._process.pid)
        self._exit = select.poll()  # without a descriptor, poll only sleeps
        if self._descriptor is not None:
            self._exit.register(self._descriptor, select.POLLIN)

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status as soon as mpiexec has exited; None after the timeout.

        subprocess's own wait polls twenty times per second, which would disturb the ranks.
        """
        if self._process.poll() is None:
            self._exit.poll(1000 * timeout_s)
        return self._process.poll()

    def end(self) -> int:
        """End every process of the launch; return mpiexec's exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        left = processes.end_all(lambda: processes.of_launch(self.marker, self._process.pid))
        status = self._process.wait()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if left:
            raise InputError(f"processes {left} could not be ended: they hang in the kernel; see `ps -l`")
        return status


def output_in(folder: Path, last_bytes: int = 0) -> str:
    """Return stderr and stdout of the launch in a folder, or the end of each.

    stdout is included because Hydra reports errors there.
    """
    text = ""
    for name in ("stderr", "stdout"):
        path = folder / name
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - last_bytes) if last_bytes else 0)
            text += file.read().decode(errors="replace") + "\n"
    return text


def last_words_in(folder: Path) -> str | None:
    """Return the line of output that best explains why the launch in a folder failed; None without output."""
    return last_words(output_in(folder, _LAST_BYTES))


_TELLING = re.compile(
    r"signal:? \d|exited on|Abort\(|MPI_ABORT|BAD TERMINATION|error|Error|ERROR|cannot|not enough"
)
# SimGrid and srun print the cause first, followed by lines about its consequences: srun names the ranks that
# it ended because another one had died.
_CAUSE = re.compile(r"Uncaught exception|/CRITICAL\]|srun: error: \S+: tasks? \d")


def last_words(text: str) -> str | None:
    """Return the line of a program's output that best explains its failure, at most 300 characters.

    Prefers lines that name a cause, then other lines about errors, then the last line; None without text.
    """
    lines = [line.strip(" =|\t") for line in text.splitlines()]
    lines = [line for line in lines if re.search(r"\w", line)]
    if cause := next((line for line in lines if _CAUSE.search(line)), None):
        return cause[:300]
    telling = [line for line in lines if _TELLING.search(line) and " --cfg=" not in line]
    chosen = telling or lines
    return chosen[-1][:300] if chosen else None


def exit_text(status: int) -> str:
    """Return the description of a failed exit status; negative ones are signals, as in subprocess."""
    if status < 0:
        return f"mpiexec was killed by signal {-status} ({signal.strsignal(-status)})"
    if 128 < status < 128 + signal.NSIG:
        return f"exit code {status} (signal {status - 128}, {signal.strsignal(status - 128)})"
    return f"exit code {status}"
