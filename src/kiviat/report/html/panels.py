"""Groups curves into panels and chooses their looks.

A curve has a key with one value for each dimension: the run's index, then the other differences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kiviat.record.units import counted, format_size
from kiviat.report.html.figure import Colour, Look, RunLabel

MAX_TRACES = 8  # more in one panel are indistinguishable

_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")  # dots are for simulated curves

Key = tuple[object, ...]  # one value for each dimension; the first is the index of the run


@dataclass(frozen=True, slots=True)
class Group:
    """The curves of a panel, in order, and the dimensions along which they differ."""

    label: str
    keys: list[Key]
    varying: list[int]


def panels(curves: Iterable[Key], dimensions: Sequence[str], runs: Sequence[RunLabel]) -> Iterable[Group]:
    """Split curves along as few dimensions as possible, from the last, into panels of at most MAX_TRACES.

    Runs stay together, however many there are.
    """
    curves = list(curves)
    varying = places(curves, varying=True)
    groups: dict[Key, list[Key]] = {}
    for together in range(len(varying), 0 if 0 in varying else -1, -1):
        kept, split = varying[:together], varying[together:]
        groups = defaultdict(list)
        for key in curves:
            groups[tuple(key[place] for place in split)].append(key)
        if max(map(len, groups.values())) <= MAX_TRACES:
            break
    if 1 in split and 1 < len(overview := _overview(curves)) <= MAX_TRACES:
        yield Group("overview", overview, [place for place in varying if place < 2])
    for value in sorted(groups, key=_natural):
        words = (word(dimensions[place], part, runs) for place, part in zip(split, value, strict=True))
        yield Group(", ".join(words), sorted(groups[value], key=_natural), kept)


def places(curves: Iterable[Key], *, varying: bool) -> list[int]:
    """Return the indices of the dimensions in which curves differ, or do not differ if not `varying`."""
    return [
        place for place, values in enumerate(zip(*curves, strict=True)) if (len(set(values)) > 1) == varying
    ]


def _overview(curves: Iterable[Key]) -> list[Key]:
    """Return all runs at a few numbers of ranks (or sizes), with the other axes at their defaults."""
    plain = [key for key in curves if set(key[2:]) <= {None}]
    runs = {key[0] for key in plain}
    numbers = sorted({key[1] for key in plain if isinstance(key[1], int)})
    few = evenly(numbers, max(2, MAX_TRACES // max(1, len(runs))))
    return sorted((key for key in plain if key[1] in few), key=_natural)


def evenly(values: Sequence[int], most: int) -> Sequence[int]:
    """Return at most `most` of the values, including the first and the last."""
    if len(values) <= most:
        return values
    return [values[step * (len(values) - 1) // (most - 1)] for step in range(most)]


def looks(group: Group, dimensions: Sequence[str], runs: Sequence[RunLabel]) -> list[Look]:
    """Return the colour and dash of each curve.

    With one run, colours distinguish variants; with several runs, colours distinguish runs, and dashes
    distinguish variants.
    """
    variants = list(dict.fromkeys(key[1:] for key in group.keys))
    return [_look(key, group, variants, dimensions, runs) for key in group.keys]


def _look(
    key: Key, group: Group, variants: Sequence[Key], dimensions: Sequence[str], runs: Sequence[RunLabel]
) -> Look:
    run, variant = runs[int(str(key[0]))], variants.index(key[1:])
    colour: Colour
    if len(variants) == 1 or len(runs) > 1:
        colour = (*run.colour, len(runs))
    elif run.clock == "simulated":
        colour = ("simulated", variant, len(variants))
    elif (
        group.varying[-1] == 1 and len(variants) > 2
    ):  # variants are numbers of ranks or sizes: use a palette with an order
        colour = ("ordinal", variant, len(variants))
    else:
        colour = ("categorical", variant, len(variants))
    dash = _DASHES[variant % len(_DASHES)] if len(runs) > 1 else "solid"
    return Look(
        name=", ".join(word(dimensions[place], key[place], runs) for place in group.varying) or run.label,
        dash="dot" if run.clock == "simulated" else dash,
        symbol=variant if len(variants) > 1 else int(str(key[0])),
        colour=colour,
    )


def _natural(key: Key) -> list[tuple[int, float, str]]:
    """Return a sort key: missing values first, then numbers by value, then words."""
    return [
        (0, part, "") if isinstance(part, int | float) else (-1 if part is None else 1, 0, str(part))
        for part in key
    ]


def common(curves: Sequence[Key], dimensions: Sequence[str], runs: Sequence[RunLabel]) -> str:
    """Return the conditions common to all curves, in words."""
    fixed = [at for at in places(curves, varying=False) if at and curves[0][at] not in (None, "")]
    return ", ".join(word(dimensions[at], curves[0][at], runs) for at in fixed)


def word(dimension: str, value: object, runs: Sequence[RunLabel]) -> str:
    """Return "4 ranks", "8 KiB" or "cache off"; without a dimension, the value alone."""
    if not dimension:
        return str(value)
    if dimension == "run":
        return runs[int(str(value))].label
    if dimension == "ranks":
        return counted(int(str(value)), "rank")
    if dimension == "bytes":
        return "no size" if value is None else format_size(int(str(value)))
    return f"default {dimension}" if value is None else f"{dimension} {value}"
