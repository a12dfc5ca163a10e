"""Fixtures for all tests: MPIs, a browser, and the rule that a skipped test fails in CI."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError
from tests import builds

TESTS = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test counts as failed, because it shows that a required part is missing."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{reason}\n(CI is set, and there a skipped test is a failed one)"
    return report


# Folders whose tests start no MPI. Simulated machines have their own clocks.
WITHOUT_MPI = (
    "analysis",
    "ingest",
    "machine",
    "model",
    "plan",
    "record",
    "report",
    "store",
    "fuzz",
    "simulated",
)
# Folders with tests that start no MPI; these measure no time, so they may run in parallel, beside compilers.
UNTIMED = (*WITHOUT_MPI, "api", "cli", "placement", "setup", "schedulers", "trace", "profiler")
MPIS = {"openmpi", "mpich", "toolchain", "wheel"}
COMPILING = ("test_headers.py", "test_plain_cmake.py")  # for these tests an MPI is just another compiler
# Tests that emulate clusters and measure no time. They look for remains in the whole system, so one worker
# gets all of them.
CLUSTERS = (
    *(
        f"emulated/test_{name}.py"
        for name in ("cluster", "crashes", "interface_bytes", "mpi", "place", "spec")
    ),
    *("profiler/test_between_nodes.py", "slurm/"),
)
# Tests that start MPI and check its output, but not its duration, so they may run in parallel.
WAITING = (
    *CLUSTERS,
    *("api/", "cli/", "faults/", "launch/", "placement/", "plan/", "schedulers/", "setup/"),
    *(f"native/test_{name}.py" for name in ("dense", "faults", "gears", "hpccg", "lj", "npb", "program")),
    *("profiler/test_counts.py", "profiler/test_endings.py"),
    *(f"trace/test_{name}.py" for name in ("groups", "mutants", "refused", "replay", "threads")),
)
# Of these, tests that any other kiviat command of this user would disturb: it removes what dead ones left.
ALONE = ("launch/test_dead_kiviat.py",)
# Those that take minutes. They begin first, so that no worker is left alone with one.
LONG = ("faults/", "slurm/", "cli/test_run.py", "launch/test_runner.py", "schedulers/test_jobs.py")


# Tests that take minutes with the second MPI; `make test` runs only those marked `both_mpis`.
SECOND_MPI_IN_FULL = (
    *("native/", "launch/test_runner.py", "profiler/", "trace/"),
    *("emulated/test_mpi.py", "emulated/test_crashes.py"),
)


def _in_full(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    place = item.path.relative_to(TESTS).as_posix()
    return (
        call is not None
        and call.params.get("toolchain") == "mpich"
        and place.startswith(SECOND_MPI_IN_FULL)
        and not item.get_closest_marker("both_mpis")
    )


def _turn(item: pytest.Item) -> int:
    """Return the sort key: tests that measure nothing first, in the order of UNTIMED, then long ones, then
    native ones, then all others.
    """
    place = item.path.relative_to(TESTS)
    folder = place.parts[0]
    asked = getattr(item, "fixturenames", ())
    if folder in UNTIMED and (item.path.name in COMPILING or MPIS.isdisjoint(asked)):
        return UNTIMED.index(folder)
    return len(UNTIMED) + (0 if place.as_posix().startswith(LONG) else 1 if folder == "native" else 2)


def _part(item: pytest.Item) -> str:
    if _turn(item) < len(UNTIMED):
        return "untimed"
    place = item.path.relative_to(TESTS).as_posix()
    return "waiting" if place.startswith(WAITING) and place not in ALONE else "timed"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files, so that fixtures shared in a file are made once, and one all clusters."""
    from xdist.scheduler import LoadFileScheduling

    scheduling = LoadFileScheduling(config, log)
    file_of: Callable[[str], str] = scheduling._split_scope

    def scope(test: str) -> str:
        file = file_of(test)
        return "clusters" if file.removeprefix("tests/").startswith(CLUSTERS) else file

    scheduling._split_scope = scope
    config.option.loadscopereorder = False  # keeps the order of _turn
    return scheduling


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=("untimed", "waiting", "timed"),
        help="only this part of all tests (tests/__main__.py)",
    )
    parser.addoption("--outcomes", metavar="FILE", help="write how many tests passed, and which did not")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave folders without MPI to the first part, because collecting them takes each worker seconds."""
    without_mpi = collection_path.parent == TESTS and collection_path.name in WITHOUT_MPI
    return True if without_mpi and config.getoption("part") in ("waiting", "timed") else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _in_full(item):
            item.add_marker(pytest.mark.full)
    items.sort(key=_turn)
    if part := config.getoption("part"):
        parts: dict[str, list[pytest.Item]] = {"untimed": [], "waiting": [], "timed": []}
        for item in items:
            own = _part(item)
            parts[own].append(item)
            if own != "untimed" and item.path.relative_to(TESTS).parts[0] in WITHOUT_MPI:
                raise pytest.UsageError(f"{item.nodeid} starts MPI: take its folder out of WITHOUT_MPI")
        items[:] = parts.pop(part)
        config.hook.pytest_deselected(items=[item for others in parts.values() for item in others])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if file := config.getoption("outcomes"):
        reports = {
            outcome: terminalreporter.getreports(outcome)
            for outcome in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
        }
        failed = [report.nodeid for outcome in ("failed", "error") for report in reports[outcome]]
        outcomes = {outcome: len(found) for outcome, found in reports.items() if found}
        Path(file).write_text(json.dumps({"outcomes": outcomes, "failed": failed}))


class Ahead:
    """If all tests run, build what they need while those that measure nothing run."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        config = session.config
        everything = config.args_source is config.ArgsSource.TESTPATHS and not config.getoption("keyword")
        if everything and not config.getoption("part") and not config.getoption("collectonly"):
            self.process = builds.started()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.process and _turn(item) >= len(UNTIMED):
            self.process.wait()

    def pytest_sessionfinish(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def pytest_configure(config: pytest.Config) -> None:
    # Shells start background commands with SIGINT ignored, which all their child processes inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under `nohup make test`
    config.pluginmanager.register(Ahead())


@pytest.fixture(autouse=True, scope="session")
def own_folders() -> Iterator[None]:
    """Keep tests away from the user's home."""
    patch = pytest.MonkeyPatch()
    for name, folder in builds.FOLDERS.items():
        patch.setenv(name, folder)
    for name in ("MPICXX", "KIVIAT_LAMMPS", "KIVIAT_SITE", "NO_COLOR"):
        patch.delenv(name, raising=False)
    # Hundreds of tests start kiviat, which would compile all its modules anew.
    patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
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
    """Return the MPICH that `pip install mpich` installs into the environment."""
    return _toolchain("wheel")


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """Provide each of the two supported MPIs in turn."""
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
