"""The shell of all pages: one self-contained HTML file.

All data from records are escaped; pages fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.plain import json_value
from kiviat.record.units import format_value
from kiviat.report.html.axis import axis_of
from kiviat.report.html.chart import DrawnPanel, drawn_panels, unit_of
from kiviat.report.html.figure import Figure, HeatMap, Line, RunLabel
from kiviat.report.html.heat_map import drawn_maps
from kiviat.report.html.table import table_html

ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("still.js", "words.js", "charts.js", "cases.js", "tables.js")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as a template needs it: its panels, their quantities, and labels with the panel to show."""

    panels: list[DrawnPanel]

    @property
    def quantities(self) -> list[str]:
        """Return the quantities, in order."""
        return list(dict.fromkeys(panel.quantity for panel in self.panels))

    @property
    def choices(self) -> list[tuple[int, str]]:
        """Return the labels of panels, each with the index of its first."""
        found: dict[str, int] = {}
        for place, panel in enumerate(self.panels):
            found.setdefault(panel.label, place)
        return [(place, label) for label, place in found.items()]


def page(
    template: str,
    labels: Sequence[RunLabel],
    figures: Sequence[Figure | HeatMap] = (),
    *,
    table: Sequence[Summary] = (),
    columns: Mapping[str, Any] | None = None,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **context: Any,
) -> str:
    """Return the page; `template` extends shell.html.j2.

    `figures` are drawn from `table`, whose `columns` the page carries for the tables of cases.
    """
    charts = {
        figure.id: Chart(drawn_maps(figure) if isinstance(figure, HeatMap) else drawn_panels(figure, table))
        for figure in figures
    }
    data = {
        "runs": [{"label": label.label, "clock": label.clock} for label in labels],
        "table": columns or {},
        "figures": {figure.id: _figure_data(figure, charts[figure.id].panels, table) for figure in figures},
    }
    before, after = _asset("theme.js"), list(map(_asset, (*_SCRIPTS, *scripts)))
    environment = _environment()
    environment.filters.update(filters or {})
    return environment.get_template(template).render(
        mark=Markup(_asset("mark.svg")),
        icon=base64.b64encode(_asset("mark.svg").encode()).decode(),
        style=Markup("".join(map(_asset, ("report.css", "charts.css", *styles)))),
        scripts={"before": Markup(before), "after": list(map(Markup, after))},
        hashes=Markup(" ".join(map(_csp_hash, (before, *after)))),
        data=Markup(embedded(data)),
        charts=charts,
        figures=figures,
        labels=labels,
        **context,
    )


def styled(svg: str, style: str) -> str:
    """Return a drawing for light and dark notebooks, with its rules of a style sheet and a light ground."""
    colours = re.search(r":root \{(.*?)\}", _asset("report.css"), re.S)
    rules = _asset(style).partition("@media")[0]
    assert colours
    inline = escape(" ".join(colours[1].split()))
    look = f"{inline} background: var(--paper); max-width: 640px"
    return f'<div style="{look}"><style>{rules}</style>{svg}</div>'


def embedded(data: object) -> str:
    """Return JSON that cannot close its script element; infinities and NaN are null."""
    try:
        text = _json(data)
    except ValueError:
        text = _json(json_value(data))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _figure_data(
    figure: Figure | HeatMap, drawn: Sequence[DrawnPanel], table: Sequence[Summary]
) -> dict[str, Any]:
    """Return the data of a chart for charts.js: its points, and the scales of its picture."""
    if isinstance(figure, HeatMap):
        panels = [
            {
                "label": cells.label,
                "labels": cells.labels,
                "values": cells.values,
                **({"low": cells.low, "high": cells.high} if cells.low else {}),
                **({"nodes": cells.nodes} if cells.nodes else {}),
                **picture.scales,
            }
            for cells, picture in zip(figure.panels, drawn, strict=True)
        ]
        return {"map": True, "unit": figure.unit, "panels": panels}
    return {
        "x": _axis_data(figure, table),
        **({"categories": figure.categories} if figure.categories else {}),
        "panels": [
            {
                "label": panel.label,
                **({"quantity": panel.quantity} if panel.quantity else {}),
                "unit": unit_of(figure, panel),
                "traces": [{"name": trace.name, "at": trace.at} for trace in panel.traces],
                "lines": [_line_data(line) for line in panel.lines],
                **picture.scales,
            }
            for panel, picture in zip(figure.panels, drawn, strict=True)
        ],
    }


def _axis_data(figure: Figure, table: Sequence[Summary]) -> dict[str, Any]:
    """Return the horizontal axis; the columns of the page have no axes but sizes and ranks."""
    axis = axis_of(figure.x)
    data: dict[str, Any] = {"name": axis.name, "title": axis.title, "kind": axis.kind, "noun": axis.noun}
    if figure.x not in ("bytes", "ranks"):
        places = {place for panel in figure.panels for trace in panel.traces for place in trace.at}
        data |= {"at": {place: table[place].axes[figure.x] for place in places}} if places else {}
    return data


def _line_data(line: Line) -> dict[str, Any]:
    data: dict[str, Any] = {"name": line.name, "points": line.points}
    if any(line.band):
        data |= {"band": line.band, "meaning": line.meaning}
    if line.colour[0] == "simulated":
        data["predicted"] = True
    return {**data, "smooth": True} if line.smooth else data


def prose(text: str) -> Markup:
    """Return escaped HTML with text in backquotes marked as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(value=format_value, prose=prose, table=table_html)
    return environment
