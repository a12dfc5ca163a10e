"""Known errors of a model on published rows, by kind of quantity.

They are shown next to the model's predictions.

`kiviat model validate --write` stores them (kiviat.record.validated); this module does not compute them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from kiviat.analysis.aggregate.summary import Summary
from kiviat.profile.simulated import Simulated
from kiviat.record.traits import earlier_traits
from kiviat.record.units import counted
from kiviat.record.validated import ComparedModel, ComparedRow, compared_models, simulator_hash

PAGE = "docs/reference/validation.md"

# Upper limits, in bytes, of the size classes of collectives.
_SMALL, _MEDIUM = 1 << 10, 64 << 10

PROGRAMS = "programs"
# Errors from this relative error on are shown as a factor.
_FACTOR = 9.0

POINT_TO_POINT = "point to point"
RATIOS = "ratios of results"
RANDOM_RINGS = "rings in random order"
# Benchmarks of pairs that belong to other sections of the report.
_PAIRS = ("pair_pingpong", "streaming")
_KERNELS = ("dgemm", "fft", "hpl", "ptrans", "random_access", "stream")
# Kind of quantity of all other benchmarks, by section of the report.
_OF_SECTIONS = {
    **dict.fromkeys(("pairs", "dense", "congestion"), "dense patterns"),
    **dict.fromkeys(("programs", "applications"), PROGRAMS),
}
# Metrics of b_eff and of rings whose kind differs from that of the rest of the study.
_OF_RINGS = {
    "rings_at_lmax": "rings",
    "natural_bandwidth": "rings",
    "randoms_at_lmax": RANDOM_RINGS,
    "random_bandwidth": RANDOM_RINGS,
    "natural_latency": "rings of 8 B",
    "random_latency": "rings of 8 B",
    "at_lmax": "b_eff at its largest message",
    "pingpong_latency": POINT_TO_POINT,
    "pingpong_bandwidth": POINT_TO_POINT,
}
_PER_PROCESS = "_per_process"
# Forms of rows whose answer is a quantity. Ratios and shares are a kind of their own, and locations of bends
# have no meaningful error.
_QUANTITIES = ("value", "best", "least", "square_over")


class Hashed(Protocol):
    """A model with a name and a hash: a machine file, or the model in run.json."""

    @property
    def name(self) -> str:
        """Name of the model."""

    @property
    def hash(self) -> str:
        """Hash of everything in the machine file that a simulation depends on."""


@dataclass(frozen=True, slots=True)
class KnownError:
    """Errors of one kind: relative and signed, one for each independent quantity, named in `rows`.

    `fitted`: the model was fitted to these rows.
    """

    kind: str
    errors: tuple[float, ...]
    fitted: bool = False
    rows: tuple[str, ...] = ()

    @property
    def middle(self) -> float:
        """The median error, signed."""
        return statistics.median(self.errors)

    @property
    def spread(self) -> float:
        """The median error expressed as a factor of at least 1: 2 for errors of +100 % and of -50 %."""
        return math.exp(statistics.median(abs(math.log(max(1 + one, 1e-3))) for one in self.errors))

    @property
    def worst(self) -> float:
        """The error with the largest absolute value."""
        return max(self.errors, key=abs)


@dataclass(frozen=True, slots=True)
class KnownErrors:
    """The known errors of a model.

    `compared` is the date of the comparison, None if the model was never compared; `stale` is True if the
    model has changed since then. In both cases `kinds` is empty. `judged` is the number of orderings and
    bounds to which the model was not fitted, `held` the number of those that it predicts correctly.
    """

    model: str
    compared: ComparedModel | None
    stale: bool
    kinds: tuple[KnownError, ...]
    held: int = 0
    judged: int = 0

    @property
    def earlier_simulator(self) -> bool:
        """True if the simulator has changed since the model was compared."""
        return self.compared is not None and self.compared.simulator != simulator_hash()

    def of(self, kind: str) -> KnownError | None:
        """Return the errors of a kind; if the model was fitted to all rows of that kind, those errors."""
        found = [one for one in self.kinds if one.kind == kind]
        return min(found, key=lambda one: one.fitted, default=None)

    @property
    def tested(self) -> bool:
        """True if the present model was compared with a published row to which it was not fitted."""
        return self.judged > 0 or any(not one.fitted for one in self.kinds)


def kind_of(benchmark: str, metric: str, ranks: int, size: int | None) -> str:
    """Return the kind of a predicted quantity, such as "collectives up to 64 KiB".

    Empty if it belongs to none.
    """
    if benchmark in ("b_eff", "ring"):
        stem = metric.removesuffix(_PER_PROCESS)
        return _OF_RINGS.get(stem, benchmark if benchmark == "b_eff" else "")
    section = earlier_traits()[benchmark].section
    if section == "pt2pt" or benchmark in _PAIRS:
        return POINT_TO_POINT if ranks == 2 else "pairs and neighbours at once"
    if section in ("collective", "overlap"):
        if size is None or size <= _SMALL:
            return "collectives up to 1 KiB"
        return "collectives up to 64 KiB" if size <= _MEDIUM else "collectives above 64 KiB"
    return "kernels of HPC Challenge" if benchmark in _KERNELS else _OF_SECTIONS.get(section, "")


def kinds(summaries: Iterable[Summary]) -> list[str]:
    """Return the distinct kinds of predicted quantities."""
    found = (kind_of(one.benchmark, one.metric, one.ranks, one.bytes) for one in summaries)
    return list(dict.fromkeys(filter(None, found)))


def known_errors(model: Hashed) -> KnownErrors:
    """Return the stored errors of a model, unless they belong to an earlier version of it."""
    compared = compared_models().get(model.name)
    if compared is None:
        return KnownErrors(model.name, None, False, ())
    if compared.hash != model.hash:
        return KnownErrors(model.name, compared, True, ())
    # The last of several verdicts on a published row counts, as in docs/reference/validation.md.
    answered = {row.row: row.holds for row in compared.rows if row.holds is not None and not row.fitted}
    return KnownErrors(
        model.name,
        compared,
        False,
        tuple(errors_by_kind(compared.rows)),
        sum(answered.values()),
        len(answered),
    )


def errors_of_profile(simulated: Simulated) -> str:
    """Return the known errors of the model on which a program was profiled, as text."""
    name = simulated.machine.removeprefix("simulated:")
    compared = compared_models().get(name)
    if compared is None:
        return in_words(KnownErrors(name, None, False, ()))
    if not simulated.hash and compared.version == simulated.version:
        return f"unknown: the profile, of an earlier kiviat, lacks the hash of its model ({PAGE})"
    return in_words(known_errors(replace(compared, hash=simulated.hash)), [PROGRAMS])


def errors_by_kind(rows: Iterable[ComparedRow]) -> Iterable[KnownError]:
    """Yield the errors by kind.

    Accumulated and per-process bandwidth are one quantity, represented by its first row.
    """
    found: dict[tuple[str, bool], dict[str, ComparedRow]] = {}
    for row in rows:
        kind = kind_of(row.benchmark, row.metric, row.ranks, row.bytes)
        quantity = row.quantity
        if row.form not in _QUANTITIES:
            kind, quantity = RATIOS, row.row
        # A relative error means nothing for a best size or a difference.
        measurable = row.form in _QUANTITIES or row.unit in ("1", "%")
        if kind and measurable and row.error is not None and row.holds is None:
            found.setdefault((kind, row.fitted), {}).setdefault(quantity, row)
    for (kind, fitted), chosen in found.items():
        errors = tuple(row.error for row in chosen.values() if row.error is not None)
        yield KnownError(kind, errors, fitted, tuple(row.row for row in chosen.values()))


def left_out(kinds: Iterable[KnownError]) -> list[KnownError]:
    """Return the errors that summarise a model: those of rows it was not fitted to."""
    return [one for one in kinds if not one.fitted]


def error_text(known: KnownErrors, kind: str) -> str:
    """Return the errors as text, such as "+12 % on 6 published values, worst +31 %", or why none is known.

    "±12 %" stands for errors of both signs.
    """
    one = known.of(kind)
    return _numbers(one) if one else nothing_known(known, kind)


def nothing_known(known: KnownErrors, kind: str = "") -> str:
    """Return why no error is known: never compared, changed since, or no published value of that kind."""
    if known.compared is None:
        return "unknown: never compared with published results"
    if known.stale:
        return "unknown: not validated since the model changed"
    return "unknown: no published value of that kind" if kind else "unknown: no published value compared"


def _numbers(one: KnownError) -> str:
    values = counted(len(one.errors), "published value")
    fitted = " it was fitted to" if one.fitted else ""
    worst = f", worst {percent(one.worst)}" if len(one.errors) > 1 else ""
    return f"{_middle(one)} on {values}{fitted}{worst}"


def _middle(one: KnownError) -> str:
    """Return the median error; without sign if errors have both signs, because they would cancel."""
    if min(one.errors) < 0 < max(one.errors):
        return f"±{100 * statistics.median(map(abs, one.errors)):.0f} %"
    return percent(one.middle)


def percent(error: float) -> str:
    """Return a relative error as text, in percent, or as a factor if it is larger than ten."""
    if error >= _FACTOR:
        return f"×{1 + error:.3g}"
    return f"{100 * error:+.0f} %" if round(100 * error) else "0 %"


def short_text(known: KnownErrors) -> str:
    """Return a short text for tables, without fitted rows.

    It is such as "median ±53 % on 9 published values, worst +80 %; 3 of 4 orderings and bounds hold".
    """
    if known.compared is None:
        return "never compared"
    if known.stale:
        return "not validated since it changed"
    errors = [error for one in left_out(known.kinds) for error in one.errors]
    words = []
    if errors:
        values = counted(len(errors), "published value")
        middle = f"±{100 * statistics.median(map(abs, errors)):.0f} % on {values}"
        worst = percent(max(errors, key=abs))
        words.append(f"median {middle}, worst {worst}" if len(errors) > 1 else middle)
    if known.judged:
        words.append(f"{known.held} of {known.judged} orderings and bounds hold")
    return "; ".join(words) or "no published value compared"


def lines(known: KnownErrors, kinds: Iterable[str] | None = None) -> list[str]:
    """Return one line for each of `kinds`, or of all known kinds: "b_eff +72 % on 1 published value".

    If none is known, the only line gives the reason.
    """
    if known.compared is None or known.stale:
        return [nothing_known(known)]
    wanted = dict.fromkeys(one.kind for one in known.kinds) if kinds is None else dict.fromkeys(kinds)
    found = [f"{kind} {error_text(known, kind)}" for kind in wanted if known.of(kind)]
    if unknown := [kind for kind in wanted if not known.of(kind)]:
        found.append(f"unknown for lack of published values: {', '.join(unknown)}")
    if kinds is None and known.judged:
        found.append(f"orderings and bounds: {known.held} of {known.judged} hold")
    return found or [nothing_known(known)]


def in_words(known: KnownErrors, kinds: Iterable[str] | None = None) -> str:
    """Return `lines` as one text that names the documentation page with all rows."""
    return f"{'; '.join(lines(known, kinds))}{_simulator(known)} ({PAGE})"


def shortly(known: KnownErrors) -> str:
    """Return `short_text` with the name of the documentation page."""
    return f"{short_text(known)}{_simulator(known)} ({PAGE})"


def _simulator(known: KnownErrors) -> str:
    return ", with an earlier simulator" if known.kinds and known.earlier_simulator else ""
