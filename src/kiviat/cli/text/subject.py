"""Names the program of a profile or a trace for titles: "CG class A", or a program with its arguments."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kiviat.plan.benchmark import shipped_benchmarks
from kiviat.record.types import Scalar
from kiviat.record.units import axis_text, format_size

_BENCH = "kiviat-bench"
_MOST = 60  # letters of a program's arguments


def subject_of_case(
    benchmark: str, size_bytes: int | None, axes: Mapping[str, Scalar], known: Iterable[Mapping[str, Any]]
) -> str:
    """Return "CG class A", or "allreduce of 8 B, root 1"; `known` are descriptions of benchmarks."""
    defaults = {
        axis["name"]: axis["default"]
        for one in known
        if one["name"] == benchmark
        for axis in one.get("axes", ())
    }
    given = dict(axes)
    problem = given.pop("class", defaults.get("class"))
    name = benchmark if problem is None else f"{benchmark.upper()} class {problem}"
    size = "" if size_bytes is None else f" of {format_size(size_bytes)}"
    return name + size + "".join(f", {axis_text(axis, value)}" for axis, value in sorted(given.items()))


def subject_of_command(words: Sequence[str], program: str) -> str | None:
    """Return what a command runs; None if it says no more than the program's name.

    `program` is the word of the command that names the program.
    """
    if program not in words:
        return None
    path, arguments = Path(program), list(words[list(words).index(program) + 1 :])
    if path.name == _BENCH:
        return _subject_of_bench(arguments)
    text = shlex.join([path.name, *arguments])
    return None if not arguments else text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _subject_of_bench(arguments: Sequence[str]) -> str | None:
    """Return the case that arguments of kiviat-bench name; None if it is not one."""
    known = shipped_benchmarks()
    names = [word for word in arguments if any(one["name"] == word for one in known)]
    if len(names) != 1:
        return None
    axes: dict[str, Scalar] = {}
    size = None
    for option, value in pairwise(arguments):
        if option == "--set" and "=" in value:
            axis, _, chosen = value.partition("=")
            axes[axis] = chosen
        elif option == "-m" and value.isdecimal():
            size = int(value)
    return subject_of_case(names[0], size, axes, known)
