"""Index of runs: cached summaries, so that `kiviat runs` and `last` need not open every run.json.

The file contains nothing that the runs do not contain, and can be deleted at any time. An entry is valid only
for the run.json from which it was made, identified by inode, size and times. The file is replaced as a whole
by renaming, without locks: if several processes write it, one of them succeeds, and later commands read the
missing entries from the runs again. This is safe on all file systems with atomic renaming, including NFS.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from kiviat import __version__
from kiviat.record.cache import cache_folder, replace_cached
from kiviat.record.files import read_text
from kiviat.record.run import Run
from kiviat.record.valid import parse_json

_FORMAT = f"kiviat.index/1 of {__version__}"
# A file that changes soon after it was written may keep the same times.
_YOUNG_NS = 10 * 10**9
_LARGEST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The facts that lists of runs show of one run.

    `state` is that of run.json, whether or not the writer is alive.
    """

    id: str
    state: str
    created: str
    plan: str | None
    cases: int | None
    launches: int
    machine: str
    mpi: str | None

    @classmethod
    def of(cls, run: Run) -> RunSummary:
        """Return the summary of a run."""
        return cls(
            id=run.id,
            state=run.state,
            created=run.created,
            plan=run.plan.name if run.plan else None,
            cases=run.plan.cases if run.plan else None,
            launches=len(run.launches),
            machine=run.machine.name,
            mpi=", ".join(run.mpis) or None,
        )


Identity = tuple[int, int, int, int]


def identity(file: Path) -> Identity:
    """Return inode, size and times of a file, which change whenever it is replaced or written; OSError."""
    said = os.stat(file)  # noqa: PTH116 (Path.stat takes twice as long, which matters for ten thousand files)
    return said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns


def is_settled(file: Identity) -> bool:
    """True if a file is so old that any later change would change its times."""
    return max(file[2:]) < time.time_ns() - _YOUNG_NS


class Index:
    """The summaries of the runs in a folder, by the names of their folders."""

    def __init__(self, home: Path) -> None:
        self._file = folder_of(home) / "index.json"
        self._known = _read(self._file)
        self._seen: dict[str, list[Any]] = {}

    def summary(self, name: str, run_file: Path, read: Callable[[], RunSummary | None]) -> RunSummary | None:
        """Return the summary of the run in the folder `name`: the cached one if valid, else from `read`."""
        before = identity(run_file)
        known = self._known.get(name)
        if known is not None and tuple(known[:4]) == before and (kept := _summary(known[4:])) is not None:
            self._seen[name] = known
            return kept
        made = read()
        with suppress(OSError):
            if made is not None and is_settled(before) and identity(run_file) == before:
                self._seen[name] = [*before, *astuple(made)]
        return made

    def write(self) -> None:
        """Write the index if it has changed; write errors are ignored."""
        if self._seen != self._known:
            replace_cached(self._file, json.dumps({"format": _FORMAT, "runs": self._seen}).encode())


def folder_of(home: Path) -> Path:
    """Return the folder of cached data for the runs in `home`; it may not exist yet."""
    return cache_folder() / "runs" / sha256(os.fsencode(home.resolve())).hexdigest()[:16]


def _read(file: Path) -> Mapping[str, list[Any]]:
    """Return the entries of the file; none if it is missing, damaged or of another version."""
    try:
        data = parse_json(read_text(file, largest_bytes=_LARGEST_BYTES))
    except (OSError, ValueError):
        return {}
    runs = data.get("runs") if isinstance(data, dict) and data.get("format") == _FORMAT else None
    if not isinstance(runs, dict) or not all(isinstance(entry, list) for entry in runs.values()):
        return {}
    return runs


_KINDS = [
    (str, type(None))
    if "str | None" in str(kind)
    else (int, type(None))
    if "int | None" in str(kind)
    else (kind,)
    for kind in (get_type_hints(RunSummary)[field.name] for field in fields(RunSummary))
]


def _summary(values: list[Any]) -> RunSummary | None:
    if len(values) != len(_KINDS) or not all(
        type(one) in kinds for one, kinds in zip(values, _KINDS, strict=True)
    ):
        return None
    return RunSummary(*values)
