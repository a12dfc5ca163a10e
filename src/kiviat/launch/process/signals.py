"""INT, TERM and HUP, either noted for polling, so that no write is cut off, or raised as an exception."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WORDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_AGAIN_S = 0.001


class Interrupted(KeyboardInterrupt):
    """A signal ended the command; `kept` describes the results that are kept."""

    def __init__(self, number: int, kept: str = "") -> None:
        super().__init__(number, kept)
        self.signal, self.kept = number, kept


def interrupt(number: int) -> NoReturn:
    """End the command by a signal that was passed on to another program."""
    signal.raise_signal(number)  # also notes it, so that further signals do not interrupt the clean-up
    raise Interrupted(number)  # it was already noted


def in_words(number: int) -> str:
    """Return the effect of a signal on a program, such as "terminated"."""
    return _WORDS.get(signal.Signals(number), "interrupted")


class Interrupts:
    """Context in which `signal` is set to the first signal received, without other effect.

    Signals that were ignored, as under nohup, stay ignored. Outside the main thread, where Python delivers no
    signals, nothing is changed.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.getsignal(number) for number in INTERRUPTING}
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
    """Context in which the first signal raises Interrupted wherever it arrives.

    Later signals have no effect, so that the clean-up after the first one completes.
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
        """From now on only note signals, because nothing is left to end."""
        self._resting = True

    def ignore(self) -> None:
        """Ignore signals while the Python interpreter shuts down and has no handlers any more."""
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
        """Raise a lost Interrupted a moment later.

        Python drops exceptions that are raised while it finalises an object.
        """
        if isinstance(lost.exc_value, Interrupted):
            self._later(lost.exc_value.signal)
        else:
            self._hook(lost)


def _is_indivisible(frame: FrameType | None) -> bool:
    """True during steps that must not be interrupted: imports, and temporary folders.

    An import interrupted in a C++ library would abort the process, and an interrupted creation or removal
    would leave a temporary folder behind.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or file.endswith(("/tempfile.py", "/weakref.py")):
            return True
        frame = frame.f_back
    return False
