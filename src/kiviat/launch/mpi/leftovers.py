"""Removes files that killed launches left behind, and only those of kiviat's own launches.

Before a launch, a journal records the launch's marker and the existing files that look like leftovers.
Afterwards, files that are new, belong to this user and are not in use are removed. If kiviat itself is
killed, its journal stays, and the next command removes the files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.mpi.vendors import Leftover, Vendor, vendors
from kiviat.launch.process import processes
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.state_folder import read_note, state_folder
from kiviat.record import replacing

_SHARED_MEMORY = Path("/dev/shm")
_LAUNCHER_NUMBER = re.compile(r"\.(\d+)$")


@dataclass(frozen=True)
class LeftoverJournal:
    """Files that existed before a launch."""

    marker: Marker
    family: str
    temporary: Path
    before: frozenset[str]
    file: Path | None

    @classmethod
    def open(cls, marker: Marker, vendor: Vendor) -> LeftoverJournal:
        """Record the files that exist before a launch; `file` is None if the journal cannot be written."""
        temporary = Path(tempfile.gettempdir())
        before = frozenset(str(path) for _, path in _candidates(vendor, temporary))
        file = _journal_folder() / f"{marker.launch}.json"
        note = {
            "marker": str(marker),
            "family": vendor.family,
            "temporary": str(temporary),
            "before": sorted(before),
        }
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as whole:
                whole.write(json.dumps(note).encode())
        except OSError:
            return cls(marker, vendor.family, temporary, before, None)
        return cls(marker, vendor.family, temporary, before, file)

    @classmethod
    def load(cls, file: Path) -> LeftoverJournal | None:
        """Return the journal of an earlier kiviat process; None if it is unreadable or its MPI is unknown."""
        try:
            note = read_note(file)
            marker = Marker.parse(note["marker"])
            if marker is None or note["family"] not in vendors():
                return None
            return cls(marker, note["family"], Path(note["temporary"]), frozenset(note["before"]), file)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def close(self) -> list[Path]:
        """Remove the files that the launch left, and the journal; return the removed files."""
        removed = [
            path
            for leftover, path in _candidates(vendors()[self.family], self.temporary)
            if str(path) not in self.before and _is_ours(path) and not _in_use(leftover, path)
        ]
        for path in removed:
            _remove(path, self.temporary)
        if self.file:
            self.file.unlink(missing_ok=True)
        return removed


def clean_dead_launches(grace_s: float) -> list[str]:
    """End the processes and remove the files of launches whose kiviat is dead.

    Return one line of text for each. Launchers that are ending their ranks get `grace_s` seconds for that.
    """
    killed = processes.orphans()
    processes.end_all(processes.orphans, grace_s)
    lines = [f"ended process {pid} of a run whose kiviat is dead" for pid in killed]
    for file in sorted(_journal_folder().glob("*.json")):
        journal = LeftoverJournal.load(file)
        if journal and journal.marker.is_orphaned():
            lines += [f"removed {path}, left by a run whose kiviat is dead" for path in journal.close()]
    return lines


def _journal_folder() -> Path:
    return state_folder() / "launches"


def _candidates(vendor: Vendor, temporary: Path) -> Iterator[tuple[Leftover, Path]]:
    for leftover in vendor.leftovers:
        folder = _SHARED_MEMORY if leftover.folder == "shared_memory" else temporary
        for pattern in leftover.patterns:
            with suppress(OSError):
                for path in sorted(folder.glob(pattern)):
                    yield leftover, path


def _is_ours(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _in_use(leftover: Leftover, path: Path) -> bool:
    number = _LAUNCHER_NUMBER.search(path.name)
    if path.is_dir() and number and int(number[1]) in processes.our_processes():
        return True
    return any(_uses(pid, leftover.used_by, path) for pid in processes.our_processes())


def _uses(pid: int, programs: Sequence[str], path: Path) -> bool:
    home = Path("/proc") / str(pid)
    with suppress(OSError):
        if (home / "comm").read_text(errors="replace").strip() in programs:
            return True
    if any(name.startswith(str(path)) for name in processes.mapped(pid)):
        return True
    with suppress(OSError):
        for descriptor in (home / "fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()).startswith(str(path)):
                    return True
    return False


def _remove(path: Path, temporary: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
            # Open MPI 4 keeps its files in a folder of the user, which is removed once it is empty.
            if path.parent not in (temporary, _SHARED_MEMORY):
                path.parent.rmdir()
        else:
            path.unlink()
