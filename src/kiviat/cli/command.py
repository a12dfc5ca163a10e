"""Runs one command.

Parses its words, calls its module, turns errors and signals into a line and an exit code.

0: success. 1: a case failed, or a comparison found something worse. 2: the command could not be executed. 128
plus the signal's number, such as 130: ended by a signal.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from kiviat.cli.visible import visible_streams
from kiviat.launch.process.signals import Interrupted, Interruptible, in_words

if TYPE_CHECKING:
    from kiviat.cli.options.request import Request

# Time for launchers to end their ranks, also on other nodes, if kiviat is killed.
_GRACE_S = 3.0
# In messages of other exceptions than MemoryError, of Python and of the loader of shared libraries.
_NO_MEMORY = ("can't start new thread", "failed to map segment")


@visible_streams()
def carry_out(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Without `arguments`, kiviat runs as a program, and only Python's shutdown follows.
    """
    interrupts = Interruptible()
    try:
        try:
            interrupts.__enter__()
            return _run(arguments)
        finally:
            interrupts.rest()
    except BaseException as error:
        interrupts.rest()
        return _ended(error, interrupts.signal)
    finally:
        if arguments is None:
            interrupts.ignore()
        else:
            interrupts.__exit__(None, None, None)


def _run(arguments: Sequence[str] | None) -> int:
    from kiviat.cli.options.arguments import parsed

    _refuse_deleted_directory()
    request = parsed(arguments)
    if arguments is not None:
        return _executed(request)
    from kiviat.launch.process.children import Sentinel
    from kiviat.record.scratch import remove_scratch_folders

    def clean() -> None:
        from kiviat.launch.emulated.removal import clean_dead

        remove_scratch_folders()
        clean_dead(_GRACE_S)

    sentinel = Sentinel(clean)
    try:
        sentinel.begin()  # before anything is imported that starts threads
        return _executed(request)
    finally:
        sentinel.dismiss()


def _executed(request: Request) -> int:
    command = import_module(f"kiviat.cli.{request.module}")
    with warnings.catch_warnings():
        # NumPy and SciPy warn of absurd values, whose results are infinite or NaN, and shown as unavailable.
        warnings.simplefilter("ignore", RuntimeWarning)
        status: int = command.execute(request)
    sys.stdout.flush()
    return status


def _refuse_deleted_directory() -> None:
    """Raise InputError if the working directory was deleted, because all commands and programs use it."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        from kiviat.record import InputError

        raise InputError("the working directory has been deleted; cd to one that exists") from None


def _ended(error: BaseException, interrupted: int | None) -> int:
    """Return the exit code.

    A library may have replaced the exception that a signal raised in it, hence `interrupted`.
    """
    if interrupted is not None or isinstance(error, KeyboardInterrupt):
        return _interrupted(error, interrupted or signal.SIGINT)
    if isinstance(error, SystemExit):
        raise error
    from kiviat.record.errors import InputError

    if isinstance(error, BrokenPipeError):
        _forget_output()  # The reader of the output, such as `head`, has ended.
        return 128 + signal.SIGPIPE
    if isinstance(error, InputError):
        return _say(str(error), 2)
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC and not error.filename:
            _forget_output()
        name = f" {error.filename}" if error.filename else ""
        return _say(f"cannot read or write{name}: {error.strerror}", 2)
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return _say(
            "too little memory or too few threads: end other programs, or raise `ulimit -v` and -u", 2
        )
    return _say(f"unexpected {type(error).__name__}: {error}; KIVIAT_DEBUG=1 shows where", 2)


def _interrupted(error: BaseException, number: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # the terminal has hung up
        _forget_output()
    if sys.stderr.isatty() and number == signal.SIGINT:
        print(file=sys.stderr)  # The terminal has just printed ^C.
    kept = f"; {error.kept}" if isinstance(error, Interrupted) and error.kept else ""
    return _say(in_words(number) + kept, 128 + number)


def _forget_output() -> None:
    """Discard unwritten output, which Python would otherwise try to write at exit, with an error message."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, status: int) -> int:
    if os.environ.get("KIVIAT_DEBUG"):
        raise  # noqa: PLE0704 (every caller handles an exception)
    from kiviat.cli.text.hints import typeable

    with suppress(OSError):
        print("kiviat:", typeable(" ".join(message.split())), file=sys.stderr, flush=True)
    return status
