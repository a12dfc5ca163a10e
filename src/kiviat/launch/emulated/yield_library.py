"""The library that makes idle ranks yield; they preload it on an emulated cluster."""

from __future__ import annotations

from pathlib import Path

from kiviat.launch.emulated.compiling import compiled
from kiviat.launch.mpi.toolchain import Toolchain


def library(toolchain: Toolchain) -> Path | None:
    """Return the path of the library, compiled if necessary; None if ranks of this MPI need none."""
    name = toolchain.vendor.preload
    return compiled(name, [f"emulated/{name}.cpp"], ["-shared", "-fPIC", "-ldl"]) if name else None
