"""Host processor overhead as curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kiviat.analysis.aggregate.summary import Summary
from kiviat.report.html.figure import Figure, Panel, RunLabel, Trace, numbered
from kiviat.report.html.panels import Key, common, panels, word


def overhead_figures(table: Sequence[Summary], runs: Sequence[RunLabel]) -> list[Figure]:
    """Return charts of host processor overhead against size; uncorrected availability is dashed."""
    overhead = (("hpo_send", "overhead", "send"), ("hpo_recv", "overhead", "receive"))
    availability = tuple(
        (f"hpo_{side}", metric, f"{name}{rest}")
        for side, name in (("send", "send"), ("recv", "receive"))
        for metric, rest in (("availability", ""), ("availability_uncorrected", ", uncorrected"))
    )
    drawn = [_overhead("Overhead of a message", "s", overhead, table, runs)]
    title = "Availability for computation"
    if len(runs) > 1:
        for half, side in enumerate(("send", "receive")):
            of_side = availability[2 * half : 2 * half + 2]
            drawn.append(_overhead(f"{title}, {side}", "%", of_side, table, runs))
    else:
        drawn.append(_overhead(title, "%", availability, table, runs))
    return numbered((figure for figure in drawn if figure), "overhead")


def _overhead(
    title: str,
    unit: str,
    kinds: Sequence[tuple[str, str, str]],
    table: Sequence[Summary],
    runs: Sequence[RunLabel],
) -> Figure | None:
    names = {(benchmark, metric): name for benchmark, metric, name in kinds}
    numbers = {label.run: number for number, label in enumerate(runs)}
    found = [p for p, s in enumerate(table) if (s.benchmark, s.metric) in names and s.bytes is not None]
    if not found:
        return None
    axes = sorted({axis for place in found for axis in table[place].axes})
    curves: Mapping[Key, list[int]] = defaultdict(list)
    for place in found:
        one = table[place]
        name = names[one.benchmark, one.metric]
        curves[(numbers[one.run], name, one.ranks, *map(one.axes.get, axes))].append(place)
    dimensions = ["run", "", "ranks", *axes]
    shown = tuple(
        Panel(
            group.label, tuple(_overhead_traces(group.keys, curves, table, dimensions, group.varying, runs))
        )
        for group in panels(curves, dimensions, runs)
    )
    return Figure(
        id=title,
        section="overhead",
        title=f"{title} against message size",
        conditions=common(list(curves), dimensions, runs),
        x="bytes",
        unit=unit,
        log=unit != "%",
        words="",
        panels=shown,
    )


def _overhead_traces(
    keys: Sequence[Key],
    curves: Mapping[Key, list[int]],
    table: Sequence[Summary],
    dimensions: Sequence[str],
    varying: Sequence[int],
    runs: Sequence[RunLabel],
) -> Iterator[Trace]:
    """Yield traces with a colour per side, or per run if there are several; uncorrected ones are dashed."""
    sides = list(dict.fromkeys(str(key[1]).split(",")[0] for key in keys))
    for key in keys:
        place = int(str(key[0]))
        run, side = runs[place], sides.index(str(key[1]).split(",")[0])
        several = len(runs) > 1
        dashed = "uncorrected" in str(key[1]) or (several and side > 0)
        simulated = run.clock == "simulated"
        yield Trace(
            name=", ".join(word(dimensions[at], key[at], runs) for at in varying) or run.label,
            dash="dot" if simulated else "dash" if dashed else "solid",
            symbol=place if several else side,
            colour=(*run.colour, len(runs))
            if several
            else ("simulated" if simulated else "categorical", side, len(sides)),
            at=tuple(sorted(curves[key], key=lambda at: table[at].bytes or 0)),
        )
