"""How much a prediction depends on what nobody knows: each assumed number a quarter lower and higher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kiviat.machine.modelled.machine import Machine, load_machine
from kiviat.model.changes import assumed_places, scaled
from kiviat.model.question import Answer
from kiviat.record import InputError

FACTORS = (0.75, 1.25)
# A smaller change of a prediction does not matter.
_LEAST = 0.01


@dataclass(frozen=True)
class Variant:
    """The machine with one assumed number changed."""

    place: str
    factor: float
    machine: Machine


@dataclass(frozen=True)
class Effect:
    """Of one number on one prediction: relative changes for each of FACTORS, None where that cannot be."""

    place: str
    changes: tuple[float | None, ...]

    @property
    def largest(self) -> float:
        return max((abs(change) for change in self.changes if change is not None), default=0.0)


def variants(machine: Machine) -> Iterator[Variant]:
    """Those that are machines: a core cannot have more memory bandwidth than its node, say."""
    for place in assumed_places(machine):
        for factor in FACTORS:
            try:
                changed = load_machine(machine.path, scaled(machine, place, factor))
            except InputError:
                continue
            yield Variant(place, factor, changed)


def effects(base: Answer, varied: Sequence[tuple[Variant, Answer]]) -> list[Effect]:
    """What matters, the largest first; orderings change by all or nothing."""
    if base is None or (base == 0 and not isinstance(base, bool)):
        return []
    by_place: dict[str, dict[float, float | None]] = {}
    for variant, answer in varied:
        if isinstance(base, bool):
            change = None if answer is None else float(answer != base)
        else:
            change = None if answer is None else float(answer) / base - 1
        by_place.setdefault(variant.place, {})[variant.factor] = change
    found = [Effect(place, tuple(of.get(factor) for factor in FACTORS)) for place, of in by_place.items()]
    return sorted((one for one in found if one.largest >= _LEAST), key=lambda one: -one.largest)
