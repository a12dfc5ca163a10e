"""A browser that records every message, error and request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, sync_playwright

Open = Callable[..., Page]

# Width and theme. The theme does not affect layout, so daily tests use each width and each theme once.
VIEWS = [
    (1280, "light"),
    (390, "dark"),
    pytest.param(1280, "dark", marks=pytest.mark.full),
    pytest.param(390, "light", marks=pytest.mark.full),
]


@pytest.fixture(scope="module")
def tab(chromium_path: Path) -> Iterator[Page]:
    """Return one tab for all tests of a file, so that the browser starts only once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.fixture
def open_page(tab: Page, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens a page; errors, messages and requests for other URLs fail the test."""
    complaints: list[str] = []
    requests: list[str] = []
    listeners: dict[str, Callable[..., None]] = {
        "console": lambda message: complaints.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: complaints.append(f"error: {error}"),
        "dialog": lambda dialog: complaints.append(f"dialog: {dialog.message}"),
        "request": lambda request: requests.append(request.url),
    }
    file = tmp_path / "report.html"

    def open_(html: str, width: int = 1280, theme: Literal["light", "dark"] = "light") -> Page:
        file.write_text(html, encoding="utf-8")
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=theme)
        tab.goto(file.as_uri())
        return tab

    for event, listener in listeners.items():
        tab.on(event, listener)  # type: ignore[call-overload]
    yield open_
    if file.exists():
        tab.evaluate("localStorage.clear()")
    tab.goto("about:blank")
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert complaints == []
    assert [
        url
        for url in requests
        if url not in (file.as_uri(), "about:blank") and not url.startswith(("data:", "blob:"))
    ] == []


def photograph(page: Page, name: str) -> None:
    """Save a screenshot of the whole page if $KIVIAT_SCREENSHOTS names a folder; it takes seconds."""
    if folder := os.environ.get("KIVIAT_SCREENSHOTS"):
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
