"""The records of a run as the campaign reads them: the bytes of records.jsonl, line by line.

Uses no code of Kiviat, so that it notices everything that Kiviat loses.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDS = "records.jsonl"
RUN = "run.json"


@dataclass
class Ledger:
    """Follows one run's folder by its descriptor, wherever that is moved; `seen` is every whole line that was
    ever in the file, in its order.
    """

    folder: int
    seen: list[bytes] = field(default_factory=list)
    lost: list[bytes] = field(default_factory=list)
    _looked: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, folder: Path) -> Ledger:
        return cls(os.open(folder, os.O_PATH | os.O_DIRECTORY))

    def look(self) -> None:
        """Adds the lines that are new; a line that was there and is not, at its place, is lost."""
        try:
            now = os.stat(RECORDS, dir_fd=self.folder)
        except FileNotFoundError:
            self._compare([])
            return
        state = (now.st_ino, now.st_size, now.st_mtime_ns)
        if state != self._looked:
            self._looked = state
            with os.fdopen(os.open(RECORDS, os.O_RDONLY, dir_fd=self.folder), "rb") as file:
                self._compare(whole_lines(file.read()))

    def _compare(self, lines: list[bytes]) -> None:
        self.lost = [
            line for place, line in enumerate(self.seen) if place >= len(lines) or lines[place] != line
        ]
        if not self.lost:
            self.seen = lines

    def path(self) -> Path:
        """Where the folder is now."""
        return Path(f"/proc/self/fd/{self.folder}").readlink()


def whole_lines(data: bytes) -> list[bytes]:
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def run_json(folder: Path) -> dict[str, Any]:
    """What run.json says; empty where there is none."""
    with suppress(OSError, ValueError):
        run: dict[str, Any] = json.loads((folder / RUN).read_text())
        return run
    return {}


@dataclass(frozen=True)
class Finished:
    """What the campaign needs to know of a record."""

    repetition: int
    case: str
    outcome: str
    reason: str | None

    @property
    def key(self) -> tuple[int, str]:
        return self.repetition, self.case


def finished(folder: Path) -> list[Finished]:
    """The records of a run, in the order of the file."""
    repetition = {launch["index"]: launch["repetition"] for launch in run_json(folder)["launches"]}
    try:
        lines = whole_lines((folder / RECORDS).read_bytes())
    except FileNotFoundError:
        lines = []
    records = [json.loads(line) for line in lines]
    return [
        Finished(repetition[one["launch"]], one["case"], one["outcome"], one["reason"]) for one in records
    ]
