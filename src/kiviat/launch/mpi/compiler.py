"""The C++ compiler of a build: the system's, or without one that of the Python package ziglang."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
from pathlib import Path

from kiviat.record import InputError

# Those that CMake looks for, too.
_SYSTEM = ("c++", "CC", "g++", "clang++", "icpx")


def compiler() -> list[str] | None:
    """Return the words that start the C++ compiler; None if there is none."""
    if given := os.environ.get("CXX"):
        try:
            return shlex.split(given)
        except ValueError as error:
            raise InputError(f"CXX={given!r} is no command: {error}; correct it, or unset CXX") from None
    if found := next(filter(None, map(shutil.which, _SYSTEM)), None):
        return [found]
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    # With a C library named, it takes its own headers and the least processor of the family, as others do. An
    # MPI may need a newer C library, which is the machine's.
    target = f"{platform.machine()}-linux-gnu.2.28"
    zig = Path(spec.origin).with_name("zig")
    return [str(zig), "c++", "-target", target, "-Wl,--allow-shlib-undefined"]


def definition(folder: Path) -> list[str]:
    """Return CMake's definition of the compiler, which it finds by itself unless that is ziglang's.

    CMake wants one file, which is written to `folder`.
    """
    words = compiler()
    if words is None or len(words) == 1 or os.environ.get("CXX"):
        return []
    file = folder / "c++"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    file.chmod(0o755)
    return [f"-DCMAKE_CXX_COMPILER={file}"]
