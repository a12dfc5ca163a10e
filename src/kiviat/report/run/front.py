"""The front of the page: a run's Kiviat diagram on absolute axes, beside published machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kiviat.analysis.aggregate.known_errors import POINT_TO_POINT, RANDOM_RINGS, kind_of, known_errors
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.published.standing import (
    AXES,
    Axis,
    Judgement,
    Reference,
    Values,
    judged,
    odd_axes,
    references,
    standing,
    stays_in_cache,
)
from kiviat.record.run import Run
from kiviat.record.units import format_value, listed, three_digits
from kiviat.report.balance.diagram import Shape, Spoke, kiviat
from kiviat.report.html.figure import RunLabel
from kiviat.report.html.symbols import slot
from kiviat.report.table import Cell, Column, Table, Value, tabled

_MOST_RUNS = 4
_LEAST_AXES, _LEAST_REFERENCES = 3, 2
# Rings at each power of ten; the ends of the axes are labelled.
_RINGS = {1 / 3: "", 2 / 3: "", 1.0: ""}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word of judgement; `level` is "good", "usual" or "poor"."""

    level: str
    words: str


@dataclass(frozen=True, slots=True)
class Front:
    """The diagram, its legend, its table, where the references are from, and what is odd beside these.

    `picture` is empty if there are too few axes for a diagram.
    """

    picture: Markup
    shapes: list[Shape]
    table: Table
    references: list[Reference]
    sources: list[str]
    missing: list[str]
    cached: bool  # STREAM stayed in a cache, so that there is no value of the memory
    placed: str


def front(
    runs: Sequence[Run], by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]
) -> Front | None:
    """Return the front of the page; None if too little was measured, or too many runs.

    A run of fewer axes than a diagram needs has the table only, if published machines are beside it.
    """
    values = [standing(run, by_run[run.id]) for run in runs]
    known = {axis for each in values for axis in each}
    if not known or len(runs) > _MOST_RUNS:
        return None
    cached = "memory" not in known and any(stays_in_cache(run, by_run[run.id]) for run in runs)
    beside = references(runs[0], values[0]) if len(runs) == 1 else []
    drawn = len(known) >= _LEAST_AXES
    if not drawn and len(beside) < _LEAST_REFERENCES:
        return None
    shapes = [
        _shape(label.label, label.origin, label.colour, place, own)
        for place, (label, own) in enumerate(zip(labels, values, strict=True))
    ]
    shapes += [
        _shape(each.name, "published", ("categorical", len(runs) + place), len(runs) + place, each.values)
        for place, each in enumerate(beside)
    ]
    words = " ".join(
        f"{shape.name}, {shape.origin}: {'; '.join(tip for tip in shape.tips if tip)}." for shape in shapes
    )
    return Front(
        picture=Markup(kiviat([_spoke(axis) for axis in AXES], shapes, words, _RINGS) if drawn else ""),
        shapes=shapes,
        table=_table(
            [axis for axis in AXES if axis.id in known],
            list(zip(labels, values, strict=True)),
            beside,
            lambda axis: verdict(runs[0], axis, values[0], beside),
            "Values of the diagram" if drawn else "Values beside published machines",
        ),
        references=beside,
        sources=list(dict.fromkeys(each.paper.citation for each in beside)),
        missing=[
            axis.title
            for axis in AXES
            if drawn and axis.id not in known and not (cached and axis.id == "memory")
        ],
        cached=cached,
        placed=_placed(runs[0], values[0], beside),
    )


def _table(
    axes: Sequence[Axis],
    own: Sequence[tuple[RunLabel, Values]],
    beside: Sequence[Reference],
    judged_as: Callable[[Axis], Verdict | None],
    title: str,
) -> Table:
    """Return the values of the runs and of the references on each axis."""

    def quantity(axis: Axis) -> Cell:
        judgement = judged_as(axis)
        return (
            Cell(axis.title, below=judgement.words, kind=judgement.level) if judgement else Cell(axis.title)
        )

    def of(values: Values, kind: str = "") -> Callable[[Axis], Cell]:
        return lambda axis: _value(axis, values, kind)

    columns: list[Column[Axis]] = [
        Column("quantity", quantity),
        *(
            Column(
                "This run" if len(own) == 1 else label.label,
                of(values, "own simulated" if label.clock == "simulated" else "own"),
                side=">",
                absent="–",
                swatch=label.swatch,
            )
            for label, values in own
        ),
        *(
            Column(
                each.name,
                of(each.values),
                side=">",
                absent="–",
                swatch=slot("categorical", len(own) + place),
                hover=each.description,
            )
            for place, each in enumerate(beside)
        ),
    ]
    return tabled(title, columns, axes, kind="standing")


