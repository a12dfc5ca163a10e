"""What many run.json say, in one file of the user's cache: `kiviat runs` and `last` need not open them all.

The file says nothing that the runs do not, and can be deleted at any time. An entry counts only for the very
run.json that it was made of: for the same inode, size and times. The file is replaced as a whole, by renaming
and without locks: where several processes write it, one succeeds, and what the others knew is read again from
the runs. So it is safe wherever renaming is, which includes NFS.
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
# A file may change without its times changing if that is soon enough after it was written.
_YOUNG_NS = 10 * 10**9
_LARGEST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What lists of runs show of one; `state` is that of run.json, whether its writer lives or not."""

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
    """Return inode, size and times of a file, which differ once it is replaced or written; OSError."""
    said = os.stat(file)  # noqa: PTH116 (ten thousand of them: Path.stat takes twice as long)
    return said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns


def is_settled(file: Identity) -> bool:
    """True if a file is old enough that its times tell of every later change."""
    return max(file[2:]) < time.time_ns() - _YOUNG_NS


class Index:
    """The summaries of the runs in a folder, by the names of their folders."""

    def __init__(self, home: Path) -> None:
        self._file = folder_of(home) / "index.json"
        self._known = _read(self._file)
        self._seen: dict[str, list[Any]] = {}

    def summary(self, name: str, run_file: Path, read: Callable[[], RunSummary | None]) -> RunSummary | None:
        """Return the summary of the run in the folder `name`: the one kept, or what `read` returns."""
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
        """Keep what was seen, if that differs from what was known and can be written."""
        if self._seen != self._known:
            replace_cached(self._file, json.dumps({"format": _FORMAT, "runs": self._seen}).encode())


def folder_of(home: Path) -> Path:
    """Return the folder for what is cached of the runs in `home`; it need not exist."""
    return cache_folder() / "runs" / sha256(os.fsencode(home.resolve())).hexdigest()[:16]


def _read(file: Path) -> Mapping[str, list[Any]]:
    """Return the entries of the file; none of one that is missing, damaged or of another version."""
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
