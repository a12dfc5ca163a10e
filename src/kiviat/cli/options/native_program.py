"""kiviat-bench for the MPI that the user chose: found, or built, and its description."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from kiviat.launch.mpi.build import PROGRAM, build, is_full, program_path
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process import children
from kiviat.launch.process.execution import exit_text, last_words
from kiviat.launch.substrates.simulated import alone
from kiviat.plan import shipped_benchmarks
from kiviat.record import InputError
from kiviat.record.scratch import scratch_folder
from kiviat.record.site import site_files

_ANSWER_TIMEOUT_S = 60.0


def known_benchmarks(mpi: str | None) -> list[dict[str, Any]]:
    """Return the description of every benchmark, without compiling unless sites have benchmarks."""
    try:
        toolchain = find_toolchain(mpi)
    except InputError:
        if mpi:
            raise
        return shipped_benchmarks()  # descriptions are available without an MPI
    return described(toolchain, program_path(toolchain))


def program(mpi: str | None) -> tuple[Toolchain, Path]:
    """Return the MPI that `--mpi` names or that is found, and the kiviat-bench built for it."""
    toolchain = find_toolchain(mpi)
    return toolchain, built(toolchain)


def built(toolchain: Toolchain, product: str = PROGRAM) -> Path:
    """Return the path of a product for this MPI; prints to standard error if it must be built."""
    return build(
        toolchain, product=product, tell=lambda text: print(f"kiviat: {text}", file=sys.stderr, flush=True)
    )


def described(toolchain: Toolchain, binary: Path) -> list[dict[str, Any]]:
    """Return the output of `kiviat-bench --describe`, from the shipped description if it is not built.

    Build the program if sites have benchmarks, because only the program can describe them.
    """
    if not binary.exists():
        if not site_files("benchmarks"):
            return shipped_benchmarks()
        binary = built(toolchain)
    try:
        with scratch_folder() as folder:
            launcher = alone(toolchain, Path(folder)) if toolchain.family == SIMULATOR else []
            words = [*launcher, binary, "--describe"]
            answer = children.run(words, folder=Path(folder), timeout_s=_ANSWER_TIMEOUT_S)
            answer.check_returncode()
        benchmarks: list[dict[str, Any]] = json.loads(answer.stdout)
    except subprocess.CalledProcessError as error:
        raise InputError(_failed(binary, last_words(error.stderr) or exit_text(error.returncode))) from None
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise InputError(_failed(binary, str(error))) from None
    return benchmarks


def _failed(binary: Path, why: str) -> str:
    if is_full(Path(gettempdir())):
        return f"{binary} --describe failed: no room in {gettempdir()}; make room, or set TMPDIR"
    return f"{binary} --describe failed ({why}); delete {binary.parent} so that it is built again"
