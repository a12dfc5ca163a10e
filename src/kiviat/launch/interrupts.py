"""SIGINT and SIGTERM as something to look at, so that no write is torn in the middle."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While entered, `signal` is the first one that came.

    A signal that was ignored, as under nohup, stays so. Outside the main thread Python delivers no
    signals, and nothing is changed.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            wanted = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
            self._previous = {number: signal.signal(number, self._note) for number in wanted}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = self.signal or number
