"""Sensitivity of predictions to assumed numbers, each changed by ±25 %."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kiviat.analysis.published.question import Answer
from kiviat.machine.modelled.machine import Machine, with_changes
from kiviat.model.changes import assumed_places, scaled
from kiviat.record import InputError

FACTORS = (0.75, 1.25)
# Smaller relative changes are ignored.
_LEAST = 0.01


@dataclass(frozen=True)
class Variant:
    """The machine with one assumed number changed."""

    place: str
    factor: float
    machine: Machine


@dataclass(frozen=True)
class Effect:
    """Relative changes of a prediction if a number is scaled by each of FACTORS; None if impossible."""

    place: str
    changes: tuple[float | None, ...]

    @property
    def largest(self) -> float:
        """The largest relative change without its sign; 0 if none is known."""
        return max((abs(change) for change in self.changes if change is not None), default=0.0)


def variants(machine: Machine) -> Iterator[Variant]:
    """Yield the valid variants; for example, a core's memory bandwidth cannot exceed its node's."""
    for place in assumed_places(machine):
        for factor in FACTORS:
            try:
                changed = with_changes(machine, scaled(machine, place, factor))
            except InputError:
                continue
            yield Variant(place, factor, changed)


def effects(base: Answer, varied: Sequence[tuple[Variant, Answer]]) -> list[Effect]:
    """Return the effects of at least 1 %, largest first; a changed ordering counts as 100 %."""
    if base is None or (base == 0 and not isinstance(base, bool)):
        return []
    by_place: dict[str, dict[float, float | None]] = {}
    for variant, answer in varied:
        if isinstance(base, bool):
            change = None if answer is None else float(answer != base)
        else:
            change = None if answer is None else float(answer) / base - 1
        by_place.setdefault(variant.place, {})[variant.factor] = change
    every = [Effect(place, tuple(of.get(factor) for factor in FACTORS)) for place, of in by_place.items()]
    return sorted(
        (effect for effect in every if effect.largest >= _LEAST), key=lambda effect: -effect.largest
    )
