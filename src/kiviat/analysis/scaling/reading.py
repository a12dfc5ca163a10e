"""All results of a scaling study: curves, equivalent rank counts, predictions of the laws, caveats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.analysis.scaling.caveats import doubts
from kiviat.analysis.scaling.curve import Prediction
from kiviat.analysis.scaling.equivalence import Equal, equals
from kiviat.analysis.scaling.series import Scaling, Source, Study


@dataclass(frozen=True, slots=True)
class Reading:
    """Results of a study; `doubts` and `predictions` have one entry per curve."""

    study: Study
    doubts: tuple[tuple[str, ...], ...]
    predictions: tuple[tuple[Prediction, ...], ...]
    equals: tuple[Equal, ...]


def readings(result: Scaling, sources: Sequence[Source], at: Sequence[int] = ()) -> list[Reading]:
    """Return the readings of all studies.

    `at` are numbers of ranks to predict, by the chosen law, or by all laws that cannot be excluded.
    """
    runs = {run.id: run for source in sources for run in source.runs}
    grids = {source.label: source.grids for source in sources}
    return [
        Reading(
            study,
            tuple(
                tuple(doubts(curve, [runs[name] for name in curve.runs], grids[curve.label]))
                for curve in study.curves
            ),
            tuple(
                tuple(curve.prediction(fit, ranks) for ranks in at for fit in curve.choice.likely)
                for curve in study.curves
            ),
            tuple(equals(study)),
        )
        for study in result.studies
    ]
