"""Use of a machine by other programs during a case or a launch, and the rule that calls a case disturbed.

The limits are orders of magnitude, not fitted to trials; trials on a busy and on a quiet machine agree with
them (docs/explanation/method.md).

- others: the processors that the ranks may use also served other programs, for more than a tenth of a
  processor and a hundredth for each of them. Daemons should take less; a program that computes takes one;
- steal: a hypervisor took more than a twentieth of the time that programs wanted. This limit was chosen on
  a busy virtual machine of two processors, which lost up to a fiftieth;
- wait: a rank was ready to run, but had no processor, for more than a tenth of the time. This is not judged
  of oversubscribed cases, whose ranks wait for each other.

Processor time of the ranks, their launchers and kiviat itself counts as none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from kiviat.record.units import three_digits

_OTHERS, _OTHERS_PER_PROCESSOR = 0.10, 0.01
_STEAL = 0.05
_WAIT = 0.10


@dataclass(frozen=True, slots=True)
class Activity:
    """Use of the ranks' processors during a case; unavailable values are None.

    `others` is in processors, of the `processors` that ranks may use on the machine where it is largest;
    `steal` and `wait` are shares. All belong to the last `elapsed_s` seconds before the end of the case.
    """

    elapsed_s: float | None
    processors: float | None
    others: float | None
    steal: float | None
    wait: float | None
    involuntary_switches: float | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the activity of an event or a record."""
        return cls(**{field.name: data.get(field.name) for field in fields(cls)})

    def to_json(self) -> dict[str, float | None]:
        """Return the activity as records hold it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LaunchActivity:
    """Use of the machine during a launch; unavailable values are None.

    `load` is the average of the minute before. `others`, `steal` and `wait` are the largest of any case, the
    switches those of all. `throttled` is in processors; `disturbed` is the number of cases so marked.
    """

    load: float | None
    processors: float | None
    others: float | None
    steal: float | None
    wait: float | None
    involuntary_switches: float | None
    throttled: float | None
    heat_throttles: int | None
    frequency_min_hz: float | None
    frequency_max_hz: float | None
    disturbed: int


def too_busy(others: float | None, processors: float | None) -> bool:
    """True if other programs use more of these processors than is put down to daemons."""
    return others is not None and others > _OTHERS + _OTHERS_PER_PROCESSOR * (processors or 0)


def disturbance(activity: Activity, oversubscribed: bool) -> str | None:
    """Return what disturbed a case, in words; None if nothing is known to have."""
    words = []
    if too_busy(activity.others, activity.processors) and activity.others is not None:
        of = f" of {activity.processors:.0f}" if activity.processors else ""
        words.append(f"other programs used {three_digits(activity.others)}{of} processors")
    if activity.steal is not None and activity.steal > _STEAL:
        words.append(f"the hypervisor took {100 * activity.steal:.0f} % of the time")
    if not oversubscribed and activity.wait is not None and activity.wait > _WAIT:
        words.append(f"a rank waited for a processor for {100 * activity.wait:.0f} % of the time")
    return "; ".join(words) or None
