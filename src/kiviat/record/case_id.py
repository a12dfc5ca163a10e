"""The identity of a case: a string that is equal in all runs of the case, so that runs can be compared."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.record.types import Scalar


def case_id(benchmark: str, ranks: int, size: int | None, axes: Mapping[str, Scalar]) -> str:
    """Return the identity of a case: "bcast/ranks=4/bytes=8/shift=1".

    `size` is in bytes, None for benchmarks without one. `axes` are those that differ from the default; they
    are sorted by name. All records get their identity here: those of plans, users' programs, replays and
    other programs' output.
    """
    words: dict[str, Scalar] = {"ranks": ranks}
    if size is not None:
        words["bytes"] = size
    words |= dict(sorted(axes.items()))
    return "/".join([benchmark, *(f"{name}={axis_text(value)}" for name, value in words.items())])


def axis_text(value: Scalar) -> str:
    """Return a value as written in identities and cases.txt: true, false, fractions with six digits.

    The native program reads this notation (native/benchmark/case.cpp) and returns the identity unchanged.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
