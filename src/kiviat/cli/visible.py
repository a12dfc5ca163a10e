"""Makes text safe to print: texts in runs of other users must not control the terminal."""

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

# Control characters except line ends and tabs, those that Unicode adds, and marks that change text direction.
_STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Kiviat's own escapes: bold, dim and plain.
_STYLED = re.compile("(\033\\[[012]m)")
_ERASED_LINE = "\r\033[K"
_ERRORS = "kiviat.visible"


def visible(text: str) -> str:
    r"""Return the text with control characters escaped as in JSON, such as \u001b."""
    return _STEERING.sub(lambda found: _escaped(found[0]), text)


def visible_cell(text: str) -> str:
    """Return the text as `visible` does, in one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


@contextmanager
def visible_streams() -> Iterator[None]:
    r"""Context in which standard output and error accept any text.

    Characters that their encoding lacks are written as escapes such as \u00b5. Closed streams are opened.
    """
    _open_closed_streams()
    codecs.register_error(_ERRORS, _replaced)
    with suppress(locale.Error, ValueError):  # files are in UTF-8 whatever the locale
        if locale.getlocale(locale.LC_CTYPE)[1] is None:
            locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    with redirect_stdout(_Visible(sys.stdout)), redirect_stderr(_Visible(sys.stderr)):
        yield


def _open_closed_streams() -> None:
    """Open the null device as standard input, output and error if closed.

    Otherwise the next files and pipes to be opened would be taken for them.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # has the lowest free number, which is this one
            os.set_inheritable(stream, True)


def erase_line() -> None:
    """Erase the current line on the terminal of standard error."""
    unfiltered(sys.stderr).write(_ERASED_LINE)


def unfiltered(stream: TextIO) -> TextIO:
    """Return the original stream, for control sequences, and for data that are not for a terminal."""
    return stream.unfiltered if isinstance(stream, _Visible) else stream


class _Visible(io.TextIOBase):
    def __init__(self, stream: TextIO | None) -> None:
        # Python has no stream if its descriptor was closed.
        self.unfiltered: TextIO = stream or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        if isinstance(self.unfiltered, io.TextIOWrapper):
            self.unfiltered.reconfigure(errors=_ERRORS)

    def write(self, text: str) -> int:
        parts = _STYLED.split(text) if self.unfiltered.isatty() else [text]
        # Every second part is a separator.
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
    """Return a character as JSON escapes it: two halves beyond U+FFFF; a lone half unchanged."""
    halves = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at] << 8 | halves[at + 1]:04x}" for at in range(0, len(halves), 2))


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _escaped(error.object[error.start : error.end]), error.end
