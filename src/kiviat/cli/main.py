"""The command line: reads it, hands over to the command, turns errors into one line and an exit code.

0: all went well. 1: a case failed, or a comparison found something worse. 2: it could not be done.
130 and the like: interrupted by a signal.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from kiviat.cli.arguments import parsed
from kiviat.record.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return _run(arguments)
    except BrokenPipeError:
        _forget_output()  # Whoever read us has gone, as `head` does.
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # The terminal has just shown ^C.
        return _say("interrupted", 128 + signal.SIGINT)
    except InputError as error:
        return _say(str(error), 2)
    except OSError as error:
        if error.errno == errno.ENOSPC and not error.filename:
            _forget_output()
        name = f" {error.filename}" if error.filename else ""
        return _say(f"cannot read or write{name}: {error.strerror}", 2)
    except Exception as error:
        return _say(f"unexpected {type(error).__name__}: {error}; KIVIAT_DEBUG=1 shows where", 2)


def _run(arguments: Sequence[str] | None) -> int:
    asked = parsed(arguments)
    command = import_module(f"kiviat.cli.{asked.module}")
    status: int = command.execute(asked)
    sys.stdout.flush()
    return status


def _forget_output() -> None:
    """What standard output did not take, Python would try to write once more at its exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, status: int) -> int:
    if os.environ.get("KIVIAT_DEBUG"):
        raise
    print("kiviat:", " ".join(message.split()), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
