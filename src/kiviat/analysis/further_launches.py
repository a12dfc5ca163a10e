"""Finds the cases of a running run whose interval is still too wide, so that they need further launches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from kiviat.analysis.statistics.intervals import median_interval
from kiviat.record import Record, Row
from kiviat.record.types import FIRST_LOOK, WATCHED_LEVEL


@dataclass
class FurtherLaunches:
    """Collects the launch medians of cases, of the first metric of each.

    `interval` is the wanted half width of the interval over launches, relative to the median. Cases that have
    failed once get no further launches.
    """

    interval: float
    _medians: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _failed: set[str] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Add a result of a launch."""
        first = record.metrics[0] if record.metrics else None
        value = None if first is None else first.p50 if first.p50 is not None else first.mean
        self._add(record.case, value if record.outcome == "ok" and record.check != "failed" else None)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add the results of earlier launches; the rows of a record come in the order of its metrics."""
        seen = set()
        for row in rows:
            if (row.launch, row.case) not in seen:
                seen.add((row.launch, row.case))
                value = row.p50 if row.p50 is not None else row.mean
                self._add(row.case, None if row.failure else value)

    def _add(self, case: str, value: float | None) -> None:
        if value is None:
            self._failed.add(case)
        else:
            self._medians[case].append(value)

    def wanted(self) -> set[str]:
        """Return the cases that need another launch."""
        return {case for case in self._medians if case not in self._failed and self._is_wide(case)}

    def _is_wide(self, case: str) -> bool:
        values = self._medians[case]
        if len(values) < FIRST_LOOK:
            return True
        ends = median_interval(values, WATCHED_LEVEL)
        middle = median(values)
        return ends is not None and (ends[1] - ends[0]) / 2 > self.interval * abs(middle) > 0
