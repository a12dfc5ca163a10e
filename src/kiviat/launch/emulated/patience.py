"""Builds native/preload/patience.cpp, once, into the cache of the user."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from kiviat.launch.build import cache_folder
from kiviat.launch.toolchain import Toolchain
from kiviat.record import InputError, data_path


def library(toolchain: Toolchain) -> Path | None:
    """What the ranks of this MPI preload on an emulated cluster; None where they need nothing."""
    if toolchain.family != "mpich":
        return None
    source = data_path("native") / "preload" / "patience.cpp"
    compiler = os.environ.get("CXX", "c++")
    key = hashlib.sha256(source.read_bytes() + f"{compiler} {platform.machine()}".encode()).hexdigest()[:16]
    built = cache_folder() / "build" / f"patience-{key}.so"
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        draft = Path(folder) / built.name
        words = [compiler, "-std=c++20", "-O2", "-shared", "-fPIC", str(source), "-o", str(draft), "-ldl"]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError as error:
            raise InputError(f"cannot run {compiler}: {error.strerror}; install g++ or set CXX") from error
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise InputError(f"building {source} with {compiler} failed: {reason}; set CXX")
        draft.replace(built)
    return built
