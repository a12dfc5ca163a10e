"""A browser that notices every message, every error and every request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

Open = Callable[..., Page]

# Width and theme. Layout does not hang on the theme: each width and each theme once is for every day.
VIEWS = [
    (1280, "light"),
    (390, "dark"),
    pytest.param(1280, "dark", marks=pytest.mark.full),
    pytest.param(390, "light", marks=pytest.mark.full),
]


@pytest.fixture(scope="module")
def browser(chromium_path: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from a file; the test fails if it complained, or asked for anything but itself."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_(html: str, width: int = 1280, theme: Literal["light", "dark"] = "light") -> Page:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    own = (tmp_path / "report.html").as_uri()
    assert [url for url in requests if url != own and not url.startswith(("data:", "blob:"))] == []
