"""The journal of each cluster: written before any part is created, removed after all parts are gone.

A cluster is a folder in the user's state folder. Its journal names the kiviat process that owns it. A `kept`
cluster has no owner and stays until it is removed or the machine restarts.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.emulated.spec import Spec, parse_spec
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.state_folder import read_note, state_folder
from kiviat.record import InputError

_FILE = "cluster.json"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class ClusterJournal:
    """What later commands need to know of a cluster: name, links, owner, and boot of its creation.

    A `kept` cluster has no owner; its `marker` still names the host.
    """

    name: str
    spec: Spec
    marker: Marker
    kept: bool
    boot: str

    @property
    def folder(self) -> Path:
        """The folder of the cluster, which contains this journal."""
        return _clusters_folder() / self.name

    def is_here(self) -> bool:
        """True if the cluster was created on this host, which may have had another name then."""
        return self.marker.is_here(self._is_of_this_boot())

    def is_dead(self) -> bool:
        """True if the owner has ended or the machine has restarted: any kiviat may then remove the cluster.

        Hosts that share a home share the state folder, too; each removes only its own clusters.
        """
        if self.kept:
            return self.marker.is_here() and self.boot != boot()
        return self.marker.is_orphaned(self._is_of_this_boot())

    def _is_of_this_boot(self) -> bool:
        return self.boot != "" and self.boot == boot()

    def write(self) -> None:
        """Write the journal atomically, also if the machine loses power."""
        note = {
            "name": self.name,
            "spec": self.spec.label,
            "marker": str(self.marker),
            "kept": self.kept,
            "boot": self.boot,
        }
        draft = self.folder / f"{_FILE}.new"
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(note, indent=1) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(self.folder / _FILE)


def _clusters_folder() -> Path:
    return state_folder() / "clusters"


def boot() -> str:
    """Return the kernel's identifier of this boot, empty if it cannot be read."""
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return ""


def claim(name: str, spec: Spec, marker: Marker) -> ClusterJournal:
    """Claim the name and write the journal. Raise InputError if the name is taken.

    Retries if a clean-up removes the new folder before its journal is written, because it removes folders
    without a journal.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a name for a cluster: take a lower-case letter, then letters, digits and -, "
            "31 in all"
        )
    journal = ClusterJournal(name, spec, marker, False, boot())
    if shlex.quote(str(journal.folder)) != str(journal.folder):
        raise InputError(
            f"clusters cannot be kept in {_clusters_folder()}: launchers would split or expand its name; "
            "set XDG_STATE_HOME to a folder of letters, digits and -"
        )
    for _ in range(100):
        try:
            journal.folder.mkdir(parents=True)
            journal.write()
            return journal
        except FileExistsError:
            if (journal.folder / _FILE).exists():
                raise InputError(
                    f"there is a cluster {name!r} already; `kiviat cluster status` shows it, "
                    f"`kiviat cluster down {name}` takes it down, --name gives yours another name"
                ) from None
            remove_draft(journal.folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(
                f"cannot keep a cluster in {_clusters_folder()}: {error.strerror}; set XDG_STATE_HOME"
            ) from error
    raise InputError(f"cannot keep a cluster in {_clusters_folder()}: its folders vanish; set XDG_STATE_HOME")


def load(folder: Path) -> ClusterJournal | None:
    """Return the journal in a folder; None if it is missing or unreadable."""
    try:
        note = read_note(folder / _FILE)
        marker = Marker.parse(note["marker"])
        if marker is None:
            return None
        return ClusterJournal(
            folder.name, parse_spec(note["spec"]), marker, note["kept"] is True, str(note["boot"])
        )
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return None


def is_ruined(folder: Path) -> bool:
    """True if the journal in a folder is this user's, but no JSON, as after a power failure.

    One that another version of Kiviat wrote is JSON, and its cluster may be in use.
    """
    try:
        read_note(folder / _FILE)
    except ValueError:
        return True
    except OSError:
        return False
    return False


def journals() -> Iterator[ClusterJournal]:
    """Yield the journals of all clusters of this state folder, by name."""
    for folder in folders():
        if journal := load(folder):
            yield journal


def folders() -> list[Path]:
    """Return the folders of all clusters of this user, sorted, including those without a journal."""
    with suppress(OSError):
        return sorted(path for path in _clusters_folder().iterdir() if path.is_dir())
    return []


def remove_folder(folder: Path) -> None:
    """Remove the folder, and its journal last: if this is interrupted, the next command continues."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _FILE:
                path.unlink(missing_ok=True)
        if [path.name for path in folder.iterdir()] == [_FILE]:
            (folder / _FILE).unlink(missing_ok=True)
    remove_draft(folder)


def remove_draft(folder: Path) -> None:
    """Remove a folder without a journal; nothing of its cluster exists yet.

    Its owner, if alive, starts again.
    """
    with suppress(OSError):
        (folder / f"{_FILE}.new").unlink(missing_ok=True)
        folder.rmdir()
