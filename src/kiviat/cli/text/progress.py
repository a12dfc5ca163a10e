"""Progress of a run: one changing line on a terminal; elsewhere a line per launch, or per case."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from kiviat.cli.options.request import Verbosity
from kiviat.cli.text.values import duration
from kiviat.cli.visible import erase_line, visible_cell
from kiviat.launch.run import outcome
from kiviat.plan import Plan
from kiviat.record.units import counted

_BAR = 24
_REFRESH_S = 0.2
_TRUST = 0.05


class Progress:
    """Prints progress to standard error.

    "quiet" prints failed launches only, "verbose" also commands and cases.
    """

    def __init__(self, plan: Plan, expected_s: float, verbosity: Verbosity = "normal") -> None:
        self._launches, self._launches_max = plan.launches, plan.launches_max
        self._expected_s = expected_s
        self._verbosity = verbosity
        terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._live = terminal and verbosity == "normal"
        self._began = time.monotonic()
        self._shown = 0.0
        self._first: int | None = None
        self._launch: tuple[int, int] | None = None
        self._commands: set[int] = set()

    def show(self, news: outcome.Progress) -> None:
        """Print progress according to the verbosity."""
        if self._first is None:
            self._first, self._began = news.finished, time.monotonic()
        if news.kind == "death":
            self._print(f"launch died: {news.text}; going on with the next case")
        elif self._verbosity == "quiet":
            pass
        elif self._verbosity == "verbose" and news.kind == "record":
            self._print(f"  {news.finished} of {news.total}  {visible_cell(news.case or '')}: {news.text}")
        elif news.kind == "cleaned":
            self._print(news.text or "")
        elif self._live:
            self._refresh(news)
        elif news.kind == "launch" and self._launch != (news.repetition, news.world):
            self._launch = (news.repetition, news.world)
            self._print(
                f"launch {news.repetition + 1} of {self._of(news)} on {counted(news.world, 'rank')}, "
                f"{news.finished} of {news.total} results, {self._left(news)}"
            )

    def show_command(self, launch: Mapping[str, Any]) -> None:
        """Print the command of a launch, as in run.json, when it starts."""
        if self._verbosity != "verbose" or launch["index"] in self._commands:
            return
        self._commands.add(launch["index"])
        variables = (f"{name}={shlex.quote(value)}" for name, value in launch["environment"].items())
        self._print(visible_cell(" ".join([*variables, shlex.join(launch["command"])])))

    def _refresh(self, news: outcome.Progress) -> None:
        now = time.monotonic()
        if now - self._shown < _REFRESH_S and news.finished < news.total:
            return
        self._shown = now
        filled = _BAR * news.finished // max(1, news.total)
        line = (
            f"{'█' * filled}{'░' * (_BAR - filled)} {100 * news.finished // max(1, news.total):3} %  "
            f"launch {news.repetition + 1}/{self._of(news)}  {self._left(news)}  {news.case or ''}"
        )
        width = shutil.get_terminal_size().columns - 1
        erase_line()
        print(visible_cell(line)[:width], end="", file=sys.stderr, flush=True)

    def _of(self, news: outcome.Progress) -> str:
        """Return the number of launches, or the most of a case that needs more than all have."""
        further = news.repetition >= self._launches
        return f"at most {self._launches_max}" if further else str(self._launches)

    def _left(self, news: outcome.Progress) -> str:
        """Return the remaining time.

        The plan's estimate has the weight of a twentieth of the run, the observed speed the rest.
        """
        before = self._first or 0
        todo = max(1, news.total - before)
        share = (news.finished - before) / todo
        elapsed = time.monotonic() - self._began
        expected = self._expected_s * todo / max(1, news.total)
        total = (elapsed + _TRUST * expected) / (share + _TRUST)
        return f"about {duration((1 - share) * total)} left"

    def _print(self, line: str) -> None:
        if self._live:
            erase_line()
        print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            erase_line()
            sys.stderr.flush()
