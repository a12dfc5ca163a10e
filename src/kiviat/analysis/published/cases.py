"""Cases of published rows: those listed in claims, and those derived from the row's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from kiviat.analysis.published.question import Case, Quantity, Row, Subject
from kiviat.record.published import Fact, Series, System
from kiviat.record.types import Scalar

_KIB, _MIB = 1 << 10, 1 << 20

# Message sizes in the papers' notation, by powers of two. If there are several sizes, the best result is
# used.
_SIZES: Mapping[str, tuple[int | None, ...]] = {
    "": (None,),
    "small": (1,),
    "<=512 B": (0, 1, 8, 64, 512),
    "1024 B": (1024,),
    "16 KB": (16 * _KIB,),
    "128 KB": (128 * _KIB,),
    "1 MB": (_MIB,),
    "4 MB": (4 * _MIB,),
    "large": (_MIB, 2 * _MIB, 4 * _MIB),
    "best (1 or 2 MB)": (_MIB, 2 * _MIB),
    ">4 MB": (8 * _MIB, 16 * _MIB),
}
# b_eff contains a ping-pong between ranks 0 and 1 with 1 B and 1 MiB, not in the cache; measuring only this
# is much cheaper than all of b_eff.
_STANDS_FOR = {
    "b_eff.pingpong_latency": ("pingpong", "time", (1,)),
    "b_eff.pingpong_bandwidth": ("pingpong", "bandwidth", (_MIB,)),
}
# Axes of studies that set the message size.
_LONG_AXIS = {"streaming": "long"}
_WHOLE_STUDIES = ("b_eff",)


def quantities(series: Series, subject: Subject) -> Iterator[tuple[Quantity, ...]]:
    """Yield the quantities of a series; with programs, one tuple for each program.

    Lists and ranges of ranks are cut off at the size of the machine; a single number is not.
    """
    benchmark, _, metric = series.measures.rpartition(".")
    for name in series.programs or (benchmark,):
        cases = _arranged(name, series) if series.arrangements else _cases(name, series, subject)
        yield tuple(Quantity(case, metric, series.machine, series.mode) for case in cases)


def _cases(benchmark: str, series: Series, subject: Subject) -> Iterator[Case]:
    names = list(series.axes)
    for ranks, size, values in product(
        _ranks_of(series, subject), series.bytes or (None,), product(*series.axes.values())
    ):
        # A distance of 1 needs no axis, because it is the default.
        axes = {
            name: value for name, value in zip(names, values, strict=True) if (name, value) != ("distance", 1)
        }
        yield Case(benchmark, ranks, size, axes, series.per_node, series.place)


def _ranks_of(series: Series, subject: Subject) -> list[int]:
    most = subject.cores if not series.machine else None
    if isinstance(series.ranks, str):
        first, last = map(int, series.ranks.split(".."))
        return powers_of_two(first, last if most is None else min(last, most))
    ranks = series.ranks or (2,)
    return [count for count in ranks if len(ranks) == 1 or most is None or count <= most]


def _arranged(benchmark: str, series: Series) -> Iterator[Case]:
    axes = {name: values[0] for name, values in series.axes.items()}
    for text in series.arrangements:
        yield arrangement(benchmark, text, axes)


def arrangement(benchmark: str, text: str, axes: Mapping[str, Scalar]) -> Case:
    """Return the case of an arrangement of ranks: "8x2 bind=co-processor" is 8 nodes of 2 ranks, cyclic."""
    shape, *words = text.split()
    nodes, per_node = map(int, shape.split("x"))
    given = dict(word.split("=", 1) for word in words)
    place = given.get("place", "cyclic")
    return Case(benchmark, nodes * per_node, None, dict(axes), per_node, place, given.get("bind"))


def powers_of_two(first: int, last: int) -> list[int]:
    """Return the powers of two from `first` to `last`, and `last` itself.

    Empty if `last` is smaller than `first`.
    """
    if last < first:
        return []
    inside = {2**i for i in range(last.bit_length())} & set(range(first, last + 1))
    return sorted(inside | {last})


def measured(row: Row) -> tuple[tuple[Quantity, ...], str]:
    """Return the quantities of a row that names one of Kiviat's metrics, or the reason why it has none."""
    fact = row.number
    if fact is None or not fact.measures:
        sets = row.fact.use == "calibrate"
        reason = "it calibrates the model" if sets else "no benchmark of Kiviat measures it"
        return (), row.fact.unanswered or reason
    if fact.measures in _STANDS_FOR:
        benchmark, metric, sizes = _STANDS_FOR[fact.measures]
        return tuple(Quantity(Case(benchmark, 2, size, {"cache": "off"}), metric) for size in sizes), ""
    benchmark, metric = fact.measures.split(".")
    ranks = _published_ranks(row.system, benchmark)
    if not ranks:
        return (), "the paper lacks the number of processes"
    if benchmark not in _WHOLE_STUDIES and fact.message_size not in _SIZES:
        return (), f"unknown message size {fact.message_size!r}"
    return tuple(Quantity(case, metric) for case in _worded(row.system, fact, benchmark, ranks)), ""


def _worded(system: System, fact: Fact, benchmark: str, ranks: list[int]) -> Iterator[Case]:
    sizes = (None,) if benchmark in _WHOLE_STUDIES else _SIZES[fact.message_size]
    for count, size, (axes, per_node) in product(ranks, sizes, _places(f"{system.placement} {system.mode}")):
        if size is not None and benchmark in _LONG_AXIS:
            yield Case(benchmark, count, None, {**axes, _LONG_AXIS[benchmark]: size}, per_node)
        else:
            yield Case(benchmark, count, size, axes, per_node)


def _published_ranks(system: System, benchmark: str) -> list[int]:
    if system.processes is not None:
        return [system.processes]
    if match := re.fullmatch(r"(\d+)\.\.(\d+)", system.processes_range):
        return powers_of_two(int(match[1]), int(match[2]))
    return [2] if benchmark in _LONG_AXIS else []


def _places(placement: str) -> list[tuple[dict[str, Scalar], int | None]]:
    """Return axes and ranks per node for each placement that the text mentions."""
    placements: list[tuple[dict[str, Scalar], int | None]] = []
    if "1 process per node" in placement or "off-node" in placement:
        placements.append(({}, 1))
    if match := re.search(r"distance (\d+)", placement):
        distance = int(match[1])
        placements.append(({} if distance == 1 else {"distance": distance}, None))
    elif "same node" in placement or "on-node" in placement or not placements:
        placements.append(({}, None))
    return placements
