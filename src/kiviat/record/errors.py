"""Exceptions for invalid input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """An error in one line: what is wrong, the value seen, where, and what to do. Kiviat exits with 2."""


class NotStartedError(InputError):
    """An error that was found before anything of a run was started, such as ranks that do not fit."""


@contextmanager
def before_start() -> Iterator[None]:
    """Raise each InputError as a NotStartedError."""
    try:
        yield
    except NotStartedError:
        raise
    except InputError as error:
        raise NotStartedError(str(error)) from error
