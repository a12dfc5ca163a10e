"""Scaling of benchmarks with the number of ranks, on one machine or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsIndex, get_args

from kiviat.analysis.published.curves import scaling_verdicts
from kiviat.analysis.published.verdict import Verdict
from kiviat.analysis.scaling import series
from kiviat.analysis.scaling.curve import Point
from kiviat.analysis.scaling.reading import Reading, readings
from kiviat.analysis.scaling.series import Selection, Source, joined
from kiviat.api.arguments import refuse_unknown, whole_numbers, words
from kiviat.api.runs import Named, Runs, named
from kiviat.api.table import Table, Tabular
from kiviat.record import write_whole
from kiviat.record.rows import Rows
from kiviat.report.facts.runs import labels
from kiviat.report.html import fragment
from kiviat.report.scaling.text import kind_text

Kind = Literal["strong", "weak"]


@dataclass(frozen=True)
class ScalingResult(Tabular):
    """`readings` are the studies, with curves and laws.

    `left_out` has quantities without curve, with reasons.

    `published` has claims of papers about these machines, with the verdicts of the runs.
    """

    runs: Runs
    sources: tuple[Source, ...]
    readings: tuple[Reading, ...]
    published: tuple[Verdict, ...]
    left_out: tuple[str, ...]

    @property
    def table(self) -> Table:
        """One row for each point of each curve: value, speedup, efficiency, serial fraction, energy."""
        return Table.of([row for reading in self.readings for row in _points(reading)])

    def report(self, output: str | PathLike[str] = "scaling.html") -> Path:
        """Write curves, laws and efficiency as a web page, and return its path."""
        from kiviat.report.scaling.page import render_scaling  # noqa: PLC0415 (imports Jinja)

        page = render_scaling(self.readings, self.sources, self.left_out, self.published)
        write_whole(page, Path(output), "report")
        return Path(output)

    def __repr__(self) -> str:
        return f"<scaling of {', '.join(reading.study.title for reading in self.readings)}>"

    def _repr_html_(self) -> str:
        shown = ("machine", "ranks", "value", "unit", "speedup", "efficiency", "serial", "clock")
        parts = []
        for reading in self.readings:
            rows = list(_points(reading))
            parts.append(fragment.heading(f"{reading.study.title}:", kind_text(reading.study)))
            parts.append(fragment.table(shown, [[row[name] for name in shown] for row in rows]))
            laws = [f"{curve.label}: {curve.choice.words}" for curve in reading.study.curves]
            parts.append(fragment.items(laws))
        return "".join([*parts, fragment.items([f"left out: {why}" for why in self.left_out])])


def scaling(
    *runs: Named,
    benchmarks: str | Iterable[str] = (),
    metric: str | None = None,
    kind: Kind | None = None,
    at: SupportsIndex | Iterable[SupportsIndex] = (),
) -> ScalingResult:
    """Return how benchmarks scale with the number of ranks; without a name, in the last run.

    Runs of one machine under the same conditions are joined; those of several machines are compared. Without
    `kind`, the records tell strong from weak scaling; with it, all curves count as this kind, whatever the
    records say. `at` is a number of ranks to extrapolate to, or several. Raise InputError if there is no
    curve at all.
    """
    selection = Selection(tuple(words("benchmarks", benchmarks)), metric, kind)
    numbers = sorted(set(whole_numbers("at", at)))
    if kind is not None:
        refuse_unknown("kind", kind, get_args(Kind))
    loaded = named(runs or ("last",))
    sources = _sources(loaded)
    result = series.scaling(sources, selection)
    found = readings(result, sources, numbers)
    verdicts = scaling_verdicts(result.studies, sources)
    return ScalingResult(loaded, tuple(sources), tuple(found), tuple(verdicts), result.left_out)


def _sources(runs: Runs) -> list[Source]:
    """Return the sources of the runs; runs that belong together are named after the first of them."""
    loaded = {run.id: run for run in runs}
    groups = joined([(run.about, run.rows) for run in loaded.values()])
    called = labels([group[0] for group in groups])
    return [
        Source(
            label.label,
            tuple(group),
            Rows.joined(loaded[run.id].rows for run in group),
            [grid for run in group for grid in loaded[run.id].grids],
        )
        for group, label in zip(groups, called, strict=True)
    ]


def _points(reading: Reading) -> Iterator[dict[str, Any]]:
    study = reading.study
    of_study = ("benchmark", "setting", "bytes", "kind", "metric", "unit")
    of_point: Sequence[str] = ("run", "case", "ranks", "nodes", "sockets", "value")
    of_point = (*of_point, "least", "most", "low", "high", "launches", "samples")
    for curve in study.curves:
        for point in curve.points:
            yield {
                **{name: getattr(study, name) for name in of_study},
                "machine": curve.label,
                "clock": curve.clock,
                **{name: getattr(point, name) for name in of_point},
                "oversubscribed": point.oversubscribed,
                "disturbed": point.disturbed,
                **_ratio("speedup", point),
                **_ratio("efficiency", point),
                **_ratio("serial", point),
                "bounds": point.meaning,
                **{name: getattr(point.power, name) for name in ("watts", "per_watt", "joules", "origin")},
            }


def _ratio(name: str, point: Point) -> dict[str, Any]:
    ratio = getattr(point, name)
    ends = (None, None, None) if ratio is None else (ratio.value, ratio.low, ratio.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
