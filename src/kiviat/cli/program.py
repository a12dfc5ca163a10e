"""The native program for the MPI that the user wants: found, built where need be, asked what it knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kiviat.launch.build import build
from kiviat.launch.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError


def program(mpi: str | None) -> tuple[Toolchain, Path]:
    toolchain = find_toolchain(mpi)
    if sys.stderr.isatty():
        print(f"preparing kiviat-bench for {toolchain.name} …", end="\r", file=sys.stderr, flush=True)
    binary = build(toolchain)
    if sys.stderr.isatty():
        print("\033[K", end="", file=sys.stderr, flush=True)
    return toolchain, binary


def described(binary: Path) -> list[dict[str, Any]]:
    """What `kiviat-bench --describe` says about every benchmark."""
    try:
        answer = subprocess.run(
            [binary, "--describe"], capture_output=True, text=True, timeout=60, check=True
        )
        benchmarks: list[dict[str, Any]] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise InputError(
            f"{binary} --describe failed ({error}); delete {binary.parent} so that it is built again"
        ) from None
    return benchmarks
