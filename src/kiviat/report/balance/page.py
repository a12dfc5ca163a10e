"""Render the page about balance: Kiviat diagram, bottlenecks, figures against HPL, roofline, energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from kiviat.analysis.hpcc.balance import AXES, Balance
from kiviat.analysis.hpcc.quantities import System
from kiviat.analysis.hpcc.roofline import FORMULAS
from kiviat.record.run import Run
from kiviat.record.units import counted
from kiviat.report.balance.diagram import Shape, Spoke, kiviat, lines
from kiviat.report.balance.figures import against_hpl, rooflines
from kiviat.report.balance.tables import axes_table, energy, evidence, quantities, roof_table
from kiviat.report.balance.text import (
    cell_text,
    described,
    interval_text,
    largest_text,
    sentences,
    share_text,
)
from kiviat.report.facts import runs as run_facts
from kiviat.report.html.figure import RunLabel, simulated_in
from kiviat.report.html.shell import page, styled

_ORIGINS = {
    "measured": "measured",
    "predicted": "predicted by a model, not measured",
    "reported": "reported by another program",
    "published": "as published, not measured here",
}


def diagram(result: Balance, runs: Mapping[str, Run]) -> str:
    """Return the Kiviat diagram alone, as SVG in HTML with its styles; `runs` as for `render_balance`."""
    shapes = _shapes(result, _labels(result.systems, runs))
    return styled(kiviat(_spokes(result), shapes, described(result)), "balance.css")


def render_balance(result: Balance, runs: Mapping[str, Run]) -> str:
    """Return the page as HTML; `runs` are the runs by the identifier of their system."""
    labels = _labels(result.systems, runs)
    of_runs = [run for system in result.systems if (run := runs.get(system.id))]
    shapes, spokes = _shapes(result, labels), _spokes(result)
    words = described(result)
    against = against_hpl(result.systems, labels)
    roofs = rooflines(result.systems, labels)
    figures = [*against, *([roofs.figure] if roofs.figure else [])]
    own = [system for system in result.systems if system.origin != "published"]
    energy_tables = [table for system in own if (table := energy(system))]
    return page(
        "balance.html.j2",
        labels,
        figures,
        styles=("balance.css",),
        scripts=("balance.js",),
        title=f"Balance of {run_facts.title(of_runs)}" if of_runs else "Balance of published systems",
        simulated=simulated_in(labels),
        contents=[
            ("diagram", "Diagram"),
            *([("limits", "Limits")] if own else []),
            *([("hpl", "Against HPL")] if against else []),
            *([("roofs", "Roofline")] if roofs.lines else []),
            *([("quantities", "Quantities")] if own else []),
            *([("energy", "Energy")] if energy_tables else []),
            ("reading", "Reading"),
        ],
        sentences=sentences(result),
        systems=[
            {
                "name": system.name,
                "origin": system.origin,
                "kind": _ORIGINS[system.origin],
                "facts": _facts(system, runs.get(system.id)),
                "badges": run_facts.badges(run) if (run := runs.get(system.id)) else [],
            }
            for system in result.systems
        ],
        shapes=shapes,
        axes=axes_table(result, labels),
        kiviat=Markup(kiviat(spokes, shapes, words)),
        lines=Markup(lines(spokes, shapes, words)),
        rules=result.rules,
        against=against,
        roofs=roofs,
        roof_tables=[
            (name, roof if isinstance(roof, str) else roof_table(name, roof)) for name, roof in roofs.lines
        ],
        quantities=[quantities(system) for system in own],
        evidence=[evidence(system) for system in own],
        energy=energy_tables,
        formulas=FORMULAS,
        extrapolated=_extrapolated(own),
        references=list(dict.fromkeys(system.source for system in result.systems if system.source)),
    )


def _spokes(result: Balance) -> list[Spoke]:
    return [
        Spoke(axis.id, axis.short, axis.title, largest_text(axis, largest))
        for axis, largest in zip(AXES, result.largest, strict=True)
    ]


def _labels(systems: Sequence[System], runs: Mapping[str, Run]) -> list[RunLabel]:
    """Return labels as on other pages; published machines take the next colours."""
    own = {label.run: label for label in run_facts.labels(list(runs.values()))}
    used = sum(label.colour[0] == "categorical" for label in own.values())
    found = []
    for system in systems:
        if system.id in own:
            found.append(own[system.id])
        else:
            found.append(RunLabel(system.id, system.name, "published", ("categorical", used)))
            used += 1
    return found


def _shapes(result: Balance, labels: Sequence[RunLabel]) -> list[Shape]:
    shapes = []
    for line, (system, label) in enumerate(zip(result.systems, labels, strict=True)):
        tips = []
        for column, axis in enumerate(AXES):
            cell = result.cells[line][column]
            interval = interval_text(axis, cell)
            tips.append(
                "\n".join(
                    [
                        f"{system.name}: {axis.title}",
                        f"{cell_text(axis, cell)}, {share_text(result.share(line, column))} of the largest",
                        *([interval] if interval else []),
                        *(["extrapolated to full memory"] if cell.extrapolated else []),
                        _ORIGINS[system.origin],
                    ]
                )
            )
        shares = tuple(result.share(line, column) for column in range(len(AXES)))
        shapes.append(Shape(system.name, system.origin, label.colour, line, shares, tuple(tips)))
    return shapes


_SHOWN_FACTS = ("Machine", "Processor", "Cores", "Nodes", "Memory", "Network", "MPI", "Model", "Known error")


def _facts(system: System, run: Run | None) -> list[tuple[str, str]]:
    """Return the facts of a system that matter here; the run's own report has all."""
    whole = system.whole
    if run is None:
        values = (*whole.quantities.values(), *whole.ratios.values())
        where = "; ".join(dict.fromkeys(value.case for value in values))
        return [("Published", system.source), ("In", where)]
    known = [(name, value) for name, value in run_facts.facts(run) if name in _SHOWN_FACTS]
    nodes = f" on {counted(whole.nodes, 'node')}" if whole.nodes else ""
    known.append(("Compared", f"{whole.processes or 1:,} processes{nodes}"))
    return [*known, ("Run", system.id)]


def _extrapolated(systems: Sequence[System]) -> list[str]:
    """Return the basis and the error of each extrapolated value."""
    return [
        f"{system.name}: {quantity.extrapolated}."
        for system in systems
        for quantity in system.whole.quantities.values()
        if quantity.extrapolated
    ]
