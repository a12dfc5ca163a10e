"""The library that ranks preload on an emulated cluster."""

from __future__ import annotations

from pathlib import Path

from kiviat.launch.emulated.compiling import compiled
from kiviat.launch.mpi.toolchain import Toolchain


def library(toolchain: Toolchain) -> Path | None:
    """Built once; None where the ranks need nothing."""
    name = toolchain.vendor.preload
    return compiled(name, [f"emulated/{name}.cpp"], ["-shared", "-fPIC", "-ldl"]) if name else None
