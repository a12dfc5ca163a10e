"""DuckDB connections that read files of JSON in little memory, and the SQL that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import duckdb

from kiviat.store.columns import sql_columns
from kiviat.store.duck import interruptible, plain_folder

_T = TypeVar("_T")
_THREADS = 2
_THREAD_BYTES = 100_000_000  # that a thread needs to write tables; all that exceeds it is in temporary files
_BUFFER_BYTES = 1 << 25  # DuckDB's, for each thread that reads a file, unless its objects are larger
_BUFFERS_BYTES = 1 << 28  # of all threads, which have two each
_MOST_OBJECT_BYTES = (1 << 32) - 1


class Reader:
    """A connection that reads files whose objects have `longest` bytes at most.

    Its limits keep a run of a million records below a gigabyte. DuckDB's own are 80 % of the memory, and a
    buffer for each core.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, longest: int) -> None:
        self.connection = connection
        self._longest = longest
        own = connection.execute("SELECT current_setting('threads'), current_setting('memory_limit')")
        self._own = own.fetchall()[0]
        buffers = 2 * max(_BUFFER_BYTES, 2 * longest)
        threads = max(1, min(_THREADS, _BUFFERS_BYTES // buffers))
        self._set(threads, f"{threads * (_THREAD_BYTES + buffers)}B")

    def lift_limits(self) -> None:
        """Let queries of users use as many cores and as much memory as DuckDB does by itself."""
        self._set(*self._own)

    def run(self, work: Callable[[], _T], *others: duckdb.DuckDBPyConnection) -> _T:
        """Return the result of `work`, which can be interrupted and also uses the connections `others`.

        If its limits turn out to be too low, it is done once more without them.
        """
        try:
            return interruptible(self.connection, work, *others)
        except MemoryError:
            self.lift_limits()
            return interruptible(self.connection, work, *others)

    def json(
        self,
        types: Mapping[str, str],
        *names: str,
        form: str = "newline_delimited",
        named: bool = False,
    ) -> str:
        """Return an SQL table function that reads files of JSON objects; see `read_json`."""
        return read_json(types, self._longest, *names, form=form, named=named)

    def lines(self, *names: str) -> str:
        """Return an SQL table function that reads lines, whatever they contain, as column `json`."""
        return f"read_ndjson_objects({_listed(names)}, maximum_object_size={_object(self._longest)})"

    def _set(self, threads: int, memory: str) -> None:
        self.connection.execute(f"SET threads = {threads}")
        self.connection.execute(f"SET memory_limit = '{memory}'")


@contextmanager
def reader(longest: int) -> Iterator[Reader]:
    """Yield a reader of objects of `longest` bytes at most, with temporary files of its own."""
    with plain_folder() as (_, folder), duckdb.connect(config={"temp_directory": folder}) as connection:
        yield Reader(connection, longest)


def read_json(
    types: Mapping[str, str],
    longest: int,
    *names: str,
    form: str = "newline_delimited",
    named: bool = False,
) -> str:
    """Return an SQL table function that reads files of JSON objects, of `longest` bytes at most.

    They have one object per line unless `form` is given. `names` must not need quoting; with `named`, they
    are the column `filename`.
    """
    return (
        f"read_json({_listed(names)}, format='{form}', columns={sql_columns(types)}, "
        f"maximum_object_size={_object(longest)}{', filename=true' if named else ''})"
    )


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"


def _object(longest: int) -> int:
    """Return DuckDB's largest object: as small as its buffers allow, so that a growing file can be read."""
    return min(max(longest, _BUFFER_BYTES // 2), _MOST_OBJECT_BYTES)
