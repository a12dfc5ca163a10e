"""Render the page about a profile: time in MPI, calls, wait states, distances, traffic."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kiviat.analysis.aggregate.known_errors import errors_of_profile
from kiviat.analysis.aggregate.pair_matrices import MOST_CELLS
from kiviat.analysis.profiles.mpi_time import MOST_PAIRS, Use, pattern_of, use_of
from kiviat.analysis.profiles.phases import phases_use_of
from kiviat.analysis.profiles.wait_states import WaitUse, causes_in_words, wait_use_of
from kiviat.profile import DISTANCES, Profile
from kiviat.profile.timeline import Timeline
from kiviat.profile.waits import KINDS
from kiviat.record.units import counted, format_bytes, format_part, format_value
from kiviat.report.html.figure import Cells, Figure, HeatMap, Line, Panel, RunLabel
from kiviat.report.html.shell import page
from kiviat.report.profile.tables import (
    calls_table,
    counted_table,
    distance_table,
    files_table,
    pairs_table,
    phases_table,
    waits_table,
)
from kiviat.report.profile.timeline import longest, timeline_svg, timeline_words

_MOST_POINTS = 4096


def render_profile(profile: Profile) -> str:
    """Return the page about a profile as HTML."""
    use = use_of(profile)
    pattern = pattern_of(profile)
    waits, counted_phases = wait_use_of(profile), phases_use_of(profile)
    figures: list[Figure | HeatMap] = [_shares(profile), *_waiting(profile), *_maps(profile, pattern)]
    clock = "simulated" if profile.simulated else "wall"
    palette = "simulated" if profile.simulated else "categorical"
    label = RunLabel("profile", profile.program, clock, (palette, 0))
    return page(
        "profile.html.j2",
        [label],
        figures,
        title=profile.title,
        simulated="all" if profile.simulated else "",
        contents=[
            ("calls", "Calls"),
            *([("timeline", "Timeline")] if profile.timeline else []),
            *([("waits", "Wait states")] if waits else []),
            ("far", "Distance"),
            *([("phases", "Phases")] if use.phases else []),
            *([("counted", "Counters and energy")] if counted_phases else []),
            ("who", "Traffic"),
            ("reading", "Reading"),
        ],
        facts=_facts(profile, use),
        numbers=_numbers(use, profile.simulated is not None),
        calls=calls_table(use),
        files=files_table(use),
        files_words=_files(use),
        distances=distance_table(use),
        crossing=_crossing(use, profile.simulated is not None),
        phases=phases_table(use),
        counted_phases=counted_phases,
        counted_table=counted_table(counted_phases) if counted_phases else None,
        pattern=pattern,
        remarks=use.remarks,
        **wait_sections(waits, profile.timeline),
    )


def wait_sections(waits: WaitUse | None, timeline: Timeline | None) -> dict[str, Any]:
    """Return what waits.html.j2 shows: the timeline, and tables of wait states."""
    return {
        "waits": waits,
        "wait_tables": [waits_table(waits), pairs_table(waits)] if waits and waits.calls else [],
        "waiting": _waiting_words(waits) if waits else [],
        "timeline": timeline,
        "drawing": timeline_svg(timeline) if timeline else "",
        "timeline_words": timeline_words(timeline) if timeline else "",
        "longest": longest(timeline) if timeline else None,
    }


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
        *_simulated(profile),
        ("Started", started),
        (
            "Simulated time" if profile.simulated else "Time",
            f"{format_value(use.elapsed_s, 's')} from MPI_Init to MPI_Finalize, on average",
        ),
        *(
            [
                (
                    "Threads",
                    f"up to {use.threads} per rank call MPI, for {format_value(use.thread_s, 's')} in total",
                )
            ]
            if use.threads > 1
            else []
        ),
    ]


def _simulated(profile: Profile) -> list[tuple[str, str]]:
    if (simulated := profile.simulated) is None:
        return []
    machine = f"{simulated.machine} (version {simulated.version}); " if simulated.machine else ""
    return [
        ("Simulated on" if machine else "Simulated", machine + simulated.computation),
        ("Known errors of the model", errors_of_profile(simulated)),
    ]


def _numbers(use: Use, simulated: bool) -> list[tuple[str, str, str]]:
    """Return title, value and explanation of each headline number."""
    numbers = [
        (
            "Simulated time in MPI" if simulated else "Time in MPI",
            format_part(use.share),
            f"{format_value(use.mpi_s, 's')} per rank; {format_part(use.least)} to "
            f"{format_part(use.most)}"
            + (f"; relative to the time of up to {use.threads} threads" if use.threads > 1 else ""),
        )
    ]
    if use.files:
        share = format_part(use.files_s / use.thread_s)
        numbers.append(("File I/O by MPI", share, f"{format_value(use.files_s, 's')} per rank"))
    if use.calls:
        most = use.calls[0]
        numbers.append(("Largest part", most.name, f"{format_part(most.of_mpi)} of the time in MPI"))
    far = DISTANCES.index("other node")
    whole = sum(use.bytes)
    if use.nodes is not None and use.nodes > 1:
        share = f"{format_part(use.bytes[far] / whole)} of all" if whole else "nothing was sent"
        numbers.append(("Sent between nodes", format_bytes(use.bytes[far]), share))
    else:
        numbers.append(("Sent", format_bytes(whole), "on one node" if use.nodes == 1 else "by all ranks"))
    return numbers


def _files(use: Use) -> str:
    return (
        f"File I/O through MPI takes {format_value(use.files_s, 's')} per rank. It is not communication and "
        "part of no other number here."
    )


def _waiting_words(use: WaitUse) -> list[str]:
    if use.unavailable:
        return [f"Wait states are unavailable: {use.unavailable}."]
    said = [
        f"Waiting for other ranks takes {format_part(use.of_time)} of the time ({format_part(use.least)} to "
        f"{format_part(use.most)} over the ranks), which is {format_part(use.of_mpi)} of the time in MPI: "
        f"{format_value(use.mean_s, 's')} per rank."
    ]
    if use.causes:
        said.append(f"Most of it is for {causes_in_words(use.causes)}.")
    if use.clocks == 1:
        said.append("All ranks share one clock.")
    else:
        said.append(
            f"Ranks use {use.clocks} clocks, compared to within half a round trip: the error per rank is "
            f"up to {format_value(use.error_s, 's')}."
        )
    return [*said, *(f"{remark[0].upper()}{remark[1:]}." for remark in use.remarks)]


def _waiting(profile: Profile) -> list[HeatMap]:
    waits = profile.waits
    if waits is None or not waits.seconds.any():
        return []
    kinds = [kind for kind in KINDS if (waits.kind == kind).any()]
    chosen = [(kind, waits.kind == kind) for kind in kinds] if len(kinds) > 1 else []
    # The last one is shown first.
    chosen.append(("All", waits.seconds > 0))
    return [
        HeatMap(
            id="waiting",
            section="waits",
            title="Seconds that each rank (row) waits for each other (column)",
            conditions="",
            unit="s",
            better="lower",
            words="Other ranks wait for the rank of a prominent column.",
            panels=tuple(
                _cells(name.capitalize(), waits.rank[of], waits.cause[of], waits.seconds[of], profile)
                for name, of in chosen
            ),
        )
    ]


def _crossing(use: Use, simulated: bool) -> list[str]:
    said = []
    if use.crossed is not None:
        inside, across = map(format_bytes, use.crossed)
        who = "simulator" if simulated else "MPI itself"
        said.append(f"The {who} counted {inside} within nodes and {across} between them.")
    elif simulated:
        said.append("The simulator's count of the traffic is unavailable: it was not requested.")
    else:
        said.append("The MPI's own count of collective traffic is unavailable: it was not requested.")
    if use.carried is not None and use.nodes is not None and use.nodes > 1:
        said.append(
            f"The interfaces of the nodes sent {format_bytes(use.carried)} meanwhile, including headers and "
            "other traffic of the nodes."
        )
    return said


def _shares(profile: Profile) -> Figure:
    stride = -(-profile.ranks // _MOST_POINTS)
    points = [
        (float(rank), round(100 * float(profile.share[rank]), 2))
        for rank in range(0, profile.ranks, stride)
        if np.isfinite(profile.share[rank])
    ]
    palette = ("simulated", 0, 6) if profile.simulated else ("categorical", 0, 8)
    line = Line(profile.program, "markers", palette, 0, tuple(points))
    return Figure(
        id="share",
        section="calls",
        title="Time in MPI of each rank",
        conditions="" if stride == 1 else f"every {stride}th rank",
        x="rank",
        unit="%",
        log=False,
        words="Other ranks wait for a rank that spends less time in MPI.",
        panels=(Panel("all", (), (line,)),),
    )


def _maps(profile: Profile, pattern: Sequence[str]) -> list[HeatMap]:
    small = profile.collective_pairs <= MOST_PAIRS
    # The last one is shown first.
    kinds = [
        *([("MPI’s own count", profile.crossed)] if profile.crossed is not None else []),
        *([("Collectives, by participants", profile.collective)] if small else []),
        ("Messages and one-sided", profile.traffic(collectives=False)),
        *([("All", profile.traffic())] if small else []),
    ]
    panels = tuple(
        _cells(name, traffic.source, traffic.target, traffic.bytes, profile)
        for name, traffic in kinds
        if traffic.bytes.any()
    )
    if not panels:
        return []
    return [
        HeatMap(
            id="matrix",
            section="who",
            title="Bytes that each rank (row) sends to each other (column)",
            conditions="",
            unit="B",
            better="lower",
            words=" ".join(pattern),
            panels=panels,
        )
    ]


def _cells(
    name: str,
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    amount: NDArray[np.int64] | NDArray[np.float64],
    profile: Profile,
) -> Cells:
    """Return the cells of a map; many ranks are grouped into blocks."""
    ranks = profile.ranks
    per_block = -(-ranks // MOST_CELLS)
    count = -(-ranks // per_block)
    sums = np.zeros((count, count), dtype=amount.dtype)
    np.add.at(sums, (row // per_block, column // per_block), amount)
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
