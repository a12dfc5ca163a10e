"""`kiviat cc`: compiles MPI programs for simulated machines, with SimGrid's wrappers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import PurePath

from kiviat.cli.options.request import CcRequest
from kiviat.launch.process import children
from kiviat.record import InputError

_CXX = {".cpp", ".cc", ".cxx", ".C", ".c++", ".cp"}
_FIXED_FORM = {".f", ".F", ".for", ".f77"}
_FREE_FORM = {".f90", ".F90", ".f95", ".f03", ".f08"}
# SimGrid's symbols are weak in programs, so a linker with --as-needed would drop its library.
_KEPT = ("-Wl,--no-as-needed",)


def execute(request: CcRequest) -> int:
    """Run SimGrid's compiler wrapper and return its exit code. Raise InputError if it is not installed."""
    given = list(request.words)
    language = given.pop(0) if given[:1] in (["--fortran"], ["--c++"]) else None
    if not given:
        raise InputError("kiviat cc needs what a compiler needs, such as: kiviat cc -O2 program.c -o program")
    command = compiler(given, language)
    if not shutil.which(command[0]):
        raise InputError(
            f"{command[0]} is not on PATH; install SimGrid (Debian: `apt install libsimgrid-dev`)"
        )
    if command[0] in ("smpif90", "smpiff") and not shutil.which("gfortran"):
        raise InputError(f"{command[0]} needs gfortran; install it (Debian: `apt install gfortran`)")
    # Build systems that run their own checks with smpicxx may set this variable.
    environment = {name: value for name, value in os.environ.items() if name != "SMPI_PRETEND_CC"}
    return children.run([*command, *given], environment=environment, inherits=True).returncode


def compiler(given: Sequence[str], language: str | None) -> list[str]:
    """Return SimGrid's wrapper for the sources; objects are linked as C unless `language` is given."""
    suffixes = {PurePath(word).suffix for word in given if not word.startswith("-")}
    if suffixes & _FIXED_FORM:
        return ["smpiff", *_KEPT]
    if language == "--fortran" or suffixes & _FREE_FORM:
        return ["smpif90", *_KEPT]
    wrapper = "smpicxx" if language == "--c++" or suffixes & _CXX else "smpicc"
    # Their macros for malloc and free, which save memory, break <malloc.h> and methods of these names.
    return [wrapper, "-DSMPI_NO_OVERRIDE_MALLOC", *_KEPT]
