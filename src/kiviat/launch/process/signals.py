"""INT, TERM and HUP as something to look at, so that no write is torn, or as an exception."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WORDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_AGAIN_S = 0.001


class Interrupted(KeyboardInterrupt):
    """A signal ends the command; `kept` says what of its work is kept."""

    def __init__(self, number: int, kept: str = "") -> None:
        super().__init__(number, kept)
        self.signal, self.kept = number, kept


def in_words(number: int) -> str:
    """Return what a signal has done to a program: "terminated", for example."""
    return _WORDS.get(signal.Signals(number), "interrupted")


class Interrupts:
    """While entered, `signal` is the first one that came; nothing else happens.

    A signal that was ignored, as under nohup, stays so. Outside the main thread Python delivers no
    signals, and nothing is changed.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.getsignal(number) for number in _SIGNALS}
            self._previous = {
                number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)
            }
            for number in self._previous:
                signal.signal(number, self._come)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _come(self, number: int, frame: FrameType | None) -> None:
        self._note(number)

    def _note(self, number: int) -> bool:
        """Note a signal here and in all enclosing contexts; return True if it is the first."""
        first = self.signal is None
        self.signal = self.signal or number
        for outer in {getattr(handler, "__self__", None) for handler in self._previous.values()}:
            if isinstance(outer, Interrupts):
                first &= outer._note(number)
        return first


class Interruptible(Interrupts):
    """While entered, the first signal is raised as Interrupted wherever it comes.

    Later ones change nothing, so that clean-up after the first one completes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._resting = False
        self._hook = sys.unraisablehook

    def __enter__(self) -> Self:
        super().__enter__()
        if self._previous:
            sys.unraisablehook = self._unraised
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous:
            sys.unraisablehook = self._hook
        super().__exit__(kind, error, trace)

    def rest(self) -> None:
        """From now on signals are only noted: there is nothing left to end."""
        self._resting = True

    def ignore(self) -> None:
        """For the time in which Python itself ends and has no handlers any more."""
        for number in self._previous:
            signal.signal(number, signal.SIG_IGN)

    def _come(self, number: int, frame: FrameType | None) -> None:
        if self._note(number):
            self._raise(number, frame)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self._resting:
            return
        if not _is_indivisible(frame):
            raise Interrupted(number)
        self._later(number)

    def _later(self, number: int) -> None:
        signal.signal(signal.SIGALRM, lambda _, frame: self._raise(number, frame))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)

    def _unraised(self, lost: sys.UnraisableHookArgs) -> None:
        """Python swallows what is raised while it finalises an object: then it is raised a moment later."""
        if isinstance(lost.exc_value, Interrupted):
            self._later(lost.exc_value.signal)
        else:
            self._hook(lost)


def _is_indivisible(frame: FrameType | None) -> bool:
    """True during steps that must not be interrupted.

    These are an import, because C++ libraries would abort the process, and the creation or removal of a
    temporary folder, which would stay.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or file.endswith(("/tempfile.py", "/weakref.py")):
            return True
        frame = frame.f_back
    return False
