"""The report: one self-contained HTML page. Everything from records is escaped; nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from kiviat.analysis.summary import Summary, summarise
from kiviat.record import Row
from kiviat.record.units import format_bytes, format_value
from kiviat.report import tables
from kiviat.report.figures import SECTIONS, Figure, RunLabel, figures

ASSETS = Path(__file__).parent / "assets"

_SECTION_TITLES = {
    "pt2pt": "Point to point",
    "collective": "Collectives",
    "rate": "Message rate",
    "overlap": "Overlap of non-blocking collectives",
}


def render(runs: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> str:
    """The page for these runs: contents of run.json, and the rows of their records."""
    summaries = sorted(summarise(rows), key=_order)
    labels = tables.run_labels(runs)
    drawn = figures(summaries, labels)
    data = {
        "runs": [asdict(label) for label in labels],
        "table": _columns(summaries, labels),
        "figures": {figure.id: _figure_data(figure) for figure in drawn},
    }
    script = _asset("report.js")
    plotly = _plotly()
    return (
        _template()
        .render(
            runs=[tables.run_view(run, label) for run, label in zip(runs, labels, strict=True)],
            headlines=tables.headlines(summaries, labels),
            transports=tables.transports(runs, labels),
            sections=[
                (name, _SECTION_TITLES[name], [figure for figure in drawn if figure.section == name])
                for name in SECTIONS
                if any(figure.section == name for figure in drawn)
            ],
            failures=tables.failures(rows, labels),
            style=Markup(_asset("report.css")),
            script=Markup(script),
            plotly=Markup(plotly),
            hashes=" ".join(_csp_hash(text) for text in (script, plotly)),
            data=Markup(_embedded(data)),
        )
    )


def _order(summary: Summary) -> tuple[Any, ...]:
    axes = sorted((key, str(value)) for key, value in summary.axes.items())
    size = -1 if summary.bytes is None else summary.bytes
    return summary.benchmark, summary.ranks, axes, size, summary.metric, summary.run


def _columns(summaries: Sequence[Summary], labels: Sequence[RunLabel]) -> dict[str, Any]:
    """The summaries column by column: the one place in the page where values are."""
    numbers = {label.run: number for number, label in enumerate(labels)}
    cases = {case: number for number, case in enumerate(dict.fromkeys(summary.case for summary in summaries))}
    metrics = list(dict.fromkeys((summary.metric, summary.unit) for summary in summaries))
    metric_numbers = {metric: number for number, metric in enumerate(metrics)}
    columns: dict[str, Any] = {
        "cases": list(cases),
        "metrics": metrics,
        "case": [cases[summary.case] for summary in summaries],
        "metric": [metric_numbers[summary.metric, summary.unit] for summary in summaries],
        "run": [numbers[summary.run] for summary in summaries],
    }
    for name in ("bytes", "ranks", "launches", "samples"):
        columns[name] = [getattr(summary, name) for summary in summaries]
    for name, digits in _DIGITS.items():
        columns[name] = [_short(getattr(summary, name), digits) for summary in summaries]
    columns["flags"] = [
        (not summary.converged) + 2 * summary.oversubscribed for summary in summaries
    ]
    return columns


_DIGITS = {"median": 5, "low": 5, "high": 5, "minimum": 5, "p99": 4, "spread": 2}


def _short(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits - 1}e}")


def _figure_data(figure: Figure) -> dict[str, Any]:
    return {
        "x": figure.x,
        "unit": figure.unit,
        "log": figure.log,
        "panels": [asdict(panel) for panel in figure.panels],
    }


def _embedded(data: object) -> str:
    """JSON that ends no script element early and is JavaScript as well."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    source: str = get_plotlyjs()
    return source


@cache
def _csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(ASSETS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["value"] = format_value
    environment.filters["bytes"] = format_bytes
    return environment.get_template("report.html.j2")
