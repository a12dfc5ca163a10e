"""Hardware counters and energy of each phase of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kiviat.profile import Profile, RankPhases
from kiviat.profile.phases import Energy, Values


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, mean and maximum over the ranks that have a value."""

    least: float
    mean: float
    most: float


@dataclass(frozen=True, slots=True)
class PhaseUse:
    """One phase over all ranks; unknown values are None, unknown counters absent.

    `seconds`: time between one MPI_Pcontrol and the next. `joules` and `watts`: energy and mean power of all
    machines; `memory_bytes`: their memory traffic.
    """

    number: int
    seconds: Spread
    counters: dict[str, Spread]
    instructions_per_cycle: float | None
    joules: float | None
    watts: float | None
    memory_bytes: float | None


@dataclass(frozen=True, slots=True)
class PhasesUse:
    """Counters and energy of all phases.

    `counters` and `energy` name the sources, or the reasons why values are unavailable, each once; `missing`
    is the number of ranks without data, because they did not reach MPI_Finalize.
    """

    phases: tuple[PhaseUse, ...]
    counters: tuple[str, ...]
    energy: tuple[str, ...]
    missing: int


def phases_use_of(profile: Profile) -> PhasesUse | None:
    """Summarise the phases of a profile; None if it was recorded without counters."""
    each = profile.phases
    if each is None:
        return None
    numbers = sorted({number for one in each for number in one.phases})
    words = [_turns(one) for one in each]
    energies = [one.energy.words for one in each if one.energy]
    return PhasesUse(
        phases=tuple(_phase(each, number) for number in numbers),
        counters=tuple(dict.fromkeys(words)),
        energy=tuple(dict.fromkeys(energies)),
        missing=profile.ranks - len(each),
    )


def _phase(each: Sequence[RankPhases], number: int) -> PhaseUse:
    here = [one for one in each if number in one.phases]

    def of(values: Callable[[RankPhases], Values | None]) -> list[float]:
        found = []
        for one in here:
            column = values(one)
            value = column[one.phases.index(number)] if column else None
            if value is not None:
                found.append(value)
        return found

    def of_all(values: Callable[[RankPhases], Values | None]) -> float | None:
        """Return the sum over machines, for each of which one rank has the value; None if one has none."""
        found = of(values)
        return sum(found) if found and len(found) == sum(one.energy is not None for one in here) else None

    def energy(values: Callable[[Energy], Values]) -> float | None:
        return of_all(lambda one: values(one.energy) if one.energy else None)

    names = dict.fromkeys(name for one in here for name in one.counters)
    counted = {name: of(_counter(name)) for name in names}
    instructions, cycles = (counted.get(name, []) for name in ("instructions", "cycles"))
    both = len(instructions) == len(cycles) and sum(cycles) > 0
    read, written = of_all(lambda one: one.read_bytes), of_all(lambda one: one.written_bytes)
    return PhaseUse(
        number=number,
        seconds=_spread(of(lambda one: one.seconds)),
        counters={name: _spread(values) for name, values in counted.items() if values},
        instructions_per_cycle=sum(instructions) / sum(cycles) if both else None,
        joules=energy(lambda one: one.joules),
        watts=energy(lambda one: one.watts),
        memory_bytes=None if read is None or written is None else read + written,
    )


def _counter(name: str) -> Callable[[RankPhases], Values | None]:
    return lambda one: one.counters.get(name)


def _turns(one: RankPhases) -> str:
    shares = [share for share in one.least_share if share is not None and share < 0.995]
    if not one.counters or not shares:
        return one.words
    return f"{one.words}; counters were multiplexed and are scaled"


def _spread(values: Sequence[float]) -> Spread:
    return Spread(min(values), sum(values) / len(values), max(values))
