"""Cache for queries over many runs: complete runs as Parquet files in the user's cache folder.

A query over thousands of runs would open, verify and parse thousands of files each time. A complete run does
not change any more, so once verified, its run.json and its records, without samples and tables, are stored in
segments of many runs each. A cached run is valid as long as both of its files are those that were read (see
kiviat.store.index).

The segments contain nothing that the runs do not contain, and can be deleted at any time. There are no locks:
a segment is written under a unique name, then the list of segments is replaced by renaming. If several
processes do this, one of them succeeds, and the other runs are read again later.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb

from kiviat import __version__
from kiviat.record import RECORD_SCHEMA, RUN_SCHEMA
from kiviat.record.cache import replace_cached
from kiviat.record.files import read_text
from kiviat.record.valid import parse_json
from kiviat.store.columns import columns
from kiviat.store.duck import plain_names
from kiviat.store.files import RECORDS_FILE, RUN_FILE
from kiviat.store.index import folder_of, identity, is_settled
from kiviat.store.reader import Reader

_FORMAT = f"kiviat.kept/1 of {__version__}, {RUN_SCHEMA}, {RECORD_SCHEMA}"
LEFT_OUT = frozenset({"samples", "tables"})
_MOST_SEGMENTS = 8
# With fewer runs, the cache is not used.
_FEW = 50
# Time for which unlisted segments are kept, because a process that has read the old list may still use them.
_LINGERING_S = 3600.0


@dataclass(frozen=True)
class Segment:
    """One pair of Parquet files with several runs, by the runs' keys.

    `crc32` has the checksum of each file.
    """

    name: str
    keys: frozenset[str]
    crc32: tuple[int, ...] = ()

    def files(self, folder: Path) -> tuple[Path, Path]:
        """Return the files of the runs and of the records."""
        return folder / f"{self.name}.runs.parquet", folder / f"{self.name}.records.parquet"


class Kept:
    """The cached ones among the given runs, all of one folder. Within a `with` block DuckDB can read them."""

    def __init__(self, home: Path, runs: Sequence[Path]) -> None:
        self._folder = folder_of(home)
        self._handle = _opened(self._folder)
        self._segments = _listed(self._folder) if self._handle is not None else []
        known = {key for segment in self._segments for key in segment.keys}
        self._keys = {run: _key(run) for run in runs}
        self.runs = [run for run in runs if self._keys[run] in known]
        self.others = [run for run in runs if self._keys[run] not in known]

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def sources(self) -> tuple[list[str], list[str]]:
        """Return SQL expressions for the cached runs and their records; names need no quoting."""
        wanted = {self._keys[run] for run in self.runs}
        of_runs, of_records = [], []
        for segment in self._segments:
            if not segment.keys & wanted:
                continue
            some = ""
            if not segment.keys <= wanted:
                listed = ", ".join(f"'{key}'" for key in sorted(segment.keys & wanted))
                some = f" WHERE _key IN ({listed})"
            runs, records = map(self._plain, segment.files(self._folder))
            of_runs.append(f"SELECT * EXCLUDE (_key) FROM read_parquet('{runs}'){some}")
            of_records.append(f"SELECT * EXCLUDE (_key) FROM read_parquet('{records}'){some}")
        return of_runs, of_records

    def keep(self, read: Reader, complete: Sequence[Path]) -> None:
        """Add complete runs, which the caller has just verified, to the cache; write errors are ignored."""
        keys = {run: key for run in complete if (key := self._keys[run]) and key == _key(run)}
        if len(keys) < _FEW or self._handle is None:
            return
        segments = list(self._segments)
        with suppress(OSError, duckdb.Error):
            segments.append(self._written(read, keys))
            if len(segments) > _MOST_SEGMENTS:
                segments = [self._merged(read.connection, segments)]
            listed = {one.name: {"keys": sorted(one.keys), "crc32": one.crc32} for one in segments}
            content = {"format": _FORMAT, "segments": listed}
            replace_cached(self._folder / "segments.json", json.dumps(content).encode())
            self._clean({one.name for one in segments})

    def _written(self, read: Reader, keys: dict[Path, str]) -> Segment:
        segment = Segment(_name(keys.values()), frozenset(keys.values()))
        parts = (
            (RUN_FILE, columns("run"), "unstructured"),
            (RECORDS_FILE, columns("record", LEFT_OUT), "newline_delimited"),
        )
        for target, (name, types, form) in zip(segment.files(self._folder), parts, strict=True):
            with plain_names([run / name for run in keys]) as names:
                of_name = ", ".join(
                    f"'{name}': '{key}'" for name, key in zip(names, keys.values(), strict=True)
                )
                source = read.json(types, *names, form=form, named=True)
                key = f"map_extract_value(MAP {{{of_name}}}, filename)"
                select = f"SELECT * EXCLUDE (filename), {key} AS _key FROM {source}"
                self._copy(read.connection, select, target)
        return self._sealed(segment)

    def _merged(self, connection: duckdb.DuckDBPyConnection, segments: Sequence[Segment]) -> Segment:
        """Return one segment that replaces several, without deleted runs."""
        present = set(self._keys.values()) & {key for one in segments for key in one.keys}
        merged = Segment(_name(present), frozenset(present))
        listed = ", ".join(f"'{key}'" for key in sorted(present))
        files = zip(*(one.files(self._folder) for one in segments), strict=True)
        for target, sources in zip(merged.files(self._folder), files, strict=True):
            names = ", ".join(f"'{self._plain(file)}'" for file in sources)
            self._copy(connection, f"SELECT * FROM read_parquet([{names}]) WHERE _key IN ({listed})", target)
        return self._sealed(merged)

    def _sealed(self, segment: Segment) -> Segment:
        return replace(segment, crc32=tuple(map(_checksum, segment.files(self._folder))))

    def _copy(self, connection: duckdb.DuckDBPyConnection, select: str, target: Path) -> None:
        draft = target.with_name(f".{target.name}-{os.urandom(8).hex()}")
        to = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
        try:
            connection.execute(f"COPY ({select}) TO '{self._plain(draft)}' ({to})")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    def _plain(self, file: Path) -> str:
        """Return a name of the file in valid UTF-8 that needs no quoting or escaping of patterns."""
        return f"/dev/fd/{self._handle}/{file.name}"

    def _clean(self, listed: set[str]) -> None:
        for file in self._folder.glob("*.parquet"):
            with suppress(OSError):
                if (
                    file.name.partition(".")[0] not in listed
                    and file.stat().st_mtime < time.time() - _LINGERING_S
                ):
                    file.unlink()


def _key(run: Path) -> str:
    """Return a key for the run's files as they are now; empty if they may still change without new times."""
    try:
        files = identity(run / RUN_FILE), identity(run / RECORDS_FILE)
    except OSError:
        return ""
    if not all(map(is_settled, files)):
        return ""
    return sha256(os.fsencode(run.absolute()) + repr(files).encode()).hexdigest()[:24]


def _name(keys: Any) -> str:
    return sha256("".join(sorted(keys)).encode()).hexdigest()[:24]


def _opened(folder: Path) -> int | None:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    return None


def _listed(folder: Path) -> list[Segment]:
    """Return the intact segments of the list; none if it is missing, damaged or of another version."""
    try:
        data = parse_json(read_text(folder / "segments.json"))
        if data["format"] != _FORMAT:
            return []
        segments = [
            Segment(name, frozenset(map(str, one["keys"])), tuple(map(int, one["crc32"])))
            for name, one in data["segments"].items()
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []
    return [one for one in segments if one.name.isalnum() and _is_intact(one, folder)]


def _is_intact(segment: Segment, folder: Path) -> bool:
    try:
        return tuple(map(_checksum, segment.files(folder))) == segment.crc32
    except OSError:
        return False


def _checksum(file: Path) -> int:
    checksum = 0
    with file.open("rb") as content:
        while part := content.read(1 << 20):
            checksum = crc32(part, checksum)
    return checksum
