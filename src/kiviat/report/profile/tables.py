"""Tables about profiles: calls, file I/O, distances, phases, hardware counters, wait states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from kiviat.analysis.profiles.mpi_time import CallUse, Phase, Use
from kiviat.analysis.profiles.phases import PhasesUse, PhaseUse
from kiviat.analysis.profiles.wait_states import CallWaits, PairWaits, WaitUse, causes_in_words
from kiviat.profile import DISTANCES
from kiviat.profile.timeline import LongWait
from kiviat.record.units import counted
from kiviat.report.table import Cell, Column, Interval, Table, tabled

_WITHIN = {
    "itself": "self",
    "same socket": "within sockets",
    "same node": "between sockets of a node",
    "unknown": "unknown distance",
    "other node": "between nodes",
}

_CALL_COLUMNS: tuple[Column[CallUse], ...] = (
    Column("of all time", lambda call: call.of_time, "part"),
    Column("mean per rank", lambda call: call.mean_s, "s"),
    Column("range over ranks", lambda call: Interval(call.least_s, call.most_s, "s"), "s"),
    Column("longest", lambda call: call.longest_s, "s"),
    Column("calls", lambda call: call.calls, "count"),
)
_SIZES: Column[CallUse] = Column("sizes", lambda call: call.sizes or "–")


def calls_table(use: Use, most: int | None = None) -> Table:
    """Return the table of MPI calls, at most `most` of them."""
    calls = use.calls[:most]
    left = len(use.calls) - len(calls)
    columns: list[Column[CallUse]] = [
        Column("call", lambda call: call.name),
        Column(
            "of MPI time", lambda call: Cell(call.of_mpi, drawing=_bar(call.of_mpi)), "part", kind="parts"
        ),
        *_CALL_COLUMNS,
        Column("sent", _moved, "B", absent="–"),
        _SIZES,
    ]
    notes = [f"and {counted(left, 'call')} more; --format csv has all"] if left else []
    return tabled("Time by call", columns, calls, notes=notes, kind="programs")


def _bar(part: float) -> Markup:
    return Markup(
        '<div class="stack" aria-hidden="true"><i class="message" style="flex: 0 0 {:.1f}%"></i></div>'
    ).format(100 * part)


def _moved(call: CallUse) -> int | None:
    return call.bytes if call.messages else None


def files_table(use: Use) -> Table:
    """Return the table of calls for file I/O."""
    name: Column[CallUse] = Column("file I/O", lambda call: call.name)
    moved: Column[CallUse] = Column("bytes", _moved, "B", absent="–")
    return tabled("File I/O by call", [name, *_CALL_COLUMNS, moved, _SIZES], use.files)


def distance_table(use: Use) -> Table:
    """Return the table of time and bytes by the distance of ranks."""
    whole_s, whole = sum(use.seconds), sum(use.bytes)
    columns: list[Column[tuple[str, float, int]]] = [
        Column("distance", lambda one: _WITHIN[one[0]].capitalize()),
        Column("mean per rank", lambda one: one[1], "s"),
        Column("of MPI time", lambda one: one[1] / whole_s, "part"),
        Column("sent by all ranks", lambda one: one[2], "B"),
        Column("of bytes", lambda one: one[2] / whole if whole else None, "part", absent="–"),
    ]
    parts = zip(DISTANCES, use.seconds, use.bytes, strict=True)
    return tabled("Time and bytes by distance", columns, [one for one in parts if whole_s and any(one[1:])])


def phases_table(use: Use) -> Table:
    """Return the table of phases."""
    columns: list[Column[Phase]] = [
        Column("phase", lambda phase: phase.number),
        Column("MPI time, mean per rank", lambda phase: phase.mpi_s, "s"),
        Column("sent by all ranks", lambda phase: phase.bytes, "B"),
        Column("mostly in", lambda phase: phase.most),
    ]
    return tabled("Phases", columns, use.phases)


def counted_table(use: PhasesUse) -> Table:
    """Return the table of counters and energy of each phase; counters are means over ranks."""

    def mean(name: str) -> Callable[[PhaseUse], str | None]:
        return lambda phase: f"{phase.counters[name].mean:.3g}" if name in phase.counters else None

    names = dict.fromkeys(name for phase in use.phases for name in phase.counters)
    columns: list[Column[PhaseUse]] = [
        Column("phase", lambda phase: phase.number, "number"),
        Column("time", lambda phase: phase.seconds.mean, "s"),
        *(Column(name.replace("_", " "), mean(name), side=">") for name in names),
        Column("per cycle", lambda phase: phase.instructions_per_cycle, "1"),
        Column("memory traffic", lambda phase: phase.memory_bytes, "B"),
        Column("energy", lambda phase: phase.joules, "J"),
        Column("power", lambda phase: phase.watts, "W"),
    ]
    return tabled("Counters and energy by phase", columns, use.phases)


def waits_table(use: WaitUse) -> Table:
    """Return the table of waiting by call and kind."""
    columns: list[Column[CallWaits]] = [
        Column("call", lambda one: one.call),
        Column("kind", lambda one: one.kind),
        Column("of all time", lambda one: one.of_time, "part"),
        Column("mean per rank", lambda one: one.mean_s, "s"),
        Column("waits", lambda one: one.waits, "count"),
        Column("longest", lambda one: one.longest_s, "s"),
        Column("mostly for", lambda one: causes_in_words(one.causes)),
    ]
    return tabled("Waiting by call", columns, use.calls)


def pairs_table(use: WaitUse, most: int | None = None) -> Table:
    """Return the table of waiting by pairs of ranks, at most `most` of them."""
    columns: list[Column[PairWaits]] = [
        Column("rank", lambda one: one.rank, "number"),
        Column("waits for", lambda one: one.cause, "number"),
        Column("time", lambda one: one.seconds, "s"),
        Column("of all waiting", lambda one: one.of_waiting, "part"),
        Column("mostly in", lambda one: one.most),
    ]
    pairs = use.pairs[:most]
    notes = ["--format json has all"] if len(pairs) < len(use.pairs) else []
    return tabled("Waiting by pair of ranks", columns, pairs, notes=notes)


def longest_table(waits: Sequence[LongWait], title: str) -> Table:
    """Return the table of single waits."""
    columns: list[Column[LongWait]] = [
        Column("time", lambda wait: wait.end_s - wait.begin_s, "s"),
        Column("from", lambda wait: wait.begin_s, "s"),
        Column("rank", lambda wait: wait.rank, "number"),
        Column("waits for", lambda wait: wait.cause, "number"),
        Column("in", lambda wait: wait.call),
        Column("kind", lambda wait: wait.kind),
    ]
    return tabled(title, columns, waits)
