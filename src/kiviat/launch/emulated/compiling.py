"""Compiles the small programs of native/emulated, each once, into the user's cache."""

from __future__ import annotations

import hashlib
import platform
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kiviat.launch.mpi.build_cache import refuse_torn
from kiviat.launch.mpi.compiler import compiler
from kiviat.launch.process import children
from kiviat.record import InputError, data_path
from kiviat.record.cache import cache_folder


def compiled(name: str, sources: Sequence[str], arguments: Sequence[str] = ()) -> Path:
    """Compile `sources` (paths relative to native/) unless it is done already; return the path of the result.

    Raise InputError if the compiler is missing or fails, or if the scripts of a cluster, which do not quote,
    could not name the result.
    """
    native = data_path("native")
    paths = [native / source for source in sources]
    command = compiler()
    if not command:
        raise InputError("there is no C++ compiler; install g++, or name one in CXX")
    named = shlex.join(command)
    facts = [path.read_bytes() for path in paths] + [f"{named} {platform.machine()} {arguments}".encode()]
    built = cache_folder() / "build" / f"{name}-{hashlib.sha256(b''.join(facts)).hexdigest()[:16]}"
    refuse_torn(built, "an emulated cluster")
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        draft = Path(folder) / built.name
        words = [*command, "-std=c++20", "-O2", f"-I{native}", *map(str, paths), "-o", str(draft), *arguments]
        try:
            done = children.run(words)
        except OSError as error:
            raise InputError(f"cannot run {named}: {error.strerror}; install g++ or set CXX") from error
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise InputError(f"building {paths[0]} with {named} failed: {reason}; set CXX")
        draft.replace(built)
    return built
