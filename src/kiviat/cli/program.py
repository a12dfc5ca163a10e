"""The native program for the MPI that the user wants: found, built where need be, asked what it knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import Timer
from typing import Any

from kiviat.launch.build import build, is_full
from kiviat.launch.execution import exit_text, last_words
from kiviat.launch.on_simulated import alone
from kiviat.launch.toolchain import Toolchain, find_toolchain
from kiviat.launch.vendors import SIMULATOR
from kiviat.record import InputError

# A program that is there is found within this time; what takes longer is being built.
_SILENT_S = 1.0


def program(mpi: str | None) -> tuple[Toolchain, Path]:
    toolchain = find_toolchain(mpi)
    return toolchain, built(toolchain)


def built(toolchain: Toolchain) -> Path:
    message = f"building kiviat-bench for {toolchain.name}, once; this takes a minute or two"
    notice = Timer(_SILENT_S, print, [message], {"file": sys.stderr, "flush": True})
    notice.daemon = True
    notice.start()
    try:
        return build(toolchain)
    finally:
        notice.cancel()


def described(toolchain: Toolchain, binary: Path) -> list[dict[str, Any]]:
    """What `kiviat-bench --describe` says about every benchmark."""
    try:
        with TemporaryDirectory() as folder:
            launcher = alone(toolchain, Path(folder)) if toolchain.family == SIMULATOR else []
            answer = subprocess.run(
                [*launcher, binary, "--describe"],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                cwd=folder,
            )
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
