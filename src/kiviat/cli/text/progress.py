"""Progress of a run: one line that changes on a terminal, a line per launch elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from kiviat.cli.text.values import duration
from kiviat.cli.visible import erase_line, visible_cell
from kiviat.launch.run import outcome
from kiviat.plan import Plan

_BAR = 24
_REFRESH_S = 0.2
_TRUST = 0.05


class Progress:
    def __init__(self, plan: Plan, expected_s: float) -> None:
        self._launches = plan.launches
        self._expected_s = expected_s
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._shown = 0.0
        self._first: int | None = None
        self._launch: tuple[int, int] | None = None

    def show(self, news: outcome.Progress) -> None:
        if self._first is None:
            self._first, self._began = news.finished, time.monotonic()
        if news.kind == "death":
            self._print(f"launch died: {news.text}; going on with the next case")
        elif news.kind == "cleaned":
            self._print(news.text or "")
        elif self._live:
            self._refresh(news)
        elif news.kind == "launch" and self._launch != (news.repetition, news.world):
            self._launch = (news.repetition, news.world)
            self._print(
                f"launch {news.repetition + 1} of {self._launches} on {news.world} ranks, "
                f"{news.finished} of {news.total} results, {self._left(news)}"
            )

    def _refresh(self, news: outcome.Progress) -> None:
        now = time.monotonic()
        if now - self._shown < _REFRESH_S and news.finished < news.total:
            return
        self._shown = now
        filled = _BAR * news.finished // max(1, news.total)
        line = (
            f"{'█' * filled}{'░' * (_BAR - filled)} {100 * news.finished // max(1, news.total):3} %  "
            f"launch {news.repetition + 1}/{self._launches}  {self._left(news)}  {news.case or ''}"
        )
        width = shutil.get_terminal_size().columns - 1
        erase_line()
        print(visible_cell(line)[:width], end="", file=sys.stderr, flush=True)

    def _left(self, news: outcome.Progress) -> str:
        """The estimate counts for as much as a twentieth of the run that was seen."""
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
