"""The page about a profile: how much of the time is the network, which calls, who sends to whom."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.mpi_use import MOST_PAIRS, CallUse, Use, pattern_of, use_of
from kiviat.analysis.patterns import MOST_CELLS
from kiviat.profile import DISTANCES, Profile, Traffic
from kiviat.record.units import format_bytes, format_range, format_value
from kiviat.report.figure import Cells, Figure, HeatMap, Line, Panel, RunLabel
from kiviat.report.runs import counted
from kiviat.report.shell import figure_data, page

_WITHIN = {
    "same socket": "within sockets",
    "same node": "between sockets of a node",
    "unknown": "unknown how far",
    "other node": "between nodes",
}
_MOST_POINTS = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """What went so far, as a part of all: of the time in MPI, and of the bytes that were sent."""

    name: str
    time: str
    time_share: str
    bytes: str
    bytes_share: str


@dataclass(frozen=True, slots=True)
class CallLine:
    name: str
    of_mpi: float
    of_time: str
    mean: str
    ranks: str
    longest: str
    calls: str
    bytes: str
    sizes: str


def render_profile(profile: Profile) -> str:
    """The page."""
    use = use_of(profile)
    pattern = pattern_of(profile)
    figures: list[Figure | HeatMap] = [_shares(profile), *_maps(profile, pattern)]
    label = RunLabel("profile", profile.program, "wall", ("categorical", 0))
    return page(
        "profile.html.j2",
        {
            "runs": [{"label": label.label, "clock": label.clock}],
            "table": {"cases": [], "metrics": [], "metric": [], "run": [], "clock": []},
            "figures": {figure.id: figure_data(figure) for figure in figures},
        },
        title=f"{profile.program} on {counted(profile.ranks, 'rank')}",
        labels=[label],
        simulated="",
        contents=[
            ("calls", "Calls"),
            ("far", "How far"),
            *([("phases", "Phases")] if use.phases else []),
            ("who", "Who sends to whom"),
            ("reading", "Reading"),
        ],
        facts=_facts(profile, use),
        numbers=_numbers(use),
        calls=[_line(call) for call in use.calls],
        parts=_parts(use),
        crossing=_crossing(use),
        phases=use.phases,
        figures=figures,
        pattern=pattern,
        remarks=use.remarks,
    )


def _facts(profile: Profile, use: Use) -> list[tuple[str, str]]:
    nodes = "" if use.nodes is None else f" on {counted(use.nodes, 'node')}"
    started = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(profile.started_s))
    hosts = list(dict.fromkeys(host for host in profile.hosts if host))
    few = ", ".join(hosts[:6]) + (f" and {len(hosts) - 6} more" if len(hosts) > 6 else "")
    return [
        ("Program", profile.program),
        ("Ranks", f"{profile.ranks:,}{nodes}"),
        ("Hosts", few or "unavailable"),
        ("MPI", profile.library),
        ("Started", started),
        ("Time", f"{format_value(use.elapsed_s, 's')} from MPI_Init to MPI_Finalize, on average"),
    ]


def _numbers(use: Use) -> list[tuple[str, str, str]]:
    """Title, value, and what to know about it."""
    numbers = [
        (
            "Time in MPI",
            _percent(use.share),
            f"{format_value(use.mpi_s, 's')} of each rank; {_percent(use.least)} to {_percent(use.most)}",
        )
    ]
    if use.calls:
        most = use.calls[0]
        numbers.append(("Most of it", most.name, f"{_percent(most.of_mpi)} of the time in MPI"))
    far = DISTANCES.index("other node")
    whole = sum(use.bytes)
    if use.nodes is not None and use.nodes > 1:
        share = f"{_percent(use.bytes[far] / whole)} of all" if whole else "nothing was sent"
        numbers.append(("Sent between nodes", format_bytes(use.bytes[far]), share))
    else:
        numbers.append(("Sent", format_bytes(whole), "on one node" if use.nodes == 1 else "by all ranks"))
    return numbers


def _line(call: CallUse) -> CallLine:
    return CallLine(
        name=call.name,
        of_mpi=round(100 * call.of_mpi, 1),
        of_time=_percent(call.of_time),
        mean=format_value(call.mean_s, "s"),
        ranks=format_range(call.least_s, call.most_s, "s"),
        longest=format_value(call.longest_s, "s"),
        calls=f"{call.calls:,}",
        bytes=format_bytes(call.bytes) if call.messages else "–",
        sizes=call.sizes or "–",
    )


def _parts(use: Use) -> list[Part]:
    whole_s, whole = sum(use.seconds), sum(use.bytes)
    return [
        Part(
            _WITHIN[name].capitalize(),
            format_value(seconds, "s"),
            _percent(seconds / whole_s),
            format_bytes(sent),
            _percent(sent / whole) if whole else "–",
        )
        for name, seconds, sent in zip(DISTANCES, use.seconds, use.bytes, strict=True)
        if whole_s and (seconds or sent)
    ]


def _crossing(use: Use) -> list[str]:
    said = []
    if use.crossed is not None:
        inside, across = map(format_bytes, use.crossed)
        said.append(f"By the MPI’s own count it sent {inside} on nodes and {across} between them.")
    else:
        said.append("What the MPI itself sent for collectives is unavailable: it was not asked to count.")
    if use.carried is not None and use.nodes is not None and use.nodes > 1:
        said.append(
            f"Interfaces of the nodes sent {format_bytes(use.carried)} meanwhile, headers, and whatever else "
            "the nodes had to say, included."
        )
    return said


def _shares(profile: Profile) -> Figure:
    stride = -(-profile.ranks // _MOST_POINTS)
    points = [
        (float(rank), round(100 * float(profile.share[rank]), 2))
        for rank in range(0, profile.ranks, stride)
        if np.isfinite(profile.share[rank])
    ]
    line = Line(profile.program, "markers", ("categorical", 0, 8), 0, tuple(points))
    return Figure(
        id="share",
        section="calls",
        title="Time in MPI of each rank",
        conditions="" if stride == 1 else f"every {stride}th rank",
        x="rank",
        unit="%",
        log=False,
        words="A rank that spends less than the others is one that they wait for.",
        panels=(Panel("all", (), (line,)),),
    )


def _maps(profile: Profile, pattern: Sequence[str]) -> list[HeatMap]:
    small = profile.collective_pairs <= MOST_PAIRS
    # The last one is shown first.
    kinds = [
        *([("By the MPI’s own count", profile.crossed)] if profile.crossed is not None else []),
        *([("Collectives, by participants", profile.collective)] if small else []),
        ("Messages and one-sided", profile.traffic(collectives=False)),
        *([("All", profile.traffic())] if small else []),
    ]
    panels = tuple(_cells(name, traffic, profile) for name, traffic in kinds if traffic.bytes.any())
    if not panels:
        return []
    return [
        HeatMap(
            id="matrix",
            section="who",
            title="Bytes that each rank (row) sends to each (column)",
            conditions="",
            unit="B",
            better="lower",
            words=" ".join(pattern),
            panels=panels,
        )
    ]


def _cells(name: str, traffic: Traffic, profile: Profile) -> Cells:
    """Of more ranks than can be seen, blocks of ranks."""
    ranks = profile.ranks
    per_block = -(-ranks // MOST_CELLS)
    count = -(-ranks // per_block)
    sums = np.zeros((count, count), dtype=np.int64)
    np.add.at(sums, (traffic.source // per_block, traffic.target // per_block), traffic.bytes)
    ends = [min(ranks, (block + 1) * per_block) - 1 for block in range(count)]
    labels = (
        tuple(map(str, range(ranks)))
        if per_block == 1
        else tuple(f"{block * per_block}–{ends[block]}" for block in range(count))
    )
    node = profile.node.tolist()
    borders = [rank / per_block for rank in range(1, ranks) if node[rank] != node[rank - 1]]
    return Cells(
        label=name,
        labels=labels,
        values=tuple(float(value) if value else None for value in sums.ravel().tolist()),
        low=None,
        high=None,
        boundaries=tuple(borders) if len(borders) <= MOST_CELLS // 2 else (),
        nodes=tuple(node) if per_block == 1 and min(node) >= 0 else None,
    )


def _percent(share: float) -> str:
    return "unavailable" if share != share else f"{100 * share:.1f} %"
