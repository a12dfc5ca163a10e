"""Every kind of page is accessible, fits screens and paper, works by keyboard, and copies its tables."""

from __future__ import annotations

import csv
from itertools import pairwise

import pytest
from playwright.sync_api import Page

from .conftest import VIEWS, Open, photograph
from .pages import KINDS

# Elements whose content overflows are cut off; only timelines may scroll.
PLACES = ".scroll:not(:has(svg.timeline)), td, th, figure, dd, pre, .number, li, p"
CUT = f"""() => [...document.querySelectorAll("{PLACES}")]
  .filter((node) => node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .map((node) => `${{node.tagName}}.${{node.className}}: ${{node.textContent.trim().slice(0, 60)}}`)"""
# Opens all <details>, but of those with the same kind of long table only the first.
OPEN = """() => {
  const like = new Set();
  for (const node of document.querySelectorAll("details")) {
    const kind = Object.keys(node.dataset).join() || node;
    if (!like.has(kind)) node.open = true;
    like.add(kind);
  }
}"""


@pytest.mark.parametrize(("width", "theme"), VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_reads_well_on_every_screen_and_on_paper(open_page: Open, kind: str, width: int, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = open_page(KINDS[kind](), width, theme)
    photograph(page, f"{kind}-{width}-{theme}")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate(OPEN)
    assert page.locator("details[data-from][open]:not(:has(tr))").count() == 0
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT) == []
    if width == 1280:
        assert on_paper(page) == []


def on_paper(page: Page) -> list[str]:
    """Return the content that is cut off when printed on A4 with text 19 cm wide."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    cut: list[str] = page.evaluate(CUT)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert page.locator(".listed").count() == 0
    page.emulate_media(media="screen")
    return cut + ([f"page: {wide}"] if wide > 718 else [])


# Collects the focusable controls in page order, and records which of them receive focus.
WATCH = """() => {
  const controls = "a[href], button, input, select, summary, [tabindex='0']";
  const reached = (node) => node.checkVisibility() && !node.disabled && node.getClientRects().length;
  window.expected = [...document.querySelectorAll(controls)].filter(reached);
  window.seen = [];
  document.addEventListener("focusin", ({ target }) => {
    const { top, bottom, left, right } = target.getBoundingClientRect(), style = getComputedStyle(target);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    window.seen.push({
      at: window.expected.indexOf(target), name: target.outerHTML.slice(0, 90), ring,
      shown: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
      box: [top + scrollY, bottom + scrollY, left, right],
      fixed: !!target.closest(".bar, .skip"),
    });
  });
  return window.expected.length;
}"""


# Together these pages have every kind of control.
DAILY = ("run", "paper", "balance")


@pytest.mark.parametrize(
    "kind", [kind if kind in DAILY else pytest.param(kind, marks=pytest.mark.full) for kind in KINDS]
)
def test_the_tab_key_leads_through_all_controls(open_page: Open, kind: str) -> None:
    page = open_page(KINDS[kind]())
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    count = page.evaluate(WATCH)
    for _ in range(count):
        page.keyboard.press("Tab")
    seen = page.evaluate("window.seen")
    assert [one["at"] for one in seen] == list(range(count))
    assert [one["name"] for one in seen if not (one["ring"] and one["shown"])] == []
    # No control lies wholly above the one before it, unless it is in a column to its right.
    on_page = [one for one in seen if not one["fixed"]]
    assert [
        (before["name"], after["name"])
        for before, after in pairwise(on_page)
        if after["box"][1] < before["box"][0] and after["box"][2] < before["box"][3]
    ] == []
    page.keyboard.press("Tab")  # focus leaves the last control
    assert page.evaluate("window.expected.indexOf(document.activeElement)") < count - 1


def test_tables_are_copied_with_their_numbers(open_page: Open) -> None:
    page = open_page(KINDS["studies"]())

    def copied(table: str) -> list[dict[str, str]]:
        text = page.locator(table).first.evaluate("(table) => kiviat.csvOf(table)")
        return list(csv.DictReader(text.splitlines()))

    effective = copied("table.effective")
    assert effective[0]["Machine"] == "hermes · Open MPI 4.1.4" and effective[0]["part"] == ""
    assert 1.0e9 < float(effective[0]["b_eff, All"]) < 1.2e9
    assert (effective[0]["b_eff, All, unit"], effective[0]["b_eff, All, note"]) == ("B/s", "1.09 – 1.12")
    assert effective[-1]["part"].startswith("As published, not measured here")
    quantities = copied("#pairs table:has(th.case)")
    assert {"hermes · Open MPI 4.1.4", "zeus · Open MPI 4.1.4"} == {line["Run"] for line in quantities}
    assert all(line["Study"] for line in quantities)  # copies repeat merged cells in every row
    assert float(quantities[0]["95 % interval, low"]) < float(quantities[0]["Median"])
    page.locator("#cases details").first.evaluate("(node) => { node.open = true; }")
    cases = copied("#cases details[open] table")
    assert float(cases[0]["95 % interval, low"]) <= float(cases[0]["Median"])
    assert cases[0]["Unit"] == "B/s"
    # Every table has copy buttons.
    alone = "(nodes) => nodes.filter((one) => !one.nextElementSibling?.matches('.copies')).length"
    assert page.locator("section > .scroll:has(table):visible").evaluate_all(alone) == 0
