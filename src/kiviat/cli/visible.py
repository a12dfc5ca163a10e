"""Makes text safe to print: what strangers wrote into runs must not control a terminal."""

from __future__ import annotations

import codecs
import io
import locale
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

# Control characters but line ends and tabs, those that Unicode adds, and what changes the order of letters.
_STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Our own: bold, dim and plain.
_STYLED = re.compile("(\033\\[[012]m)")
_ERASED_LINE = "\r\033[K"
_ERRORS = "kiviat.visible"


def visible(text: str) -> str:
    r"""Return the text with \u001b, as JSON writes it, in place of an escape and the like."""
    return _STEERING.sub(lambda found: _escaped(found[0]), text)


def visible_cell(text: str) -> str:
    """Likewise, in one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


@contextmanager
def visible_streams() -> Iterator[None]:
    r"""Let standard output and error take any text: \u00b5 and the like for what their encoding lacks."""
    codecs.register_error(_ERRORS, _replaced)
    with suppress(locale.Error, ValueError):  # files are UTF-8 whatever the locale
        if locale.getlocale(locale.LC_CTYPE)[1] is None:
            locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    with redirect_stdout(_Visible(sys.stdout)), redirect_stderr(_Visible(sys.stderr)):
        yield


def erase_line() -> None:
    """On the terminal of standard error."""
    unfiltered(sys.stderr).write(_ERASED_LINE)


def unfiltered(stream: TextIO) -> TextIO:
    """The stream as it was given to us, for what steers the terminal, and for data that go to none."""
    return stream.unfiltered if isinstance(stream, _Visible) else stream


class _Visible(io.TextIOBase):
    def __init__(self, stream: TextIO | None) -> None:
        # Python has no stream where its descriptor is closed.
        self.unfiltered: TextIO = stream or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        if isinstance(self.unfiltered, io.TextIOWrapper):
            self.unfiltered.reconfigure(errors=_ERRORS)

    def write(self, text: str) -> int:
        parts = _STYLED.split(text) if self.unfiltered.isatty() else [text]
        # Every second one is a separator.
        self.unfiltered.write("".join(part if at % 2 else visible(part) for at, part in enumerate(parts)))
        return len(text)

    def flush(self) -> None:
        self.unfiltered.flush()

    def isatty(self) -> bool:
        return self.unfiltered.isatty()

    def fileno(self) -> int:
        return self.unfiltered.fileno()

    @property
    def buffer(self) -> Any:
        return self.unfiltered.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.unfiltered.encoding


def _escaped(text: str) -> str:
    """Characters beyond U+FFFF as JSON has them, in two halves; a half alone as it is."""
    halves = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at] << 8 | halves[at + 1]:04x}" for at in range(0, len(halves), 2))


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _escaped(error.object[error.start : error.end]), error.end