def placed(run: Run, summaries: Sequence[Summary]) -> str:
    """Return which published machines are nearest to a run, and what is odd beside them; "" without two."""
    own = standing(run, summaries)
    return _placed(run, own, references(run, own))


def _placed(run: Run, own: Values, beside: Sequence[Reference]) -> str:
    """Return the sentence about the nearest machines; "" without two, or for disturbed values.

    What a model's error may explain is not odd.
    """
    if len(beside) < _LEAST_REFERENCES or any(value.disturbed for value in own.values()):
        return ""
    names = listed([each.name for each in beside])
    told = [
        f"{axis.title} ({three_digits(max(one.factor, 1 / one.factor))} times "
        f"{_than(axis, one.factor)} than any of theirs)"
        for one in odd_axes(own, beside)
        for axis in AXES
        if axis.id == one.quantity and verdict(run, axis, own, beside)
    ]
    nearest = f"Of the published machines {names} are nearest"
    return (
        f"{nearest}; odd beside them: {'; '.join(told)}."
        if told
        else f"{nearest}; nothing is far from all of them."
    )


def _than(axis: Axis, factor: float) -> str:
    if axis.lower:
        return "longer" if factor > 1 else "shorter"
    return "more" if factor > 1 else "less"


_KINDS = {
    **dict.fromkeys(("latency_near", "latency_far", "bandwidth_near", "bandwidth_far"), POINT_TO_POINT),
    "message_rate": kind_of("uniband", "message_rate", 4, 8),
    "ring": RANDOM_RINGS,
    "memory": kind_of("stream", "triad", 1, None),
    "compute": kind_of("dgemm", "rate", 1, None),
}
# Models that are better than this factor may be judged, whatever the judgement.
_GOOD_MODEL = 1.5


def verdict(run: Run, axis: Axis, own: Values, beside: Sequence[Reference]) -> Verdict | None:
    """Return the word of judgement on one value of a run; None without two references, or if disturbed.

    None also for predictions of a model whose error is larger than the factor that the judgement states.
    """
    if axis.id not in own or own[axis.id].disturbed:
        return None
    found = judged(axis, own[axis.id].value, beside)
    error = known_errors(run.machine.model).of(_KINDS[axis.id]) if run.machine.model else None
    if found is None or (error and error.spread > max(found.factor, _GOOD_MODEL)):
        return None
    return Verdict(found.level, _judgement(axis, found))


def _judgement(axis: Axis, found: Judgement) -> str:
    factor = three_digits(found.factor)
    if found.level == "good":
        if found.factor > 1.05:
            return f"good: {factor} times as good as {found.best.name}"
        return f"good: between {found.worst.name} and {found.best.name}"
    than = "slower" if axis.lower else "less"
    if found.level == "usual" and found.factor < 1.05:
        return f"usual: like {found.worst.name}"
    if found.level == "usual":
        return f"usual: {factor} times {than} than {found.worst.name}"
    return f"poor: {factor} times {than} than {found.worst.name}"


# Metrics by the kind of axis that they are; a headline figure has the judgement of its axis.
_METRICS = {
    "time": ("latency_near", "latency_far"),
    "bandwidth": ("bandwidth_near", "bandwidth_far"),
    "message_rate": ("message_rate",),
    "random_bandwidth": ("ring",),
    "triad": ("memory",),
    "rate": ("compute",),
}


def headline_verdict(run: Run, own: Values, headline: Summary) -> Verdict | None:
    """Return the judgement of a headline figure that is the value of an axis in `own`, else None."""
    for axis in AXES:
        if (
            axis.id in _METRICS.get(headline.metric, ())
            and axis.id in own
            and own[axis.id].source == headline.case
        ):
            return verdict(run, axis, own, references(run, own))
    return None


def _value(axis: Axis, values: Values, kind: str) -> Cell:
    if (known := values.get(axis.id)) is None:
        return Cell(None)
    return Cell(Value(known.value, axis.unit), below="disturbed" if known.disturbed else "", kind=kind)


def _spoke(axis: Axis) -> Spoke:
    first, *rest = axis.title.split(", ")
    return Spoke(axis.id, (first, *rest), axis.title, format_value(axis.rim, axis.unit))


def _shape(name: str, origin: str, colour: tuple[str, int], symbol: int, values: Values) -> Shape:
    shares = tuple(axis.share(values[axis.id].value) if axis.id in values else None for axis in AXES)
    tips = tuple(
        f"{axis.title}: {format_value(values[axis.id].value, axis.unit)}" if axis.id in values else ""
        for axis in AXES
    )
    return Shape(name, origin, colour, symbol, shares, tips)
