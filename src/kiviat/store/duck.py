"""Keeps DuckDB from interpreting file names as patterns and from continuing after an interrupt."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import duckdb

from kiviat.record.scratch import scratch_folder

_T = TypeVar("_T")
_ROWS = 10_000


@contextmanager
def plain_names(files: Sequence[Path]) -> Iterator[list[str]]:
    """Yield names of files for SQL that match no other file and need no quoting.

    DuckDB interprets even quoted names as patterns and refuses names that are not UTF-8, so it gets symbolic
    links.
    """
    with plain_folder() as (folder, name):
        for number, file in enumerate(files):
            Path(folder, str(number)).symlink_to(file.absolute())
        yield [f"{name}/{number}" for number in range(len(files))]


@contextmanager
def plain_folder() -> Iterator[tuple[Path, str]]:
    """Yield a temporary folder and a name of it without special characters, by its descriptor."""
    with scratch_folder() as folder:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Path(folder), f"/dev/fd/{handle}"
        finally:
            os.close(handle)


def rows_of(result: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Return all rows. Fetches them in parts, so that other threads can run in between."""
    rows: list[tuple[Any, ...]] = []
    while part := result.fetchmany(_ROWS):
        rows += part
    return rows


def interruptible(
    connection: duckdb.DuckDBPyConnection, work: Callable[[], _T], *others: duckdb.DuckDBPyConnection
) -> _T:
    """Return the result of `work`, run in a thread because signals are not handled while DuckDB computes.

    `others` are connections that `work` uses, too.
    """
    outcome: Future[_T] = Future()
    given_up = Event()

    def run() -> None:
        if not given_up.is_set():
            try:
                outcome.set_result(work())
            except duckdb.OutOfMemoryException as error:  # its advice is for those who set DuckDB up
                outcome.set_exception(MemoryError(str(error)))
            except BaseException as error:
                outcome.set_exception(error)

    thread = Thread(target=run)
    try:
        thread.start()
        return outcome.result()
    except BaseException:
        given_up.set()  # has no effect if the thread has not started yet
        while thread.is_alive():
            for each in (connection, *others):
                each.interrupt()  # again, because it has no effect before a query has begun
            thread.join(0.01)
        raise
