"""The shell of all pages: one self-contained HTML file.

All data from records are escaped; pages fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from kiviat.record.plain import json_value
from kiviat.record.units import format_value
from kiviat.report.html.figure import Figure, HeatMap
from kiviat.report.html.table import table_html

ASSETS = Path(__file__).parent / "assets"
# Scripts that draw charts.
FIGURE_SCRIPTS = ("maps.js", "report.js")
# Of a page without any.
STILL_SCRIPTS = ("still.js",)


def page(
    template: str,
    data: object,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = FIGURE_SCRIPTS,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **context: Any,
) -> str:
    """Return the page; `template` extends shell.html.j2, scripts read `data`."""
    before, after = (
        _asset("theme.js"),
        [*([_plotly()] if "report.js" in scripts else []), *map(_asset, ("tables.js", *scripts))],
    )
    environment = _environment()
    environment.filters.update(filters or {})
    return environment.get_template(template).render(
        mark=Markup(_asset("mark.svg")),
        icon=base64.b64encode(_asset("mark.svg").encode()).decode(),
        style=Markup("".join(map(_asset, ("report.css", *styles)))),
        scripts={"before": Markup(before), "after": list(map(Markup, after))},
        hashes=Markup(" ".join(map(_csp_hash, (before, *after)))),
        data=Markup(embedded(data)),
        **context,
    )


def styled(svg: str, style: str) -> str:
    """Return a drawing outside of a page, for notebooks: its rules of a style sheet, light colours."""
    colours = re.search(r":root \{(.*?)\}", _asset("report.css"), re.S)
    rules = _asset(style).partition("@media")[0]
    assert colours
    inline = escape(" ".join(colours[1].split()))
    return f'<div style="{inline} max-width: 640px"><style>{rules}</style>{svg}</div>'


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


def figure_data(figure: Figure | HeatMap) -> dict[str, Any]:
    """Return the data of a chart for report.js."""
    panels = [asdict(panel) for panel in figure.panels]
    if isinstance(figure, HeatMap):
        return {"map": True, "unit": figure.unit, "better": figure.better, "panels": panels}
    return {
        "x": figure.x,
        "unit": figure.unit,
        "log": figure.log,
        "panels": panels,
        **({"marks": [asdict(mark) for mark in figure.marks]} if figure.marks else {}),
    }


def prose(text: str) -> Markup:
    """Return escaped HTML with text in backquotes marked as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


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
