"""Removes clusters: processes, mounts, then files, each as named by the cluster's own files.

Every step may be repeated, run by two processes at once, or find a partly created cluster.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from kiviat.launch.emulated import delaying, journal
from kiviat.launch.emulated.journal import ClusterJournal
from kiviat.launch.emulated.scripts import NAMESPACES
from kiviat.launch.mpi.leftovers import clean_dead_launches
from kiviat.launch.process import processes
from kiviat.launch.process.processes import Marker

_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


def remove(folder: Path, marker: Marker | None) -> list[int]:
    """Remove a cluster. Return the ended processes, other than the one that forwards frames.

    Ends what runs in the cluster and what is still creating it.
    """
    own = delaying.wire_number(folder)
    ended = set[int]()

    def seen() -> list[int]:
        return [*processes_in(folder), *(processes.of_launch(marker) if marker else [])]

    def living() -> list[int]:
        # Looks twice, because a process may start another one during the first look and end before it is
        # seen.
        found = seen() or seen()
        ended.update(found)
        return found

    processes.end_all(living)
    for file in _namespace_files(folder):
        # The file may have several mounts, if a cluster was created twice in one folder.
        while _libc.umount2(os.fsencode(file), _MNT_DETACH) == 0:
            pass
    journal.remove_folder(folder)
    return sorted(ended - {own})


def clean_dead(grace_s: float = 0.0) -> list[str]:
    """Remove what dead kiviat processes left: processes, files of launches, clusters.

    Return one line of text for each. Launchers that are ending their ranks get `grace_s` seconds for that.
    """
    lines = clean_dead_launches(grace_s)
    for folder in journal.folders():
        noted = journal.load(folder)
        if noted is None and journal.is_ruined(folder):
            remove(folder, None)
            lines.append(f"removed emulated cluster {folder.name}, whose journal is damaged")
        elif noted is None:
            journal.remove_draft(folder)
        elif noted.is_dead():
            remove(folder, noted.marker)
            lines.append(
                f"removed emulated cluster {noted.name} ({noted.spec.label}), whose kiviat process has ended"
            )
    return lines


def is_up(noted: ClusterJournal) -> bool:
    """True if all of the cluster's namespaces exist, and its forwarding program runs if it has one."""
    files = [noted.folder / f"n{noted.spec.nodes}.{kind}" for kind in NAMESPACES]
    wire = delaying.wire_number(noted.folder)
    return all(map(_is_namespace, files)) and (wire is None or wire in processes_in(noted.folder))


def processes_in(folder: Path) -> list[int]:
    """Return the processes, of any user, in one of the cluster's namespaces.

    Namespaces are compared by device and inode.
    """
    ours = {identity for file in _namespace_files(folder) if (identity := _namespace(file))}
    if not ours:
        return []
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and any(_identity(entry / "ns" / kind) in ours for kind in NAMESPACES)
    ]


def _namespace_files(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.suffix.lstrip(".") in NAMESPACES)
    return []


def _is_namespace(file: Path) -> bool:
    return _namespace(file) is not None


def _namespace(file: Path) -> tuple[int, int] | None:
    """Return device and inode of the namespace mounted on a file; None if nothing is mounted."""
    here, folder = _identity(file), _identity(file.parent)
    return here if here and folder and here[0] != folder[0] else None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
