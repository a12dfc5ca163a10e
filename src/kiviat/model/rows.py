"""The published rows of a machine, and their questions to its model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kiviat.machine.modelled.machine import Machine
from kiviat.model.claims import CLAIMS
from kiviat.model.question import Answer, Question, Row, Want, values_of
from kiviat.record.published import Fact, Paper, System, papers
from kiviat.record.types import Record, Scalar

_KIB, _MIB = 1 << 10, 1 << 20

# Message sizes in the notation of the papers, as powers of two. If there are several sizes, the best result
# counts.
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
# b_eff's own ping-pong runs between ranks 0 and 1 with 1 B and 1 MiB, which is much cheaper than all of
# b_eff.
_STANDS_FOR = {
    "b_eff.pingpong_latency": ("pingpong", "time", (1,)),
    "b_eff.pingpong_bandwidth": ("pingpong", "bandwidth", (_MIB,)),
}
# Axes of studies that set the message size.
_LONG_AXIS = {"streaming": "long"}
_WHOLE_STUDIES = ("b_eff",)

# Groups of systems in a paper.
_GROUPS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "all four": (
        ("SGI Altix 3700 BX2", ""),
        ("Cray X1", "SSP"),
        ("Cray X1", "MSP"),
        ("Cray Opteron cluster", ""),
        ("Dell PowerEdge 1850 (Tungsten 2)", ""),
    ),
    "Altix, X1 SSP, Opteron, Dell": (
        ("SGI Altix 3700 BX2", ""),
        ("Cray X1", "SSP"),
        ("Cray Opteron cluster", ""),
        ("Dell PowerEdge 1850 (Tungsten 2)", ""),
    ),
    "all five": (
        ("SGI Altix 3700 BX2", ""),
        ("Cray X1", "SSP"),
        ("Cray X1", "MSP"),
        ("Cray Opteron cluster", ""),
        ("Dell PowerEdge 1850 (Tungsten 2)", ""),
        ("NEC SX-8", ""),
    ),
}


def rows(machine: Machine) -> Iterator[Row]:
    """Yield all published rows about this machine."""
    for paper in papers():
        for system in paper.systems:
            if any(_same(machine, *named) for named in _named(system)):
                yield from _of(paper, system)


def calibration(machine: Machine) -> list[Question]:
    """Return the questions of the rows that the model, or its base, was fitted to."""
    placements = {row.id: row for paper in papers() for system in paper.systems for row in _of(paper, system)}
    names = (*machine.calibrated_on, *machine.base_rows)
    return [question(machine, placements[name]) for name in names if name in placements]


def validation(machine: Machine) -> list[Question]:
    """Return the questions of the rows that a model is validated with, not calibrated on."""
    return [question(machine, row) for row in rows(machine) if row.fact.use == "validate"]


def question(machine: Machine, row: Row) -> Question:
    """Return the row's question to this machine, or the reason why there is none."""
    posed = CLAIMS[row.id](machine, row) if row.id in CLAIMS else _measured(row)
    most = max((want.reach for want in posed.wants), default=0)
    room = machine.cores if all(want.per_node is None for want in posed.wants) else None
    if room is not None and most > room:
        return Question(row, not_asked=f"it takes {most} ranks, and the machine has {room} cores")
    return posed


def _of(paper: Paper, system: System) -> list[Row]:
    return [Row(paper, system, fact) for fact in system.rows]


def _named(system: System) -> tuple[tuple[str, str], ...]:
    return _GROUPS.get(system.machine, ((system.machine, system.mode),))


def _same(machine: Machine, name: str, mode: str) -> bool:
    """Return True if a system is this machine; a machine without a mode matches all modes of its name."""
    return any(
        name == ours and (not wanted or not mode or wanted in mode.split(" and "))
        for ours, wanted in machine.published
    )


def _measured(row: Row) -> Question:
    """Return the question of a row that names one of Kiviat's metrics."""
    fact = row.number
    if fact is None or not fact.measures:
        return Question(row, not_asked="no benchmark of Kiviat measures it")
    if fact.measures in _STANDS_FOR:
        benchmark, metric, sizes = _STANDS_FOR[fact.measures]
        wants = [Want(benchmark, 2, size) for size in sizes]
    else:
        benchmark, metric = fact.measures.split(".")
        ranks = _ranks(row.system, benchmark)
        if not ranks:
            return Question(row, not_asked="the paper lacks the number of processes")
        if benchmark not in _WHOLE_STUDIES and fact.message_size not in _SIZES:
            return Question(row, not_asked=f"unknown message size {fact.message_size!r}")
        wants = list(_wants(row.system, fact, benchmark, ranks))

    def best(records: Sequence[Record]) -> Answer:
        return max(values_of(records, metric), default=None)

    return Question(row, tuple(wants), best)


def _wants(system: System, fact: Fact, benchmark: str, ranks: Sequence[int]) -> Iterator[Want]:
    sizes = (None,) if benchmark in _WHOLE_STUDIES else _SIZES[fact.message_size]
    for count in ranks:
        for size in sizes:
            for axes, per_node in _places(f"{system.placement} {system.mode}"):
                if size is not None and benchmark in _LONG_AXIS:
                    yield Want(benchmark, count, None, {**axes, _LONG_AXIS[benchmark]: size}, per_node)
                else:
                    yield Want(benchmark, count, size, axes, per_node)


def _ranks(system: System, benchmark: str) -> list[int]:
    """Return the numbers of ranks; of a range, its powers of two and its end."""
    if system.processes is not None:
        return [system.processes]
    if match := re.fullmatch(r"(\d+)\.\.(\d+)", system.processes_range):
        first, last = int(match[1]), int(match[2])
        return sorted(
            {2**i for i in range(first.bit_length() - 1, last.bit_length())} & set(range(first, last + 1))
            | {last}
        )
    return [2] if benchmark in _LONG_AXIS else []


def _places(placement: str) -> list[tuple[dict[str, Scalar], int | None]]:
    """Return axes and ranks per node for each placement that the text names."""
    placements: list[tuple[dict[str, Scalar], int | None]] = []
    if "1 process per node" in placement or "off-node" in placement:
        placements.append(({}, 1))
    if match := re.search(r"distance (\d+)", placement):
        distance = int(match[1])
        placements.append(({} if distance == 1 else {"distance": distance}, None))
    elif "same node" in placement or "on-node" in placement or not placements:
        placements.append(({}, None))
    return placements
