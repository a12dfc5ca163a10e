"""A profile as tables in the terminal: share of MPI in the run time, and calls."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.analysis.aggregate.known_errors import errors_of_profile
from kiviat.analysis.profiles.mpi_time import Use, pattern_of, use_of
from kiviat.analysis.profiles.phases import phases_use_of
from kiviat.analysis.profiles.wait_states import wait_use_of
from kiviat.cli.text.phases import print_phases
from kiviat.cli.text.table import bold, dim, print_csv, print_json, print_table
from kiviat.cli.text.waits import facts_of, print_waits
from kiviat.profile import DISTANCES, Profile, read_profile
from kiviat.record.units import counted, format_bytes, format_part, format_value
from kiviat.report.profile.tables import calls_table, files_table

_MOST_CALLS = 20


def show(path: Path, form: str) -> int:
    """Print a profile as tables, CSV (one line per call) or JSON, and return the exit code."""
    profile = read_profile(path)
    use = use_of(profile)
    if form == "csv":
        print_csv([asdict(call) for call in (*use.calls, *use.files)])
    elif form == "json":
        phases = phases_use_of(profile)
        told = {
            "pattern": pattern_of(profile),
            "waits": facts_of(profile),
            "counted": asdict(phases) if phases else None,
            "simulated": asdict(profile.simulated) if profile.simulated else None,
        }
        print_json(_known(_labelled(use) | told))
    else:
        _print(profile, use)
    return 0


def _labelled(use: Use) -> dict[str, Any]:
    """Return the numbers for JSON, with names for values by distance."""
    seconds, sent = (dict(zip(DISTANCES, values, strict=True)) for values in (use.seconds, use.bytes))
    return asdict(use) | {"seconds": seconds, "bytes": sent}


def _known(value: Any) -> Any:
    """Replace numbers that JSON cannot express by None."""
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_one_line(profile: Profile) -> str:
    """Return the share of time in MPI, the call with most of it, and the share of file I/O."""
    use = use_of(profile)
    most = f", {use.calls[0].name} most of it" if use.calls and use.calls[0].of_mpi > 0.5 else ""
    files = f", {format_part(use.files_s / use.thread_s)} in file I/O by MPI" if use.files else ""
    return f"{format_part(use.share)} of {_clock(profile, use)} in MPI{most}{files}"


def _clock(profile: Profile, use: Use) -> str:
    """Return the name of the time of which shares are fractions."""
    clock = "simulated time" if profile.simulated else "time"
    return f"the {clock}" if use.threads == 1 else f"the {clock} of up to {counted(use.threads, 'thread')}"


def _print(profile: Profile, use: Use) -> None:
    where = "" if use.nodes is None else f" on {counted(use.nodes, 'node')}"
    print(bold(f"{profile.title}{where}"), dim(f"{profile.program}, {profile.library}"))
    if profile.simulated:
        print(profile.simulated.words)
        print(f"known errors of the model: {errors_of_profile(profile.simulated)}")
    each = "" if use.threads == 1 else f", of {format_value(use.elapsed_s, 's')} from beginning to end"
    print(
        f"\n{format_part(use.share)} of {_clock(profile, use)} is MPI ({format_part(use.least)} to "
        f"{format_part(use.most)} on the ranks): {format_value(use.mpi_s, 's')} of "
        f"{format_value(use.thread_s, 's')} on average{each}"
    )
    if use.files:
        print(
            f"{format_part(use.files_s / use.thread_s)} is file I/O by MPI, which is no communication: "
            f"{format_value(use.files_s, 's')}, {', '.join(_moved(use))}"
        )
    parts = [
        f"{format_part(time / use.mpi_s)} {_towards(name)}"
        for name, time in zip(DISTANCES, use.seconds, strict=True)
        if use.mpi_s and time / use.mpi_s >= 0.005
    ]
    if parts:
        print(f"of the time in MPI {', '.join(parts)}")
    sent = [
        f"{format_bytes(amount)} {_towards(name)}"
        for name, amount in zip(DISTANCES, use.bytes, strict=True)
        if amount
    ]
    print(f"sent: {', '.join(sent) or 'nothing'}" + (" (collectives by participants)" if sent else ""))
    for line in _crossing(use, profile):
        print(line)
    print()
    print_table(calls_table(use, _MOST_CALLS))
    if use.files:
        print()
        print_table(files_table(use))
    for phase in use.phases:
        print(
            f"\nphase {phase.number}: {format_value(phase.mpi_s, 's')} in MPI, "
            f"{format_bytes(phase.bytes)} sent, mostly {phase.most}"
        )
    if phases := phases_use_of(profile):
        print_phases(phases)
    if waits := wait_use_of(profile):
        print_waits(waits)
    print()
    for sentence in pattern_of(profile):
        print(sentence)
    for remark in use.remarks:
        print(dim(remark))


def _moved(use: Use) -> list[str]:
    """Return the bytes read from files, and the bytes written."""
    found = []
    for word, names in (("read", "read"), ("written", "write")):
        if amount := sum(call.bytes for call in use.files if names in call.name):
            found.append(f"{format_bytes(amount)} {word}")
    return found or ["nothing read or written"]


def _crossing(use: Use, profile: Profile) -> list[str]:
    lines = []
    if use.crossed is not None:
        inside, across = use.crossed
        who = (
            "what the simulated MPI sent, by the simulator's"
            if profile.simulated
            else "what the MPI itself sent, by its own"
        )
        lines.append(f"{who} count: {format_bytes(inside)} on nodes, {format_bytes(across)} between them")
    if use.carried is not None and use.nodes is not None and use.nodes > 1:
        lines.append(f"sent meanwhile by the nodes' interfaces, by all programs: {format_bytes(use.carried)}")
    return lines


def _towards(distance: str) -> str:
    return {
        "itself": "of ranks to themselves",
        "same socket": "within sockets",
        "same node": "between sockets",
        "other node": "between nodes",
        "unknown": "unknown how far",
    }[distance]
