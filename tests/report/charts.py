"""Helpers that read the charts of a page: their curves as data and as drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Locator, Page

_READ = """(figure) => {
  const panel = figure.querySelector(`.panel[data-panel="${figure.dataset.panel}"]`);
  const drawn = [...panel.querySelectorAll("g.curve")];
  const path = (node, selector) => (node.querySelector(selector) || node).getAttribute("d");
  return kiviat.curvesOf(figure.id).map((curve, place) => {
    const group = drawn[place], line = group.querySelector(".line");
    return {
      ...curve, says: curve.x.map((_, at) => curve.says(at)),
      ink: getComputedStyle(group).getPropertyValue("--ink"), hidden: group.classList.contains("off"),
      dash: line && line.getAttribute("stroke-dasharray"), lines: Boolean(line),
      markers: Boolean(group.querySelector(".dots, .marks")), hollow: Boolean(group.querySelector(".hollow")),
      path: path(group, ".line"), bars: path(group, ".bar"),
      band: path(panel, `.band[data-curve="${curve.number}"]`),
    };
  });
}"""


def data(html: str) -> Any:
    """Return the JSON data that a page embeds."""
    found = re.search(r'<script type="application/json" id="kiviat-data">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def inked(html: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the name, palette and dash pattern (None without a line) of each curve drawn on a page."""
    for chunk in html.split("<figure ")[1:]:
        id_ = chunk.partition('id="')[2].partition('"')[0]
        chart = data(html)["figures"].get(id_, {"panels": []})
        names = list(
            dict.fromkeys(
                one["name"]
                for panel in chart["panels"]
                for one in (*panel.get("traces", ()), *panel.get("lines", ()))
            )
        )
        for number, palette, shapes in re.findall(
            r'<g class="curve" data-curve="(\d+)" style="--ink:var\(--(\w+)-\d\)">(.*?)</g>', chunk
        ):
            line = re.search(r'<path class="line"([^>]*)>', shapes)
            dashes = re.search(r'stroke-dasharray="([^"]*)"', line[1]) if line else None
            yield names[int(number)], palette, (dashes[1] if dashes else "") if line else None


def figure(page: Page, caption: str) -> Locator:
    """The figure with that caption."""
    return page.locator("figure", has=page.get_by_text(caption, exact=True))


def curves(chart: Locator) -> list[dict[str, Any]]:
    """The curves of the panel that a figure shows."""
    found: list[dict[str, Any]] = chart.evaluate(_READ)
    return found


def plotted(page: Page, caption: str) -> list[dict[str, Any]]:
    """The curves of the figure with that caption."""
    return curves(figure(page, caption))


def positions(page: Page, chart: Locator, path: str) -> list[tuple[float, float]]:
    """Convert the points of a path of straight lines to values, by the scales of the picture."""
    scales = page.evaluate(
        "([id, panel]) => { const { x, y } = kiviat.page.figures[id].panels[panel]; return [x, y]; }",
        [chart.get_attribute("id"), chart.get_attribute("data-panel")],
    )
    pixels = [tuple(map(float, pair.split(" "))) for pair in path.strip("MZ").split("L")]
    return [(_value(scales[0], x), _value(scales[1], y)) for x, y in pixels]


def _value(scale: list[float], pixel: float) -> float:
    low, high, log, start, end = scale
    at: float = low + (high - low) * (pixel - start) / (end - start)
    return 10.0**at if log else at


def pixel_of(page: Page, chart: Locator, curve: int, place: int) -> tuple[float, float]:
    """Return the screen position of a drawn point of the panel that a figure shows."""
    box = chart.locator("svg.chart:visible").bounding_box()
    path = curves(chart)[curve]["path"]
    assert box
    x, y = map(float, path.strip("MZ").split("L")[place].split(" "))
    return box["x"] + x * box["width"] / 516, box["y"] + y * box["width"] / 516
