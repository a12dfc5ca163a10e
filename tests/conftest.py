"""What all tests share: the MPIs, a browser, and the rule that nothing is skipped unseen."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from kiviat.launch.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError

CHECKOUT = Path(__file__).resolve().parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under CI a skipped test is a failed test: what is not there cannot have passed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{reason}\n(CI is set, and there a skipped test is a failed one)"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The native tests first: what they build for MPICH serves all others."""
    items.sort(key=lambda item: CHECKOUT / "tests" / "native" not in item.path.parents)


def pytest_configure() -> None:
    """A shell starts what it leaves in the background deaf to Ctrl-C, and all that is started from there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def own_folders() -> Iterator[None]:
    """The native program is cached inside the checkout, keyed by its sources; nobody's home is touched."""
    patch = pytest.MonkeyPatch()
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        patch.setenv(name, str(CHECKOUT / "build" / "cache"))
    for name in ("MPICXX", "KIVIAT_LAMMPS", "NO_COLOR"):
        patch.delenv(name, raising=False)
    yield
    patch.undo()


def _toolchain(name: str) -> Toolchain:
    try:
        return find_toolchain(name)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def openmpi() -> Toolchain:
    return _toolchain("openmpi")


@pytest.fixture(scope="session")
def mpich() -> Toolchain:
    return _toolchain("mpich")


@pytest.fixture(scope="session")
def wheel() -> Toolchain:
    """The MPICH that `pip install mpich` puts into the environment."""
    return _toolchain("wheel")


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """Each of the two MPIs that we support, one after the other."""
    return _toolchain(request.param)


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    for name in filter(None, (os.environ.get("KIVIAT_CHROMIUM"), *BROWSERS)):
        if found := shutil.which(name):
            return Path(found)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    if not own.exists():
        pytest.skip("no Chromium: apt-get install chromium, or KIVIAT_CHROMIUM=/path/to/chromium")
    return own
