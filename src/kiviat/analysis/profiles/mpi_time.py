"""Share of MPI in a program's time, by call and distance of messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kiviat.analysis.profiles.traffic_pattern import describe, percent
from kiviat.profile import Calls, Profile
from kiviat.record.units import format_bytes


@dataclass(frozen=True, slots=True)
class CallUse:
    """One call, over all ranks and phases. Times are in seconds per rank; `bytes` and `calls` are totals.

    `of_mpi` and `of_time` are fractions, 0 … 1, of the time in MPI and of all time.
    """

    name: str
    calls: int
    mean_s: float
    least_s: float
    most_s: float
    longest_s: float
    of_mpi: float
    of_time: float
    messages: int
    bytes: int
    sizes: str


@dataclass(frozen=True, slots=True)
class Phase:
    """MPI in one phase of a program: seconds per rank, bytes of all ranks, and the call with most time."""

    number: int
    mpi_s: float  # per rank
    bytes: int
    most: str


@dataclass(frozen=True, slots=True)
class Use:
    """Time in MPI: seconds per rank, means over ranks with data; shares are fractions of time, 0 … 1.

    If several threads of a rank call MPI, `threads` is the largest number on a rank, and shares are fractions
    of `thread_s`, the sum of their times. `files` are calls of MPI_File, which are not communication and take
    `files_s`. `seconds` and `bytes` (sent, over all ranks) are by distance. `crossed`: bytes within and
    between nodes as the MPI counted them; `carried`: bytes sent by interfaces of nodes; None if not counted.
    """

    elapsed_s: float
    threads: int
    thread_s: float
    mpi_s: float
    files_s: float
    share: float
    least: float
    most: float
    seconds: tuple[float, ...]
    bytes: tuple[int, ...]
    nodes: int | None
    calls: tuple[CallUse, ...]
    files: tuple[CallUse, ...]
    phases: tuple[Phase, ...]
    crossed: tuple[int, int] | None
    carried: int | None
    remarks: tuple[str, ...]


# With more pairs (some thousands of ranks), collectives are omitted from patterns and maps.
MOST_PAIRS = 1 << 22


def use_of(profile: Profile) -> Use:
    """Summarise a profile for `kiviat show` and the report."""
    seen = int(profile.seen.sum())
    elapsed, mpi = profile.seconds[profile.seen], profile.mpi_s[profile.seen]
    whole = float(profile.thread_s[profile.seen].sum())
    share = profile.share[profile.seen]
    known = share[np.isfinite(share)]
    lines = profile.calls
    return Use(
        elapsed_s=float(elapsed.sum()) / seen,
        threads=int(profile.thread_count.max()),
        thread_s=whole / seen,
        mpi_s=float(mpi.sum()) / seen,
        files_s=float(profile.files_s[profile.seen].sum()) / seen,
        share=float(mpi.sum()) / whole if whole > 0 else float("nan"),
        least=float(known.min()) if known.size else float("nan"),
        most=float(known.max()) if known.size else float("nan"),
        seconds=tuple(float(total) / seen for total in lines.seconds.sum(axis=0)),
        bytes=tuple(int(total) for total in lines.bytes.sum(axis=0)),
        nodes=len(set(profile.node.tolist())) if profile.seen.all() else None,
        calls=_calls(profile, lines, float(mpi.sum()), whole),
        files=_calls(profile, profile.files, 0.0, whole),
        phases=_phases(lines, seen),
        crossed=None if profile.crossed is None else profile.crossed.between(profile.node.tolist()),
        carried=sum(one.sent for one in profile.interfaces) if profile.interfaces else None,
        remarks=(*profile.kinship, *_unended(profile), *profile.remarks),
    )


def _calls(profile: Profile, lines: Calls, mpi_s: float, whole_s: float) -> tuple[CallUse, ...]:
    found, seen = [], int(profile.seen.sum())
    for name in np.unique(lines.name):
        of = lines.name == name
        by_rank = np.bincount(lines.rank[of], lines.seconds[of].sum(axis=1), minlength=profile.ranks)
        of_ranks = by_rank[profile.seen]
        total = float(of_ranks.sum())
        found.append(
            CallUse(
                name=str(name),
                calls=int(lines.calls[of].sum()),
                mean_s=total / seen,
                least_s=float(of_ranks.min()),
                most_s=float(of_ranks.max()),
                longest_s=float(lines.longest_s[of].max()),
                of_mpi=total / mpi_s if mpi_s else 0.0,
                of_time=total / whole_s if whole_s else 0.0,
                messages=int(lines.messages[of].sum()),
                bytes=int(lines.bytes[of].sum()),
                sizes=size_range(lines.sizes[of].sum(axis=0).tolist()),
            )
        )
    return tuple(sorted(found, key=lambda call: -call.mean_s))


def pattern_of(profile: Profile) -> list[str]:
    """Describe the traffic pattern in sentences: messages first, then data exchanged by collectives."""
    kinds = {"messages": profile.traffic(collectives=False)}
    found = []
    omitted = 0
    if profile.collective_pairs <= MOST_PAIRS:
        kinds["collectives"] = profile.collective
    else:
        found.append("Collectives have too many pairs of ranks to be described.")
        omitted = profile.collective_bytes
    described = sum(int(traffic.bytes.sum()) for traffic in kinds.values())
    if not described:
        return found or ["No rank sends anything to another."]
    whole = described + omitted
    for name, traffic in kinds.items():
        if share := int(traffic.bytes.sum()) / whole:
            parts = describe(traffic)
            found.append(f"{name.capitalize()}, {percent(share).lower()} of the bytes. {' '.join(parts)}")
    node = profile.node.tolist()
    if min(node) >= 0 and len(set(node)) > 1:
        across = sum(traffic.between(node)[1] for traffic in kinds.values())
        of = "the bytes in messages" if omitted else "the bytes"
        found.append(f"{percent(across / described)} of {of} go between nodes.")
    return found


def size_range(counts: list[int]) -> str:
    """Return the range of sizes that were sent, in powers of two: "64 B – 1 KiB".

    It is empty for calls that send nothing. `counts[k]` is the number of messages of 2^(k-1) to 2^k bytes,
    `counts[0]` of those without data.
    """
    used = [size for size, count in enumerate(counts) if count]
    if not used:
        return ""
    least = 0 if used[0] == 0 else 1 << (used[0] - 1)
    if used[-1] == 0:
        return "0 B"
    if used[-1] == len(counts) - 1:
        return f"from {format_bytes(least)}"
    most = 1 << used[-1]
    if len(used) == 1:
        return _between(least, most)
    fullest = max(used, key=lambda size: counts[size])
    common = "0 B" if fullest == 0 else _between(1 << (fullest - 1), 1 << fullest)
    return f"{_between(least, most)}, mostly {common}"


def _between(least: int, most: int) -> str:
    """Return a range of bytes: "1 – 2 KiB", "512 B – 1 KiB"."""
    (first, _, one), (second, _, other) = (format_bytes(size).partition(" ") for size in (least, most))
    return f"{first} – {second} {other}" if one == other else f"{first} {one} – {second} {other}"


def _phases(lines: Calls, seen: int) -> tuple[Phase, ...]:
    numbers = [int(number) for number in np.unique(lines.phase) if number]
    if len(numbers) < 2:
        return ()
    found = []
    for number in numbers:
        of = lines.phase == number
        time = lines.seconds[of].sum(axis=1)
        names, place = np.unique(lines.name[of], return_inverse=True)
        most = names[int(np.argmax(np.bincount(place, time)))]
        found.append(Phase(number, float(time.sum()) / seen, int(lines.bytes[of].sum()), str(most)))
    return tuple(found)


def _unended(profile: Profile) -> list[str]:
    found = []
    if absent := profile.ranks - int(profile.seen.sum()):
        found.append(f"{absent} of {profile.ranks} ranks left nothing")
    if unended := int((profile.seen & ~profile.ended).sum()):
        found.append(
            f"{unended} of {profile.ranks} ranks did not reach MPI_Finalize; they count until their last call"
        )
    stuck: dict[str, list[int]] = {}
    for rank, call in profile.inside.items():
        stuck.setdefault(call, []).append(rank)
    for call, ranks in stuck.items():
        few = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        found.append(f"inside of {call} when it ended: rank{'s' if len(ranks) > 1 else ''} {few}")
    return found
