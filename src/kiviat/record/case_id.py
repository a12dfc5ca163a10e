"""The identity of a case: a string that is equal wherever the same case ran, so that runs can be compared."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.record.types import Scalar


def case_id(benchmark: str, ranks: int, size: int | None, axes: Mapping[str, Scalar]) -> str:
    """Return the identity of a case: "bcast/ranks=4/bytes=8/shift=1".

    `size` is in bytes, None for benchmarks without one. `axes` are those off their default; they are sorted
    by name. Whatever makes records builds the identity here: plans, programs of users, replays and the output
    of other programs.
    """
    words: dict[str, Scalar] = {"ranks": ranks}
    if size is not None:
        words["bytes"] = size
    words |= dict(sorted(axes.items()))
    return "/".join([benchmark, *(f"{name}={axis_text(value)}" for name, value in words.items())])


def axis_text(value: Scalar) -> str:
    """Return the spelling of a value in identities and cases.txt: true, false, and six digits of fractions.

    The native program reads these words (native/benchmark/case.cpp) and returns the identity unchanged.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
