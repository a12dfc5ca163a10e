"""Use of the machine by other programs during a launch, for its records and for run.json.

kiviat-bench reports the use of all nodes case by case. For other programs, whose ranks all run here, kiviat
reads this machine itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kiviat.launch.process import processes
from kiviat.launch.process.processes import Marker
from kiviat.launch.substrates.cores import in_allocation
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.machine.host.activity import (
    LEAST_S,
    Throttling,
    Usage,
    frequencies_hz,
    load,
    others_between,
    process_s,
)
from kiviat.record.activity import Activity, LaunchActivity, disturbance

# A program that computes raises the load average of a minute to this within some 20 seconds.
_HARDLY_LOADED = 0.3


class LaunchMonitor:
    """Follows a launch from its construction on; simulated launches have no activity."""

    def __init__(self, spec: LaunchSpec) -> None:
        self._spec = spec
        self._real = spec.clock == "wall"
        self._load = load() if self._real else None
        self._before = Throttling.now() if self._real else None
        self._since = Usage.now() if self._real else None
        self._frequencies: tuple[float, float] | None = None
        self._cases: list[Activity] = []
        self._disturbed = 0

    def of_case(self, event: Mapping[str, Any], marker: Marker | None) -> dict[str, Any]:
        """Return `activity` and `disturbed` of the record of a result event."""
        activity = self._activity(event, marker)
        if activity is None:
            return {"activity": None, "disturbed": None}
        why = disturbance(activity, self._spec.oversubscribed or bool(event.get("oversubscribed")))
        self._cases.append(activity)
        self._disturbed += why is not None
        return {"activity": activity.to_json(), "disturbed": why}

    def _activity(self, event: Mapping[str, Any], marker: Marker | None) -> Activity | None:
        if not self._real:
            return None
        if "activity" not in event:
            return self._read(marker)
        return None if event["activity"] is None else Activity.from_json(event["activity"])

    def at_end(self) -> None:
        """Note the frequencies: the last case has just ended, so processors have not slowed down yet."""
        if self._real:
            self._frequencies = frequencies_hz()

    def of_launch(self) -> dict[str, Any] | None:
        """Return the launch's `activity` of run.json; None for a simulated launch."""
        if self._before is None or self._since is None:
            return None
        now, used = Throttling.now(), Usage.now()
        elapsed_s = max(used.at_s - self._since.at_s, 1e-9)
        limited_s, heat = _grown(self._before.limited_s, now.limited_s), _grown(self._before.heat, now.heat)
        lowest, highest = self._frequencies or (None, None)
        most = max(self._cases, key=lambda one: one.others or 0.0, default=None)
        return asdict(
            LaunchActivity(
                load=self._load,
                processors=most.processors if most else None,
                others=most.others if most else None,
                steal=self._largest("steal"),
                wait=self._largest("wait"),
                involuntary_switches=self._all_switches(),
                throttled=None if limited_s is None else limited_s / elapsed_s,
                heat_throttles=None if heat is None else round(heat),
                frequency_min_hz=lowest,
                frequency_max_hz=highest,
                disturbed=self._disturbed,
            )
        )

    def _largest(self, name: str) -> float | None:
        known = [value for one in self._cases if (value := getattr(one, name)) is not None]
        return max(known, default=None)

    def _all_switches(self) -> float | None:
        known = [one.involuntary_switches for one in self._cases if one.involuntary_switches is not None]
        return sum(known) if known else None

    def _read(self, marker: Marker | None) -> Activity | None:
        """Return the activity since the last case, from this machine; None if ranks may be on others."""
        if self._since is None or in_allocation():
            return None
        living = processes.of_launch(marker) if marker else []
        helpers = [int(word) for word in self._spec.environment.get("KIVIAT_HELPERS", "").split()]
        now = Usage.now(own_s=sum(map(process_s, (*living, *helpers))))
        before, self._since = self._since, now
        return others_between(before, now)


def _grown(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else max(0, now - before)


def busy_now(before: Usage) -> str | None:
    """Return the use of this machine by other programs since `before`, in words; None if it is quiet.

    If `before` was too recent, wait until it is not, unless the load says that hardly anything ran.
    """
    rest_s = before.at_s + LEAST_S - time.monotonic()
    if rest_s > 0 and (load() or 0.0) > _HARDLY_LOADED:
        time.sleep(rest_s + 0.01)
    found = others_between(before, Usage.now())
    return None if found is None else disturbance(found, oversubscribed=False)
